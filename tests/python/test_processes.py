"""Signals, exits, forks, threads and the garbage collector: nothing hangs, nothing is left behind."""

import gc
import os
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leat
import pytest
from child_process import ChildProcess, run_python
from exit_ways import WAYS, run_ways
from support import digests, due, refused

HEAD = """
import os, signal, sys, threading
import leat
data = leat.count(4000).shuffle(seed=1).map("python@1", lambda s: s.set("x", s.id)).batch(4)
def digests(loader):
    return [str(x.digest()) for x in loader]
"""


def threads_of_this_process() -> int:
    return len(os.listdir("/proc/self/task"))


def test_ctrl_c_while_next_waits() -> None:
    text = """
go = threading.Event()
def wait(sample):
    if sample.id == "count/9":
        os.write(1, b"waiting\\n")
        go.wait(60)
data = leat.count(40).map("wait@1", wait).batch(4)
for _ in range(2):
    loader = leat.Loader(data, workers=1)
    seen = []
    try:
        for batch in loader:
            seen.append(batch.step)
            if batch.step == 1:
                os.write(1, b"two\\n")
    except KeyboardInterrupt:
        print("interrupted after", seen, flush=True)
    go.set()
    print("then", next(loader).step, flush=True)
    loader.close()
    go.clear()
"""
    with ChildProcess([sys.executable, "-c", HEAD + text]) as child:
        for _ in range(2):
            assert {child.line(), child.line()} == {"waiting", "two"}
            child.interrupt()
            assert child.line().startswith("interrupted after [0, 1]")
            assert child.line() == "then 2"
        assert child.end().returncode == 0


def test_ctrl_c_while_a_source_that_exists_once_waits() -> None:
    text = """
import os, threading, leat
go, taken = threading.Event(), threading.Event()
numbers = iter(range(40))
def take(sample):
    for i in numbers:
        if i == 20:
            taken.wait(60)
            os.write(1, b"waiting\\n")
            go.wait(60)
        sample["i"] = i
        return True
    return False
loader = leat.Loader(leat.once("queue@1", take).batch(4))
seen = []
try:
    for batch in loader:
        seen += batch["i"].tolist()
        if batch.step == 3:
            taken.set()
except KeyboardInterrupt:
    print("interrupted", flush=True)
go.set()
for batch in loader:
    seen += batch["i"].tolist()
print(seen == [*range(40)])
"""
    with ChildProcess([sys.executable, "-c", HEAD + text]) as child:
        assert child.line() == "waiting"
        child.interrupt()
        assert child.line() == "interrupted"
        assert child.line() == "True"
        assert child.end().returncode == 0


def test_exits_in_the_middle_of_an_epoch_with_python_maps_running(tmp_path: Path) -> None:
    """A part of what tests/python/exits does: each way once."""
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed", seed)
    for x in run_ways(len(WAYS), seed, str(tmp_path)):
        assert not x.problem, f"{x.way}: {x.problem}\n{x.text}"


# What a family of test_forks.py does not do.
FORKS = {
    "the parent's position": ("loader = leat.Loader(data, workers=1); next(loader)", "loader.position()", "forked"),
    "the parent's save": ("loader = leat.Loader(data, workers=1); next(loader)", "loader.save('/tmp/never')", "forked"),
    "a new loader after a shutdown": (
        "loader = leat.Loader(data, workers=1); next(loader); loader.close(); leat.shutdown()",
        "print(digests(leat.Loader(data, workers=1)) == digests(leat.Loader(data, workers=2)))",
        "True",
    ),
    "a first loader": ("", "print(len(digests(leat.Loader(data, workers=1))))", "1000"),
    "a preview": ("loader = leat.Loader(data, workers=2); next(loader)", "print(len(list(leat.OrderPreview(data))))", "1000"),
    "the parent's batch": (
        "loader = leat.Loader(data, workers=2); batch = next(loader)",
        "print(batch['value'].shape, len(batch.ids()))",
        "(4, 8) 4",
    ),
}


