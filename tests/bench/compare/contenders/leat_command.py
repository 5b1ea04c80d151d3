"""leat through its command: `leat bench` for rates, `leat run` for memory and start.

What `leat bench` measures besides goes into the epochs' lines: `bare`, its own kernels in a
plain loop of threads, and `plain`, such a loop over libjpeg-turbo, where it has one. With the
row index (variant `rows`) there are none of these: they are of the data as they are.
"""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from contenders.protocol import BATCH, Channel, Job, read_job

LOOPS = ("bare", "plain")


def ask(job: Job, subcommand: str, *options: str) -> dict[str, Any]:
    folder = str(Path(job.scratch) / f"leat-{job.variant or 'plain'}")
    command = [job.leat, subcommand, *job.shards, "--index-dir", folder, "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def leat(job: Job, subcommand: str, *options: str) -> dict[str, Any]:
    common = ["--workers", str(job.workers), "--global-batch", str(BATCH)]
    return ask(job, subcommand, *common, "--transform", f"{job.transform}224", *options)


def loops_of(result: dict[str, Any], rates: dict[str, Any]) -> dict[str, Any]:
    return {name: x for name in LOOPS if (x := rates.get(name, result.get(name)))}


def main() -> None:
    channel, job = Channel(), read_job()
    rows = job.variant == "rows"
    if rows:
        ask(job, "index")
    start = time.monotonic()
    leat(job, "run", "--steps", "1")
    channel.send(first_batch_seconds=time.monotonic() - start)
    channel.send(peak_bytes=leat(job, "run", "--epochs", str(job.repeats))["resident_bytes"])
    rounds = ("--rounds", str(job.epochs), "--samples", str(job.images))
    result = leat(job, "bench", "--no-decode", *(("--no-plain",) if rows else ()), *rounds)
    for number, rates in enumerate(result["rounds"], start=1):
        channel.send(
            epoch=number,
            images=result["samples"],
            seconds=result["samples"] / rates["loader"],
            loops={} if rows else loops_of(result, rates),
        )


if __name__ == "__main__":
    main()
