"""leat.jax: global arrays hold exactly what is due, and a job that is killed continues on another number of processes."""

import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import leat
import numpy as np
import pytest
from support import digests, due, refused

jax = pytest.importorskip("jax", reason="needs jax: tests/python/frameworks")
import leat.jax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

INDEXED = leat.count(103).shuffle(seed=5).batch(12)


def with_state() -> leat.Pipeline:
    """Only text, so that other processes can make it."""
    return leat.count(300).shuffle(seed=2).filter(leat.key_hash(70)).shuffle_buffer(24, seed=4).batch(12, lanes=4, end="mask")


def rows(*names: str) -> Any:
    return NamedSharding(Mesh(np.array(jax.devices()).reshape([2] * len(names)), names), PartitionSpec(names[0]))


def shapes(batch: Any, *names: str) -> list[set[tuple[int, ...]]]:
    """Of the parts that devices have of each field."""
    return [{x.data.shape for x in batch[name].addressable_shards} for name in names]


def numbered(dtype: Any, shape: tuple[int, ...] = (), count: int = 24) -> leat.Pipeline:
    return leat.indexed("numbers@1", [{"x": np.full(shape, i, dtype)} for i in range(count)]).batch(8)


def resumed(state: Any, data: leat.Pipeline, **options: Any) -> leat.jax.Loader:
    loader = leat.jax.Loader(data, **options)
    loader.load_state_dict(state)
    return loader


def test_two_devices() -> None:
    assert len(jax.devices()) == 2


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("data", [INDEXED, with_state()], ids=["indexed", "with state"])
def test_each_iter_is_an_epoch_and_its_arrays_hold_what_is_due(data: leat.Pipeline, workers: int) -> None:
    loader = leat.jax.Loader(data, workers=workers, epochs=3)
    plain = leat.Loader(data, epochs=3)
    for epoch in range(3):
        seen = []
        for batch in loader:
            wanted = next(plain)
            array = batch["value"]
            assert array.shape == (12, 8)
            assert shapes(batch, "value") == [{(6, 8)}]
            assert np.array_equal(np.asarray(array), wanted["value"])
            assert np.array_equal(np.asarray(batch.valid), wanted.valid)
            assert (batch.epoch, batch.step) == (epoch, len(seen))
            seen.append(str(batch.digest()))
        assert seen == due(data, epoch)
    assert list(loader) == []


@pytest.mark.parametrize("data", [INDEXED, with_state()], ids=["indexed", "with state"])
def test_a_state_at_every_batch_goes_on_with_the_next_one(data: leat.Pipeline) -> None:
    wanted = [due(data, epoch) for epoch in range(2)]
    loader = leat.jax.Loader(data, epochs=2)
    for epoch in range(2):
        for step, batch in enumerate(loader):
            states = [loader.state_dict(), loader.state_dict(after=batch)]
            for state in pickle.loads(pickle.dumps(states)):
                again = resumed(state, data, epochs=2, workers=step % 3)
                assert again.epoch == epoch
                assert [digests(again) for _ in range(2 - epoch)] == [wanted[epoch][step + 1 :], *wanted[epoch + 1 :]]
    loader = leat.jax.Loader(data, epochs=2)
    for step, batch in enumerate(list(loader)):
        assert digests(resumed(loader.state_dict(after=batch), data, epochs=1)) == wanted[0][step + 1 :]
    behind = leat.jax.Loader(data, epochs=3)
    for _ in behind:
        pass
    assert digests(resumed(behind.state_dict(), data, epochs=3)) == wanted[1]  # after the loop: a whole epoch follows


def test_another_iter_leaves_out_the_rest_of_the_epoch() -> None:
    loader = leat.jax.Loader(INDEXED)
    for batch in loader:
        if batch.step == 2:
            break
    old = iter(loader)
    assert str(next(old).digest()) == due(INDEXED, 1)[0]
    assert digests(loader) == due(INDEXED, 2)
    refused("another one was begun", next, old)


def test_save_and_restore(tmp_path: Path) -> None:
    loader = leat.jax.Loader(with_state(), epochs=1)
    assert loader.restore(tmp_path) is None
    for batch in loader:
        if batch.step == 4:
            loader.save(tmp_path, batch)
            loader.wait_saved()
    again = leat.jax.Loader(with_state(), epochs=1)
    found = again.restore(tmp_path)
    assert found is not None
    assert found.step == 5
    assert digests(again) == due(with_state())[5:]


