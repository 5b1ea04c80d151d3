"""Which rank of a job this process is."""

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leat.errors import InvalidArgument

_log = logging.getLogger("leat")
_told: set[str] = set()

# Dimensions of a DeviceMesh along which ranks get different samples. Ranks that differ only in others (tp, cp, pp) share them.
_DATA_DIMENSIONS = ("dp", "ddp", "data", "data_parallel", "dp_replicate", "dp_shard", "replicate", "shard", "fsdp", "hsdp")

# (launcher, variable of the rank, variable of the world size), in the order in which they are tried.
_LAUNCHERS = (
    ("torchrun (RANK, WORLD_SIZE)", "RANK", "WORLD_SIZE"),
    ("Open MPI (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("Slurm (SLURM_PROCID, SLURM_NTASKS)", "SLURM_PROCID", "SLURM_NTASKS"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """One process among those that share an epoch; `source` names where the numbers come from."""

    rank: int
    world_size: int
    source: str


def find_place(
    rank: int | None = None, world_size: int | None = None, *, mesh: Any = None, environment: Mapping[str, str] | None = None
) -> Place:
    """The place of this process: given, from a DeviceMesh, from torch.distributed if it is initialised, or from the launcher.

    Without any of these the process is alone. What was found is logged once, with its source, under "leat". Raises
    InvalidArgument if one of rank and world size is missing, or they do not fit.
    """
    found = _find(rank, world_size, mesh, os.environ if environment is None else environment)
    if not 0 <= found.rank < found.world_size:
        raise InvalidArgument(
            f"rank {found.rank} of {found.world_size} ranks, from {found.source}: a rank is below the world size"
        )
    text = f"rank {found.rank} of {found.world_size}, from {found.source}"
    if text not in _told:
        _told.add(text)
        # An srun shell sets its variables for a lone process, too, which would then read only a part of the data.
        _log.log(logging.WARNING if found.source.startswith("Slurm") and found.world_size > 1 else logging.INFO, text)
    return found


def data_dimensions(mesh: Any) -> list[str]:
    """Names of a mesh's dimensions along which samples differ, outermost first; empty for a nameless mesh of one dimension."""
    names = mesh.mesh_dim_names
    if names is None:
        if mesh.ndim == 1:
            return []
        raise InvalidArgument(f"a mesh of {mesh.ndim} dimensions without names: name them, or give rank= and world_size=")
    found = [x for x in names if x in _DATA_DIMENSIONS]
    if not found:
        raise InvalidArgument(
            f"a mesh with the dimensions {', '.join(names)}: data are divided along {', '.join(_DATA_DIMENSIONS)}; "
            "give a part of the mesh, or rank= and world_size="
        )
    return found


def _find(rank: int | None, world_size: int | None, mesh: Any, environment: Mapping[str, str]) -> Place:
    if (rank is None) != (world_size is None):
        raise InvalidArgument("one of rank and world_size was given: give both, or none")
    if rank is not None and world_size is not None:
        if mesh is not None:
            raise InvalidArgument("rank, world_size and mesh were given: give the numbers or the mesh")
        return Place(rank, world_size, "the call")
    if mesh is not None:
        return _of_mesh(mesh)
    return _of_torch() or _of_launcher(environment) or Place(0, 1, "nobody: this process is alone")


def _of_mesh(mesh: Any) -> Place:
    names = data_dimensions(mesh)
    if not names:
        return Place(mesh.get_local_rank(), mesh.size(), "the DeviceMesh")
    rank, world_size = 0, 1
    for name in names:
        size = mesh[name].size()
        rank = rank * size + mesh.get_local_rank(name)
        world_size *= size
    return Place(rank, world_size, f"the DeviceMesh ({', '.join(names)})")


def _of_torch() -> Place | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return Place(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")


def _of_launcher(environment: Mapping[str, str]) -> Place | None:
    for source, rank, world_size in _LAUNCHERS:
        if rank in environment and world_size in environment:
            try:
                return Place(int(environment[rank]), int(environment[world_size]), source)
            except ValueError:
                raise InvalidArgument(
                    f"{rank}={environment[rank]!r} and {world_size}={environment[world_size]!r}: both must be numbers"
                ) from None
    return None
