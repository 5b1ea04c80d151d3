"""What functions return, and what that becomes; values that would lose something as fields."""

import functools
import re
from collections.abc import Callable
from typing import Any

import leat
import numpy as np
import pytest
from support import first

SAMPLES = leat.count(8)


def error_of(data: leat.Pipeline, *codes: str) -> str:
    with pytest.raises(leat.Error) as raised:
        first(data)
    assert not codes or raised.value.code in codes
    return str(raised.value)


# Exceptions of calls that do not reach Python code have no traceback.
@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: SAMPLES.map("m@1", lambda: 1), "TypeError: .*positional argument"),
        (lambda: SAMPLES.map("m@1", functools.partial(lambda: 1)), "TypeError: .*positional argument"),
        (lambda: SAMPLES.map("m@1", int), "TypeError: int"),
        (lambda: SAMPLES.filter("m@1", lambda: True), "TypeError: .*positional argument"),
        (lambda: SAMPLES.filter("m@1", lambda: True, of_id=True), "TypeError: .*positional argument"),
        (lambda: SAMPLES.filter("m@1", lambda s: s["value"]), "ValueError: .*more than one element"),
        (lambda: SAMPLES.filter("m@1", functools.partial(max, key=3)), "TypeError"),
        (lambda: SAMPLES.flat_map(leat.FlatMapStage("m@1", lambda: 1, lambda s, i: None)), "TypeError: .*positional argument"),
        (lambda: SAMPLES.flat_map(leat.FlatMapStage("m@1", lambda s: 1, lambda: None)), "TypeError: .*positional argument"),
        (
            lambda: SAMPLES.scan(leat.ScanStage("m@1", look=lambda s: b"", step=lambda a, b: None, apply=lambda s, x: None)),
            "TypeError: .*NoneType",
        ),
        (lambda: leat.indexed("m@1", {"a": 1, "b": 2}), "KeyError: 0"),
        (lambda: leat.from_function("m@1", 8, lambda: {}), "TypeError: .*positional argument"),
        (lambda: leat.from_function("m@1", 8, lambda i: [i]), "list"),
        (lambda: SAMPLES.map("m@1", lambda s: s["other"]), "count/0.*other"),
        (lambda: SAMPLES.map("m@1", lambda s: s.make("x", (2,), "f31")), "count/0.*f31"),
        (lambda: leat.sequential("m@1", 8, lambda unit: None), r"open\(unit\) gave a NoneType; needed: an iterator"),
        (lambda: leat.once("m@1", lambda: True), "TypeError: .*positional argument"),
    ],
)
def test_what_a_call_raises_has_its_type_and_text(made: Callable[[], leat.Pipeline], text: str) -> None:
    told = error_of(made().batch(4, end="mask"))
    assert re.search(text, told), told


def test_texts_that_utf8_does_not_have() -> None:
    def raises(sample: leat.Sample) -> None:
        raise ValueError("half \ud800")

    def is_bad(sample: leat.Sample) -> None:
        raise leat.BadSample("corrupt", "half \ud800")

    for call in (raises, is_bad):
        assert r"half \ud800" in error_of(SAMPLES.map("m@1", call).batch(4))


def is_refused(value: Any, text: str, setter: str = "set") -> None:
    told = error_of(SAMPLES.map("m@1", lambda s: getattr(s, setter)("x", value)).batch(4), "bad_sample")
    assert "field x was set to" in told
    assert text in told


def test_values_are_refused_by_their_names() -> None:
    is_refused(1 << 63, "an int of 64 bits, and int64 has 63 and a sign; needed: numpy.uint64(x)")
    is_refused(-(1 << 80), "an int of 81 bits")
    is_refused("half \ud800", "a str with a lone surrogate")
    is_refused(np.zeros(3, "datetime64[s]"), "a ndarray, an array of the dtype datetime64[s]")
    is_refused(["a", "b"], "a list, an array of the dtype <U1")
    is_refused(None, "a NoneType")
    is_refused(object(), "a object")
    for call, text in (
        (lambda s: s.set("x", np.zeros(3, complex)), "complex128"),
        (lambda s: s.set("x", [[1], [2, 3]]), "inhomogeneous"),
        (lambda s: s.set("x", np.zeros((1,) * 20)), "dimensions"),
        (lambda s: s.set_ragged("x", np.float32(1)), "at least one dimension, got a number"),
    ):
        assert text in error_of(SAMPLES.map("m@1", call).batch(4), "bad_sample")
    for setter in ("set", "set_ragged"):
        is_refused(np.zeros(3, ">f4"), "dtype >f4; needed: this machine's order of bytes: x.astype(", setter)


