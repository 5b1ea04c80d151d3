"""A batch as a dict of a framework's arrays, over the memory of a batch of leat."""

from collections.abc import Iterable, Mapping
from typing import Any

import leat
from leat.errors import InvalidArgument


class LeasedBatch(dict[str, Any]):
    """Field name -> array, with what the batch of leat has in addition to its fields."""

    __slots__ = ("__weakref__", "_lease")

    def __init__(self, fields: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), lease: leat.Batch | None = None) -> None:
        super().__init__(fields)
        self._lease = lease

    @property
    def lease(self) -> leat.Batch:
        """The batch of leat itself, whose memory the arrays share if they were not moved."""
        if self._lease is None:
            raise InvalidArgument(
                "a dict that was made from a batch, and has its fields alone: keep the batch that the loader gave"
            )
        return self._lease

    @property
    def has_lease(self) -> bool:
        """Whether it came from a loader, and was not made by others."""
        return self._lease is not None

    def give_lease(self, lease: leat.Batch) -> None:
        """Gives a dict that others made from a batch, as mixed precision does, the rest of what the batch had."""
        self._lease = lease

    @property
    def epoch(self) -> int:
        return int(self.lease.epoch)

    @property
    def step(self) -> int:
        """Number of the batch in its epoch."""
        return int(self.lease.step)

    @property
    def global_step(self) -> int:
        """Number of the batch since the job began; continues across resumes."""
        return int(self.lease.global_step)

    @property
    def end_of_epoch(self) -> bool:
        """No further batch of this epoch follows."""
        return bool(self.lease.end_of_epoch)

    def snapshot(self) -> bytes:
        """The words "resume after this batch" as bytes: the part of this rank."""
        return bytes(self.lease.snapshot())

    def digest(self) -> leat.Hash128:
        """Sum over the valid rows of this rank. Ranks' digests add up to the global batch's."""
        return self.lease.digest()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)
