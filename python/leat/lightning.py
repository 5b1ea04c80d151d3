"""leat for Lightning: a Trainer that resumes after the batch that was trained last, on any number of ranks and workers."""

import importlib
import math
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import leat
from leat.errors import InvalidArgument
from leat.torch import Batch, DataLoader
from leat.torch._lightning import refusal

try:
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        raise ImportError("the package whose Trainer the program has, where both are installed")
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

__all__ = ["Resume"]

_package = Callback.__module__.partition(".callbacks")[0]
_is_overridden = importlib.import_module(f"{_package}.utilities.model_helpers").is_overridden
_fit_loop = importlib.import_module(f"{_package}.loops.fit_loop")._FitLoop
if _missing := [x for x in ("is_resuming", "setup_data", "restarted_mid_epoch") if not hasattr(_fit_loop, x)]:
    raise ImportError(
        f"leat.lightning needs a Trainer whose loop has {', '.join(_missing)}: without it a resumed training would lose "
        "batches; Lightning 2.6 has it"
    )

_HOOKS = ("on_before_batch_transfer", "transfer_batch_to_device")  # which may want batches on the host
_NONE = {"ready": 0, "started": 0, "processed": 0, "completed": 0}
_NOTE = "lightning"  # key in a loader's state for what the loops must know in addition to the position


class Resume(Callback):  # type: ignore[misc]
    """Makes checkpoints of a Trainer hold where each leat.torch.DataLoader resumes, and `fit(ckpt_path=...)` continue there.

    The position is that after the batch that was trained last: Lightning may have fetched one more. A run that ended in the
    middle of an epoch (an exception, Timer, max_steps) continues in the middle of it; one that was saved at an epoch's end
    continues with the next epoch. Ranks, workers and devices may change. `allow`: differences of the pipeline that are
    accepted, by the names in the error. Raises InvalidArgument where batches would be lost or repeated.
    """

    def __init__(self, *, allow: Sequence[str] = ()) -> None:
        self.allow = list(allow)
        self._states: dict[int, Mapping[str, Any]] = {}  # of a checkpoint, until their loaders exist
        self._loaded = 0
        self.is_asked = False  # whether a loop of this Trainer that leat knows has begun a loader
        self._readers: dict[int, _Reader] = {}

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Forgets an earlier run."""
        self._states, self._loaded, self._readers, self.is_asked = {}, 0, {}, False

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Replaces the positions after the last fetched batch by those after the last trained batch."""
        states = checkpoint["loops"]["fit_loop"]["state_dict"].get("combined_loader")
        if not states:
            return
        every = trainer.fit_loop._combined_loader.flattened
        for i, loader in enumerate(x for x in every if hasattr(x, "state_dict") and hasattr(x, "load_state_dict")):
            if isinstance(loader, DataLoader) and loader.reader is not None:
                states[i] = loader.reader.state(bool(trainer.validating))

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Keeps the positions until their loaders exist, and makes Lightning's counters match them."""
        if trainer.state.fn != "fit" or "loops" not in checkpoint:
            return
        fit = checkpoint["loops"]["fit_loop"]
        every = fit["state_dict"].get("combined_loader", [])
        states = [x for x in every if isinstance(x, Mapping) and "leat" in x]
        if any(_NOTE not in x for x in states):
            raise InvalidArgument(
                "a checkpoint of a Trainer without leat.lightning.Resume(): it has the position after the batch that was "
                "fetched last, not the one that was trained: load its weights only, or an older checkpoint"
            )
        if states:
            _correct(fit, states[0][_NOTE], bool(trainer.enable_validation))
        if len(states) == len(every):
            fit["state_dict"]["combined_loader"] = []  # Lightning would load them only sometimes
        self._states, self._loaded = dict(enumerate(states)), len(states)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Loads positions whose loaders were iterated before the checkpoint was read (`estimated_stepping_batches` does)."""
        loop = trainer.fit_loop
        loaders = _loaders(loop)
        if loop.is_resuming and len(loaders) != self._loaded:
            raise InvalidArgument(
                f"a checkpoint with the positions of {self._loaded} leat loaders, and {len(loaders)} train with it: batches "
                "would be lost or repeated; load its weights only"
            )
        if not loaders:
            raise InvalidArgument(
                "leat.lightning.Resume() in a Trainer that trains without a leat.torch.DataLoader, so that it keeps no position"
            )
        if not self.is_asked:
            raise InvalidArgument("a Lightning whose loops leat does not know, so that batches could be lost: 2.6 is known")
        if self._states:
            iter(loop._data_fetcher)
        for reader in self._readers.values():
            reader.count_from_here(loop)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Restores what a batch has in addition to its fields, after a precision such as "bf16-true" made a new dict of it."""
        for part, loader in zip(_parts(batch), trainer.fit_loop._combined_loader.flattened, strict=False):
            if isinstance(loader, DataLoader) and loader.reader is not None:  # None: it was refused
                _give_lease(part, loader.reader.current())

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """The same for validation, test and predict."""
        loader = trainer._active_loop._combined_loader.flattened[dataloader_idx]
        if isinstance(loader, DataLoader) and loader.reader is not None:
            _give_lease(batch, loader.reader.of_number(batch_idx))

    on_test_batch_start = on_predict_batch_start = on_validation_batch_start

    def open(self, loader: DataLoader, number: int) -> None:
        """Moves a loader to its place in the checkpoint, or, if a hook made it anew in this run, to where the last one ended.

        `number`: its index among the leat loaders that train.
        """
        before = self._readers.get(number)
        if (state := self._states.pop(number, None)) is not None:
            _load(loader, state, self.allow)
        elif loader.reader is None and before is not None:
            state = before.state(is_validating=False)
            _load(loader, {**state, _NOTE: {**state[_NOTE], "next": True}}, self.allow)
        elif loader.reader is None:
            loader.reader = _Reader(loader, loader.state_dict())
        self._readers[number] = loader.reader


