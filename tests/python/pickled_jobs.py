"""Functions and sources that other processes import, and what they do there."""

import pickle
from collections.abc import Iterator
from typing import Any

import leat


@leat.map("twice@1")
def twice(sample: leat.Sample) -> None:
    sample["twice"] = 2 * int(sample["n"])


def thrice(samples: list[leat.Sample]) -> list[Any]:
    return [{"thrice": 3 * int(x["n"])} for x in samples]


def maker() -> Any:
    return scaled


def scaled(sample: leat.Sample) -> None:
    sample["scaled"] = 0.5 * int(sample["n"])


def most(sample: leat.Sample) -> bool:
    return int(sample["n"]) % 5 != 0


def named(name: str) -> bool:
    return not name.endswith("7")


def two(sample: leat.Sample, child: int) -> Any:
    return {"child": child}


def look(sample: leat.Sample) -> bytes:
    return b"1"


def step(state: bytes, looked: bytes) -> tuple[bytes, bytes]:
    count = str(int(state) + 1).encode()
    return count, count


def apply(sample: leat.Sample, found: bytes) -> None:
    sample["count"] = int(found)


class Table:
    def __len__(self) -> int:
        return 40

    def __getitem__(self, i: int) -> dict[str, int]:
        return {"n": i}


def read(i: int) -> dict[str, int]:
    return {"n": i}


def unit(number: int) -> Iterator[dict[str, int]]:
    for i in range(10):
        yield {"n": 10 * number + i}


def pipelines() -> dict[str, leat.Pipeline]:
    table = leat.indexed("table@1", Table()).shuffle(seed=1)
    return {
        "stages": table.map(twice)
        .map("thrice@1", thrice, batched=True)
        .map("scaled@1", maker, per_worker=True)
        .filter("most@1", most)
        .filter("named@1", named, of_id=True)
        .flat_map(leat.FlatMapStage("two@1", None, two, children=2))
        .scan(leat.ScanStage("count@1", look=look, step=step, apply=apply, initial=b"0"))
        .batch(4, lanes=2, end="mask"),
        "parameters": table.map("a@1", scaled, parameters="of=1").map("a@1", fifths, parameters="of=2").batch(4),
        "records": leat.from_function("records@1", 40, read).shuffle(seed=2).batch(4),
        "units": leat.sequential("units@1", 4, unit, order="shuffled", seed=3).batch(4, end="drop"),
        "processes": leat.indexed("table@2", Table(), processes=1).map("twice@2", twice.function, processes=1).batch(4),
    }


def fifths(sample: leat.Sample) -> Any:
    return {"fifths": int(sample["n"]) % 5}


def content(data: leat.Pipeline) -> list[Any]:
    return [
        (str(x.digest()), {name: x[name].tolist() for name in x.fields()}) for x in leat.Loader(data, workers=1, leases=1000)
    ]


def content_of(pickled: bytes) -> list[Any]:
    """Batches of a pipeline that came from another process and is passed on to a third one."""
    return content(pickle.loads(pickle.dumps(pickle.loads(pickled))))
