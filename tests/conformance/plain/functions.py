"""Predicates, flat_maps, scans and maps that are built in: docs/iterators.md, "Functions", and docs/pipelines.md, "Operators".

Each gets a good sample, the lane's input to it, and the call's options.
"""

import fnmatch
import re
import struct

from plain.hashes import hash128, mulhi, number_bytes
from plain.samples import CODES, BadSample, Ragged, Sample, Tensor, field_bytes, scalar, size_of

MASK = 2**64 - 1

# ---------------------------------------------------------------------------------------------------- predicates


def key_hash(sample, keep, salt=0):
    return kept(sample.id.encode(), keep, salt)


def key_matches(sample, pattern):
    return fnmatch.fnmatchcase(sample.id.encode(), pattern.encode())


def field_hash(sample, field, keep, salt=0):
    return kept(field_bytes(sample.field(field)), keep, salt)


def field_between(sample, field, min=float("-inf"), max=float("inf")):
    return float(min) <= number(sample, field) <= float(max)


def bytes_between(sample, field, min=0, max=MASK):
    return int(min) <= len(field_bytes(sample.field(field))) <= int(max)


def kept(data, keep, salt):
    return mulhi(hash128(number_bytes(salt) + data) & MASK, 100) < keep


def number(sample, field):
    x = sample.field(field)
    if isinstance(x, Tensor) and not x.dims:
        return x.numbers()[0]
    if not isinstance(x, Tensor) and re.fullmatch(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", x):
        return float(x)
    raise BadSample(f"{field} of {sample.id} is no number")


PREDICATES = {
    "key_hash@1": key_hash,
    "key_matches@1": key_matches,
    "field_hash@1": field_hash,
    "field_between@1": field_between,
    "bytes_between@1": bytes_between,
}

# ------------------------------------------------------------------------------------------------------ flat_map


def copies(sample, n):
    return [sample.fields] * n


def split(sample, field, at=10):
    parts = field_bytes(sample.field(field)).split(bytes([at]))
    return [{**sample.fields, field: part} for part in parts]


def windows(sample, field, length):
    type, raw = sample.row(field)
    step = length * size_of(type)
    parts = [raw[i : i + step] for i in range(0, len(raw), step)]
    return [{**sample.fields, field: like(sample.fields[field], part)} for part in parts]


def like(x, raw):
    """The field x, bytes or of rank 1, with other elements."""
    return type(x)(x.type, [len(raw) // size_of(x.type)], raw) if isinstance(x, Tensor) else raw


def chunks(sample, field, length, overlap=0):
    type, raw = sample.row(field)
    size = len(raw) // size_of(type)
    begins = [b for b in range(0, size, length - overlap) if b == 0 or b + overlap < size]
    return [{**sample.fields, field: like(sample.fields[field], raw[b * size_of(type) : (b + length) * size_of(type)])} for b in begins]


CHILDREN = {"copies@1": copies, "split@1": split, "windows@1": windows, "chunks@1": chunks}
NEEDS_NO_CONTENT = ("key_hash@1", "key_matches@1", "copies@1")

# ---------------------------------------------------------------------------------------------------------- scan


def running_count(total, sample, into):
    return total + 1, sample.but(**{into: scalar("i64", total)})


def running_sum(total, sample, field, into):
    x = sample.field(field)
    if not isinstance(x, Tensor) or x.dims or x.type.startswith("f"):
        raise BadSample(f"{field} of {sample.id} is no integer")
    total = (total + x.numbers()[0] + 2**63) % 2**64 - 2**63
    return total, sample.but(**{into: scalar("i64", total)})


SCANS = {"running_count@1": running_count, "running_sum@1": running_sum}

# ----------------------------------------------------------------------------------------------------------- map


def select(sample, fields):
    return Sample(sample.id, {name: sample.field(name) for name in fields})


def rename(sample, to, **options):
    old = options["from"]
    sample.field(old)
    if to in sample.fields:
        raise BadSample(f"{sample.id} has {to} already")
    return Sample(sample.id, {to if name == old else name: x for name, x in sample.fields.items()})


def int_label(sample, field):
    x = sample.field(field)
    if isinstance(x, Tensor) or not re.fullmatch(rb"\s*-?\d+\s*", x) or not -(2**63) <= int(x) < 2**63:
        raise BadSample(f"{field} of {sample.id} is no integer")
    rest = {name: x for name, x in sample.fields.items() if name != field}
    return Sample(sample.id, {**rest, "label": scalar("i64", int(x))})


def pad(sample, field, length, value=0):
    type, raw = sample.row(field)
    lacking = length - len(raw) // size_of(type)
    if lacking < 0:
        raise BadSample(f"{field} of {sample.id} is longer than {length}")
    filled = raw + elements(type, value) * lacking
    return sample.but(**{field: like(sample.fields[field], filled)})


def elements(type, value):
    """One element's bytes. Raises BadSample for numbers that this type cannot represent; fractions are rounded."""
    try:
        raw = struct.pack("<" + CODES[type], value)
    except (struct.error, OverflowError):
        raise BadSample(f"{value} is no {type}") from None
    if isinstance(value, int) and struct.unpack("<" + CODES[type], raw)[0] != value:
        raise BadSample(f"{value} is no {type}")
    return raw


def ragged(sample, field):
    x = sample.field(field)
    if isinstance(x, Ragged) or not isinstance(x, Tensor):
        return sample
    if not x.dims or 0 in x.dims[1:]:
        raise BadSample(f"{field} of {sample.id} has no elements to count")
    if x.type == "u8" and len(x.dims) == 1:
        return sample.but(**{field: x.raw})
    return sample.but(**{field: Ragged(*x)})


def truncate(sample, field, length):
    type, raw = sample.row(field)
    if not isinstance(sample.field(field), Tensor) and len(raw) > length:
        length = next((start for start in range(max(0, length - 3), length) if character(raw[start:]) > length - start), length)
    return sample.but(**{field: like(sample.fields[field], raw[: length * size_of(type)])})


def character(raw):
    """The number of bytes of the character that these begin with; 0 if it is not UTF-8."""
    for size in range(1, 5):
        try:
            if len(raw) >= size and len(raw[:size].decode()) == 1:
                return size
        except UnicodeDecodeError:
            pass
    return 0


def drop_fields(sample, fields):
    return Sample(sample.id, {name: x for name, x in sample.fields.items() if name not in fields})


def concat_fields(sample, fields, into, between=None):
    types, parts = zip(*map(sample.row, fields))
    if len(set(types)) > 1:
        raise BadSample(f"{fields} of {sample.id} are of several types")
    gap = b"" if between is None else elements(types[0], int(between))
    raw = gap.join(parts)
    kinds = [x for x in map(sample.field, fields)]
    if any(not isinstance(x, Tensor) for x in kinds):
        return sample.but(**{into: raw})
    return sample.but(**{into: like(next((x for x in kinds if isinstance(x, Ragged)), kinds[0]), raw)})


MAPS = {"select@1": select, "rename@1": rename, "int_label@1": int_label, "pad@1": pad, "ragged@1": ragged,
        "truncate@1": truncate, "drop_fields@1": drop_fields, "concat_fields@1": concat_fields}  # fmt: skip


def parameters(node):
    return {name: x for name, x in node.options.items() if name != "name"}