@pytest.mark.parametrize("setter", ["set", "set_ragged"])
def test_masked_arrays_do_not_lose_their_mask(setter: str) -> None:
    is_refused(np.ma.array([1, 2], mask=[False, True]), "a masked array, whose mask would be lost", setter)
    whole = SAMPLES.map("m@1", lambda s: getattr(s, setter)("x", np.ma.array([1, 2], mask=[False, False])))
    assert first(whole.batch(4))["x"][0].tolist() == [1, 2]


def test_lists_are_ragged_fields() -> None:
    data = SAMPLES.map("m@1", lambda s: s.set_ragged("x", list(range(int(s["value"][0])))))
    assert [x.tolist() for x in first(data.skip(1).batch(3))["x"]] == [[0], [0, 1], [0, 1, 2]]


def same(sample: leat.Sample) -> Any:
    return sample


def fields(sample: leat.Sample) -> Any:
    return {"value": sample["value"][:1], "x": 1.5}


def nothing(sample: leat.Sample) -> Any:
    return None


@pytest.mark.parametrize("workers", [0, 2])
def test_a_map_returns_none_or_the_sample_or_fields_to_set(workers: int) -> None:
    for call in (same, nothing):
        assert first(SAMPLES.map("m@1", call).batch(4), workers=workers).fields() == ["value"]
    batch = first(SAMPLES.map("y@1", lambda s: s.set("y", 1)).map("m@1", fields).batch(4), workers=workers)
    assert batch["value"].tolist() == [[0], [1], [2], [3]]
    assert batch["x"].tolist() == [1.5] * 4
    assert batch["y"].tolist() == [1] * 4


def test_a_function_of_several_returns_none_or_their_list_or_a_result_for_each() -> None:
    def mixed(samples: list[leat.Sample]) -> list[Any]:
        return [(None, x, {"value": x["value"] * 2})[i % 3] for i, x in enumerate(samples)]

    assert first(SAMPLES.map("m@1", mixed, batched=True).batch(8), workers=1)["value"].shape == (8, 8)
    told = error_of(SAMPLES.map("m@1", lambda samples: samples[:0], batched=True).batch(4))
    assert "the function returned a list; needed: None, or a list with a result for each of the 1 samples" in told


def generator(sample: leat.Sample) -> Any:
    yield {"x": 1}


async def coroutine(sample: leat.Sample) -> Any:
    return {"x": 1}


ODD = [generator, coroutine, lambda sample: 1, lambda sample: [sample], lambda sample: "text"]


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("call", ODD)
def test_other_results_are_refused_at_the_first_sample(call: Callable[..., Any]) -> None:
    wanted = "; needed: None or the sample"
    assert wanted in error_of(SAMPLES.map("m@1", call).batch(4))
    assert wanted in error_of(SAMPLES.map("m@1", lambda samples: [call(x) for x in samples], batched=True).batch(4))
    picks = leat.FlatMapStage("m@1", None, lambda sample, child: call(sample), children=1)
    assert wanted in error_of(SAMPLES.flat_map(picks).batch(4, end="mask"))
    applies = leat.ScanStage("m@1", look=lambda s: b"", step=lambda a, b: (a, b), apply=lambda s, x: call(s))
    assert wanted in error_of(SAMPLES.scan(applies).batch(4, end="mask"))
    reads = leat.from_function("m@1", 8, lambda record, sample: (sample.set("x", 1), call(sample))[1])
    assert wanted in error_of(reads.batch(4))


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("call", [nothing, generator, coroutine])
def test_filters_that_answer_nothing_are_refused(call: Callable[..., Any]) -> None:
    for of_id in (False, True):
        data = SAMPLES.filter("m@1", call, of_id=of_id).batch(4, end="mask")
        assert "; needed: True for samples to keep" in error_of(data)


def test_filters_answer_with_whatever_is_true() -> None:
    for answer in (1, np.bool_(True), np.float32(2), "yes", [0]):
        assert len(first(SAMPLES.filter("m@1", lambda s, x=answer: x).batch(8, end="mask")).ids()) == 8


def test_counts_and_states_of_other_types() -> None:
    for count in ("many", -1, 1.5, None):
        stage = leat.FlatMapStage("m@1", lambda s, x=count: x, lambda s, i: None)
        assert "; needed: a number of children" in error_of(SAMPLES.flat_map(stage).batch(4, end="mask"), "bad_sample")
    stage = leat.ScanStage("m@1", look=lambda s: 7, step=lambda a, b: (a, b), apply=lambda s, x: None)
    assert "returned a int; needed: bytes" in error_of(SAMPLES.scan(stage).batch(4, end="mask"), "bad_sample")
    with pytest.raises(TypeError, match="initial"):
        leat.ScanStage("m@1", look=same, step=max, apply=nothing, initial=7)
