"""torch DataLoader, decoding in worker processes. Variants: torchvision, pillow."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from contenders.protocol import BATCH, Channel, Job, measure, read_job


class Images(Dataset):
    def __init__(self, files: list[tuple[str, int]], load: Callable[[str], Any]) -> None:
        self._files = files
        self._load = load

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self._files[index]
        return torch.as_tensor(self._load(path)), label


def file_loader(job: Job, channel: Channel) -> Callable[[str], Any]:
    if job.variant == "pillow":
        from contenders import pillow_images

        return pillow_images.Transform(job).of_file
    from contenders import torch_images

    return torch_images.Transform(job, channel).of_file


def main() -> None:
    channel, job = Channel(), read_job()
    torch.set_num_threads(1)
    loader = DataLoader(
        Images(job.files(), file_loader(job, channel)),
        batch_size=BATCH,
        shuffle=True,
        num_workers=job.workers,
        persistent_workers=True,
    )
    measure(job, channel, lambda: (images for images, _ in loader))


if __name__ == "__main__":
    main()
