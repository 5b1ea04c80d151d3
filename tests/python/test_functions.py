"""Functions and sources in Python: the same batches with any workers, and what exceptions become."""

import errno
import gc
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leat
import numpy as np
import pytest
from process_jobs import number
from support import digests, due, first, refused


def draw(sample: leat.Sample, context: leat.Context) -> None:
    sample["u"] = context.uniform(2, 3)
    sample["b"] = context.below(7)
    sample["c"] = context.coin(0.5)
    sample["n"] = context.normal()
    sample["bits"] = np.array([context.bits64()], np.uint64)
    sample["np"] = context.numpy().integers(0, 1000, 4)
    sample["place"] = [context.epoch, context.position if context.has_row else -1, context.lane, context.lanes]


class Counted:
    """A unit of `sequential` that resumes."""

    def __init__(self, unit: int) -> None:
        self.unit, self.at = unit, 0

    def next(self, sample: leat.Sample) -> bool:
        if self.at == 20:
            return False
        sample["at"] = [self.unit, self.at]
        self.at += 1
        return True

    def save(self) -> bytes:
        return str(self.at).encode()

    def load(self, state: bytes) -> None:
        self.at = int(state)


TABLE = [{"i": i, "text": f"row {i}", "bytes": [i] * 3} for i in range(120)]


class Written:
    """Records by number, which it sets itself."""

    def __len__(self) -> int:
        return 120

    def read(self, i: int, sample: leat.Sample) -> None:
        sample.set("i", 10 * i)


def unit_of_dicts(unit: int) -> Iterator[dict[str, Any]]:
    for i in range(20):
        yield {"at": [unit, i]}


def running_maximum() -> leat.ScanStage:
    def step(state: bytes, looked: bytes) -> tuple[bytes, bytes]:
        most = max(int(state), int(looked))
        return str(most).encode(), str(most).encode()

    return leat.ScanStage(
        "most@1",
        look=lambda s: str(number(s) % 17),
        step=step,
        apply=lambda s, x: s.set("most", int(x)),
        initial=b"0",
        parameters="of=17",
    )


def counted_per_worker() -> Callable[[leat.Sample], None]:
    calls = 0

    def call(sample: leat.Sample) -> None:
        nonlocal calls
        calls += 1
        sample["square"] = number(sample) ** 2

    return call


@leat.map("decorated@1")
def decorated(sample: leat.Sample) -> None:
    sample["twice"] = 2 * number(sample)


@leat.filter("thirds@1", parameters="n=3")
def thirds(sample: leat.Sample) -> bool:
    return number(sample) % 3 != 0


COUNTED = leat.count(120)
PIPELINES = {
    "map": COUNTED.shuffle(seed=1).map("twice@1", lambda s: s.set("twice", 2 * number(s))).batch(8),
    "map with random numbers": COUNTED.shuffle(seed=1).map("draw@1", draw).batch(8),
    "map per worker": COUNTED.map("square@1", counted_per_worker, per_worker=True).batch(8),
    "decorators": COUNTED.filter(thirds).map(decorated).batch(8, end="mask"),
    "filter": COUNTED.filter("odd@1", lambda s: number(s) % 2).batch(8, end="mask"),
    "filter of ids": COUNTED.filter("seven@1", lambda name: "7" in name, of_id=True).batch(4, end="mask"),
    "flat_map": COUNTED.flat_map(
        leat.FlatMapStage("some@1", lambda s: number(s) % 4, lambda s, child: s.set("child", child))
    ).batch(8, end="mask"),
    "flat_map of two": COUNTED.flat_map(leat.FlatMapStage("two@1", None, lambda s, i: s.set("i", i), children=2)).batch(
        8, end="mask"
    ),
    "scan": COUNTED.scan(running_maximum()).batch(4, lanes=2, end="mask"),
    "from_function": leat.from_function("squares@1", 120, lambda i: {"square": i * i}).shuffle(seed=3).batch(8),
    "from_function that sets": leat.from_function("set@1", 120, lambda i, s: s.set("i", i)).batch(8),
    "indexed": leat.indexed("table@1", TABLE).shuffle(seed=3).batch(8),
    "indexed that sets": leat.indexed("written@1", Written()).batch(8),
    "sequential": leat.sequential("counted@1", 8, Counted, order="shuffled", seed=4).batch(8, end="drop"),
    "sequential of dicts": leat.sequential("dicts@1", 8, unit_of_dicts).batch(8, end="mask"),
    "buffer over sequential": leat.sequential("counted@1", 8, Counted).shuffle_buffer(64, seed=2).batch(8, end="drop"),
}


