"""The example of a trainer of four ranks that is fed by Redis: killed anywhere, it has trained as one process does."""

import importlib.util
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import leat
import numpy as np
import pytest
from support import COMMAND

DEMO = Path(__file__).resolve().parents[2] / "demos" / "python" / "redis_training.py"
RANKS, ROWS, STEPS = 4, 8, 60
# A rank hands over a batch once it knows whether another follows, and its first one once there is a third.
HELD_BACK = 2
TEXTS = (STEPS + HELD_BACK) * ROWS
# Those that are killed one by one, and then any of them together.
FAULTS = 16
# Seconds after which no further fault is drawn, and seconds for whatever the job is waited for.
BUDGET, PATIENCE = 35, 60
OF_LAUNCHERS = ("LEAT_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "SLURM_", "OMPI_", "PMIX_", "TORCHELASTIC_")

Step = tuple[list[str], str]


class Program:
    """Started again and again; what it prints is in one file."""

    def __init__(self, name: str, place: Path, command: list[object], **variables: object) -> None:
        self.name, self.output, self.errors = name, place / f"{name}.output", place / f"{name}.errors"
        self._command = [str(x) for x in command]
        # With PYTHONUNBUFFERED a line and its end are written apart, and a kill could come between.
        usual = {k: v for k, v in os.environ.items() if not k.startswith(OF_LAUNCHERS) and k != "PYTHONUNBUFFERED"}
        self._environment = {**usual, **{k: str(v) for k, v in variables.items()}}
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert self._process is None
        with self.output.open("ab") as output, self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=self._place, env=self._environment
            )

    def code(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def end(self, by: signal.Signals = signal.SIGKILL) -> int | None:
        """Its exit code; None if it did not run."""
        if self._process is None:
            return None
        process, self._process = self._process, None
        process.send_signal(by)
        return process.wait(PATIENCE)


class Redis(Program):
    """A server that keeps what it has said yes to."""

    def __init__(self, place: Path) -> None:
        self.port = free_port()
        command = f"redis-server --bind 127.0.0.1 --port {self.port} --dir {place} --appendonly yes --appendfsync always"
        super().__init__("redis", place, [*command.split(), "--save", ""])
        self.added = 0

    def answers(self) -> bool:
        try:
            return self.ask([b"PING"]) == [b"+PONG"]
        except OSError:
            return False

    def add(self, texts: list[bytes]) -> None:
        answers = self.ask(*([b"XADD", b"texts", b"%d-0" % (self.added + i + 1), b"text", x] for i, x in enumerate(texts)))
        assert answers == [b"%d-0" % (self.added + i + 1) for i in range(len(texts))]
        self.added += len(texts)

    def ask(self, *commands: list[bytes]) -> list[bytes]:
        """The answers: lines and strings."""

        def answer(stream: BinaryIO) -> bytes:
            line = stream.readline().rstrip(b"\r\n")
            return stream.read(int(line[1:]) + 2)[:-2] if line[:1] == b"$" else line

        sent = (b"*%d\r\n" % len(x) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in x) for x in commands)
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(b"".join(sent))
            with connection.makefile("rb") as stream:
                return [answer(stream) for _ in commands]


class Job:
    """The server, the feed and the ranks."""

    def __init__(self, place: Path) -> None:
        at = f"127.0.0.1:{free_port()}"
        self.place, self.redis = place, Redis(place)
        queue = f"redis://127.0.0.1:{self.redis.port}/texts?field=text"
        feed = [COMMAND, "feed", "texts", "--join", at, "--journal", "journal", "--queue", queue]
        self.feed = Program("feed", place, feed, LEAT_CLUSTER_TOKEN="hidden")
        self.ranks = [
            Program(
                f"rank-{rank}", place, [sys.executable, DEMO, place, STEPS],
                RANK=rank, WORLD_SIZE=RANKS, LEAT_CLUSTER_ADDRESS=at, LEAT_CLUSTER_STATE="state", LEAT_CLUSTER_TOKEN="hidden",
            )
            for rank in range(RANKS)
        ]  # fmt: skip
        self.programs = {x.name: x for x in (self.redis, self.feed, *self.ranks)}

    def wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            for x in self.programs.values():
                assert x.code() in (None, 0), self.report(f"{x.name} ended with {x.code()} before {what}")
            assert time.monotonic() < end, self.report(f"no sign of {what}")
            time.sleep(0.005)

    def report(self, what: str) -> str:
        tails = [f"{x.name}:\n{x.errors.read_text()[-2000:]}" for x in self.programs.values() if x.errors.exists()]
        return "\n".join([what, *tails])

    def wait_for_step(self, step: int, ranks: list[Program]) -> None:
        """The ranks have trained this one, counted from 1."""
        self.wait_until(f"step {step} of {[x.name for x in ranks]}", lambda: all(len(trained(x)) >= step for x in ranks))


def free_port() -> int:
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        return int(x.getsockname()[1])


