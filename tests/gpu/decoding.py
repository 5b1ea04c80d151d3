"""Decodes photographs on a GPU by whole jobs of the command `leat`: the pixels of the processors, and how fast.

decoding.py PHOTOS DIRECTORY LEAT...   PHOTOS: tar shards; DIRECTORY: for a copy of them; LEAT: how it is called
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from rows import judged, measured, skipped

WANTED = 100_000  # images/s with 4 workers
DIFFERS = ("device", "workers")  # what logs say of the machine


def run(leat: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*leat, *arguments], capture_output=True, text=True, check=False)


def lines_of(log: Path) -> list[dict[str, Any]]:
    return [{name: x for name, x in json.loads(line).items() if name not in DIFFERS} for line in log.read_text().splitlines()]


def compare(leat: list[str], shards: list[str], directory: Path) -> bool:
    """Jobs with a hash of each row's pixels."""
    logs = {}
    for decoder in ("cpu", "device"):
        log = directory / f"{decoder}.log"
        job = ["run", *shards, "--global-batch", "64", "--epochs", "2", "--bad-sample", "mask", "--log", str(log), "--json"]
        done = run(leat, *job, "--device", "cuda", "--decoder", decoder)
        if done.returncode != 0:
            judged(f"photographs, decoder {decoder}", "no error", done.stderr[-500:], False)
            return False
        logs[decoder] = lines_of(log)
        told = json.loads(done.stdout.splitlines()[-1])["device"]["decoder"]
    same = logs["cpu"] == logs["device"]
    judged(
        f"pixels of {len(logs['cpu'])} batches of photographs, 2 epochs of random crops",
        "the processors', bit for bit",
        "equal" if same else "different",
        same,
    )
    measured("what was decoded where", json.dumps(told))
    return same


def rate(leat: list[str], shards: list[str], workers: int) -> None:
    job = [
        "run",
        *shards,
        "--global-batch",
        "256",
        "--epochs",
        "300",
        "--workers",
        str(workers),
        "--bad-sample",
        "mask",
        "--json",
    ]
    done = run(leat, *job, "--device", "cuda", "--decoder", "device")
    if done.returncode != 0:
        judged(f"rate with {workers} workers", "no error", done.stderr[-500:], False)
        return
    told = json.loads(done.stdout.splitlines()[-1])
    decoder = told["device"]["decoder"]
    per_image = 1e6 * decoder["prepared_seconds"] / max(1, decoder["images"])
    found = f"{told['samples_per_second']:.0f} images/s; {per_image:.1f} us of a worker an image before the device"
    if workers == 4:
        judged("photographs to the GPU with 4 workers", f"{WANTED} images/s", found, told["samples_per_second"] >= WANTED)
    else:
        measured(f"photographs to the GPU with {workers} workers", found)


def main(photos: str, directory: str, *leat: str) -> int:
    there = sorted(Path(photos).glob("*.tar"))
    if not there:
        skipped("decoding of photographs", f"none in {photos}")
        return 0
    place = Path(directory) / "photographs"
    place.mkdir()
    shards = [str(shutil.copy(x, place)) for x in there]
    done = run(list(leat), "index", *shards)
    if done.returncode != 0:
        judged("leat index", "no error", done.stderr[-500:], False)
        return 1
    is_good = compare(list(leat), shards, place)
    for workers in (1, 4, 8, 16):
        rate(list(leat), shards, workers)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
