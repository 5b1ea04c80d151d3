"""Reads a dataset for a loader with state, in a worker process or in the program's own."""

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch.utils.data
from torch._utils import ExceptionWrapper
from torch.utils.data._utils.pin_memory import pin_memory

from leat.errors import Error
from leat.torch._digest import Chain, Generators


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin an epoch: at its first sample, at `state`, or, with `is_over`, the epoch after that of `state`."""

    state: Any = None
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """Read the samples of `index`; `number` counts from the beginning of the epoch. Without it, only the state is wanted."""

    number: int | None
    index: Any
    wants_state: bool


@dataclass(slots=True)
class Reply:
    """The answer to a request: a batch, an error, or the end of the worker's samples; and the reader's state, if wanted."""

    number: int | None
    worker: int
    data: Any = None
    has_data: bool = False
    has_ended: bool = False
    error: Any = None
    state: Any = None

    def pin_memory(self) -> "Reply":
        """Called by torch's thread for pinned memory; leaves states as they are."""
        self.data = pin_memory(self.data)  # type: ignore[no-untyped-call]
        return self


def has_state(x: Any) -> bool:
    """Whether an object has a state that can be saved and loaded."""
    return callable(getattr(x, "state_dict", None)) and callable(getattr(x, "load_state_dict", None))


def state_of(x: Any) -> Any:
    """A copy of an object's state, since a queue may send it after the object has changed. None without a state."""
    return copy.deepcopy(x.state_dict()) if has_state(x) else None


class Reader(torch.utils.data.Dataset[Reply]):
    """Answers requests. For torch it is a dataset, and requests are its indices. `loader`: whose dataset to read, and how."""

    def __init__(self, loader: torch.utils.data.DataLoader[Any]) -> None:
        self._dataset: Any = loader.dataset
        self._collate: Callable[[Any], Any] = loader.collate_fn
        self._is_batched = loader.batch_sampler is not None
        self._rows = loader.batch_size
        self._drop_last = loader.drop_last
        self._is_worker = loader.num_workers > 0
        self._is_iterable = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        self._iterator: Iterator[Any] | None = None
        self._chain = Chain()
        self._began: Any = None
        self._read = 0
        self._has_ended = False

    def __getitem__(self, request: Begin | Read) -> Reply:
        info = torch.utils.data.get_worker_info() if self._is_worker else None
        reply = Reply(request.number if isinstance(request, Read) else None, 0 if info is None else info.id)
        try:
            if isinstance(request, Begin):
                self._begin(request)
            elif request.number is not None:
                data = self._fetch(request.index)
                reply.has_ended, reply.has_data = data is _END, data is not _END
                reply.data = data if reply.has_data else None
            if self._is_worker and (isinstance(request, Begin) or request.wants_state or reply.has_ended):
                reply.state = self.state()
        except Exception as problem:  # the reply must keep its number
            where = f"in DataLoader worker process {reply.worker}"
            reply.error = problem if info is None else ExceptionWrapper(where=where)  # type: ignore[no-untyped-call]
        return reply

    def state(self) -> dict[str, Any]:
        """Its state: that of the dataset and its iterator; if they have none, how much was read, and the digest of that."""
        state: dict[str, Any] = {
            "read": self._read,
            "ended": self._has_ended,
            "dataset": None if self._iterator is self._dataset else state_of(self._dataset),
            "iterator": state_of(self._iterator),
            "random": Generators().state() if self._is_worker else None,
        }
        if self._is_read_again():
            state.update(began=self._began, digest=self._chain.value)
        return state

    def _begin(self, request: Begin) -> None:
        if request.state is not None:
            self._restore(copy.deepcopy(request.state), request.is_over)
        if request.state is None or request.is_over:
            self._start()

    def _start(self) -> None:
        self._began = Generators().state() if self._is_iterable else None
        self._iterator = iter(self._dataset) if self._is_iterable else None
        self._chain, self._read, self._has_ended = Chain(), 0, False

    def _restore(self, at: dict[str, Any], is_over: bool) -> None:
        if at["dataset"] is not None and has_state(self._dataset):
            self._dataset.load_state_dict(at["dataset"])
        if "began" in at and not is_over:
            Generators().set(at["began"])
        self._start()
        if at["iterator"] is not None and has_state(self._iterator):
            self._iterator.load_state_dict(at["iterator"])  # type: ignore[union-attr]
        if "began" in at and not is_over:
            self._read_again(at)
        elif at["random"] is not None:
            Generators().set(at["random"])
        self._read, self._has_ended = at["read"], at["ended"]

    def _is_read_again(self) -> bool:
        return self._is_iterable and not has_state(self._dataset) and not has_state(self._iterator)

    def _read_again(self, at: dict[str, Any]) -> None:
        if not self._is_read_again():
            raise Error(
                "load_state_dict: a dataset or its iterator had no state_dict() when the state was taken, but has one now"
            )
        while self._read < at["read"] and not self._has_ended:
            with contextlib.suppress(Exception):  # it was raised before the load, too
                self._fetch(None)
        if (self._read, self._chain.value) != (at["read"], at["digest"]):
            raise Error(
                f"load_state_dict: the dataset gave other samples than before in its first {at['read']} batches: going on "
                "would lose and repeat samples: seed its order by its worker's seed, or give it or its iterator a state_dict()"
            )

    def _fetch(self, index: Any) -> Any:
        """The next batch; _END once there are no more samples."""
        self._read += 1
        samples = self._samples() if self._is_iterable else self._items(index)
        if samples is _END:
            self._read -= 1
            self._has_ended = True
            return _END
        batch = self._collate(samples)
        if self._is_read_again():
            self._chain.add(batch)
        return batch

    def _samples(self) -> Any:
        if self._has_ended or self._iterator is None:
            return _END
        if self._rows is None:
            return next(self._iterator, _END)
        samples = []
        for _ in range(self._rows):
            if (sample := next(self._iterator, _END)) is _END:
                self._has_ended = True
                break
            samples.append(sample)
        return _END if not samples or (self._drop_last and len(samples) < self._rows) else samples

    def _items(self, index: Any) -> Any:
        if not self._is_batched:
            return self._dataset[index]
        of_many = getattr(self._dataset, "__getitems__", None)
        return of_many(index) if of_many else [self._dataset[i] for i in index]


_END = object()


class Start:
    """Called first in a worker process: shows the user's dataset to get_worker_info(), and calls the user's own function."""

    def __init__(self, dataset: Any, function: Callable[[int], None] | None) -> None:
        self._dataset = dataset
        self._function = function

    def __call__(self, worker: int) -> None:
        object.__setattr__(torch.utils.data.get_worker_info(), "dataset", self._dataset)
        if self._function is not None:
            self._function(worker)
