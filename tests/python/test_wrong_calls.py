"""Calls whose arguments do not fit report which, and what to do; options are documented; texts contain no C++."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leat
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = leat.count(80).batch(4)


def calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All functions, constructors and methods of the module."""
    for name in leat.__all__:
        x = getattr(leat, name)
        if isinstance(x, type) and x.__module__ == "leat._leat":
            if hasattr(x.__init__, "__nb_signature__"):
                yield name, x
            for member, of in vars(x).items():
                if not member.startswith("_") and type(of).__name__ == "nb_method":
                    yield f"{name}.{member}", lambda *args, of=of, x=x, **kwargs: of(object(), *args, **kwargs)
                elif not member.startswith("_") and type(of).__name__ == "nb_func":
                    yield f"{name}.{member}", of
        elif type(x).__name__ == "nb_func":
            yield name, x


def test_no_call_shows_the_signatures_of_cpp() -> None:
    found = list(calls())
    assert len(found) > 150
    for name, call in found:
        with pytest.raises(TypeError) as raised:
            call(no_such_argument=1)
        assert f"{name}() has no argument no_such_argument=: " in str(raised.value)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: leat.Loader(DATA, num_workers=4), "Loader() has no argument num_workers=: workers="),
        (lambda: leat.Loader(DATA, batch_size=4), "data.batch(32)"),
        (lambda: leat.Loader(DATA, shuffle=True), "data.shuffle(seed=0)"),
        (lambda: leat.Loader(DATA, pin_memory=True), "leat.torch.DataLoader"),
        (lambda: leat.Loader(DATA, collate_fn=list), "rows of one shape are stacked"),
        (lambda: leat.Loader(DATA, drop_last=True), 'end="drop"'),
        (lambda: leat.Loader(DATA, epoch=3), "Loader() has no argument epoch=: epochs= is meant?"),
        (lambda: leat.Loader(DATA, 2), "takes: data; by name: rank=, world_size=, workers="),
        (lambda: leat.Loader(), "Loader() was called without data: Pipeline"),
        (lambda: leat.Loader("count(4)"), "Loader() was given data='count(4)'; needed: Pipeline, not a str"),
        (lambda: leat.Loader(DATA, bad_samples="ignore"), '"fail", "substitute" or "mask"; here it is "substitute"'),
        (lambda: leat.Loader(DATA, workers=-1), "workers=-1; needed: a whole number of at least 0"),
        (lambda: leat.count(8).batch(8, drop_last=True), 'Pipeline.batch() has no argument drop_last=: data.batch(32, end='),
        (lambda: leat.count(8).batch(8, size=3), "Pipeline.batch() has no argument size=: "),
        (lambda: leat.count(8).batch(8, end="pad"), '"automatic", "drop", "mask" or "cycle"; here it is "mask", whose'),
        (lambda: leat.count(8).batch("10"), "Pipeline.batch() was given rows='10'; needed: int, not a str"),
        (lambda: leat.count(8).batch(), "Pipeline.batch() was called without rows: int"),
        (lambda: leat.count(8).shuffle(kind="half"), "Pipeline.shuffle() was given kind='half'; needed: "),
        (lambda: leat.count(8).shuffle(7), "takes: none; by name: seed=, kind=, window="),
        (lambda: leat.count(8).shuffle(sed=7), "seed= is meant?"),
        (lambda: leat.count(8).map("m@1"), "Pipeline.map() was called without function"),
        (lambda: leat.count(8).map(lambda s: None), "Pipeline.map() was given stage=<function"),
        (lambda: leat.count(8).map("m@1", print, procesess=2), "processes= is meant?"),
        (lambda: leat.count(8).map("m@1", 3), "function=3; needed: collections.abc.Callable"),
        (lambda: leat.count("many"), "count() was given records='many'; needed: int, not a str"),
        (lambda: leat.OrderPreview("count(4)"), "='count(4)'; needed: Pipeline, not a str"),
        (lambda: leat.indexed_sources("count(4)"), "indexed_sources() was given pipeline='count(4)'; needed: Pipeline"),
        (lambda: leat.open_unit("count(4)"), "open_unit() was "),
        (lambda: leat.count(-1), "count() was given records=-1; needed: a whole number of at least 0"),
        (lambda: leat.raw_records("x", "f31"), "raw_records() was given dtype='f31'; needed: the name of an element type"),
        (lambda: leat.tar_shards(3), "tar_shards() was given pattern=3; needed:"),
        (lambda: leat.json_lines("x", types=3), "types=3"),
        (lambda: leat.mix([3]), "mix() was given inputs=[3]; needed:"),
        (lambda: leat.select("a"), "select() was given fields='a'; needed: collections.abc.Sequence[str], not a str"),
    ],
)  # fmt: skip
def test_what_users_of_other_loaders_try(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert text in str(raised.value), raised.value
    assert "incompatible function arguments" not in str(raised.value)


def test_calls_that_need_conversions_are_not_taken_for_wrong_ones() -> None:
    assert leat.count(8).sample(1) == leat.count(8).sample(1.0)
    assert leat.key_hash(keep=50).parameters == leat.key_hash(50, 0).parameters
    assert leat.random_erasing(value=(0, 0, 0)).name == "random_erasing"
    next(leat.Loader(DATA, stuck_after=5))


def test_signatures_and_help_of_classes() -> None:
    found = inspect.signature(leat.Loader).parameters
    assert list(found)[:4] == ["data", "rank", "world_size", "workers"]
    assert (found["workers"].default, found["leases"].default, found["rank"].default) == ("auto", None, None)
    for name in leat.__all__:
        x = getattr(leat, name)
        if isinstance(x, type) and hasattr(x.__init__, "__nb_signature__"):
            inspect.signature(x)
    documented = leat.Loader.__init__.__doc__
    assert documented is not None
    page = (ROOT / "docs" / "python.md").read_text()
    for option in found:
        assert f"`{option}`" in documented
        assert f"`{option}`" in page or option == "data"


def is_documented(x: Any) -> bool:
    if x is None or isinstance(x, (str, tuple)) or type(x).__name__ == "member_descriptor":
        return False  # it has no text of its own: that of its class may name it
    x = getattr(x, "fget", None) or x
    overloads = getattr(x, "__nb_signature__", None)
    return all(of[1] for of in overloads) if overloads else bool(getattr(x, "__doc__", ""))


def test_every_public_name_is_documented() -> None:
    bare, count = [], 0
    for name in leat.__all__:
        x = getattr(leat, name)
        if isinstance(x, str):  # leat.automatic
            continue
        members = {name: x} if not isinstance(x, type) else {
            f"{name}.{member}": of
            for member, of in vars(x).items()
            if not member.startswith("_") or (member == "__init__" and hasattr(of, "__nb_signature__"))
        } | {name: x}  # fmt: skip
        count += len(members)
        of_type = x.__doc__ or ""
        bare += [
            member
            for member, of in members.items()
            if not is_documented(of) and f"`{member.rpartition('.')[2]}`" not in of_type
        ]
    assert bare == []
    assert count > 330


def test_texts_name_nothing_of_cpp() -> None:
    of_cpp = re.compile(r"\(\{|_options\b|\{\.|::[a-z_]|\w<[A-Z]|\bview\(\)|--ranges|--journal")
    found = []
    for folder in ("runtime", "actors", "messages"):
        for file in sorted((ROOT / folder).rglob("*.[ch]pp")):
            text = re.sub(r"//[^\n]*|#include[^\n]*", "", file.read_text())
            text = re.sub(r'R"\(.*?\)"', "", text, flags=re.DOTALL)  # what servers are told
            text = re.sub(r'"\s*\n\s*"', "", text)
            for said in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
                if of_cpp.search(said) and not re.search(r"std::|std::bad_alloc|:port|fd00", said):
                    found.append(f"{file.relative_to(ROOT)}: {said}")
    assert found == []
