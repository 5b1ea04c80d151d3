"""A batch as a dict of tensors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

import leat
from leat._leased_batch import LeasedBatch
from leat.ragged_rows import padded_width


class Ragged(NamedTuple):
    """Rows of different lengths: row i is `values[offsets[i]:offsets[i + 1]]`; offsets are int64 [rows + 1], bytes uint8."""

    values: torch.Tensor
    offsets: torch.Tensor

    def nested(self) -> torch.Tensor:
        """The same rows as a nested tensor (jagged layout) over the same memory."""
        return torch.nested.nested_tensor_from_jagged(self.values, offsets=self.offsets)

    def lengths(self) -> torch.Tensor:
        """The number of elements of each row, int64 [rows]; 0 for an invalid one."""
        return self.offsets.diff()

    def padded(self, multiple: int = 1, value: float = 0) -> torch.Tensor:
        """A tensor [rows, n, ...] of all rows, filled up by `value`: n is the longest length, rounded up to a multiple."""
        if not self.values.is_floating_point() and value != int(value):
            raise leat.InvalidArgument(f"{value} to fill up rows of {self.values.dtype}: needed is a whole number")
        lengths = self.lengths()
        width = padded_width(int(lengths.max()) if len(lengths) else 0, multiple)
        result = self.values.new_full((len(lengths), width, *self.values.shape[1:]), value)
        result[torch.arange(width, device=lengths.device) < lengths[:, None]] = self.values
        return result


Field = torch.Tensor | Ragged


class Batch(LeasedBatch):
    """The rank's part of one global batch: field name -> tensor [size, ...] over the batch's memory, or Ragged.

    Where leat copies batches to a device, tensors lie over the batch's memory there, in order with torch's current stream;
    bytes stay on the host. `**batch` hands all fields to a model. A dict that is made from it by others has the fields alone;
    what else a batch knows (`valid`, `step`, `snapshot()`) then raises InvalidArgument.
    """

    __slots__ = ("_valid",)

    def __init__(self, fields: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), lease: leat.Batch | None = None) -> None:
        super().__init__(fields, lease)
        self._valid: torch.Tensor | None = None

    @property
    def valid(self) -> torch.Tensor:
        """True for each row that carries a sample, bool [size], on the device of the first field."""
        if self._valid is None:
            self._valid = torch.tensor(self.lease.valid).to(self._device(), non_blocking=True)
        return self._valid

    @property
    def size(self) -> int:
        """Rows, also invalid ones."""
        return int(self.lease.size)

    @property
    def valid_rows(self) -> int:
        """Rows that carry a sample."""
        return int(self.lease.valid_rows)

    @property
    def rank(self) -> int:
        return int(self.lease.rank)

    @property
    def world_size(self) -> int:
        return int(self.lease.world_size)

    def positions(self) -> Sequence[int]:
        """Position of each valid row in the epoch, rising."""
        return list(self.lease.positions())

    def ids(self) -> Sequence[str]:
        """Id of each valid row's sample."""
        return list(self.lease.ids())

    def bytes(self, name: str) -> list[Any]:
        """A bytes field as a list of bytes, one per row."""
        return list(self.lease.bytes(name))

    def text(self, name: str) -> list[str]:
        """A bytes field as a list of str, one per row, which must be UTF-8."""
        return list(self.lease.text(name))

    def used_on(self, stream: Any) -> None:
        """Counts a further stream of the device as one that uses the tensors: one of torch, which waits for the current one.

        It is what record_stream() is for torch's own memory. Does nothing for tensors that are not over the batch's memory.
        """
        if any(self.lease.is_on_device(name) for name in self.lease):
            self.lease.used_on(stream)

    def to(self, device: torch.device | str | int, non_blocking: bool = True) -> "Batch":
        """The batch with its tensors on a device; everything else stays."""
        # After a non-blocking copy to the CPU or to MPS, the tensor could be read before the copy is done.
        non_blocking = non_blocking and torch.device(device).type not in ("cpu", "mps")
        return Batch({name: _moved(x, device, non_blocking) for name, x in self.items()}, self._lease)

    def _device(self) -> torch.device:
        found = [x if isinstance(x, torch.Tensor) else x.values for x in self.values() if isinstance(x, Field)]
        devices = [x.device for x in found]  # bytes may be on the host alone
        return next((x for x in devices if x.type != "cpu"), torch.device("cpu"))


def _moved(x: Any, device: Any, non_blocking: bool) -> Any:
    if isinstance(x, Ragged):
        return Ragged(x.values.to(device, non_blocking=non_blocking), x.offsets.to(device, non_blocking=non_blocking))
    return x.to(device, non_blocking=non_blocking) if isinstance(x, torch.Tensor) else x


def batch_of(lease: leat.Batch, ragged: frozenset[str]) -> Batch:
    """A batch's tensors over its memory, on the loader's device where it is there. `ragged`: the names of its ragged fields."""
    return Batch(
        ((name, _ragged_of(lease, name) if name in ragged else _tensor_of(lease.dlpack(name))) for name in lease), lease
    )


def _tensor_of(x: Any) -> torch.Tensor:
    return torch.utils.dlpack.from_dlpack(x)


def _ragged_of(lease: leat.Batch, name: str) -> Ragged:
    if lease.is_on_device(name):
        found: Any = lease.on_device(name)
        return Ragged(_tensor_of(found.values), _tensor_of(found.offsets))
    return Ragged(_tensor_of(lease.dlpack(name)), torch.tensor(lease.offsets(name)))


def ragged_fields(lease: leat.Batch) -> frozenset[str]:
    """Names of a batch's ragged fields: the same in all batches of a loader."""
    return frozenset(name for name in lease if lease.field(name)["is_ragged"])
