"""leat.torch.wrap: loaders that are not leat's, with and without a state of their own, stopped after each batch and resumed."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import leat  # noqa: E402
import leat.torch  # noqa: E402
from support import refused  # noqa: E402

EPOCHS, BATCHES = 3, 4


NUMBERS = [{"x": torch.tensor([i, -i]), "name": f"n{i}"} for i in range(10)]


def plain() -> Any:
    return torch.utils.data.DataLoader(NUMBERS, batch_size=3)


def shuffled() -> Any:  # by a seed that is drawn from torch's own generator
    return torch.utils.data.DataLoader(NUMBERS, batch_size=3, shuffle=True)


def seeded() -> Any:
    return torch.utils.data.DataLoader(NUMBERS, batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(4))


def with_workers() -> Any:
    return torch.utils.data.DataLoader(NUMBERS, batch_size=3, shuffle=True, num_workers=2)


def with_state() -> Any:
    stateful = pytest.importorskip("torchdata.stateful_dataloader")
    return stateful.StatefulDataLoader(NUMBERS, batch_size=3, shuffle=True)


def a_list() -> Any:
    return [[1, 2], "b", torch.ones(2), (3.0, None)]


def plain_types(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch.tolist()
    if isinstance(batch, dict):
        return {k: plain_types(v) for k, v in batch.items()}
    return batch


def stored(state: dict[str, Any]) -> Any:
    """A state as a checkpoint gives it back."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def resumed(state: Any, loader: Any) -> Any:
    other = leat.torch.wrap(loader)
    other.load_state_dict(state)
    return other


@pytest.mark.parametrize("make", [plain, shuffled, seeded, with_workers, with_state, a_list])
def test_it_goes_on_after_any_batch(make: Callable[[], Any]) -> None:
    torch.manual_seed(11)
    loader = leat.torch.wrap(make())
    every, states, marks = [], [], []
    for epoch in range(EPOCHS):
        states.append((stored(loader.state_dict()), len(every)))
        for batch in loader:
            every.append(plain_types(batch))
            assert (loader.epoch, loader.step, loader.global_step) == (epoch, (len(every) - 1) % BATCHES, len(every) - 1)
            marks.append(loader.end_of_epoch)
            states.append((stored(loader.state_dict()), len(every)))
    assert marks == [False, False, False, True] * EPOCHS
    for number, (state, at) in enumerate(states):
        if number == 0:
            continue  # nothing was drawn yet: any order will do
        torch.manual_seed(99)
        other = resumed(state if make is with_state else json.loads(json.dumps(state)), make())
        rest = [plain_types(x) for _ in range(other.epoch, EPOCHS) for x in other]
        assert rest[: BATCHES - at % BATCHES] == every[at:][: BATCHES - at % BATCHES]
        if make not in (shuffled, with_workers):  # whose later epochs are drawn from what the program drew before
            assert rest == every[at:]
        assert len(rest) == len(every) - at


def test_an_order_that_cannot_be_repeated_is_refused() -> None:
    class Clock:
        def __init__(self) -> None:
            self.now = 0

        def __iter__(self) -> Iterator[int]:
            for _ in range(4):
                self.now += 1
                yield self.now

    clock = Clock()
    loader = leat.torch.wrap(clock)
    batches = iter(loader)
    next(batches)
    next(batches)
    with pytest.raises(leat.Error, match="would lose and repeat samples"):
        list(resumed(loader.state_dict(), clock))


def test_an_iterator_that_is_used_up_is_refused() -> None:
    loader = leat.torch.wrap(iter([1, 2]))
    assert list(loader) == [1, 2]
    with pytest.raises(leat.Error, match="read once only"):
        list(loader)


def test_an_epoch_that_became_shorter_is_refused() -> None:
    loader = leat.torch.wrap([1, 2, 3, 4])
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    with pytest.raises(leat.Error, match="2 batches in epoch 0, needed 3"):
        list(resumed(loader.state_dict(), [1, 2]))


@pytest.mark.parametrize("n", range(9))
def test_skipping(n: int) -> None:
    loader = leat.torch.wrap([1, 2, 3, 4])
    loader.skip_first_batches(n)
    assert [x for _ in range(loader.epoch, 3) for x in loader] == ([1, 2, 3, 4] * 3)[n:]


def test_a_second_iter_leaves_the_rest_out_and_ends_the_first() -> None:
    loader = leat.torch.wrap([1, 2, 3])
    first = iter(loader)
    next(first)
    assert list(loader) == [1, 2, 3]
    assert loader.epoch == 2
    refused("another one was begun", next, first)


def test_other_states_are_refused() -> None:
    state = leat.torch.wrap([1], rank=0, world_size=2).state_dict()
    refused("rank 0, here 1", leat.torch.wrap([1], rank=1, world_size=2).load_state_dict, state)
    other = leat.torch.wrap([1], rank=0, world_size=2, name="own@2")
    refused("name 'own@1', here 'own@2'", other.load_state_dict, state)
    refused("needed is what", leat.torch.wrap([1]).load_state_dict, {})


def test_a_state_behind_iter_and_before_the_first_batch_has_the_order() -> None:
    loader = leat.torch.wrap(shuffled())
    batches = iter(loader)
    state = loader.state_dict()
    expected = [plain_types(x) for x in batches]
    torch.manual_seed(5)
    assert [plain_types(x) for x in resumed(state, shuffled())] == expected


def test_an_earlier_iterator_cannot_end_the_epoch_of_a_later_one() -> None:
    loader = leat.torch.wrap([1, 2])
    first = iter(loader)
    assert [next(first), next(first)] == [1, 2]
    second = iter(loader)
    assert next(second) == 1
    refused("another one was begun", next, first)
    assert next(second) == 2
    assert loader.epoch == 1
