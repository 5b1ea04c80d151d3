"""leat.torch.StatefulDataLoader: killed after any batch and resumed, the order is that of a run that was not."""

import io
import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import leat  # noqa: E402
from leat.torch import StatefulDataLoader  # noqa: E402
from support import refused  # noqa: E402

EPOCHS = 3
ROWS = 3


def dice() -> list[float]:
    """Random numbers as an augmentation might draw them."""
    return [random.random(), float(np.random.rand()), float(torch.rand(1))]


class Items(torch.utils.data.Dataset):  # type: ignore[misc,name-defined]
    def __init__(self, draws: bool = False) -> None:
        self.draws = draws

    def __len__(self) -> int:
        return 11

    def __getitem__(self, i: int) -> Any:
        return (i, dice()) if self.draws else i


class CountedItems(Items):
    """Gives each item its number among those of its worker."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __getitem__(self, i: int) -> Any:
        self.count += 1
        return i, self.count

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.count = state["count"]


def of_worker(n: int) -> list[int]:
    info = torch.utils.data.get_worker_info()
    if info is None:
        return list(range(n))
    assert isinstance(info.dataset, torch.utils.data.IterableDataset)  # the program's own, as in torch's workers
    return list(range(n))[info.id :: info.num_workers] if info.id else list(range(n))[: n // 2 + 1 : 2]


class Plain(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    def __iter__(self) -> Iterator[Any]:
        yield from of_worker(17)


class Shuffled(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    """Draws from its worker's random numbers, without a state."""

    def __iter__(self) -> Iterator[Any]:
        found = of_worker(17)
        random.shuffle(found)
        for x in found:
            yield x, dice()


class Counting:
    """Has a state: its place among items, which a generator gives, and how often it gave all of them."""

    def __init__(self) -> None:
        self.at, self.resume, self.epoch = 0, 0, 0

    def walk(self, items: list[int]) -> Iterator[int]:
        self.at, self.resume = self.resume, 0
        for x in items[self.at :]:
            self.at += 1
            yield x
        self.at = 0
        self.epoch += 1

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.resume, self.epoch = state["at"], state["epoch"]


class WithState(Counting, torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    def __iter__(self) -> Iterator[Any]:
        for x in self.walk(of_worker(17)):
            yield x, self.epoch


class _IteratorWithState:
    def __init__(self) -> None:
        self.items, self.at = of_worker(17), [0]

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.at[0] == len(self.items):
            raise StopIteration
        self.at[0] += 1
        return self.items[self.at[0] - 1], random.random() if torch.utils.data.get_worker_info() else 0

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}  # which will change

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = state["at"]


