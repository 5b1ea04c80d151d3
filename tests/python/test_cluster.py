"""Loaders of several processes that form a cluster: what its ranks hand over, and how its calls are refused, wait and end."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import leat
import pytest
from child_process import ChildProcess
from cluster_jobs import PIPELINES, WAITS_AT, Options
from support import Ranks

HERE = Path(__file__).parent
PROGRAM = HERE / "cluster_jobs.py"
HEAD = f"""
import os, signal, sys, threading
sys.path.append({str(HERE)!r})
import leat
from cluster_jobs import SAVE_EVERY, WAITS_AT, Options
from in_call import tell, when_in_call
place, rank, world_size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
options = Options(place=place, pipeline="dropping", rank=rank, world_size=world_size)
"""


class Job:
    """The ranks of a job, each in a process of its own."""

    def __init__(self, stack: ExitStack, place: Path) -> None:
        self.place = place
        self.options = Options(place=str(place), pipeline="indexed")
        self._stack = stack
        self._ranks: dict[int, ChildProcess] = {}

    def start(self, rank: int, **more: Any) -> None:
        """With what differs from the job's options."""
        self._begin(rank, PROGRAM, replace(self.options, rank=rank, **more).json())

    def start_text(self, text: str, rank: int = 0, world_size: int = 1, **options: Any) -> ChildProcess:
        return self._begin(rank, "-c", HEAD + text, self.place, rank, world_size, **options)

    def _begin(self, rank: int, *arguments: object, **options: Any) -> ChildProcess:
        self._ranks[rank] = self._stack.enter_context(ChildProcess([sys.executable, *arguments], **options))
        return self._ranks[rank]

    def lines(self, rank: int, code: int = 0) -> list[str]:
        """What it has printed once it has ended."""
        ended = self._ranks[rank].end()
        assert ended.returncode == code, ended.stderr
        assert "leaked" not in ended.stderr
        return self._ranks[rank].lines

    def end(self, rank: int, code: int = 0) -> Any:
        """What came of it: its last line, unless it was killed."""
        lines = self.lines(rank, code)
        return json.loads(lines[-1]) if lines else None

    def end_all(self) -> list[Any]:
        return [self.end(rank) for rank in sorted(self._ranks)]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with ExitStack() as stack:
        yield Job(stack, tmp_path)


def total(digests: list[str]) -> str:
    return str(sum((leat.Hash128(x) for x in digests), leat.Hash128()))


def whole(name: str, epochs: int = 2) -> str:
    """The digest of one process."""
    loader = leat.Loader(PIPELINES[name](), epochs=epochs, workers=0)
    for _ in loader:
        pass
    return str(loader.position().digest)


def check_sums(ends: list[Any], name: str) -> None:
    """Of all ranks: where all go back, rank 0 takes over the digests of the others."""
    assert total([x["digest"] for x in ends]) == whole(name)
    assert total([x["weights"] for x in ends]) == whole(name)


def check_sets(place: Path, name: str, epochs: int = 2) -> None:
    """The newest set and an older one go on in other worlds, without a cluster, to the same end."""
    sets = sorted(place.glob("sets/*"), key=lambda x: x.stat().st_mtime_ns)
    assert all(x.is_file() for x in sets)
    for file in {sets[0], sets[-1]}:
        for world_size in (1, 3):

            def rest(rank: int, agree: Any, file: Path = file, world_size: int = world_size) -> str:
                loader = leat.Loader(
                    PIPELINES[name](), epochs=epochs, workers=1, rank=rank, world_size=world_size,
                    agree=agree if world_size > 1 and name != "indexed" else None,
                )  # fmt: skip
                assert loader.restore(str(file)) is not None
                for _ in loader:
                    pass
                return str(loader.position().digest)

            assert total(Ranks(world_size).run(rest)) == whole(name, epochs)


