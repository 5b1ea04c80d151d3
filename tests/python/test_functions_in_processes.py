"""Functions in processes of their own: the same batches as in threads, also when processes die; nothing is left behind."""

import gc
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leat
import process_jobs as jobs
import pytest
from child_process import ChildProcess, run_python, wait_for_end_of
from support import batch_at, refused

Content = list[dict[str, Any]]


def content(data: leat.Pipeline, **options: Any) -> Content:
    """The whole content of batches, in order."""
    found = []
    with leat.Loader(data, **options) as loader:
        for batch in loader:
            fields: dict[str, Any] = {"ids": batch.ids(), "valid": batch.valid.tolist(), "digest": str(batch.digest())}
            for name in batch:
                x = batch[name]
                if isinstance(x, leat.Ragged):
                    fields[name] = (x.values.dtype.str, x.values.shape, x.values.tobytes(), x.offsets.tolist())
                else:
                    fields[name] = (x.dtype.str, x.shape, x.tobytes())
            fields["order of fields"] = list(batch)
            found.append(fields)
    return found


def processes() -> list[int]:
    """Children of this process that have not ended."""
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            text = Path(f"/proc/self/task/{task}/children").read_text()
        except FileNotFoundError:
            continue
        found += [x for x in map(int, text.split()) if " Z " not in Path(f"/proc/{x}/stat").read_text()]
    return found


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAT_TEST_MARK", str(tmp_path))
    return tmp_path


def data_with(make: Callable[[leat.Pipeline, int], leat.Pipeline], processes: int, rows: int = 300) -> leat.Pipeline:
    return make(leat.count(rows).shuffle(seed=3), processes).batch(20)