def test_arrays_live_on_and_neither_donating_nor_other_batches_change_them() -> None:
    data = numbered(np.float32, (32,), 160)
    loader = leat.jax.Loader(data, workers=1)
    held = [batch["x"] for batch in loader]
    wanted = [list(map(float, range(i * 8, i * 8 + 8))) for i in range(20)]
    assert [np.asarray(x)[:, 0].tolist() for x in held] == wanted
    loader.close()
    add = jax.jit(lambda x: x + 1, donate_argnums=0)
    fresh = leat.jax.Loader(data)
    for batch in fresh:
        before = np.array(batch.lease["x"])
        assert np.array_equal(np.asarray(add(batch["x"])), before + 1)
        assert np.array_equal(batch.lease["x"], before)
    assert [np.asarray(x)[:, 0].tolist() for x in held] == wanted


def test_a_batch_is_a_dict_under_jit_and_tree() -> None:
    batch = next(iter(leat.jax.Loader(numbered(np.float32))))
    assert int(jax.jit(lambda x: x["x"].sum())(batch)) == 28
    doubled = jax.tree.map(lambda x: 2 * x, batch)
    assert type(doubled) is dict
    assert np.asarray(doubled["x"]).tolist() == list(range(0, 16, 2))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "bfloat16"])
def test_types(dtype: str) -> None:
    def fill(sample: leat.Sample) -> None:
        sample.make("x", (3,), dtype)[:] = sample["value"][0]

    batch = next(iter(leat.jax.Loader(leat.count(24).map("fill@1", fill).batch(8))))
    assert str(batch["x"].dtype) == dtype
    assert np.asarray(batch["x"]).astype(np.float32)[:, 1].tolist() == list(range(8))


def test_integers_of_64_bits_are_refused_where_jax_would_cut_them() -> None:
    assert next(iter(leat.jax.Loader(numbered(np.int64))))["x"].dtype == np.int32
    for value, kind in ((2**31, np.int64), (-(2**31) - 1, np.int64), (2**32, np.uint64)):
        data = leat.indexed("large@1", [{"x": np.array(value, kind)}] * 8).batch(8)
        refused("jax_enable_x64", next, iter(leat.jax.Loader(data)))
        jax.config.update("jax_enable_x64", True)
        try:
            assert next(iter(leat.jax.Loader(data)))["x"].tolist() == [value] * 8
        finally:
            jax.config.update("jax_enable_x64", False)


def test_shardings() -> None:
    values = [{"image": np.full((4, 2), i, np.float32), "label": np.int32(i)} for i in range(8)]
    data = leat.indexed("images@1", values).batch(4)
    mesh = Mesh(np.array(jax.devices()).reshape(1, 2), ("data", "model"))
    narrow = Mesh(np.array(jax.devices()).reshape(2, 1), ("data", "model"))
    for sharding, wanted in (
        (NamedSharding(mesh, PartitionSpec("data", "model")), [{(4, 2, 2)}, {(4,)}]),
        (NamedSharding(narrow, PartitionSpec("data", "model")), [{(2, 4, 2)}, {(2,)}]),
        ({"image": rows("x"), "label": NamedSharding(mesh, PartitionSpec())}, [{(2, 4, 2)}, {(4,)}]),
    ):
        assert shapes(next(iter(leat.jax.Loader(data, sharding=sharding))), "image", "label") == wanted
    some = iter(leat.jax.Loader(data, sharding={"image": rows("x")}))
    refused('"label" has no sharding; there are some for image', next, some)
    refused("batches of 3 rows", leat.jax.Loader, leat.count(9).batch(3))
    refused("one of rank and world_size", leat.jax.Loader, data, rank=0)


def test_ragged_fields_are_of_this_process() -> None:
    data = leat.count(8).map("some@1", lambda s: s.set_ragged("tokens", np.arange(int(s["value"][0]), dtype=np.int32))).batch(4)
    batch = next(iter(leat.jax.Loader(data)))
    assert [x.tolist() for x in batch["tokens"]] == [list(range(i)) for i in range(4)]
    assert isinstance(batch["value"], jax.Array)


def test_what_it_refuses() -> None:
    loader = leat.jax.Loader(INDEXED)
    assert len(loader) == 8
    with pytest.raises(TypeError, match="not known beforehand"):
        len(leat.jax.Loader(with_state()))
    refused("pickle its pipeline", pickle.dumps, loader)
    for state in ({}, {"leat": 2}):
        refused("state_dict", loader.load_state_dict, state)
    refused("torn bytes", loader.load_state_dict, {**loader.state_dict(), "parts": b"\x09\0\0\0\0\0\0\0"})


