"""Compares arrays of CuPy and JAX over batches on a GPU with the host's.

arrays.py cupy|jax
"""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import leat
import numpy as np
from rows import judged, skipped

RECORDS = 240
BATCH = 12


def kinds(sample: leat.Sample) -> None:
    i = int(sample["value"][0])
    random = np.random.default_rng(i)
    sample["image"] = random.standard_normal((3, 37, 41), dtype=np.float32)
    sample["pixels"] = random.integers(0, 256, (7, 5, 3), dtype=np.uint8)
    sample.set_ragged("tokens", random.integers(0, 50_000, i % 50, dtype=np.int32))


DATA = leat.count(RECORDS).shuffle(seed=3).map("kinds@1", kinds).batch(BATCH)


def on_device(import_array: Callable[[Any], Any]) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Of each field: its name, the library's array and the host's values."""
    for batch in leat.Loader(DATA, workers=2, device="cuda"):
        for name in batch:
            there, here = batch.on_device(name), batch[name]
            is_ragged = isinstance(here, leat.Ragged)
            pairs = [(there.values, here.values), (there.offsets, here.offsets)] if is_ragged else [(there, here)]
            for x, due in pairs:
                yield name, import_array(x), due


def cupy_arrays() -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    import cupy

    with cupy.cuda.Stream(non_blocking=True):
        for how, take in (("from_dlpack", cupy.from_dlpack), ("__cuda_array_interface__", cupy.asarray)):
            for name, x, due in on_device(take):
                yield how, name, cupy.asnumpy(x), due


def jax_arrays() -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import leat.jax

    double = jax.jit(lambda x: x * 2)
    for batch in leat.jax.Loader(DATA, workers=2, epochs=1, device="cuda"):
        for name in ("image", "pixels"):
            yield "leat.jax", name, np.asarray(double(batch[name])), batch.lease[name] * 2


def main(library: str) -> int:
    if importlib.util.find_spec(library) is None:
        skipped(library, "not installed")
        return 0
    fields: dict[str, int] = {}
    wrong: dict[str, list[str]] = {}
    for how, name, found, due in (cupy_arrays if library == "cupy" else jax_arrays)():
        fields[how] = fields.get(how, 0) + 1
        if not np.array_equal(found, due):
            wrong.setdefault(how, []).append(name)
    for how, n in fields.items():
        bad = wrong.get(how, [])
        count = f"{len(bad)} wrong of {n} arrays"
        judged(f"{library}, contents, {how}", "0 wrong", ", first ".join([count, *bad[:1]]), not bad)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
