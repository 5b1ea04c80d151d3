"""Tables for the tests of Parquet and Arrow files: random ones with what their rows are in leat, and writers."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import leat
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

NUMBERS = {f"{kind}{bits}": getattr(pa, f"{kind}{bits}")() for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
NUMBERS |= {f"float{bits}": getattr(pa, f"float{bits}")() for bits in (16, 32, 64)}

Row = dict[str, Any]
Maker = Callable[[random.Random], Any]


def number(draw: random.Random, name: str) -> Any:
    if name.startswith("float"):
        return np.dtype(name).type(draw.randint(-500, 500) / 8)
    bounds = np.iinfo(name)
    return np.dtype(name).type(draw.choice([bounds.min, bounds.max, draw.randint(max(bounds.min, -99), 99)]))


def text(draw: random.Random) -> str:
    return "".join(draw.choice("aé日 \0b") for _ in range(draw.choice([0, 1, 3, 40])))


def column(draw: random.Random) -> tuple[Any, Maker]:
    """An Arrow type, and a function that makes values of it."""
    name = draw.choice(list(NUMBERS))
    of, size = NUMBERS[name], draw.randint(1, 4)

    def numbers(draw: random.Random) -> list[Any]:
        return [number(draw, name) for _ in range(draw.choice([0, 1, 2, 9]))]

    def vector(draw: random.Random) -> list[Any]:
        return [number(draw, name) for _ in range(size)]

    kinds: dict[str, tuple[Any, Maker]] = {
        "number": (of, lambda draw: number(draw, name)),
        "flag": (pa.bool_(), lambda draw: draw.random() < 0.5),
        "text": (draw.choice([pa.string(), pa.large_string(), pa.string_view()]), text),
        "bytes": (draw.choice([pa.binary(), pa.large_binary()]), lambda draw: text(draw).encode()),
        "word": (pa.dictionary(pa.int32(), pa.string()), lambda draw: draw.choice(["yes", "no", "perhaps"])),
        "hash": (pa.binary(5), lambda draw: draw.randbytes(5)),
        "numbers": (draw.choice([pa.list_, pa.large_list])(of), numbers),
        "flags": (pa.list_(pa.bool_()), lambda draw: [draw.random() < 0.5 for _ in range(draw.randint(0, 5))]),
        "vector": (pa.list_(of, size), vector),
        "matrix": (pa.list_(pa.list_(of, size), 2), lambda draw: [vector(draw), vector(draw)]),
        "points": (pa.list_(pa.list_(of, size)), lambda draw: [vector(draw) for _ in range(draw.randint(0, 3))]),
        "time": (pa.timestamp("us"), lambda draw: draw.randint(0, 10**15)),
        "day": (pa.date32(), lambda draw: draw.randint(0, 20000)),
    }  # fmt: skip
    return kinds[draw.choice(list(kinds))]


def random_rows(draw: random.Random, files: int, rows: int) -> tuple[Any, list[list[Row]]]:
    """A schema, and the rows of some files as Python values."""
    columns = {f"{i}": column(draw) for i in range(draw.randint(1, 5))}
    schema = pa.schema([pa.field(name, of) for name, (of, _) in columns.items()])
    counts = [draw.randint(0, rows) for _ in range(files - 1)] + [rows]
    return schema, [[{name: make(draw) for name, (_, make) in columns.items()} for _ in range(n)] for n in counts]


def table_of(schema: Any, rows: Sequence[Row]) -> Any:
    return pa.table([pa.array([x[f.name] for x in rows], f.type) for f in schema], schema=schema)


def write_parquet(path: Path, table: Any, rows: int, draw: random.Random) -> None:
    views = [i for i, x in enumerate(table.schema) if pa.types.is_string_view(x.type)]
    for i in views:
        table = table.set_column(i, table.schema.names[i], table.column(i).cast(pa.string()))
    pq.write_table(
        table,
        path,
        row_group_size=rows,
        compression=draw.choice(["none", "snappy", "zstd"]),
        use_dictionary=draw.random() < 0.5,
        data_page_size=draw.choice([64, 1 << 20]),
    )


def write_ipc(path: Path, table: Any, rows: int, draw: random.Random, make: Any = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=draw.choice([None, "zstd", "lz4"]))
    with pa.OSFile(str(path), "wb") as file, (make or pa.ipc.new_file)(file, table.schema, options=options) as into:
        into.write_table(table.combine_chunks(), max_chunksize=rows)


def write_stream(path: Path, table: Any, rows: int, draw: random.Random) -> None:
    write_ipc(path, table, rows, draw, pa.ipc.new_stream)


def write_feather(path: Path, table: Any, rows: int, draw: random.Random) -> None:
    pyarrow.feather.write_feather(table, str(path), compression=draw.choice(["zstd", "lz4", "uncompressed"]), chunksize=rows)


WRITERS = {"parquet": write_parquet, "ipc": write_ipc, "stream": write_stream, "feather": write_feather}


def source(writer: str, *patterns: object, **options: Any) -> leat.Pipeline:
    call = leat.parquet if writer == "parquet" else leat.arrow
    return call([str(x) for x in patterns], **options)


def numbered(folder: Path, writer: str = "parquet", files: int = 3, rows: int = 40, group: int = 8) -> leat.Pipeline:
    """Files whose rows have a number through all of them, a text and a ragged list."""
    for i in range(files):
        numbers = range(i * rows, (i + 1) * rows)
        table = pa.table(
            {
                "n": pa.array(numbers, pa.int32()),
                "text": [f"row {n}" for n in numbers],
                "list": pa.array([list(range(n % 5)) for n in numbers], pa.list_(pa.int16())),
            }
        )
        WRITERS[writer](folder / f"rows-{i}", table, group, random.Random(i))
    return source(writer, folder / "rows-*")


def values_of(batch: leat.Batch, name: str) -> list[Any]:
    found = batch[name]
    if isinstance(found, leat.Ragged):
        return [x.tolist() for x in found]
    return list(found.tolist())


def value_in_leat(of: Any, value: Any) -> Any:
    """What `values_of` gives for a value of an Arrow type."""
    if isinstance(value, str):
        return list(value.encode())
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, list):
        return [value_in_leat(of, x) for x in value]
    if isinstance(value, np.generic):
        return value.item()
    return int(value)
