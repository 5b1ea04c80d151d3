"""Pipelines with functions and sources that other processes import, and what they do there."""

import pickle
from collections.abc import Iterator
from typing import Any

import leat
from process_jobs import Table, add, apply, is_odd, length, look, made_for_worker, number, number_field, pick, sum_of


@leat.map("twice@1")
def twice(sample: leat.Sample) -> None:
    sample["twice"] = 2 * number(sample)


def named(name: str) -> bool:
    return not name.endswith("7")


def read(i: int) -> dict[str, int]:
    return {"n": i}


def unit(number: int) -> Iterator[dict[str, int]]:
    for i in range(10):
        yield {"n": 10 * number + i}


def pipelines() -> dict[str, leat.Pipeline]:
    shuffled = leat.count(40).shuffle(seed=1)
    return {
        "stages": shuffled.map(twice)
        .map("sum@1", sum_of, batched=True)
        .map("last@1", made_for_worker, per_worker=True)
        .filter("odd@1", is_odd)
        .filter("named@1", named, of_id=True)
        .flat_map(leat.FlatMapStage("two@1", None, pick, children=2))
        .scan(leat.ScanStage("total@1", look=look, step=add, apply=apply, initial=b"0"))
        .batch(4, lanes=2, end="mask"),
        "parameters": shuffled.map("a@1", length, parameters="of=1").map("a@1", number_field, parameters="of=2").batch(4),
        "records": leat.from_function("records@1", 40, read).shuffle(seed=2).batch(4),
        "units": leat.sequential("units@1", 4, unit, order="shuffled", seed=3).batch(4, end="drop"),
        "table": leat.indexed("table@1", Table(13)).shuffle(seed=1).batch(1),
        "processes": leat.indexed("table@2", Table(13), processes=1).map("n@2", number_of_row, processes=1).batch(1),
    }


def number_of_row(sample: leat.Sample) -> Any:
    return {"n": 2 * int(sample["i"])}


def content(data: leat.Pipeline) -> list[Any]:
    return [
        (str(x.digest()), {name: x[name].tolist() for name in x.fields()}) for x in leat.Loader(data, workers=1, leases=1000)
    ]


def content_of(pickled: bytes) -> list[Any]:
    """Batches of a pipeline that came from another process and is passed on to a third one."""
    return content(pickle.loads(pickle.dumps(pickle.loads(pickled))))
