"""What ranks exchange: ends of epochs, and the parts of a state."""

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from leat._ranks import Place, data_dimensions
from leat.errors import Error, InvalidArgument

Agreement = tuple[int, int, int]


class Group:
    """The ranks that share an epoch, as a process group of torch.distributed; all of them make each call."""

    def __init__(self, group: Any, world_size: int) -> None:
        self._group = group
        self._world_size = world_size

    def gather_bytes(self, own: bytes, seconds: float, what: str) -> list[bytes]:
        """All ranks' bytes, by rank. Raises Error if a rank has not come after `seconds`; `what` names the call."""
        lengths = [int(x) for x in self._gather(torch.tensor([len(own)], dtype=torch.int64), seconds, what)]
        padded = torch.zeros(max(lengths), dtype=torch.uint8)
        padded[: len(own)] = torch.frombuffer(bytearray(own), dtype=torch.uint8)
        found = self._gather(padded, seconds, what)
        return [bytes(x[:n].numpy().tobytes()) for x, n in zip(found, lengths, strict=True)]

    def agree(self, own: Agreement) -> list[Agreement]:
        """All ranks' agreements, as leat.Loader's `agree` needs them; waits as long as the group's timeout."""
        found = self._gather(torch.tensor(own, dtype=torch.int64), None, "agree")
        return [(int(a), int(b), int(c)) for a, b, c in (x.tolist() for x in found)]

    def _gather(self, own: torch.Tensor, seconds: float | None, what: str) -> list[torch.Tensor]:
        device = _device_of(self._group)
        own = own.to(device)
        found = [torch.empty_like(own) for _ in range(self._world_size)]
        work = dist.all_gather(found, own, group=self._group, async_op=True)
        assert work is not None
        try:
            if seconds is None:
                work.wait()
            else:
                work.wait(datetime.timedelta(seconds=seconds))
        except RuntimeError as problem:
            raise Error(
                f"{what}: the other ranks did not come ({problem}): for this pipeline, whose state is spread over the ranks, "
                "all of them must make this call"
            ) from problem
        return [x.cpu() for x in found]


def _device_of(group: Any) -> torch.device:
    backend = dist.get_backend(group)
    return torch.device("cuda", torch.cuda.current_device()) if backend == "nccl" else torch.device("cpu")


def find_group(place: Place, group: Any, mesh: Any) -> Group | None:
    """The process group of the ranks of `place`; None if torch.distributed is not initialised, or has other ranks."""
    if place.world_size == 1 or not dist.is_available() or not dist.is_initialized():
        return None
    if group is None and mesh is not None:
        names = data_dimensions(mesh)
        part = mesh[tuple(names)] if names else mesh
        group = (part._flatten() if len(names) > 1 else part).get_group()
    if (dist.get_rank(group), dist.get_world_size(group)) != (place.rank, place.world_size):
        if group is None:
            return None
        raise InvalidArgument(
            f"rank {place.rank} of {place.world_size}, and a process group where this is rank {dist.get_rank(group)} of "
            f"{dist.get_world_size(group)}: both must be the same"
        )
    return Group(group, place.world_size)


def agreement_of(group: Group | None) -> Callable[[Agreement], Sequence[Agreement]]:
    """The `agree` of a loader whose ranks must agree on ends of epochs."""
    if group is None:
        raise InvalidArgument(
            "several ranks of a pipeline of unknown length, which must agree on the ends of epochs: call "
            "torch.distributed.init_process_group() before, give group=, or agree="
        )
    return group.agree
