"""Parquet and Arrow files for leat.parquet and leat.arrow, by the package pyarrow, which is imported when one is opened.

pyarrow decodes in the thread that calls it, without the GIL: leat's workers are the threads.
"""

import functools
import importlib
import os
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from leat.errors import BadSample, Error, error_of

Names = Sequence[str]


class Column(NamedTuple):
    """A column as the module takes it: `dims` are those of a row's tensor, or of an element of a ragged one; None for bytes."""

    name: str
    dims: tuple[int, ...] | None
    values: Any
    offsets: Any
    nulls: Any


def open_parquet(path: str, columns: Names) -> tuple[list[int], str]:
    """The rows of all row groups, and the columns as text."""

    def read() -> tuple[list[int], str]:
        found = _parquet(path, *_stamp(path))
        groups = [found.row_group(i) for i in range(found.num_row_groups)]
        rows = [x.num_rows for x in groups]
        if sum(rows) != found.num_rows or any(x.num_columns > 0 and x.column(0).num_values < x.num_rows for x in groups):
            raise ValueError("a footer whose numbers of rows contradict each other")
        return rows, _columns_text(found.schema.to_arrow_schema(), columns, "parquet", path)

    return _opened(path, "parquet", read)


def read_parquet(path: str, block: int, columns: Names) -> tuple[int, int, list[Column]]:
    """One row group: its rows, bytes and columns."""

    def table() -> Any:
        known = _parquet(path, *_stamp(path))
        parquet = importlib.import_module("pyarrow.parquet")
        with parquet.ParquetFile(path, metadata=known, pre_buffer=False, page_checksum_verification=True) as file:
            return file.read_row_group(block, columns=list(columns) or None, use_threads=False)

    return _decoded(table, columns)


def open_arrow(path: str, columns: Names) -> tuple[list[int], str]:
    """The rows of all record batches, and the columns as text."""

    def read() -> tuple[list[int], str]:
        found = _ipc(path, *_stamp(path))
        return [x.rows for x in found.batches], _columns_text(found.schema, columns, "arrow", path)

    return _opened(path, "arrow", read)


def read_arrow(path: str, block: int, columns: Names) -> tuple[int, int, list[Column]]:
    """One record batch: its rows, bytes and columns."""

    def batch() -> Any:
        arrow = _pyarrow("arrow")
        known = _ipc(path, *_stamp(path))
        included = [known.schema.get_field_index(x) for x in columns]
        options = arrow.ipc.IpcReadOptions(use_threads=False, included_fields=included or None)
        with arrow.OSFile(path) as file:
            if known.is_file:
                made = arrow.ipc.open_file(file, options=options).get_batch(block)
            else:
                at = known.batches[block]
                head = file.read(known.head)
                file.seek(at.begin)
                made = arrow.ipc.open_stream(head + file.read(at.end - at.begin), options=options).read_next_batch()
        made.validate(full=any(arrow.types.is_dictionary(x.type) for x in made.schema))
        return made

    return _decoded(batch, columns)


def _pyarrow(caller: str) -> Any:
    try:
        arrow = importlib.import_module("pyarrow")
        importlib.import_module("pyarrow.ipc")
        return arrow
    except ModuleNotFoundError as problem:
        if problem.name != "pyarrow":
            raise
        raise ImportError(f"leat.{caller} needs the package pyarrow: pip install pyarrow") from None


def _stamp(path: str) -> tuple[int, int]:
    """A file with another one is read anew."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


@functools.lru_cache(maxsize=256)
def _parquet(path: str, size: int, time: int) -> Any:
    """A file's footer."""
    return importlib.import_module("pyarrow.parquet").read_metadata(path)


class _Message(NamedTuple):
    """A record batch in a file: where its message lies."""

    rows: int
    begin: int
    end: int


class _Ipc(NamedTuple):
    """What lies where in an IPC file or stream; the first `head` bytes of a stream are its schema and dictionaries."""

    schema: Any
    is_file: bool
    head: int
    batches: list[_Message]