WAYS: dict[str, Callable[[leat.Pipeline, int], leat.Pipeline]] = {
    "maps": lambda x, n: x.map("a@1", jobs.every_kind, processes=n).map("b@1", jobs.change, processes=n),
    "map before a map of leat's": lambda x, n: x.map("a@1", jobs.every_kind, processes=n).map(leat.select(["image", "id"])),
    "map before a shuffle buffer": lambda x, n: x.map("a@1", jobs.every_kind, processes=n).shuffle_buffer(64, seed=2),
    "batched": lambda x, n: x.map("s@1", jobs.sum_of, batched=True, processes=n),
    "per worker": lambda x, n: x.map("w@1", jobs.made_for_worker, per_worker=True, processes=n),
    "filter": lambda x, n: x.filter("odd@1", jobs.is_odd, processes=n),
    "flat_map": lambda x, n: x.flat_map(leat.FlatMapStage("f@1", jobs.third, jobs.pick, processes=n)),
    "flat_map of two": lambda x, n: x.flat_map(leat.FlatMapStage("f@1", None, jobs.pick, children=2, processes=n)),
    "scan": lambda x, n: x.scan(
        leat.ScanStage("t@1", look=jobs.look, step=jobs.add, apply=jobs.apply, initial=b"0", processes=n)
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_same_batches_as_in_threads(way: str) -> None:
    needed = content(data_with(WAYS[way], 0), workers=0, steps=20)  # some of them are endless
    assert len(needed) in (15, 20)
    for n, workers in [(1, 0), (2, 1), (3, 2)]:
        assert content(data_with(WAYS[way], n), workers=workers, steps=20) == needed


def test_a_source_in_processes() -> None:
    def data(n: int) -> leat.Pipeline:
        return leat.indexed("table@1", jobs.Table(100), processes=n).shuffle(seed=1).batch(10)

    needed = content(data(0), workers=0, bad_samples="mask")
    assert sum(not all(x["valid"]) for x in needed) == 1
    assert content(data(2), workers=2, bad_samples="mask") == needed
    assert content(data(1), workers=0, bad_samples="mask") == needed


def test_a_decorated_function() -> None:
    batches = list(leat.Loader(leat.count(50).map(jobs.decorated).batch(10)))
    assert [x for batch in batches for x in batch["decorated"].tolist()] == [3 * i for i in range(50)]


def test_random_pipelines_and_numbers() -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    for _ in range(4):
        way = draw.choice([WAYS["maps"], WAYS["batched"], WAYS["map before a map of leat's"]])
        rows, where = draw.randint(20, 400), {"rank": 0, "world_size": 1}
        if draw.random() < 0.5:
            where = {"rank": draw.randrange(2), "world_size": 2}
        needed = content(data_with(way, 0, rows), workers=0, **where)
        assert content(data_with(way, draw.randint(1, 3), rows), workers=draw.randint(0, 3), **where) == needed


def test_restore_with_other_processes() -> None:
    needed = content(data_with(WAYS["maps"], 0), workers=0)
    for at, before, after in [(0, 2, 0), (7, 1, 2), (14, 0, 1)]:
        with leat.Loader(data_with(WAYS["maps"], before), workers=1) as loader:
            part = batch_at(loader, at).snapshot()
        with leat.Loader(data_with(WAYS["maps"], after), workers=2) as loader:
            loader.restore_parts([part])
            rest = [str(x.digest()) for x in loader]
        assert rest == [x["digest"] for x in needed[at + 1 :]]


def test_samples_of_many_sizes() -> None:
    def data(n: int) -> leat.Pipeline:
        return leat.count(120).map("grow@1", jobs.grow, processes=n).batch(8)

    assert content(data(2), workers=1) == content(data(0), workers=0)


def test_what_functions_raise(tmp_path: Path) -> None:
    def bad(n: int, workers: int) -> tuple[Content, list[str]]:
        log = tmp_path / f"{n}.jsonl"
        data = leat.count(60).map("raises@1", jobs.raise_for, processes=n).batch(10)
        found = content(data, workers=workers, bad_samples="mask", bad_sample_log=str(log))
        return found, sorted(log.read_text().splitlines())

    needed, log = bad(0, 0)
    assert [i for x in needed for i, ok in enumerate(x["valid"]) if not ok] == [5, 6, 7]
    found, told = bad(2, 1)
    assert found == needed
    assert [x.split("(")[0] for x in told] == [x.split("(")[0] for x in log]
    assert "ValueError: no five (" in "".join(told)
    assert "process_jobs.py:" in "".join(told)


@pytest.mark.parametrize("function", [jobs.raise_memory_error, jobs.raise_full_disk])
def test_lack_of_something_ends_the_job(function: Any) -> None:
    data = leat.count(60).map("raises@1", function, processes=1).batch(10)
    with pytest.raises(leat.Error) as raised, leat.Loader(data, bad_samples="mask") as loader:
        loader.next()
    assert raised.value.code == "no_resources"


@pytest.mark.parametrize("workers", [0, 2])
def test_interrupts_of_functions_come_out_of_next(workers: int) -> None:
    data = leat.count(60).map("raises@1", jobs.raise_interrupt, processes=2).batch(10)
    with pytest.raises(KeyboardInterrupt, match="by the function"), leat.Loader(data, workers=workers) as loader:
        loader.next()
    data = leat.count(60).map("raises@1", jobs.raise_exit, processes=1).batch(10)
    with pytest.raises(SystemExit) as raised, leat.Loader(data, workers=workers) as loader:
        loader.next()
    assert raised.value.code == 5


# Processes that die


@pytest.mark.parametrize("workers", [0, 2])
def test_dead_processes_are_replaced(mark: Path, workers: int) -> None:
    def data(n: int) -> leat.Pipeline:
        return leat.count(400).map("kill@1", jobs.kill_once, processes=n).batch(20)

    assert [x["x"][2] for x in content(data(2), workers=workers)] == [
        b"".join(i.to_bytes(8, "little") for i in range(at, at + 20)) for at in range(0, 400, 20)
    ]
    assert {x.name for x in mark.iterdir()} == {"70", "71", "300", "300 again"}


def test_processes_that_are_killed_from_outside() -> None:
    data = data_with(WAYS["maps"], 2)
    needed = content(data_with(WAYS["maps"], 0), workers=0)
    found = []
    with leat.Loader(data, workers=1) as loader:
        for batch in loader:
            found.append(str(batch.digest()))
            for x in processes() if batch.step % 5 == 1 else []:
                os.kill(x, signal.SIGKILL)
    assert found == [x["digest"] for x in needed]


@pytest.mark.parametrize(("function", "text"), [(jobs.crash, "signal 11"), (jobs.leave, "exit code 3")])
def test_a_sample_that_kills_its_process_is_bad(function: Any, text: str, tmp_path: Path) -> None:
    log = tmp_path / "bad.jsonl"
    data = leat.count(40).map("dies@1", function, processes=2).batch(10)
    found = content(data, workers=1, bad_samples="mask", bad_sample_log=str(log))
    assert [i for x in found for i, ok in zip(range(40), x["valid"], strict=False) if not ok] == [9]
    assert text in log.read_text()
    assert '"cause":"killed"' in log.read_text().replace(" ", "")


def test_a_sample_whose_process_is_killed_is_not_bad() -> None:
    data = leat.count(40).map("killed@1", jobs.be_killed, processes=1).batch(10)
    with pytest.raises(leat.Error, match="memory") as raised, leat.Loader(data, bad_samples="mask") as loader:
        list(loader)
    assert raised.value.code == "no_resources"


# What is refused


def nested() -> Callable[[leat.Sample], None]:
    def inside(sample: leat.Sample) -> None:
        sample["x"] = 1

    return inside


@pytest.mark.parametrize("function", [lambda sample: None, nested()])
def test_functions_without_a_name_are_refused(function: Any) -> None:
    refused("top level of a module", leat.count(10).map, "x@1", function, processes=1)


def test_ids_are_not_judged_in_processes() -> None:
    refused("of_id", leat.count(10).filter, "x@1", jobs.is_odd, of_id=True, processes=1)
    with pytest.raises((leat.InvalidArgument, TypeError)):
        leat.count(10).map("x@1", jobs.every_kind, processes=-1)


def test_functions_of_an_interactive_session_are_refused() -> None:
    found = run_python("import leat\ndef f(s): pass\nleat.count(9).map('f@1', f, processes=1)")
    assert "put it into a module" in found.stderr.splitlines()[-1]


HEAD = f"import sys\nsys.path.append({str(Path(__file__).parent)!r})\nimport leat, process_jobs\n"


def started(tmp_path: Path, text: str, *arguments: str) -> ChildProcess:
    path = tmp_path / "program.py"
    path.write_text(HEAD + text)
    return ChildProcess([sys.executable, path, *arguments])


def program(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    with started(tmp_path, text, *arguments) as child:
        return child.end()


def test_a_main_module_without_a_guard_is_refused(tmp_path: Path) -> None:
    text = "def f(s): s['x'] = 1\nfor b in leat.Loader(leat.count(9).map('f@1', f, processes=1).batch(3)): pass\n"
    found = program(tmp_path, text)
    assert found.returncode == 1
    assert 'if __name__ == "__main__"' in found.stderr.splitlines()[-1]


def test_functions_of_the_main_module(tmp_path: Path) -> None:
    text = """
def f(s): s["x"] = len(sys.argv)
if __name__ == "__main__":
    print([b["x"].tolist() for b in leat.Loader(leat.count(6).map("f@1", f, processes=2).batch(3))])
"""
    found = program(tmp_path, text, "an argument")
    assert found.stdout == "[[2, 2, 2], [2, 2, 2]]\n"
    assert found.stderr == ""


@pytest.mark.parametrize("stage", ["map('f@1', process_jobs.number_field", "filter('f@1', process_jobs.is_odd"])
def test_a_process_that_cannot_begin_ends_the_job(tmp_path: Path, stage: str) -> None:
    text = f"""
if __name__ == "__main__":
    sys.argv[1:] = ["fail to import"]
    try:
        list(leat.Loader(leat.count(6).{stage}, processes=2).batch(3), bad_samples="mask"))
    except leat.Error as problem:
        print(problem.code, problem.got)
"""
    found = program(tmp_path, text)
    assert found.stdout.startswith("worker_lost a process without its functions: ImportError: on purpose")


def test_processes_begin_no_processes_but_may_have_loaders() -> None:
    data = leat.count(4).map("own@1", jobs.loaders_of_its_own, processes=1).batch(2)
    with pytest.raises(leat.Error, match="within a process"):
        list(leat.Loader(data))
    data = leat.count(4).map("own@1", jobs.use_a_loader, processes=1).batch(2)
    assert [x["n"].tolist() for x in leat.Loader(data)] == [[10, 10], [10, 10]]


# Ends


def test_no_process_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    gc.collect()
    before, files = processes(), len(os.listdir("/proc/self/fd"))
    data = leat.count(40).map("say@1", jobs.say, processes=2).batch(10)
    with leat.Loader(data, workers=2) as loader:
        batch = next(loader)
        here = set(batch["pid"].tolist())
        assert os.getpid() not in here
        assert here <= set(processes())
        assert len(processes()) - len(before) == 2
    assert processes() == before
    loader = leat.Loader(data, workers=1)
    loader.next()
    del loader, batch
    assert processes() == before
    assert len(os.listdir("/proc/self/fd")) <= files
    assert capfd.readouterr().out.count("said") >= 20


def test_two_loaders_share_processes() -> None:
    data = leat.count(40).map("say@1", jobs.say, processes=2).batch(10)
    before = len(processes())
    with leat.Loader(data, workers=1) as one, leat.Loader(data, workers=1) as two:
        one.next()
        two.next()
        assert len(processes()) - before == 2
        one.close()
        assert len(processes()) - before == 2
        assert two.next() is not None


RUNNING = """
import os
import process_jobs
if __name__ == "__main__":
    data = leat.count(1 << 40).map("say@1", process_jobs.say, processes=2).batch(10)
    loader = leat.Loader(data, workers=2)
    seen = set()
    for batch in loader:
        seen |= set(batch["pid"].tolist())
        if len(seen) == 2 and batch.step >= 20:
            break
    os.write(2, b"%d %d" % tuple(seen))
"""


@pytest.mark.parametrize("end", ["", "    os._exit(0)\n", "    os.kill(os.getpid(), 9)\n", "    raise ValueError\n"])
def test_processes_end_with_the_program(tmp_path: Path, end: str) -> None:
    pids = [int(x) for x in program(tmp_path, RUNNING + end).stderr.split("Traceback")[0].split()]
    assert len(pids) == 2
    for pid in pids:
        wait_for_end_of(pid)


@pytest.fixture
def pipes(mark: Path) -> Path:
    """How a function reports that it waits, and is told to continue."""
    os.mkfifo(mark / "waiting")
    os.mkfifo(mark / "go")
    return mark


def ends_well(child: ChildProcess, pipes: Path) -> None:
    child.write_to(pipes / "go", "go")
    assert child.line() == "True"
    assert child.end().returncode == 0


def test_ctrl_c_reaches_the_program_alone(tmp_path: Path, pipes: Path) -> None:
    text = """
if __name__ == "__main__":
    data = leat.count(40).map("wait@1", process_jobs.wait_for_file, processes=2).batch(4)
    loader = leat.Loader(data, workers=1)
    seen = []
    while True:
        try:
            for batch in loader:
                seen.append(batch.step)
            break
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    print(seen == [*range(10)])
"""
    with started(tmp_path, text) as child:
        child.read_from(pipes / "waiting")
        child.interrupt_all()
        assert child.line() == "interrupted"
        ends_well(child, pipes)


def test_calls_that_were_given_up_leave_nothing_to_the_next_ones(tmp_path: Path, pipes: Path) -> None:
    text = """
if __name__ == "__main__":
    data = leat.count(40).map("wait@1", process_jobs.wait_for_file, processes=1).batch(4)
    other = leat.Loader(data, workers=0)
    seen = [other.next().text("x")]
    try:
        list(leat.Loader(data, workers=0))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    seen += [batch.text("x") for batch in other]
    print(sum(seen, []) == [f"count/{i}" for i in range(40)])
"""
    with started(tmp_path, text) as child:
        child.read_from(pipes / "waiting")
        child.interrupt_all()
        assert child.line() == "interrupted"
        child.read_from(pipes / "waiting")
        ends_well(child, pipes)


def test_ctrl_c_ends_a_wait_for_processes_that_others_use(tmp_path: Path, pipes: Path) -> None:
    text = """
import threading
from in_call import tell, when_in_call
def take():
    for batch in leat.Loader(data, workers=1):
        seen.extend(batch.text("x"))
if __name__ == "__main__":
    data = leat.count(40).map("wait@1", process_jobs.wait_for_file, processes=1).batch(4)
    other, seen = leat.Loader(data, workers=0), []
    taker = threading.Thread(target=take)
    taker.start()
    (process_jobs.MARK / "waiting").read_text()
    try:
        when_in_call()
        next(other)
    except KeyboardInterrupt:
        tell("interrupted")
    taker.join()
    tell(seen == [f"count/{i}" for i in range(40)])
"""
    with started(tmp_path, text) as child:
        assert child.line() == "ready"
        child.interrupt()
        assert child.line() == "interrupted"
        ends_well(child, pipes)


def test_ctrl_c_while_a_process_is_ended_is_raised(mark: Path) -> None:
    data = leat.count(40).map("dies@1", jobs.interrupt_and_crash, processes=1).batch(10)
    with pytest.raises(KeyboardInterrupt), leat.Loader(data, workers=0, bad_samples="mask") as loader:
        loader.next()
    assert (mark / "interrupted").exists()
    assert processes() == []


def test_ctrl_c_while_a_process_is_started_again_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    start, starts = leat.processes.Recipe.start, []

    def interrupted_start(recipe: leat.processes.Recipe) -> tuple[list[bytes], bytes]:
        starts.append(recipe)
        if len(starts) > 1:
            raise KeyboardInterrupt
        return start(recipe)

    monkeypatch.setattr(leat.processes.Recipe, "start", interrupted_start)
    data = leat.count(40).map("dies@1", jobs.crash, processes=1).batch(10)
    with pytest.raises(KeyboardInterrupt), leat.Loader(data, workers=0) as loader:
        loader.next()
    assert len(starts) == 2
    assert processes() == []


def test_a_fork_leaves_the_parents_processes_alone() -> None:
    data = leat.count(400).map("say@1", jobs.say, processes=2).batch(10)
    with leat.Loader(data, workers=1) as loader:
        next(loader)
        child = os.fork()
        if child == 0:
            try:
                del loader
                gc.collect()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert len(list(loader)) == 39


def test_a_fork_has_processes_of_its_own() -> None:
    data = leat.indexed("table@1", jobs.Table(100), processes=1)
    records = leat.indexed_sources(data)[0]
    assert records[3]["i"] == 3
    parents = processes()
    child = os.fork()
    if child == 0:
        try:
            ok = records[4]["i"] == 4 and len(processes()) == 1
            del records, data
            gc.collect()
            os._exit(0 if ok and processes() == [] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert processes() == parents
    assert records[5]["square"].tolist() == [25, 5]
    assert processes() == parents


def test_pipelines_with_processes_are_equal_and_print_alike() -> None:
    one = leat.count(9).map("a@1", jobs.every_kind, processes=2).batch(3)
    assert one == leat.count(9).map("a@1", jobs.every_kind).batch(3)
    assert str(one) == str(leat.count(9).map("a@1", jobs.every_kind).batch(3))
