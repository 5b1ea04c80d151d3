"""Sources that exist once, in jobs of several processes: rank 0's function alone is called, and all ranks have its records."""

import json
import subprocess
import sys
from pathlib import Path

import leat
import pytest

RECORDS, RANKS = 240, 3

# Its arguments: the rank, a directory, and at which batch it kills itself (0: never).
RANK = """
import itertools
import json
import os
import signal
import sys
from pathlib import Path

import leat

rank, place, kill_at = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
RECORDS, RANKS = int(sys.argv[4]), int(sys.argv[5])
taken = place / "taken"


def record(sample):
    with taken.open("a") as calls:  # what one process has taken, no other one finds
        number = calls.tell() // 2
        if number == RECORDS:
            return False
        calls.write(f"{rank}\\n")
    sample["value"] = number
    return True


data = leat.once("queue@1", record).journal(place / "journal").batch(12, lanes=12, end="mask")
cluster = leat.Cluster("127.0.0.1:0", state_directory=place / "state", rank=rank, world_size=RANKS, token="the token", beat=0.1)
loader = leat.Loader(data, cluster=cluster, workers=1, prefetch=2)
loader.restore(place / "sets")
values = {}
while True:
    try:
        for batch in loader:
            values[batch.global_step] = batch["value"].tolist()
            loader.save(place / "sets", batch)
            if kill_at and batch.global_step == kill_at:
                loader.wait_saved()
                os.kill(os.getpid(), signal.SIGKILL)
        loader.finish()
        break
    except leat.Error as problem:
        if problem.code != "regrouped":
            raise
print(json.dumps({"values": values, "digest": str(loader.position().digest)}))
"""


class Ranks:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.running: dict[int, subprocess.Popen[str]] = {}

    def start(self, rank: int, kill_at: int = 0) -> None:
        arguments = [str(x) for x in (rank, self.place, kill_at, RECORDS, RANKS)]
        errors = (self.place / f"errors.{rank}").open("a")
        self.running[rank] = subprocess.Popen(
            [sys.executable, "-c", RANK, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True
        )

    def end(self, rank: int) -> tuple[str, str]:
        output, _ = self.running.pop(rank).communicate(timeout=100)
        return output, (self.place / f"errors.{rank}").read_text()


def check(ranks: Ranks) -> None:
    """Record n belongs to lane n mod 12, and so to rank n mod 3."""
    for rank in range(RANKS):
        output, errors = ranks.end(rank)
        assert output, errors
        for step, values in json.loads(output)["values"].items():
            assert values == [12 * int(step) + x for x in range(12) if x % RANKS == rank]


@pytest.mark.parametrize("kill_at", [0, 7])
def test_only_rank_0_calls_the_function_and_all_ranks_have_its_records(kill_at: int, tmp_path: Path) -> None:
    ranks = Ranks(tmp_path)
    for rank in range(RANKS):
        ranks.start(rank, kill_at if rank == 0 else 0)
    if kill_at:
        assert ranks.running[0].wait(100) == -9
        ranks.start(0)
    check(ranks)
    assert set((tmp_path / "taken").read_text().split()) == {"0"}
    # One process continues from the journal and a set of three.
    alone = leat.once("queue@1", lambda sample: False).journal(tmp_path / "journal").batch(12, lanes=12, end="mask")
    with leat.Loader(alone, workers=1) as loader:
        assert loader.restore(tmp_path / "sets")
        assert next(loader, None) is None
    with leat.Loader(alone, workers=1) as loader:
        assert [x for batch in loader for x in batch["value"].tolist()][-12:] == list(range(RECORDS - 12, RECORDS))
