"""Rows of different lengths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from leat.errors import InvalidArgument


def padded_width(longest: int, multiple: int) -> int:
    """The length of rows that are padded to a multiple."""
    if multiple < 1:
        raise InvalidArgument(f"rows padded to a multiple of {multiple}: needed is at least 1")
    return -(-longest // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row i is `values[offsets[i]:offsets[i + 1]]`: `values` of all rows, bytes as uint8, and `offsets`, int64 [rows + 1]."""

    values: Any
    offsets: Any

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Any:
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def lengths(self) -> Any:
        """The number of elements of each row, int64 [rows]; 0 for an invalid one."""
        import numpy as np

        return np.diff(np.asarray(self.offsets))

    def padded(self, multiple: int = 1, value: float = 0) -> Any:
        """An array [rows, n, ...] of all rows, filled up by `value`: n is the longest length, rounded up to a multiple."""
        import numpy as np

        values, lengths = np.asarray(self.values), self.lengths()
        width = padded_width(int(lengths.max(initial=0)), multiple)
        fill = np.array(value).astype(values.dtype)
        if values.dtype.kind in "iu" and int(fill) != value:
            raise InvalidArgument(f"{value} to fill up rows of {values.dtype}: needed is a number of this type")
        result = np.full((len(self), width, *values.shape[1:]), fill)
        result[np.arange(width) < lengths[:, np.newaxis]] = values
        return result
