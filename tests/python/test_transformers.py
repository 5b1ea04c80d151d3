"""leat.transformers: the Trainer of Transformers, killed and resumed on other numbers of ranks; its evaluation; refusals."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import leat  # noqa: E402
import leat.transformers  # noqa: E402
from support import refused  # noqa: E402
from torch_jobs import run_ranks  # noqa: E402

DATA_FILE = leat.transformers.DATA_FILE


# Data and models


def number(sample: leat.Sample) -> None:
    value = int.from_bytes(sample.bytes("value"), "little")
    sample["x"] = np.array([value], np.float32)
    sample["labels"] = np.int32(value % 3)
    sample.erase("value")


def indexed(samples: int = 100, end: str = "mask") -> leat.Pipeline:
    return leat.count(samples, 8).shuffle(seed=3).map("number@1", number).batch(12, end=end)


def tokens(sample: leat.Sample) -> None:
    sample["input_ids"] = np.frombuffer(sample.bytes("text"), np.uint8).astype(np.int32)


def labels(sample: leat.Sample) -> None:
    sample["labels"] = sample["input_ids"]


def text(directory: Path, end: str = "drop") -> leat.Pipeline:
    """A stateful pipeline, whose epochs have lengths that only reading tells."""
    file = directory / "text.jsonl"
    if not file.exists():
        new = directory / f"text-{os.getpid()}.new"
        new.write_text("".join(json.dumps({"text": f"line {i} " + "ab" * (i % 7)}) + "\n" for i in range(272)))
        new.replace(file)
    lines = leat.json_lines(str(file), ranges=2, order="shuffled", seed=1).filter(leat.bytes_between("text", min=10))
    packed = lines.map("tokens@1", tokens).shuffle_buffer(48, seed=2).pack("input_ids", 24, split=True)
    return packed.map("labels@1", labels).batch(6, lanes=2, end=end, fields=["input_ids", "labels"])


DATA: dict[str, Callable[[Path], leat.Pipeline]] = {"indexed": lambda _: indexed(), "text": text}


class Linear(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(1, 3)

    def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
        logits = self.linear(x / 100)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def model_for(name: str) -> Any:
    torch.manual_seed(0)
    if name == "indexed":
        return Linear()
    sizes = {"n_layer": 1, "n_head": 1, "n_embd": 8, "n_positions": 24, "vocab_size": 128}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(bos_token_id=0, eos_token_id=0, **sizes))


def arguments(output: Path, **options: Any) -> Any:
    plain = {"use_cpu": True, "report_to": [], "disable_tqdm": True, "save_strategy": "no", "logging_steps": 10_000}
    return transformers.TrainingArguments(output_dir=str(output), **{**plain, **options})


# What the tests train


def digest(rows: Any) -> int:
    """A sum over rows: ranks' sums add up to the global batch's, and lost, repeated or invalid rows change it."""
    return sum(int.from_bytes(blake2b(x.tobytes(), digest_size=8).digest(), "big") for x in np.asarray(rows)) % 2**64


def due(data: leat.Pipeline, epochs: int) -> list[int]:
    """The global batches of an uninterrupted loader of leat."""
    batches = leat.Loader(data, epochs=epochs, workers=0)
    return [digest(np.asarray(x["x" if "x" in x else "input_ids"])[np.asarray(x.valid)]) for x in batches]


class Recording(leat.transformers.Trainer):  # type: ignore[misc]
    """Keeps what it trains, and on request in a file that survives the process."""

    def __init__(self, *args: Any, record: Path | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.trained: list[list[int]] = []
        self.record = record

    def training_step(self, model: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        assert type(inputs) is dict
        assert inputs["labels"].dtype == torch.int64
        line = [self.state.global_step, digest(inputs["x" if "x" in inputs else "input_ids"])]
        self.trained.append(line)
        if self.record is not None:
            with self.record.open("a") as file:
                file.write(json.dumps(line) + "\n")
        return super().training_step(model, inputs, *args, **options)


def recording(output: Path, *callbacks: Any, model: Any = None, data: Any = None, test: Any = None, **options: Any) -> Any:
    """One that trains `Linear` with `indexed`, unless it gets others."""
    record = options.pop("record", None)
    given = {"model": model or Linear(), "args": arguments(output, **options), "train_pipeline": data or indexed()}
    return Recording(**given, eval_pipeline=test, callbacks=[*callbacks], record=record)


class Watch(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
    """Keeps the epochs that are shown; stops after a given step."""

    def __init__(self, stop: int | None = None, stopping: Callable[[], None] | None = None) -> None:
        self.epochs: list[tuple[int, float]] = []
        self.stop = stop
        self.stopping = stopping

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.epochs.append((state.global_step, state.epoch))
        if state.global_step == self.stop:
            assert self.stopping is not None
            self.stopping()


class Killed(BaseException):
    pass


def kill() -> None:
    raise Killed


def train(name: str, output: Path, stop: int | None = None, resume: Any = None, **options: Any) -> tuple[list[Any], list[Any]]:
    """What is trained until the end or the given step, and the epochs that are shown."""
    watch = Watch(stop, kill)
    length = {"num_train_epochs": 3} if name == "indexed" else {"max_steps": 30}
    often = {"save_strategy": "steps", "save_steps": 4, "gradient_accumulation_steps": 2}
    of_name = {"model": model_for(name), "data": DATA[name](output.parent)}
    trainer = recording(output, watch, **of_name, **{**often, **length, **options})
    with contextlib.suppress(Killed):
        trainer.train(resume_from_checkpoint=resume)
    return trainer.trained, watch.epochs


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[Any], list[Any]]]:
    directory = tmp_path_factory.mktemp("whole")
    return {name: train(name, directory / name) for name in DATA}


def test_an_uninterrupted_training_is_that_of_a_loader(whole: Any, tmp_path: Path) -> None:
    trained, epochs = whole["indexed"]
    assert [x[1] for x in trained] == due(indexed(), 3)
    assert epochs == [(5 * e + i + 1, e + min(2 * i + 2, 9) / 9) for e in range(3) for i in range(5)]
    trained, epochs = whole["text"]
    expected = due(text(tmp_path), 4)
    assert [x[1] for x in trained] == expected[: len(trained)]
    per_epoch = len(expected) // 4
    assert len(trained) > 2 * per_epoch, "needs several epochs"
    assert per_epoch % 2 == 1, "needs epochs that end within an optimizer step"
    assert [int(x) for _, x in epochs] == sorted(int(x) for _, x in epochs)
    assert int(epochs[-1][1]) == 2


# Killed and resumed


def job(name: str, directory: str, attempt: int, stop: int | None) -> list[Any]:
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    output = Path(directory, name)

    def kill_all() -> None:
        Path(directory, f"at-{attempt}-{rank}").touch()
        while len(list(Path(directory).glob(f"at-{attempt}-*"))) < ranks:  # nobody waits for a dead rank
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

    watch = Watch(stop, kill_all)
    length = {"num_train_epochs": 3} if name == "indexed" else {"max_steps": 30}
    often = {"save_strategy": "steps", "save_steps": 4, "save_total_limit": 1, "gradient_accumulation_steps": 2}
    of_name = {"model": model_for(name), "data": DATA[name](Path(directory))}
    record = Path(directory, f"record-{attempt}-{rank}")
    trainer = recording(output, watch, **of_name, record=record, dataloader_num_workers=1 + attempt, **often, **length)
    trainer.train(resume_from_checkpoint=attempt > 0)
    return watch.epochs


@pytest.mark.parametrize(("name", "ranks"), [("indexed", (1, 2, 1)), ("text", (2, 1, 2))])
def test_killed_and_resumed_on_other_ranks_and_workers(name: str, ranks: tuple[int, ...], whole: Any, tmp_path: Path) -> None:
    trained, epochs = whole[name]
    kills = [(0, 6), (4, 11), (8, None)] if name == "indexed" else [(0, 10), (8, 25), (24, None)]
    for attempt, (world_size, (first, stop)) in enumerate(zip(ranks, kills, strict=True)):
        shown = run_ranks(job, world_size, name, str(tmp_path), attempt, stop, code=0 if stop is None else -signal.SIGKILL)
        records = [
            [json.loads(line) for line in (tmp_path / f"record-{attempt}-{rank}").read_text().splitlines()]
            for rank in range(world_size)
        ]
        assert len({tuple(x[0] for x in record) for record in records}) == 1
        got = [[batch[0][0], sum(x[1] for x in batch) % 2**64] for batch in zip(*records, strict=True)]
        assert got == [x for x in trained if first <= x[0] and (stop is None or x[0] < stop)]
        for each in shown:
            assert each == [x for x in epochs if x[0] > first]


# Checkpoints


@pytest.mark.parametrize(
    "where", ["Trainer.save_model", "Trainer._save_rng_state", "TrainerState.save_to_json", "trainer.rotate_checkpoints"]
)
def test_a_save_that_is_killed_leaves_the_checkpoint_before(
    where: str, whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    output = tmp_path / "out"
    trained, epochs = whole["indexed"]
    place, name = where.split(".")
    real, calls = getattr(getattr(transformers, place), name), 0

    def killed(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Killed
        return real(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(getattr(transformers, place), name, killed)
        begun, _ = train("indexed", output, save_total_limit=1)
    assert begun == [x for x in trained if x[0] < 8]
    assert (output / "checkpoint-8" / DATA_FILE).exists()
    is_complete = name == "rotate_checkpoints"
    rest, shown = train("indexed", output, resume=True)
    assert rest == [x for x in trained if x[0] >= (8 if is_complete else 4)]
    assert shown == [x for x in epochs if x[0] > (8 if is_complete else 4)]
    assert ("checkpoint-8 is passed over" in caplog.text) != is_complete


def test_a_folder_that_was_complete_is_not_while_it_is_saved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train("indexed", tmp_path, stop=6)
    with monkeypatch.context() as patch:
        patch.setattr(transformers.Trainer, "save_model", lambda *_, **__: kill())
        train("indexed", tmp_path)
    is_refused("has no complete checkpoint", tmp_path)
    is_refused(r"has no trainer_state\.json, which is saved last", tmp_path, str(tmp_path / "checkpoint-4"))


def is_refused(what: str, directory: Path, resume: Any = True, **options: Any) -> None:
    refused(what, train, "indexed", directory, resume=resume, **options)


def test_checkpoints_that_cannot_be_gone_on_from(tmp_path: Path) -> None:
    four, eight = tmp_path / "checkpoint-4", tmp_path / "checkpoint-8"
    train("indexed", tmp_path, stop=9)
    assert sorted(tmp_path.glob("checkpoint-*")) == [four, eight]
    is_refused("saved under gradient_accumulation_steps=2, now 3", tmp_path, gradient_accumulation_steps=3)
    (eight / DATA_FILE).write_bytes((four / DATA_FILE).read_bytes())
    is_refused(r"of step 4 beside a trainer_state\.json of step 8", tmp_path)
    (eight / DATA_FILE).unlink()
    is_refused(r"saved without leat\.transformers", tmp_path)
    (eight / "trainer_state.json").write_text('{"global_step": 8, ')
    is_refused("torn", tmp_path, str(eight))
    (four / "checkpoint-is-incomplete.txt").touch()
    is_refused("at a signal", tmp_path, str(four))
    (four / "checkpoint-is-incomplete.txt").unlink()
    with pytest.raises(leat.Error, match="80"):
        recording(tmp_path, data=indexed(80), gradient_accumulation_steps=2).train(resume_from_checkpoint=str(four))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="No valid checkpoint"):
        train("indexed", tmp_path / "empty", resume=True)


@pytest.mark.parametrize("at", ["on_pre_optimizer_step", "on_step_begin", "on_step_end"])
def test_a_checkpoint_at_a_signal_has_the_data_of_its_weights(at: str, whole: Any, tmp_path: Path) -> None:
    """enable_jit_checkpoint saves also when the batches of a step were fetched, and it was not made."""
    trained, _ = whole["indexed"]
    holder: list[Any] = []

    class Saving(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
        pass

    def save(self: Any, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 7:
            holder[0]._save_checkpoint(holder[0].model, None)
            raise Killed

    setattr(Saving, at, save)
    trainer = recording(tmp_path, Saving(), num_train_epochs=3, gradient_accumulation_steps=2)
    holder.append(trainer)
    with pytest.raises(Killed):
        trainer.train()
    rest, _ = train("indexed", tmp_path, resume=True)
    assert rest == [x for x in trained if x[0] >= 7]


@pytest.mark.parametrize("strategy", ["epoch", "best"])
def test_the_best_model_and_limits_of_checkpoints(strategy: str, whole: Any, tmp_path: Path) -> None:
    options = {
        "save_strategy": strategy,
        "eval_strategy": "epoch",
        "save_total_limit": 1,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "gradient_accumulation_steps": 2,
        "num_train_epochs": 3,
        "learning_rate": 0.1,
    }

    def trainer(stop: int | None = None) -> Any:
        test = leat.count(30, 8).map("number@1", number).batch(8, end="mask")
        return recording(tmp_path, Watch(stop, kill), model=model_for("indexed"), test=test, **options)

    trained, _ = whole["indexed"]
    with pytest.raises(Killed):
        trainer(12).train()
    rest = trainer()
    rest.train(resume_from_checkpoint=True)
    assert rest.trained == [x for x in trained if x[0] >= 10]
    assert rest.state.best_global_step in (5, 10, 15)
    assert (tmp_path / f"checkpoint-{rest.state.best_global_step}" / DATA_FILE).exists()


def test_training_again_begins_anew_and_leaves_no_threads(tmp_path: Path) -> None:
    options = {"max_steps": 12, "eval_strategy": "steps", "eval_steps": 4, "dataloader_num_workers": 2}
    trainer = recording(tmp_path, test=indexed(30), **options)
    counts = []
    for _ in range(3):
        trainer.trained.clear()
        trainer.train()
        assert [x[1] for x in trainer.trained] == due(indexed(), 2)[:12]
        counts.append(len(list(Path("/proc/self/task").iterdir())))
        with pytest.raises(leat.Error, match="close"):
            next(iter(trainer.callback_handler.train_dataloader))
    assert counts[0] == counts[1] == counts[2]
    assert trainer.accelerator._dataloaders == []


def test_an_epoch_that_a_callback_ends_is_left_out_and_a_resume_counts_right(tmp_path: Path) -> None:
    class Stopping(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_epoch_stop = control.should_epoch_stop or round(state.epoch % 1 * 9) == 4

    def trainer(stop: int | None = None) -> Any:
        watches = (Stopping(), Watch(stop, kill))
        return recording(tmp_path, *watches, num_train_epochs=3, save_strategy="steps", save_steps=6)

    due_batches = due(indexed(), 3)
    expected = [x for e in range(3) for x in due_batches[9 * e : 9 * e + 4]]
    with pytest.raises(Killed):
        trainer(7).train()
    rest = trainer()
    rest.train(resume_from_checkpoint=True)
    assert [x[1] for x in rest.trained] == expected[6:]
    assert rest.state.epoch == 2 + 4 / 9


def test_an_endless_epoch(tmp_path: Path) -> None:
    def trainer(steps: int) -> Any:
        return recording(tmp_path, data=indexed(end="cycle"), max_steps=steps, save_strategy="steps", save_steps=5)

    expected = [digest(np.asarray(x["x"])) for x in leat.Loader(indexed(end="cycle"), steps=20, workers=0)]
    first = trainer(10)
    first.train()
    rest = trainer(20)
    rest.train(resume_from_checkpoint=True)
    assert [x[1] for x in first.trained + rest.trained] == expected
    assert rest.state.epoch == 1


# Evaluation


def marked(sample: leat.Sample) -> None:
    number(sample)
    if int(sample["x"][0]) % 7 == 3:
        raise leat.BadSample("corrupt", "on purpose")


def evaluated(directory: str, names: list[str]) -> list[Any]:
    """25 rows with bad ones among them, in batches of 12: the last batch has a single row."""
    data = leat.count(25, 8).map("marked@1", marked).batch(12, end="mask")
    seen: dict[str, Any] = {}

    def metrics(found: Any) -> dict[str, float]:
        seen.update(labels=found.label_ids.tolist(), inputs=found.inputs[:, 0].tolist(), losses=len(found.losses))
        return {"right": float((found.predictions.argmax(-1) == found.label_ids).mean())}

    found = []
    for name in names:
        trainer = leat.transformers.Trainer(
            model=model_for(name),
            args=arguments(Path(directory, "out"), include_for_metrics=["inputs", "loss"]),
            eval_pipeline={"a": data} if name == "indexed" else text(Path(directory), "mask"),
            loader_options={"bad_samples": "mask"},
            compute_metrics=metrics if name == "indexed" else None,
        )
        trainer.model.main_input_name = "x" if name == "indexed" else "input_ids"
        measured = trainer.evaluate()
        output = trainer.predict(data if name == "indexed" else text(Path(directory), "mask"))
        loss = next(x for key, x in measured.items() if key.endswith("_loss"))
        predictions = output.predictions[0] if isinstance(output.predictions, tuple) else output.predictions
        found.append((loss, predictions, output.label_ids, len(predictions), dict(seen), measured.get("eval_a_right")))
    return found


def expected_of_evaluation() -> tuple[Any, Any, float]:
    rows = [x for x in range(25) if x % 7 != 3]
    x, y = torch.tensor(rows)[:, None].float(), torch.tensor([i % 3 for i in rows])
    with torch.no_grad():
        logits = model_for("indexed").linear(x / 100)
        return x[:, 0].tolist(), logits, float(torch.nn.functional.cross_entropy(logits, y))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_evaluation_and_prediction_have_exactly_the_valid_rows_in_order(ranks: int, tmp_path: Path) -> None:
    text(tmp_path)
    x, logits, loss = expected_of_evaluation()
    batches = list(leat.Loader(text(tmp_path, "mask"), epochs=1, workers=0))
    rows = [r.tolist() for b in batches for r in np.asarray(b["input_ids"])[np.asarray(b.valid)]]
    names = ["indexed", "text"] if ranks <= 2 else ["indexed"]  # the text has two lanes
    found = [evaluated(str(tmp_path), names)] if ranks == 1 else run_ranks(evaluated, ranks, str(tmp_path), names)
    for text_loss, predictions, label_ids, *_ in (x[1] for x in found if ranks <= 2):
        assert label_ids.tolist() == rows
        assert predictions.shape == (len(rows), 24, 128)
        assert 4 < text_loss < 6
    for first, *_ in found:
        assert first[0] == pytest.approx(loss, rel=1e-5)
        np.testing.assert_allclose(first[1], logits, rtol=1e-5)
        assert first[4]["inputs"] == x
        assert first[4]["labels"] == [i % 3 for i in x]
        assert first[4]["losses"] == first[3] == len(x)
        assert first[5] == pytest.approx(float((logits.argmax(-1) == torch.tensor([i % 3 for i in x])).float().mean()))


def test_an_evaluation_is_the_same_each_time_and_of_any_length_of_batches(tmp_path: Path) -> None:
    data = leat.count(50, 8).shuffle(seed=4).map("number@1", number).batch(16, end="drop")
    plain = arguments(tmp_path, per_device_eval_batch_size=3)
    trainer = leat.transformers.Trainer(model=model_for("indexed"), args=plain, eval_pipeline=data)
    first, second = trainer.evaluate(), trainer.evaluate(data)
    assert first["eval_loss"] == second["eval_loss"]
    output = trainer.predict(data)
    assert len(output.predictions) == len(output.label_ids) == 48
    x = torch.tensor([[float(v)] for b in leat.Loader(data, epochs=1, workers=0) for v in np.asarray(b["x"])[:, 0]])
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(trainer.model.linear(x / 100), torch.tensor(output.label_ids))
    assert first["eval_loss"] == pytest.approx(float(loss), rel=1e-5)
    loader = trainer.get_eval_dataloader()
    assert len(list(loader)) == 3
    refused("iterated again", iter, loader)
    loader.close()
    # For a dataset of the Trainer's own, its own gatherer is back.
    rows = [{"x": np.array([float(i)], np.float32), "labels": i % 3} for i in range(7)]
    assert len(trainer.predict(rows).predictions) == 7


def test_outputs_that_are_not_one_per_row_are_refused(tmp_path: Path) -> None:
    class Sum(Linear):
        def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
            found = super().forward(x, labels)
            return {"loss": found["loss"], "sum": found["logits"].sum(dim=0)}

    trainer = leat.transformers.Trainer(model=Sum(), args=arguments(tmp_path))
    refused("with 3 rows, of a batch with 2: give one value per row", trainer.predict, indexed(14))
    objects = arguments(tmp_path, eval_use_gather_object=True)
    refused("eval_use_gather_object", leat.transformers.Trainer(model=Linear(), args=objects).predict, indexed(14))


# Ranks without samples


def odd_is_bad(sample: leat.Sample) -> None:
    number(sample)
    if int(sample["x"][0]) >= 12 and int(sample["x"][0]) % 2 == 1:
        raise leat.BadSample("corrupt", "on purpose")


def test_a_training_in_which_ranks_would_get_nothing_is_refused(tmp_path: Path) -> None:
    second_of_two = {"rank": 1, "world_size": 2, "workers": 0}
    bad = leat.count(48, 8).map("odd_is_bad@1", odd_is_bad).batch(12, end="drop")
    for data, options, problem in (
        (indexed(97), {}, "1 of 97 samples are left"),
        (text(tmp_path, "mask"), {"agree": lambda mine: [mine, mine]}, "an unknown number of samples is left"),
        (bad, {"bad_samples": "mask"}, "step 1 has no sample for rank 1 of 2"),
    ):
        trainer = leat.transformers.Trainer(
            model=Linear(),
            args=arguments(tmp_path / "out", max_steps=20),
            train_pipeline=data,
            loader_options={**second_of_two, **options},
        )
        refused(problem, trainer.train)


# Arguments


class Columns(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, **inputs: Any) -> dict[str, Any]:
        self.names = sorted(inputs)
        return {"loss": self.weight.sum()}


def test_fields_are_the_parameters_of_the_model(tmp_path: Path) -> None:
    data = leat.count(20, 8).map("number@1", number).map("more@1", more).batch(4)
    recording(tmp_path, data=data, max_steps=2).train()  # `other` is left out
    bare = leat.count(20, 8).map("bare@1", bare_fields).batch(4)
    refused("none of which the model's forward has as a parameter", recording(tmp_path, data=bare, max_steps=2).train)
    model = Columns()
    every = arguments(tmp_path, max_steps=2, remove_unused_columns=False)
    leat.transformers.Trainer(model=model, args=every, train_pipeline=data).train()
    assert model.names == ["labels", "num_items_in_batch", "other", "x"]
    words = leat.count(20, 8).map("word@1", word).batch(4)
    trainer = leat.transformers.Trainer(model=model, args=every, train_pipeline=words)
    refused("the field word, whose rows have different lengths", trainer.train)


def more(sample: leat.Sample) -> None:
    sample["other"] = np.zeros(2, np.float32)


def bare_fields(sample: leat.Sample) -> None:
    sample["other"] = np.zeros(2, np.float32)
    sample.erase("value")


def word(sample: leat.Sample) -> None:
    sample.set("word", b"x" * sample.bytes("value")[0])
    sample.erase("value")


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"ignore_data_skip": True}, "without reading"),
        ({"auto_find_batch_size": True}, "those of batch"),
        ({"dataloader_drop_last": True}, "end=.drop"),
        ({"train_sampling_strategy": "group_by_length"}, "the order is the pipeline's"),
    ],
)
def test_arguments_that_would_mean_other_batches_are_refused(option: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(leat.InvalidArgument, match=f"{next(iter(option))}.*{text}"):
        leat.transformers.Trainer(model=Linear(), args=arguments(tmp_path, **option), train_pipeline=indexed())


def test_rows_are_those_of_the_pipeline(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for given, level in ((5, "WARNING"), (8, "INFO"), (12, None)):
        caplog.clear()
        plain = arguments(tmp_path, per_device_train_batch_size=given)
        with caplog.at_level("INFO", "leat"):
            leat.transformers.Trainer(model=Linear(), args=plain, train_pipeline=indexed())
        assert plain.per_device_train_batch_size == 12
        assert [x.levelname for x in caplog.records if "is taken as 12" in x.getMessage()] == ([level] if level else [])


def test_what_is_not_a_pipeline_is_refused(tmp_path: Path) -> None:
    plain = arguments(tmp_path, max_steps=3)
    loader = leat.torch.DataLoader(indexed(), workers=0)
    Trainer = leat.transformers.Trainer
    cases: list[tuple[str, dict[str, Any]]] = [
        ("train_pipeline= or eval_pipeline=", {"train_dataset": indexed()}),
        ("train_pipeline= or eval_pipeline=", {"train_dataset": loader}),
        ("train_pipeline= or eval_pipeline=", {"eval_dataset": loader}),
        ("train_pipeline= or eval_pipeline=", {"eval_dataset": {"a": indexed()}}),
        ("train_pipeline, got DataLoader", {"train_pipeline": loader}),
        (r"eval_pipeline\['a'\], got DataLoader", {"eval_pipeline": {"a": loader}}),
        ("train_pipeline and train_dataset", {"train_pipeline": indexed(), "train_dataset": [1]}),
        ("eval_pipeline and eval_dataset", {"eval_pipeline": indexed(), "eval_dataset": [1]}),
        ("data_collator", {"train_pipeline": indexed(), "data_collator": lambda x: x}),
    ]
    for problem, given in cases:
        refused(problem, Trainer, model=Linear(), args=plain, **given)
    trainer = Trainer(model=Linear(), args=plain, train_pipeline=indexed())
    for call in (trainer.evaluate, trainer.predict):
        refused("train_pipeline= or eval_pipeline=", call, loader)
    with pytest.raises(ValueError, match="max_steps"):
        Trainer(model=model_for("text"), args=arguments(tmp_path), train_pipeline=text(tmp_path)).train()


def test_a_trainer_without_pipelines_is_that_of_transformers(tmp_path: Path) -> None:
    rows = [{"x": np.array([float(i)], np.float32), "labels": i % 3} for i in range(24)]

    def trainer() -> Any:
        plain = arguments(tmp_path, max_steps=6, save_strategy="steps", save_steps=2)
        return Recording(model=Linear(), args=plain, train_dataset=rows, eval_dataset=rows)

    first = trainer()
    first.train()
    rest = trainer()
    rest.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))  # Accelerate's own skipping
    assert rest.trained == first.trained[2:]
    assert not list(tmp_path.glob(f"*/{DATA_FILE}"))
    assert rest.evaluate()["eval_loss"] > 0


def test_a_trainer_that_skips_batches_of_a_leat_loader_of_its_own_is_refused(tmp_path: Path) -> None:
    class Own(transformers.Trainer):  # type: ignore[misc,name-defined]
        def get_train_dataloader(self) -> Any:
            return self.accelerator.prepare(leat.torch.DataLoader(indexed(), workers=0))

    class Long(Linear):
        def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
            return super().forward(x, labels.long())

    for resume in (None, str(tmp_path / "checkpoint-2")):
        trainer = Own(model=Long(), args=arguments(tmp_path, max_steps=3, save_strategy="steps", save_steps=2))
        with contextlib.nullcontext() if resume is None else pytest.raises(leat.InvalidArgument, match="not to be iterated"):
            trainer.train(resume_from_checkpoint=resume)


def test_a_loader_where_the_trainer_is_not_is_refused(tmp_path: Path) -> None:
    trainer = leat.transformers.Trainer(model=Linear(), args=arguments(tmp_path), train_pipeline=indexed())
    loader = trainer.get_train_dataloader()
    for told in (lambda: loader.set_epoch(1), lambda: transformers.trainer.skip_first_batches(loader, 3)):
        told()
        refused("going on would lose or repeat batches", iter, loader)
        loader.set_epoch(0)
    loader.close()