@pytest.mark.parametrize("way", FORKS)
@pytest.mark.parametrize("ending", ["return", "os._exit(0)"])
def test_forks(way: str, ending: str) -> None:
    before, inside, expected = FORKS[way]
    text = f"""
{before}
child = os.fork()
if child == 0:
    try:
        {inside}
    except leat.Error as problem:
        print(problem.code)
    sys.stdout.flush()
    if {ending != "return"}:
        os._exit(0)
    sys.exit(0)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
if "loader" in globals() and "closed" not in repr(loader):
    print("rest", len(digests(loader)))
"""
    found = run_python(HEAD + text)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == expected
    assert lines[1] == "child 0"
    assert lines[2:] in ([], ["rest 999"])


def test_a_subprocess_of_a_parent_with_a_loader() -> None:
    loader = leat.Loader(leat.count(100).batch(4), workers=2)
    next(loader)
    assert run_python("print('child')").stdout == "child\n"
    assert len(digests(loader)) == 24


class Waiting:
    """A pipeline, and a loader that waits at its tenth sample until `go` is set."""

    def __init__(self) -> None:
        self.inside, self.go = threading.Event(), threading.Event()
        self.data = leat.count(40).map("wait@1", self.wait).batch(4)
        self.loader = leat.Loader(self.data, workers=1)

    def wait(self, sample: leat.Sample) -> None:
        if sample.id == "count/9":
            self.inside.set()
            self.go.wait(60)


def test_two_threads_on_one_loader_are_refused() -> None:
    job = Waiting()
    loader = job.loader
    seen: list[str] = []
    other = threading.Thread(target=lambda: seen.extend(digests(loader)))
    other.start()
    assert job.inside.wait(60)
    for call in (loader.next, loader.position, loader.snapshot, lambda: loader.save("/tmp/never")):
        refused("another thread", call)
    assert loader.stats()["slots"]["making"] > 0
    job.go.set()
    other.join(60)
    assert seen == due(job.data)


def test_a_thread_may_close_a_loader_that_another_waits_for() -> None:
    job = Waiting()
    raised: list[str] = []

    def take() -> None:
        try:
            digests(job.loader)
        except leat.Error as problem:
            raised.append(problem.code)

    other = threading.Thread(target=take)
    other.start()
    assert job.inside.wait(60)
    job.loader.close()
    other.join(60)
    job.go.set()
    assert raised == ["interrupted"]
    job.loader.close()


def test_many_loaders_in_many_threads() -> None:
    data = [leat.count(400 + i).shuffle(seed=i).map("id@1", lambda s: s.set("id", s.id)).batch(4) for i in range(8)]
    seen: list[list[str]] = [[] for _ in data]

    def run(i: int) -> None:
        seen[i] = digests(leat.Loader(data[i], workers=i % 3))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for x in threads:
        x.start()
    for x in threads:
        x.join(60)
    assert seen == [due(x) for x in data]


