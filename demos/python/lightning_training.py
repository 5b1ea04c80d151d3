"""Trains with Lightning and continues exactly where it was stopped, on any number of devices:

python demos/python/lightning_training.py CHECKPOINTS [EPOCHS [DEVICES]]
"""

import sys
from typing import Any

import leat
import leat.lightning
import leat.torch
import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import ModelCheckpoint


@leat.map("point@1")
def point(sample: leat.Sample) -> None:
    x = np.frombuffer(sample["value"], np.uint8)[:1].astype(np.float32) / 128 - 1
    sample.set("x", x)
    sample.set("y", 2 * x + 1)


class Line(lightning.LightningModule):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(1, 1)

    def training_step(self, batch: leat.torch.Batch, _: int) -> Any:
        loss = (self.line(batch["x"]) - batch["y"])[batch.valid].square().mean()
        print(f"step {batch.global_step}: {batch.digest()} loss {loss.item():.6f}", flush=True)
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main(checkpoints: str, epochs: int = 2, devices: int = 1) -> None:
    lightning.seed_everything(0, verbose=False)
    data = leat.count(250, 8).shuffle(seed=1).map(point).batch(16, fields=["x", "y"], end="mask")
    trainer = lightning.Trainer(
        max_epochs=epochs,
        devices=devices,
        accelerator="cpu",
        default_root_dir=checkpoints,
        callbacks=[leat.lightning.Resume(), ModelCheckpoint(checkpoints, every_n_train_steps=10, save_last=True)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Line(), leat.torch.DataLoader(data, workers=2), ckpt_path="last")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
