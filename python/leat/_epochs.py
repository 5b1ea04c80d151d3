"""The base of a framework's loader: each `iter` is an epoch, and its state records where to resume."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Never, TypeVar

import leat
from leat import _state_dict
from leat._leased_batch import LeasedBatch
from leat.errors import InvalidArgument

ENDLESS = 2**64 - 1

BatchType = TypeVar("BatchType", bound=LeasedBatch)


def take_remote(data: leat.Pipeline, options: dict[str, Any]) -> leat.Pipeline:
    """The pipeline with the options' `remote`, which they lose: whatever opens the data asks servers by it."""
    remote = options.pop("remote", None)
    return data if remote is None else leat.with_remote(data, remote)


class Epochs(Generic[BatchType]):
    """Iterates over a leat.Loader epoch by epoch. What is specific to a framework is in the three functions below."""

    def _batch(self, lease: leat.Batch) -> BatchType:
        """The framework's batch over one of leat."""
        raise NotImplementedError

    def _parts_of_all(self, own: bytes) -> list[bytes]:
        """The parts of all ranks, where a state needs them, by rank."""
        raise NotImplementedError

    def _check_use(self) -> None:
        """Refuses a use that would lose data."""

    def _open(self, data: leat.Pipeline, options: Mapping[str, Any]) -> None:
        """Makes the loader; `options` are those of leat.Loader but for `cluster` and `remote`. Called once, before all else."""
        if options.get("cluster") is not None:  # after ranks have gone back, `iter` would leave out the rest of the epoch
            name = f"{type(self).__module__.removesuffix('._loader')}.{type(self).__name__}"
            raise InvalidArgument(
                f"a cluster for a {name}, whose epochs and state do not go back with the ranks: give it to a leat.Loader, "
                "whose batches become tensors by DLPack"
            )
        self.data = data
        self._facts = leat.epoch_of(data)
        self._options = dict(options)
        self._loader = leat.Loader(data, **self._options)
        self._pass = 0
        self._has_begun = False
        self._is_loaded = False
        self._is_changed = False
        self._finished = False
        self._held: leat.Batch | None = None
        self._last: leat.Batch | None = None

    # Iteration

    def __len__(self) -> int:
        """Batches of a whole epoch. Raises TypeError where they are not known beforehand."""
        if self._facts.batches is None:
            raise TypeError(
                "the number of batches of this pipeline is not known beforehand: trainers want a number of steps instead "
                "(max_steps, steps_per_epoch)"
            )
        return int(self._facts.batches)

    def __iter__(self) -> Iterator[BatchType]:
        """An epoch, or the rest of one after a load. An earlier iterator of this loader ends with it."""
        self._check_use()
        self._pass += 1
        if self._finished:
            self._finished = False
            if self._is_loaded:  # the state was taken in a loop that has no batches left
                self._is_loaded = False
                return iter(())
        elif not (self._is_loaded or self._held or self._facts.is_endless) and self._loader.position().step > 0:
            self._loader.abandon_epoch()
            self._last = None
        self._is_loaded = False
        return self._batches(self._pass)

    def _batches(self, number: int) -> Iterator[BatchType]:
        epoch = self._epoch_of_next()
        while (lease := self._next(number, epoch)) is not None:
            is_last = bool(lease.end_of_epoch)
            self._finished = is_last
            yield self._batch(lease)
            del lease
            if is_last:
                break
        if number == self._pass:
            self._finished = False
            self._last = self._last if self._held is not None else None

    def _next(self, number: int, epoch: int) -> leat.Batch | None:
        self._check_use()
        if number != self._pass:
            raise InvalidArgument("an iterator of a leat loader went on after another one was begun: they share one position")
        lease, self._held = self._held, None
        if lease is None:
            self._has_begun = True
            lease = self._loader.next()
        if lease is not None and lease.epoch != epoch:  # the rest of the epoch is left out on purpose: see leave_out_steps
            self._held = lease
            return None
        if lease is not None:
            self._last = lease
        return lease

    def _epoch_of_next(self) -> int:
        return int(self._held.epoch if self._held is not None else self._loader.position().epoch)

    # State

    def state_dict(self, after: BatchType | None = None) -> dict[str, Any]:
        """Where to resume: after the batch that was handed out last, or after another one. Plain types, the same on all ranks.

        Taken inside the loop after an epoch's last batch, it resumes with an empty rest of that epoch, then the next one.
        """
        self._check_use()
        if after is not None:
            own, epoch, finished = self._loader.snapshot(after.lease), after.epoch, after.end_of_epoch
        else:
            own, epoch, finished = self._own_part(), self.epoch, self._finished
        return _state_dict.to_dict(_state_dict.State(self._parts_of_all(own), finished), epoch)

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Sequence[str] = ()) -> None:
        """The next `iter` continues where the state was taken, with any number of ranks and workers.

        `allow`: differences of the pipeline that are accepted, by the names in the error. Raises leat.Error.
        """
        self._check_use()
        state = _state_dict.from_dict(state_dict)
        self._renew()
        self._loader.restore_parts(list(state.parts), allow=list(allow))
        self._is_loaded, self._is_changed, self._finished = True, True, state.finished

    def save(self, directory: str | os.PathLike[str], batch: BatchType | None = None) -> None:
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
        self._is_changed |= self._is_loaded
        return found

    def rewind(self) -> None:
        """Starts over: the next `iter` is epoch 0, with the same batches as before. For a validation that runs repeatedly."""
        self._check_use()
        self._pass += 1
        self._last = self._held = None
        self._finished = self._is_loaded = False
        self._loader.rewind()

    def leave_out_steps(self, first: int, last: int) -> None:
        """Leaves out steps of the job, by `global_step`, alike on all ranks. Before iteration, or after a load."""
        self._check_use()
        self._loader.leave_out_steps(first, last)
        self._is_changed = True

    def set_weights(self, weights: Sequence[float], *, from_step: int | None = None) -> None:
        """Changes the weights of the pipeline's mix from a step on, by `global_step`, alike on all ranks; None: the next."""
        self._check_use()
        self._loader.set_weights(weights, from_step=from_step)
        self._is_changed = True

    @property
    def epoch(self) -> int:
        """The epoch of the next `iter`; inside a loop, that of the loop."""
        at = self._epoch_of_next()
        return at - 1 if self._finished else at

    def position(self) -> leat.Position:
        """Where the loader stands: the next batch."""
        return self._loader.position()

    def stats(self) -> dict[str, Any]:
        """What the loader did so far; times in seconds."""
        return dict(self._loader.stats())

    def close(self) -> None:
        """Ends the loader and waits for its threads. Arrays that are held stay valid."""
        self._last = self._held = None
        self._loader.close()

    @property
    def _is_as_opened(self) -> bool:
        """Whether another loader with the same options would stand where this one does."""
        return not (self._has_begun or self._is_changed)

    def _own_part(self) -> bytes:
        """The part of this rank of "resume after the batch that was handed out last"."""
        if self._held is not None and self._last is not None:
            return bytes(self._last.snapshot())
        return bytes(self._loader.snapshot())

    def _renew(self) -> None:
        """A loader that has not begun, so that its position can be set."""
        self._pass += 1
        self._last = self._held = None
        self._finished = self._is_loaded = False
        if self._has_begun:
            self._loader.close()
            self._loader = leat.Loader(self.data, **self._options)
            self._has_begun = False

    def __reduce__(self) -> Never:
        raise InvalidArgument(
            "a leat loader was to be pickled: pickle its pipeline, and make a loader of it in the other process"
        )
