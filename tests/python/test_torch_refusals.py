"""A bare loader inside something that would hand out its batches once more is refused, in one sentence."""

import os
import pickle
import re
from collections.abc import Iterator
from typing import Any

import leat
import pytest
from child_process import run_python
from support import due, refused

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, IterableDataset, get_worker_info  # noqa: E402

DATA = leat.count(48).shuffle(seed=1).batch(8)


class Inside(IterableDataset[Any]):
    """A loader of the worker's own, or one that was made before."""

    def __init__(self, loader: leat.Loader | None = None, share: bool = False, **place: int) -> None:
        self.loader, self.share, self.place = loader, share, place

    def __iter__(self) -> Iterator[Any]:
        place = dict(self.place)
        worker = get_worker_info()
        if self.share and worker is not None:
            place = {"rank": worker.id, "world_size": worker.num_workers}
        loader = leat.Loader(DATA, workers=1, **place) if self.loader is None else self.loader
        for batch in loader:
            yield [str(x) for x in batch.ids()], torch.from_dlpack(batch.dlpack("value")).clone()


def rows(inside: Inside, workers: int) -> list[str]:
    outer = DataLoader(inside, batch_size=None, num_workers=workers, multiprocessing_context="fork" if workers else None)
    return [x for ids, _ in outer for x in ids]


PLACES = ({}, {"rank": 0, "world_size": 1}, {"rank": 0, "world_size": 2}, {"rank": 1, "world_size": 2})


def in_a_fresh_process() -> None:
    """In a process where nothing of leat has run: otherwise workers that are forked there could have no loaders."""
    for place in PLACES:
        try:
            rows(Inside(**place), 2)
        except leat.InvalidArgument as problem:
            print("refused", str(problem).splitlines()[-1])
    print(sorted(rows(Inside(), 1)))
    print(sorted(rows(Inside(share=True), 2)))
    print(sorted(rows(Inside(), 0)))


def test_in_workers_each_sample_comes_once_or_it_is_refused() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    text = f"import sys; sys.path.insert(0, {folder!r}); from test_torch_refusals import *; in_a_fresh_process()"
    found = run_python(text, patience=240)
    lines = found.stdout.splitlines()
    assert found.returncode == 0, found.stderr
    for line in lines[: len(PLACES)]:
        assert re.match(r"refused .*worker \d of 2 of a torch DataLoader, where each.*rank=rank \* 2 \+ \d", line)
    assert lines[len(PLACES) :] == [str(sorted([x for batch in leat.OrderPreview(DATA) for x in batch.ids]))] * 3


def test_a_loader_that_was_made_before_the_workers_is_refused() -> None:
    with pytest.raises(leat.Error, match=r"worker 0 of 2 of a torch DataLoader|forked"):
        rows(Inside(leat.Loader(DATA, workers=0)), 2)


def test_it_is_not_pickled_to_workers_either() -> None:
    loader = leat.Loader(DATA, workers=0)
    refused("its pipeline", pickle.dumps, Inside(loader))
    with pytest.raises(leat.InvalidArgument, match="its pipeline"):
        next(iter(DataLoader(Inside(loader), batch_size=None, num_workers=1, multiprocessing_context="spawn")))
    assert [str(x.digest()) for x in loader] == due(DATA)


def redealt(inside: Inside, dispatches: bool) -> list[Any]:
    accelerate = pytest.importorskip("accelerate")
    accelerate.Accelerator(cpu=True)
    outer = DataLoader(inside, batch_size=None)
    if dispatches:
        return list(accelerate.data_loader.DataLoaderDispatcher(inside, batch_size=None))
    return list(accelerate.data_loader.DataLoaderShard(outer.dataset, batch_size=None))


@pytest.mark.parametrize("dispatches", [True, False])
@pytest.mark.parametrize("is_made_before", [True, False])
def test_behind_a_dataset_that_accelerate_divides(dispatches: bool, is_made_before: bool) -> None:
    place = {"rank": 0, "world_size": 2}
    inside = Inside(leat.Loader(DATA, workers=0, **place)) if is_made_before else Inside(**place)
    refused(r"Accelerate divides among the ranks once more.*world_size=1", redealt, inside, dispatches)
    assert sum(len(ids) for ids, _ in inside) == 24  # outside of it, it is as good as before


def test_a_loader_of_all_rows_may_be_divided_by_accelerate() -> None:
    assert [x for ids, _ in redealt(Inside(), False) for x in ids] == [x for b in leat.OrderPreview(DATA) for x in b.ids]