def content(batch: leat.Batch) -> tuple[Any, ...]:
    return (batch.epoch, batch.step, str(batch.digest()), batch.ids(), [str(x) for x in batch.content_hashes()])


@pytest.mark.parametrize("name", PIPELINES)
def test_the_same_batches_for_any_number_of_workers_and_after_a_restore_at_every_batch(name: str) -> None:
    data = PIPELINES[name]
    options = {"epochs": 2, "hash_pixels": True, "leases": 1000}
    batches = list(leat.Loader(data, workers=0, **options))
    all_of_them = [content(x) for x in batches]
    assert [x[2] for x in all_of_them] == due(data, 0) + due(data, 1)
    assert len(all_of_them) > 8
    parts = [x.snapshot() for x in batches]
    del batches
    for workers in (1, 3):
        assert [content(x) for x in leat.Loader(data, workers=workers, **options)] == all_of_them
    for at, part in enumerate(parts):
        loader = leat.Loader(data, workers=(0, 1, 3)[at % 3], **options)
        loader.restore_parts([part])
        assert [content(x) for x in loader] == all_of_them[at + 1 :]


def test_a_record_that_exists_once_comes_once() -> None:
    left = iter(range(20))
    threads = set()

    def take(sample: leat.Sample) -> bool:
        threads.add(threading.get_ident())
        for i in left:
            sample["i"] = i
            return True
        return False

    batches = list(leat.Loader(leat.once("queue@1", take).batch(4, end="mask"), workers=2))
    assert [x["i"].tolist() for x in batches] == [[*range(i, i + 4)] for i in range(0, 20, 4)]
    assert batches[-1].ids()[-1] == "queue/19"
    assert threading.get_ident() not in threads


def test_random_numbers_belong_to_the_position() -> None:
    seen: dict[tuple[int, int], list[float]] = {}
    for workers in (0, 3):
        for batch in leat.Loader(PIPELINES["map with random numbers"], workers=workers, epochs=2):
            for i, position in enumerate(batch.positions()):
                found = [batch["u"][i], batch["n"][i], *batch["np"][i].tolist(), int(batch["bits"][i, 0])]
                assert seen.setdefault((batch.epoch, position), found) == found
                assert 2 <= found[0] < 3
                assert batch["place"][i].tolist() == [batch.epoch, position, position % 8, 8]
    assert len({tuple(x) for x in seen.values()}) == 240


def test_records_and_units_are_read_without_a_loader() -> None:
    (table,) = leat.indexed_sources(PIPELINES["indexed"])
    assert (len(table), table.name, table.id(7)) == (120, "table", "table/7")
    assert table[7]["text"] == b"row 7"
    assert table[7]["bytes"].tolist() == [7, 7, 7]
    unit = list(leat.open_unit(leat.sequential("counted@1", 8, Counted), 3))
    assert [x["at"].tolist() for x in unit] == [[3, i] for i in range(20)]
    with pytest.raises(leat.InvalidArgument):
        leat.open_unit(leat.sequential("counted@1", 8, Counted), 8)


def test_a_sample_shows_its_fields() -> None:
    seen: list[Any] = []

    def look(sample: leat.Sample) -> None:
        seen.append((sample.id, sample.fields(), "value" in sample, sample.has("other"), sample.type_of("value")))
        seen.append((sample.shape_of("value"), sample.is_bytes("value"), sample.is_ragged("value"), repr(sample)))
        sample["word"] = "word"
        seen.append((sample["word"], sample.text("word"), sample.get("word"), sample.to_dict()["word"]))
        sample["x"] = 3
        sample.erase("x")
        sample.make_bytes("made", 3)[:] = [1, 2, 3]
        seen.append((sample["made"], sample.fields()))

    first(leat.count(1).map("look@1", look).batch(1))
    assert seen[:4] == [
        ("count/0", ["value"], True, False, "u8"),
        ((8,), False, False, "<leat.Sample count/0: value>"),
        (b"word", "word", b"word", b"word"),
        (b"\1\2\3", ["value", "word", "made"]),
    ]


