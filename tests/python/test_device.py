"""Batches on a device, from Python: what DLPack's consumers get, in which streams, and for how long."""

import contextlib
import copy
import gc
import os
import pickle
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import leat
import made_up_driver
import numpy as np
import pytest
from child_process import run_python
from dlpack import contents, facts, take
from support import digests, due


def fields_of_all_kinds(sample: leat.Sample) -> None:
    i = int(sample["value"][0])
    sample["number"] = -i
    sample["flag"] = i % 2 == 0
    sample["matrix"] = np.full((2, 3), i / 4, np.float32)
    sample["part"] = i / 8
    sample.make("small", [3], np.float16)[:] = i
    sample.make("half", (2,), "bf16")[:] = i
    sample.make("codes", (5,), "u16")[:] = i
    sample.set_ragged("tokens", np.arange(i % 5, dtype=np.int32))
    sample.set_ragged("boxes", np.full((i % 3, 4), i, np.float64))
    sample["word"] = f"wört {i}"


DENSE = ["codes", "flag", "half", "matrix", "number", "part", "small"]
RAGGED = ["boxes", "tokens"]
DATA = leat.count(96).shuffle(seed=3).map("kinds@1", fields_of_all_kinds).batch(4)


@pytest.fixture
def driver() -> Iterator[made_up_driver.Driver]:
    yield made_up_driver.Driver()
    gc.collect()


def loader(**options: Any) -> leat.Loader:
    return leat.Loader(DATA, **{"device": "cuda", "workers": 2, **options})


def on_host(batch: leat.Batch, name: str) -> np.ndarray:
    values = batch[name].values if name in RAGGED else batch[name]
    return values.view(np.uint16) if name == "half" else values


@made_up_driver.needed
@pytest.mark.parametrize("workers", [0, 2])
def test_what_lies_on_the_device_is_what_lies_on_the_host(driver: made_up_driver.Driver, workers: int) -> None:
    seen = []
    for batch in loader(workers=workers, epochs=2):
        seen.append(str(batch.digest()))
        for name in DENSE:
            assert batch.is_on_device(name)
            found = batch.on_device(name)
            assert (found.shape, found.dtype, found.device) == (
                on_host(batch, name).shape,
                batch.field(name)["dtype"],
                "cuda:0",
            )
            assert len(found) == batch.size
            assert (contents(found) == on_host(batch, name)).all()
            assert facts(found).address != on_host(batch, name).ctypes.data
        for name in RAGGED:
            found = batch.on_device(name)
            assert isinstance(found, leat.Ragged)
            assert len(found) == batch.size
            assert (contents(found.values) == batch[name].values).all()
            assert contents(found.offsets).tolist() == batch.offsets(name).tolist()
            assert found.offsets.dtype == "i64"
        assert contents(batch.dlpack("tokens")).tolist() == batch["tokens"].values.tolist()
        assert contents(batch.dlpack("matrix")).tolist() == batch["matrix"].tolist()
        assert not batch.is_on_device("word")
        assert np.from_dlpack(batch.dlpack("word")).tobytes().decode() == "".join(batch.text("word"))
    assert seen == due(DATA) + due(DATA, 1)


@made_up_driver.needed
def test_what_a_capsule_says(driver: made_up_driver.Driver) -> None:
    batch = loader(device="cuda:1").next()
    assert batch is not None
    array = batch.on_device("matrix")
    assert array.__dlpack_device__() == (2, 1)
    assert repr(array) == "<leat.DeviceArray f32[4, 2, 3] on cuda:1>"
    for most, version in ((None, None), ((0, 8), None), ((1, 0), (1, 0)), ((2, 1), (1, 0))):
        found = take(array.__dlpack__(max_version=most))
        assert found.version == version
        assert found.device == (2, 1)
        assert (found.dtype, found.shape, found.strides) == ((2, 32, 1), (4, 2, 3), (6, 3, 1))
        assert (found.read() == batch["matrix"]).all()
        found.drop()
    types = {"codes": (1, 16, 1), "flag": (1, 8, 1), "half": (4, 16, 1), "number": (0, 64, 1), "small": (2, 16, 1)}
    assert {name: facts(batch.on_device(name)).dtype for name in types} == types
    for same in (None, (2, 1)):
        take(array.__dlpack__(dl_device=same, copy=False)).drop()
    for other in ({"dl_device": (1, 0)}, {"dl_device": (2, 0)}, {"copy": True}):
        with pytest.raises(BufferError):
            array.__dlpack__(**other)


