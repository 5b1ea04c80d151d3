"""A torch DataLoader with a state, in place of torchdata's."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from leat.errors import InvalidArgument
from leat.torch._digest import Generators
from leat.torch._indices import Indices
from leat.torch._reader import has_state
from leat.torch._requests import Workers
from leat.torch._stateful_epoch import Epoch

_VERSION = 1


class StatefulDataLoader(torch.utils.data.DataLoader[Any]):
    """torch's DataLoader with state_dict() and load_state_dict(): takes the place of torchdata's class of this name.

    Arguments are those of torch.utils.data.DataLoader; `snapshot_every_n_steps`: how often workers send their state, in
    batches; 0 or None: only at an epoch's beginning and end. A load then reads the batches since again.

    Datasets, their iterators, samplers and their iterators are asked for their state, where they have state_dict() and
    load_state_dict(). Else a load draws the sampler's indices again, or reads an iterable dataset again, and compares
    digests: an order that cannot be repeated is an Error. Random numbers of worker processes continue where they were.
    `generator`: where shuffling and the workers' seeds come from; None: one of its own, seeded once from torch's.

    A state that was taken inside the loop after an epoch's last batch resumes with an empty rest; one taken after the loop,
    with the next epoch. States are of one rank.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        snapshot_every_n_steps: int | None = 1,
    ) -> None:
        if isinstance(dataset, torch.utils.data.IterDataPipe | torch.utils.data.MapDataPipe):
            raise InvalidArgument(
                "a datapipe, which torch's DataLoader divides among workers by itself: give that loader to leat.torch.wrap()"
            )
        if generator is None:
            generator = torch.Generator().manual_seed(int(torch.empty((), dtype=torch.int64).random_()))
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )
        self.snapshot_every_n_steps = snapshot_every_n_steps
        self._generators = Generators(self)
        self._workers: Workers | None = None
        self._epoch: Epoch | None = None
        self._is_begun = False  # whether state_dict() has begun an epoch that the next iter takes over
        self._loaded: dict[str, Any] | None = None

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """An epoch; after load_state_dict() the rest of one."""
        if self._epoch is None or not self._is_begun:
            self._epoch = self._begin()
        self._is_begun = False
        return self._epoch

    def state_dict(self) -> dict[str, Any]:
        """Where to resume: after the batch that was handed out last. Plain types, beside states of your own objects."""
        if self._loaded is not None:
            return copy.deepcopy(self._loaded)
        if self._epoch is None:
            self._epoch, self._is_begun = self._begin(), True
        return copy.deepcopy({**self._facts(), **self._epoch.state()})

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """The next `iter` continues where the state was taken. An empty dict: with a first epoch.

        The number of workers may change for a map-style dataset without a state of its own. Raises InvalidArgument for
        another loader's state; the next `iter` raises Error if the order cannot be repeated.
        """
        if state_dict:
            self._check(state_dict)
        self._workers, self._epoch, self._is_begun = None, None, False
        self._loaded = copy.deepcopy(dict(state_dict)) if state_dict else None

    def _check(self, state: Mapping[str, Any]) -> None:
        if not isinstance(state, Mapping) or state.get("leat_stateful") != _VERSION:
            raise InvalidArgument(
                "load_state_dict: needed is what state_dict() of leat.torch.StatefulDataLoader gave; to change over from "
                "another loader, end an epoch with it"
            )
        for name in ("is_iterable", "batch_size"):
            if state[name] != (here := self._facts()[name]):
                raise InvalidArgument(f"load_state_dict: {name} was {state[name]}, here it is {here}: it must be the same")
        if state["num_workers"] != self.num_workers and (state["is_iterable"] or has_state(self.dataset)):
            raise InvalidArgument(
                f"load_state_dict: num_workers was {state['num_workers']}, here it is {self.num_workers}: it may change for "
                "map-style datasets without a state of their own alone; each worker has its part of the state of others"
            )

    def _facts(self) -> dict[str, Any]:
        return {
            "leat_stateful": _VERSION,
            "num_workers": self.num_workers,
            "is_iterable": isinstance(self.dataset, torch.utils.data.IterableDataset),
            "batch_size": self.batch_size,
        }

    def _begin(self) -> Epoch:
        state = self._loaded
        workers = Workers(self) if self._workers is None else self._workers
        every = self.snapshot_every_n_steps or 0
        if state is None or not state["finished"]:
            epoch = Epoch(self, self._generators, every, workers, state)
        else:
            self._generators.set_own(state["generators"])
            Indices(self).pass_epoch(state["sampler"])
            epoch = Epoch(self, self._generators, every, workers, None, state["workers"] if self._keeps_readers() else None)
        self._workers = workers if self.persistent_workers else None
        self._loaded = None
        return epoch

    def _keeps_readers(self) -> bool:
        """Whether changes that an epoch made to datasets persist in the next one."""
        return self.num_workers == 0 or self.persistent_workers
