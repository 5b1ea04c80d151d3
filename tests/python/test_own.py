"""Own loaders, the decoder by itself, the bare loop, and the handler of progress."""

import threading
from collections.abc import Callable
from pathlib import Path

import leat
import numpy as np
import pytest
from child_process import run_python
from made_files import png, write_tar
from support import code_of, first, refused


class Numbers:
    """A program's own loader: 7 batches per epoch."""

    def __init__(self) -> None:
        self.epoch = self.at = self.taken = 0

    def begin(self, epoch: int) -> None:
        self.epoch, self.at = epoch, 0

    def next(self) -> np.ndarray | None:
        if self.at == 7:
            return None
        self.at += 1
        self.taken += 1
        return np.array([self.epoch, self.at - 1])

    def save(self) -> bytes:
        return str(self.at).encode()

    def load(self, place: bytes) -> None:
        self.at = int(place)


def own(numbers: Numbers, saves: bool = True, **options: int) -> leat.OwnLoader:
    both = {"save": numbers.save, "load": numbers.load} if saves else {}
    return leat.OwnLoader("numbers@1", begin_epoch=numbers.begin, next=numbers.next, epochs=3, **both, **options)


@pytest.mark.parametrize("saves", [True, False])
def test_own_loaders_resume_after_every_batch(saves: bool, tmp_path: Path) -> None:
    loader = own(Numbers(), saves)
    parts = [loader.snapshot()]
    seen = []
    for batch in loader:
        seen.append((batch.content.tolist(), batch.epoch, batch.step, batch.global_step, batch.end_of_epoch))
        parts.append(loader.snapshot())
        if batch.global_step == 9:
            loader.save(str(tmp_path))
    assert seen == [([e, i], e, i, 7 * e + i, i == 6) for e in range(3) for i in range(7)]
    for at, part in enumerate(parts):
        numbers = Numbers()
        again = own(numbers, saves)
        assert again.restore_parts([part]).global_step == at
        assert [x.content.tolist() for x in again] == [x[0] for x in seen[at:]]
        assert not saves or numbers.taken <= 21 - at
    again = own(Numbers(), saves)
    assert again.restore(str(tmp_path)) == (1, 3, 10, leat.Hash128())
    again = own(Numbers(), saves)
    again.skip_first_batches(8)
    next(again)
    again.abandon_epoch()
    assert next(again).content.tolist() == [2, 0]


def test_own_loaders_that_are_wrong() -> None:
    with pytest.raises(leat.InvalidArgument):
        leat.OwnLoader("a@1", begin_epoch=print, next=lambda: None, save=lambda: b"")
    assert code_of(leat.OwnLoader("a@1", begin_epoch=lambda epoch: None, next=lambda: None).next) == "empty_epoch"
    with pytest.raises(ZeroDivisionError):
        leat.OwnLoader("a@1", begin_epoch=lambda epoch: None, next=lambda: 1 / 0).next()
    part, other = own(Numbers()).snapshot(), leat.OwnLoader("b@1", begin_epoch=lambda epoch: None, next=lambda: 1)
    assert code_of(lambda: other.restore_parts([part])) == "mismatch"


def test_the_decoder_by_itself(tmp_path: Path) -> None:
    file = png(12, 8, [10, 200, 30])
    decoder = leat.ImageDecoder()
    refused("open", decoder.make)
    assert decoder.open(file) == (8, 12)
    pixels = decoder.make()
    assert pixels.shape == (8, 12, 3)
    assert pixels.dtype == np.uint8
    assert (pixels == [10, 200, 30]).all()
    assert not decoder.used_own_decoder
    assert not decoder.knows_rows
    part = decoder.make(
        source=(2, 1, 8, 6), resized=(4, 3), window=(0, 0, 4, 2), mirrored=True, dtype="f32", layout="nchw", mean=(0, 0, 0)
    )
    assert part.shape == (3, 2, 4)
    np.testing.assert_allclose(part[1], 200 / 255, rtol=1e-6)
    with pytest.raises(leat.InvalidArgument):
        decoder.make(source=(2, 1, 80, 6))
    with pytest.raises(leat.BadSample) as raised:
        decoder.open(b"no image")
    assert raised.value.cause in ("unsupported", "corrupt")
    write_tar(tmp_path / "a.tar", [("0.png", file)])
    whole = leat.decode_image("png", [leat.to_layout("nhwc")])
    assert (first(leat.tar_shards(str(tmp_path / "a.tar")).map(whole).batch(1))["image"][0] == pixels).all()
    assert (leat.decode(file) == pixels).all()
    assert leat.find_jpeg_rows(file) == b""
    with pytest.raises(leat.BadSample) as raised:
        leat.decode(file, max_pixels=50)
    assert raised.value.cause == "too_large"


def test_the_bare_loop() -> None:
    threads = set()
    data = leat.count(100).map("who@1", lambda s: threads.add(threading.get_ident())).batch(10)
    loop = leat.BareLoop(data, threads=2)
    assert (loop.batch_rows, loop.epoch_rows) == (10, 100)
    assert loop.run(200) > 0
    assert threads
    with pytest.raises(leat.Error, match="division"):
        leat.BareLoop(leat.count(9).map("bad@1", lambda s: s.set("x", 1 / (int(s.id[6:]) - 5))).batch(3)).run(9)


@pytest.fixture
def shards(tmp_path: Path) -> str:
    for i in range(5):
        write_tar(tmp_path / f"{i}.tar", [("0.txt", b"text")])
    return str(tmp_path / "*.tar")


@pytest.fixture
def set_progress_handler() -> Callable[..., None]:
    yield leat.set_progress_handler
    leat.set_progress_handler(None)


def test_progress(shards: str, set_progress_handler: Callable[..., None]) -> None:
    told = []
    set_progress_handler(lambda what, done, of: told.append((what, done, of)))
    assert leat.tar_shards(shards).size() == 5
    assert told[-1] == ("shards opened", 5, 5)
    assert [x[1] for x in told] == sorted(x[1] for x in told)


def test_what_a_handler_of_progress_raises_comes_out(shards: str, set_progress_handler: Callable[..., None]) -> None:
    def stop(what: str, done: int, of: int) -> None:
        raise LookupError("enough")

    set_progress_handler(stop)
    with pytest.raises(LookupError, match="enough"):
        leat.tar_shards(shards).size()
    set_progress_handler(None)
    assert leat.tar_shards(shards).size() == 5


def test_ctrl_c_while_shards_are_opened(shards: str) -> None:
    text = """
import os, signal, sys, leat
def told(what, done, of):
    if done == 1:
        os.kill(os.getpid(), signal.SIGINT)
leat.set_progress_handler(told)
try:
    leat.tar_shards(sys.argv[1]).size()
except KeyboardInterrupt:
    print("interrupted")
"""
    assert run_python(text, shards).stdout == "interrupted\n"
