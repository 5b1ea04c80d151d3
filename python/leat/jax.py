"""leat for JAX: global arrays, of which every process reads its own part; the state resumes on any number of processes."""

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Never

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

import leat
from leat.errors import InvalidArgument

__all__ = ["Batch", "Loader"]

_VERSION = 1
_ENDLESS = 2**64 - 1
Agreement = tuple[int, int, int]


class Batch(dict[str, Any]):
    """A global batch: field -> jax.Array [rows of all processes, ...]; a Ragged of this process's own rows, in NumPy.

    On a CPU the arrays share the batch's memory, which they keep; JAX does not write to it, even if they are donated. Under
    jax.jit and jax.tree a batch is a plain dict.
    """

    def __init__(
        self, fields: Mapping[str, Any] | Iterable[tuple[str, Any]], lease: leat.Batch, to_global: Callable[[Any], Any]
    ) -> None:
        super().__init__(fields)
        self.lease = lease
        self._to_global = to_global

    @property
    def valid(self) -> Any:
        """True for each row that carries a sample: a global array, bool [rows of all processes]."""
        return self._to_global(self.lease.valid)

    @property
    def epoch(self) -> int:
        return int(self.lease.epoch)

    @property
    def step(self) -> int:
        """Number of the batch in its epoch."""
        return int(self.lease.step)

    @property
    def global_step(self) -> int:
        """Number of the batch since the job began; continues across resumes."""
        return int(self.lease.global_step)

    @property
    def end_of_epoch(self) -> bool:
        """No further batch of this epoch follows."""
        return bool(self.lease.end_of_epoch)

    def snapshot(self) -> bytes:
        """The words "resume after this batch" as bytes: the part of this process."""
        return bytes(self.lease.snapshot())

    def digest(self) -> leat.Hash128:
        """Sum over the valid rows of this process. All ranks' digests add up to the global batch's."""
        return self.lease.digest()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _flatten(batch: Batch) -> tuple[list[tuple[Any, Any]], tuple[str, ...]]:
    names = tuple(sorted(batch))
    return [(jax.tree_util.DictKey(name), batch[name]) for name in names], names


jax.tree_util.register_pytree_with_keys(Batch, _flatten, lambda names, values: dict(zip(names, values, strict=True)))