@functools.lru_cache(maxsize=256)
def _ipc(path: str, size: int, time: int) -> _Ipc:
    """Walks over the messages, whose bodies are not read."""
    arrow = importlib.import_module("pyarrow")
    with open(path, "rb") as opened:
        magic = opened.read(6)
    if magic[:4] == b"FEA1":
        raise ValueError("a Feather file of version 1; pyarrow.feather.write_feather makes one of version 2")
    is_file = magic == b"ARROW1"
    with arrow.memory_map(path) as file:
        schema = (arrow.ipc.open_file if is_file else arrow.ipc.open_stream)(file).schema
        count = arrow.ipc.open_file(file).num_record_batches if is_file else None
        file.seek(8 if is_file else 0)
        head, batches = 0, list[_Message]()
        while count is None or len(batches) < count:
            begin = file.tell()
            try:
                message = arrow.ipc.read_message(file)
            except EOFError:
                file.seek(begin)
                if file.read(4) not in (b"\xff\xff\xff\xff", b"\0\0\0\0"):
                    raise ValueError("a stream without a mark at its end: it was cut short") from None
                break
            if message.type == "record batch":
                batches.append(_Message(_num_rows(message.metadata.to_pybytes()), begin, file.tell()))
            elif not batches:
                head = file.tell()
            elif not is_file:
                raise ValueError(
                    "a stream with a dictionary behind its first record batch; a file holds all of them, not a stream"
                )
    return _Ipc(schema, is_file, head, batches)


def _num_rows(metadata: bytes) -> int:
    """The length in a record batch's message, a flatbuffer: that of its header, and of its first column."""

    def field(table: int, number: int) -> int:
        entries = table - struct.unpack_from("<i", metadata, table)[0]
        known = (struct.unpack_from("<H", metadata, entries)[0] - 4) // 2
        at = struct.unpack_from("<H", metadata, entries + 4 + 2 * number)[0] if number < known else 0
        return table + at if at else 0

    def behind(offset: int) -> int:
        return offset + int(struct.unpack_from("<I", metadata, offset)[0])

    def number(at: int) -> int:
        return int(struct.unpack_from("<q", metadata, at)[0])

    header = behind(field(behind(0), 2))
    length, nodes = field(header, 0), behind(field(header, 1))
    rows = number(length) if length else 0
    if struct.unpack_from("<I", metadata, nodes)[0] > 0 and number(nodes + 4) != rows:
        raise ValueError("a record batch whose numbers of rows contradict each other")
    return rows


def _refusal(stage: str, path: str, got: str, needed: str, code: str = "invalid_argument") -> Error:
    text = f"{code.replace('_', ' ')}: {stage}, file {path}, got {got}, needed {needed}"
    return error_of(code, text, stage, "", path, None, got, needed, ())


def _opened(path: str, stage: str, read: Callable[[], tuple[list[int], str]]) -> tuple[list[int], str]:
    _pyarrow(stage)
    kind = "Parquet" if stage == "parquet" else "Arrow IPC"
    try:
        return read()
    except (MemoryError, ImportError, Error):
        raise
    except Exception as problem:  # pyarrow's ArrowInvalid and others; an OSError of pyarrow's own has no number
        if isinstance(problem, OSError) and problem.errno is not None:
            raise _refusal(stage, path, _one_line(problem), "a file that can be read", "io") from None
        raise _refusal(stage, path, _one_line(problem), f"a whole {kind} file", "torn_file") from None


def _one_line(problem: BaseException) -> str:
    return " ".join(str(problem).split()) or type(problem).__name__


def _columns_text(schema: Any, columns: Names, stage: str, path: str) -> str:
    """The chosen columns with their types. Raises for those that are not there, or cannot be fields."""
    twice = sorted({x for x in schema.names if schema.names.count(x) > 1 and (not columns or x in columns)})
    if twice:
        raise _refusal(stage, path, f'two columns "{twice[0]}"', "columns=[...] with names that occur once")
    lacking = [x for x in columns if x not in schema.names]
    if lacking:
        raise _refusal(stage, path, f'no column "{lacking[0]}"', f"one of {', '.join(schema.names)}")
    chosen = [schema.field(x) for x in (columns or schema.names)]
    good = [x.name for x in schema if _is_supported(x.type)]
    for x in chosen:
        if not _is_supported(x.type):
            needed = f"numbers, texts, bytes, or lists of numbers: columns={good}"
            raise _refusal(stage, path, f'column "{x.name}" of type {x.type}', needed)
    if not chosen:
        raise _refusal(stage, path, "no column", "at least one")
    return ", ".join(f"{x.name}: {_field_text(x.type)}" for x in chosen)


