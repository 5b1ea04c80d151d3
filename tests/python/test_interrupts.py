"""Ctrl-C: it ends whatever waits or takes long, at once, and what it ended can be done again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from child_process import ChildProcess
from made_files import write_tar

HEAD = f"""
import os, signal, sys, threading, time
sys.path.append({str(Path(__file__).parent)!r})
import leat
from in_call import tell, when_in_call, when_in_call_later
go, runs = threading.Event(), threading.Event()
def wait(sample):
    if sample.id == "count/9":
        is_first = not runs.is_set()
        runs.set()
        if is_first:
            tell("waits")
        go.wait()
busy = leat.count(40).map("wait@1", wait).batch(4)
nothing = leat.count(1 << 40).filter(leat.key_matches("none*")).batch(4)
"""


def interrupted(text: str, *arguments: str, signals: int = 1, code: int = 0, when: str = "ready") -> list[str]:
    """The lines that a program prints that gets SIGINT at each line that is `when`."""
    lines = []
    with ChildProcess([sys.executable, "-c", HEAD + text, *arguments]) as child:
        while signals > 0:
            line = child.line()
            if line == when:
                signals -= 1
                child.interrupt()
            else:
                lines.append(line)
        ended = child.end()
    assert ended.returncode == code, ended.stderr
    assert "Fatal" not in ended.stderr
    assert "leaked" not in ended.stderr
    return lines + ended.stdout.splitlines()


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_first_next_of_a_source_that_exists_once(workers: int) -> None:
    text = f"""
numbers = iter(range(20))
def take(sample):
    tell("ready")
    go.wait()
    for sample["i"] in numbers:
        return True
    return False
loader = leat.Loader(leat.once("queue@1", take).batch(4), workers={workers})
try:
    loader.next()
except KeyboardInterrupt:
    tell("interrupted", loader.position().global_step)
go.set()
tell(sum((batch["i"].tolist() for batch in loader), []) == [*range(20)])
"""
    assert [x for x in interrupted(text) if x != "ready"] == ["interrupted 0", "True"]


def test_a_first_next_of_standard_input() -> None:
    text = """
loader = leat.Loader(leat.standard_input().batch(4, end="drop"))
try:
    when_in_call()
    loader.next()
except KeyboardInterrupt:
    tell("interrupted")
tell([b.step for b in loader])
"""
    with ChildProcess([sys.executable, "-c", HEAD + text], stdin=subprocess.PIPE) as child:
        assert child.line() == "ready"
        child.interrupt()
        assert child.line() == "interrupted"
        ended = child.end("a line\n" * 12)
    assert (ended.stdout, ended.stderr) == ("[0, 1, 2]\n", "")


@pytest.mark.parametrize(
    "call", ["leat.Loader(nothing)", "leat.Loader(nothing, workers=0)", "leat.OrderPreview(nothing).next()"]
)
def test_data_that_is_looked_through_when_something_is_made(call: str) -> None:
    text = f"try:\n    when_in_call()\n    {call}\nexcept KeyboardInterrupt:\n    tell('interrupted')"
    assert interrupted(text) == ["interrupted"]


FEW = "leat.count(1 << 40).filter(leat.key_matches('*/??')).batch(4)"  # 90 samples, all of them at the beginning


@pytest.mark.parametrize("workers", [0, 2])
def test_a_next_that_looks_through_data(workers: int) -> None:
    text = f"""
loader = leat.Loader({FEW}, workers={workers})
for _ in range(10):
    next(loader)
for _ in range(2):
    try:
        when_in_call()
        while True:
            batch = next(loader)
    except KeyboardInterrupt:
        tell(loader.position().step)
"""
    first, second = interrupted(text, signals=2)
    assert 10 <= int(first) <= int(second) <= 22


@pytest.mark.parametrize("call", ["seek(0, 1000)", "skip_first_batches(1000)"])
def test_a_seek_leaves_the_loader_where_it_stood(call: str) -> None:
    text = f"""
loader = leat.Loader({FEW}, workers=2)
try:
    when_in_call()
    loader.{call}
except KeyboardInterrupt:
    tell("interrupted")
loader.skip_first_batches(1)
tell(sorted(next(loader).ids()))
"""
    assert interrupted(text) == ["interrupted", str([f"count/{i}" for i in range(14, 18)])]


@pytest.mark.parametrize("call", ["loader.close()", "del loader", "loader = None", "leat.shutdown()"])
def test_an_end_that_waits_for_a_function(call: str) -> None:
    text = f"""
loader = leat.Loader(busy, workers=1)
batches = [next(loader) for _ in range(2)]
runs.wait()
try:
    when_in_call()
    {call}
    while True:
        time.sleep(0.01)  # a destructor cannot raise: the exception comes right after it
except KeyboardInterrupt:
    tell("interrupted", batches[1].step, batches[1]["value"].shape)
go.set()
"""
    assert interrupted(text) == ["waits", "interrupted 1 (4, 8)"]


def test_a_dropped_loader_that_waits_for_a_function_before_a_call_that_waits() -> None:
    """What the destructor could not raise ends the call."""
    text = """