class Loader:
    """Feeds a job of JAX with global arrays: each `iter` is an epoch, or the rest of one after a load.

    `data`: a pipeline that ends with batch(rows), rows of the global batch over all processes. `sharding`: how its arrays
    lie on devices, a jax.sharding.Sharding or one for each field by its name; None: rows divided among all devices. Of a
    NamedSharding each field takes as many dimensions as it has.

    Rank and world size are jax.process_index() and jax.process_count(), unless the rows of a NamedSharding say that several
    processes hold the same rows; or `rank` and `world_size`. `epochs`: length of the job, counted from epoch 0; None: without
    end. Other options are those of leat.Loader.

    An `iter` in the middle of an epoch leaves out its rest, except in an endless epoch. Raises leat.Error, InvalidArgument for
    rows that devices cannot divide, and for integers of 64 bits that JAX would cut to 32.
    """

    def __init__(
        self,
        data: leat.Pipeline,
        *,
        sharding: Sharding | Mapping[str, Sharding] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        epochs: int | None = None,
        **options: Any,
    ) -> None:
        if (rank is None) != (world_size is None):
            raise InvalidArgument("one of rank and world_size was given: give both, or none")
        if sharding is None:
            sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
        self.data = data
        self.sharding = sharding
        shardings = list(sharding.values()) if isinstance(sharding, Mapping) else [sharding]
        if not shardings:
            raise InvalidArgument("no sharding: needed is one for each field")
        self._rows_sharding = _of_rank(shardings[0], 1)
        self.rank, self.world_size = (
            (rank, world_size) if rank is not None and world_size is not None else _place(self._rows_sharding)
        )
        self._facts = leat.epoch_of(data)
        rows = -(-int(self._facts.batch_rows) // self.world_size) * self.world_size
        for of_field in shardings:
            _check_rows(rows, _of_rank(of_field, 1))
        if self.world_size > 1 and self._facts.needs_agreement and options.get("agree") is None:
            options["agree"] = self._agree
        self._options = {
            "rank": self.rank,
            "world_size": self.world_size,
            "epochs": _ENDLESS if epochs is None else epochs,
            **options,
        }
        self._loader = leat.Loader(data, **self._options)
        self._pass = 0
        self._has_begun = False
        self._is_loaded = False
        self._finished = False
        self._held: leat.Batch | None = None
        self._last: leat.Batch | None = None

    # Iteration

    def __len__(self) -> int:
        """Batches of a whole epoch. Raises TypeError where they are not known beforehand."""
        if self._facts.batches is None:
            raise TypeError("the number of batches of this pipeline is not known beforehand")
        return int(self._facts.batches)

    def __iter__(self) -> Iterator[Batch]:
        """An epoch, or the rest of one after a load. An earlier iterator of this loader ends with it."""
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
        epoch = self._epoch_of_next()
        while (lease := self._next(number, epoch)) is not None:
            is_last = bool(lease.end_of_epoch)
            self._finished = is_last
            yield Batch(((name, self._array(lease, name)) for name in lease), lease, self._valid)
            del lease
            if is_last:
                break
        if number == self._pass:
            self._finished = False
            self._last = self._last if self._held is not None else None

    def _next(self, number: int, epoch: int) -> leat.Batch | None:
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

    def _array(self, lease: leat.Batch, name: str) -> Any:
        local = lease[name]
        if isinstance(local, leat.Ragged):
            return local
        _check_integers(name, local)
        if isinstance(self.sharding, Mapping):
            if name not in self.sharding:
                raise InvalidArgument(f'the field "{name}" has no sharding; there are some for {", ".join(self.sharding)}')
            sharding = self.sharding[name]
        else:
            sharding = self.sharding
        return self._global(local, _of_rank(sharding, local.ndim))

    def _valid(self, local: Any) -> Any:
        return self._global(local, self._rows_sharding)

    def _global(self, local: Any, sharding: Sharding) -> Any:
        return jax.make_array_from_process_local_data(sharding, local, (len(local) * self.world_size, *local.shape[1:]))

    # State

    def state_dict(self, after: Batch | None = None) -> dict[str, Any]:
        """Where to resume: after the batch that was handed out last, or after another one. Plain types, equal everywhere.

        All processes call it, if there are several: their parts are gathered. Taken inside the loop after an epoch's last
        batch, it resumes with an empty rest of that epoch, then the next one.
        """
        if after is not None:
            own, epoch, finished = after.snapshot(), after.epoch, after.end_of_epoch
        else:
            own = self.snapshot()
            epoch, finished = self.epoch, self._finished
        parts = _gather_parts(self.rank, own)
        return {
            "leat": _VERSION,
            "epoch": epoch,
            "global_step": int(leat.inspect_snapshot(parts[:1]).global_step),
            "finished": finished,
            "parts": b"".join(struct.pack("<Q", len(x)) + x for x in parts),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Sequence[str] = ()) -> None:
        """The next `iter` goes on where the state was taken, with any number of processes, devices and workers.

        `allow`: differences of the pipeline that are accepted, by the names in the error. Raises leat.Error.
        """
        if not isinstance(state_dict, Mapping) or state_dict.get("leat") != _VERSION:
            raise InvalidArgument("load_state_dict: needed is what state_dict() of a leat loader gave")
        parts = _unpack(state_dict["parts"])
        self._renew()
        self._loader.restore_parts(parts, allow=list(allow))
        self._is_loaded, self._finished = True, bool(state_dict["finished"])

    def snapshot(self) -> bytes:
        """The part of this process: "resume after the batch that was handed out last"."""
        if self._held is not None and self._last is not None:
            return bytes(self._last.snapshot())
        return bytes(self._loader.snapshot())

    def restore_parts(self, parts: Sequence[bytes], *, allow: Sequence[str] = ()) -> leat.Position:
        """Restores from snapshot() of all processes, or of one where the pipeline has no state."""
        self._renew()
        found = self._loader.restore_parts(list(parts), allow=list(allow))
        self._is_loaded = True
        return found

    def save(self, directory: str | os.PathLike[str], batch: Batch | None = None) -> None:
        """Writes the part of this process of "resume after this batch" in the background; without one, after the last."""
        self._loader.save(os.fspath(directory), None if batch is None else batch.lease)

    def wait_saved(self) -> None:
        """Waits for saves in progress and raises their error."""
        self._loader.wait_saved()

    def restore(
        self, directory: str | os.PathLike[str], *, allow: Sequence[str] = (), allow_older: bool = False
    ) -> leat.Position | None:
        """Resumes after the newest complete set of save(), of any number of processes; None if there is none."""
        self._renew()
        found = self._loader.restore(os.fspath(directory), allow=list(allow), allow_older=allow_older)
        self._is_loaded = found is not None
        return found

    def leave_out_steps(self, first: int, last: int) -> None:
        """Leaves out steps of the job, by `global_step`, alike in all processes. Before iteration, or after a load."""
        self._loader.leave_out_steps(first, last)

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
        """Ends the loader and waits for its threads. Arrays stay valid."""
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

    def _agree(self, own: Agreement) -> list[Agreement]:
        found = _gather(struct.pack("<Q3q", self.rank, *own))
        by_rank = {rank: (a, b, c) for rank, a, b, c in (struct.unpack("<Q3q", x) for x in found)}
        return [by_rank[rank] for rank in range(self.world_size)]

    def __reduce__(self) -> Never:
        raise InvalidArgument(
            "a leat loader was to be pickled: pickle its pipeline, and make a loader of it in the other process"
        )

    def __repr__(self) -> str:
        return f"<leat.jax.Loader, rank {self.rank} of {self.world_size}: {self.data}>"


def _of_rank(sharding: Sharding, rank: int) -> Sharding:
    if isinstance(sharding, NamedSharding) and len(sharding.spec) > rank:
        return NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[:rank]), memory_kind=sharding.memory_kind)
    return sharding


