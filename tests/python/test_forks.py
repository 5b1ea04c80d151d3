"""Loaders before and after forks and spawns, in every order: right batches, or a refusal at once."""

import gc
import multiprocessing
import random
from typing import Any

import leat
import pytest
from child_process import PATIENCE, run_python
from support import digests, due

# A family of processes, each of which does a few things at random: the text of one process, which forks others.
FAMILY = """
import os, random, sys
import numpy as np
import leat

DATA = leat.count(400).shuffle(seed=1).map("x@1", lambda s: s.set("x", s.id)).batch(4)
DUE = [str(x.digest) for x in leat.OrderPreview(DATA)]
pick = random.Random(int(sys.argv[1]))
loaders = []  # each with the number of the next batch, the process that made it, and whether it has workers
arrays = []  # each with its bytes
is_maimed = False  # whether the parent had threads or loaders of leat when this process was forked
has_runtime = False
told = []

def refused(call):
    try:
        call()
    except leat.Error as problem:
        assert problem.code == "forked", problem
        return True
    return False

def make():
    workers = pick.randrange(3)
    def attempt():
        loaders.append([leat.Loader(DATA, workers=workers), 0, os.getpid(), workers > 0])
    assert refused(attempt) == is_maimed

def read():
    if not loaders:
        return
    x = pick.choice(loaders)
    def attempt():
        global has_runtime
        for _ in range(min(pick.randrange(1, 9), len(DUE) - x[1])):
            batch = next(x[0])
            has_runtime = has_runtime or x[3]  # threads begin with the first batch
            assert str(batch.digest()) == DUE[x[1]]
            x[1] += 1
            if pick.random() < 0.3:
                arrays.append((batch["value"], batch["value"].tobytes()))
    assert refused(attempt) == (x[2] != os.getpid()) or x[1] == len(DUE)

def end():
    if loaders:
        x = loaders.pop(pick.randrange(len(loaders)))
        if pick.random() < 0.5:
            x[0].close()

def shut():
    global has_runtime
    while loaders:
        end()
    leat.shutdown()
    has_runtime = False

def check():
    for array, expected in arrays:
        assert array.tobytes() == expected

def drop():
    check()
    while arrays and pick.random() < 0.7:
        arrays.pop(pick.randrange(len(arrays)))

def fork(depth):
    global is_maimed, has_runtime
    own = [x for x in loaders if x[2] == os.getpid()]
    hazard = is_maimed or bool(own) or has_runtime
    sys.stdout.flush()
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, (status, told)
        return
    is_maimed, has_runtime = hazard, False
    pick.seed(pick.randrange(1 << 30))
    live(depth + 1)
    if pick.random() < 0.5:
        os._exit(0)
    sys.exit(0)

def live(depth):
    for _ in range(pick.randrange(4, 10)):
        steps = [make, read, read, read, end, shut, drop]
        step = pick.choice([*steps, fork, fork] if depth < 3 else steps)
        told.append((os.getpid(), step.__name__))
        step(depth) if step is fork else step()
    check()

try:
    live(0)
except BaseException as problem:
    if not isinstance(problem, SystemExit):
        print(told, file=sys.stderr)
    raise
"""


def test_families_of_forked_processes() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed", seed)
    for i in range(25):
        found = run_python(FAMILY, str(seed + i))
        assert (found.returncode, found.stderr) == (0, ""), (seed + i, found.stderr)


def of_process(text: str, to: Any) -> None:
    try:
        to.send(digests(leat.Loader(leat.parse_pipeline(text), workers=1)))
    except leat.Error as problem:
        to.send(problem.code)


DATA = leat.count(100).shuffle(seed=1).batch(4)


def answer_of(way: str) -> Any:
    context = multiprocessing.get_context(way)
    from_child, to = context.Pipe(duplex=False)
    child = context.Process(target=of_process, args=(str(DATA), to))
    child.start()
    assert from_child.poll(PATIENCE)
    found = from_child.recv()
    child.join(PATIENCE)
    assert child.exitcode == 0
    return found


def test_processes_of_multiprocessing_in_every_order() -> None:
    """With a loader in this process, after its end, and after a shutdown: one after the other, in both directions."""
    gc.collect()  # a loader that an earlier test has left in a cycle would be forked with its threads
    leat.shutdown()
    order = [*["fork", "forkserver", "spawn"] * 2]
    random.Random(7).shuffle(order)
    for way in order:
        assert answer_of(way) == due(DATA)  # nothing of leat runs here
        loader = leat.Loader(DATA, workers=2)
        seen = [str(next(loader).digest()) for _ in range(5)]
        assert answer_of(way) == ("forked" if way == "fork" else due(DATA))
        assert seen + digests(loader) == due(DATA)
        loader.close()
        assert answer_of(way) == ("forked" if way == "fork" else due(DATA))  # the runtime lives
        leat.shutdown()


@pytest.mark.parametrize("way", ["fork", "forkserver", "spawn"])
def test_pools_beside_a_loader(way: str) -> None:
    loader = leat.Loader(DATA, workers=2)
    first = str(next(loader).digest())
    with multiprocessing.get_context(way).Pool(2) as pool:
        second = str(next(loader).digest())
        assert pool.map(abs, range(-50, 0)) == [*range(50, 0, -1)]
    assert [first, second, *digests(loader)] == due(DATA)


TORCH = """
import sys
import torch.utils.data
import leat

if __name__ == "__main__":
    data = leat.count(400).shuffle(seed=1).map("x@1", lambda s: s.set("x", s.id)).batch(4)
    loader = leat.Loader(data, workers=2)
    batches = [next(loader) for _ in range(3)]
    other = torch.utils.data.DataLoader(
        range(40), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1], persistent_workers=True, timeout=120
    )
    for _ in range(2):
        for numbers, batch in zip(other, loader):
            assert numbers.shape == (4,)
            batches.append(batch)
    due = [str(x.digest) for x in leat.OrderPreview(data)]
    assert [str(x.digest()) for x in batches] == due[: len(batches)]
    print(len(batches))
"""


@pytest.mark.parametrize("way", ["fork", "forkserver", "spawn"])
def test_workers_of_torch_beside_a_loader(way: str, tmp_path: Any) -> None:
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(TORCH)
    text = f"import runpy, sys; sys.argv = ['program', '{way}']; runpy.run_path('{tmp_path}/program.py', run_name='__main__')"
    if way != "fork":  # which imports the program by its path
        text = f"import os, sys; os.execv(sys.executable, [sys.executable, '{tmp_path}/program.py', '{way}'])"
    found = run_python(text)
    assert (found.returncode, found.stdout) == (0, "23\n"), found.stderr
