"""Compares pixels that nvJPEG decodes with the processor's, and says how fast it is in a loader.

nvjpeg.py DIRECTORY LEAT...   LEAT: how the command is called, which makes images there
"""

import glob
import os
import subprocess
import sys
import time

import leat
import numpy as np
import torch
from rows import judged, measured, skipped

IMAGES = 512


def pixels(shards: list[str], **where: str) -> tuple[np.ndarray, leat.Loader]:
    """All, as bytes. Crops are so large that nothing is decoded smaller."""
    data = leat.tar_shards(shards).map(leat.train_image("jpg", size=128, dtype="u8")).batch(64)
    loader = leat.Loader(data, workers=2, **where)
    found = []
    for batch in loader:
        if batch.is_on_device("image"):
            found.append(torch.from_dlpack(batch.on_device("image")).cpu().numpy())
        else:
            found.append(np.array(batch["image"]))
    return np.concatenate(found), loader


def main(directory: str, *command: str) -> int:
    folder = os.path.join(directory, "nvjpeg")
    made = [*command, "make-data", folder, "--samples", str(IMAGES), "--shards", "2"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    shards = sorted(glob.glob(os.path.join(folder, "*.tar")))
    here, _ = pixels(shards)
    try:
        there, loader = pixels(shards, device="cuda", decoder="nvjpeg")
    except leat.Error as why:
        if "no nvJPEG here" not in str(why):
            raise
        skipped("nvJPEG", why)
        return 0
    decoder = loader.stats()["device"]["decoder"]
    judged(
        "images by nvJPEG",
        f"{IMAGES} of {IMAGES}",
        f"{decoder['images']}, else {decoder['on_cpu']}",
        decoder["images"] == IMAGES,
    )
    difference = np.abs(there.astype(int) - here.astype(int))
    equal = int((difference.reshape(IMAGES, -1).max(axis=1) == 0).sum())
    mean = float(difference.mean())
    text = f"mean {mean:.3f}, highest {difference.max()}, {equal} of {IMAGES} images equal"
    judged("nvJPEG's pixels against the processor's, of 255", "mean below 2", text, mean < 2, mean=mean, equal=equal)
    again, _ = pixels(shards, device="cuda", decoder="nvjpeg")
    same = bool((again == there).all())
    judged("nvJPEG's pixels a second time", "equal", "equal" if same else "different", same)
    begin = time.monotonic()
    pixels(shards, device="cuda", decoder="nvjpeg")
    rate = IMAGES / (time.monotonic() - begin)
    host = 1e6 * decoder["prepared"] / max(1, decoder["images"])
    measured(
        "a loader by nvJPEG, 2 workers, its start included", f"{rate:,.0f} images/s, {host:.0f} us of the host each", rate=rate
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
