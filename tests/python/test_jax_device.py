"""leat.jax on a device that is made up: JAX takes its arrays as copies on the host, in place of jax.dlpack.from_dlpack."""

import os
from types import SimpleNamespace
from typing import Any

import made_up_driver
import numpy as np
import pytest

os.environ["JAX_PLATFORMS"] = "cpu"
jax = pytest.importorskip("jax")

import leat  # noqa: E402
import leat.jax  # noqa: E402
from dlpack import take  # noqa: E402


def kinds(sample: leat.Sample) -> None:
    i = int(sample["value"][0])
    sample["image"] = np.full((2, 3), i, np.float32)
    sample["number"] = i
    sample.set_ragged("tokens", np.arange(i % 3, dtype=np.int32))


DATA = leat.count(40).shuffle(seed=3).map("kinds@1", kinds).batch(8)


@made_up_driver.needed
def test_arrays_are_imported_from_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up_driver.load()
    imported: list[str] = []

    def read(x: Any) -> Any:
        assert x.__dlpack_device__() == (2, 0)
        taken = take(x.__dlpack__(stream=0x70))  # JAX names a stream that waits, which does not suffice
        imported.append(str(taken.dtype))
        copied = jax.numpy.asarray(taken.read().copy())
        taken.drop()
        return copied

    monkeypatch.setattr(jax.dlpack, "from_dlpack", read)
    found = []
    for batch in leat.jax.Loader(DATA, workers=1, epochs=1, device="cuda"):
        found.append(str(batch.digest()))
        for name in ("image", "number", "value"):
            assert isinstance(batch[name], jax.Array)
            assert (np.asarray(batch[name]) == batch.lease[name]).all()
        assert isinstance(batch["tokens"], leat.Ragged)
        assert batch["tokens"].values.tolist() == batch.lease["tokens"].values.tolist()
    assert found == [str(x.digest) for x in leat.OrderPreview(DATA)]
    assert len(imported) == 3 * len(found)


def test_a_device_needs_a_process_that_has_one() -> None:
    devices = [type("Device", (), {"local_hardware_id": i})() for i in range(2)]
    one, both = (SimpleNamespace(addressable_devices=devices[i:]) for i in (1, 0))
    assert leat.jax._only_device("cuda", [one]) == "cuda:1"
    assert leat.jax._only_device("cuda:1", [one, one]) == "cuda:1"
    with pytest.raises(leat.InvalidArgument, match='needed is "cuda"'):
        leat.jax._only_device("cuda:0", [one])
    with pytest.raises(leat.InvalidArgument, match="2 devices of this process"):
        leat.jax._only_device("cuda", [both])
