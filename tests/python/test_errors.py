"""What leat raises, with its class, fields and text; notices; the traps of calls out of order."""

import datetime
import json
import logging
import pickle
import signal
import threading
from pathlib import Path
from typing import Any

import leat
import pytest
from child_process import run_python
from made_files import write_tar
from support import code_of, digests, due, refused

DATA = leat.count(80).batch(4)


@pytest.mark.parametrize(
    ("made", "error", "also", "code"),
    [
        (lambda: leat.count(4).batch(0), leat.InvalidArgument, ValueError, "invalid_argument"),
        (lambda: leat.count(4).shuffle(window=0), leat.InvalidArgument, ValueError, "invalid_argument"),
        (lambda: leat.parse_pipeline("count(4"), leat.InvalidArgument, ValueError, "invalid_argument"),
        (lambda: leat.mix([leat.count(4)], weights=[1, 2]), leat.InvalidArgument, ValueError, "invalid_argument"),
        (lambda: leat.Loader(DATA, rank=2, world_size=2), leat.InvalidArgument, ValueError, "invalid_argument"),
        (lambda: leat.Loader(DATA, workers="many"), leat.InvalidArgument, ValueError, "invalid_argument"),
        (lambda: leat.Loader(DATA, workers=5000), leat.InvalidArgument, ValueError, "invalid_argument"),
        (lambda: leat.Loader(leat.count(3).batch(4)), leat.Error, leat.Error, "empty_epoch"),
        (lambda: leat.tar_shards("/nowhere/*.tar").size(), leat.NotFound, FileNotFoundError, "not_found"),
        (lambda: leat.read_snapshot("/nowhere"), leat.NotFound, FileNotFoundError, "not_found"),
        (lambda: leat.RunLog("/nowhere/log", leat.Loader(DATA)), leat.InputOutput, OSError, "io"),
        (lambda: next(leat.Loader(DATA))["other"], leat.WrongField, KeyError, "wrong_field"),
        (lambda: leat.Loader(DATA, workers=0).seek(0, 21), leat.InvalidArgument, ValueError, "invalid_argument"),
    ],
)  # fmt: skip
def test_classes_and_codes(made: Any, error: type[leat.Error], also: type[Exception], code: str) -> None:
    with pytest.raises(error) as raised:
        made()
    assert isinstance(raised.value, also)
    assert isinstance(raised.value, leat.Error)
    assert raised.value.code == code
    assert str(raised.value).startswith(code.replace("_", " ") if code != "io" else "")


def test_all_fields_of_an_error(tmp_path: Path) -> None:
    write_tar(tmp_path / "x.tar", [("a.txt", bytes(5000))])
    with (tmp_path / "x.tar").open("r+b") as file:
        file.truncate(2000)
    with pytest.raises(leat.Error) as raised:
        leat.tar_shards(str(tmp_path / "x.tar")).size()
    error = raised.value
    assert (error.code, error.file) == ("torn_file", str(tmp_path / "x.tar"))
    assert error.offset in (512, 2000)
    assert error.stage
    assert error.needed or error.got
    assert error.sample == ""
    assert list(error.list) == []
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code, again.file, again.offset) == (
        type(error), str(error), error.code, error.file, error.offset,
    )  # fmt: skip


def test_calls_after_the_end() -> None:
    loader = leat.Loader(DATA, workers=1)
    assert digests(loader) == due(DATA)
    assert loader.next() is None
    assert list(loader) == []
    batch = leat.Loader(DATA).next()
    loader.close()
    loader.close()
    assert repr(loader) == "<leat.Loader, closed>"
    for call in (loader.next, loader.position, loader.stats, loader.snapshot, loader.rewind, lambda: loader.save("x", batch)):
        with pytest.raises(leat.Error, match="close") as raised:
            call()
        assert raised.value.code == "shut_down"
    with leat.Loader(DATA, workers=1) as inside:
        next(inside)
    with pytest.raises(leat.Error, match="close"):
        next(inside)


def test_a_restore_after_the_first_batch_is_refused() -> None:
    loader = leat.Loader(DATA)
    part = next(loader).snapshot()
    refused("", loader.restore_parts, [part])


def test_a_loader_is_not_pickled() -> None:
    refused("pipeline", pickle.dumps, leat.Loader(DATA))


def test_interrupt() -> None:
    loader = leat.Loader(DATA, workers=1)
    next(loader)
    loader.interrupt()
    assert [code_of(loader.next) for _ in range(2)] == ["interrupted"] * 2


def test_a_function_that_hangs_is_told_of() -> None:
    told: list[leat.Error] = []
    go = threading.Event()

    def hang(sample: leat.Sample) -> None:
        if sample.id == "count/9":
            go.wait(60)

    def on_stuck(problem: leat.Error) -> None:
        told.append(problem)
        go.set()

    data = leat.count(80).map("hang@1", hang).batch(4)
    loader = leat.Loader(data, workers=0, stuck_after=datetime.timedelta(milliseconds=50), on_stuck=on_stuck)
    assert digests(loader) == due(data)
    assert told[0].code == "stuck"
    assert (told[0].sample, "hang@1" in told[0].stage) == ("count/9", True)


def test_a_fault_drill_changes_nothing() -> None:
    data = leat.count(200).shuffle(seed=1).batch(4)
    loader = leat.Loader(data, workers=2, fault=leat.FaultDrill(slow=[(0, 0.001)], deaths=[(1, 50)]))
    assert digests(loader) == due(data)
    loader = leat.Loader(data, workers=1, bad_samples="mask", fault=leat.FaultDrill(throw_at=[7]))
    assert [x.position for batch in loader for x in batch.bad()] == [7]


