"""One epoch of a loader with state: its batches in order, and its position."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch.utils.data
from torch._utils import ExceptionWrapper

from leat.errors import InvalidArgument
from leat.torch._digest import Generators
from leat.torch._reader import Begin, Reply
from leat.torch._requests import Requests, Workers


class Epoch:
    """One pass over a dataset, from its beginning or from a state. `ended`: states of readers after the previous epoch."""

    def __init__(
        self,
        loader: torch.utils.data.DataLoader[Any],
        generators: Generators,
        every: int,
        workers: Workers,
        at: Mapping[str, Any] | None,
        ended: list[Any] | None = None,
    ) -> None:
        self._source = workers.source
        self._reader = workers.reader if loader.num_workers == 0 else None
        self._in_order = loader.in_order
        self._is_iterable = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        self._ahead: set[int] = set(at["ahead"]) if at is not None else set()
        self._answered = int(at["answered"]) if at is not None else 0
        self._step = int(at["step"]) if at is not None else 0
        self._since = 0
        self._is_finished = False
        self._generators = generators
        self._begun = generators.state() if at is None else at["begun"]
        count = max(1, loader.num_workers)
        self._latest: list[Any] = [None] * count
        self._stale: set[int] = set()
        self._early: list[Reply] = []
        with contextlib.nullcontext() if at is None else generators.replaying(self._begun):
            workers.draw_seed(loader.generator)
            self._requests = Requests(loader, every, at)
            states = ended if at is None else at["workers"]
            if states is None or len(states) != count:
                states = [None] * count
            self._requests.begins = [Begin(x, ended is not None) for x in states]
            self._replies = workers.ask(self._requests)
        self._hear_all(count)
        if at is not None and len(at["workers"]) == count:
            self._latest = list(at["workers"])
        self._snapshot = self._taken()
        for _ in range(int(at["since"]) if at is not None else 0):
            self._read_once()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        reply = self._next()
        self._raise(reply)
        return reply.data

    def state(self) -> dict[str, Any]:
        """Its state: the last snapshot, and how many batches were handed out since."""
        at = self._taken() if self._reader is not None else self._snapshot
        return {
            **at,
            "since": 0 if self._reader is not None or self._is_finished else self._since,
            "finished": self._is_finished,
            "generators": self._generators.own() if self._is_finished else None,
            "begun": self._begun,
        }

    def _read_once(self) -> None:
        self._next()  # what this raises was raised before the load as well

    def _next(self) -> Reply:
        """The next reply with a batch or an error. Raises StopIteration."""
        if self._source.requests is not self._requests:
            raise InvalidArgument("an iterator over persistent workers went on after another one was begun: they share them")
        while True:
            reply = self._early.pop(0) if self._early else next(self._replies, None)
            if reply is None:
                self._finish()
                raise StopIteration
            self._take(reply)
            if reply.has_data or reply.error is not None:
                self._step += 1
                self._since += 1
                self._keep()
                return reply
            self._keep()

    def _hear_all(self, count: int) -> None:
        """Waits until all readers have begun."""
        heard = 0
        while heard < count:
            reply = next(self._replies)
            if reply.number is not None:  # another worker was faster
                self._early.append(reply)
                continue
            self._raise(reply)
            self._latest[reply.worker] = reply.state
            heard += 1

    def _take(self, reply: Reply) -> None:
        if reply.state is not None:
            self._latest[reply.worker] = reply.state
            self._stale.discard(reply.worker)
        elif reply.number is not None:
            self._stale.add(reply.worker)
        if reply.has_ended:
            self._requests.ended.add(reply.worker)
        if reply.number is not None:
            self._ahead.add(reply.number)
        while self._answered in self._ahead:
            self._ahead.discard(self._answered)
            self._requests.positions.pop(self._answered - 1, None)
            self._answered += 1

    def _keep(self) -> None:
        """Takes a snapshot, if one is due and all workers have sent their state."""
        if self._reader is None and not self._stale and (not self._in_order or self._requests.is_due(self._answered)):
            self._snapshot, self._since = self._taken(), 0

    def _taken(self) -> dict[str, Any]:
        return {
            "step": self._step,
            "answered": self._answered,
            "ahead": [] if self._is_iterable else sorted(self._ahead),
            "sampler": self._requests.end() if self._is_finished else self._requests.positions[self._answered],
            "workers": [self._reader.state()] if self._reader is not None else list(self._latest),
        }

    def _finish(self) -> None:
        if not self._is_finished:
            self._is_finished = True
            self._snapshot = self._taken()

    @staticmethod
    def _raise(reply: Reply) -> None:
        if isinstance(reply.error, ExceptionWrapper):
            reply.error.reraise()  # type: ignore[no-untyped-call]
        if reply.error is not None:
            raise reply.error
