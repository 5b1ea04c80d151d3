"""FFCV, over its own file format; the JPEGs are stored as they are, not encoded again."""

from pathlib import Path

import numpy as np
from ffcv.fields import IntField, RGBImageField, rgb_image
from ffcv.fields.decoders import CenterCropRGBImageDecoder, IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.pipeline.operation import Operation
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from contenders.protocol import BATCH, DEVIATION, MEAN, RATIO, RESIZE, SCALE, SIZE, Channel, Job, measure, read_job


class JpegPixels(np.ndarray):
    """Pixels as FFCV's writer wants them, with the bytes that they were decoded from."""

    jpeg: bytes


class Originals:
    """The data set for the writer."""

    def __init__(self, files: list[tuple[str, int]]) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[JpegPixels, int]:
        path, label = self._files[index]
        pixels = np.asarray(Image.open(path).convert("RGB")).view(JpegPixels)
        pixels.jpeg = Path(path).read_bytes()
        return pixels, label


def original_bytes(pixels: JpegPixels, _quality: int) -> np.ndarray:
    return np.frombuffer(pixels.jpeg, np.uint8)


def write(job: Job, path: Path) -> None:
    rgb_image.encode_jpeg = original_bytes
    part = path.with_suffix(".part")
    fields = {"image": RGBImageField(write_mode="jpg"), "label": IntField()}
    DatasetWriter(str(part), fields).from_indexed_dataset(Originals(job.data()))
    part.rename(path)


def image_operations(transform: str) -> list[Operation]:
    last = [NormalizeImage(255 * np.array(MEAN), 255 * np.array(DEVIATION), np.float32), ToTensor(), ToTorchImage()]
    if transform == "eval":
        return [CenterCropRGBImageDecoder((SIZE, SIZE), SIZE / RESIZE), *last]
    crop = RandomResizedCropRGBImageDecoder((SIZE, SIZE), SCALE, RATIO)
    return [crop, RandomHorizontalFlip(), *last]


def main() -> None:
    channel, job = Channel(), read_job()
    path = Path(job.scratch) / "images.ffcv"
    if not path.exists():
        write(job, path)
    loader = Loader(
        str(path),
        batch_size=BATCH,
        num_workers=job.workers,
        os_cache=True,
        order=OrderOption.RANDOM,
        indices=np.tile(np.arange(job.records), job.repeats)[: job.images],
        pipelines={"image": image_operations(job.transform), "label": [IntDecoder(), ToTensor()]},
    )
    measure(job, channel, lambda: (images for images, _ in loader))


if __name__ == "__main__":
    main()