@made_up_driver.needed
def test_named_streams_wait_and_the_host_does_not(driver: made_up_driver.Driver) -> None:
    own = driver.stream()
    torchs, cupys = type("Stream", (), {"cuda_stream": own})(), type("Stream", (), {"ptr": own})()

    @contextlib.contextmanager
    def calls(**expected: int) -> Iterator[None]:
        before = driver.calls()
        yield
        assert {name: n - before[name] for name, n in driver.calls().items() if n > before[name]} == expected

    for batch in loader(workers=0):
        array = batch.on_device("matrix")
        for stream, marks in ((None, {"record": 1}), (1, {}), (2, {}), (own, {"record": 1})):
            with calls(wait=1, **marks):  # a first mark shows whether the driver knows the stream
                take(array.__dlpack__(stream=stream)).drop()
        with calls(wait_here=1):
            take(array.__dlpack__(stream=-1)).drop()
        for stream in (own, 0, torchs, cupys):
            with calls():
                batch.used_on(stream)
        for wrong in (0, -2):
            with pytest.raises(leat.InvalidArgument, match=f"stream={wrong}"):
                array.__dlpack__(stream=wrong)
        with pytest.raises(leat.InvalidArgument, match="stream=-1"):
            batch.used_on(-1)
        for strange in (None, "1", object()):
            with pytest.raises(TypeError, match="handle of a stream"):
                batch.used_on(strange)


@made_up_driver.needed
@pytest.mark.parametrize("workers", [0, 2])
def test_what_streams_read_is_there_and_stays_until_they_have_read_it(driver: made_up_driver.Driver, workers: int) -> None:
    """Streams read when their turn comes, which may be long after the lease has ended."""
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed", seed)
    pick = random.Random(seed)
    streams = [driver.stream() for _ in range(3)]
    read: list[tuple[np.ndarray, np.ndarray]] = []
    for batch in loader(workers=workers, leases=2, epochs=8):
        name = pick.choice(["matrix", "number", "tokens"])
        array = batch.on_device(name)
        array = array.values if name in RAGGED else array
        expected = on_host(batch, name).copy()
        named = pick.choice([None, 1, 2, -1, *streams])
        kept = take(array.__dlpack__(stream=named))
        used = pick.choice(streams) if named == -1 else named or 1
        read.append((driver.read_later(used, kept.address, expected), expected))
        if named != -1 and pick.random() < 0.5:
            other = pick.choice(streams)
            driver.follow(other, used)
            batch.used_on(other)
            read.append((driver.read_later(other, kept.address, expected), expected))
        batch.release()
        del array, batch
        ends = threading.Thread(target=kept.drop)
        ends.start()
        ends.join()
    for stream in (1, 2, *streams):
        driver.finish(stream)
    assert [(found == expected).all() for found, expected in read] == [True] * len(read)


@made_up_driver.needed
def test_consumers_without_dlpack(driver: made_up_driver.Driver) -> None:
    batch = next(loader(workers=0))
    waits = driver.calls()["wait_here"]
    found = batch.on_device("matrix").__cuda_array_interface__
    assert driver.calls()["wait_here"] == waits + 1  # so that no stream is to be waited for
    address, is_read_only = found.pop("data")
    assert found == {"shape": (4, 2, 3), "typestr": "<f4", "strides": None, "stream": None, "version": 3}
    assert (address, is_read_only) == (facts(batch.on_device("matrix")).address, False)
    assert batch.on_device("flag").__cuda_array_interface__["typestr"] == "|u1"
    assert batch.on_device("number").__cuda_array_interface__["typestr"] == "<i8"
    assert not hasattr(batch.on_device("half"), "__cuda_array_interface__")
    with pytest.raises(TypeError, match="the same on the host"):
        np.asarray(batch.on_device("matrix"))