class IteratorWithState(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    def __iter__(self) -> Iterator[Any]:
        return _IteratorWithState()


class SamplerWithState(Counting, torch.utils.data.Sampler):  # type: ignore[misc,name-defined]
    """Every second epoch backwards."""

    def __iter__(self) -> Iterator[int]:
        yield from self.walk(list(range(11))[:: -1 if self.epoch % 2 else 1])

    def __len__(self) -> int:
        return 11


class Batches(torch.utils.data.Sampler):  # type: ignore[misc,name-defined]
    """Batches of growing size, at random."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(3)

    def __iter__(self) -> Iterator[list[int]]:
        order, at = torch.randperm(11, generator=self.generator).tolist(), 0
        for rows in (1, 2, 3, 4, 1):
            yield order[at : at + rows]
            at += rows

    def __len__(self) -> int:
        return 5


def seed_of(epoch: int) -> Any:
    return torch.Generator().manual_seed(epoch)


MAKERS: dict[str, Callable[..., Any]] = {
    "in order": lambda **o: StatefulDataLoader(Items(), ROWS, **o),
    "shuffled": lambda **o: StatefulDataLoader(Items(), ROWS, shuffle=True, **o),
    "shuffled, dropped": lambda **o: StatefulDataLoader(Items(), ROWS, shuffle=True, drop_last=True, **o),
    "seeded": lambda **o: StatefulDataLoader(Items(), ROWS, shuffle=True, generator=seed_of(4), **o),
    "by item": lambda **o: StatefulDataLoader(Items(), None, shuffle=True, **o),
    "items with state": lambda **o: StatefulDataLoader(CountedItems(), ROWS, shuffle=True, **o),
    "random sampler": lambda **o: StatefulDataLoader(
        Items(),
        ROWS,
        sampler=torch.utils.data.RandomSampler(Items(), replacement=True, num_samples=80, generator=seed_of(5)),
        **o,
    ),
    "sampler with state": lambda **o: StatefulDataLoader(Items(), ROWS, sampler=SamplerWithState(), **o),
    "batch sampler": lambda **o: StatefulDataLoader(Items(), batch_sampler=Batches(), **o),
    "iterable": lambda **o: StatefulDataLoader(Plain(), ROWS, **o),
    "iterable, dropped": lambda **o: StatefulDataLoader(Plain(), ROWS, drop_last=True, **o),
    "iterable, by item": lambda **o: StatefulDataLoader(Plain(), None, **o),
    "iterable with state": lambda **o: StatefulDataLoader(WithState(), ROWS, **o),
    "iterator with state": lambda **o: StatefulDataLoader(IteratorWithState(), ROWS, **o),
}
# Random numbers of worker processes belong to the loader; those of the program's own do not.
WITH_WORKERS: dict[str, Callable[..., Any]] = {
    "augmented": lambda **o: StatefulDataLoader(Items(draws=True), ROWS, shuffle=True, **o),
    "iterable, shuffled": lambda **o: StatefulDataLoader(Shuffled(), ROWS, **o),
}
CASES = [(name, {"num_workers": workers}) for name in MAKERS for workers in (0, 2)]
CASES += [(name, {"num_workers": 2}) for name in WITH_WORKERS]
CASES += [
    (name, {"num_workers": 2, "snapshot_every_n_steps": n, "persistent_workers": True, "prefetch_factor": 3})
    for name, n in (
        ("seeded", 3),
        ("augmented", 1),
        ("augmented", 3),
        ("items with state", 3),
        ("iterable with state", 1),
        ("iterable, shuffled", 2),
    )
]
CASES += [(name, {"num_workers": 3, "snapshot_every_n_steps": 4}) for name in ("iterable", "iterator with state", "augmented")]
CASES += [("iterable, shuffled", {"num_workers": 2, "snapshot_every_n_steps": n}) for n in (0, 2)]


def make(name: str, options: dict[str, Any]) -> Any:
    return {**MAKERS, **WITH_WORKERS}[name](collate_fn=list_of, **options)


def list_of(x: Any) -> Any:
    return list(x) if isinstance(x, list | tuple) else x


def stored(state: dict[str, Any]) -> Any:
    """A state as a checkpoint gives it back, of plain types."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    assert torch.load(file, weights_only=True) == state
    return json.loads(json.dumps(state))


@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=lambda x: str(x) if isinstance(x, str) else "-".join(map(str, x.values()))
)
def test_it_goes_on_after_any_batch(name: str, options: dict[str, Any]) -> None:
    torch.manual_seed(11)
    loader = make(name, options)
    every: list[Any] = []
    states: list[tuple[Any, int, int]] = []
    for epoch in range(EPOCHS):
        states.append((stored(loader.state_dict()), len(every), epoch))
        for batch in loader:
            every.append(batch)
            states.append((stored(loader.state_dict()), len(every), epoch))
    states.append((stored(loader.state_dict()), len(every), EPOCHS))
    step = 1 if options["num_workers"] == 0 else (len(states) // 7) | 1  # processes take their time to start
    ends = [i for i, (x, _, epoch) in enumerate(states) if x["finished"] or (i + 1 < len(states) and states[i + 1][2] > epoch)]
    for i in sorted({*range(0, len(states), step), *ends[:2]}):
        state, at, epoch = states[i]
        torch.manual_seed(99 + i)
        other = resumed(make(name, options), state)
        assert stored(other.state_dict()) == state
        rest = [[x for x in other] for _ in range(epoch, EPOCHS)]
        assert list(itertools.chain(*rest)) == every[at:], f"resumed after {at} batches, in epoch {epoch}"


def test_the_order_is_that_of_torch() -> None:
    for workers in (0, 2):
        ours, theirs = (
            kind(Items(draws=workers > 0), ROWS, shuffle=True, generator=seed_of(7), num_workers=workers, collate_fn=list_of)
            for kind in (StatefulDataLoader, torch.utils.data.DataLoader)
        )
        assert isinstance(ours, torch.utils.data.DataLoader)
        assert len(ours) == len(theirs) == 4
        for _ in range(2):
            assert list(ours) == list(theirs)
    assert list(StatefulDataLoader(Plain(), ROWS, num_workers=3, collate_fn=list_of)) == list(
        torch.utils.data.DataLoader(Plain(), ROWS, num_workers=3, collate_fn=list_of)
    )


def begun(loader: Any) -> tuple[dict[str, Any], list[Any]]:
    """A state after the first batch, and the batches after it."""
    batches = iter(loader)
    next(batches)
    return loader.state_dict(), list(batches)


def resumed(loader: Any, state: Any) -> Any:
    loader.load_state_dict(state)
    return loader


def seed_program() -> None:
    torch.manual_seed(1)
    random.seed(1)
    np.random.seed(1)


def test_the_random_numbers_of_the_program_are_left_alone() -> None:
    def loader() -> Any:
        return StatefulDataLoader(Items(), ROWS, sampler=torch.utils.data.RandomSampler(Items()), collate_fn=list_of)

    state, rest = begun(loader())
    other = loader()
    seed_program()
    expected = dice()
    seed_program()
    assert list(resumed(other, state)) == rest
    assert dice() == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_the_end_of_an_epoch_as_torchdata_has_it(workers: int) -> None:
    loader = make("seeded", {"num_workers": workers})
    before = loader.state_dict()
    for _ in loader:
        inside = loader.state_dict()
    after = loader.state_dict()
    counts = []
    for state in (before, inside, after):
        other = resumed(make("seeded", {"num_workers": workers}), state)
        counts.append([len(list(other)), len(list(other))])
    assert counts == [[4, 4], [0, 4], [4, 4]]


def test_a_load_after_a_state() -> None:
    state, rest = begun(make("augmented", {"num_workers": 2}))
    other = make("augmented", {"num_workers": 2})
    assert other.state_dict()["step"] == 0  # begins an epoch
    assert list(resumed(other, state)) == rest
    assert list(resumed(other, state)) == rest  # while it has a finished epoch
    assert len(list(resumed(other, {}))) == 4


def test_a_state_before_the_first_iter_has_its_order() -> None:
    loader = make("augmented", {"num_workers": 2})
    state = loader.state_dict()
    assert list(loader) == list(resumed(make("augmented", {"num_workers": 2}), state))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_is_a_copy(workers: int) -> None:
    loader = make("iterator with state", {"num_workers": workers})
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    text = json.dumps(state)
    list(batches)
    assert json.dumps(state) == text
    assert loader.state_dict() != state


class _Counted(WithState):
    calls = 0

    def __iter__(self) -> Iterator[Any]:
        self.calls += 1
        return super().__iter__()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "calls": self.calls}


