"""The package as a whole: what it imports, and that a job in Python is exact."""

import subprocess
import sys

import leat
import pytest

DATA = leat.count(1000).shuffle(seed=3).map("double@1", lambda s: s.set("double", 2 * int(s["value"][0]))).batch(10)


def digests(loader: leat.Loader) -> list[str]:
    return [str(batch.digest()) for batch in loader]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_are_the_same_for_any_number_of_workers_and_after_a_restore(workers: int) -> None:
    due = [str(batch.digest) for batch in leat.OrderPreview(DATA)]
    assert digests(leat.Loader(DATA, workers=workers)) == due
    loader = leat.Loader(DATA, workers=workers)
    for _ in range(37):
        batch = loader.next()
    assert batch is not None
    parts = [batch.snapshot()]
    again = leat.Loader(DATA, workers=2)
    assert again.restore_parts(parts).step == 37
    assert digests(again) == due[37:]


def test_only_numpy_is_imported() -> None:
    text = "import sys, leat; print(*sorted({x.partition('.')[0] for x in sys.modules}))"
    found = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True, timeout=60).stdout.split()
    assert "leat" in found
    assert not {"torch", "accelerate", "lightning", "transformers", "jax", "PIL", "tqdm"} & set(found)
