"""A driver of CUDA that is made up (tests/shim/fake_cuda.cpp): devices of the host's memory that do their work late.

A process that does what nobody may do with a device ends with code 86.
"""

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DIRECTORY = os.environ.get("LEAT_FAKE_CUDA_DIR", "")
IS_THERE = (Path(DIRECTORY) / "libcuda.so.1").exists()

needed = pytest.mark.skipif(not IS_THERE, reason="needs a driver that is made up: LEAT_FAKE_CUDA_DIR, as ctest sets it")

_CALLS = {"record": 9, "wait": 10, "wait_here": 12, "wait_for_all": 13}  # places in fake_call
_NO_WAIT = 1  # of a stream for others, as torch makes its own


def load(folder: str = "") -> ctypes.CDLL:
    """Has leat find this driver, since it is the first of its name in the process. Does not start CUDA. "old": an old one."""
    os.environ.setdefault("LEAT_FAKE_CUDA", "devices=2")
    os.environ.setdefault("LEAT_CUDA_MODULE", str(Path(DIRECTORY) / "libleat_cuda.so"))
    os.environ.setdefault("LEAT_NVJPEG", str(Path(DIRECTORY) / "libnvjpeg.so.13"))
    return ctypes.CDLL(str(Path(DIRECTORY) / folder / "libcuda.so.1"))


class Driver:
    """Two devices. Any thread."""

    def __init__(self) -> None:
        self._library = load()
        self._library.leat_fake_cuda_calls.restype = ctypes.c_uint64
        self._contexts = []
        for number in range(2):
            assert self._library.cuInit(0) == 0
            context = ctypes.c_void_p()
            assert self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), number) == 0
            self._contexts.append(context)

    def stream(self) -> int:
        """A stream of a trainer, as a handle."""
        found = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(found), _NO_WAIT)
        return found.value or 0

    def follow(self, stream: int, other: int) -> None:
        """Has a stream wait for all that another one was given."""
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 2)
        self._call("cuEventRecord", event, ctypes.c_void_p(other))
        self._call("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)

    def read_later(self, stream: int, address: int, like: np.ndarray, *, number: int = 0) -> np.ndarray:
        """An array that the stream fills with what it finds at an address, once its turn comes."""
        found = np.empty_like(like)
        size = ctypes.c_size_t(found.nbytes)
        if found.nbytes > 0:
            to = ctypes.c_void_p(found.ctypes.data)
            self._call("cuMemcpyDtoHAsync_v2", to, ctypes.c_uint64(address), size, ctypes.c_void_p(stream), number=number)
        return found

    def finish(self, stream: int, *, number: int = 0) -> None:
        """Waits until a stream has done its work."""
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream), number=number)

    def calls(self) -> dict[str, int]:
        """How often some functions of the first device were called."""
        return {name: self._library.leat_fake_cuda_calls(0, at) for name, at in _CALLS.items()}

    def _call(self, name: str, *arguments: Any, number: int = 0) -> None:
        popped = ctypes.c_void_p()
        assert self._library.cuCtxPushCurrent_v2(self._contexts[number]) == 0
        code = getattr(self._library, name)(*arguments)
        assert self._library.cuCtxPopCurrent_v2(ctypes.byref(popped)) == 0
        assert code == 0, f"{name}: {code}"
