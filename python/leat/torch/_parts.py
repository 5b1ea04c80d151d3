"""The parts of a state, which are the same on every rank."""

import leat
from leat._epochs import ENDLESS
from leat.errors import InvalidArgument
from leat.torch._collective import Group


class Shared:
    """Turns every rank's own part into parts that are the same on all ranks."""

    def __init__(self, data: leat.Pipeline, world_size: int, is_indexed: bool, group: Group | None, seconds: float) -> None:
        self._data = data
        self._world_size = world_size
        self._is_indexed = is_indexed
        self._group = group
        self._seconds = seconds
        self._writer: leat.Loader | None = None

    @property
    def lacks_group(self) -> bool:
        """Whether there are several ranks whose parts must be gathered, and no process group yet."""
        return self._world_size > 1 and not self._is_indexed and self._group is None

    def parts(self, own: bytes) -> list[bytes]:
        """A collective for pipelines with state on several ranks: their lanes' states are spread over the ranks."""
        if self._world_size == 1:
            return [own]
        if self._is_indexed:
            return [self._without_sums(own)]
        if self._group is None:
            raise InvalidArgument(
                "state_dict() of a pipeline whose state is spread over several ranks: call "
                "torch.distributed.init_process_group() before the loader is made, or give group="
            )
        return self._group.gather_bytes(own, self._seconds, "state_dict()")

    def _without_sums(self, own: bytes) -> bytes:
        # In a world of another size, any rank but the first takes only the position from a part, and no sums.
        if self._writer is None:
            self._writer = leat.Loader(
                self._data, rank=self._world_size, world_size=self._world_size + 1, workers=0, epochs=ENDLESS
            )
        self._writer.restore_parts([own])
        return bytes(self._writer.snapshot())
