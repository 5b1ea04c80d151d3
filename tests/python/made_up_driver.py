"""A driver of CUDA that is made up, whose devices have the memory of the host: what tests of devices run on without a GPU."""

import ctypes
import os
import re
from pathlib import Path

import pytest

DIRECTORY = os.environ.get("LEAT_FAKE_CUDA_DIR", "")

needed = pytest.mark.skipif(not DIRECTORY, reason="needs a driver that is made up: LEAT_FAKE_CUDA_DIR, as ctest sets it")


class Driver:
    """Opened before leat asks for one, which then gets this one by its name."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(Path(DIRECTORY) / "libcuda.so.1"))
        self._library.fake_cuda_log.restype = ctypes.c_char_p
        self._seen = 0

    def calls(self) -> list[tuple[str, int]]:
        """What was called since the last look: "wait" and "record" with their streams, "host" and "sync" (the host waits)."""
        lines = self._library.fake_cuda_log().decode().splitlines()
        new, self._seen = lines[self._seen :], len(lines)
        found = [re.match(r"(\w+) (\S+)", x) for x in new]
        return [(x[1], 0 if x[2] == "(nil)" else int(x[2], 16)) for x in found if x]