class Owner:
    """Keeps a loader whose map keeps it."""

    def __init__(self, workers: int, steps: int) -> None:
        data = leat.count(400).map("owner@1", lambda s: self.look(s)).filter("all@1", lambda s: self is not None)
        self.pipeline = data.batch(4, end="mask")
        self.loader = leat.Loader(self.pipeline, workers=workers, on_stuck=self.told, agree=self.gather)
        self.batches = [next(self.loader) for _ in range(steps)]

    def look(self, sample: leat.Sample) -> None:
        sample["x"] = 1

    def told(self, problem: leat.Error) -> None:
        pass

    def gather(self, mine: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        return [mine]


@pytest.mark.parametrize("workers", [0, 2])
def test_cycles_through_functions_are_collected(workers: int) -> None:
    leat.shutdown()
    gc.collect()
    threads = threads_of_this_process()
    for steps in (0, 3):
        owner = Owner(workers, steps)
        alive = [weakref.ref(owner), weakref.ref(owner.pipeline), weakref.ref(owner.loader)]
        alive += [weakref.ref(x) for x in owner.batches]
        del owner
        gc.collect()
        assert [x() for x in alive] == [None] * len(alive)
    leat.shutdown()
    assert threads_of_this_process() == threads


@pytest.mark.parametrize("workers", [0, 2])
def test_a_running_loader_is_collected_while_its_functions_run(workers: int) -> None:
    class Busy:
        def __init__(self) -> None:
            self.total = 0
            data = leat.count(1 << 30).map("busy@1", lambda s: self.add(s)).map("own@1", self.make, per_worker=True)
            self.loader = leat.Loader(data.batch(4), workers=workers)
            next(self.loader)

        def add(self, sample: leat.Sample) -> None:
            self.total += len(sample.id)

        def make(self) -> Callable[[leat.Sample], None]:
            return lambda s: self.add(s)

    alive = []
    for _ in range(30):
        alive.append(weakref.ref(Busy()))
        gc.collect()
    assert [x() for x in alive] == [None] * 30


def test_readers_that_know_their_loader_are_collected() -> None:
    class Reading:
        def __init__(self) -> None:
            data = leat.sequential("reading@1", 4, self.units)
            self.unit = leat.open_unit(data, 1)
            next(self.unit)
            self.loader = leat.Loader(data.batch(4), workers=2)
            next(self.loader)

        def units(self, unit: int) -> Iterator[dict[str, Any]]:
            for i in range(1000):
                yield {"at": [unit, i]}

    alive = [weakref.ref(Reading()) for _ in range(5)]
    gc.collect()
    assert [x() for x in alive] == [None] * 5


def test_cycles_through_sources_stages_and_readers_are_collected() -> None:
    class Source:
        def __init__(self) -> None:
            self.data = leat.indexed("own@1", self)
            self.more = leat.from_function("more@1", 9, lambda i: self[i])
            self.units = leat.sequential("units@1", 9, lambda i: iter([self[i]]))
            self.once = leat.once("once@1", lambda s: self is None)
            self.stages = [
                leat.MapStage("a@1", lambda s: self),
                leat.FilterStage("a@1", lambda s: self is None),
                leat.FlatMapStage("a@1", lambda s: 1 if self else 0, lambda s, i: None),
                leat.ScanStage("a@1", look=lambda s: b"", step=lambda a, b: (a, b), apply=lambda s, x: self),
            ]
            self.read = leat.indexed_sources(self.data.batch(1))[0], leat.open_unit(self.units, 1)
            self.preview = leat.OrderPreview(self.data.batch(1))

        def __len__(self) -> int:
            return 9

        def __getitem__(self, i: int) -> dict[str, int]:
            return {"i": i}

    alive = weakref.ref(Source())
    gc.collect()
    assert alive() is None


def test_parsed_functions_live_as_long_as_the_pipeline() -> None:
    class Call:
        def __call__(self, sample: leat.Sample) -> None:
            sample["x"] = 1

    made: list[weakref.ref[Call]] = []

    def make(parameters: str) -> leat.MapStage:
        call = Call()
        made.append(weakref.ref(call))
        return leat.MapStage("kept@1", call, parameters=parameters)

    leat.register_map("kept@1", make)
    data = leat.parse_pipeline('count(40).map("kept@1").batch(4)')
    gc.collect()
    assert made[-1]() is not None
    loader = leat.Loader(data, workers=1)
    del data
    gc.collect()
    assert len(digests(loader)) == 10
    assert made[-1]() is not None
    del loader
    gc.collect()
    assert made[-1]() is None


def test_a_cell_that_is_run_again_leaves_no_thread_behind() -> None:
    leat.shutdown()
    before = threads_of_this_process()
    counts = []
    for _ in range(5):
        loader = leat.Loader(leat.count(400).map("id@1", lambda s: s.set("id", s.id)).batch(4), workers=2)
        next(loader)
        counts.append(threads_of_this_process())
    assert max(counts[1:]) <= counts[0] + 3  # the old loader lives until the new one is bound
    del loader
    leat.shutdown()
    assert threads_of_this_process() == before


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a line\n" * 400)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        loader = leat.Loader(leat.lines(str(tmp_path / "lines.txt"), ranges=4).batch(4), workers=2)
        next(loader)
        loader.close()
    leat.shutdown()
    assert len(os.listdir("/proc/self/fd")) <= before
