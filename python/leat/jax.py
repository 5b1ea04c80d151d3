"""leat for JAX: global arrays, of which every process reads its own part; the state resumes on any number of processes."""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

import leat
from leat._epochs import ENDLESS, Epochs, take_remote
from leat._leased_batch import LeasedBatch
from leat.errors import InvalidArgument

__all__ = ["Batch", "Loader"]

Agreement = tuple[int, int, int]


class Batch(LeasedBatch):
    """A global batch: field -> jax.Array [rows of all processes, ...]; a Ragged of this process's own rows, in NumPy.

    On a CPU the arrays share the batch's memory, which they keep; JAX does not write to it, even if they are donated. Under
    jax.jit and jax.tree a batch is a plain dict.
    """

    def __init__(
        self, fields: Mapping[str, Any] | Iterable[tuple[str, Any]], lease: leat.Batch, to_global: Callable[[Any], Any]
    ) -> None:
        super().__init__(fields, lease)
        self._to_global = to_global

    @property
    def valid(self) -> Any:
        """True for each row that carries a sample: a global array, bool [rows of all processes]."""
        return self._to_global(self.lease.valid)


def _flatten(batch: Batch) -> tuple[list[tuple[Any, Any]], tuple[str, ...]]:
    names = tuple(sorted(batch))
    return [(jax.tree_util.DictKey(name), batch[name]) for name in names], names


jax.tree_util.register_pytree_with_keys(Batch, _flatten, lambda names, values: dict(zip(names, values, strict=True)))


class Loader(Epochs[Batch]):
    """Feeds a job of JAX with global arrays: each `iter` is an epoch, or the rest of one after a load.

    `data`: a pipeline that ends with batch(rows), rows of the global batch over all processes. `sharding`: how its arrays
    lie on devices, a jax.sharding.Sharding or one for each field by its name; None: rows divided among all devices. Of a
    NamedSharding each field takes as many dimensions as it has.

    Rank and world size are jax.process_index() and jax.process_count(), unless the rows of a NamedSharding say that several
    processes hold the same rows; or `rank` and `world_size`. `epochs`: length of the job, counted from epoch 0; None: without
    end. `device`: "cuda" or "cuda:N", for a process with one device, has leat copy batches there, ahead of their use; "cpu":
    JAX does, when they are handed over. Other options are those of leat.Loader.

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
        device: str = "cpu",
        **options: Any,
    ) -> None:
        if (rank is None) != (world_size is None):
            raise InvalidArgument("one of rank and world_size was given: give both, or none")
        if sharding is None:
            sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
        self.sharding = sharding
        shardings = list(sharding.values()) if isinstance(sharding, Mapping) else [sharding]
        if not shardings:
            raise InvalidArgument("no sharding: needed is one for each field")
        self._rows_sharding = _of_rank(shardings[0], 1)
        self.rank, self.world_size = (
            (rank, world_size) if rank is not None and world_size is not None else _place(self._rows_sharding)
        )
        data = take_remote(data, options)
        facts = leat.epoch_of(data)
        rows = -(-int(facts.batch_rows) // self.world_size) * self.world_size
        for of_field in shardings:
            _check_rows(rows, _of_rank(of_field, 1))
        if self.world_size > 1 and facts.needs_agreement and options.get("agree") is None:
            options["agree"] = self._agree
        if device != "cpu":
            options["device"] = _only_device(device, shardings)
        own = {"rank": self.rank, "world_size": self.world_size}
        self._open(data, {**own, "epochs": ENDLESS if epochs is None else epochs, **options})

    def _batch(self, lease: leat.Batch) -> Batch:
        return Batch(((name, self._array(lease, name)) for name in lease), lease, self._valid)

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
        sharding = _of_rank(sharding, local.ndim)
        if not lease.is_on_device(name):
            return self._global(local, sharding)
        found = jax.dlpack.from_dlpack(_ForAnyStream(lease.on_device(name)))
        return jax.make_array_from_single_device_arrays(self._shape(local), sharding, [found])

    def _valid(self, local: Any) -> Any:
        return self._global(local, self._rows_sharding)

    def _global(self, local: Any, sharding: Sharding) -> Any:
        return jax.make_array_from_process_local_data(sharding, local, self._shape(local))

    def _shape(self, local: Any) -> tuple[int, ...]:
        return (len(local) * self.world_size, *local.shape[1:])

    # State

    def state_dict(self, after: Batch | None = None) -> dict[str, Any]:
        """Where to resume: after the batch that was handed out last, or after another one. Plain types, equal everywhere.

        All processes call it, if there are several: their parts are gathered. Taken inside the loop after an epoch's last
        batch, it resumes with an empty rest of that epoch, then the next one.
        """
        return super().state_dict(after)

    def _parts_of_all(self, own: bytes) -> list[bytes]:
        by_rank = {struct.unpack_from("<Q", x)[0]: x[8:] for x in _gather(struct.pack("<Q", self.rank) + own)}
        return [by_rank[x] for x in sorted(by_rank)]

    def snapshot(self) -> bytes:
        """The part of this process: "resume after the batch that was handed out last"."""
        return self._own_part()

    def restore_parts(self, parts: Sequence[bytes], *, allow: Sequence[str] = ()) -> leat.Position:
        """Restores from snapshot() of all processes, or of one where the pipeline has no state."""
        self._renew()
        found = self._loader.restore_parts(list(parts), allow=list(allow))
        self._is_loaded = self._is_changed = True
        return found

    def _agree(self, own: Agreement) -> list[Agreement]:
        found = _gather(struct.pack("<Q3q", self.rank, *own))
        by_rank = {rank: (a, b, c) for rank, a, b, c in (struct.unpack("<Q3q", x) for x in found)}
        return [by_rank[rank] for rank in range(self.world_size)]

    def __repr__(self) -> str:
        return f"<leat.jax.Loader, rank {self.rank} of {self.world_size}: {self.data}>"


class _ForAnyStream:
    """An array on a device whose memory is not written again before all work of the device is done.

    JAX names the stream that waits, but not those that compute.
    """

    def __init__(self, of: Any) -> None:
        self._of = of

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._of.__dlpack_device__()  # type: ignore[no-any-return]

    def __dlpack__(self, **_: Any) -> Any:
        return self._of.__dlpack__(stream=-1)


def _only_device(device: str, shardings: Sequence[Sharding]) -> str:
    """The device of leat that is the only one of this process."""
    found = {x for sharding in shardings for x in sharding.addressable_devices}
    if len(found) != 1:
        raise InvalidArgument(
            f'device="{device}" and a sharding over {len(found)} devices of this process, of which leat copies to one: leave '
            "device= out, or have a process for each"
        )
    name = f"cuda:{next(iter(found)).local_hardware_id}"
    if device not in ("cuda", name):
        raise InvalidArgument(f'device="{device}" and a sharding over {name}: needed is "cuda"')
    return name


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
    """Refuses 64-bit integers that do not fit: without jax_enable_x64, JAX silently keeps the low 32 bits."""
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
