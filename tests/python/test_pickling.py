"""Pipelines with functions of Python are copied, pickled and sent to other processes."""

import copy
import gc
import multiprocessing
import pickle
import weakref
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import leat
import pickled_jobs
import pytest
from process_jobs import Table
from support import digests, due


def test_pipelines_are_the_same_in_processes_that_are_spawned() -> None:
    made = pickled_jobs.pipelines()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for name, data in made.items():
            found = pool.submit(pickled_jobs.content_of, pickle.dumps(data)).result(timeout=120)
            assert found == pickled_jobs.content(data), name
            assert len(found) >= 8


def test_copies_keep_all_functions() -> None:
    data = leat.count(8).map("local@1", lambda sample: sample.set("x", 1)).batch(4)
    for again in (copy.copy(data), copy.deepcopy(data), copy.deepcopy({"data": data})["data"]):
        assert again == data
        assert digests(leat.Loader(again)) == due(data)


def test_functions_that_others_cannot_import_are_refused_when_pickled() -> None:
    def inner(sample: leat.Sample) -> None: ...

    for function in (lambda sample: None, inner):
        with pytest.raises(leat.InvalidArgument, match=r'pipeline with the map "own@1" was to be pickled.*cannot import'):
            pickle.dumps(leat.count(8).map("own@1", function).batch(4))
    # For names that both processes register, the text suffices.
    leat.register_map("known@1", lambda parameters: leat.MapStage("known@1", lambda sample: None))
    data = leat.parse_pipeline('count(8).map("known@1").batch(4)')
    assert pickle.loads(pickle.dumps(data)) == data


def test_a_pickle_wins_over_one_of_the_same_name_before() -> None:
    def seen(function: Any) -> list[int]:
        data = pickle.loads(pickle.dumps(leat.count(4).map("same@1", function).batch(4)))
        return [int(x["v"][0]) for x in leat.Loader(data)]

    assert [seen(one), seen(other), seen(one)] == [[1], [2], [1]]


def one(sample: leat.Sample) -> Any:
    return {"v": 1}


def other(sample: leat.Sample) -> Any:
    return {"v": 2}


def test_what_a_pipeline_keeps_is_garbage_in_the_end() -> None:
    class Source(Table):
        pass

    source = Source(9)
    source.data = leat.indexed("cycle@1", source)  # type: ignore[attr-defined]
    gone = weakref.ref(source)
    del source
    gc.collect()
    assert gone() is None
