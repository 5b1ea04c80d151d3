"""leat.parquet and leat.arrow: rows as pyarrow has them, exactly once and in order, through restores, kills and rescales."""

import functools
import json
import pickle
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import leat
import numpy as np
import pytest
from child_process import ChildProcess, run_python
from support import COMMAND, Ranks, check_restores, digests, due, refused

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: tests/python/requirements.txt")

import pyarrow.parquet as pq  # noqa: E402
from table_files import WRITERS, column, numbered, random_rows, source, table_of, value_in_leat, values_of, write_parquet  # noqa: E402

ALL = list(range(120))
ORDERS = {
    "stored": lambda x: x.batch(8),
    "full": lambda x: x.shuffle(seed=3).batch(8),
    "windowed": lambda x: x.shuffle(seed=3, kind="windowed", window=3).batch(8, lanes=4, end="mask"),
    "buffer": lambda x: x.shuffle_buffer(20, seed=3).batch(8, lanes=4, end="mask"),
    "windowed and buffer": lambda x: (
        x.shuffle(seed=3, kind="windowed", window=2).shuffle_buffer(20).batch(8, lanes=4, end="mask")
    ),
    "packed": lambda x: x.map(leat.select(["list"])).pack("list", 16, bins=2).batch(8, lanes=4, end="mask"),
}


def numbers(batches: Iterable[leat.Batch]) -> list[list[int]]:
    return [values_of(x, "n")[: x.valid_rows] for x in batches]


def flat(lists: Iterable[list[int]]) -> list[int]:
    return [x for xs in lists for x in xs]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("seed", range(25))
def test_random_tables_come_as_they_were_written(writer: str, seed: int, tmp_path: Path) -> None:
    print("seed", seed, writer)
    draw = random.Random(f"{seed} {writer}")
    schema, files = random_rows(draw, draw.randint(1, 3), draw.randint(1, 60))
    for i, rows in enumerate(files):
        WRITERS[writer](tmp_path / f"{i}.table", table_of(schema, rows), draw.randint(1, 20), draw)
    options = {"cache_bytes": draw.choice([0, 1, 1000, 1 << 30])}
    data = source(writer, tmp_path / "*.table", **options).batch(draw.randint(1, 7), end="mask")
    expected = [
        (f"{i}.table/{k}", {f.name: value_in_leat(f.type, row[f.name]) for f in schema})
        for i, rows in enumerate(files)
        for k, row in enumerate(rows)
    ]
    if len(files) == 1:
        assert expected[0][0] == "0.table/0"
    for workers in (0, 1, 3):
        loader = leat.Loader(data, workers=workers)
        found = []
        for batch in loader:
            columns = {x: values_of(batch, x) for x in schema.names}
            found += [(id, {x: columns[x][i] for x in columns}) for i, id in enumerate(batch.ids()) if batch.valid[i]]
        assert found == expected
    assert digests(leat.Loader(data, workers=2)) == due(data)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("order", ORDERS)
def test_a_restore_behind_every_batch_goes_on_with_the_next(order: str, writer: str, tmp_path: Path) -> None:
    data = ORDERS[order](numbered(tmp_path, writer))
    wanted = due(data)
    assert digests(leat.Loader(data, workers=0)) == wanted
    if order != "packed":
        found = flat(numbers(leat.Loader(data, workers=3)))
        assert sorted(found) == ALL
        assert (found == ALL) == (order == "stored")
    check_restores(lambda: ORDERS[order](source(writer, tmp_path / "rows-*")), lambda x: str(x.digest()), wanted)


