"""Runs one contender once."""

import contextlib
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from contenders.protocol import Job
from contenders.registry import Contender
from harness.machine import BusyClock
from harness.memory import Peak, processes_of

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Run:
    """Rates are in images per second."""

    workers: int
    rates: list[float] = dataclasses.field(default_factory=list)
    """Rates of the epochs that count."""
    loops: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    """Rates of the loops that leat's benchmark also measures."""
    first_batch_seconds: float | None = None
    peak_bytes: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)
    others: float = 0
    """Share of the machine's time that other processes used meanwhile."""
    failure: str | None = None

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def take(self, message: dict[str, Any]) -> None:
        if message.get("epoch", 0) > 0:
            self.rates.append(message["images"] / message["seconds"])
        for name, rate in message.get("loops", {}).items():
            self.loops.setdefault(name, []).append(rate)
        if "first_batch_seconds" in message:
            self.first_batch_seconds = message["first_batch_seconds"]
        self.peak_bytes = message.get("peak_bytes", self.peak_bytes)
        if "note" in message:
            self.notes.append(message["note"])


def run(contender: Contender, job: Job, timeout: float) -> Run:
    """A failure is also a result."""
    result = Run(job.workers)
    with (Path(job.scratch) / f"{contender.key}.log").open("w+", errors="replace") as log:
        clock = BusyClock()
        job = dataclasses.replace(job, variant=contender.variant, started=time.monotonic())
        process = subprocess.Popen(
            [sys.executable, "-B", "-m", f"contenders.{contender.module}"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        timer = threading.Timer(timeout, kill, [process.pid])
        timer.start()
        try:
            follow(process, job, result)
            code = process.wait()
        finally:
            late = not timer.is_alive()
            timer.cancel()
            kill(process.pid)
        result.others = clock.others()
        log.seek(0)
        result.failure = failure(code, log.read(), timeout if late else None)
    return result


def follow(process: subprocess.Popen[str], job: Job, result: Run) -> None:
    """Gives the job, takes messages until there are no more."""
    assert process.stdin and process.stdout
    peak = Peak(process.pid)
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        json.dump(dataclasses.asdict(job), pipe)
    for line in process.stdout:
        message = json.loads(line)
        result.take(message)
        if "epoch" in message:
            peak.pause()
            peak.sample()
    peak.pause()
    result.peak_bytes = result.peak_bytes or peak.bytes


def kill(session: int) -> None:
    for pid in processes_of(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def failure(code: int, log: str, timeout: float | None) -> str | None:
    if timeout is not None:
        return f"not done within {timeout:.0f} s"
    if code == 0:
        return None
    lines = [line for line in log.splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else f"ended with code {code}"
