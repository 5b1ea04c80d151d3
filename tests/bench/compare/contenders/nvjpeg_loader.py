"""nvJPEG by torchvision: whole images decoded on the GPU, a batch at a time, and transformed there one by one.

Workers are threads that read files. Batches stay on the GPU.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torchvision.io import ImageReadMode, decode_jpeg

from contenders import torch_images
from contenders.protocol import BATCH, Channel, Job, measure, read_job


def read(path: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.uint8)


def epoch(job: Job, readers: ThreadPoolExecutor, change: torch_images.Decoder) -> Iterator[torch.Tensor]:
    files = job.files()
    order = torch.randperm(len(files)).tolist()
    batches = [[files[i][0] for i in order[at : at + BATCH]] for at in range(0, len(files), BATCH)]
    ahead = [readers.submit(read, path) for path in batches[0]]
    for number in range(len(batches)):
        jpegs = [x.result() for x in ahead]
        if number + 1 < len(batches):
            ahead = [readers.submit(read, path) for path in batches[number + 1]]
        images = decode_jpeg(jpegs, mode=ImageReadMode.RGB, device="cuda")
        yield torch.stack([change(x) for x in images])
    torch.cuda.synchronize()


def main() -> None:
    channel, job = Channel(), read_job()
    change = torch_images.changes(job.transform)
    with ThreadPoolExecutor(job.workers) as readers:
        measure(job, channel, lambda: epoch(job, readers, change))


if __name__ == "__main__":
    main()