def test_bad_samples_go_to_a_log(tmp_path: Path) -> None:
    log = tmp_path / "bad"
    data = leat.count(40).map("odd@1", lambda s: s.set("x", 1 / (int(s.id[6:]) % 7))).batch(4)
    loader = leat.Loader(data, workers=1, bad_samples="mask", bad_sample_log=str(log))
    bad = [x.id for batch in loader for x in batch.bad()]
    assert bad == [f"count/{i}" for i in range(0, 40, 7)]
    assert log.read_text().count("ZeroDivisionError") == len(bad) == loader.stats()["bad"]["function_error"]


def test_statistics_are_plain_values() -> None:
    loader = leat.Loader(DATA, workers=2)
    digests(loader)
    found = loader.stats()
    assert (found["batches"], found["samples"], found["slots"]["leased"]) == (20, 80, 0)
    assert {x["name"] for x in found["stages"]} == {"count", "writing rows"}
    assert len(found["workers"]) == 2
    assert isinstance(found["waited"], float)


def test_workers_change_while_the_job_runs() -> None:
    data = leat.count(800).shuffle(seed=1).batch(4)
    loader = leat.Loader(data, workers=1)
    seen = []
    for batch in loader:
        seen.append(str(batch.digest()))
        if batch.step in (20, 60):
            loader.resize_workers(3 if batch.step == 20 else 1)
    assert seen == due(data)


def test_notices_go_to_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="leat"):
        leat.notice("a notice")
    assert [(x.name, x.message) for x in caplog.records] == [("leat", "a notice")]
    told: list[str] = []
    leat.set_notice_handler(told.append)
    try:
        leat.notice("another")
    finally:
        leat.set_notice_handler(logging.getLogger("leat").warning)
    assert told == ["another"]


def test_a_notice_handler_that_raises_ends_nothing() -> None:
    found = run_python("import leat; leat.set_notice_handler(lambda text: 1 / 0); leat.notice('lost'); print('on')")
    assert (found.returncode, found.stdout) == (0, "on\n")
    assert "lost" in found.stderr


def test_ctrl_c_in_a_notice_handler_is_raised() -> None:
    text = """
import signal, leat
leat.set_notice_handler(lambda text: signal.raise_signal(signal.SIGINT))
try:
    leat.notice("printed")
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
"""
    found = run_python(text)
    assert (found.returncode, found.stdout) == (0, "interrupted\n")
    assert "printed" in found.stderr


def test_traces_and_runtimes(tmp_path: Path) -> None:
    trace = leat.Trace(str(tmp_path / "trace.json"), max_bytes=1 << 20)
    runtime = leat.Runtime(control_threads=1)
    loader = leat.Loader(DATA, workers=1, trace=trace, runtime=runtime)
    assert digests(loader) == due(DATA)
    trace.flush()
    assert trace.spans_left_out == 0
    assert len([x for x in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if x["name"] == "rows"]) >= 20
    other = leat.Loader(DATA, workers=1, runtime=runtime)
    next(other)
    runtime.shutdown()
    assert code_of(lambda: digests(other)) == "shut_down"
    assert leat.usable_cores() >= 1


def test_a_failing_agreement_ends_the_job() -> None:
    def agree(mine: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        raise ConnectionError("gone")

    data = leat.count(80).sample(0.5).batch(4, end="mask")
    with pytest.raises(leat.Error, match="gone"):
        digests(leat.Loader(data, rank=0, world_size=2, workers=1, agree=agree))


def test_ctrl_c_in_an_agreement_is_raised() -> None:
    def agree(mine: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        signal.raise_signal(signal.SIGINT)
        return [mine, mine]

    data = leat.count(80).sample(0.5).batch(4, end="mask")
    with pytest.raises(KeyboardInterrupt):
        digests(leat.Loader(data, rank=0, world_size=2, workers=1, agree=agree))


def test_texts_that_quote_what_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b'{"a": 1}\n{"a": "caf\xe9 \xff"}\n{"a": 2}\n')
    data = leat.json_lines(str(file)).batch(3, lanes=1, end="mask")
    with pytest.raises(leat.Error, match=r"\\xE9") as raised:
        leat.Loader(data, workers=0).next()
    assert raised.value.sample == "x.jsonl/1"
    batch = next(leat.Loader(data, workers=0, bad_samples="mask"))
    assert [(x.id, "\\xE9" in x.text, "\\xE9" in repr(x)) for x in batch.bad()] == [("x.jsonl/1", True, True)]


def test_ranks_without_a_number_are_refused() -> None:
    refused(r"world_size=2 without rank.*0 to 1", leat.Loader, DATA, world_size=2)
    own = {"begin_epoch": lambda epoch: None, "next": lambda: None}
    refused("world_size=2 without rank", leat.OwnLoader, "own@1", world_size=2, **own)
    next(leat.Loader(DATA, world_size=1))


def test_a_loop_after_the_last_batch_gives_a_notice(caplog: pytest.LogCaptureFixture) -> None:
    at = iter([1, 2, None, None])
    own = leat.OwnLoader("own@1", begin_epoch=lambda epoch: None, next=lambda: next(at))
    for loader in (leat.Loader(DATA), own):
        caplog.clear()
        passes = [len(list(loader)) for _ in range(3)]
        assert passes == [passes[0], 0, 0]
        assert ["epochs=3" in x.message for x in caplog.records] == [True]
    caplog.clear()
    loader = leat.Loader(DATA, epochs=2)
    for _ in range(3):
        assert len([next(loader) for _ in range(10)]) == 10
        loader.rewind()
    digests(loader)
    loader.rewind()
    digests(loader)
    assert caplog.records == []