class _Reader:
    """What a Trainer has taken from a loader in one pass (an epoch of Lightning), and may not have trained yet."""

    def __init__(self, loader: DataLoader, before: Mapping[str, Any]) -> None:
        self._loader = loader
        self._before = before  # where the loader is as long as nothing was trained
        self._last: leat.Batch | None = None  # the last batch that was trained in earlier passes
        self._taken: deque[tuple[int, leat.Batch]] = deque()  # from the last trained batch on, numbered within the pass
        self._count = 0
        self._batches: Iterator[Batch] = iter(())
        self._loop: Any = None
        self._start = 0

    def count_from_here(self, loop: Any) -> None:
        """Whether nothing of the pass was trained yet."""
        self._loop = loop
        self._start = _trained(loop)

    def begin(self, loop: Any) -> Iterator[Batch]:
        """Begins a pass. If nothing of an earlier one was trained, hands out its batches again: Lightning may begin twice."""
        if self._count > 0 and self._trained_here() == 0:
            self.count_from_here(loop)
            return self._hand_out([lease for _, lease in self._taken])
        self._last = self._trained_last()
        self._taken.clear()
        self._count = 0
        self.count_from_here(loop)
        self._batches = self._loader.begin()
        return self._hand_out([])

    def state(self, is_validating: bool) -> dict[str, Any]:
        """The loader's state after the batch that was trained last. A collective, where the loader's is one."""
        is_over = bool(self._loop.epoch_loop.batch_progress.is_last_batch)
        note = {"next": is_over or self._trained_here() == 0, "over": is_over, "validating": is_validating}
        lease = self._trained_last()
        if lease is None:
            return {**self._before, _NOTE: {**note, "next": self._before.get(_NOTE, {}).get("next", False)}}
        return {**self._loader.state_dict(after=Batch((), lease)), _NOTE: note}

    def current(self) -> leat.Batch | None:
        """The batch that is trained next, or now."""
        number = self._trained_here() + 1
        return next((lease for n, lease in self._taken if n == number), None)

    def _trained_here(self) -> int:
        return 0 if self._loop is None else min(_trained(self._loop) - self._start, self._count)

    def _trained_last(self) -> leat.Batch | None:
        trained = self._trained_here()
        return next((lease for number, lease in self._taken if number == trained), self._last)

    def _hand_out(self, again: Sequence[leat.Batch]) -> Iterator[Batch]:
        for lease in again:
            yield self._loader.batch_of(lease)
        for batch in self._batches:
            self._count += 1
            self._taken.append((self._count, batch.lease))
            while self._taken[0][0] < self._trained_here():
                self._taken.popleft()
            yield batch


