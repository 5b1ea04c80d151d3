"""Parquet and Arrow files for leat.parquet and leat.arrow, by the package pyarrow, which is imported when one is opened.

pyarrow decodes in the thread that calls it, without the GIL: leat's workers are the threads.
"""

import functools
import importlib
import os
import re
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from leat._columns import Column, Field, Names, Types, UnfitColumnsError, column_of, field_text, fields_of
from leat.errors import BadSample, Error, error_of

if TYPE_CHECKING:
    from leat import FarTable

Ranges = list[tuple[int, int]]
Opened = tuple[list[int], str, list[str]] | tuple[list[int], str, list[str], list[Ranges]]


def open_parquet(file: "str | FarTable", columns: Names, types: Types) -> Opened:
    """The rows of all row groups, the fields as text, and their names; where a FarTable's row groups lie."""
    name = file if isinstance(file, str) else file.name

    def read() -> Opened:
        found = _footer(file)
        groups = [found.row_group(i) for i in range(found.num_row_groups)]
        rows = [x.num_rows for x in groups]
        if sum(rows) != found.num_rows or any(x.num_columns > 0 and x.column(0).num_values < x.num_rows for x in groups):
            raise ValueError("a footer whose numbers of rows contradict each other")
        described = _described(found.schema.to_arrow_schema(), columns, types, "parquet", name)
        if isinstance(file, str):
            return rows, *described
        stored = _stored(found, columns, types)
        return rows, *described, [_ranges_of(found, i, stored, file.size) for i in range(len(rows))]

    return _opened(name, "parquet", read)


def read_parquet(file: "str | FarTable", block: int, columns: Names, types: Types) -> tuple[int, int, list[Column]]:
    """One row group: its rows, bytes and columns."""

    def table() -> tuple[Any, list[Field]]:
        known = _footer(file)
        fields = fields_of(known.schema.to_arrow_schema(), columns, types)
        stored = _stored(known, columns, types)
        parquet = importlib.import_module("pyarrow.parquet")
        source = file if isinstance(file, str) else _python_file(file, _ranges_of(known, block, stored, file.size))
        with parquet.ParquetFile(source, metadata=known, pre_buffer=False, page_checksum_verification=True) as opened:
            return opened.read_row_group(block, columns=stored, use_threads=False), fields

    return _decoded(table)


def open_arrow(path: str, columns: Names, types: Types) -> Opened:
    """The rows of all record batches, the fields as text, and their names."""

    def read() -> Opened:
        found = _ipc(path, *_stamp(path))
        return [x.rows for x in found.batches], *_described(found.schema, columns, types, "arrow", path)

    return _opened(path, "arrow", read)


def read_arrow(path: str, block: int, columns: Names, types: Types) -> tuple[int, int, list[Column]]:
    """One record batch: its rows, bytes and columns."""

    def batch() -> tuple[Any, list[Field]]:
        arrow = _pyarrow("arrow")
        known = _ipc(path, *_stamp(path))
        fields = fields_of(known.schema, columns, types)
        included = sorted({known.schema.get_field_index(x.path[0]) for x in fields}) if columns else []
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
        return made, fields

    return _decoded(batch)


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
    """A file's version: if it has changed, the file is read again."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def _stored(footer: Any, columns: Names, types: Types) -> list[str] | None:
    """The paths of the chosen columns; None: all."""
    return [".".join(x.path) for x in fields_of(footer.schema.to_arrow_schema(), columns, types)] if columns else None


def _footer(file: "str | FarTable") -> Any:
    return _parquet(file, *_stamp(file)) if isinstance(file, str) else _far_footers.of(file)


@functools.lru_cache(maxsize=256)
def _parquet(path: str, size: int, time: int) -> Any:
    """A file's footer."""
    return importlib.import_module("pyarrow.parquet").read_metadata(path)