def failing(problem: BaseException, at: int = 9) -> leat.Pipeline:
    def call(sample: leat.Sample) -> None:
        sample["x"] = 1
        if number(sample) == at:
            raise problem

    return COUNTED.map("failing@1", call).batch(8)


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_function_raises_makes_a_bad_sample(workers: int) -> None:
    data = failing(ValueError("no number"))
    with pytest.raises(leat.Error, match="no number") as raised:
        digests(leat.Loader(data, workers=workers))
    assert raised.value.code == "bad_sample"
    assert raised.value.sample == "count/9"
    assert "ValueError: no number" in str(raised.value)
    assert "test_functions.py" in str(raised.value)

    batches = list(leat.Loader(data, workers=workers, bad_samples="mask"))
    (bad,) = batches[1].bad()
    assert (bad.position, bad.id, bad.why, bad.substitute) == (9, "count/9", "function_error", None)
    assert "no number" in bad.text
    assert "count/9" in repr(bad)
    assert batches[1].valid.tolist() == [True, False] + [True] * 6
    loader = leat.Loader(data, workers=workers, bad_samples="substitute")
    (bad,) = [x for batch in loader for x in batch.bad()]
    assert bad.substitute is not None
    assert int(bad.substitute.removeprefix("count/")) % 8 == 1  # the same lane
    assert loader.stats()["bad"]["function_error"] == 1


@pytest.mark.parametrize("cause", ["truncated", "corrupt", "empty", "missing_field", "unsupported", "too_large", "wrong_shape"])
def test_a_function_names_the_cause(cause: str) -> None:
    batch = list(leat.Loader(failing(leat.BadSample(cause, "because")), workers=1, bad_samples="mask"))[1]
    assert [(x.why, x.text.endswith("because")) for x in batch.bad()] == [(cause, True)]


@pytest.mark.parametrize(
    "problem",
    [MemoryError("none"), OSError(errno.ENOSPC, "full"), OSError(errno.EMFILE, "files"), OSError(errno.ENOMEM, "memory")],
)
@pytest.mark.parametrize("workers", [0, 2])
def test_what_the_machine_lacks_ends_the_job(problem: BaseException, workers: int) -> None:
    loader = leat.Loader(failing(problem), workers=workers, bad_samples="mask")
    with pytest.raises(leat.Error) as raised:
        digests(loader)
    assert raised.value.code == "no_resources"
    assert type(problem).__name__ in str(raised.value)
    with pytest.raises(leat.Error):
        loader.next()


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("workers", [0, 2])
def test_what_ends_programs_ends_the_job(problem: BaseException, workers: int) -> None:
    loader = leat.Loader(failing(problem), workers=workers, bad_samples="substitute")
    with pytest.raises(type(problem)):
        digests(loader)
    loader.close()


def test_a_missing_file_is_just_a_bad_sample() -> None:
    def call(sample: leat.Sample) -> None:
        if number(sample) == 9:
            Path("/nowhere/at/all").read_text()

    batch = list(leat.Loader(COUNTED.map("open@1", call).batch(8), bad_samples="mask", workers=1))[1]
    assert "FileNotFoundError" in batch.bad()[0].text


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


def test_exceptions_without_a_text() -> None:
    assert list(leat.Loader(failing(Unprintable()), bad_samples="mask", workers=1))[1].bad()[0].why == "function_error"


