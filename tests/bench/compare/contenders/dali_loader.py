"""NVIDIA DALI. Variants: files, shards (its webdataset reader), without a GPU; with -mixed it decodes and transforms there."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline

from contenders.protocol import BATCH, DEVIATION, MEAN, RATIO, RESIZE, SCALE, SIZE, Channel, Job, measure, read_job

READ_AHEAD = 256


def read(job: Job) -> tuple[DataNode, DataNode]:
    common = {"random_shuffle": True, "initial_fill": READ_AHEAD, "name": "reader"}
    if job.variant.startswith("shards"):
        return fn.readers.webdataset(paths=job.shards, ext=["jpg", "cls"], missing_component_behavior="error", **common)
    paths, labels = zip(*job.files(), strict=True)
    return fn.readers.file(files=list(paths), labels=list(labels), **common)


def is_mixed(job: Job) -> bool:
    return job.variant.endswith("-mixed")


def transformed(jpegs: DataNode, job: Job) -> DataNode:
    decoder = {"device": "mixed" if is_mixed(job) else "cpu", "adjust_orientation": False}
    factor = {
        "dtype": types.FLOAT,
        "output_layout": "CHW",
        "mean": [255 * x for x in MEAN],
        "std": [255 * x for x in DEVIATION],
    }
    if job.transform == "eval":
        images = fn.decoders.image(jpegs, **decoder)
        images = fn.resize(images, resize_shorter=RESIZE, antialias=True)
        return fn.crop_mirror_normalize(images, crop=(SIZE, SIZE), rounding="truncate", **factor)
    crops = fn.decoders.image_random_crop(
        jpegs, random_area=list(SCALE), random_aspect_ratio=list(RATIO), num_attempts=10, **decoder
    )
    images = fn.resize(crops, size=(SIZE, SIZE), antialias=True)
    return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), **factor)


@pipeline_def
def images_and_labels(job: Job) -> tuple[DataNode, DataNode]:
    jpegs, labels = read(job)
    return transformed(jpegs, job), labels


def epoch(pipeline: Pipeline, job: Job) -> Iterator[Any]:
    """The pipeline continues from epoch to epoch and reads ahead over their ends.

    Of a GPU's batches the first and the last are copied to the host: to be looked at, and to wait for all of them.
    """
    for number in range(job.batches):
        images, _ = pipeline.run()
        if is_mixed(job) and 0 < number < job.batches - 1:
            yield images
        else:
            yield np.asarray((images.as_cpu() if is_mixed(job) else images).as_tensor())


def main() -> None:
    channel, job = Channel(), read_job()
    device = 0 if is_mixed(job) else None
    pipeline = images_and_labels(job, batch_size=BATCH, num_threads=job.workers, device_id=device, seed=7)
    pipeline.build()
    measure(job, channel, lambda: epoch(pipeline, job))


if __name__ == "__main__":
    main()
