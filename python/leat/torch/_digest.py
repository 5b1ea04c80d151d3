"""Digests of any batch, and the random generators from which a torch loader draws its order."""

import contextlib
import hashlib
import pickle
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree


class Chain:
    """A digest of batches in order: it covers type, shape and bytes of tensors and arrays, and the pickle of anything else."""

    def __init__(self, value: str = "") -> None:
        self.value = value

    def add(self, batch: Any) -> None:
        """Adds a batch."""
        made = hashlib.blake2b(self.value.encode(), digest_size=16)
        leaves, structure = _pytree.tree_flatten(batch)
        made.update(str(structure).encode())
        for x in leaves:
            content = _content(x)
            made.update(struct.pack("<Q", len(content)))
            made.update(content)
        self.value = made.hexdigest()

    def add_index(self, index: Any) -> None:
        """Adds what a sampler drew: a number, or a list of numbers."""
        content = self.value.encode() + pickle.dumps(index, protocol=4)
        self.value = hashlib.blake2b(content, digest_size=16).hexdigest()


def _content(x: Any) -> bytes:
    if isinstance(x, torch.Tensor):
        plain = x.detach().cpu().contiguous()
        return f"{plain.dtype} {tuple(plain.shape)} ".encode() + plain.flatten().view(torch.uint8).numpy().tobytes()
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        return f"{x.dtype} {x.shape} ".encode() + x.tobytes()
    return pickle.dumps(x, protocol=4)


class Generators:
    """The states of all generators that a loader's order may come from, as plain types and bytes."""

    def __init__(self, loader: Any = None) -> None:
        batches = getattr(loader, "batch_sampler", None)
        places = (loader, getattr(loader, "sampler", None), getattr(batches, "sampler", None), batches)
        found = (getattr(x, "generator", None) for x in places)
        self._own = list({id(x): x for x in found if isinstance(x, torch.Generator)}.values())

    def state(self) -> dict[str, Any]:
        """The current states, in types that JSON has."""
        numbers = np.random.get_state(legacy=False)
        return {
            "python": random.getstate(),
            "numpy": (numbers["state"]["key"].tobytes().hex(), numbers["state"]["pos"], numbers["has_gauss"], numbers["gauss"]),
            "torch": [_hex(torch.get_rng_state()), *self.own()],
        }

    def set(self, state: Mapping[str, Any]) -> None:
        """Restores what state() returned."""
        version, words, gauss = state["python"]
        random.setstate((version, tuple(words), gauss))
        key, *rest = state["numpy"]
        np.random.set_state(("MT19937", np.frombuffer(bytes.fromhex(key), np.uint32), *rest))
        first, *others = state["torch"]
        torch.set_rng_state(_of_hex(first))
        self.set_own(others)

    def own(self) -> list[str]:
        """The states of only the loader's and its sampler's generators."""
        return [_hex(x.get_state()) for x in self._own]

    def set_own(self, states: Sequence[str]) -> None:
        """Restores what own() returned."""
        for generator, x in zip(self._own, states, strict=True):
            generator.set_state(_of_hex(x))

    @contextlib.contextmanager
    def replaying(self, state: Mapping[str, Any]) -> Iterator[None]:
        """Inside, all generators continue from `state`; afterwards Python's, NumPy's and torch's own are as before."""
        shared = Generators()
        before = shared.state()
        self.set(state)
        try:
            yield
        finally:
            shared.set(before)


def _hex(state: torch.Tensor) -> str:
    return state.numpy().tobytes().hex()


def _of_hex(state: str) -> torch.Tensor:
    return torch.frombuffer(bytearray.fromhex(state), dtype=torch.uint8)
