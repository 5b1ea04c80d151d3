"""Programs that end in the middle of an epoch, with functions of Python running in workers: each in one of many ways."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from child_process import FORKS_MAY_WARN

HEAD = """
import atexit, gc, os, signal, sys, threading
import leat
def number(sample):
    sample["x"] = sample.id
def sum_of_squares(sample):
    sample["y"] = sum(i * i for i in range(100))
def make():
    return lambda sample: sample.set("z", len(sample.id))
def unit(i):
    for j in range(1000):
        yield {"at": [i, j]}
def take(sample, numbers=iter(range(10**9))):  # more than is read ahead
    for sample["i"] in numbers:
        return True
    return False
maps = lambda x: x.map("number@1", number).map("sum@1", sum_of_squares).map("own@1", make, per_worker=True)
"""

SOURCES = {
    "indexed": "leat.count(4000).shuffle(seed=1)",
    "sequential": 'leat.sequential("units@1", 4, unit).shuffle_buffer(50)',
    "once": 'leat.once("queue@1", take)',
    "filtered": 'leat.count(8000).filter("thirds@1", lambda s: s["value"][0] % 3 != 0)',
}

# How a program ends, and its exit code. `loader` has given some batches.
WAYS = {
    "the end of the program": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "an exception": ("raise ValueError('the end')", 1),
    "os._exit": ("os._exit(4)", 4),
    "tensors in globals": ("held = [next(loader)['x'] if i % 2 else next(loader) for i in range(9)]", 0),
    "a cycle": ("me = [loader, next(loader)]; me.append(me); del loader", 0),
    "a loader whose function keeps it": (
        "class Owner:\n"
        "    def __init__(self):\n"
        "        self.loader = leat.Loader(leat.count(4000).map('own@1', lambda s: self.look(s)).batch(4), workers=2)\n"
        "    def look(self, sample): sample['x'] = 1\n"
        "owner = Owner(); next(owner.loader)",
        0,
    ),
    "closed": ("loader.close()", 0),
    "closed at exit": ("atexit.register(loader.close)", 0),
    "read at exit": ("atexit.register(lambda: next(loader))", 0),
    "leat.shutdown": ("leat.shutdown()", 0),
    "a thread": ("threading.Thread(target=lambda: [None for _ in zip(range(200), loader)]).start()", 0),
    "a daemon thread": ("threading.Thread(target=lambda: [None for _ in loader], daemon=True).start()", 0),
    "daemon threads that drop batches": (
        "def drop():\n"
        "    while True: held.pop() if held else None\n"
        "held = [next(loader) for _ in range(40)]\n"
        "for _ in range(3): threading.Thread(target=drop, daemon=True).start()",
        0,
    ),
    "closed by a daemon thread": ("threading.Thread(target=loader.close, daemon=True).start()", 0),
    "a generator": ("rest = (batch for batch in loader); next(rest)", 0),
    "several loaders": ("others = [leat.Loader(data, workers=2) for _ in range(3)]; [next(x) for x in others]", 0),
    "a signal in next": (
        "threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT)).start()\nfor _ in loader: pass\nwhile True: pass",
        -signal.SIGINT,
    ),
    "SIGTERM in next": (
        "threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGTERM)).start()\nfor _ in loader: pass\n"
        "while True: pass",
        -signal.SIGTERM,
    ),
    "SystemExit in a map": (
        "def leave(sample):\n"
        "    if sample.id == 'count/70': sys.exit(5)\n"
        "for _ in leat.Loader(leat.count(400).map('leave@1', leave).batch(4), workers=2): pass",
        5,
    ),
    "KeyboardInterrupt in a map": (
        "def leave(sample):\n"
        "    if sample.id == 'count/70': raise KeyboardInterrupt\n"
        "for _ in leat.Loader(leat.count(400).map('leave@1', leave).batch(4), workers=2): pass",
        -signal.SIGINT,
    ),
    "a save": ("loader.save(os.path.join(sys.argv[1], 'sets'))", 0),
    "another program": ("os.execv(sys.executable, [sys.executable, '-c', ''])", 0),
    "a child that ends first": (
        "child = os.fork()\nif child == 0: sys.exit(6)\nassert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6",
        0,
    ),
}

# A map in processes of its own, in addition to the others: they end with their program, however that ends.
IN_PROCESSES = f"""
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import process_jobs
in_threads = maps
maps = lambda x: in_threads(x).map("length@1", process_jobs.length, processes=2)
"""
NOT_KEPT = {"a save": "once", "several loaders": "once"}  # what these sources cannot do
TRACES = (" ", "Traceback", "KeyboardInterrupt", "ValueError: the end")
FATAL = ("Fatal", "leaked", "terminate called", "Segmentation", "rethrown", "Aborted", "Exception ignored")


@dataclass
class Ended:
    """Runs one of them; returns what was wrong with its end, empty if nothing was."""

    way: str
    text: str
    problem: str


def program(way: str, pick: random.Random) -> str:
    source = pick.choice([x for x in SOURCES if NOT_KEPT.get(way) != x])
    workers, steps, has_processes = pick.randrange(4), pick.randrange(40), pick.randrange(4) == 0
    return (
        HEAD
        + (IN_PROCESSES if has_processes else "")
        + f"data = maps({SOURCES[source]}).batch(4)\nloader = leat.Loader(data, workers={workers})\n"
        + f"for _ in range({steps}): next(loader)\n{WAYS[way][0]}\n"
    )


def end(way: str, text: str, folder: str) -> Ended:
    command = [sys.executable, "-X", "faulthandler", "-c", text, folder]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **FORKS_MAY_WARN})
    except subprocess.TimeoutExpired as problem:
        return Ended(way, text, f"hangs: {problem.stderr!r}")
    wrong = []
    if found.returncode != WAYS[way][1]:
        wrong.append(f"exit code {found.returncode}, needed {WAYS[way][1]}")
    rest = [x for x in found.stderr.splitlines() if x and not x.startswith(TRACES)]
    if any(x in found.stderr for x in FATAL) or ("thread" not in way and rest):
        wrong.append(found.stderr)
    return Ended(way, text, "; ".join(wrong))


def run_ways(count: int, seed: int, folder: str, jobs: int | None = None) -> Iterator[Ended]:
    """Runs that many ends, all ways once before any a second time, several at a time."""
    pick = random.Random(seed)
    names = [name for _ in range(count // len(WAYS) + 1) for name in pick.sample([*WAYS], len(WAYS))][:count]
    texts = [program(name, pick) for name in names]
    with ThreadPoolExecutor(jobs or 2 * len(os.sched_getaffinity(0))) as pool:
        folders = [os.path.join(folder, str(i)) for i in range(count)]
        for x in folders:
            os.makedirs(x)
        yield from pool.map(end, names, texts, folders)
