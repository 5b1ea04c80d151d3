"""Grain: a map-style data set whose batches are made by threads of one process."""

import itertools
from collections.abc import Iterator

import grain
import numpy as np
import torch

from contenders.protocol import BATCH, Channel, Job, measure, read_job
from contenders.torch_images import Transform


class Epochs:
    """Each call is the next epoch, in another order."""

    def __init__(self, job: Job, channel: Channel) -> None:
        self._job = job
        self._files = job.files()
        self._transform = Transform(job, channel)
        self._seeds = itertools.count()

    def __call__(self) -> Iterator[np.ndarray]:
        # Batched before threads are used, so that a thread makes a whole batch.
        batches = grain.MapDataset.source(self._files).shuffle(seed=next(self._seeds)).map(self._load).batch(BATCH)
        options = grain.ReadOptions(num_threads=self._job.workers, prefetch_buffer_size=2 * self._job.workers)
        return (images for images, _ in batches.to_iter_dataset(options))

    def _load(self, file: tuple[str, int]) -> tuple[np.ndarray, int]:
        path, label = file
        return self._transform.of_file(path).numpy(), label


def main() -> None:
    channel, job = Channel(), read_job()
    torch.set_num_threads(1)
    measure(job, channel, Epochs(job, channel))


if __name__ == "__main__":
    main()
