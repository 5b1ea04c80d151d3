"""Ctrl-C: it ends whatever waits or takes long, at once, and what it ended can be done again."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support import write_tar

HEAD = """
import os, signal, sys, threading, time
import leat
go, runs = threading.Event(), threading.Event()
def told(text):
    os.write(1, text.encode() + b"\\n")
def soon():  # once the main thread is in the call
    threading.Timer(0.2, told, ["ready"]).start()
def wait(sample):
    if sample.id == "count/9":
        is_first = not runs.is_set()
        runs.set()
        if is_first:
            told("ready")
        go.wait(60)
busy = leat.count(40).map("wait@1", wait).batch(4)
nothing = leat.count(1 << 40).filter(leat.key_matches("none*")).batch(4)
"""


def interrupted(text: str, *arguments: str, signals: int = 1, code: int = 0, when: str = "ready") -> list[str]:
    """The lines that a program prints which gets SIGINT at each line that says `when`."""
    command = [sys.executable, "-c", HEAD + text, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = []
        watchdog = threading.Timer(60, child.kill)
        watchdog.start()
        try:
            for line in child.stdout:
                if line.rstrip() == when and signals > 0:
                    signals -= 1
                    os.kill(child.pid, signal.SIGINT)
                else:
                    lines.append(line.rstrip())
            _, stderr = child.communicate(timeout=60)
        finally:
            watchdog.cancel()
            child.kill()
    assert child.returncode == code, stderr
    assert signals == 0
    assert "Fatal" not in stderr
    assert "leaked" not in stderr
    return lines


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_first_next_of_a_source_that_exists_once(workers: int) -> None:
    text = f"""
numbers = iter(range(20))
def take(sample):
    told("ready")
    go.wait(60)
    for sample["i"] in numbers:
        return True
    return False
loader = leat.Loader(leat.once("queue@1", take).batch(4), workers={workers})
try:
    loader.next()
except KeyboardInterrupt:
    print("interrupted", loader.position().global_step, flush=True)
go.set()
print(sum((batch["i"].tolist() for batch in loader), []) == [*range(20)])
"""
    lines = interrupted(text)
    assert [x for x in lines if x != "ready"] == ["interrupted 0", "True"]


def test_a_first_next_of_standard_input() -> None:
    text = (
        HEAD
        + """
loader = leat.Loader(leat.standard_input().batch(4, end="drop"))
try:
    soon()
    loader.next()
except KeyboardInterrupt:
    told("interrupted")
print([b.step for b in loader])
"""
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", text], text=True, **pipes) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert child.communicate("a line\n" * 12, timeout=60) == ("[0, 1, 2]\n", "")


@pytest.mark.parametrize(
    "call",
    [
        "leat.Loader(nothing)",
        "leat.Loader(nothing, workers=0)",
        "leat.OrderPreview(nothing).next()",
    ],
)
def test_data_that_is_looked_through_when_something_is_made(call: str) -> None:
    text = f"try:\n    soon()\n    {call}\nexcept KeyboardInterrupt:\n    print('interrupted')"
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
        soon()
        while True:
            batch = next(loader)
    except KeyboardInterrupt:
        print(loader.position().step, flush=True)
"""
    first, second = interrupted(text, signals=2)
    assert 10 <= int(first) <= int(second) <= 22


@pytest.mark.parametrize("call", ["seek(0, 1000)", "skip_first_batches(1000)"])
def test_a_seek_leaves_the_loader_where_it_stood(call: str) -> None:
    text = f"""
loader = leat.Loader({FEW}, workers=2)
try:
    soon()
    loader.{call}
except KeyboardInterrupt:
    print("interrupted")
loader.skip_first_batches(1)
print(sorted(next(loader).ids()))
"""
    assert interrupted(text) == ["interrupted", str([f"count/{i}" for i in range(14, 18)])]