@pytest.mark.parametrize("name", PIPELINES)
def test_ranks_hand_over_together_what_one_process_does(name: str, job: Job) -> None:
    job.options = replace(job.options, pipeline=name)
    for rank in range(4):
        job.start(rank)
    ends = job.end_all()
    check_sums(ends, name)
    assert len({tuple(x["batches"]) for x in ends}) == 1  # the same steps in the same order
    if name == "indexed":
        for rank in range(4):
            alone = leat.Loader(PIPELINES[name](), epochs=2, workers=0, rank=rank, world_size=4)
            assert ends[rank]["batches"] == {f"{x.epoch}/{x.step}": str(x.digest()) for x in alone}
    check_sets(job.place, name)


@pytest.mark.parametrize(("name", "lost"), [("dropping", 2), ("dropping", 0), ("indexed", 3)])
def test_all_go_back_when_a_rank_is_killed(name: str, lost: int, job: Job) -> None:
    """Rank 0 has the coordinator. The others go on in the same process, with the same loader."""
    job.options = replace(job.options, pipeline=name)
    for rank in range(4):
        job.start(rank, kill_after=17 if rank == lost else 0)
    assert job.end(lost, code=-signal.SIGKILL) is None
    job.start(lost)
    ends = job.end_all()
    assert ends[lost]["began_at"] >= WAITS_AT, "a set was stored before it was killed"
    for rank, end in enumerate(ends):
        if rank != lost:
            assert end["began_at"] == 0
            assert any(at >= WAITS_AT for _, at in end["regrouped"])
            # No rank can know where the epoch ends while one is not there.
            assert name == "indexed" or {call for call, _ in end["regrouped"]} == {"next"}
    check_sums(ends, name)
    check_sets(job.place, name)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_killed_rank_comes_back_alone(name: str, job: Job) -> None:
    job.options = replace(job.options, pipeline=name, on_rank_loss="alone")
    for rank in range(4):
        job.start(rank, kill_after=17 if rank == 2 else 0)
    assert job.end(2, code=-signal.SIGKILL) is None
    job.start(2, comes_back=True)
    ends = job.end_all()
    assert ends[2]["began_at"] == 17
    assert "resume_at" in ends[2]["refused"], ends[2]
    check_sums(ends, name)
    check_sets(job.place, name)


# What the environment says


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets variables of torchrun; None: that one is not set."""
    for name in [*os.environ]:
        if name.startswith(("LEAT_CLUSTER_", "SLURM_", "OMPI_", "PMIX_", "TORCHELASTIC_")):
            monkeypatch.delenv(name)

    def set_variables(**more: str | None) -> None:
        usual = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        for name, value in {**usual, **more}.items():
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)

    return set_variables


def test_torchruns_variables(environment: Callable[..., None]) -> None:
    environment(LEAT_CLUSTER_STATE="/shared/state", LEAT_CLUSTER_TOKEN="hidden word", LEAT_CLUSTER_JOB="night 7")
    found = leat.Cluster.from_env()
    assert (found.rank, found.world_size, found.state_directory, found.job) == (1, 4, "/shared/state", "night 7")
    host, port = found.address.split(":")
    assert (host, int(port) != 29500) == ("127.0.0.1", True)
    assert found.token == "hidden word"
    assert "hidden word" not in repr(found)
    assert repr(found) == f"leat.Cluster(address='{found.address}', state_directory='/shared/state', rank=1, world_size=4)"
    found.rank, found.beat = 2, 0.25
    assert found.rank == 2
    assert found.beat.total_seconds() == 0.25
    assert leat.Cluster.from_leat_env().rank is None
    assert leat.Cluster.from_leat_env().job == "night 7"


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"RANK": None}, 'WORLD_SIZE="4" without RANK'),
        ({"WORLD_SIZE": None}, 'RANK="1" without WORLD_SIZE'),
        ({"RANK": None, "WORLD_SIZE": None}, "LEAT_CLUSTER_ADDRESS=host:port"),
        ({"RANK": "4"}, "a rank below the world size"),
        ({"RANK": "one"}, "a number"),
        ({"MASTER_PORT": None}, "without MASTER_PORT"),
        ({"LEAT_CLUSTER_STATE": ""}, "LEAT_CLUSTER_STATE is set, and empty"),
        ({"LEAT_CLUSTER_INSECURE": "perhaps"}, "LEAT_CLUSTER_INSECURE"),
        ({"LEAT_CLUSTER_ADDRESS": "node1"}, "LEAT_CLUSTER_ADDRESS"),
        ({"LOCAL_RANK": None, "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, "two that agree"),
    ],
)
def test_variables_that_are_missing_or_contradict(
    variables: dict[str, str | None], told: str, environment: Callable[..., None]
) -> None:
    environment(**variables)
    with pytest.raises(leat.InvalidArgument) as problem:
        leat.Cluster.from_env()
    assert told in str(problem.value)


def set_free_port(environment: Callable[..., None], **variables: str) -> None:
    """Of torchrun's, one beside which leat's own is free."""
    for port in random.sample(range(20000, 30000), 1000):
        environment(MASTER_PORT=str(port), **variables)
        host, found = leat.Cluster.from_env().address.split(":")
        with socket.socket() as probe, suppress(OSError):
            probe.bind((host, int(found)))
            return
    pytest.fail("no port is free")


def test_ranks_that_torchrun_starts(environment: Callable[..., None], job: Job) -> None:
    text = """