def _stored(type: Any) -> Any:
    """The type without dictionaries and extensions."""
    types = importlib.import_module("pyarrow").types
    while True:
        if types.is_dictionary(type):
            type = type.value_type
        elif hasattr(type, "storage_type"):
            order = list(getattr(type, "permutation", None) or [])
            if order != sorted(order):
                return type
            type = type.storage_type
        else:
            return type


def _is_number(type: Any) -> bool:
    types = importlib.import_module("pyarrow").types
    return bool(types.is_integer(type) or types.is_floating(type) or types.is_boolean(type) or _is_time(type))


def _is_time(type: Any) -> bool:
    types = importlib.import_module("pyarrow").types
    return bool(types.is_timestamp(type) or types.is_date(type) or types.is_time(type) or types.is_duration(type))


def _is_bytes(type: Any) -> bool:
    types = importlib.import_module("pyarrow").types
    kinds = ("binary", "large_binary", "string", "large_string", "fixed_size_binary", "string_view", "binary_view")
    return any(getattr(types, f"is_{x}")(type) for x in kinds)


def _is_dense(type: Any, dimensions: int = 6) -> bool:
    types = importlib.import_module("pyarrow").types
    type = _stored(type)
    if types.is_fixed_size_list(type):
        return dimensions > 0 and type.list_size > 0 and _is_dense(type.value_type, dimensions - 1)
    return _is_number(type)


def _is_list(type: Any) -> bool:
    types = importlib.import_module("pyarrow").types
    return bool(types.is_list(type) or types.is_large_list(type))


def _field_text(type: Any) -> str:
    """What becomes of a column, however a file stores it: "bytes", "float [2, 3]", "ragged int32 []"."""
    types = importlib.import_module("pyarrow").types
    dims = list(_tensor_dims(type) or ())
    type = _stored(type)
    if _is_bytes(type):
        return "bytes"
    if _is_list(type):
        return f"ragged {_field_text(type.value_type)}"
    if dims:
        return f"{_stored(type.value_type)} {dims}"
    while types.is_fixed_size_list(type):
        dims.append(type.list_size)
        type = _stored(type.value_type)
    return f"{type} {dims}"


def _tensor_dims(type: Any) -> tuple[int, ...] | None:
    """Those of Arrow's tensors of one shape, which are stored flat."""
    return tuple(type.shape) if hasattr(type, "storage_type") and hasattr(type, "shape") else None


def _is_supported(type: Any) -> bool:
    if len(_tensor_dims(type) or ()) > 6:
        return False
    type = _stored(type)
    return _is_bytes(type) or _is_dense(type) or (_is_list(type) and _is_dense(type.value_type, 5))


def _is_of_the_machine(problem: Exception) -> bool:
    """Whether the machine refused something. Damaged files have sizes that none has, and no error number."""
    if isinstance(problem, MemoryError):
        size = re.search(r"of size (\d+) failed", str(problem))
        return size is None or int(size[1]) < 1 << 40
    return isinstance(problem, OSError) and problem.errno is not None


def _decoded(read: Any, columns: Names) -> tuple[int, int, list[Column]]:
    """Columns of a table or record batch, in the order in which they were chosen."""
    try:
        table = read()
        made = [_column(x, table.column(x)) for x in (columns or table.schema.names)]
        rows = int(table.num_rows)
    except Exception as problem:  # pyarrow's ArrowInvalid; NumPy's ValueError where a buffer is too short
        if _is_of_the_machine(problem):
            raise
        raise BadSample("corrupt", _one_line(problem)) from None
    size = sum(a.nbytes for x in made for a in (x.values, x.offsets, x.nulls) if a is not None)
    return rows, size, made