@pytest.mark.parametrize("order", ["stored", "full", "windowed", "buffer"])
def test_other_numbers_of_ranks_continue(order: str, tmp_path: Path) -> None:
    data = ORDERS[order](numbered(tmp_path))
    whole = numbers(leat.Loader(data, workers=0))
    saved = str(tmp_path / "saved")
    done = 0
    for world_size, steps in ((4, 3), (1, 2), (2, 5), (4, None)):

        def of_rank(rank: int, agree: Any, world_size: int = world_size, steps: int | None = steps) -> list[dict[int, int]]:
            loader = leat.Loader(
                data, rank=rank, world_size=world_size, workers=rank % 3, agree=agree if world_size > 1 else None
            )
            loader.restore(saved)
            rows = []
            for batch in loader:
                rows.append(
                    {p: n for p, n, good in zip(batch.positions(), values_of(batch, "n"), batch.valid, strict=True) if good}
                )
                if len(rows) == steps:
                    loader.save(saved, batch)
                    break
            loader.wait_saved()
            return rows

        joined = [{p: n for x in at for p, n in x.items()} for at in zip(*Ranks(world_size).run(of_rank), strict=True)]
        assert [[x[p] for p in sorted(x)] for x in joined] == whole[done : done + len(joined)]
        done += len(joined)
    assert done == len(whole)