cluster = leat.Cluster.from_env()
cluster.beat = 0.1
loader = leat.Loader(options.data(), epochs=2, cluster=cluster)
loader.restore(options.sets)
for batch in loader:
    pass
loader.finish()
tell('{"digest": "%s"}' % loader.position().digest)
"""
    set_free_port(environment, WORLD_SIZE="2", LEAT_CLUSTER_STATE=str(job.place / "state"))
    for rank in range(2):
        environment(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_PORT=os.environ["MASTER_PORT"],
            LEAT_CLUSTER_STATE=str(job.place / "state"),
        )  # fmt: skip
        job.start_text(text, rank, 2)
    assert total([x["digest"] for x in job.end_all()]) == whole("dropping")


# What is refused


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        (leat.Cluster("10.0.0.5:4242"), "insecure"),
        (leat.Cluster("node1:4242"), "insecure"),
        (leat.Cluster(), "LEAT_CLUSTER_ADDRESS"),
        (leat.Cluster("127.0.0.1:4242", runs_coordinator=True), "state_directory"),
        (leat.Cluster("127.0.0.1:4242", beat=0.001), "10 ms"),
        (leat.Cluster("127.0.0.1:port"), "port"),
        (leat.Cluster("127.0.0.1:4242", rank=2, world_size=2), "rank"),
        (leat.Cluster("127.0.0.1:4242", rank=0, world_size=3), "2, and 3"),
        (leat.Cluster("127.0.0.1:4242", least_ranks=3, most_ranks=2), "3 to 2"),
    ],
)
def test_clusters_that_no_loader_takes(cluster: leat.Cluster, told: str) -> None:
    world_size = 2 if cluster.world_size else 1
    with pytest.raises(leat.InvalidArgument) as problem:
        leat.Loader(leat.count(8).batch(4), world_size=world_size, cluster=cluster)
    assert told in str(problem.value)


def test_options_out_of_their_range() -> None:
    wrong: list[dict[str, Any]] = [{"on_rank_loss": "together"}, {"rank": -1}, {"rank": "1"}, {"beat": None}]
    for options in wrong:
        with pytest.raises(TypeError):
            leat.Cluster("127.0.0.1:4242", **options)


def test_calls_that_move_one_rank_alone(job: Job) -> None:
    text = """
loader = options.loader()
def refused(call):
    try:
        call()
    except leat.InvalidArgument as problem:
        return str(problem)
