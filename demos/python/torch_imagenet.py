"""Trains on images in tar shards, such as ImageNet's, and resumes after any batch, on any number of processes:

torchrun --nproc-per-node 8 demos/python/torch_imagenet.py 'imagenet-train-{000000..000146}.tar' CHECKPOINTS
"""

import argparse
import os
from pathlib import Path
from typing import Any

import leat
import leat.torch
import torch
import torch.distributed as dist

OPTIONS = {"size": 224, "batch": 1024, "epochs": 90, "classes": 1000, "save-every": 500, "stop-after": 0}


def main() -> None:
    ask = argparse.ArgumentParser()
    ask.add_argument("shards")
    ask.add_argument("checkpoints", type=Path)
    for name, usual in OPTIONS.items():
        ask.add_argument(f"--{name}", type=int, default=usual)
    given = ask.parse_args()

    if "RANK" in os.environ:
        dist.init_process_group()
    device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else "cpu")
    images = leat.tar_shards(given.shards).shuffle(seed=7).map(leat.train_image("jpg", size=given.size))
    data = images.map(leat.int_label("cls")).batch(given.batch, fields=["image", "label"])  # rows over all processes
    loader = leat.torch.DataLoader(data, device=device)
    torch.manual_seed(0)
    model: torch.nn.Module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(given.classes)).to(device)
    model(torch.zeros(1, 3, given.size, given.size, device=device))  # put your model here
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "loader": loader}
    for newest in sorted(given.checkpoints.glob("*.pt"))[-1:]:
        state = torch.load(newest, map_location=device)
        for name, x in parts.items():
            x.load_state_dict(state[name])

    for epoch in range(loader.epoch, given.epochs):
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            print(f"epoch {epoch} step {batch.global_step} loss {loss.item():.4f} digest {batch.digest()}")
            if (batch.global_step + 1) % given.save_every == 0 and batch.rank == 0:
                given.checkpoints.mkdir(exist_ok=True)
                state = {name: x.state_dict() for name, x in parts.items()}
                torch.save(state, given.checkpoints / f"{batch.global_step + 1:08}.pt")
            if batch.global_step + 1 == given.stop_after:
                return


if __name__ == "__main__":
    main()
