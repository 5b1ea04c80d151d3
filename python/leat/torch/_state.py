"""The state of a loader as plain types: the same on all ranks, for any number of ranks."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import leat
from leat.errors import InvalidArgument
from leat.torch._collective import Group

_VERSION = 1


class State(NamedTuple):
    """Snapshots to restore from, and whether the epoch before was left inside its loop, after its last batch."""

    parts: Sequence[bytes]
    finished: bool


def pack(parts: Sequence[bytes]) -> bytes:
    """Parts as one value: each with its length in front, 8 bytes little-endian."""
    return b"".join(struct.pack("<Q", len(x)) + x for x in parts)


def unpack(packed: bytes) -> list[bytes]:
    """The parts again. Raises InvalidArgument for other bytes."""
    parts, at = [], 0
    while at < len(packed):
        end = at + 8 + (struct.unpack_from("<Q", packed, at)[0] if at + 8 <= len(packed) else len(packed))
        if end > len(packed):
            raise InvalidArgument("load_state_dict: torn bytes in `parts`: needed is what state_dict() gave")
        parts.append(packed[at + 8 : end])
        at = end
    return parts


def to_dict(state: State, epoch: int) -> dict[str, Any]:
    """Plain types: what a checkpoint holds. All parts are of one step."""
    facts = leat.inspect_snapshot([state.parts[0]])
    return {
        "leat": _VERSION,
        "epoch": epoch,
        "global_step": int(facts.global_step),
        "finished": state.finished,
        "parts": pack(state.parts),
    }


def from_dict(state: Mapping[str, Any]) -> State:
    """Raises InvalidArgument for what is not from state_dict() of this version."""
    if not isinstance(state, Mapping) or state.get("leat") != _VERSION or not isinstance(state.get("parts"), bytes):
        keys = ", ".join(map(str, state)) if isinstance(state, Mapping) else type(state).__name__
        raise InvalidArgument(f"load_state_dict: {keys or 'an empty dict'}: needed is what state_dict() of a leat loader gave")
    return State(unpack(state["parts"]), bool(state.get("finished")))


class Shared:
    """Makes every rank's own part into parts that are the same on all ranks."""

    def __init__(self, data: leat.Pipeline, world_size: int, is_indexed: bool, group: Group | None, seconds: float) -> None:
        self._data = data
        self._world_size = world_size
        self._is_indexed = is_indexed
        self._group = group
        self._seconds = seconds
        self._writer: leat.Loader | None = None

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
        # A rank of another world that is not its first has the position of any part, and nobody's sums.
        if self._writer is None:
            self._writer = leat.Loader(
                self._data, rank=self._world_size, world_size=self._world_size + 1, workers=0, epochs=2**64 - 1
            )
        self._writer.restore_parts([own])
        return bytes(self._writer.snapshot())
