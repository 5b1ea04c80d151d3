"""Samples: an id and named fields. Sample keys are left out: no built-in function that the reference knows draws by them."""

import struct
from collections import namedtuple


class Refused(Exception):
    """A pipeline that leat refuses, or that cannot be continued."""


class BadSample(Refused):
    """A sample whose content an operator or a function cannot use."""


class Undocumented(Exception):
    """Raised for what docs/ does not specify. Such a case is not used."""


class Tensor(namedtuple("Tensor", "type dims raw")):
    """`raw`: the elements, row-major, little-endian."""

    def numbers(self):
        return list(struct.unpack(f"<{len(self.raw) // size_of(self.type)}{CODES[self.type]}", self.raw))


class Ragged(Tensor):
    """A tensor whose outermost dimension may differ in every sample."""


CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f32": "f", "f64": "d"}


def size_of(type):
    return int(type[1:]) // 8


def scalar(type, x):
    return Tensor(type, [], struct.pack("<" + CODES[type], x))


def element(x, type):
    """A number as an element: an integer exactly, a float as the nearest one. Raises ValueError for numbers that the type cannot
    represent."""
    try:
        whole = x if isinstance(x, int) else int(x) if type[0] != "f" else None
        x = float(x) if type[0] == "f" else whole if whole == x else None
        struct.pack("<" + CODES[type], x)
        return x
    except (struct.error, OverflowError, ValueError):
        raise ValueError(f"{x} is no {type}") from None


def vector(type, numbers):
    return Tensor(type, [len(numbers)], struct.pack(f"<{len(numbers)}{CODES[type]}", *numbers))


def field_bytes(x):
    """A field as bytes: it is bytes, or a tensor."""
    return x.raw if isinstance(x, Tensor) else x


class Sample(namedtuple("Sample", "id fields")):
    """`fields`: name to bytes or tensor; None in a bad sample."""

    @property
    def bad(self):
        return self.fields is None

    def field(self, name):
        if name not in self.fields:
            raise BadSample(f"{self.id} has no field {name}")
        return self.fields[name]

    def but(self, **fields):
        return Sample(self.id, {**self.fields, **fields})

    def row(self, name):
        """A field of bytes, or of rank 1, as (type, bytes)."""
        x = self.field(name)
        if not isinstance(x, Tensor):
            return "u8", x
        if len(x.dims) != 1:
            raise BadSample(f"{name} of {self.id} has rank {len(x.dims)}")
        return x.type, x.raw