@made_up_driver.needed
def test_arrays_keep_the_batch_until_deleters_ran_in_any_thread(driver: made_up_driver.Driver) -> None:
    job = loader(epochs=10)
    held = []
    for batch in job:
        array = batch.on_device("matrix")
        kept = take(array.__dlpack__(stream=-1))
        array.__dlpack__()  # a capsule that nobody takes
        held.append((batch["matrix"].copy(), kept))
        batch.release()
        del array, batch
        if len(held) < 5:
            continue
        assert job.stats()["slots"]["leased"] == 5
        for content, kept in held:
            assert (kept.read() == content).all()
        threads = [threading.Thread(target=kept.drop) for _, kept in held]
        for x in threads:
            x.start()
        for x in threads:
            x.join()
        held.clear()
        assert job.stats()["slots"]["leased"] == 0
    job.close()
    del job
    gc.collect()
    for content, kept in held:
        assert (kept.read() == content).all()
        kept.drop()


@made_up_driver.needed
def test_release_and_copies(driver: made_up_driver.Driver) -> None:
    job = loader()
    batch = next(job)
    array, expected = batch.on_device("tokens").values, batch["tokens"].values.copy()
    batch.release()
    for use in (lambda: batch.on_device("matrix"), lambda: batch.used_on(1), lambda: batch.is_on_device("matrix")):
        with pytest.raises(leat.InvalidArgument, match="release"):
            use()
    digests(job)
    assert (contents(array) == expected).all()
    for move in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle"):
            move(array)


@made_up_driver.needed
def test_options(driver: made_up_driver.Driver) -> None:
    some = next(loader(device_fields=["matrix", "tokens"]))
    assert [x for x in some if some.is_on_device(x)] == ["matrix", "tokens"]
    assert (contents(some.on_device("matrix")) == some["matrix"]).all()
    for name in ("number", "word", "nothing"):
        assert not some.is_on_device(name)
        with pytest.raises(leat.WrongField, match=name):
            some.on_device(name)
    wrong: dict[str, dict[str, Any]] = {
        "gpu": {"device": "gpu"},
        "cuda:x": {"device": "cuda:x"},
        "word": {"device_fields": ["word"]},
        "nothing": {"device_fields": ["nothing"]},
        "device_fields": {"device": "cpu", "device_fields": ["matrix"]},
    }
    for text, options in wrong.items():
        with pytest.raises(leat.InvalidArgument, match=text):
            next(loader(**options))
    with pytest.raises(leat.Error, match="cuda:7") as raised:
        next(loader(device="cuda:7"))
    assert raised.value.code == "device"


@made_up_driver.needed
def test_leases_are_few_unless_more_are_asked_for(driver: made_up_driver.Driver) -> None:
    job = loader()
    held = [next(job) for _ in range(8)]
    with pytest.raises(leat.Error, match="8") as raised:
        next(job)
    assert raised.value.code == "leases_exhausted"
    assert len({contents(x.on_device("matrix")).tobytes() for x in held}) == 8
    assert len([next(loader(leases=20)) for _ in range(9)]) == 9


@made_up_driver.needed
@pytest.mark.parametrize("workers", [0, 2])
def test_statistics(driver: made_up_driver.Driver, workers: int) -> None:
    job = loader(workers=workers, device_fields=["matrix"])
    assert digests(job) == due(DATA)
    found = job.stats()["device"]
    assert set(found) == {"bytes", "batches", "waits", "is_pinned", "decoder"}
    assert (found["batches"], found["bytes"]) == (24, 24 * 4 * 6 * 4)
    assert 0 <= found["waits"] <= 24
    assert found["is_pinned"] is True


def test_without_a_device() -> None:
    job = leat.Loader(DATA, workers=0, device="cpu")
    batch = next(job)
    assert job.stats()["device"] is None
    assert not any(batch.is_on_device(x) for x in batch)
    for use in (lambda: batch.on_device("matrix"), lambda: batch.used_on(1)):
        with pytest.raises(leat.InvalidArgument, match="device"):
            use()
    held = [next(job) for _ in range(12)]
    assert len(held) == 12