@pytest.mark.parametrize("call", ["loader.close()", "del loader", "loader = None", "leat.shutdown()"])
def test_an_end_that_waits_for_a_function(call: str) -> None:
    text = f"""
loader = leat.Loader(busy, workers=1)
batches = [next(loader) for _ in range(2)]
runs.wait(60)
def wake():
    told("ready")
threading.Timer(0.1, wake).start()
try:
    {call}
    while True:
        time.sleep(0.01)  # a destructor cannot raise: it comes at once after it
except KeyboardInterrupt:
    print("interrupted", batches[1].step, batches[1]["value"].shape)
go.set()
"""
    with_first = HEAD.replace('told("ready")', "pass")
    command = [sys.executable, "-c", with_first + text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGINT)
        stdout, stderr = child.communicate(timeout=60)
    assert (stdout, stderr, child.returncode) == ("interrupted 1 (4, 8)\n", "", 0)


def test_a_cell_that_is_run_again_while_a_function_runs() -> None:
    text = """
def cell():
    global loader
    loader = leat.Loader(busy, workers=1)
    for batch in loader:
        print(batch.step, flush=True)
for _ in range(2):
    runs.clear()
    try:
        cell()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
go.set()
cell()
loader.close()
leat.shutdown()
print(len(os.listdir("/proc/self/task")))
"""
    lines = interrupted(text, signals=2)
    assert lines[-11:] == [*(str(i) for i in range(10)), "1"]
    assert lines[:-11].count("interrupted") == 2


def test_the_end_of_the_interpreter_while_a_function_runs() -> None:
    text = """
loader = leat.Loader(busy, workers=1)
next(loader)
runs.wait(60)
import atexit
atexit.register(lambda: None)
threading._register_atexit(lambda: threading.Thread(target=lambda: (time.sleep(0.3), told("at exit")), daemon=True).start())
"""
    assert interrupted(text, code=-signal.SIGINT, when="at exit") == ["ready"]


def test_handlers_that_raise_nothing_run_and_the_wait_goes_on() -> None:
    text = """
signal.signal(signal.SIGINT, lambda *_: (told("handled"), go.set()))
print([b.step for b in leat.Loader(busy, workers=1)])
"""
    assert interrupted(text) == ["handled", str([*range(10)])]


def test_what_a_handler_raises_is_raised() -> None:
    text = """
class Enough(Exception): pass
def enough(*_): raise Enough("of it")
signal.signal(signal.SIGINT, enough)
try:
    leat.Loader(busy, workers=1).skip_first_batches(0) or [*leat.Loader(busy, workers=1)]
except Enough as problem:
    print(repr(problem), problem.__cause__, problem.__context__)
go.set()
"""
    assert interrupted(text) == ["Enough('of it') None None"]


def test_a_loader_of_another_thread_goes_on() -> None:
    text = """
seen = []
done = threading.Event()
def run():
    seen.extend(b.step for b in leat.Loader(busy, workers=1))
    done.set()
try:
    threading.Thread(target=run).start()  # the signal may come before it returns
    done.wait()
except KeyboardInterrupt:
    print("interrupted")
go.set()
done.wait()
print(seen == [*range(10)])
"""
    assert interrupted(text) == ["interrupted", "True"]


@pytest.mark.parametrize("call", ["size()", "batches_per_epoch()"])
def test_shards_that_are_indexed(call: str, tmp_path: Path) -> None:
    """Without a handler of progress. If the machine was faster than the signal, with more shards."""
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
    told("ready")
threading.Thread(target=wake, daemon=True).start()
try:
    leat.tar_shards(sys.argv[1], index_dir=sys.argv[2]).batch(4).{call}
    print("opened")
except KeyboardInterrupt:
    print("interrupted")
"""
        lines = interrupted(text, str(folder / "*.tar"), str(folder / "indexes"))
        if lines == ["interrupted"] and len(os.listdir(folder / "indexes")) < number:
            return
    pytest.fail("all shards were opened first")