JOB = """
import os, signal, sys, leat
from test_parquet import ORDERS
folder, order, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
loader = leat.Loader(ORDERS[order](leat.parquet(folder + "/rows-*")), workers=2, epochs=2)
loader.restore(folder + "/saved")
for batch in loader:
    print(batch.global_step, batch.digest(), flush=True)
    if batch.global_step % 4 == 3:
        loader.save(folder + "/saved", batch)
        loader.wait_saved()
    if batch.global_step == last:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("order", ["full", "windowed", "buffer"])
def test_a_job_that_is_killed_again_and_again_trains_each_step_as_one_that_is_not(order: str, tmp_path: Path) -> None:
    wanted = [str(x.digest()) for x in leat.Loader(ORDERS[order](numbered(tmp_path)), workers=0, epochs=2)]
    seen: dict[int, str] = {}
    for last in (5, 6, 13, 22, len(wanted)):
        arguments = [sys.executable, "-c", JOB, tmp_path, order, last]
        with ChildProcess(arguments, cwd=Path(__file__).parent) as child:
            ended = child.end()
        assert ended.returncode == (0 if last == len(wanted) else -signal.SIGKILL), ended.stderr
        steps = [(int(a), b) for a, b in (x.split() for x in ended.stdout.splitlines())]
        assert [a for a, _ in steps] == list(range(steps[0][0], steps[-1][0] + 1))
        for step, digest in steps:
            assert seen.setdefault(step, digest) == digest
    assert [seen[i] for i in range(len(wanted))] == wanted


def test_each_row_group_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered(tmp_path)
    decoded: list[Any] = []
    real = leat.tables._decoded

    def counted(read: Any) -> Any:
        decoded.append(read)
        return real(read)

    monkeypatch.setattr(leat.tables, "_decoded", counted)
    for order in ("stored", "windowed", "buffer"):
        for workers in (0, 1, 4):
            decoded.clear()
            data = ORDERS[order](leat.parquet(str(tmp_path / "rows-*")))
            assert len(flat(numbers(leat.Loader(data, workers=workers, epochs=1)))) == 120
            assert len(decoded) == 15, order
    decoded.clear()
    small = leat.parquet(str(tmp_path / "rows-*"), cache_bytes=0)
    assert flat(numbers(leat.Loader(small.batch(8), workers=0))) == ALL
    assert len(decoded) == 15
    assert sorted(flat(numbers(leat.Loader(small.shuffle(seed=1).batch(8), workers=0)))) == ALL
    assert len(decoded) > 60


def test_a_windowed_shuffle_gives_each_rank_row_groups_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered(tmp_path, rows=64)
    groups: list[tuple[str, int]] = []
    real = leat.tables._parquet
    monkeypatch.setattr(leat.tables, "_parquet", lambda path, *stamp: groups.append((path, 0)) or real(path, *stamp))
    data = leat.parquet(str(tmp_path / "rows-*")).shuffle(kind="windowed", window=2, seed=1).batch(8, lanes=4)
    decoded = []
    for rank in range(4):
        loader = leat.Loader(leat.parse_pipeline(str(data)), rank=rank, world_size=4, workers=0)
        groups.clear()
        assert len(flat(numbers(loader))) == 48
        decoded.append(len(groups))
    assert sum(decoded) <= 24 + 3 * 2, decoded


def test_rows_that_cost_a_row_group_each_are_told_of(told: list[str], tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array(range(4000), pa.int32())}), tmp_path / "large.parquet", row_group_size=400)
    data = leat.parquet(str(tmp_path / "large.parquet"), cache_bytes=0)
    assert sorted(flat(numbers(leat.Loader(data.shuffle(seed=1).batch(100), workers=0)))) == list(range(4000))
    leat.Loader(leat.parquet(str(tmp_path / "large.parquet"), cache_bytes=0).batch(100), workers=0).next()
    assert len(told) == 1
    assert 'needed: shuffle(kind="windowed") with few lanes, a larger cache_bytes' in told[0]


def rows_of(found: leat._columns.Column, rows: int) -> list[Any]:
    """The rows of a column as C++ takes them: None for a null, "inside" for a list that contains one."""
    made: list[Any] = []
    for i in range(rows):
        null = 0 if found.nulls is None else found.nulls[i]
        values = found.values[i] if found.offsets is None else found.values[found.offsets[i] : found.offsets[i + 1]]
        made.append([values.tolist(), None, "inside"][null])
    return made


@pytest.mark.parametrize("seed", range(60))
def test_columns_that_are_slices_or_chunks_with_nulls(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    of, make = column(draw)
    values = [None if draw.random() < 0.2 else make(draw) for _ in range(draw.randint(1, 40))]
    if pa.types.is_nested(of):
        values = [[*x[:-1], None] if x and draw.random() < 0.2 and not isinstance(x[0], list) else x for x in values]
    array = pa.array(values, of)
    begin = draw.randint(0, len(values))
    count = draw.randint(0, len(values) - begin)
    expected = [
        None if x is None else "inside" if isinstance(x, list) and None in x else value_in_leat(of, x)
        for x in values[begin : begin + count]
    ]
    part = array.slice(begin, count)
    at = draw.randint(0, count)
    for given in (part, pa.chunked_array([part]), pa.chunked_array([part.slice(0, at), part.slice(at)])):
        assert rows_of(leat._columns.column("x", given), count) == expected
    assert rows_of(leat._columns.column("x", pa.chunked_array([], of)), 0) == []


def one(data: leat.Pipeline, rows: int = 4, **options: Any) -> leat.Batch:
    batch = next(leat.Loader(data.batch(rows, end="mask"), workers=0, **options))
    return batch


def saved(tmp_path: Path, group: int = 2, **columns: Any) -> str:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return str(path)


def test_nulls_make_bad_samples_that_name_file_row_and_column(tmp_path: Path) -> None:
    path = saved(tmp_path, n=[1, 2, 3, None], text=["a", None, "c", "d"], list=[[1], [], [1, None], [2]])
    batch = one(leat.parquet(path), bad_samples="mask")
    assert batch.valid.tolist() == [True, False, False, False]
    assert [(x.id, x.why) for x in batch.bad()] == [
        ("one.parquet/1", "missing_field"), ("one.parquet/2", "unsupported"), ("one.parquet/3", "missing_field"),
    ]  # fmt: skip
    for x, name, row in zip(batch.bad(), ("text", "list", "n"), (1, 2, 3), strict=True):
        assert f'column "{name}" is ' in x.text
        assert f"in row {row} of {path}" in x.text
    with pytest.raises(
        leat.Error, match=r'column "n" is null in row 3 of .*one\.parquet; needed: a value, or nulls="no_field"'
    ):
        one(leat.parquet(path, ["n"]))


def test_nulls_can_be_fields_that_are_missing(tmp_path: Path) -> None:
    data = leat.parquet(saved(tmp_path, n=[1, None, 3, None], text=["a", None, "c", "d"]), nulls="no_field")
    batch = one(data.map(leat.default_field("n", -1)).map(leat.default_field("text", "none")))
    assert batch["n"].tolist() == [1, -1, 3, -1]
    assert batch.text("text") == ["a", "none", "c", "d"]
    lists = leat.parquet(saved(tmp_path, list=[[1], [1, None]]), nulls="no_field")
    assert one(lists, 2, bad_samples="mask").valid.tolist() == [True, False]


def test_columns_are_chosen_in_any_order(tmp_path: Path) -> None:
    numbered(tmp_path)
    for names in (["n"], ["list", "n"], ["text"]):
        assert set(one(leat.parquet(str(tmp_path / "rows-*"), names))) == set(names)
        assert set(one(leat.parquet(str(tmp_path / "rows-*"), columns=names))) == set(names)
    for columns, told in (
        (["m"], 'no column "m", needed one of n, text, list'),
        (["n", "n"], 'columns with "n"'),
        ([""], "not empty"),
    ):
        with pytest.raises(leat.InvalidArgument, match=told):
            one(leat.parquet(str(tmp_path / "rows-*"), columns))
    refused("None for all", leat.parquet, "x", [])


def test_what_cannot_be_a_field_is_refused_by_name(tmp_path: Path) -> None:
    wrong = {
        "money": pa.array([1, 2], pa.decimal128(9, 2)),
        "blobs": pa.array([[b"a"], [b"b", b"c"]]),
        "times": pa.array([[{"t": 1}], []], pa.list_(pa.struct([("t", pa.timestamp("s"))]))),
        "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())),
    }
    for name, values in wrong.items():
        path = saved(tmp_path, n=[1, 2], **{name: values})
        with pytest.raises(leat.InvalidArgument) as told:
            one(leat.parquet(path))
        stored = pq.read_schema(path).field(name).type  # lists' items have another name there
        assert f'column "{name}" of type {stored}' in str(told.value)
        assert (told.value.stage, told.value.file) == ("parquet", path)
        assert "columns=['n']" in told.value.needed
        assert one(leat.parquet(path, ["n"]))["n"].tolist()[:2] == [1, 2]
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])
    pq.write_table(table, tmp_path / "twice.parquet")
    refused('two columns "a"', one, leat.parquet(str(tmp_path / "twice.parquet")))
    assert one(leat.parquet(str(tmp_path / "twice.parquet"), ["b"]), 1)["b"].tolist() == [2]


def same(data: leat.Pipeline, rows: int = 3) -> dict[str, Any]:
    batch = one(data, rows)
    return {x: values_of(batch, x) if isinstance(batch[x], leat.Ragged) else batch[x].tolist() for x in batch}


def text_list(*texts: str) -> list[list[int]]:
    return [list(x.encode()) for x in texts]


def test_structs_are_their_members(tmp_path: Path) -> None:
    path = saved(tmp_path, group=2, id=[7, 8, 9], pair=[{"n": 1, "deep": {"text": "a"}}, None, {"n": 3, "deep": None}])
    assert same(leat.parquet(path, ["pair.n", "id"], nulls="no_field").map(leat.default_field("pair.n", -1))) == {
        "id": [7, 8, 9], "pair.n": [1, -1, 3],
    }  # fmt: skip
    texts = leat.parquet(path, ["pair.deep"], nulls="no_field").map(leat.default_field("pair.deep.text", "none"))
    assert same(texts) == {"pair.deep.text": text_list("a", "none", "none")}
    assert sorted(one(leat.parquet(path), 1)) == ["id", "pair.deep.text", "pair.n"]
    assert one(leat.parquet(path), 3, bad_samples="mask").valid.tolist() == [True, False, False]
    refused(r'no column "pair.m", needed one of id, pair, pair.n, pair.deep.text', one, leat.parquet(path, ["pair.m"]))
    refused(r'two fields "pair\.n"', one, leat.parquet(path, ["pair", "pair.n"]))


@pytest.mark.parametrize("writer", WRITERS)
def test_struct_members_of_all_writers_and_any_row_group(writer: str, tmp_path: Path) -> None:
    rows = [{"image": {"bytes": bytes([i]) * i, "path": f"{i}.png"}, "label": i} for i in range(9)]
    WRITERS[writer](tmp_path / "rows", pa.Table.from_pylist(rows), 2, random.Random(1))
    found = same(source(writer, tmp_path / "rows"), 9)
    assert found["image.bytes"] == [[i] * i for i in range(9)]
    assert found["image.path"] == text_list(*(f"{i}.png" for i in range(9)))
    assert same(source(writer, tmp_path / "rows", columns=["image.path"]), 9) == {"image.path": found["image.path"]}


def test_nested_lists_are_json(tmp_path: Path) -> None:
    columns = {
        "chat": [[{"role": "user", "content": 'a "é"', "n": 1.5}], [], [{"role": None, "content": "", "n": None}]],
        "tags": [["a", "b"], [], ["\n"]],
        "lists": [[[1]], [[2], [3, 4]], []],
    }
    found = same(leat.parquet(saved(tmp_path, **columns)))
    for name, rows in columns.items():
        assert [json.loads(bytes(x)) for x in found[name]] == rows
    assert bytes(found["chat"][0]).decode() == '[{"role":"user","content":"a \\"é\\"","n":1.5}]'
    assert one(leat.parquet(saved(tmp_path, tags=[["a"], None])), 2, bad_samples="mask").valid.tolist() == [True, False]


def test_types_give_columns_one_type(tmp_path: Path) -> None:
    money = pa.array(["0.10", None, "12345678901234567890.25"]).cast(pa.decimal128(38, 2))
    path = saved(tmp_path, n=pa.array([1, 2, 3], pa.int8()), v=[[1], [], [2, 3]], money=money, none=pa.nulls(3))
    data = leat.parquet(path, types={"n": "i64", "v": "f32", "money": "f64", "none": "i32"}, nulls="no_field")
    found = one(data.map(leat.default_field("money", 0.5)).map(leat.default_field("none", 7)), 3)
    assert (found["n"].dtype, found["n"].tolist()) == (np.int64, [1, 2, 3])
    assert [x.dtype for x in found["v"]] == [np.float32] * 3
    assert found["money"].tolist() == [0.1, 0.5, 12345678901234567890.25]
    assert found["none"].tolist() == [7, 7, 7]
    texts = leat.parquet(path, ["money"], types={"money": "bytes"}, nulls="no_field")
    assert same(texts.map(leat.default_field("money", "?")))["money"] == text_list("0.10", "?", "12345678901234567890.25")
    again = leat.parse_pipeline(str(data.batch(3)))
    assert again == data.batch(3)
    assert again == pickle.loads(pickle.dumps(again))
    assert "types=" not in str(leat.parquet(path).batch(3))
    for types, told in (
        ({"m": "i64"}, 'types with "m", needed one of n, v, money, none'),
        ({"n": "bytes"}, 'column "n" of type int8 as "bytes"'),
        ({"n": "f8"}, "f8"),
    ):
        with pytest.raises(leat.InvalidArgument, match=told):
            one(leat.parquet(path, types=types))
    large = leat.parquet(saved(tmp_path, n=[1, 300]), types={"n": "u8"})
    with pytest.raises(leat.Error, match=r'column "n" as u8 \(types\)'):
        one(large, 2)


def test_columns_may_lie_in_any_order(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1], "text": ["a"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"text": ["b"], "n": [2]}), tmp_path / "1.parquet")
    assert same(leat.parquet(str(tmp_path / "*.parquet")), 2) == {"n": [1, 2], "text": text_list("a", "b")}
    pq.write_table(pa.table({"text": ["b"], "n": [2], "more": [1]}), tmp_path / "2.parquet")
    refused("columns= leaves others out", one, leat.parquet(str(tmp_path / "*.parquet")))


def test_tensors_of_one_shape_are_dense(tmp_path: Path) -> None:
    values = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    batch = one(leat.parquet(saved(tmp_path, x=pa.FixedShapeTensorArray.from_numpy_ndarray(values))))
    assert batch["x"].dtype == np.float32
    assert batch["x"].tolist() == values.tolist()


def test_changed_data_is_refused_at_restore_and_moved_data_is_not(tmp_path: Path) -> None:
    first = tmp_path / "a"
    first.mkdir()
    batch = next(leat.Loader(numbered(first).shuffle(seed=1).batch(8), workers=0))
    part = batch.snapshot()
    moved = tmp_path / "b"
    first.rename(moved)
    again = leat.Loader(leat.parquet(str(moved / "rows-*"), cache_bytes=1).shuffle(seed=1).batch(8), workers=0)
    again.restore_parts([part])
    assert digests(again) == due(leat.parquet(str(moved / "rows-*")).shuffle(seed=1).batch(8))[1:]

    def mismatch(x: leat.Pipeline) -> str:
        with pytest.raises(leat.Error) as told:
            leat.Loader(x.shuffle(seed=1).batch(8), workers=0).restore_parts([part])
        assert told.value.code == "mismatch"
        return str(told.value)

    assert "columns" in mismatch(leat.parquet(str(moved / "rows-*"), ["n", "text"]))
    assert "no_field" in mismatch(leat.parquet(str(moved / "rows-*"), nulls="no_field"))
    pq.write_table(pq.read_table(moved / "rows-1"), moved / "rows-1", row_group_size=10)
    mismatch(leat.parquet(str(moved / "rows-*")))
    numbered(moved, rows=41)
    mismatch(leat.parquet(str(moved / "rows-*")))


def test_files_must_have_the_same_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([1], pa.int32())}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), tmp_path / "1.parquet")
    with pytest.raises(
        leat.InvalidArgument, match=r"1.parquet, got the columns n: int64 \[\], needed n: int32 \[\], as in .*0.parquet"
    ):
        one(leat.parquet(str(tmp_path / "*.parquet")))


def test_files_come_in_the_order_given(tmp_path: Path) -> None:
    numbered(tmp_path)
    turned = leat.parquet([str(tmp_path / "rows-2"), str(tmp_path / "rows-{1..0}")]).batch(8)
    assert flat(numbers(leat.Loader(turned))) == [*range(80, 120), *range(40, 80), *range(40)]
    with pytest.raises(leat.NotFound, match=r"parquet, file .*none\*"):
        one(leat.parquet(str(tmp_path / "none*")))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_is_cut_short_is_refused(writer: str, tmp_path: Path) -> None:
    numbered(tmp_path, writer, files=1)
    path = tmp_path / "rows-0"
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 7), len(whole) - 8, len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(leat.Error) as told:
            one(source(writer, path))
        assert told.value.code == "torn_file", told.value
        assert (told.value.file, told.value.stage) == (str(path), "parquet" if writer == "parquet" else "arrow")


DAMAGE = """
import random, sys, leat
path, format, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
draw = random.Random(seed)
whole = open(path, "rb").read()
said = {"good": 0, "bad": 0, "refused": 0}
for _ in range(150):
    damaged = bytearray(whole)
    for _ in range(draw.choice([1, 1, 2, 20])):
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    open(path, "wb").write(damaged)
    try:
        loader = leat.Loader(getattr(leat, format)(path).batch(8, end="mask"), workers=draw.randrange(3), bad_samples="mask")
        bad = [x.text for batch in loader for x in batch.bad()]
        assert all("rows-0" in x for x in bad), bad
        said["bad" if bad else "good"] += 1
    except leat.Error as problem:
        assert problem.code in ("torn_file", "invalid_argument", "bad_sample", "empty_epoch"), problem
        said["refused"] += 1