part = leat.Loader(options.data()).snapshot()
calls = {
    "seek": lambda: loader.seek(0, 3),
    "rewind": loader.rewind,
    "restore_parts": lambda: loader.restore_parts([part]),
    "skip_first_batches": lambda: loader.skip_first_batches(3),
}
tell([name for name, call in calls.items() if "a loader of a cluster" not in str(refused(call))])
loader.restore(options.sets)
tell([name for name, call in calls.items() if "a loader of a cluster" not in str(refused(call))])
tell("one call before the first next()" in refused(lambda: loader.restore(options.sets)))
batch = next(loader)
tell("a loader with batches left" in refused(loader.finish))
tell(refused(lambda: loader.save(place + "/elsewhere", batch)))
loader.save(place + "/../" + os.path.basename(place) + "/sets/", batch)
loader.wait_saved()
tell(os.listdir(options.sets))
tell([x.global_step for x in loader] == [*range(1, loader.position().global_step)])
loader.finish()
"""
    job.start_text(text)
    lines = job.lines(0)
    assert lines[:4] == ["[]", "[]", "True", "True"]
    assert "/elsewhere" in lines[4]
    assert lines[5:] == ["['epoch-0-step-1.of-1']", "True"]


def test_a_loader_without_a_cluster() -> None:
    loader = leat.Loader(leat.count(24).batch(4))
    loader.join()
    with pytest.raises(leat.InvalidArgument, match="a loader without a cluster"):
        loader.resume_at(3)
    assert len(list(loader)) == 6
    loader.finish()


def test_the_other_rank_has_another_pipeline(job: Job) -> None:
    """Both are told, and next() goes on to tell it."""
    text = """
options.pipeline = ("dropping", "indexed")[rank]
loader = options.loader()
for call in (loader.join, loader.next, loader.next):
    try:
        call()
    except leat.Error as problem:
        tell(problem.code, "differ" in str(problem))
"""
    for rank in range(2):
        job.start_text(text, rank, 2)
    for rank in range(2):
        assert job.lines(rank) == ["cluster True"] * 3


# Waits that a signal ends


@pytest.mark.parametrize("call", ["loader.restore(options.sets)", "loader.join()", "loader.next()"])
def test_ctrl_c_while_ranks_are_missing(call: str, job: Job) -> None:
    """What was interrupted is called again, or restore(), and then all ranks are there."""
    text = f"""
loader = options.loader()
for _ in range(2):
    try:
        when_in_call()
        {call}
    except KeyboardInterrupt:
        tell("interrupted", loader.position().global_step)
loader.restore(options.sets)
steps = []
for batch in loader:
    steps.append(batch.global_step)
    if len(steps) % SAVE_EVERY == 0:
        loader.save(options.sets, batch)
    if len(steps) == WAITS_AT:
        loader.wait_saved()
        tell(f"epoch-0-step-{WAITS_AT}.of-2" in os.listdir(options.sets))
loader.finish()
tell(steps == [*range(loader.position().global_step)])
"""
    first = job.start_text(text, 0, 2)
    for _ in range(2):
        assert first.line() == "ready"
        first.interrupt()
        assert first.line() == "interrupted 0"
    job.options = replace(job.options, pipeline="dropping", world_size=2)
    job.start(1)
    assert job.lines(0)[-2:] == ["True", "True"]
    assert job.end(1)["began_at"] == 0


@pytest.mark.parametrize("ending", ["", "loader.close()", "sys.exit(0)", "del loader"])
def test_a_process_ends_after_a_ctrl_c_while_ranks_are_missing(ending: str, job: Job) -> None:
    text = f"""
loader = options.loader()
try:
    when_in_call()
    loader.restore(options.sets)
except KeyboardInterrupt:
    tell("interrupted")
{ending}
"""
    first = job.start_text(text, 0, 2)
    assert first.line() == "ready"
    first.interrupt()
    assert job.lines(0) == ["ready", "interrupted"]


def test_ctrl_c_without_a_handler_of_the_program(job: Job) -> None:
    first = job.start_text("loader = options.loader()\nwhen_in_call()\nloader.restore(options.sets)", 0, 2)
    assert first.line() == "ready"
    first.interrupt()
    ended = first.end()
    assert ended.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in ended.stderr
    assert "Fatal" not in ended.stderr


def test_ctrl_c_while_next_waits_for_another_rank(job: Job) -> None:
    """Where an epoch ends is known once the other rank has come so far. Nothing is lost, and the wait can go on."""
    text = """
loader = options.loader()
loader.restore(options.sets)
next(loader)
if rank == 1:
    tell("here")
    os.read(0, 1)
