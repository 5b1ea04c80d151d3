"""A leat loader as a DataLoader of torch."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Never, TypedDict, Unpack

import torch
import torch.utils.data

import leat
from leat._epochs import ENDLESS, Epochs, take_remote
from leat._ranks import Place, find_place
from leat._refusals import refuse_redealing
from leat.errors import InvalidArgument
from leat.torch import _device, _lightning
from leat.torch._batch import Batch, batch_of, ragged_fields
from leat.torch._collective import agreement_of, find_group
from leat.torch._parts import Shared
from leat.torch._stand_ins import BatchSampler, Dataset

_log = logging.getLogger("leat")


class LoaderOptions(TypedDict, total=False):
    """Options of leat.Loader that are passed on as they are."""

    steps: int | None
    prefetch: int
    leases: int | None
    dispatch: str
    bad_samples: str
    bad_sample_log: str
    stuck_after: float | None
    on_stuck: Callable[[Any], Any] | None
    keep: int
    hash_pixels: bool
    device_fields: Sequence[str]
    decoder: Literal["auto", "cpu", "device", "nvjpeg"]
    remote: Mapping[str, Any] | None
    agree: Callable[[tuple[int, int, int]], Sequence[tuple[int, int, int]]] | None
    trace: Any
    runtime: Any
    fault: Any


_OF_DEVICES = ("device", "device_fields", "decoder")


class DataLoader(Epochs[Batch], torch.utils.data.DataLoader[Any]):
    """Feeds one rank of a training job with batches of tensors: each `iter` is an epoch, or the rest of one after a load.

    `data`: a pipeline that ends with batch(rows), rows of the global batch over all ranks. `rank`, `world_size` or `mesh`
    (a DeviceMesh) say which part is this process's; without them torch.distributed does, or torchrun, Open MPI or Slurm.
    `epochs`: length of the job, counted from epoch 0, also after a load; None: without end. `device`: where tensors go;
    None: they stay in the batch's memory, or go to the accelerator's device after Accelerator.prepare(). Where that is "cuda"
    or "cuda:N", leat itself copies them there, ahead of their use; bytes stay on the host. `device_fields`: those that it
    copies, if not all. `decoder`: where JPEGs that have a row index are decoded then, or "nvjpeg", whose pixels are others.
    `group`: the process group of these ranks, if it is not the default one. `state_timeout`: seconds that state_dict() waits
    for other ranks.

    One epoch at a time: an `iter` in the middle of an epoch leaves out its rest, on all ranks alike, except in an endless
    epoch (`end="cycle"`), where it continues. Raises leat.Error, InvalidArgument for uses that would silently lose data.
    """

    use_stateful_dataloader = True  # Accelerate saves and loads the state
    end_of_dataloader = False
    remainder = 0  # Accelerate must not cut rows off: see leat.accelerate.gather_for_metrics

    def __new__(cls, *_: Any, **arguments: Any) -> "DataLoader":
        # Lightning's predict makes every DataLoader again from its attributes, only to replace its sampler: it gets this one.
        found = arguments.get("dataset")
        return found.loader if isinstance(found, Dataset) else super().__new__(cls)

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
        if isinstance(options.get("dataset"), Dataset):
            return  # see __new__
        _refuse_worker()
        self.is_placed = rank is not None or mesh is not None  # the program has set which part is whose
        self.device = torch.device(device) if device is not None else None
        self._copied_to: str | None = None
        self._process = os.getpid()
        self._ragged: frozenset[str] | None = None
        self._is_prepared = False
        self._was_told = False
        self.reader: Any = None  # where code that takes batches ahead of their use keeps them: see leat.lightning
        self._group, self._mesh, self._state_timeout = group, mesh, state_timeout
        given: dict[str, Any] = {"workers": workers, "epochs": ENDLESS if epochs is None else epochs, **options}
        data = take_remote(data, given)
        self._open_at(find_place(rank, world_size, mesh=mesh), data, given)
        _lightning.forget_arguments(self)

    def _open_at(self, place: Place, data: leat.Pipeline, given: Mapping[str, Any]) -> None:
        """Makes the loader of this rank; `given`: options of leat.Loader but for the rank and `remote`."""
        self._given = given
        options = {**given, "rank": place.rank, "world_size": place.world_size}
        facts = leat.epoch_of(data)
        ranks = None if facts.is_indexed else find_group(place, self._group, self._mesh)
        if place.world_size > 1 and facts.needs_agreement and options.get("agree") is None:
            options["agree"] = agreement_of(ranks)
        self.rank, self.world_size = place.rank, place.world_size
        self._shared = Shared(data, place.world_size, facts.is_indexed, ranks, self._state_timeout)
        self._open_on_device(data, options)
        self._look_like_torch()

    def _open_on_device(self, data: leat.Pipeline, options: Mapping[str, Any]) -> None:
        """Makes the loader so that it copies batches to `device`, where leat can."""
        name = _device.name_for_leat(self.device)
        self._copied_to = None
        if name is not None:
            try:
                self._open(data, {**options, "device": name})
                self._copied_to = name
            except leat.Error as problem:
                if problem.code != "device":
                    raise
                assert self.device is not None
                _device.tell(self.device, str(problem))
        if self._copied_to is None:
            self._open(data, {x: of for x, of in options.items() if x not in _OF_DEVICES})

    def copy_to(self, device: torch.device) -> bool:
        """Has batches copied to a device, for trainers that know it after the loader was made. Whether leat itself does so.

        Where it does not, or iteration has begun or a load came before, the trainer is to move them.
        """
        if _device.name_for_leat(device) is None:
            return False
        if not self._is_as_opened:
            _device.tell(device, "the loader was loaded, changed or iterated before its device was known")
            return False
        before, self.device = self.device, device
        self._reopen()
        if self._copied_to is None:
            self.device = before
        return self._copied_to is not None

    def _reopen(self) -> None:
        self._loader.close()
        given = {x: of for x, of in self._given.items() if x in _OF_DEVICES}
        self._open_on_device(self.data, {**self._options, **given})

    @property
    def lacks_group(self) -> bool:
        """Whether its state is spread over ranks that it cannot reach: it was made before torch.distributed was initialised."""
        return self._shared.lacks_group

    def move_to(self, rank: int, world_size: int) -> None:
        """Makes it another rank's loader, at the same position. Before iteration; for loaders made before ranks are known.

        Raises InvalidArgument for a loader of several ranks whose pipeline has state: one rank has a part of it only.
        """
        if self._has_begun:
            raise InvalidArgument(
                f"a leat loader that has begun as rank {self.rank} of {self.world_size}, for rank {rank} of {world_size}: "
                "make it where the ranks are known, or give it rank= and world_size="
            )
        state = self.state_dict() if self._is_loaded else None
        self._loader.close()
        self._open_at(Place(rank, world_size, "the call"), self.data, self._given)
        if state is not None:
            self.load_state_dict(state)

    def _look_like_torch(self) -> None:
        rows = -(-int(self._facts.batch_rows) // self.world_size)
        self.dataset = Dataset(self._facts.samples, self)
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

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        """An epoch, or the rest of one after a load. An earlier iterator of this loader ends with it."""
        refuse_redealing("a leat loader")
        if (loop := _lightning.find_loop()) is None:
            return self.begin()
        import leat.lightning

        return leat.lightning.iterate(self, loop)

    def begin(self) -> Iterator[Batch]:
        """What `iter` does, whoever iterates."""
        if self._copied_to not in (None, _device.name_for_leat(self.device)) and self._is_as_opened:
            self._reopen()  # torch.cuda.set_device() came after the loader
        return super().__iter__()

    def batch_of(self, lease: leat.Batch) -> Batch:
        """The batch with its tensors again, for a lease that was taken ahead."""
        return self._batch(lease)

    def _batches(self, number: int) -> Iterator[Batch]:
        trainer = _trainer() if self._is_prepared else None
        self.end_of_dataloader = False
        if trainer:
            trainer._add_dataloader(self)
        try:
            yield from super()._batches(number)
        finally:
            if trainer:
                trainer._remove_dataloader(self)

    def _batch(self, lease: leat.Batch) -> Batch:
        self.end_of_dataloader = bool(lease.end_of_epoch)
        if self._ragged is None:
            self._ragged = ragged_fields(lease)
        batch = batch_of(lease, self._ragged)
        device = self.device
        if device is None or self._copied_to == f"cuda:{_device.number_of(device)}":
            return batch
        return batch.to(device, non_blocking=device.type == "cuda")

    # State

    def state_dict(self, after: Batch | None = None) -> dict[str, Any]:
        """Where to resume: after the batch that was handed out last, or after another one. Plain types, the same on all ranks.

        All ranks call it if the pipeline has state (it is not indexed) and there are several: their parts are gathered.
        Taken inside the loop after an epoch's last batch, it resumes with an empty rest of that epoch, then the next one.
        """
        return super().state_dict(after)

    def _parts_of_all(self, own: bytes) -> list[bytes]:
        return self._shared.parts(own)

    def skip_first_batches(self, n: int) -> None:
        """Leaves out the next n batches, also across ends of epochs, alike on all ranks. Before iteration, or after a load."""
        self._check_use()
        self._loader.skip_first_batches(n)
        self._is_loaded, self._is_changed, self._finished = True, True, False

    def set_epoch(self, epoch: int) -> None:
        """Accepted, because trainers call it: epochs follow one another, and a load sets the position.

        Another number than the loader's gives a warning, once: the trainer may have resumed, and the loader not.
        """
        at = self.position()
        expected = {self.epoch, at.epoch + (at.step > 0)}
        if epoch in expected or self._facts.is_endless or self._was_told:
            return
        self._was_told = True
        _log.warning(
            "set_epoch(%d), and the leat loader is at epoch %d: if the training was resumed, load the loader's state, too "
            "(load_state_dict, restore); if its epochs are only counted otherwise, all is well",
            epoch,
            at.epoch,
        )

    @property
    def last(self) -> leat.Batch | None:
        """The batch that was handed out last, in this epoch."""
        return self._last

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
        # Accelerator.prepare() reads it, and then takes the loader as it is: leat divides among ranks itself.
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


def _collate(_: Any) -> Never:
    raise InvalidArgument("collate_fn of a leat loader: its pipeline makes the batches")