@pytest.mark.parametrize("workers", [0, 2])
def test_iter_of_a_dataset_is_called_once(workers: int) -> None:
    loader = StatefulDataLoader(_Counted(), ROWS, num_workers=workers)
    next(iter(loader))
    state = loader.state_dict()
    assert [x["dataset"]["calls"] for x in state["workers"]] == [1] * max(1, workers)
    other = resumed(StatefulDataLoader(_Counted(), ROWS, num_workers=workers), state)
    next(iter(other))
    assert other.state_dict()["workers"][0]["dataset"]["calls"] == 1


class _Slow(torch.utils.data.Dataset):  # type: ignore[misc,name-defined]
    """Gives its first item once a file exists."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> int:
        while i == 0 and not self.file.exists():
            pass
        return i


class _SlowIterable(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    def __init__(self, file: Any) -> None:
        self.file = file

    def __iter__(self) -> Iterator[int]:
        info = torch.utils.data.get_worker_info()
        for i in range(info.id, 12, 2):
            while i == 0 and not self.file.exists():
                pass
            yield i


@pytest.mark.parametrize("kind", [_Slow, _SlowIterable])
def test_out_of_order_nothing_is_lost(kind: Any, tmp_path: Any) -> None:
    file = tmp_path / "go"
    loader = StatefulDataLoader(kind(file), None, num_workers=2, in_order=False)
    batches = iter(loader)
    found = [next(batches) for _ in range(4)]  # while the first worker waits
    assert 0 not in found
    state = loader.state_dict()
    file.touch()
    other = StatefulDataLoader(kind(file), None, num_workers=2, in_order=False)
    assert sorted(found + list(resumed(other, state))) == list(range(12))


def test_the_number_of_workers_may_change_without_a_state_of_their_own() -> None:
    loader = make("seeded", {"num_workers": 2})
    state, rest = begun(loader)
    rest += loader
    for workers in (0, 3):
        other = resumed(make("seeded", {"num_workers": workers}), state)
        assert [*other, *other] == rest


def test_other_states_are_refused() -> None:
    loader = make("items with state", {"num_workers": 0})
    next(iter(loader))
    state = loader.state_dict()
    for wrong in ({"_snapshot": {}}, {"epoch": 3}, 7):
        refused("end an epoch with it", loader.load_state_dict, wrong)
    two = make("items with state", {"num_workers": 2})
    refused("num_workers was 0, here it is 2", two.load_state_dict, state)
    refused("batch_size was 3, here it is 4", StatefulDataLoader(CountedItems(), 4).load_state_dict, state)
    refused("is_iterable was False, here it is True", make("iterable", {}).load_state_dict, state)
    assert loader.state_dict() == state


class _Clock(torch.utils.data.IterableDataset):  # type: ignore[misc,name-defined]
    """Other samples each time."""

    now = 0

    def __iter__(self) -> Iterator[int]:
        for _ in range(9):
            self.now += 1
            yield self.now


def test_an_order_that_cannot_be_repeated_is_refused() -> None:
    dataset = _Clock()
    loader = StatefulDataLoader(dataset, ROWS)
    next(iter(loader))
    with pytest.raises(leat.Error, match="other samples than before in its first 1 batches"):
        iter(resumed(StatefulDataLoader(dataset, ROWS), loader.state_dict()))
    order = list(range(11))
    loader = StatefulDataLoader(Items(), ROWS, sampler=order)
    next(iter(loader))
    order.reverse()
    with pytest.raises(leat.Error, match="sampler drew other samples"):
        iter(resumed(StatefulDataLoader(Items(), ROWS, sampler=order), loader.state_dict()))


class _Broken(torch.utils.data.Dataset):  # type: ignore[misc,name-defined]
    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> int:
        if i == 2:
            raise ValueError("the third")
        return i


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_come_out_and_count_as_batches(workers: int) -> None:
    batches = iter(loader := StatefulDataLoader(_Broken(), None, num_workers=workers))
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(ValueError, match="the third"):
        next(batches)
    state = loader.state_dict()
    assert list(batches) == [3, 4, 5]
    assert list(resumed(StatefulDataLoader(_Broken(), None, num_workers=workers), state)) == [3, 4, 5]


class _BrokenCounted(CountedItems):
    def __getitem__(self, i: int) -> Any:
        found = super().__getitem__(i)
        if i == 3:
            raise ValueError("the fourth")
        return found


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_after_an_error_has_what_the_error_left_behind(workers: int) -> None:
    def made() -> Any:
        return StatefulDataLoader(_BrokenCounted(), None, num_workers=workers, collate_fn=list_of)

    batches = iter(loader := made())
    for _ in range(3):
        next(batches)
    with pytest.raises(ValueError, match="the fourth"):
        next(batches)
    states = [loader.state_dict()]
    first = next(batches)
    states.append(loader.state_dict())
    rest = list(batches)
    for state, expected in zip(states, ([first, *rest], rest), strict=True):
        assert list(resumed(made(), state)) == expected


def fail(_: int) -> None:
    raise ValueError("cannot begin")


def test_errors_of_a_worker_s_beginning_come_out_of_iter() -> None:
    with pytest.raises(ValueError, match="cannot begin"):
        iter(StatefulDataLoader(Items(), num_workers=2, worker_init_fn=fail))


def test_two_iterators() -> None:
    loader = make("in order", {"num_workers": 2})
    first = iter(loader)
    assert next(first) == [0, 1, 2]
    assert len(list(loader)) == 4
    assert len(list(first)) == 3
    loader = make("in order", {"num_workers": 2, "persistent_workers": True})
    first = iter(loader)
    next(first)
    second = iter(loader)
    refused("another one was begun", next, first)
    assert len(list(second)) == 4


def test_datapipes_are_refused() -> None:
    from torch.utils.data.datapipes.iter import IterableWrapper

    refused(r"leat\.torch\.wrap", StatefulDataLoader, IterableWrapper([1, 2]))


def test_spawned_workers() -> None:
    options = {"num_workers": 2, "multiprocessing_context": "spawn"}
    state, rest = begun(make("augmented", options))
    assert list(resumed(make("augmented", options), state)) == rest
