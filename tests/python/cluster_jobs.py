"""One rank of a job of several processes, as a program: its argument has its options as JSON, its last line has the result."""

import json
import os
import signal
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import leat
from in_call import tell

SAMPLES, ROWS = 600, 12
SAVE_EVERY, WAITS_AT = 7, 14  # steps of the job; there all ranks wait until the set is stored


def length(sample: leat.Sample) -> None:
    sample["length"] = len(sample.id)


def is_kept(sample: leat.Sample) -> bool:
    return int(sample["value"][0]) % 5 != 0


def indexed() -> leat.Pipeline:
    return leat.count(SAMPLES).shuffle(seed=5).map("length@1", length).batch(ROWS, lanes=ROWS)


def dropping() -> leat.Pipeline:
    """Epochs whose lengths no rank knows alone."""
    return (
        leat.count(SAMPLES)
        .shuffle(seed=3)
        .filter("kept@1", is_kept)
        .shuffle_buffer(48, seed=2)
        .map("length@1", length)
        .batch(ROWS, lanes=ROWS, end="drop")
    )


PIPELINES = {"indexed": indexed, "dropping": dropping}


@dataclass
class Options:
    place: str
    pipeline: str
    rank: int = 0
    world_size: int = 4
    epochs: int = 2
    on_rank_loss: str = "back"
    # It kills itself once it has trained this step of the job, if that is not 0.
    kill_after: int = 0
    # Its trainer was lost, and takes the weights of the ranks that continued.
    comes_back: bool = False

    def cluster(self) -> leat.Cluster:
        return leat.Cluster(
            "127.0.0.1:0",
            state_directory=f"{self.place}/state",
            rank=self.rank,
            world_size=self.world_size,
            token="the token",
            beat=0.1,
            on_rank_loss=self.on_rank_loss,
        )

    def data(self) -> leat.Pipeline:
        return PIPELINES[self.pipeline]()

    def loader(self) -> leat.Loader:
        return leat.Loader(self.data(), epochs=self.epochs, workers=1, prefetch=2, keep=1 << 20, cluster=self.cluster())

    @property
    def sets(self) -> str:
        return f"{self.place}/sets"

    def json(self) -> str:
        return json.dumps(asdict(self))


class Trainer:
    """Its weights are the sum of the digests that it has learned from."""

    def __init__(self, x: Options) -> None:
        self.file = Path(x.place) / f"weights.{x.rank}.json"
        self.kept: dict[str, str] = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.load(0)

    def learn(self, batch: leat.Batch) -> None:
        assert batch.global_step == self.step
        self.step += 1
        self.weights += batch.digest()

    def keep(self) -> None:
        self.kept[str(self.step)] = str(self.weights)
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.kept))
        new.replace(self.file)

    def load(self, global_step: int) -> None:
        self.step = global_step
        self.weights = leat.Hash128(self.kept[str(global_step)]) if global_step > 0 else leat.Hash128()


@dataclass
class Came:
    """The result of a rank."""

    began_at: int = 0
    # Where it continued when the ranks went back, and in which call it learned of that.
    regrouped: list[tuple[str, int]] = field(default_factory=list)
    # "epoch/step" -> digest, of this process; a step that came twice had to be learned again.
    batches: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    digest: str = ""
    weights: str = ""


class Rank:
    def __init__(self, x: Options) -> None:
        self.x = x
        self.loader = x.loader()
        self.trainer = Trainer(x)
        self.came = Came()
        self.call = "restore"

    def run(self) -> Came:
        self.loader.restore(self.x.sets)
        if self.x.comes_back:
            self.come_back()
        else:
            self.trainer.load(self.loader.position().global_step)
        self.came.began_at = self.trainer.step
        while True:
            try:
                if not self.step():
                    break
            except leat.Error as problem:
                if problem.code != "regrouped":
                    raise
                self.go_back()
        self.came.digest = str(self.loader.position().digest)
        self.came.weights = str(self.trainer.weights)
        return self.came

    def step(self) -> bool:
        self.call = "next"
        batch = self.loader.next()
        if batch is None:
            self.call = "finish"
            self.loader.finish()
            return False
        self.trainer.learn(batch)
        self.came.batches[f"{batch.epoch}/{batch.step}"] = str(batch.digest())
        is_last = self.trainer.step == self.x.kill_after
        if self.x.on_rank_loss == "alone" or is_last or self.trainer.step % SAVE_EVERY == 0:
            self.trainer.keep()
        if self.trainer.step % SAVE_EVERY == 0:
            self.loader.save(self.x.sets, batch)
            if self.trainer.step == WAITS_AT:
                self.call = "wait_saved"
                self.loader.wait_saved()
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    def go_back(self) -> None:
        at = self.loader.position().global_step
        self.came.regrouped.append((self.call, at))
        if self.loader.has_come_back:  # the others continued without this process, which was only slow
            self.loader.resume_at(self.trainer.step)
        else:
            self.trainer.load(at)

    def come_back(self) -> None:
        try:
            self.loader.next()
        except leat.InvalidArgument as problem:
            self.came.refused = str(problem)
        self.trainer.load(max(map(int, self.trainer.kept)))
        assert self.loader.has_come_back
        self.loader.resume_at(self.trainer.step)
        assert not self.loader.has_come_back
        assert self.loader.position().global_step == self.trainer.step
        assert self.loader.position().digest == self.trainer.weights


def main(argument: str) -> None:
    options: dict[str, Any] = json.loads(argument)
    tell(json.dumps(asdict(Rank(Options(**options)).run())))


if __name__ == "__main__":
    main(sys.argv[1])