@pytest.mark.parametrize("workers", [0, 2])
def test_kept_arrays_are_refused(workers: int) -> None:
    kept = []
    data = leat.count(16).map("keeps@1", lambda s: kept.append(s["value"]) or s.set("x", 1)).batch(8)
    with pytest.raises(leat.Error, match="kept an array") as raised:
        digests(leat.Loader(data, workers=workers))
    assert raised.value.code == "bad_sample"
    copies = []
    data = leat.count(16).map("copies@1", lambda s: copies.append(s["value"].copy())).batch(8)
    assert digests(leat.Loader(data, workers=workers)) == due(data)


@pytest.mark.parametrize("workers", [0, 2])
def test_kept_samples_and_contexts_are_refused(workers: int) -> None:
    kept: list[tuple[leat.Sample, leat.Context]] = []
    data = COUNTED.map("keeps@1", lambda s, c: kept.append((s, c))).batch(8)
    assert digests(leat.Loader(data, workers=workers)) == due(data)
    assert len(kept) >= 120
    for sample, context in (kept[0], kept[-1]):
        for use in (
            lambda s=sample: s.id,
            lambda s=sample: s["value"],
            lambda s=sample: s.set("x", 1),
            lambda c=context: c.epoch,
        ):
            refused("after the function", use)
        assert "given back" in repr(sample)


def test_an_array_in_a_cycle_is_collected_and_not_refused() -> None:
    def call(sample: leat.Sample) -> None:
        cycle: list[Any] = [sample["value"]]
        cycle.append(cycle)

    gc.disable()
    try:
        data = leat.count(16).map("cycle@1", call).batch(8)
        assert digests(leat.Loader(data, workers=1)) == due(data)
    finally:
        gc.enable()


def test_functions_of_one_and_two_arguments_and_callables() -> None:
    class Call:
        def __call__(self, sample: leat.Sample, context: leat.Context) -> None:
            sample["p"] = context.position

        def method(self, sample: leat.Sample, scale: int = 3) -> None:
            sample["s"] = scale

    batch = first(leat.count(4).map("a@1", Call()).map("b@1", Call().method).batch(4))
    assert batch["p"].tolist() == [0, 1, 2, 3]
    assert batch["s"].tolist() == [3] * 4


def test_every_worker_makes_its_own_function() -> None:
    made: list[int] = []

    def factory() -> Callable[[leat.Sample], None]:
        made.append(threading.get_ident())
        return lambda s: s.set("x", 1)

    data = COUNTED.map("own@1", factory, per_worker=True).batch(8)
    assert digests(leat.Loader(data, workers=3)) == due(data)
    assert len(set(made)) == len(made) > 1
    with pytest.raises(leat.Error, match="no function"):
        first(COUNTED.map("own@1", lambda: exec("raise ValueError('no function')"), per_worker=True).batch(8))


def test_random_pipelines_of_python_functions_restore() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed", seed)
    pick = random.Random(seed)
    stages: list[Callable[[leat.Pipeline], leat.Pipeline]] = [
        lambda x: x.filter("most@1", lambda s: number(s) % 5 != 0),
        lambda x: x.flat_map(leat.FlatMapStage("few@1", lambda s: number(s) % 3, lambda s, i: s.set(f"i{len(s.fields())}", i))),
        lambda x: x.shuffle_buffer(16, seed=pick.randrange(99)),
        lambda x: x.map("draw@1", draw),
        lambda x: x.sample(0.8, seed=pick.randrange(99)),
        lambda x: x.scan(running_maximum()),
    ]
    for _ in range(6):
        data = leat.count(pick.randrange(60, 200)).shuffle(seed=pick.randrange(99))
        for stage in pick.sample(stages, 3):
            data = stage(data)
        data = data.batch(4, lanes=pick.choice([1, 2, 4]), end="mask")
        batches = list(leat.Loader(data, workers=2, epochs=2, hash_pixels=True, leases=1000))
        expected = [content(x) for x in batches]
        assert [x[2] for x in expected] == due(data, 0) + due(data, 1), str(data)
        at = pick.randrange(len(batches))
        loader = leat.Loader(data, workers=pick.choice([0, 1, 3]), epochs=2, hash_pixels=True)
        loader.restore_parts([batches[at].snapshot()])
        assert [content(x) for x in loader] == expected[at + 1 :], str(data)
