"""leat.torch.DataLoader under Accelerate: prepare, save_state and load_state on other numbers of ranks, metrics."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

import leat  # noqa: E402
import leat.accelerate  # noqa: E402
import leat.torch  # noqa: E402
from support import refused  # noqa: E402
from torch_jobs import DATA, due, joined, run_ranks, seen  # noqa: E402

EPOCHS = 3
CASES = [("indexed", (4, 13)), ("indexed", (8, 17)), ("stateful", (3, 9))]


def accelerator(**options: Any) -> Any:
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState, PartialState

    for x in (AcceleratorState, GradientState, PartialState):
        x._reset_state()
    return Accelerator(cpu=True, **options)


def train(name: str, directory: Path, attempt: int, stop: int | None) -> tuple[list[Any], list[Any]]:
    found, marks = [], []
    of = accelerator(gradient_accumulation_steps=4)
    loader = leat.torch.DataLoader(DATA[name](), workers=1)
    model = torch.nn.Linear(1, 1)
    model, prepared = of.prepare(model, loader)
    assert prepared is loader
    if attempt > 0:
        leat.accelerate.load_state(of, directory / str(attempt - 1))
    for _ in range(loader.epoch, EPOCHS):
        for batch in loader:
            with of.accumulate(model):
                found.append(seen(batch))
                marks.append((batch.end_of_epoch, of.gradient_state.end_of_dataloader, of.sync_gradients))
            if batch.global_step == stop:
                of.save_state(str(directory / str(attempt)))  # not where another rank may still be reading
                return found, marks
        assert not of.gradient_state.in_dataloader
    return found, marks


def train_all(directory: str, attempt: int) -> list[Any]:
    return [
        train(name, Path(directory, f"{name}-{stops[0]}"), attempt, stops[attempt] if attempt < len(stops) else None)
        for name, stops in CASES
    ]


def test_two_ranks_then_three_then_one(tmp_path: Path) -> None:
    attempts = [run_ranks(train_all, ranks, str(tmp_path), i) for i, ranks in enumerate((2, 3, 1))]
    for i, (name, _) in enumerate(CASES):
        found, marks = [], []
        for ranks in attempts:
            found += joined([rank[i][0] for rank in ranks])
            assert all(rank[i][1] == ranks[0][i][1] for rank in ranks)
            marks += ranks[0][i][1]
        assert found == due(name, EPOCHS)
        assert all(is_end == is_told for is_end, is_told, _ in marks)
        phase, expected = 0, []  # as in an uninterrupted run
        for is_end, *_ in marks:
            phase = 0 if is_end else phase + 1
            expected.append(is_end or phase % 4 == 0)
        assert [x[2] for x in marks] == expected


def marked(sample: leat.Sample) -> None:
    if int(sample["value"][0]) % 7 == 3:
        raise leat.BadSample("corrupt", "on purpose")


def numbers() -> list[list[float]]:
    of = accelerator()
    loader = of.prepare(leat.torch.DataLoader(leat.count(48, 1).batch(12), workers=0))
    return [of.gather_for_metrics(batch["value"].sum()).reshape(-1).tolist() for batch in loader]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_number_of_a_batch_of_valid_rows_is_gathered_from_each_rank(ranks: int) -> None:
    sums = [sum(range(i, i + 12)) for i in range(0, 48, 12)]
    for found in run_ranks(numbers, ranks):
        assert [len(x) for x in found] == [ranks] * 4
        assert [sum(x) for x in found] == sums


def with_bad_rows() -> leat.Pipeline:
    return leat.count(50, 1).shuffle(seed=5).map("marked@1", marked).batch(12, end="mask")


def metrics() -> dict[str, Any]:
    of = accelerator()
    loader = of.prepare(leat.torch.DataLoader(with_bad_rows(), bad_samples="mask", workers=0))
    found: dict[str, Any] = {"tensor": [], "own": [], "objects": [], "dict": [], "scalar": ""}
    for batch in loader:
        rows = batch["value"][:, 0].to(torch.int64)
        found["tensor"] += leat.accelerate.gather_for_metrics(of, rows, batch).tolist()
        found["own"] += of.gather_for_metrics(rows).tolist()
        found["dict"] += of.gather_for_metrics({"a": rows, "b": [rows * 2]})["b"][0].tolist()
        found["objects"] += of.gather_for_metrics([f"row {x}" for x in rows.tolist()])
        try:
            of.gather_for_metrics(rows.sum())
        except leat.InvalidArgument as problem:
            found["scalar"] = str(problem)
    # A loader of torch beside it is left to Accelerate.
    plain = of.prepare(torch.utils.data.DataLoader(torch.arange(7), batch_size=2))
    found["plain"] = sorted(int(x) for part in plain for x in of.gather_for_metrics(part))
    return found


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_metrics_get_exactly_the_valid_rows_in_the_order_of_the_epoch(ranks: int) -> None:
    expected = [
        int(x["value"][i, 0])
        for x in leat.Loader(with_bad_rows(), bad_samples="mask", workers=0)
        for i in range(x.size)
        if x.valid[i]
    ]
    assert sorted(expected) == [x for x in range(50) if x % 7 != 3]
    for found in run_ranks(metrics, ranks):
        assert found["tensor"] == expected
        assert found["own"] == expected
        assert found["dict"] == [2 * x for x in expected]
        assert found["objects"] == [f"row {x}" for x in expected]
        assert "one value per row" in found["scalar"]
        assert found["plain"] == list(range(7))


class Hidden(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __iter__(self) -> Any:
        return iter(self._loader)


def dealt_again() -> list[str]:
    told = []
    for dispatch in (None, False):
        from accelerate.utils import DataLoaderConfiguration

        of = accelerator(dataloader_config=DataLoaderConfiguration(dispatch_batches=dispatch))
        inner = leat.torch.DataLoader(DATA["indexed"](), workers=0)
        outer = of.prepare(torch.utils.data.DataLoader(Hidden(inner), batch_size=None if dispatch is None else 1))
        if dispatch is None and of.process_index != 0:  # where the first rank reads for all
            told.append("")
            continue
        try:
            next(iter(outer))
            told.append("a batch")
        except leat.InvalidArgument as problem:
            told.append(str(problem))
    return told


def test_behind_a_dataset_that_accelerate_divides_it_is_refused() -> None:
    first, second = run_ranks(dealt_again, 2)
    assert all("once more" in x for x in first)
    assert "once more" in second[1]


def test_accelerates_own_skipping_is_refused_and_not_a_silent_end() -> None:
    of = accelerator()
    loader = of.prepare(leat.torch.DataLoader(DATA["indexed"](), workers=0))
    refused("not to be iterated", next, iter(of.skip_first_batches(loader, 3)))


def other_ranks() -> str:
    loader = leat.torch.DataLoader(DATA["indexed"](), workers=0)
    loader.is_placed, loader.rank, loader.world_size = False, 0, 1
    try:
        accelerator().prepare(loader)
    except leat.InvalidArgument as problem:
        return str(problem)
    return ""


def test_a_loader_for_other_ranks_than_accelerates_is_refused() -> None:
    assert all("make the Accelerator before" in x for x in run_ranks(other_ranks, 2))
