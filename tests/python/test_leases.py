"""Ten thousand batches, held for a while in many ways, and dropped by other threads: no byte of them ever changes."""

import gc
import importlib
import importlib.util
import queue
import random
import threading
from collections.abc import Callable
from typing import Any

import leat
import numpy as np
import pytest

BATCHES = 10_000
MOST_HELD = 40
QUEUED = 8
DROPPERS = 3

Held = tuple[Any, Callable[[Any], bytes], bytes]


def fill(sample: leat.Sample) -> None:
    number = int.from_bytes(sample.bytes("value"), "little")
    sample.make("dense", (3, 5), "f32")[:] = number
    sample.set_ragged("ragged", np.full(number % 7, number, np.int32))
    sample["text"] = f"the text of sample {number}"
    sample["number"] = number


DATA = leat.count(4 * BATCHES).shuffle(seed=3).map("fill@1", fill).batch(4)


class Cycle:
    """A cycle, which only the garbage collector drops."""

    alive = most_alive = 0

    def __init__(self, of: Any) -> None:
        self.of, self.me = of, self
        Cycle.alive += 1
        Cycle.most_alive = max(Cycle.most_alive, Cycle.alive)

    def __del__(self) -> None:
        Cycle.alive -= 1


def bytes_of(x: Any) -> bytes:
    return np.asarray(x).tobytes()


def of_ragged(x: leat.Ragged) -> bytes:
    return bytes_of(x.values) + bytes_of(x.offsets)


def of_batch(x: leat.Batch) -> bytes:
    return b"".join(x.bytes("text")) + of_ragged(x["ragged"]) + bytes_of(x["dense"]) + str(x.digest()).encode()


def ways_to_hold() -> list[Callable[[leat.Batch], tuple[Any, Callable[[Any], bytes]]]]:
    ways: list[Callable[[leat.Batch], tuple[Any, Callable[[Any], bytes]]]] = [
        lambda x: (x, of_batch),
        lambda x: (x["dense"], bytes_of),
        lambda x: (x["dense"][1:, 2].T, bytes_of),
        lambda x: (memoryview(x["number"]), bytes_of),
        lambda x: (x["ragged"], of_ragged),
        lambda x: (x["ragged"].values, bytes_of),
        lambda x: (x["ragged"].offsets, bytes_of),
        lambda x: (x["ragged"][2], bytes_of),
        lambda x: (x.dlpack("number"), lambda held: bytes_of(np.from_dlpack(held))),
        lambda x: (np.from_dlpack(x.dlpack("dense")), bytes_of),
        lambda x: ((x["dense"], x["number"], x), lambda held: bytes_of(held[0]) + bytes_of(held[1])),
        lambda x: (Cycle(x["dense"]), lambda held: bytes_of(held.of)),
        lambda x: (Cycle(x), lambda held: of_batch(held.of)),
    ]
    if importlib.util.find_spec("torch"):
        torch = importlib.import_module("torch")
        ways.append(lambda x: (torch.from_dlpack(x.dlpack("dense")), bytes_of))
        ways.append(lambda x: (torch.from_dlpack(x.dlpack("number"))[1:3], bytes_of))
    return ways


class Droppers:
    """Threads that check what is held once more, and drop it."""

    def __init__(self) -> None:
        self.changed = 0
        self._queue: queue.Queue[Held | None] = queue.Queue(QUEUED)
        self._threads = [threading.Thread(target=self._run) for _ in range(DROPPERS)]
        for x in self._threads:
            x.start()

    def drop(self, held: Held) -> None:
        self._queue.put(held)

    def wait(self) -> None:
        for _ in self._threads:
            self._queue.put(None)
        for x in self._threads:
            x.join()

    def empty(self) -> None:
        """Waits until everything is dropped."""
        self._queue.join()

    def _run(self) -> None:
        while (found := self._queue.get()) is not None:
            held, look, expected = found
            self.changed += look(held) != expected
            del held, found
            self._queue.task_done()


@pytest.mark.parametrize(("workers", "batches"), [(2, BATCHES), (0, BATCHES // 10)])
def test_what_is_held_never_changes(workers: int, batches: int) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed", seed)
    pick = random.Random(seed)
    ways = ways_to_hold()
    loader = leat.Loader(DATA, workers=workers, steps=batches, prefetch=4, leases=1000)
    again = leat.Loader(DATA, workers=0, steps=batches, leases=1000)
    droppers = Droppers()
    held: list[Held] = []
    Cycle.most_alive = Cycle.alive
    for batch in loader:
        other = next(again)
        if pick.random() < 0.6:
            way = pick.choice(ways)
            thing, look = way(batch)
            same, _ = way(other)
            held.append((thing, look, look(same)))
            del thing, same
        del batch, other
        while len(held) > pick.randrange(MOST_HELD):
            droppers.drop(held.pop(pick.randrange(len(held))))
        if pick.random() < 0.005:
            droppers.empty()
            gc.collect()
            assert loader.stats()["slots"]["leased"] == len(held)
    droppers.empty()
    gc.collect()
    slots = loader.stats()["slots"]
    assert slots["leased"] == len(held)
    assert sum(slots.values()) <= MOST_HELD + QUEUED + DROPPERS + Cycle.most_alive + 4 + 2
    loader.close()
    del loader
    for x in held:  # after the loader
        droppers.drop(x)
    held.clear()
    droppers.wait()
    assert droppers.changed == 0


def test_slots_grow_by_what_is_held_alone() -> None:
    loader = leat.Loader(DATA, workers=2, prefetch=3)
    held = [next(loader)["dense"] for _ in range(30)]
    assert loader.stats()["slots"]["leased"] == 30
    held.clear()
    assert loader.stats()["slots"]["leased"] == 0
    before = sum(loader.stats()["slots"].values())
    for _ in range(500):
        next(loader)
    slots = loader.stats()["slots"]
    assert sum(slots.values()) == before <= 30 + 3 + 1
    assert slots["leased"] == 0