def _plain(array: Any) -> Any:
    """The values without dictionaries and extensions."""
    types = importlib.import_module("pyarrow").types
    while True:
        if types.is_dictionary(array.type):
            array = array.dictionary_decode()
        elif hasattr(array.type, "storage_type"):
            array = array.storage
        else:
            return array


def _joined(array: Any) -> Any:
    """All chunks as one array."""
    arrow = importlib.import_module("pyarrow")
    chunks = [_widened(_plain(x)) for x in array.chunks]
    return arrow.concat_arrays(chunks) if chunks else arrow.array([], array.type)


def _column(name: str, array: Any) -> Column:
    arrow = importlib.import_module("pyarrow")
    dims = _tensor_dims(array.type)
    if isinstance(array, arrow.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else _joined(array)
    array = _widened(_plain(array))
    if _is_bytes(array.type):
        return _bytes(name, array)
    if _is_list(array.type):
        return _ragged(name, array)
    values, nulls = _dense(array)
    return Column(name, dims or values.shape[1:], values, None, nulls)


def _widened(array: Any) -> Any:
    """Texts and lists with offsets of 64 bits, so that they can be joined; bytes of one size and views as any others."""
    arrow = importlib.import_module("pyarrow")
    types = arrow.types
    type = array.type
    if types.is_string(type) or types.is_string_view(type):
        return array.cast(arrow.large_string())
    if types.is_binary(type) or types.is_binary_view(type) or types.is_fixed_size_binary(type):
        return array.cast(arrow.large_binary())
    if types.is_list(type):
        return array.cast(arrow.large_list(type.value_field))
    return array


def _numbers(buffer: Any, dtype: Any, begin: int, count: int) -> Any:
    import numpy as np

    if buffer is None or count == 0:
        return np.empty(0, dtype)
    return np.frombuffer(buffer, dtype, count, begin * np.dtype(dtype).itemsize)


def _null_rows(array: Any) -> Any:
    """uint8, 1 for nulls; None if there is none."""
    arrow = importlib.import_module("pyarrow")
    if array.null_count == 0:
        return None
    found = array.is_null().cast(arrow.uint8())
    return _numbers(found.buffers()[1], "uint8", found.offset, len(found))


def _offsets(array: Any) -> Any:
    """Those of its rows, in the child's or the bytes' own numbers."""
    import numpy as np

    if len(array) == 0:
        return np.zeros(1, np.int64)
    return _numbers(array.buffers()[1], "int64", array.offset, len(array) + 1)


def _bytes(name: str, array: Any) -> Column:
    import numpy as np

    data = array.buffers()[2]
    values = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Column(name, None, values, _offsets(array), _null_rows(array))


def _dense(array: Any) -> tuple[Any, Any]:
    """Values [rows, ...], and nulls: 1 for a row that is null, 2 for one that contains a null."""
    import numpy as np

    arrow = importlib.import_module("pyarrow")
    array = _plain(array)
    if not arrow.types.is_fixed_size_list(array.type):
        nulls = _null_rows(array)
        if _is_time(array.type):
            array = array.view(arrow.int32() if array.type.bit_width == 32 else arrow.int64()).cast(arrow.int64())
        elif arrow.types.is_boolean(array.type):
            array = array.cast(arrow.uint8())
        return _numbers(array.buffers()[1], array.type.to_pandas_dtype(), array.offset, len(array)), nulls
    size = array.type.list_size
    values, inner = _dense(array.values.slice(array.offset * size, len(array) * size))
    values = values.reshape(len(array), size, *values.shape[1:])
    nulls = _null_rows(array)
    if inner is None:
        return values, nulls
    inside = np.where(inner.reshape(len(array), size).any(axis=1), np.uint8(2), np.uint8(0))
    return values, inside if nulls is None else np.where(nulls == 1, nulls, inside)


def _ragged(name: str, array: Any) -> Column:
    import numpy as np

    values, inner = _dense(array.values)
    offsets, nulls = _offsets(array), _null_rows(array)
    if inner is not None:
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(inner != 0)])
        inside = np.where(before[offsets[1:]] > before[offsets[:-1]], np.uint8(2), np.uint8(0))
        nulls = inside if nulls is None else np.where(nulls == 1, nulls, inside)
    return Column(name, values.shape[1:], values, offsets, nulls)
