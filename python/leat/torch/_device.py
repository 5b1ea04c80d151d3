"""Which devices leat copies batches to itself, ahead of their use."""

import logging

import torch

_log = logging.getLogger("leat")
_has_told = False


def name_for_leat(device: torch.device | None) -> str | None:
    """A device as `device` of leat.Loader; None where leat copies nothing, and `.to` moves batches."""
    if device is None or device.type == "cpu":
        return None
    if device.type != "cuda":
        tell(device, "it copies to GPUs with CUDA alone")
        return None
    if torch.version.cuda is None:
        tell(device, "this torch is built without CUDA")
        return None
    return f"cuda:{number_of(device)}"


def number_of(device: torch.device) -> int:
    """The number of a GPU; torch's current one, if the device names none. Does not start CUDA."""
    if device.index is not None:
        return device.index
    return torch.cuda.current_device() if torch.cuda.is_initialized() else 0


def tell(device: torch.device, why: str) -> None:
    """Says, once in a process, that the trainer moves the batches, and waits for it."""
    global _has_told
    if not _has_told:
        _has_told = True
        _log.warning(
            "batches are moved to %s by .to() when they are handed over, which the trainer waits for: leat does not copy "
            "them ahead, since %s",
            device,
            why,
        )
