"""What a loader must know of Lightning before leat.lightning is imported: whether one of its loops asks for batches."""

import sys
from collections.abc import Iterator
from typing import Any

from leat.errors import Error

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")
_LOOPS = frozenset(f"{package}.loops.{name}_loop" for package in _PACKAGES for name in ("fit", "evaluation", "prediction"))
_COMBINED = frozenset(f"{package}.utilities.combined_loader" for package in _PACKAGES)


def find_loop() -> Any:
    """The loop of a Trainer that begins to iterate the loader that calls this.

    Also if the loader is inside an iterable of the loop. None if anything else iterates it, such as a module's step.
    """
    if _LOOPS.isdisjoint(sys.modules):
        return None
    is_combined = False
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name in _COMBINED:
            is_combined = True
        elif name in _LOOPS:
            return frame.f_locals["self"] if is_combined else None
        frame = frame.f_back  # type: ignore[assignment]
    return None


def refuses() -> bool:
    """Refuses a Trainer that trains with the loader that calls this: it would keep the position only at some points."""
    return hasattr(find_loop(), "epoch_loop")


def refusal(problem: Error) -> Iterator[Any]:
    """Raises it with the first batch: if iter() raised it, Lightning would replace it by an error of its own."""
    raise problem
    yield


def forget_arguments(loader: Any) -> None:
    """Removes the arguments that Lightning records for loaders made in its hooks, to make them again: there is no need."""
    for name in ("args", "kwargs", "arg_names", "default_kwargs"):
        loader.__dict__.pop(f"__pl_saved_{name}", None)
