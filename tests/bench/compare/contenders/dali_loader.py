"""NVIDIA DALI without a GPU. Variants: files, shards (its webdataset reader)."""

from collections.abc import Iterator

import numpy as np
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline

from contenders.protocol import BATCH, DEVIATION, MEAN, RATIO, RESIZE, SCALE, SIZE, Channel, Job, measure, read_job

READ_AHEAD = 256


def read(job: Job) -> tuple[DataNode, DataNode]:
    common = {"random_shuffle": True, "initial_fill": READ_AHEAD, "name": "reader"}
    if job.variant == "shards":
        return fn.readers.webdataset(paths=job.shards, ext=["jpg", "cls"], missing_component_behavior="error", **common)
    paths, labels = zip(*job.files(), strict=True)
    return fn.readers.file(files=list(paths), labels=list(labels), **common)


def transformed(jpegs: DataNode, transform: str) -> DataNode:
    factor = {
        "dtype": types.FLOAT,
        "output_layout": "CHW",
        "mean": [255 * x for x in MEAN],
        "std": [255 * x for x in DEVIATION],
    }
    if transform == "eval":
        images = fn.decoders.image(jpegs, adjust_orientation=False)
        images = fn.resize(images, resize_shorter=RESIZE, antialias=True)
        return fn.crop_mirror_normalize(images, crop=(SIZE, SIZE), rounding="truncate", **factor)
    crops = fn.decoders.image_random_crop(
        jpegs, random_area=list(SCALE), random_aspect_ratio=list(RATIO), num_attempts=10, adjust_orientation=False
    )
    images = fn.resize(crops, size=(SIZE, SIZE), antialias=True)
    return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(), **factor)


@pipeline_def
def images_and_labels(job: Job) -> tuple[DataNode, DataNode]:
    jpegs, labels = read(job)
    return transformed(jpegs, job.transform), labels


def epoch(pipeline: Pipeline, batches: int) -> Iterator[np.ndarray]:
    """The pipeline continues from epoch to epoch and reads ahead over their ends."""
    for _ in range(batches):
        images, _ = pipeline.run()
        yield np.asarray(images.as_tensor())


def main() -> None:
    channel, job = Channel(), read_job()
    pipeline = images_and_labels(job, batch_size=BATCH, num_threads=job.workers, device_id=None, seed=7)
    pipeline.build()
    measure(job, channel, lambda: epoch(pipeline, job.batches))


if __name__ == "__main__":
    main()