class _Evaluation:
    """The batches that a validation, test or prediction took last; it fetches at most one ahead."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._taken: deque[tuple[int, leat.Batch]] = deque(maxlen=2)

    def begin(self) -> Iterator[Batch]:
        """Iterates over the first epoch."""
        if self._loader.position().global_step > 0:
            self._loader.rewind()
        for number, batch in enumerate(self._loader.begin()):
            self._taken.append((number, batch.lease))
            yield batch

    def of_number(self, number: int) -> leat.Batch | None:
        """The batch with this number in this loader's epoch."""
        return next((lease for n, lease in self._taken if n == number), None)


def _parts(batch: Any) -> Sequence[Any]:
    """What each train loader gave, in their order; for a single loader, its batch."""
    if isinstance(batch, dict) and not isinstance(batch, Batch):
        return list(batch.values())
    return batch if isinstance(batch, (list, tuple)) else [batch]


def _give_lease(batch: Any, lease: leat.Batch | None) -> None:
    if isinstance(batch, Batch) and not batch.has_lease and lease is not None:
        batch.give_lease(lease)


def iterate(loader: DataLoader, loop: Any) -> Iterator[Batch]:
    """What a loop of a Trainer gets when it iterates a loader, perhaps again within a pass over several loaders.

    A refusal is raised with the first batch: if it were raised here, Lightning would replace it by an error of its own.
    """
    try:
        return _begin(loader, loop)
    except leat.Error as problem:
        return refusal(problem)


def _begin(loader: DataLoader, loop: Any) -> Iterator[Batch]:
    trainer = loop.trainer
    if not any(x is loader for x in loop._combined_loader.flattened):
        raise InvalidArgument(
            "a leat loader inside another iterable that a Trainer was given, which hides its position and its rank: give the "
            "Trainer the leat loader itself, and change batches in its pipeline or in the module's hooks"
        )
    resume = next((x for x in trainer.callbacks if isinstance(x, Resume)), None)
    if resume is not None:
        resume.is_asked = True
    _settle(loader, trainer)
    _copy_to_device(loader, trainer)
    if not hasattr(loop, "epoch_loop"):
        return _evaluate(loader)
    _refuse_two_uses(loader, _Evaluation)
    number = _check(loader, loop, resume)
    if resume is not None:
        resume.open(loader, number)
    elif loader.reader is None:
        loader.reader = _Reader(loader, loader.state_dict())
    batches: Iterator[Batch] = loader.reader.begin(loop)
    return batches if resume is not None else _never_resumed(batches, loop)


def _evaluate(loader: DataLoader) -> Iterator[Batch]:
    """Every validation, test and prediction reads the first epoch, so that sanity checks and resuming do not change it."""
    _refuse_two_uses(loader, _Reader)
    loader.reader = _Evaluation(loader)
    return loader.reader.begin()  # type: ignore[no-any-return]


def _refuse_two_uses(loader: DataLoader, other: type) -> None:
    if isinstance(loader.reader, other):
        raise InvalidArgument(
            "one leat loader for training and for validation, test or prediction, which share its position: make two loaders"
        )


def _settle(loader: DataLoader, trainer: Any) -> None:
    """Sets the rank: the loader may have been made before the Trainer knew, or published, the rank of this process."""
    if loader.is_placed:
        return
    place = trainer.distributed_sampler_kwargs or {"rank": 0, "num_replicas": 1}
    if (loader.rank, loader.world_size) != (place["rank"], place["num_replicas"]) or loader.lacks_group:
        loader.move_to(place["rank"], place["num_replicas"])


def _copy_to_device(loader: DataLoader, trainer: Any) -> None:
    """Has leat copy batches to the Trainer's device, which finds them there, unless a hook gets them before they are moved."""
    device = trainer.strategy.root_device
    if loader.device is not None or loader.reader is not None or device.type != "cuda":
        return
    owners = [x for x in (trainer.lightning_module, getattr(trainer, "datamodule", None)) if x is not None]
    if not any(_is_overridden(hook, x) for hook in _HOOKS for x in owners):
        loader.copy_to(device)


