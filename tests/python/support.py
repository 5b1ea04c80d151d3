"""What several tests need: digests, the command, other processes, small files."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import leat
import pytest

Result = TypeVar("Result")
Agreement = tuple[int, int, int]

COMMAND = Path(os.environ.get("LEAT_COMMAND", Path(leat.__file__).resolve().parents[2] / "bin" / "leat"))


def digests(batches: Iterable[leat.Batch]) -> list[str]:
    """Digests in the order of the batches, so that lost, repeated or swapped ones show."""
    return [str(x.digest()) for x in batches]


def due(data: leat.Pipeline, epoch: int = 0) -> list[str]:
    """The digests of one epoch according to its order, without making samples."""
    return [str(x.digest) for x in leat.OrderPreview(data, epoch=epoch)]


def first(data: leat.Pipeline, **options: object) -> leat.Batch:
    batch = next(leat.Loader(data, **{"workers": 0, **options}))
    return batch


def check_restores(make: Callable[[], leat.Pipeline], seen: Callable[[leat.Batch], object], wanted: list[object]) -> None:
    """The batches are those, and a job that is restored after any of them continues with the next."""
    loader = leat.Loader(make(), workers=3)
    for step, due in enumerate(wanted):
        batch = next(loader)
        assert seen(batch) == due
        again = leat.Loader(make(), workers=step % 3)
        assert again.restore_parts([batch.snapshot()]).step == (step + 1) % len(wanted)
        assert [seen(x) for x in again] == wanted[step + 1 :]
    assert loader.next() is None


def batch_at(loader: leat.Loader, step: int) -> leat.Batch:
    """The next batch of this number."""
    return next(x for x in loader if x.step == step)


def refused(told: str, call: Callable[..., object], *arguments: object, **options: object) -> None:
    """The call is refused, with these words (a pattern)."""
    with pytest.raises(leat.InvalidArgument, match=told):
        call(*arguments, **options)


def code_of(call: Callable[[], object]) -> str:
    """That of the error with which it ends."""
    with pytest.raises(leat.Error) as raised:
        call()
    return str(raised.value.code)


def run_command(*arguments: object, stdin: str | None = None) -> str:
    found = subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60, input=stdin, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def json_lines_of(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


class Ranks:
    """The ranks of a job, each in a thread of its own: `agree` is their all-gather."""

    def __init__(self, world_size: int) -> None:
        self.said: list[Agreement] = [(0, 0, 0)] * world_size
        self.barrier = threading.Barrier(world_size, timeout=60)

    def run(self, what: Callable[[int, Callable[[Agreement], list[Agreement]]], Result]) -> list[Result]:
        """The results of what(rank, agree), by rank."""

        def of_rank(rank: int) -> Result:
            def agree(mine: Agreement) -> list[Agreement]:
                self.said[rank] = mine
                self.barrier.wait()
                found = list(self.said)
                self.barrier.wait()
                return found

            return what(rank, agree)

        with ThreadPoolExecutor(len(self.said)) as pool:
            return list(pool.map(of_rank, range(len(self.said))))
