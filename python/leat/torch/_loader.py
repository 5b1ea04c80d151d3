"""A leat loader as a DataLoader of torch."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Never, TypedDict, Unpack

import torch
import torch.utils.data

import leat
from leat._ranks import find_place
from leat.errors import InvalidArgument
from leat.torch import _state
from leat.torch._batch import Batch, batch_of, ragged_fields
from leat.torch._collective import agreement_of, find_group
from leat.torch._stand_ins import BatchSampler, Dataset

_log = logging.getLogger("leat")
_ENDLESS = 2**64 - 1


class LoaderOptions(TypedDict, total=False):
    """Options of leat.Loader that are passed on as they are."""

    steps: int | None
    prefetch: int
    leases: int
    dispatch: str
    bad_samples: str
    bad_sample_log: str
    stuck_after: float | None
    on_stuck: Callable[[Any], Any] | None
    keep: int
    hash_pixels: bool
    agree: Callable[[tuple[int, int, int]], Sequence[tuple[int, int, int]]] | None
    trace: Any
    runtime: Any
    fault: Any


class DataLoader(torch.utils.data.DataLoader[Any]):
    """Feeds one rank of a training job with batches of tensors: each `iter` is an epoch, or the rest of one after a load.

    `data`: a pipeline that ends with batch(rows), rows of the global batch over all ranks. `rank`, `world_size` or `mesh`
    (a DeviceMesh) say which part is this process's; without them torch.distributed does, or torchrun, Open MPI or Slurm.
    `epochs`: length of the job, counted from epoch 0, also after a load; None: without end. `device`: where tensors go;
    None: they stay in the batch's memory, or go to the accelerator's device after Accelerator.prepare(). `group`: the process
    group of these ranks, if it is not the default one. `state_timeout`: seconds that state_dict() waits for other ranks.

    One epoch at a time: an `iter` in the middle of an epoch leaves out its rest, on all ranks alike, except in an endless
    epoch (`end="cycle"`), where it goes on. Raises leat.Error, InvalidArgument for uses that would lose data in silence.
    """

    use_stateful_dataloader = True  # Accelerate saves and loads the state
    end_of_dataloader = False
    remainder = 0  # Accelerate must not cut rows off: see leat.accelerate.gather_for_metrics

    def __init__(
        self,
        data: leat.Pipeline,
        *,
        rank: int | None = None,
        world_size: int | None = None,
        mesh: Any = None,
        workers: int | str = "auto",
        epochs: int | None = None,
        device: torch.device | str | int | None = None,
        group: Any = None,
        state_timeout: float = 300.0,
        **options: Unpack[LoaderOptions],
    ) -> None:
        _refuse_worker()
        place = find_place(rank, world_size, mesh=mesh)
        facts = leat.epoch_of(data)
        ranks = None if facts.is_indexed else find_group(place, group, mesh)
        if place.world_size > 1 and facts.needs_agreement and options.get("agree") is None:
            options["agree"] = agreement_of(ranks)
        self.data = data
        self.rank, self.world_size = place.rank, place.world_size
        self.is_placed = rank is not None or mesh is not None  # the program says which part is whose
        self.device = torch.device(device) if device is not None else None
        self._facts = facts
        self._options: dict[str, Any] = {
            "rank": place.rank,
            "world_size": place.world_size,
            "workers": workers,
            "epochs": _ENDLESS if epochs is None else epochs,
            **options,
        }
        self._shared = _state.Shared(data, place.world_size, facts.is_indexed, ranks, state_timeout)
        self._process = os.getpid()
        self._loader = leat.Loader(data, **self._options)
        self._ragged: frozenset[str] | None = None
        self._has_begun = False
        self._is_loaded = False
        self._finished = False
        self._last: leat.Batch | None = None
        self._held: leat.Batch | None = None
        self._pass = 0
        self._is_prepared = False
        self._look_like_torch()

    def _look_like_torch(self) -> None:
        rows = -(-int(self._facts.batch_rows) // self.world_size)
        self.dataset = Dataset(self._facts.samples)
        self.sampler = self.batch_sampler = BatchSampler(rows)
        self.batch_size = rows
        self.drop_last = False
        self.num_workers = 0
        self.prefetch_factor = None
        self.pin_memory = False
        self.pin_memory_device = ""
        self.timeout = 0
        self.worker_init_fn = None
        self.generator = None
        self.collate_fn = _collate
        self.persistent_workers = False
        self.in_order = True
        self.multiprocessing_context = None
        self._dataset_kind = 1
        self._IterableDataset_len_called = None
        self._iterator = None

    # Iteration

    def __len__(self) -> int:
        """Batches of a whole epoch. Raises TypeError where they are not known beforehand."""
        if self._facts.batches is None:
            raise TypeError(
                "the number of batches of this pipeline is not known beforehand: trainers want a number of steps instead "
                "(max_steps, steps_per_epoch)"
            )
        return int(self._facts.batches)

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        """An epoch, or the rest of one after a load. An earlier iterator of this loader ends with it."""
        self._check_use()
        _refuse_redealing()
        self._pass += 1
        if self._finished:
            self._finished = False
            if self._is_loaded:  # the loop that the state was taken in has nothing left
                self._is_loaded = False
                return iter(())
        elif not (self._is_loaded or self._held or self._facts.is_endless) and self._loader.position().step > 0:
            self._loader.abandon_epoch()
            self._last = None
        self._is_loaded = False
        return self._batches(self._pass)

    def _batches(self, number: int) -> Iterator[Batch]:
        trainer = _trainer() if self._is_prepared else None
        self.end_of_dataloader = False
        if trainer:
            trainer._add_dataloader(self)
        try:
            epoch = self._epoch_of_next()
            while (lease := self._next(number, epoch)) is not None:
                is_last = bool(lease.end_of_epoch)
                self.end_of_dataloader = self._finished = is_last
                yield self._batch(lease)
                del lease
                if is_last:
                    break
            if number == self._pass:
                self._finished = False
                self._last = self._last if self._held is not None else None
        finally:
            if trainer:
                trainer._remove_dataloader(self)

    def _next(self, number: int, epoch: int) -> leat.Batch | None:
        self._check_use()
        if number != self._pass:
            raise InvalidArgument("an iterator of a leat loader went on after another one was begun: they share one position")
        if self._held is not None:
            lease, self._held = self._held, None
        else:
            self._has_begun = True
            found = self._loader.next()
            if found is None:
                return None
            lease = found
        if lease.epoch != epoch:  # the rest of the epoch is left out on purpose: see leave_out_steps
            self._held = lease
            return None
        self._last = lease
        return lease

    def _epoch_of_next(self) -> int:
        return int(self._held.epoch if self._held is not None else self._loader.position().epoch)

    def _batch(self, lease: leat.Batch) -> Batch:
        if self._ragged is None:
            self._ragged = ragged_fields(lease)
        batch = batch_of(lease, self._ragged)
        device = self.device
        return batch if device is None else batch.to(device, non_blocking=device.type == "cuda")

    # State

    def state_dict(self, after: Batch | None = None) -> dict[str, Any]:
        """Where to resume: after the batch that was handed out last, or after another one. Plain types, the same on all ranks.

        All ranks call it if the pipeline has state (it is not indexed) and there are several: their parts are gathered.
        Taken inside the loop after an epoch's last batch, it resumes with an empty rest of that epoch, then the next one.
        """
        self._check_use()
        if after is not None:
            finished = after.end_of_epoch
            own, epoch = after.snapshot(), after.epoch
        else:
            finished = self._finished
            own = self._last.snapshot() if self._held is not None and self._last is not None else self._loader.snapshot()
            epoch = self.epoch
        return _state.to_dict(_state.State(self._shared.parts(own), finished), epoch)

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Sequence[str] = ()) -> None:
        """The next `iter` goes on where the state was taken, with any number of ranks and workers.

        `allow`: differences of the pipeline that are accepted, by the names in the error. Raises leat.Error.
        """
        self._check_use()
        state = _state.from_dict(state_dict)
        self._renew()
        self._loader.restore_parts(state.parts, allow=list(allow))
        self._is_loaded, self._finished = True, state.finished

    def save(self, directory: str | os.PathLike[str], batch: Batch | None = None) -> None:
        """Writes this rank's part of "resume after this batch" in the background; without one, after the last one."""
        self._check_use()
        self._loader.save(os.fspath(directory), None if batch is None else batch.lease)

    def wait_saved(self) -> None:
        """Waits for saves in progress and raises their error."""
        self._loader.wait_saved()

    def restore(
        self, directory: str | os.PathLike[str], *, allow: Sequence[str] = (), allow_older: bool = False
    ) -> leat.Position | None:
        """Resumes after the newest complete set of save(), of any number of ranks; None if there is none."""
        self._check_use()
        self._renew()
        found = self._loader.restore(os.fspath(directory), allow=list(allow), allow_older=allow_older)
        self._is_loaded = found is not None
        return found

    def skip_first_batches(self, n: int) -> None:
        """Leaves out the next n batches, also across ends of epochs, alike on all ranks. Before iteration, or after a load."""
        self._check_use()
        self._loader.skip_first_batches(n)
        self._is_loaded, self._finished = True, False

    def leave_out_steps(self, first: int, last: int) -> None:
        """Leaves out steps of the job, by `global_step`, alike on all ranks. Before iteration, or after a load."""
        self._check_use()
        self._loader.leave_out_steps(first, last)

    @property
    def epoch(self) -> int:
        """The epoch of the next `iter`; inside a loop, that of the loop."""
        at = self._epoch_of_next()
        return at - 1 if self._finished else at

    def position(self) -> leat.Position:
        """Where the loader stands: the next batch."""
        return self._loader.position()

    def set_epoch(self, epoch: int) -> None:
        """Accepted, because trainers call it: epochs follow one another, and a load sets the position."""

    def stats(self) -> dict[str, Any]:
        """What the loader did so far; times in seconds."""
        return dict(self._loader.stats())

    @property
    def last(self) -> leat.Batch | None:
        """The batch that was handed out last, in this epoch."""
        return self._last

    def close(self) -> None:
        """Ends the loader and waits for its threads. Tensors stay valid."""
        self._last = self._held = None
        self._loader.close()

    def _renew(self) -> None:
        """A loader that has not begun, which can be told where to begin."""
        self._pass += 1
        self._last = self._held = None
        self._finished = self._is_loaded = False
        if self._has_begun:
            self._loader.close()
            self._loader = leat.Loader(self.data, **self._options)
            self._has_begun = False

    # Trainers

    @property
    def total_batch_size(self) -> int:
        """Rows of the global batch."""
        return int(self._facts.batch_rows)

    @property
    def total_dataset_length(self) -> int:
        """Samples of an epoch, over all ranks. Raises TypeError where they are not known."""
        return len(self.dataset)  # type: ignore[arg-type]

    @property
    def _is_accelerate_prepared(self) -> bool:
        # Asked by Accelerator.prepare(), which then takes the loader as it is: leat divides among ranks itself.
        if "accelerate.state" in sys.modules and not self._is_prepared:
            self._is_prepared = True
            import leat.accelerate

            leat.accelerate.prepare(self)
        return True

    @_is_accelerate_prepared.setter
    def _is_accelerate_prepared(self, _: bool) -> None:
        """Accelerate sets it on what it has prepared itself."""

    # What would lose data

    def _check_use(self) -> None:
        if os.getpid() != self._process:
            raise InvalidArgument(
                "a leat loader that was made before a fork: make one in the child, after leat.shutdown() in the parent"
            )
        _refuse_worker()

    def __reduce__(self) -> Never:
        raise InvalidArgument(
            "a leat loader was to be pickled: pickle its pipeline, and make a loader of it in the other process"
        )

    def __repr__(self) -> str:
        return f"<leat.torch.DataLoader, rank {self.rank} of {self.world_size}: {self.data}>"


def _trainer() -> Any:
    from accelerate.state import GradientState  # type: ignore[import-untyped]

    return GradientState()


def _refuse_worker() -> None:
    if torch.utils.data.get_worker_info() is not None:
        raise InvalidArgument(
            "a leat loader inside a worker of a torch DataLoader, where each worker would give all batches: iterate the leat "
            "loader itself, its workers are threads (workers=)"
        )


def _refuse_redealing() -> None:
    """Accelerate's own loaders divide what they read among the ranks, which leat has done already."""
    if "accelerate.data_loader" not in sys.modules:
        return
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "accelerate.data_loader":
            raise InvalidArgument(
                "a leat loader behind a dataset that Accelerate divides among the ranks once more, so that batches would be "
                "lost: give the leat.torch.DataLoader itself to accelerator.prepare()"
            )
        frame = frame.f_back  # type: ignore[assignment]


def _collate(_: Any) -> Never:
    raise InvalidArgument("collate_fn of a leat loader: its pipeline makes the batches")
