"""leat through its command: `leat bench` for rates, `leat run` for memory and start.

What `leat bench` measures besides goes into the epochs' lines: `bare`, its own kernels in a
plain loop of threads, and `plain`, such a loop over libjpeg-turbo, where it has one.
"""

import json
import subprocess
import time
from typing import Any

from contenders.protocol import BATCH, Channel, Job, read_job

LOOPS = ("bare", "plain")


def leat(job: Job, subcommand: str, *options: str) -> dict[str, Any]:
    common = ["--index-dir", job.scratch, "--workers", str(job.workers), "--json"]
    common += ["--global-batch", str(BATCH), "--transform", f"{job.transform}224"]
    command = [job.leat, subcommand, *job.shards, *common, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    channel, job = Channel(), read_job()
    start = time.monotonic()
    leat(job, "run", "--steps", "1")
    channel.send(first_batch_seconds=time.monotonic() - start)
    channel.send(peak_bytes=leat(job, "run", "--epochs", str(job.repeats))["resident_bytes"])
    rounds = ("--rounds", str(job.epochs), "--samples", str(job.images))
    result = leat(job, "bench", "--no-decode", *rounds)
    for number, rates in enumerate(result["rounds"], start=1):
        channel.send(
            epoch=number,
            images=result["samples"],
            seconds=result["samples"] / rates["loader"],
            loops={name: x for name in LOOPS if (x := rates.get(name, result.get(name)))},
        )


if __name__ == "__main__":
    main()
