"""What a sampler draws, one batch after another, with a state."""

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import torch.utils.data

from leat.errors import Error
from leat.torch._digest import Chain
from leat.torch._reader import has_state, state_of


class Indices:
    """The indices of a loader's batches. A state is the sampler's own, or the number of draws and their digest."""

    def __init__(self, loader: torch.utils.data.DataLoader[Any]) -> None:
        batches: Any = loader.batch_sampler
        self._is_endless = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        self._rows: int | None = None
        self._drop_last = False
        self._source: Any = loader.sampler if batches is None else batches
        if type(batches) is torch.utils.data.BatchSampler:  # whose iterator hides the sampler's, which may have a state
            self._source, self._rows, self._drop_last = batches.sampler, batches.batch_size, batches.drop_last
        self._iterator: Iterator[Any] = iter(())
        self._chain = Chain()
        self._drawn = 0
        self._has_ended = False

    def pass_epoch(self, state: dict[str, Any]) -> None:
        """Restores the sampler to the end of the epoch of which `state` is."""
        if state["sampler"] is not None:
            self._source.load_state_dict(copy.deepcopy(state["sampler"]))

    def begin(self, state: dict[str, Any] | None) -> None:
        """Begins with the first batch, or after those drawn before `state`. Raises Error if these are not the same now."""
        if self._is_endless:
            self._iterator = itertools.repeat(None)
            self._drawn = 0 if state is None else state["drawn"]
            return
        state = copy.deepcopy(state)
        if state is not None:
            self.pass_epoch(state)
        self._iterator = iter(self._source)
        if state is None:
            return
        if self._is_stateful():
            if state["iterator"] is not None:
                self._iterator.load_state_dict(state["iterator"])  # type: ignore[attr-defined]
            self._drawn, self._has_ended = state["drawn"], state["ended"]
            return
        for _ in range(state["drawn"]):
            next(self, None)
        if (self._drawn, self._chain.value) != (state["drawn"], state["digest"]):
            raise Error(
                f"load_state_dict: the sampler drew other samples than before in its first {state['drawn']} batches: going on "
                "would lose and repeat samples: seed it, tell it the epoch before the load, or give it a state_dict()"
            )

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        index = self._next()
        self._drawn += 1
        if not self._is_stateful() and not self._is_endless:
            self._chain.add_index(index)
        return index

    def state(self) -> dict[str, Any]:
        """The state after the last index that was drawn."""
        return {
            "drawn": self._drawn,
            "ended": self._has_ended,
            "digest": self._chain.value,
            "sampler": state_of(self._source),
            "iterator": state_of(self._iterator),
        }

    def _is_stateful(self) -> bool:
        return has_state(self._source) or has_state(self._iterator)

    def _next(self) -> Any:
        if self._has_ended:  # with a batch of less than all rows; a sampler with a state may then stand before its next epoch
            raise StopIteration
        if self._rows is None:
            return next(self._iterator)
        batch = list(itertools.islice(self._iterator, self._rows))
        self._has_ended = len(batch) < self._rows
        if not batch or (self._drop_last and self._has_ended):
            raise StopIteration
        return batch
