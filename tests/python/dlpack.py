"""Capsules of DLPack as their consumers see them, by ctypes, for arrays on a device whose memory is the host's."""

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}  # capsules only point to these

_TYPES = {(0, 8): "i1", (0, 16): "i2", (0, 32): "i4", (0, 64): "i8", (1, 8): "u1", (1, 16): "u2", (1, 32): "u4", (1, 64): "u8"}
_TYPES |= {(2, 16): "f2", (2, 32): "f4", (2, 64): "f8", (4, 16): "u2"}  # bfloat16 as its bits


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


@dataclass
class Taken:
    """What a consumer took from a capsule, which is its own from then on, until it calls `drop`."""

    version: tuple[int, int] | None
    device: tuple[int, int]
    dtype: tuple[int, int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    drop: Callable[[], None]

    def read(self) -> np.ndarray:
        """A copy of its content, from the memory of the host."""
        kind = np.dtype(_TYPES[self.dtype[:2]])
        content = ctypes.string_at(self.address, math.prod(self.shape) * kind.itemsize) if self.address else b""
        return np.frombuffer(content, kind).reshape(self.shape)


def take(capsule: Any) -> Taken:
    """Takes what a capsule holds. `drop` calls the deleter without the GIL, as ctypes does with functions of C."""
    name = _api.PyCapsule_GetName(capsule)
    assert name in _USED, name
    kind = _Managed if name == b"dltensor" else _Versioned
    at = _api.PyCapsule_GetPointer(capsule, name)
    managed = kind.from_address(at)
    _api.PyCapsule_SetName(capsule, _USED[name])
    x = managed.tensor
    assert x.byte_offset == 0
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)
    return Taken(
        version=(managed.major, managed.minor) if kind is _Versioned else None,
        device=(x.device_type, x.device_id),
        dtype=(x.code, x.bits, x.lanes),
        shape=tuple(x.shape[: x.ndim]),
        strides=tuple(x.strides[: x.ndim]),
        address=x.data or 0,
        drop=lambda: delete(at),
    )


def facts(array: Any) -> Taken:
    """What a capsule of an array on a device says, which was dropped at once."""
    taken = take(array.__dlpack__())
    taken.drop()
    return taken


def contents(array: Any) -> np.ndarray:
    """The content of an array on a device."""
    taken = take(array.__dlpack__(stream=-1))
    found = taken.read()
    taken.drop()
    return found
