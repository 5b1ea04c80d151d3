"""Functions that tests run in processes of their own, which import them from here."""

import ctypes
import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import leat
import numpy as np

MARK = Path(os.environ.get("LEAT_TEST_MARK", "/nonexistent"))


def number(sample: leat.Sample) -> int:
    return int.from_bytes(sample.bytes("value"), "little")


def length(sample: leat.Sample) -> None:
    sample["length"] = len(sample.id)


def every_kind(sample: leat.Sample, context: leat.Context) -> None:
    """Fields of each kind, some of them changed, removed, or moved after others."""
    i = number(sample)
    sample["id"] = sample.id
    sample["int"], sample["float"], sample["truth"], sample["text"] = i, i / 7, i % 2 == 0, "é" * (i % 5)
    position = context.position if context.has_row else -1
    sample["drawn"] = [context.bits64() >> 1, context.below(9), context.epoch, position, context.lane, context.lanes]
    sample["random"] = context.numpy().normal(size=3).astype(np.float32)
    sample["image"] = np.full((4, 5, 3), i % 256, np.uint8)
    sample.make("made", (2, 3), "f16")[:] = i
    sample.set_ragged("tokens", np.arange(i % 6, dtype=np.int32))
    sample.set_ragged("boxes", np.full((i % 3, 4), i, np.float64))
    sample.make_bytes("raw", i % 4)[:] = 7
    again = sample.bytes("value")
    sample.erase("value")
    sample["value"] = np.frombuffer(again, np.uint8)


def change(sample: leat.Sample, context: leat.Context) -> None:
    """Sets fields that were there before, in an order that shows."""
    sample["names"] = ",".join(sample.fields())
    sample["int"] = sample["int"] + context.below(3)
    sample["image"] = sample["image"][::-1].copy()
    sample.set_ragged("tokens", np.repeat(sample["tokens"], 2))
    sample.erase("raw")


def sum_of(samples: list[leat.Sample], contexts: list[leat.Context]) -> None:
    for sample, context in zip(samples, contexts, strict=True):
        sample["sum"] = number(sample) + context.below(1000)


def made_for_worker() -> Any:
    calls = []

    def count(sample: leat.Sample) -> None:
        calls.append(number(sample))
        sample["last"] = calls[-1]

    return count


def is_odd(sample: leat.Sample) -> bool:
    return number(sample) % 2 == 1


def third(sample: leat.Sample) -> int:
    return number(sample) % 3


def pick(sample: leat.Sample, child: int) -> None:
    sample["child"] = child


def look(sample: leat.Sample) -> bytes:
    return str(number(sample)).encode()


def add(state: bytes, looked: bytes) -> tuple[bytes, bytes]:
    now = str(int(state) + int(looked)).encode()
    return now, now


def apply(sample: leat.Sample, found: bytes) -> None:
    sample["total"] = int(found)


@leat.map("decorated@1", processes=2)
def decorated(sample: leat.Sample) -> None:
    sample["decorated"] = number(sample) * 3


class Table:
    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int) -> dict[str, Any]:
        if i == 13:
            raise ValueError("thirteen")
        return {"i": i, "square": np.array([i * i, i], np.int32)}


def grow(sample: leat.Sample) -> None:
    i = number(sample)
    sample["large"] = np.full(1 << (i % 21), i % 256, np.uint8).tobytes()


def raise_for(sample: leat.Sample) -> None:
    i = number(sample)
    if i == 5:
        raise ValueError("no\nfive")
    if i == 6:
        raise leat.BadSample("truncated", "six is short")
    if i == 7:
        sample["x"] = [[1, 2], [3, 4]]
        return
    sample["x"] = [i, i]


def raise_memory_error(_: leat.Sample) -> None:
    raise MemoryError


def raise_full_disk(_: leat.Sample) -> None:
    raise OSError(errno.ENOSPC, "no space left")


def raise_interrupt(_: leat.Sample) -> None:
    raise KeyboardInterrupt("by the function")


def raise_exit(_: leat.Sample) -> None:
    raise SystemExit(5)


def kill_once(sample: leat.Sample) -> None:
    """The first process that gets a certain sample dies of it; of one of these samples the second process dies, too."""
    i = number(sample)
    sample["x"] = i
    for place in [MARK / str(i), MARK / f"{i} again"][: {70: 1, 71: 1, 300: 2}.get(i, 0)]:
        if not place.exists():
            place.touch()
            os.kill(os.getpid(), signal.SIGKILL if i == 70 else signal.SIGTERM)


def crash(sample: leat.Sample) -> None:
    sample["x"] = number(sample)
    if number(sample) == 9:
        os.close(2)  # no words about it
        ctypes.string_at(0)


def deadly(sample: leat.Sample) -> None:
    sample["x"] = number(sample)
    time.sleep(0.003)
    if number(sample) % 97 == 9:
        os.close(2)
        ctypes.string_at(0)


def interrupt_and_crash(sample: leat.Sample) -> None:
    """Sends the program a Ctrl-C, once, and crashes."""
    if number(sample) == 9 and not (MARK / "interrupted").exists():
        (MARK / "interrupted").touch()
        os.kill(os.getppid(), signal.SIGINT)
    crash(sample)


def be_killed(sample: leat.Sample) -> None:
    if number(sample) == 9:
        os.kill(os.getpid(), signal.SIGKILL)


def leave(sample: leat.Sample) -> None:
    if number(sample) == 9:
        os._exit(3)


def fork(sample: leat.Sample) -> None:
    """Two processes return from it."""
    if number(sample) % 10 == 9:
        os.fork()
    sample["x"] = number(sample)


def crash_beside_another(sample: leat.Sample) -> None:
    """A process that it has begun has all files that its own one has, and outlives that."""
    sample["x"] = number(sample)
    if number(sample) == 9 and os.fork() == 0:
        time.sleep(20)
        os._exit(0)
    crash(sample)


def close_files(sample: leat.Sample) -> None:
    """Closes the connection, too."""
    if number(sample) == 9:
        os.closerange(3, 100)


def close_output(sample: leat.Sample) -> None:
    if number(sample) == 9:
        sys.stdout.close()
    sample["x"] = number(sample)


def say(sample: leat.Sample) -> None:
    print("said", number(sample))
    sample["pid"] = os.getpid()


def wait_for_file(sample: leat.Sample) -> None:
    """Reports that it runs, and waits until a test ends it."""
    if number(sample) == 4:
        with open(MARK / "waiting", "w") as there:
            there.write(str(os.getpid()))
        with open(MARK / "go") as go:
            go.read()
    sample["x"] = sample.id


def loaders_of_its_own(sample: leat.Sample) -> None:
    inner = leat.count(4).map("inner@1", number_field, processes=1).batch(2)
    sample["x"] = [len(list(leat.Loader(inner)))]


def number_field(sample: leat.Sample) -> None:
    sample["n"] = number(sample)


def use_a_loader(sample: leat.Sample) -> None:
    sample["n"] = len(list(leat.Loader(leat.count(40).batch(4), workers=2)))


if sys.argv[1:2] == ["fail to import"]:
    raise ImportError("on purpose")
