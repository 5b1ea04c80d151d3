"""Jobs of several processes for tests, and what their ranks must have handed over together."""

import json
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import leat
from child_process import ChildProcess
from cluster_jobs import PIPELINES, Options

HERE = Path(__file__).parent
PROGRAM = HERE / "cluster_jobs.py"
HEAD = f"""
import os, signal, sys, threading
sys.path.append({str(HERE)!r})
import leat
from cluster_jobs import SAVE_EVERY, WAITS_AT, Options
from in_call import tell, when_in_call
place, rank, world_size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
options = Options(place=place, pipeline="dropping", rank=rank, world_size=world_size)
"""


class Job:
    """The ranks of a job, each in a process of its own."""

    def __init__(self, stack: ExitStack, place: Path) -> None:
        self.place = place
        self.options = Options(place=str(place), pipeline="indexed")
        self._stack = stack
        self._ranks: dict[int, ChildProcess] = {}

    def start(self, rank: int, **more: Any) -> None:
        """Starts a rank, with options that differ from the job's."""
        self._begin(rank, PROGRAM, replace(self.options, rank=rank, **more).json())

    def start_text(self, text: str, rank: int = 0, world_size: int = 1, **options: Any) -> ChildProcess:
        return self._begin(rank, "-c", HEAD + text, self.place, rank, world_size, **options)

    def _begin(self, rank: int, *arguments: object, **options: Any) -> ChildProcess:
        self._ranks[rank] = self._stack.enter_context(ChildProcess([sys.executable, *arguments], **options))
        return self._ranks[rank]

    def lines(self, rank: int, code: int = 0) -> list[str]:
        """What it has printed once it has ended."""
        ended = self._ranks[rank].end()
        assert ended.returncode == code, ended.stderr
        assert "leaked" not in ended.stderr
        return self._ranks[rank].lines

    def end(self, rank: int, code: int = 0) -> Any:
        """Its result: the last line, unless it was killed."""
        lines = self.lines(rank, code)
        return json.loads(lines[-1]) if lines else None

    def end_all(self) -> list[Any]:
        return [self.end(rank) for rank in sorted(self._ranks)]


def total(digests: list[str]) -> str:
    return str(sum((leat.Hash128(x) for x in digests), leat.Hash128()))


def whole(name: str, epochs: int = 2) -> str:
    """The digest of one process."""
    loader = leat.Loader(PIPELINES[name](), epochs=epochs, workers=0)
    for _ in loader:
        pass
    return str(loader.position().digest)


def check_sums(ends: list[Any], name: str) -> None:
    """The digest of all ranks: where all go back, rank 0 takes over the digests of the others."""
    assert total([x["digest"] for x in ends]) == whole(name)
    assert total([x["weights"] for x in ends]) == whole(name)
