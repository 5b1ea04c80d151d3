"""Columns of Arrow as fields of samples: what a type becomes, and a column's values as NumPy arrays."""

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Names = Sequence[str]
Types = Mapping[str, str]

# The names that `types` accepts, with those of pyarrow.
NUMBERS = {f"{x}{8 * n}": f"{y}{8 * n}" for x, y in (("u", "uint"), ("i", "int")) for n in (1, 2, 4, 8)}
NUMBERS |= {"f32": "float32", "f64": "float64"}

_MOST_SHOWN = 500


class Column(NamedTuple):
    """A column as the module takes it: `dims` are those of a row's tensor, or of an element of a ragged one; None for bytes."""

    name: str
    dims: tuple[int, ...] | None
    values: Any
    offsets: Any
    nulls: Any


class Field(NamedTuple):
    """A field of samples: the path to its values (a column and then members of structs), and its type in `types`."""

    name: str
    path: tuple[str, ...]
    type: Any
    wanted: str | None


class UnfitColumnsError(Exception):
    """The columns of a file cannot be those fields."""

    def __init__(self, got: str, needed: str) -> None:
        super().__init__(got)
        self.got = got
        self.needed = needed


def fields_of(schema: Any, columns: Names, types: Types) -> list[Field]:
    """The chosen columns, structs as their members. Raises UnfitColumnsError where that cannot be."""
    twice = sorted({x for x in schema.names if schema.names.count(x) > 1 and (not columns or x in columns)})
    if twice:
        raise UnfitColumnsError(f'two columns "{twice[0]}"', "columns=[...] with names that occur once")
    found = [x for name in columns or schema.names for x in _chosen(schema, name)]
    names = [x.name for x in found]
    if len(set(names)) < len(names):
        name = next(x for x in names if names.count(x) > 1)
        raise UnfitColumnsError(f'two fields "{name}"', "columns=[...] by which each field comes once")
    if unknown := [x for x in types if x not in names]:
        raise UnfitColumnsError(f'types with "{unknown[0]}"', _shown("one of ", names, "the name of a field"))
    found = [x._replace(wanted=types.get(x.name)) for x in found]
    for x in found:
        if not field_text(x):
            _refuse(x, schema)
    if not found:
        raise UnfitColumnsError("no column", "at least one")
    return found


def _chosen(schema: Any, name: str) -> Iterator[Field]:
    if name in schema.names:
        yield from _members(name, (name,), schema.field(name).type)
        return
    inner = [x for top in schema for x in _members(top.name, (top.name,), top.type) if len(x.path) > 1]
    found = [x for x in inner if x.name == name or x.name.startswith(name + ".")]
    if not found:
        names = [*schema.names, *(x.name for x in inner)]
        raise UnfitColumnsError(f'no column "{name}"', _shown("one of ", names, "the name of a column"))
    yield from found


def _members(name: str, path: tuple[str, ...], type: Any) -> Iterator[Field]:
    stored = _stored(type)
    if not importlib.import_module("pyarrow").types.is_struct(stored) or stored.num_fields == 0:
        yield Field(name, path, type, None)
        return
    for i in range(stored.num_fields):
        member = stored.field(i)
        yield from _members(f"{name}.{member.name}", (*path, member.name), member.type)


def _shown(before: str, names: Sequence[str], otherwise: str) -> str:
    text = before + ", ".join(names)
    return text if len(text) <= _MOST_SHOWN else otherwise


def _refuse(x: Field, schema: Any) -> None:
    good = [a.name for a in schema if all(field_text(b) for b in _members(a.name, (a.name,), a.type))]
    instead = f"columns={good}" if good and len(str(good)) <= _MOST_SHOWN else "columns=[...] without it" if good else ""
    got = f'column "{x.name}" of type {x.type}'
    if x.wanted is not None:
        known = x.wanted == "bytes" or x.wanted in NUMBERS
        needed = "a type of its elements" if known else f'"bytes", {", ".join(NUMBERS)}'
        raise UnfitColumnsError(f'{got} as "{x.wanted}" (types)', needed)
    if _is_decimal(_stored(x.type)):
        needed = f'types={{"{x.name}": "f64"}}, or "bytes" for its text'
    else:
        needed = "numbers, texts, bytes, structs of them, or lists of numbers, texts and structs"
    raise UnfitColumnsError(got, f"{needed}; or {instead}" if instead else needed)


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


def field_text(x: Field) -> str:
    """What a column becomes, however it is stored: "bytes", "float [2, 3]", "ragged int32 []", "json". Empty: unsupported."""
    type = _stored(x.type)
    if x.wanted is not None:
        return _wanted_text(x)
    if importlib.import_module("pyarrow").types.is_null(type):
        return "null"
    return _text_of(x.type) if _is_supported(x.type) else "json" if _is_json_list(type) else ""


def _wanted_text(x: Field) -> str:
    types = importlib.import_module("pyarrow").types
    type = _stored(x.type)
    if x.wanted == "bytes":
        return "bytes" if _is_bytes(type) or _is_decimal(type) or types.is_null(type) else ""
    if x.wanted not in NUMBERS:
        return ""
    number = _number_type(x.wanted)
    if _is_decimal(type) or types.is_null(type):
        return _text_of(number)
    if not _is_supported(x.type) or (to := _with_numbers(type, number)) is None:
        return ""
    dims = list(_tensor_dims(x.type) or ())
    return f"{number} {dims}" if dims else _text_of(to)


