"""Where the rank of a process comes from, and in which order the places are tried."""

import logging
from typing import Any

import pytest
from leat import _ranks
from support import refused

TORCHRUN = {"RANK": "2", "WORLD_SIZE": "4"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}
SLURM = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}


class Mesh:
    """As much of a DeviceMesh as is used."""

    def __init__(self, sizes: dict[str, int], at: dict[str, int]) -> None:
        self._sizes, self._at = sizes, at
        self.mesh_dim_names = tuple(sizes)
        self.ndim = len(sizes)

    def __getitem__(self, name: str) -> "Mesh":
        return Mesh({name: self._sizes[name]}, self._at)

    def size(self) -> int:
        (only,) = self._sizes.values()
        return only

    def get_local_rank(self, name: str) -> int:
        return self._at[name]


def found(**arguments: Any) -> tuple[int, int]:
    place = _ranks.find_place(**arguments)
    return place.rank, place.world_size


def test_order_of_sources() -> None:
    every = {**SLURM, **OPEN_MPI, **TORCHRUN}
    assert found(rank=0, world_size=2, environment=every) == (0, 2)
    assert found(environment=every) == (2, 4)
    assert found(environment={**SLURM, **OPEN_MPI}) == (1, 3)
    assert found(environment=SLURM) == (5, 8)
    assert found(environment={}) == (0, 1)


def test_dimensions_of_a_mesh_that_share_samples_do_not_count() -> None:
    mesh = Mesh({"dp_replicate": 2, "dp_shard": 3, "tp": 4}, {"dp_replicate": 1, "dp_shard": 2, "tp": 3})
    assert found(mesh=mesh, environment=TORCHRUN) == (5, 6)
    refused("divided along", found, mesh=Mesh({"tp": 4}, {"tp": 0}))


def test_what_does_not_fit_is_refused() -> None:
    refused("give both", found, rank=1)
    refused("below the world size", found, rank=2, world_size=2)
    refused("numbers", found, environment={"RANK": "x", "WORLD_SIZE": "2"})


def test_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "leat"):
        for _ in range(2):
            found(environment={"SLURM_PROCID": "6", "SLURM_NTASKS": "9"})
            found(environment={"RANK": "6", "WORLD_SIZE": "9"})
    assert [(x.levelname, x.getMessage().split(" (")[0]) for x in caplog.records] == [
        ("WARNING", "rank 6 of 9, from Slurm"),
        ("INFO", "rank 6 of 9, from torchrun"),
    ]
