"""What a contender reads and writes.

It gets its job as one JSON object on standard input and writes JSON lines to standard output:

    {"first_batch_seconds": 1.9}                        since the harness started the process
    {"epoch": 0, "images": 2048, "seconds": 3.1}        epoch 0 warms up
    {"note": "decoded by simplejpeg"}                   goes into the table
"""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO

BATCH = 64
SIZE = 224
RESIZE = 256
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)


@dataclasses.dataclass(frozen=True)
class Job:
    """What one process has to do."""

    variant: str
    """Name of the variant, for a contender's module that has several."""
    workers: int
    transform: str
    """train or eval"""
    epochs: int
    """Epochs that count, after the one that warms up."""
    repeats: int
    """How often an epoch goes through the data."""
    records: int
    """Images of the data, each counted once."""
    shards: list[str]
    listing: str
    """File that lists the extracted images: one line each, path and label with a tab between."""
    scratch: str
    """Folder that lives as long as the comparison."""
    leat: str
    """The command."""
    started: float
    """time.monotonic() before the process was started."""

    @property
    def batches(self) -> int:
        """Whole batches of an epoch."""
        return self.repeats * self.records // BATCH

    @property
    def images(self) -> int:
        return self.batches * BATCH

    def data(self) -> list[tuple[str, int]]:
        """Path and label of each image of the data."""
        with open(self.listing, encoding="utf-8") as lines:
            pairs = [line.rstrip("\n").split("\t") for line in lines]
        return [(path, int(label)) for path, label in pairs]

    def files(self) -> list[tuple[str, int]]:
        """Those of an epoch, in order, without the rest that does not fill a batch."""
        return (self.data() * self.repeats)[: self.images]


class Channel:
    """Standard output is only for the protocol; what libraries print goes to standard error."""

    def __init__(self) -> None:
        self._lines: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def send(self, **message: Any) -> None:
        print(json.dumps(message), file=self._lines, flush=True)

    def first_batch(self, job: Job) -> None:
        self.send(first_batch_seconds=time.monotonic() - job.started)


def read_job() -> Job:
    return Job(**json.load(sys.stdin))


def measure(job: Job, channel: Channel, epoch: Callable[[], Iterable[Any]]) -> None:
    """Runs the epochs. A batch is float32 [BATCH, 3, SIZE, SIZE], and is dropped at once."""
    for number in range(job.epochs + 1):
        start = time.monotonic()
        images = 0
        for batch in epoch():
            if images == 0 and number == 0:
                channel.first_batch(job)
                check(batch)
            images += len(batch)
        channel.send(epoch=number, images=images, seconds=time.monotonic() - start)


def check(batch: Any) -> None:
    """Refuses what cannot be the transform's output."""
    shape, kind = tuple(batch.shape), str(batch.dtype)
    if shape != (BATCH, 3, SIZE, SIZE) or not kind.endswith("float32"):
        raise ValueError(f"batch: got {kind} {shape}")
    low, high = float(batch.min()), float(batch.max())
    if not -3 < low < 0 < high < 3:
        raise ValueError(f"batch: not normalized, values from {low} to {high}")