def _number_type(word: str) -> Any:
    return getattr(importlib.import_module("pyarrow"), NUMBERS[word])()


def _with_numbers(type: Any, number: Any) -> Any:
    """The type with its numbers replaced by others; None if it has none."""
    arrow = importlib.import_module("pyarrow")
    type = _stored(type)
    if _is_list(type) or arrow.types.is_fixed_size_list(type):
        inner = _with_numbers(type.value_type, number)
        if inner is None:
            return None
        if arrow.types.is_fixed_size_list(type):
            return arrow.list_(inner, type.list_size)
        return arrow.large_list(inner) if arrow.types.is_large_list(type) else arrow.list_(inner)
    return number if _is_number(type) and not _is_time(type) else None


def _is_decimal(type: Any) -> bool:
    return bool(importlib.import_module("pyarrow").types.is_decimal(type))


def _is_json_list(type: Any) -> bool:
    """Whether it is a list that becomes the text of a JSON array."""
    fixed = importlib.import_module("pyarrow").types.is_fixed_size_list(type)
    return bool(_is_list(type) or fixed) and _is_json_value(type.value_type)


def _is_json_value(type: Any) -> bool:
    types = importlib.import_module("pyarrow").types
    type = _stored(type)
    if types.is_struct(type):
        return all(_is_json_value(type.field(i).type) for i in range(type.num_fields))
    if _is_list(type) or types.is_fixed_size_list(type):
        return _is_json_value(type.value_type)
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type) or types.is_null(type):
        return True
    return _is_number(type) and not _is_time(type)


def _text_of(type: Any) -> str:
    types = importlib.import_module("pyarrow").types
    dims = list(_tensor_dims(type) or ())
    type = _stored(type)
    if _is_bytes(type):
        return "bytes"
    if _is_list(type):
        return f"ragged {_text_of(type.value_type)}"
    if dims:
        return f"{_stored(type.value_type)} {dims}"
    while types.is_fixed_size_list(type):
        dims.append(type.list_size)
        type = _stored(type.value_type)
    return f"{type} {dims}"


def _tensor_dims(type: Any) -> tuple[int, ...] | None:
    """The shape of Arrow's fixed-shape tensors, which are stored flat; None for other types."""
    return tuple(type.shape) if hasattr(type, "storage_type") and hasattr(type, "shape") else None


def _is_supported(type: Any) -> bool:
    if len(_tensor_dims(type) or ()) > 6:
        return False
    type = _stored(type)
    return _is_bytes(type) or _is_dense(type) or (_is_list(type) and _is_dense(type.value_type, 5))


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


def column_of(x: Field, table: Any) -> Column:
    """A field's values in a table or a record batch."""
    arrow = importlib.import_module("pyarrow")
    array = table.column(x.path[0])
    for name in x.path[1:]:
        chunks = [_plain(a) for a in (array.chunks if isinstance(array, arrow.ChunkedArray) else [array])]
        type = _stored(array.type)
        at = type.get_field_index(name)
        array = arrow.chunked_array([a.flatten()[at] for a in chunks], type.field(at).type)
    return column(x.name, array, x.wanted)


def column(name: str, array: Any, wanted: str | None = None) -> Column:
    arrow = importlib.import_module("pyarrow")
    dims = _tensor_dims(array.type)
    if isinstance(array, arrow.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else _joined(array)
    array = _plain(array)
    if wanted is not None:
        array = _as_wanted(name, array, wanted)
    array = _widened(array)
    if arrow.types.is_null(array.type):
        array = array.cast(arrow.large_binary())
    if _is_bytes(array.type):
        return _bytes(name, array)
    if not _is_supported(array.type):
        return _bytes(name, _json_texts(array))
    if _is_list(array.type):
        return _ragged(name, array)
    values, nulls = _dense(array)
    return Column(name, dims or values.shape[1:], values, None, nulls)


def _as_wanted(name: str, array: Any, wanted: str) -> Any:
    arrow = importlib.import_module("pyarrow")
    try:
        if wanted == "bytes":
            return array if _is_bytes(array.type) else array.cast(arrow.large_string())
        number = _number_type(wanted)
        is_float = wanted.startswith("f")
        if _is_decimal(array.type) and is_float:
            array = array.cast(arrow.large_string())  # to get the nearest float, which a direct cast does not always give
        return array.cast(_with_numbers(array.type, number) or number, safe=not is_float)
    except arrow.ArrowInvalid as problem:
        raise ValueError(f'column "{name}" as {wanted} (types): {problem}') from None


def _json_texts(array: Any) -> Any:
    """Lists as texts of JSON arrays, with NaN and infinities as Python writes them."""
    arrow = importlib.import_module("pyarrow")
    rows = array.to_pylist()
    texts = [None if x is None else json.dumps(x, ensure_ascii=False, separators=(",", ":")) for x in rows]
    return arrow.array(texts, arrow.large_string())


def _widened(array: Any) -> Any:
    """Texts and lists with 64-bit offsets, so that they can be joined; fixed-size bytes and views become ordinary ones."""
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
    """uint8, 1 for nulls; None if there are no nulls."""
    arrow = importlib.import_module("pyarrow")
    if array.null_count == 0:
        return None
    found = array.is_null().cast(arrow.uint8())
    return _numbers(found.buffers()[1], "uint8", found.offset, len(found))


def _offsets(array: Any) -> Any:
    """Offsets of its rows, as indices of the child's elements or of bytes."""
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
