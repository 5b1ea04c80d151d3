"""leat.torch.DataLoader in one process: epochs, states, what trainers read, and what is refused."""

import multiprocessing
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import leat  # noqa: E402
import leat.torch  # noqa: E402
from leat.torch import DataLoader  # noqa: E402
from support import refused  # noqa: E402
from torch_jobs import ROWS, SAMPLES, due, indexed, seen, stateful  # noqa: E402

PIPELINES = pytest.mark.parametrize("data", [indexed, stateful], ids=["indexed", "stateful"])


def resumed(state: dict[str, Any], data: leat.Pipeline, **options: Any) -> DataLoader:
    loader = DataLoader(data, **options)
    loader.load_state_dict(state)
    return loader


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress_of_an_epoch(has_tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for data in (indexed(), stateful()):
        loader = DataLoader(data, workers=0)
        for epoch in range(2):
            assert [seen(x) for x in leat.progress(loader)] == due(data, 2)[epoch * len(due(data, 1)) :][: len(due(data, 1))]


@PIPELINES
@pytest.mark.parametrize("workers", [0, 2])
def test_each_iter_is_an_epoch_in_the_previewed_order(data: Callable[[], leat.Pipeline], workers: int) -> None:
    loader = DataLoader(data(), workers=workers)
    assert isinstance(loader, torch.utils.data.DataLoader)
    found, ends = [], []
    for epoch in range(3):
        assert loader.epoch == epoch
        for batch in loader:
            found.append(seen(batch))
            ends.append(batch.end_of_epoch)
    assert found == due(data(), 3)
    assert ends == [i + 1 == len(found) or found[i + 1][1] == 0 for i in range(len(found))]


def test_fields_are_tensors_over_the_memory_of_the_batch() -> None:
    def read(record: int) -> dict[str, Any]:
        return {
            "x": np.full(3, record, np.float32),
            "tokens": np.arange(record % 4 + 1, dtype=np.int64),
            "text": b"t%d" % record,
        }

    # The first sample decides the shapes, so a second length makes the field ragged only if a stage says so.
    batch = next(iter(DataLoader(leat.from_function("rows@1", 8, read).batch(4, fields=["x", "text"]), workers=0)))
    assert dict(batch).keys() == {"x", "text"}
    assert batch["x"].dtype == torch.float32
    assert batch["x"].shape == (4, 3)
    assert batch["x"].data_ptr() == torch.from_dlpack(batch.lease.dlpack("x")).data_ptr()
    assert batch["x"][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    values, offsets = batch["text"]
    assert offsets.dtype == torch.int64
    assert offsets.tolist() == [0, 2, 4, 6, 8]
    assert bytes(values.numpy()) == b"t0t1t2t3"
    assert batch.bytes("text") == [b"t0", b"t1", b"t2", b"t3"]
    assert batch.text("text") == ["t0", "t1", "t2", "t3"]
    assert [bytes(x.numpy()) for x in batch["text"].nested().unbind()] == [b"t0", b"t1", b"t2", b"t3"]
    assert batch.valid.tolist() == [True] * 4
    assert dict(**batch)["x"] is batch["x"]
    assert isinstance(pickle.loads(pickle.dumps(batch)), dict)


def test_a_moved_batch_knows_what_it_is_and_a_rebuilt_one_says_that_it_does_not() -> None:
    batch = next(iter(DataLoader(indexed(), workers=0, device="meta")))
    assert batch["value"].device.type == "meta"
    assert batch.step == 0
    assert batch.valid.device.type == "meta"
    with pytest.raises(leat.InvalidArgument, match="keep the batch"):
        _ = type(batch)({k: v for k, v in batch.items()}).step


def test_tensors_outlive_the_loader() -> None:
    loader = DataLoader(indexed(), workers=2)
    held = [batch["value"] for batch in loader]
    expected = [batch["value"].clone() for batch in DataLoader(indexed(), workers=0)]
    loader.close()
    assert all(torch.equal(a, b) for a, b in zip(held, expected, strict=True))
    assert len({x.data_ptr() for x in held}) == len(held)


def test_length_is_known_or_a_type_error() -> None:
    assert len(DataLoader(indexed())) == 9
    with pytest.raises(TypeError, match="not known"):
        len(DataLoader(stateful()))


@PIPELINES
def test_a_second_iter_in_mid_epoch_leaves_the_rest_out(data: Callable[[], leat.Pipeline]) -> None:
    loader = DataLoader(data(), workers=2)
    first = iter(loader)
    next(first)
    next(first)
    assert [seen(x) for x in loader] == [x for x in due(data(), 2) if x[0] == 1]
    refused("another one was begun", next, first)


@PIPELINES
@pytest.mark.parametrize("step", range(10))
def test_a_state_resumes_after_the_last_batch(data: Callable[[], leat.Pipeline], step: int) -> None:
    every = due(data(), 2)
    loader = DataLoader(data(), workers=2)
    found, state = [], loader.state_dict()
    for _ in range(2):
        for batch in loader:
            found.append(seen(batch))
            if len(found) == step:
                state = loader.state_dict()
                assert state == loader.state_dict(after=batch)
    assert found == every
    assert all(isinstance(x, int | bool | bytes) for x in state.values())
    other = resumed(state, data(), workers=0)
    assert other.state_dict() == state
    assert [seen(x) for _ in range(other.epoch, 2) for x in other] == every[step:]


def test_there_is_no_state_after_a_batch_of_another_loader() -> None:
    loader, twin = DataLoader(indexed(), workers=0), DataLoader(indexed(), workers=0)
    batch, other = next(iter(loader)), next(iter(twin))
    refused("a batch of another loader: step 0", loader.state_dict, after=other)
    assert loader.state_dict(after=batch) == twin.state_dict(after=other)


@PIPELINES
def test_the_end_of_an_epoch_as_torchdata_has_it(data: Callable[[], leat.Pipeline]) -> None:
    every = due(data(), 3)
    epoch = {i: [x for x in every if x[0] == i] for i in range(3)}
    loader = DataLoader(data())
    before = loader.state_dict()
    for _ in loader:
        in_loop = loader.state_dict()
    behind = loader.state_dict()
    assert [seen(x) for x in resumed(before, data())] == epoch[0]
    other = resumed(in_loop, data())
    assert other.epoch == 0
    assert [seen(x) for x in other] == []
    assert other.epoch == 1
    assert [seen(x) for x in other] == epoch[1]
    assert [seen(x) for x in resumed(behind, data())] == epoch[1]


def test_loads_in_mid_epoch_and_again() -> None:
    loader = DataLoader(indexed())
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    state = loader.state_dict()
    next(iterator)
    for _ in range(2):  # loading changes nothing in the state
        loader.load_state_dict(state)
        assert [seen(x) for x in loader] == due(indexed(), 1)[4:]
    assert [seen(x) for x in loader] == [x for x in due(indexed(), 2) if x[0] == 1]


def test_save_and_restore(tmp_path: Any) -> None:
    loader = DataLoader(stateful())
    assert loader.restore(tmp_path) is None
    for batch in loader:
        if batch.step == 2:
            loader.save(tmp_path, batch)
    loader.wait_saved()
    other = DataLoader(stateful(), workers=0)
    found = other.restore(tmp_path)
    assert found is not None
    assert (found.epoch, found.step, found.global_step) == (0, 3, 3)
    assert [seen(x) for x in other] == due(stateful(), 1)[3:]


def test_skipped_batches_and_steps_that_are_left_out() -> None:
    loader = DataLoader(indexed())
    loader.skip_first_batches(5)
    assert [seen(x) for x in loader] == due(indexed(), 1)[5:]
    loader = DataLoader(indexed())
    loader.leave_out_steps(7, 10)  # the last two of an epoch of 9, and the first two of the next
    first = [seen(x) for x in loader]
    state = loader.state_dict()
    assert first == due(indexed(), 1)[:7]
    assert [seen(x) for x in loader] == due(indexed(), 2)[11:]
    other = resumed(state, indexed())
    assert [seen(x) for _ in range(other.epoch, 3) for x in other] == due(indexed(), 2)[11:] + due(indexed(), 3)[18:]


def test_an_endless_epoch_goes_on() -> None:
    loader = DataLoader(leat.count(10, 4).shuffle(seed=1).batch(4, end="cycle"))
    found = []
    for _ in range(3):
        for batch in loader:
            found.append(batch.step)
            if len(found) % 4 == 0:
                break
    assert found == list(range(12))


def test_what_trainers_read() -> None:
    loader = DataLoader(indexed(), rank=1, world_size=5)
    assert loader.batch_size == 3
    assert loader.batch_sampler.batch_size == 3
    assert loader.sampler is not None
    assert loader.total_batch_size == ROWS
    assert len(loader.dataset) == SAMPLES
    assert loader.num_workers == 0
    assert loader.multiprocessing_context is None
    assert not loader.pin_memory
    for of in (loader.dataset, loader.batch_sampler):
        refused("not to be iterated", list, of)
    refused("pickle", pickle.dumps, loader)


def test_other_states_are_refused() -> None:
    loader = DataLoader(indexed())
    refused("leat loader", loader.load_state_dict, {"epoch": 3})
    state = loader.state_dict()
    refused("torn", loader.load_state_dict, {**state, "parts": state["parts"][:-1]})
    with pytest.raises(leat.Error, match="seed"):
        resumed(state, leat.count(SAMPLES, 4).shuffle(seed=4).batch(ROWS, end="mask"))
    assert [seen(x) for x in loader] == due(indexed(), 1)


class _Hidden(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __iter__(self) -> Any:
        return iter(self._loader if self._loader is not None else DataLoader(indexed(), workers=0))


@pytest.mark.parametrize("is_made_in_the_worker", [False, True])
def test_in_a_worker_of_a_data_loader_it_is_refused(is_made_in_the_worker: bool) -> None:
    inside = _Hidden(None if is_made_in_the_worker else DataLoader(indexed(), workers=0))
    outer = torch.utils.data.DataLoader(inside, batch_size=None, num_workers=1, multiprocessing_context="fork", timeout=60)
    with pytest.raises(Exception, match=r"inside a worker|before a fork"):
        list(outer)


def _use(loader: Any, told: Any) -> None:
    try:
        next(iter(loader))
        told.put("a batch")
    except leat.InvalidArgument as problem:
        told.put(str(problem))
    told.close()
    told.join_thread()
    os._exit(0)


def test_behind_a_fork_it_is_refused() -> None:
    loader = DataLoader(indexed(), workers=2)
    next(iter(loader))
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    child = context.Process(target=_use, args=(loader, told))
    child.start()
    assert "before a fork" in told.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0


def test_set_epoch_tells_of_a_trainer_that_resumed_alone(caplog: pytest.LogCaptureFixture) -> None:
    loader = DataLoader(indexed(), rank=0, world_size=1, workers=0)
    for epoch in range(3):
        loader.set_epoch(epoch)
        for batch in loader:
            if epoch == 1 and batch.step == 2:
                break
    state = loader.state_dict()
    loader.set_epoch(3)
    assert "set_epoch" not in caplog.text
    fresh = DataLoader(indexed(), rank=0, world_size=1, workers=0)
    fresh.set_epoch(3)
    fresh.set_epoch(4)
    assert caplog.text.count("set_epoch(3), and the leat loader is at epoch 0") == 1
    assert "set_epoch(4)" not in caplog.text
    caplog.clear()
    resumed(state, indexed(), rank=0, world_size=1, workers=0).set_epoch(3)
    assert "set_epoch" not in caplog.text
