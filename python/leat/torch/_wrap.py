"""Snapshots, skipping and marked ends of epochs for loaders that are not leat's."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from leat._ranks import find_place
from leat.errors import Error, InvalidArgument
from leat.torch import _lightning
from leat.torch._digest import Chain, Generators

_VERSION = 1
_END = object()


class Wrapped:
    """A loader or iterable of yours with snapshots: see wrap(). One batch is read ahead, to know an epoch's last one."""

    def __init__(self, loader: Any, name: str, rank: int, world_size: int) -> None:
        self.loader = loader
        self._has_state = hasattr(loader, "state_dict") and hasattr(loader, "load_state_dict")
        self._generators = Generators(loader)
        self._state: dict[str, Any] = {
            "leat_wrap": _VERSION,
            "name": name,
            "rank": rank,
            "world_size": world_size,
            "epoch": 0,
            "step": 0,
            "global_step": 0,
            "finished": False,
            "digest": "",
            "generators": None,
            "inner": None,
        }
        self._is_loaded = False
        self._is_to_be_set = False
        self._skipped: Iterator[Any] | None = None
        self._pass = 0

    @property
    def epoch(self) -> int:
        """The epoch of the loop that runs, or of the next one."""
        return int(self._state["epoch"])

    @property
    def step(self) -> int:
        """Number in its epoch of the batch that was handed out last; -1 before the first."""
        return int(self._state["step"]) - 1

    @property
    def global_step(self) -> int:
        """Number in the job of the batch that was handed out last; -1 before the first."""
        return int(self._state["global_step"]) - 1

    @property
    def end_of_epoch(self) -> bool:
        """No further batch of this epoch follows the one that was handed out last."""
        return bool(self._state["finished"])

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        """An epoch; after load_state_dict() or skip_first_batches() the rest of one."""
        if _lightning.refuses():
            return _lightning.refusal(
                InvalidArgument(
                    "leat.torch.wrap() under Lightning, whose checkpoints lose its position at ends of epochs: train with a "
                    "leat.torch.DataLoader and leat.lightning.Resume(), or with the loader as it is"
                )
            )
        if self._skipped is not None:
            rest, self._skipped = self._skipped, None
            return rest
        self._pass += 1
        is_loaded, self._is_loaded = self._is_loaded, False
        if is_loaded and self.end_of_epoch:
            self._pass_epoch()
            return iter(())
        if not is_loaded and self._state["step"] > 0:
            self._pass_epoch()
        return self._batches(self._open(), self._pass)

    def state_dict(self) -> dict[str, Any]:
        """Where to resume: after the batch that was handed out last, on this rank of as many ranks."""
        return copy.copy(self._state)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next `iter` continues where the state was taken. Raises InvalidArgument for another loader's or rank's state."""
        if not isinstance(state_dict, Mapping) or state_dict.get("leat_wrap") != _VERSION:
            raise InvalidArgument("load_state_dict: needed is what state_dict() of leat.torch.wrap gave")
        for name in ("name", "rank", "world_size"):
            if state_dict[name] != self._state[name]:
                raise InvalidArgument(
                    f"load_state_dict: {name} {state_dict[name]!r}, here {self._state[name]!r}: only the loader itself could "
                    "divide its state among other ranks"
                )
        self._pass += 1
        self._state = dict(state_dict)
        self._is_loaded = self._is_to_be_set = True
        self._skipped = None

    def skip_first_batches(self, n: int) -> None:
        """Leaves out the next n batches, also across ends of epochs, by reading them."""
        batches = iter(self)
        for _ in range(n):
            if next(batches, _END) is _END:
                batches = iter(self)
                next(batches)
        if self.end_of_epoch:
            next(batches, None)  # the loop's end
        else:
            self._skipped = batches

    def _batches(self, batches: Iterator[Any], number: int) -> Iterator[Any]:
        ahead = next(batches, _END)
        if ahead is _END:
            self._refuse(self._state["step"], "at least one more: is it an iterator that can be read once only?")
        while ahead is not _END:
            self._check(number)
            batch, inner = ahead, self._inner()
            chain = Chain(self._state["digest"])
            if not self._has_state:
                chain.add(batch)
            ahead = next(batches, _END)
            at = self._state
            at["step"] += 1
            at["global_step"] += 1
            at["digest"], at["inner"] = chain.value, inner
            if ahead is _END:
                at["finished"], at["inner"] = True, self._inner()
                at["generators"] = None if self._has_state else self._generators.state()
            yield batch
            self._check(number)
        self._pass_epoch()

    def _open(self) -> Iterator[Any]:
        """The loader's batches from the position on."""
        at, is_to_be_set = self._state, self._is_to_be_set
        self._is_to_be_set = False
        if self._has_state:
            if is_to_be_set and at["inner"] is not None:
                self.loader.load_state_dict(copy.deepcopy(at["inner"]))
            self._tell_epoch()
            batches: Iterator[Any] = iter(self.loader)
            if at["step"] == 0:
                at["inner"] = self._inner()
            return batches
        if is_to_be_set and at["generators"] is not None:
            self._generators.set(at["generators"])
        self._tell_epoch()
        at["generators"] = self._generators.state()
        batches = iter(self.loader)
        self._read_again(batches)
        return batches

    def _read_again(self, batches: Iterator[Any]) -> None:
        at, chain = self._state, Chain()
        for read in range(at["step"]):
            batch = next(batches, _END)
            if batch is _END:
                self._refuse(read, f"{at['step']}, as the snapshot had")
            chain.add(batch)
        if chain.value != at["digest"]:
            raise Error(
                f"{at['name']}: epoch {at['epoch']} gave other batches than before its step {at['step']}: going on would "
                "lose and repeat samples: seed its shuffling and its augmentations, or use a loader with a state_dict()"
            )

    def _refuse(self, got: int, needed: str) -> None:
        raise Error(f"{self._state['name']}: {got} batches in epoch {self.epoch}, needed {needed}")

    def _inner(self) -> Any:
        return copy.deepcopy(self.loader.state_dict()) if self._has_state else None

    def _tell_epoch(self) -> None:
        for x in (self.loader, getattr(self.loader, "sampler", None), getattr(self.loader, "batch_sampler", None)):
            if x is not None and hasattr(x, "set_epoch"):
                x.set_epoch(self.epoch)

    def _pass_epoch(self) -> None:
        """Moves to the next epoch; its initial state is known only if this one was read to its end."""
        at = self._state
        if not at["finished"]:
            at["generators"], at["inner"] = None, None
        at.update(epoch=at["epoch"] + 1, step=0, finished=False, digest="")

    def _check(self, number: int) -> None:
        if number != self._pass:
            raise InvalidArgument(
                "an iterator of a wrapped loader went on after another one was begun: they share one position"
            )


def wrap(
    loader: Any, *, name: str = "own@1", rank: int | None = None, world_size: int | None = None, mesh: Any = None
) -> Wrapped:
    """Gives a DataLoader, or any iterable that begins anew with each `iter`, what leat's loaders have.

    Its batches come out as they are; `step`, `global_step` and `end_of_epoch` are the wrapper's, of the batch that was handed
    out last. Its state goes through the loader's own state_dict, where it has one; else a load reads the epoch again up to
    its place, with the generators of Python, NumPy and torch as they were at its beginning, and compares digests of the
    batches: an order that is not the same is an Error. `name`: "name@version", kept in states. World sizes cannot change.
    """
    place = find_place(rank, world_size, mesh=mesh)
    return Wrapped(loader, name, place.rank, place.world_size)
