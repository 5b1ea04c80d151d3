"""The transform as torchvision does it: from JPEG bytes in a tensor to float32 CHW."""

import functools
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import simplejpeg
import torch

from contenders import torchvision_library
from contenders.protocol import DEVIATION, MEAN, RATIO, RESIZE, SCALE, SIZE, Channel, Job

Decoder = Callable[[torch.Tensor], torch.Tensor]


class Transform:
    """Decodes with torchvision, or with simplejpeg if torchvision's library does not load."""

    def __init__(self, job: Job, channel: Channel) -> None:
        # Tensors over a reader's bytes are never written to.
        warnings.filterwarnings("ignore", message="The given buffer is not writable")
        self._decode = decoder(Path(job.scratch), channel)
        self._change = changes(job.transform)

    def of_bytes(self, data: bytes) -> torch.Tensor:
        return self._change(self._decode(torch.frombuffer(data, dtype=torch.uint8)))

    def of_file(self, path: str) -> torch.Tensor:
        return self.of_bytes(Path(path).read_bytes())


def decoder(scratch: Path, channel: Channel) -> Decoder:
    try:
        stubbed = torchvision_library.prepare(scratch)
        from torchvision.io import ImageReadMode, decode_jpeg

        decode = functools.partial(decode_jpeg, mode=ImageReadMode.RGB)
        black = simplejpeg.encode_jpeg(np.zeros((8, 8, 3), np.uint8))
        decode(torch.frombuffer(black, dtype=torch.uint8))
    except (AttributeError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        channel.send(note=f"decoded by simplejpeg, as torchvision's decoder fails here: {error}")
        return by_simplejpeg
    if stubbed:
        channel.send(note="torchvision's image library with its CUDA symbols stubbed")
    return decode


def by_simplejpeg(data: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(simplejpeg.decode_jpeg(data.numpy(), colorspace="RGB")).permute(2, 0, 1)


def changes(transform: str) -> Decoder:
    from torchvision.transforms import v2

    normalize = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION, inplace=True)]
    if transform == "eval":
        return v2.Compose([v2.Resize(RESIZE, antialias=True), v2.CenterCrop(SIZE), *normalize])
    crop = v2.RandomResizedCrop(SIZE, SCALE, RATIO, antialias=True)
    return v2.Compose([crop, v2.RandomHorizontalFlip(), *normalize])