def _place(rows: Sharding) -> tuple[int, int]:
    """Rank and world size of this process, by the rows that processes hold."""
    if not isinstance(rows, NamedSharding) or jax.process_count() == 1:
        return jax.process_index(), jax.process_count()
    held: dict[int, set[int]] = {}
    for device, (index,) in rows.devices_indices_map((rows.mesh.size,)).items():
        held.setdefault(device.process_index, set()).update(range(*index.indices(rows.mesh.size)))
    parts = sorted({tuple(sorted(x)) for x in held.values()})
    if sum(map(len, parts)) != rows.mesh.size or len({len(x) for x in parts}) != 1:
        raise InvalidArgument("a sharding by which processes share some rows and not others: give rank= and world_size=")
    if jax.process_index() not in held:
        raise InvalidArgument("a sharding without devices of this process")
    return parts.index(tuple(sorted(held[jax.process_index()]))), len(parts)


def _check_rows(rows: int, sharding: Sharding) -> None:
    try:
        sharding.shard_shape((rows,))
    except ValueError as problem:
        raise InvalidArgument(
            f"batches of {rows} rows over all processes, which the sharding does not divide: {problem}"
        ) from None


def _check_integers(name: str, values: Any) -> None:
    """Without jax_enable_x64 JAX keeps the low 32 bits of an integer, and says nothing."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or jax.config.jax_enable_x64 or values.size == 0:
        return
    kept = np.iinfo(np.int32 if values.dtype.kind == "i" else np.uint32)
    if values.min() < kept.min or values.max() > kept.max:
        raise InvalidArgument(
            f'the field "{name}" has {values.dtype} from {values.min()} to {values.max()}, of which JAX would keep 32 bits: '
            'call jax.config.update("jax_enable_x64", True)'
        )


def _gather(own: bytes) -> list[bytes]:
    """The bytes of all processes; a collective."""
    if jax.process_count() == 1:
        return [own]
    from jax.experimental import multihost_utils

    lengths = multihost_utils.process_allgather(np.array([len(own)], np.int32)).reshape(-1)
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: len(own)] = np.frombuffer(own, np.uint8)
    found = multihost_utils.process_allgather(padded).reshape(len(lengths), -1)
    return [bytes(np.asarray(x[:n]).tobytes()) for x, n in zip(found, lengths, strict=True)]


def _gather_parts(rank: int, own: bytes) -> list[bytes]:
    """The parts of all ranks, by rank."""
    by_rank = {struct.unpack_from("<Q", x)[0]: x[8:] for x in _gather(struct.pack("<Q", rank) + own)}
    return [by_rank[x] for x in sorted(by_rank)]


def _unpack(packed: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(packed):
        if at + 8 > len(packed) or (end := at + 8 + struct.unpack_from("<Q", packed, at)[0]) > len(packed):
            raise InvalidArgument("load_state_dict: torn bytes in `parts`: needed is what state_dict() gave")
        parts.append(packed[at + 8 : end])
        at = end
    return parts
