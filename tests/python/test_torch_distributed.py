"""leat.torch.DataLoader over several ranks: states that are equal, and checkpoints for other numbers of ranks."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import leat  # noqa: E402
import leat.torch  # noqa: E402
from support import refused  # noqa: E402
from torch_jobs import DATA, due, joined, run_ranks, seen  # noqa: E402

EPOCHS = 2


def run(name: str, directory: str, stop: int | None, resumed: bool) -> tuple[list[Any], Any, Any]:
    """Batches up to a step of the job, with a checkpoint there, or from a checkpoint on."""
    import torch.distributed.checkpoint as dcp

    loader = leat.torch.DataLoader(DATA[name](), workers=1)
    if resumed:
        dcp.load({"data": loader}, checkpoint_id=directory)
    found = []
    for _ in range(loader.epoch, EPOCHS):
        for batch in loader:
            found.append(seen(batch))
            if batch.global_step == stop:
                dcp.save({"data": loader}, checkpoint_id=directory)
                return found, loader.state_dict(), loader.state_dict(after=batch)
    return found, None, None


CASES = [("indexed", 8), ("indexed", 4), ("stateful", 3), ("stateful", 8)]


def run_all(directory: str, resumed: bool) -> list[tuple[list[Any], Any, Any]]:
    return [run(name, f"{directory}/{name}-{stop}", None if resumed else stop, resumed) for name, stop in CASES]


def test_a_distributed_checkpoint_of_two_ranks_goes_on_with_three(tmp_path: Path) -> None:
    before = run_ranks(run_all, 2, str(tmp_path), False)
    after = run_ranks(run_all, 3, str(tmp_path), True)
    for i, (name, _) in enumerate(CASES):
        states = [x for rank in before for x in rank[i][1:]]
        assert all(x == states[0] for x in states)
        found = joined([rank[i][0] for rank in before]) + joined([rank[i][0] for rank in after])
        assert found == due(name, EPOCHS)


def one_rank_asks() -> str:
    loader = leat.torch.DataLoader(DATA["stateful"](), workers=0, state_timeout=2)
    next(iter(loader))
    if torch.distributed.get_rank() != 0:
        return ""
    with pytest.raises(leat.Error) as problem:
        loader.state_dict()
    return str(problem.value)


def test_a_state_that_one_rank_asks_for_alone_is_an_error_and_not_a_hang() -> None:
    assert "all of them must make this call" in run_ranks(one_rank_asks, 2)[0]


def meshes() -> tuple[tuple[int, int], list[Any]]:
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp_shard", "tp"))
    loader = leat.torch.DataLoader(DATA["stateful"](), mesh=mesh, workers=0)
    found = [seen(x) for x in loader]
    loader.state_dict()
    return (loader.rank, loader.world_size), found


def test_ranks_along_other_dimensions_of_a_mesh_share_their_part() -> None:
    found = run_ranks(meshes, 4)
    assert [x[0] for x in found] == [(0, 2), (0, 2), (1, 2), (1, 2)]
    assert joined([found[0][1], found[2][1]]) == due("stateful", 1)
    assert joined([found[1][1], found[3][1]]) == due("stateful", 1)


def test_several_ranks_that_must_agree_need_a_group() -> None:
    refused("init_process_group", leat.torch.DataLoader, DATA["stateful"](), rank=0, world_size=2)
