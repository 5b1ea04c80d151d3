#!/usr/bin/env python3
"""What a function in a process of its own costs per sample, in turns with other builds of the package.

process_maps.py [--rounds N] [--samples N] FOLDER...      each is a build's package: build/python, ../other/build/python

Wall time and CPU time per sample, of this process and its children, from the second batch to the last: medians and extremes
of all rounds. In a round each build has its turn, in an interpreter of its own; ratios to the first build are taken within a
round.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BATCH = 256


def set_one(sample):
    sample["x"] = 1


def set_all(samples):
    for sample in samples:
        sample["x"] = 1


def negate(sample):
    sample["image"] = 255 - sample["image"]


def add_image(sample):
    import numpy as np

    sample["image"] = np.full((3, 224, 224), 7, np.uint8)


def children():
    """Processes of this one, which has no others."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def cpu_of(process):
    """Seconds on a processor, of all its threads."""
    return sum(int(x.read_text().split()[0]) for x in Path(f"/proc/{process}/task").glob("*/schedstat")) * 1e-9


def measured(data, samples):
    """Microseconds per sample: wall time, and CPU time."""
    import leat

    with leat.Loader(data, workers=1) as loader:
        batches = iter(loader)
        next(batches)  # the processes have begun
        processes = children()
        cpu, begin = time.process_time() + sum(map(cpu_of, processes)), time.perf_counter()
        taken = 0
        while taken < samples:
            next(batches)
            taken += BATCH
        wall = time.perf_counter() - begin
        cpu = time.process_time() + sum(map(cpu_of, processes)) - cpu
    return [1e6 * wall / taken, 1e6 * cpu / taken]


def measure(samples):
    import leat

    count = leat.count(1 << 40)
    images = count.map("image@1", add_image)
    ways = {
        "8 bytes, 1 process": (count.map("one@1", set_one, processes=1), samples),
        "8 bytes, 2 processes": (count.map("one@1", set_one, processes=2), samples),
        "8 bytes, lists, 1 process": (count.map("all@1", set_all, batched=True, processes=1), samples),
        "150 KB, 1 process": (images.map("negate@1", negate, processes=1), samples // 20),
    }
    return {name: measured(data.batch(BATCH), n) for name, (data, n) in ways.items()}


def report(what, values, unit):
    print(f"{what:<60} {statistics.median(values):10.4g}  ({min(values):.4g} .. {max(values):.4g}) {unit}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", default=["build/python"], metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.samples)))
        return
    command = [sys.executable, __file__, "--measure", "--samples", str(options.samples)]
    found = {folder: [] for folder in options.folders}
    for i in range(options.rounds):
        turns = options.folders if i % 2 == 0 else options.folders[::-1]
        for folder in turns:
            one = subprocess.run(command, env={**os.environ, "PYTHONPATH": folder}, stdout=subprocess.PIPE, check=True)
            found[folder].append(json.loads(one.stdout))
    first = found[options.folders[0]]
    for way in first[0]:
        for k, what in enumerate(("wall time", "CPU time")):
            for folder, rounds in found.items():
                report(f"{way}, {what}: {folder}", [x[way][k] for x in rounds], "us per sample")
                if rounds is not first:
                    ratios = [x[way][k] / y[way][k] for x, y in zip(rounds, first, strict=True)]
                    report(f"{way}, {what}: the latter / the first", ratios, "")


if __name__ == "__main__":
    main()
