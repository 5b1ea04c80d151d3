"""The transform with Pillow and numpy, without torchvision."""

import math
import random
from pathlib import Path

import numpy as np
from PIL import Image

from contenders.protocol import DEVIATION, MEAN, RATIO, RESIZE, SCALE, SIZE, Job

Box = tuple[float, float, float, float]

OFFSET = np.array(MEAN, np.float32) * 255
FACTOR = 1 / (np.array(DEVIATION, np.float32) * 255)


class Transform:
    def __init__(self, job: Job) -> None:
        self._train = job.transform == "train"

    def of_file(self, path: str) -> np.ndarray:
        with Image.open(Path(path)) as file:
            image = file.convert("RGB")
        box = random_crop(*image.size) if self._train else center_crop(*image.size)
        image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box)
        if self._train and random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return normalized(np.asarray(image))


def random_crop(width: int, height: int) -> Box:
    """torchvision's RandomResizedCrop."""
    for _ in range(10):
        area = width * height * random.uniform(*SCALE)
        aspect = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    w = min(width, round(height * RATIO[1]))
    h = min(height, round(width / RATIO[0]))
    x, y = (width - w) // 2, (height - h) // 2
    return x, y, x + w, y + h


def center_crop(width: int, height: int) -> Box:
    """Where torchvision's Resize(RESIZE) and CenterCrop(SIZE) look, as one step."""
    short = min(width, height)
    resized_width, resized_height = RESIZE * width // short, RESIZE * height // short
    x, y = round((resized_width - SIZE) / 2), round((resized_height - SIZE) / 2)
    across, down = width / resized_width, height / resized_height
    return x * across, y * down, (x + SIZE) * across, (y + SIZE) * down


def normalized(pixels: np.ndarray) -> np.ndarray:
    result = np.empty((3, SIZE, SIZE), np.float32)
    np.subtract(pixels.transpose(2, 0, 1), OFFSET[:, None, None], out=result)
    result *= FACTOR[:, None, None]
    return result