def trained(rank: Program) -> list[Step]:
    """The ids and the loss of each step that the rank's last weights have seen, by what all its processes have printed."""
    steps: list[Step] = []
    text = rank.output.read_text() if rank.output.exists() else ""
    for line in text[: text.rfind("\n") + 1].splitlines():
        if begin := re.fullmatch(r"begins at step (\d+)", line):
            assert int(begin[1]) <= len(steps), f"{rank.name} begins after what it has trained"
            del steps[int(begin[1]) :]
        else:
            found = re.fullmatch(r"step (\d+): (texts/.+) loss (\S+)", line)
            assert found, line
            assert int(found[1]) == len(steps), f"{rank.name} trains another step than its next one"
            steps.append((found[2].split(), found[3]))
    return steps


def demo() -> ModuleType:
    found = importlib.util.spec_from_file_location("redis_training", DEMO)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def in_one_process(texts: list[bytes]) -> list[tuple[list[str], list[bytes]]]:
    """The ids and texts of each batch."""
    left = iter(texts)

    def record(sample: leat.Sample) -> bool:
        text = next(left, None)
        if text is not None:
            sample["text"] = text
        return text is not None

    with leat.Loader(leat.once("texts", record).batch(ROWS), steps=STEPS, workers=1) as loader:
        return [(batch.ids(), batch.bytes("text")) for batch in loader]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server")
    if not COMMAND.exists():
        pytest.skip("needs the leat command")
    job = Job(tmp_path)
    yield job
    for x in job.programs.values():
        x.end()


def faults(pick: random.Random, job: Job) -> Iterator[list[Program]]:
    """What is killed together: first each kind of process alone, then any."""
    kinds = [[job.redis], [job.feed], [job.ranks[0]], [pick.choice(job.ranks[1:])]]
    pick.shuffle(kinds)
    yield from kinds
    end = time.monotonic() + BUDGET
    for _ in range(FAULTS - len(kinds)):
        if time.monotonic() < end:
            yield pick.sample(list(job.programs.values()), pick.randint(1, 3))


def disturb(job: Job, texts: list[bytes], pick: random.Random) -> None:
    for victims in faults(pick, job):
        before = max(job.redis.added // ROWS - HELD_BACK, 0)
        job.redis.add(texts[job.redis.added :][: pick.randint(ROWS, len(texts) // (FAULTS + 2))])
        steps = max(job.redis.added // ROWS - HELD_BACK, 0)
        if pick.random() < 0.7:
            job.wait_for_step(pick.randint(before, steps), [pick.choice(job.ranks)])
        print("killed after", job.redis.added, "texts:", [x.name for x in victims])
        for x in victims:
            assert x.end() == -signal.SIGKILL, job.report(f"{x.name} had ended by itself")
        for x in pick.sample(victims, len(victims)):
            x.start()
        job.wait_until("the server", job.redis.answers)
        if pick.random() < 0.7:
            job.wait_for_step(steps, job.ranks)


def start(job: Job) -> None:
    for x in job.programs.values():
        x.start()
    job.wait_until("the server", job.redis.answers)


def check_end(job: Job, texts: list[bytes]) -> None:
    """All of it was trained, once, as one process does."""
    job.redis.add(texts[job.redis.added :])
    job.wait_until("the end", lambda: all(x.code() == 0 for x in job.ranks))
    assert job.feed.end(signal.SIGTERM) == 143, job.report("the feed ended otherwise")
    whole = in_one_process(texts)
    assert [x for ids, _ in whole for x in ids] == [f"texts/{i}" for i in range(STEPS * ROWS)]
    train_step = demo().train_step
    for rank, program in enumerate(job.ranks):
        mine = slice(rank, None, RANKS)
        counts = np.zeros((256, 256), np.int64)
        assert trained(program) == [(ids[mine], f"{train_step(counts, rows[mine]):.6f}") for ids, rows in whole]
        assert np.array_equal(np.load(job.place / f"counts.rank-{rank}.step-last.npy"), counts)


def drawn_texts(pick: random.Random) -> list[bytes]:
    return [b"text %d is about %d" % (i, pick.randrange(10**6)) for i in range(TEXTS)]


def test_killed_anywhere_each_entry_is_trained_once_in_the_order_of_one_process(job: Job) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    pick = random.Random(seed)
    texts = drawn_texts(pick)
    start(job)
    disturb(job, texts, pick)
    check_end(job, texts)


def test_a_rank_is_lost_before_the_first_entry(job: Job) -> None:
    """The others wait for it in their first call of next(), in which they learn the fields of a record."""
    start(job)
    job.wait_until("the ranks", lambda: all(x.output.read_text() for x in job.ranks))
    job.ranks[3].end()
    job.ranks[3].start()
    job.wait_until("its return", lambda: job.ranks[3].output.read_text().count("begins") == 2)
    check_end(job, drawn_texts(random.Random(1)))