def free_address() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def run_job(directory: Path, data: leat.Pipeline, last: int, devices: int, processes: int) -> list[int]:
    """Exit codes of all processes of a job over two epochs."""
    environment = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    job = [sys.executable, str(Path(__file__).with_name("jax_jobs.py")), str(directory), str(data), "2", str(last)]
    address = [free_address()] if processes > 1 else []
    more = [[*address, str(i), str(processes)] if address else [] for i in range(processes)]
    running = [subprocess.Popen([*job, *x], env=environment, stderr=subprocess.PIPE, text=True) for x in more]
    try:
        for x in running:
            _, told = x.communicate(timeout=120)
            assert x.returncode <= 0, told
    finally:
        for x in running:
            x.kill()
    return [x.returncode for x in running]


@pytest.mark.parametrize("data", [INDEXED, with_state()], ids=["indexed", "with state"])
@pytest.mark.parametrize("processes", [(1, 1), (2, 1), (1, 2)], ids=["1 to 1", "2 to 1", "1 to 2"])
def test_a_job_killed_and_resumed_on_others_hands_over_what_is_due(
    data: leat.Pipeline, processes: tuple[int, int], tmp_path: Path
) -> None:
    assert max(run_job(tmp_path, data, 9, devices=2, processes=processes[0])) < 0
    assert run_job(tmp_path, data, -1, devices=1, processes=processes[1]) == [0] * processes[1]
    logs = [[x.split() for x in file.read_text().splitlines()] for file in sorted(tmp_path.glob("*.log"))]
    sums: dict[int, leat.Hash128] = {}
    for line in (line for log in logs for line in log):
        sums[int(line[0])] = sums.get(int(line[0]), leat.Hash128()) + leat.Hash128(line[1])
    assert [int(x[0]) for x in logs[0]] == list(range(len(logs[0])))
    assert [str(sums[x]) for x in sorted(sums)] == due(data, 0) + due(data, 1)
    whole = [x for epoch in range(2) for x in leat.OrderPreview(data, epoch=epoch)]
    assert [int(x[2]) for x in logs[0]] == [sum(int(i.partition("/")[2]) % 256 for i in x.ids) for x in whole]
    assert [int(x[3]) for x in logs[0]][:10] == [2 * processes[0]] * 10


SHARED_ROWS = """
import sys, jax, leat, leat.jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
jax.config.update("jax_cpu_collectives_implementation", "gloo")
process = int(sys.argv[2])
jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=process)
data = leat.count(40).batch(8)
grid = np.array(sorted(jax.devices(), key=lambda x: (x.process_index, x.id))).reshape(2, 2)
across, within = Mesh(grid, ("data", "model")), Mesh(grid.T, ("data", "model"))
for mesh, spec, place in (
    (across, PartitionSpec("data", "model"), (process, 2)),
    (within, PartitionSpec("data", "model"), (0, 1)),
    (across, PartitionSpec(), (0, 1)),
    (across, PartitionSpec(("data", "model")), (process, 2)),
):
    loader = leat.jax.Loader(data, sharding=NamedSharding(mesh, spec), epochs=1)
    assert (loader.rank, loader.world_size) == place, (mesh, spec, loader)
    for batch in loader:
        everywhere = NamedSharding(mesh, PartitionSpec())
        total = jax.jit(lambda x: x.astype("int32")[:, 0].sum(), out_shardings=everywhere)(batch["value"])
        assert batch["value"].shape == (8, 8)
        assert int(total) == sum(range(batch.step * 8, batch.step * 8 + 8)), (spec, total)
    assert loader.state_dict()["global_step"] == 5
loader = leat.jax.Loader(data, rank=process, world_size=2)
assert (loader.rank, loader.world_size) == (process, 2)
if process == 1:
    print("done")
"""


def test_processes_that_hold_the_same_rows_share_a_rank() -> None:
    address = free_address()
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", SHARED_ROWS, address, str(i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for i in range(2)
    ]
    try:
        told = [x.communicate(timeout=120) for x in jobs]
    finally:
        for x in jobs:
            x.kill()
    assert [x.returncode for x in jobs] == [0, 0], told
    assert "done" in told[1][0]
