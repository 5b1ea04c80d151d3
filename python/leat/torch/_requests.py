"""The requests to the worker processes of a loader with state, and their order."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from leat.torch._indices import Indices
from leat.torch._reader import Begin, Read, Reader, Reply, Start

_END = object()


class Requests:
    """The requests of an epoch; workers send their state after `every` so many batches, if that is not 0.

    Knows nothing of replies, so that an epoch that is dropped ends its workers.
    """

    def __init__(self, loader: torch.utils.data.DataLoader[Any], every: int, at: Mapping[str, Any] | None) -> None:
        self._indices = Indices(loader)
        self._indices.begin(None if at is None else at["sampler"])
        self._is_iterable = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        self._workers = loader.num_workers
        self._every = 1 if loader.num_workers == 0 or not loader.in_order else every
        self._number = int(at["answered"]) if at is not None else 0
        self._skipped = set(at["ahead"]) if at is not None else set()
        self.ended: set[int] = set()  # workers without further samples
        self.positions = {self._number: self._indices.state()}  # of the sampler, by number of draws
        self.begins: list[Begin] = []
        self._turns = self._number % self._workers if self._workers and loader.in_order else 0
        self._told = 0
        self._first: Any = next(self._indices, _END)  # drawn now, while random numbers are those of the epoch's beginning

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.begins:
            return self.begins.pop(0)
        if self._turns > 0:  # the next batch is that of the worker whose turn it was
            self._turns -= 1
            return Read(None, None, False)
        if self._is_iterable and len(self.ended) == max(1, self._workers):
            raise StopIteration
        while True:
            index, self._first = self._first, _END
            if index is _END and (index := next(self._indices, _END)) is _END:
                return self._last()
            number = self._number
            self._number += 1
            if self.is_due(self._number):
                self.positions[self._number] = self._indices.state()
            if number not in self._skipped:
                wants_state = self._every > 0 and number % self._every + self._workers >= self._every
                return Read(number, index, wants_state)

    def end(self) -> dict[str, Any]:
        """The sampler's state after the epoch's end."""
        return self._indices.state()

    def is_due(self, answered: int) -> bool:
        """Whether a state is kept after so many batches."""
        return self._every > 0 and answered % self._every == 0

    def _last(self) -> Any:
        """Requests each worker's state once more, unless it was requested every time."""
        if self._every == 1 or self._told == self._workers:
            raise StopIteration
        self._told += 1
        return Read(None, None, True)


class Workers(torch.utils.data.DataLoader[Any]):
    """The worker processes of a loader, which answer requests."""

    def __init__(self, loader: torch.utils.data.DataLoader[Any]) -> None:
        self.source = _Source()
        self.reader = Reader(loader)
        super().__init__(
            self.reader,
            batch_size=None,
            sampler=self.source,
            num_workers=loader.num_workers,
            collate_fn=_same,
            pin_memory=loader.pin_memory,
            timeout=loader.timeout,
            worker_init_fn=Start(loader.dataset, loader.worker_init_fn) if loader.num_workers else None,
            multiprocessing_context=loader.multiprocessing_context,
            generator=torch.Generator(),
            prefetch_factor=loader.prefetch_factor,
            persistent_workers=loader.persistent_workers,
            pin_memory_device=loader.pin_memory_device,
            in_order=loader.in_order,
        )

    def draw_seed(self, seeds: torch.Generator) -> None:
        """Draws the seed of new processes as torch's own iterators do: from the same generator, before the sampler draws."""
        self.generator.set_state(seeds.get_state())
        torch.empty((), dtype=torch.int64).random_(generator=seeds)

    def ask(self, requests: Requests) -> Iterator[Reply]:
        """The replies. With persistent workers, those to earlier requests are lost."""
        self.source.requests = requests
        return iter(self)

    def check_worker_number_rationality(self) -> None:
        """Warns of nothing: the loader itself has warned of too many workers."""


class _Source:
    requests: Requests

    def __iter__(self) -> Iterator[Any]:
        return self.requests


def _same(x: Any) -> Any:
    return x