class _FarFooters:
    """Footers of files that are not on this machine: those that were read last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[str, Any] = {}

    def of(self, file: "FarTable") -> Any:
        with self._lock:
            found = self._kept.pop(file.version, None)
        if found is None:
            found = importlib.import_module("pyarrow.parquet").read_metadata(_python_file(file, []))
        with self._lock:
            self._kept[file.version] = found
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return found


_far_footers = _FarFooters(1024)


class _FetchedFile:
    """A file for pyarrow: some of its ranges are in memory, others are read when they are asked for."""

    closed = False

    def __init__(self, file: "FarTable", ranges: Ranges) -> None:
        self._file = file
        self._at = 0
        self._fetched = list(zip(ranges, file.read(ranges), strict=True))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        begin = min(self._at, self._file.size)
        self._at = self._file.size if size < 0 else min(begin + size, self._file.size)
        for (first, end), content in self._fetched:
            if first <= begin and self._at <= end:
                return content[begin - first : self._at - first]  # all of it is not copied
        return self._file.read([(begin, self._at)])[0]

    def close(self) -> None:
        self.closed = True


def _python_file(file: "FarTable", ranges: Ranges) -> Any:
    return importlib.import_module("pyarrow").PythonFile(_FetchedFile(file, ranges), mode="r")


def _ranges_of(footer: Any, block: int, columns: list[str] | None, size: int) -> Ranges:
    """Where the columns of a row group lie; those that are close to each other as one."""
    near = 1 << 16  # such a gap costs less than another request
    group = footer.row_group(block)
    found = list[tuple[int, int]]()
    for column in map(group.column, range(group.num_columns)):
        name = column.path_in_schema
        if columns is not None and not any(name == x or name.startswith(x + ".") for x in columns):
            continue
        pages = column.dictionary_page_offset or column.data_page_offset
        begin = min(pages, column.data_page_offset)
        if 0 <= begin <= begin + column.total_compressed_size <= size:  # otherwise pyarrow says what is wrong
            found.append((begin, begin + column.total_compressed_size))
    joined = list[tuple[int, int]]()
    for begin, end in sorted(found):
        if joined and begin <= joined[-1][1] + near:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


class _Message(NamedTuple):
    """A record batch in a file: the place of its message."""

    rows: int
    begin: int
    end: int


class _Ipc(NamedTuple):
    """The layout of an IPC file or stream; the first `head` bytes of a stream are its schema and dictionaries."""

    schema: Any
    is_file: bool
    head: int
    batches: list[_Message]


@functools.lru_cache(maxsize=256)
def _ipc(path: str, size: int, time: int) -> _Ipc:
    """Goes through the messages without reading their bodies."""
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


def _described(schema: Any, columns: Names, types: Types, stage: str, path: str) -> tuple[str, list[str]]:
    """The chosen columns with their types, and their names."""
    try:
        fields = fields_of(schema, columns, types)
    except UnfitColumnsError as problem:
        raise _refusal(stage, path, problem.got, problem.needed) from None
    return ", ".join(f"{x.name}: {field_text(x)}" for x in fields), [x.name for x in fields]


def _opened(path: str, stage: str, read: Callable[[], Opened]) -> Opened:
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


def _is_of_the_machine(problem: Exception) -> bool:
    """Whether the machine refused something. Damaged files cause errors of other kinds, without an error number."""
    if isinstance(problem, MemoryError):
        size = re.search(r"of size (\d+) failed", str(problem))
        return size is None or int(size[1]) < 1 << 40
    return isinstance(problem, OSError) and problem.errno is not None


def _decoded(read: Callable[[], tuple[Any, list[Field]]]) -> tuple[int, int, list[Column]]:
    """Fields of a table or record batch, in the order in which they were chosen."""
    try:
        table, fields = read()
        made = [column_of(x, table) for x in fields]
        rows = int(table.num_rows)
    except Exception as problem:  # pyarrow's ArrowInvalid; NumPy's ValueError where a buffer is too short
        if _is_of_the_machine(problem):
            raise
        raise BadSample("corrupt", _one_line(problem)) from None
    size = sum(a.nbytes for x in made for a in (x.values, x.offsets, x.nulls) if a is not None)
    return rows, size, made