calls = 0
def watch():
    looks, before = 0, -1
    while looks < 50:
        threading.Event().wait(0.01)
        looks, before = (looks + 1 if before == calls else 0), calls
    tell("waits")
def begin():
    if rank == 0:
        threading.Thread(target=watch, daemon=True).start()
begin()
while True:
    try:
        calls += 1
        if next(loader, None) is None:
            break
    except KeyboardInterrupt:
        tell("interrupted")
        if not interrupted:
            begin()
        interrupted = True
loader.finish()
tell('{"digest": "%s"}' % loader.position().digest)
""".replace("calls = 0", "calls, interrupted = 0, False")
    first = job.start_text(text, 0, 2)
    second = job.start_text(text, 1, 2, stdin=subprocess.PIPE)
    assert second.line() == "here"
    for _ in range(2):
        assert first.line() == "waits"
        first.interrupt()
        assert first.line() == "interrupted"
    ended = second.end("on")
    assert ended.returncode == 0, ended.stderr
    assert total([json.loads(x)["digest"] for x in (ended.stdout, job.lines(0)[-1])]) == whole("dropping")


# Ends


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError('the end')", 1),
        ("os._exit(4)", 4),
        ("loader.close()", 0),
        ("del loader", 0),
        ("with loader: next(loader)", 0),
        ("held = [next(loader)['value'] for _ in range(2)]", 0),
        ("leat.shutdown()", 0),
    ],
)
def test_a_process_ends_in_the_middle_of_an_epoch(ending: str, code: int, job: Job) -> None:
    text = f"""
loader = options.loader()
loader.restore(options.sets)
next(loader), next(loader)
tell("here")
os.read(0, 1)
{ending}
"""
    ranks = [job.start_text(text, rank, 2, stdin=subprocess.PIPE) for rank in range(2)]
    for rank in ranks:
        assert rank.line() == "here"
    for rank in reversed(ranks):  # the coordinator last
        ended = rank.end("on")
        assert ended.returncode == code, ended.stderr
        assert "Fatal" not in ended.stderr
        assert "leaked" not in ended.stderr


def test_a_closed_loader(job: Job) -> None:
    text = """
with options.loader() as loader:
    loader.restore(options.sets)
    batch = next(loader)
for call in (loader.next, loader.join, loader.finish, loader.position):
    try:
        call()
    except leat.Error as problem:
        tell(problem.code)
tell(batch["value"].shape[0], repr(loader))
"""
    job.start_text(text)
    assert job.lines(0) == ["shut_down"] * 4 + ["12 <leat.Loader, closed>"]


def test_a_loader_that_is_closed_and_made_again(job: Job) -> None:
    """As if the process had been started again."""
    text = """
from cluster_jobs import main
with options.loader() as loader:
    loader.restore(options.sets)
    for _ in zip(range(10), loader):
        pass
main(options.json())
"""
    job.options = replace(job.options, pipeline="dropping", world_size=2)
    job.start(0)
    job.start_text(text, 1, 2)
    ends = job.end_all()
    assert ends[0]["regrouped"] != []
    check_sums(ends, "dropping")


def test_forks_of_a_process_that_has_joined(job: Job) -> None:
    text = """
def code_of(call):
    try:
        call()
    except leat.Error as problem:
        return problem.code
def in_child(*calls):
    child = os.fork()
    if child == 0:
        tell([code_of(x) for x in calls])
        os._exit(0)
    os.waitpid(child, 0)
loader = options.loader()
loader.restore(options.sets)
batch = next(loader)
in_child(loader.next, loader.join, loader.finish, lambda: loader.save(options.sets), loader.close, options.loader)
tell([x.global_step for x in loader] == [*range(1, loader.position().global_step)])
loader.finish()
loader.close()
leat.shutdown()
options.place += "/other"
in_child(lambda: [*leat.Loader(leat.count(8).batch(4))], lambda: options.loader().join())
options.loader().join()
tell("joined")
"""
    job.start_text(text)
    forked = "'forked'"
    assert job.lines(0) == [f"[{', '.join([forked] * 4)}, None, {forked}]", "True", "[None, 'forked']", "joined"]