loader, other = (leat.Loader(busy, workers=1) for _ in range(2))
for x in (loader, other):
    runs.clear()
    next(x), next(x)
    runs.wait()
x = None
try:
    when_in_call()
    loader = None
    other.next()
except KeyboardInterrupt:
    tell("interrupted")
go.set()
tell([batch.step for batch in other])
"""
    assert interrupted(text) == ["waits", "waits", "interrupted", str([*range(2, 10)])]


def test_a_cell_that_is_run_again_while_a_function_runs() -> None:
    text = """
def cell():
    global loader
    loader = leat.Loader(busy, workers=1)
    for batch in loader:
        tell(batch.step)
for _ in range(2):
    runs.clear()
    try:
        cell()
    except KeyboardInterrupt:
        tell("interrupted")
go.set()
cell()
loader.close()
leat.shutdown()
tell(len(os.listdir("/proc/self/task")))
"""
    lines = interrupted(text, signals=2, when="waits")
    assert lines[-11:] == [*(str(i) for i in range(10)), "1"]
    assert lines[:-11].count("interrupted") == 2


def test_the_end_of_the_interpreter_while_a_function_runs() -> None:
    text = """
loader = leat.Loader(busy, workers=1)
next(loader)
runs.wait()
import atexit
atexit.register(lambda: None)
threading._register_atexit(when_in_call_later())
"""
    assert interrupted(text, code=-signal.SIGINT) == ["waits"]


def test_handlers_that_raise_nothing_run_and_the_wait_goes_on() -> None:
    text = """
signal.signal(signal.SIGINT, lambda *_: (tell("handled"), go.set()))
tell([b.step for b in leat.Loader(busy, workers=1)])
"""
    assert interrupted(text, when="waits") == ["handled", str([*range(10)])]


def test_what_a_handler_raises_is_raised() -> None:
    text = """
class Enough(Exception): pass
def enough(*_): raise Enough("of it")
signal.signal(signal.SIGINT, enough)
try:
    leat.Loader(busy, workers=1).skip_first_batches(0) or [*leat.Loader(busy, workers=1)]
except Enough as problem:
    tell(repr(problem), problem.__cause__, problem.__context__)
go.set()
"""
    assert interrupted(text, when="waits") == ["Enough('of it') None None"]


def test_a_loader_of_another_thread_goes_on() -> None:
    text = """
seen = []
done = threading.Event()
def run():
    seen.extend(b.step for b in leat.Loader(busy, workers=1))
    done.set()
try:
    threading.Thread(target=run).start()  # the signal may come before it returns
    while not done.wait(0.1):  # Python's own wait without a limit misses a signal that comes just before it
        pass
except KeyboardInterrupt:
    tell("interrupted")
go.set()
done.wait()
tell(seen == [*range(10)])
"""
    assert interrupted(text, when="waits") == ["interrupted", "True"]


@pytest.mark.parametrize("call", ["size()", "batches_per_epoch()"])
def test_shards_that_are_indexed(call: str, tmp_path: Path) -> None:
    """Without a handler of progress. Repeats with more shards if the machine was faster than the signal."""
    write_tar(tmp_path / "one.tar", [(f"{i}.txt", b"text") for i in range(300)])
    for number in (2000, 8000, 32000):
        folder = tmp_path / str(number)
        folder.mkdir()
        for i in range(number):
            (folder / f"{i}.tar").symlink_to(tmp_path / "one.tar")
        text = f"""
def wake():
    while not (os.path.exists(sys.argv[2]) and os.listdir(sys.argv[2])):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)  # waiting for a report of it would be too late
waker = threading.Thread(target=wake)
waker.start()
try:
    leat.tar_shards(sys.argv[1], index_dir=sys.argv[2]).batch(4).{call}
    waker.join()
except KeyboardInterrupt:
    tell("interrupted")
"""
        assert interrupted(text, str(folder / "*.tar"), str(folder / "indexes"), signals=0) == ["interrupted"]
        if len(os.listdir(folder / "indexes")) < number:
            return
    pytest.fail("all shards were opened first")


@pytest.mark.parametrize("stage", ["map", "filter", "first samples"])
def test_a_batch_of_slow_rows_without_workers(stage: str) -> None:
    text = """
made = []
def take(sample):
    made.append(sample.id)
    if len(made) == (3 if sys.argv[1] == "first samples" else 103):
        tell("ready")
    if len(made) > 100 or sys.argv[1] == "first samples":
        time.sleep(0.05)
    return True
def change(sample):
    take(sample)
data = leat.count(1000)
if sys.argv[1] == "map":
    data = data.map("slow@1", change).batch(1000)
else:
    data = data.filter("slow@1", take).batch(1000, lanes=1, end="mask")
try:
    batch = next(leat.Loader(data, workers=0))
except KeyboardInterrupt:
    tell(f"{len(made) < 200}")
"""
    assert interrupted(text, stage) == ["True"]
