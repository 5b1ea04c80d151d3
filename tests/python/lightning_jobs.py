"""A tiny module that records its batches, its Trainer, and a program that trains it on several ranks, until it is killed."""

import json
import logging
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import leat
import leat.torch
import lightning
import torch
from leat.lightning import Resume
from lightning.pytorch.callbacks import Callback, ModelCheckpoint

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

EPOCHS = 3
Noted = tuple[int, int, str]


def noted(batch: Any) -> Noted:
    return batch.epoch, batch.step, str(batch.digest())


def all_noted(batches: Any) -> list[Noted | None]:
    return [x and noted(x) for x in (batches.values() if isinstance(batches, dict) else batches)]


class Noting(lightning.LightningModule):
    """Records the batches of its steps."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Linear(1, 1)
        self.options = options
        self.trained: list[Any] = []
        self.validated: list[Noted] = []
        self.ends = 0

    def training_step(self, batch: Any, _: int) -> Any:
        if len(self.trained) == self.options.get("crash"):
            raise RuntimeError("on purpose")
        self.trained.append(noted(batch) if isinstance(batch, leat.torch.Batch) else all_noted(batch))
        return self.weight(torch.ones(2, 1, dtype=self.dtype)).mean()

    def validation_step(self, batch: Any, _: int) -> None:
        self.validated.append(noted(batch))

    def on_train_epoch_end(self) -> None:
        self.ends += 1

    def predict_step(self, batch: Any, _: int, dataloader_idx: int = 0) -> list[str]:
        return [x for x, is_valid in zip(batch.ids(), batch.valid, strict=False) if is_valid]

    def configure_optimizers(self) -> Any:
        if self.options.get("early"):
            assert self.trainer.estimated_stepping_batches > 0
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Stop(Callback):
    """Ends training after so many batches, as a Timer does."""

    def __init__(self, after: int) -> None:
        self.left = after

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        self.left -= 1
        trainer.should_stop = trainer.should_stop or self.left == 0


def trainer(directory: Path, *callbacks: Any, resumes: bool = True, **options: Any) -> Any:
    options = {"max_epochs": EPOCHS, "logger": False, **options}
    if not any(isinstance(x, ModelCheckpoint) for x in callbacks):
        options.setdefault("enable_checkpointing", False)
    return lightning.Trainer(
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=directory,
        callbacks=[*callbacks, *([Resume()] if resumes else [])],
        **options,
    )


class Tell(Callback):
    """Writes what a rank trains, line by line, and kills it after a global step."""

    def __init__(self, path: str, kill_behind: int) -> None:
        self.path, self.kill_behind = path, kill_behind

    def on_train_batch_end(self, trainer: Any, _: Any, __: Any, batch: Any, index: int) -> None:
        with Path(f"{self.path}-{trainer.global_rank}").open("a") as file:
            file.write(json.dumps((*noted(batch), trainer.world_size)) + "\n")
        if batch.global_step == self.kill_behind:
            trainer.strategy.barrier()
            os.kill(os.getpid(), signal.SIGKILL)


class Data(lightning.LightningDataModule):
    """The loader, made by a hook, where the ranks are known."""

    def __init__(self, data: leat.Pipeline, workers: int) -> None:
        super().__init__()
        self.data, self.workers = data, workers

    def train_dataloader(self) -> Any:
        return leat.torch.DataLoader(self.data, workers=self.workers)


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    found = Data(leat.parse_pipeline(Path(job["pipeline"]).read_text()), job["workers"])
    saves = ModelCheckpoint(dirpath=job["checkpoints"], filename="{step}", every_n_train_steps=3, save_top_k=-1)
    options: dict[str, Any] = {"devices": job["ranks"], "strategy": "ddp" if job["ranks"] > 1 else "auto"}
    of = trainer(Path(job["checkpoints"]), saves, Tell(job["told"], job["kill_behind"]), **options)
    # Made here, a loader does not know its rank yet: those that Lightning starts itself learn it later.
    given = {"datamodule": found} if job["hook"] else {"train_dataloaders": found.train_dataloader()}
    of.fit(Noting(), ckpt_path=job["checkpoint"], **given)


if __name__ == "__main__":
    main()