print(said)
"""


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("seed", range(2))
def test_damage_is_told_of_and_crashes_nothing(writer: str, seed: int, tmp_path: Path) -> None:
    numbered(tmp_path, writer, files=1)
    found = run_python(DAMAGE, str(tmp_path / "rows-0"), "parquet" if writer == "parquet" else "arrow", str(seed))
    print("seed", seed, found.stdout)
    assert found.returncode == 0, found.stderr[-3000:]


def test_a_damaged_row_group_makes_its_rows_bad_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    table = pa.table({"n": pa.array(range(40), pa.int64())})
    pq.write_table(table, path, row_group_size=10, compression="zstd", use_dictionary=False, write_page_checksum=True)
    place = pq.read_metadata(path).row_group(2).column(0)
    content = bytearray(path.read_bytes())
    content[place.data_page_offset + place.total_compressed_size - 3] ^= 0xFF
    path.write_bytes(content)
    data = leat.parquet(str(path)).batch(10)
    for workers in (0, 2):
        loader = leat.Loader(data, workers=workers, bad_samples="mask")
        found = [(x.valid.tolist(), [y.why for y in x.bad()]) for x in loader]
        assert [all(good) for good, _ in found] == [True, True, False, True]
        assert found[2] == ([False] * 10, ["corrupt"] * 10)
    loader = leat.Loader(data, workers=0)
    assert [x is not None for x in (loader.next(), loader.next())] == [True, True]
    with pytest.raises(leat.Error, match=r"one.parquet, block 2: .*"):
        loader.next()


def test_a_file_that_is_replaced_or_gone_while_the_job_runs_is_an_error(tmp_path: Path) -> None:
    numbered(tmp_path, files=1, rows=400)
    path = tmp_path / "rows-0"
    data = leat.parquet(str(path), cache_bytes=0).batch(8)
    loader = leat.Loader(data, workers=0)
    next(loader)
    pq.write_table(pq.read_table(path).slice(0, 100), path, row_group_size=10)
    with pytest.raises(leat.Error, match="rows-0"):
        for _ in loader:
            pass
    path.unlink()
    with pytest.raises((leat.Error, FileNotFoundError), match="rows-0"):
        for _ in leat.Loader(data, workers=1):
            pass


def test_a_file_that_cannot_be_read_ends_the_job_under_any_policy(tmp_path: Path) -> None:
    numbered(tmp_path, files=1, rows=400)
    loader = leat.Loader(leat.parquet(str(tmp_path / "rows-*"), cache_bytes=0).batch(8), workers=0, bad_samples="mask")
    next(loader)
    (tmp_path / "rows-0").unlink()
    with pytest.raises(leat.InputOutput, match=r"rows-0.*No such file"):
        for _ in loader:
            pass


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_was_written_anew_is_read_anew(writer: str, tmp_path: Path) -> None:
    for rows in (40, 30, 50):
        data = numbered(tmp_path, writer, files=1, rows=rows, group=rows // 5).batch(10)
        assert flat(numbers(leat.Loader(data, workers=0))) == list(range(rows))


def test_a_footer_that_contradicts_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, n=[1, 2, 3])
    groups = [SimpleNamespace(num_rows=3, num_columns=1, column=lambda _: SimpleNamespace(num_values=3))]
    for rows, values in ((4, 3), (3, 2)):
        groups[0].column = lambda _, values=values: SimpleNamespace(num_values=values)
        made = SimpleNamespace(
            num_rows=rows, num_row_groups=1, row_group=groups.__getitem__, schema=pq.read_metadata(path).schema
        )
        monkeypatch.setattr(leat.tables, "_parquet", lambda *_, made=made: made)
        with pytest.raises(leat.Error, match="numbers of rows contradict each other") as told:
            one(leat.parquet(path))
        assert told.value.code == "torn_file"


def test_text_pickle_and_snapshot_make_the_same_pipeline(tmp_path: Path) -> None:
    data = numbered(tmp_path).shuffle(seed=1).batch(8)
    wanted = due(data)
    for again in (leat.parse_pipeline(str(data)), pickle.loads(pickle.dumps(data))):
        assert again == data
        assert digests(leat.Loader(again)) == wanted
    assert digests(leat.Loader(leat.pipeline_of(leat.inspect_snapshot([leat.Loader(data).snapshot()])))) == wanted
    by_hand = f'parquet("{tmp_path}/rows-*", columns=["n"], nulls="no_field").batch(8)'
    assert leat.parse_pipeline(by_hand) == leat.parquet(f"{tmp_path}/rows-*", ["n"], nulls="no_field").batch(8)
    leat.shutdown()
    with warnings.catch_warnings(), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(functools.partial(all_digests, data)).result(timeout=100) == wanted


def all_digests(data: leat.Pipeline) -> list[str]:
    return digests(leat.Loader(data, workers=2))


def test_the_command_refuses_such_a_pipeline_by_name(tmp_path: Path) -> None:
    for call in ("parquet", "arrow"):
        (tmp_path / "rows").write_text("")
        (tmp_path / "job.leat").write_text(f'{call}("{tmp_path}/rows").batch(8)')
        found = subprocess.run(
            [COMMAND, "order", "--pipeline", tmp_path / "job.leat"], capture_output=True, text=True, check=False
        )
        assert found.returncode != 0
        assert (
            f"{call}, got a program that has no reader of such files, needed a program in Python (leat.{call}" in found.stderr
        )


def test_the_package_is_imported_when_a_file_is_opened(tmp_path: Path) -> None:
    numbered(tmp_path)
    lines = (
        "import sys, leat",
        "data = leat.parquet(sys.argv[1]).batch(8)",
        "assert 'pyarrow' not in sys.modules",
        "assert len(list(leat.Loader(data))) == 15",
        "assert 'pyarrow' in sys.modules",
    )
    found = run_python("\n".join(lines), str(tmp_path / "rows-*"))
    assert found.returncode == 0, found.stderr
    for call in ("parquet", "arrow"):
        without = f"import sys; sys.modules['pyarrow'] = None; import leat; leat.Loader(leat.{call}(sys.argv[1]).batch(8))"
        told = run_python(without, str(tmp_path / "rows-*")).stderr
        assert f"ImportError: leat.{call} needs the package pyarrow: pip install pyarrow" in told


def test_pyarrow_begins_no_threads(tmp_path: Path) -> None:
    numbered(tmp_path, rows=4000, group=500)
    lines = (
        "import os, sys, leat, pyarrow.parquet, pyarrow.ipc",
        "threads = len(os.listdir('/proc/self/task'))",
        "for batch in leat.Loader(leat.parquet(sys.argv[1]).batch(8), workers=0): pass",
        "assert len(os.listdir('/proc/self/task')) <= threads, os.listdir('/proc/self/task')",
    )
    found = run_python("\n".join(lines), str(tmp_path / "rows-*"))
    assert found.returncode == 0, found.stderr


def test_sources_can_be_mixed_and_zipped(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    a, b = numbered(first), numbered(second, "ipc")
    mixed = leat.mix([a.map(leat.select(["n"])), b.map(leat.select(["n"]))], weights=[2, 1]).batch(8, lanes=4, end="mask")
    assert sorted(flat(numbers(leat.Loader(mixed, workers=2)))) == sorted([*ALL, *ALL])
    assert digests(leat.Loader(mixed, workers=2)) == due(mixed)
    zipped = leat.zip([a.map(leat.select(["n"])), b.map(leat.select(["text"]))]).batch(8)
    for batch in leat.Loader(zipped):
        assert batch.text("text") == [f"row {n}" for n in batch["n"].tolist()]


def test_row_groups_are_written_by_whom_they_are(tmp_path: Path) -> None:
    """Files without an Arrow schema in them, as programs other than pyarrow write them."""
    table = pa.table({"n": pa.array([1, 2, 3], pa.int32()), "text": ["a", "b", "c"], "list": [[1], [], [2, 3]]})
    pq.write_table(table, tmp_path / "plain.parquet", store_schema=False, version="1.0", data_page_version="2.0")
    batch = one(leat.parquet(str(tmp_path / "plain.parquet")), 3)
    assert (batch["n"].tolist(), batch.text("text"), [x.tolist() for x in batch["list"]]) == (
        [1, 2, 3],
        ["a", "b", "c"],
        [[1], [], [2, 3]],
    )
    write_parquet(tmp_path / "empty.parquet", table.slice(0, 0), 10, random.Random(1))
    with pytest.raises(leat.Error, match="empty epoch"):
        leat.Loader(leat.parquet(str(tmp_path / "empty.parquet")).batch(1))