@made_up_driver.needed
def test_resuming_knows_nothing_of_devices(driver: made_up_driver.Driver) -> None:
    ways: list[dict[str, Any]] = [{"device": "cuda"}, {"device": "cpu"}]
    for first, second in (ways, ways[::-1]):
        job = loader(**first, epochs=2)
        seen = digests(next(job) for _ in range(9))
        again = loader(**second, epochs=2, workers=0)
        again.restore_parts([job.snapshot()])
        assert seen + digests(again) == due(DATA) + due(DATA, 1)


@made_up_driver.needed
@pytest.mark.parametrize("how", ["eager", "lazy"])
def test_devices_that_are_quick_or_do_nothing_until_somebody_waits(how: str) -> None:
    environment = {**os.environ, "LEAT_FAKE_CUDA": f"devices=2,mode={how}"}
    tests = "not until_somebody_waits and not child and not refuses"  # those of this process
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", tests, __file__],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


CHILD = """
import os, sys
import leat
sys.path.insert(0, {here!r})
import made_up_driver
made_up_driver.load()
data = leat.count(40, 8).batch(4)


def said(device):
    try:
        return str(next(leat.Loader(data, workers=1, device=device)).step)
    except leat.Error as problem:
        return f"{{problem.code}}: {{problem}}"


if {begins}:
    assert said("cuda") == "0"
leat.shutdown()
child = os.fork()
if child == 0:
    print("cpu", said("cpu"), flush=True)
    print("cuda", said("cuda"), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@made_up_driver.needed
@pytest.mark.parametrize("begins", [True, False])
def test_the_child_of_a_fork(begins: bool) -> None:
    ran = run_python(CHILD.format(here=os.path.dirname(__file__), begins=begins))
    assert ran.returncode == 0, ran.stderr
    cpu, cuda = ran.stdout.splitlines()
    assert cpu == "cpu 0"
    assert ("device: " in cuda and "fork" in cuda) if begins else cuda == "cuda 0", cuda


PROGRAM = """
import logging, os, sys
sys.path.insert(0, {here!r})
os.environ["LEAT_FAKE_CUDA"] = {settings!r}
import leat, made_up_driver
logging.basicConfig(stream=sys.stdout, format="notice: %(message)s")
made_up_driver.load({folder!r})
for _ in range(2):
    try:
        loader = leat.Loader(leat.count(400, 8).batch(4), workers=1, device="cuda")
        for batch in loader:
            pass
        print("done", loader.stats()["device"]["is_pinned"])
    except leat.Error as problem:
        print(f"{{problem.code}}: {{problem}}")
    try:
        next(loader)
    except NameError:
        print("no loader")
    except (leat.Error, StopIteration) as problem:
        print(type(problem).__name__)
"""


@made_up_driver.needed
@pytest.mark.parametrize(
    ("settings", "folder", "said"),
    [
        ("version=10020", "", [r"device: .*driver for CUDA 10\.2, needed .* CUDA 11\.0", "no loader"]),
        ("devices=1", "old", ["device: .*without cuInit", "no loader"]),
        ("devices=0", "", ["device: .*cuda:0", "Error"]),
        ("devices=1,lost=7", "", ["device: .*ILLEGAL_ADDRESS", "Error"]),
        ("devices=1,memory=64", "", ["no_resources: .*cuda:0", "Error"]),
        ("devices=1,pin=304", "", ["notice: .*not pinned.*OPERATING_SYSTEM", "done False", "StopIteration", "notice"]),
        ("devices=1", "", ["done True", "StopIteration", "done True", "StopIteration"]),
    ],
)
def test_what_a_driver_refuses(settings: str, folder: str, said: list[str]) -> None:
    ran = run_python(PROGRAM.format(here=os.path.dirname(__file__), settings=settings, folder=folder))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    for line, pattern in zip(lines, said, strict=False):
        assert re.search(pattern, line), lines
