"""webdataset: tar shards read in sequence by the worker processes of a WebLoader."""

import torch
import webdataset

from contenders.protocol import BATCH, Channel, Job, measure, read_job
from contenders.torch_images import Transform

SHUFFLE_BUFFER = 256


def loader(job: Job, channel: Channel) -> webdataset.WebLoader:
    transform = Transform(job, channel)
    shards = job.shards * job.repeats
    samples = (
        webdataset.WebDataset(shards, shardshuffle=len(shards))
        .shuffle(SHUFFLE_BUFFER)
        .to_tuple("jpg", "cls")
        .map_tuple(transform.of_bytes, int)
        .batched(BATCH, partial=False)
    )
    return webdataset.WebLoader(samples, batch_size=None, num_workers=job.workers, persistent_workers=True)


def main() -> None:
    channel, job = Channel(), read_job()
    torch.set_num_threads(1)
    batches = loader(job, channel)
    measure(job, channel, lambda: (images for images, _ in batches))


if __name__ == "__main__":
    main()
