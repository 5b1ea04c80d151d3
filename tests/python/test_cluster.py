"""Loaders of several processes that form a cluster: what its ranks hand over, also after failures, and what is refused."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import leat
import pytest
from cluster_bench import Job, check_sums, total, whole
from cluster_jobs import PIPELINES, WAITS_AT
from leat._epochs import Epochs
from leat._leased_batch import LeasedBatch
from support import Ranks, refused


def check_sets(place: Path, name: str, epochs: int = 2) -> None:
    """Jobs of other world sizes resume from the newest set and an older one, without a cluster, and come to the same end."""
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
    """Rank 0 has the coordinator. The others continue in the same process, with the same loader."""
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
            # No rank can know where the epoch ends while one is missing.
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


# What is in the environment


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
    gone: dict[str, Any] = {"interface": "eth0"}
    refused(r"cluster\.interface, got eth0, needed address=", leat.Cluster, "127.0.0.1:4242", **gone)


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
    refused("a loader without a cluster", loader.resume_at, 3)
    assert len(list(loader)) == 6
    loader.finish()


def test_the_other_rank_has_another_pipeline(job: Job) -> None:
    """Both ranks learn of it, and next() keeps raising it."""
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


class Plain(Epochs[LeasedBatch]):
    """Makes a loader as those of frameworks are made."""

    def __init__(self, data: leat.Pipeline, **options: Any) -> None:
        self._open(data, options)


def test_loaders_of_frameworks_that_would_lose_the_rest_of_an_epoch() -> None:
    data = leat.count(24).batch(4)
    assert len(Plain(data, cluster=None)) == 6
    with pytest.raises(leat.InvalidArgument, match=r"a cluster for a test_cluster\.Plain.* give it to a leat\.Loader"):
        Plain(data, cluster=leat.Cluster("127.0.0.1:4242"))


def test_a_dataloader_of_torch() -> None:
    pytest.importorskip("torch")
    from leat.torch import DataLoader

    with pytest.raises(leat.InvalidArgument, match=r"a cluster for a leat\.torch\.DataLoader"):
        DataLoader(leat.count(24).batch(4), cluster=leat.Cluster("127.0.0.1:4242"))
