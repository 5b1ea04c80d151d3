"""Trains with Accelerate and continues exactly where it was stopped, on any number of processes:

accelerate launch demos/python/accelerate_training.py CHECKPOINTS [STEPS]
"""

import sys
from pathlib import Path

import accelerate
import leat
import leat.accelerate
import leat.torch
import numpy as np
import torch

EPOCHS = 3


@leat.map("point@1")
def point(sample: leat.Sample) -> None:
    x = np.frombuffer(sample["value"], np.uint8)[:1].astype(np.float32) / 128 - 1
    sample.set("x", x)
    sample.set("y", 2 * x + 1)


def main(checkpoints: Path, steps: int) -> None:
    accelerator = accelerate.Accelerator(gradient_accumulation_steps=2)
    data = leat.count(256, 8).shuffle(seed=1).map(point).batch(16, fields=["x", "y"], end="mask")
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, leat.torch.DataLoader(data, workers=2))
    if checkpoints.exists():
        leat.accelerate.load_state(accelerator, checkpoints)

    for epoch in range(loader.epoch, EPOCHS):
        for batch in loader:
            with accelerator.accumulate(model):
                error = (model(batch["x"]) - batch["y"])[batch.valid].square().mean()
                accelerator.backward(error)
                optimizer.step()
                optimizer.zero_grad()
            # Accelerate does not save gradients that have been accumulated so far.
            if accelerator.sync_gradients and 0 < steps <= batch.global_step + 1:
                accelerator.save_state(str(checkpoints))
                return accelerator.print(f"stopped after {batch.global_step + 1} steps")
        accelerator.print(f"epoch {epoch}: error {error.item():.6f}")

    test = accelerator.prepare(leat.torch.DataLoader(data, workers=2))
    errors = [accelerator.gather_for_metrics((model(x["x"]) - x["y"]).abs().detach()) for x in test]
    accelerator.print(f"{sum(len(x) for x in errors)} rows, largest error {max(float(x.max()) for x in errors):.6f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
