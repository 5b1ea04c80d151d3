"""The state of a loader as plain types: the same on all ranks, for any number of ranks."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import leat
from leat.errors import InvalidArgument

_VERSION = 1


class State(NamedTuple):
    """Snapshots to restore from, and whether the state was taken inside the loop over an epoch, after its last batch."""

    parts: Sequence[bytes]
    finished: bool


def pack(parts: Sequence[bytes]) -> bytes:
    """Parts as one value: each preceded by its length, 8 bytes little-endian."""
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
    """The state as plain types, for a checkpoint. All parts are of one step."""
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
