"""Names for the stub of `_leat`, whose classes have methods of the same names."""

from typing import TypeAlias

Bytes: TypeAlias = bytes