def _check(loader: DataLoader, loop: Any, resume: Resume | None) -> int:
    """Refuses what would lose or repeat batches. Returns the index of the loader among the leat loaders that train."""
    trainer, combined = loop.trainer, loop._combined_loader
    if trainer.overfit_batches > 0:
        raise InvalidArgument(
            "overfit_batches of a leat loader, whose epochs differ: train on a pipeline with take(n) and without shuffle"
        )
    if resume is None:
        _refuse_without(trainer, loop)
    elif type(loop._data_fetcher).__name__ == "_DataLoaderIterDataFetcher":
        raise InvalidArgument(
            "training_step(dataloader_iter), which may take any number of batches, so that nobody knows which were trained: "
            "let it take `batch`"
        )
    loaders = _loaders(loop)
    if len({id(x) for x in combined.flattened}) < len(combined.flattened):
        raise InvalidArgument("one leat loader twice among the train loaders, which share its position: make two loaders")
    if len(combined.flattened) > 1 and math.inf in (combined.limits or ()):
        raise InvalidArgument(
            "several train loaders, not all of a known number of batches, so that a pass could end elsewhere after a resume: "
            "give limit_train_batches"
        )
    return next(i for i, x in enumerate(loaders) if x is loader)


def _refuse_without(trainer: Any, loop: Any) -> None:
    reason = ""
    if loop.is_resuming or trainer.ckpt_path is not None:
        reason = "resumes"
    elif trainer.reload_dataloaders_every_n_epochs > 0:
        reason = "has reload_dataloaders_every_n_epochs"
    elif not trainer.fast_dev_run and any(not getattr(x, "save_weights_only", False) for x in trainer.checkpoint_callbacks):
        reason = "writes checkpoints"
    if reason:
        raise InvalidArgument(
            f"a Trainer that {reason}, with a leat loader and without leat.lightning.Resume(): batches would be lost or "
            "repeated; add it to callbacks="
        )


def _never_resumed(batches: Iterator[Batch], loop: Any) -> Iterator[Batch]:
    for batch in batches:
        _refuse_without(loop.trainer, loop)
        yield batch


def _load(loader: DataLoader, state: Mapping[str, Any], allow: Sequence[str]) -> None:
    loader.load_state_dict(state, allow=allow)
    if state[_NOTE]["next"]:
        loader.begin()  # the next one leaves out the rest of the epoch, as in the run that was saved
    loader.reader = _Reader(loader, state)


def _loaders(loop: Any) -> list[DataLoader]:
    return [x for x in getattr(loop._combined_loader, "flattened", ()) if isinstance(x, DataLoader)]


def _trained(loop: Any) -> int:
    """Number of batches that the loop has trained in all its runs, including those of a checkpoint."""
    return int(loop.epoch_loop.batch_progress.total.processed)


def _correct(fit: dict[str, Any], note: Mapping[str, bool], validates: bool) -> None:
    """Adjusts the counters of a checkpoint so that a pass continues, or the next one begins, where the loaders do."""
    epochs, batches = fit["epoch_progress"], fit["epoch_loop.batch_progress"]
    fit["epoch_loop.val_loop.batch_progress"]["current"].update(_NONE)  # an interrupted validation is done again from its start
    if not note["over"]:
        if epochs["current"]["processed"] == epochs["current"]["ready"] and batches["current"]["processed"] > 0:
            for part in (epochs["total"], epochs["current"]):  # Lightning counts an epoch that was stopped as a whole one
                part.update(processed=part["ready"] - 1, completed=part["ready"] - 1)
        return
    if note["validating"] and validates:
        return  # only the end of the epoch is left
    if batches["total"]["completed"] < batches["total"]["processed"]:
        fit["epoch_loop.state_dict"]["_batches_that_stepped"] += 1
    for part in (epochs["total"], epochs["current"]):
        part.update(dict.fromkeys(_NONE, part["started"]))
    batches["total"].update(dict.fromkeys(_NONE, batches["total"]["processed"]))
    batches["current"].update(_NONE)
    batches["is_last_batch"] = False
