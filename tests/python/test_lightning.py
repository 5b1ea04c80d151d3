"""leat.lightning: batches of a Trainer that is stopped anywhere and resumed are those of an uninterrupted leat.Loader."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

import leat  # noqa: E402
import leat.lightning  # noqa: E402
import leat.torch  # noqa: E402
from lightning.pytorch.callbacks import ModelCheckpoint, OnExceptionCheckpoint  # noqa: E402
from lightning.pytorch.utilities import CombinedLoader  # noqa: E402
from lightning_jobs import EPOCHS, Noted, Noting, Stop, all_noted, noted, trainer  # noqa: E402
from made_files import png, write_tar  # noqa: E402
from support import json_lines_of, run_command  # noqa: E402
from torch_jobs import DATA, due, joined, run_ranks  # noqa: E402


def loader(name: str = "indexed", **options: Any) -> Any:
    return leat.torch.DataLoader(DATA[name](), **{"workers": 1, **options})


def fitted(
    directory: Path,
    *callbacks: Any,
    name: str = "indexed",
    data: Any = None,
    path: Any = None,
    module: Any = None,
    **options: Any,
) -> Any:
    """A module that a Trainer has trained with a new loader."""
    module = module or Noting()
    trainer(directory, *callbacks, **options).fit(module, loader(name) if data is None else data, ckpt_path=path)
    return module


def checkpoints(directory: Path) -> list[tuple[int, Path]]:
    """The checkpoints by the steps after which they were written."""
    found = [(int(re.search(r"step=(\d+)", x.name)[1]), x) for x in directory.glob("*.ckpt")]  # type: ignore[index]
    return sorted(found)


def saving(directory: Path, **options: Any) -> Any:
    return ModelCheckpoint(dirpath=directory, filename="{epoch}-{step}", save_top_k=-1, **options)


SAVES = {"steps": {"every_n_train_steps": 1}, "epochs": {}, "validations": {"save_on_train_epoch_end": False}}


@pytest.mark.parametrize("saves", SAVES)
@pytest.mark.parametrize("is_by_steps", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_every_checkpoint_resumes_after_the_batch_that_was_trained(
    name: str, is_by_steps: bool, saves: str, tmp_path: Path
) -> None:
    """`is_by_steps`: with max_steps Lightning restores other counters, and loads loaders at other times."""
    options: dict[str, Any] = {"max_steps": 1000} if is_by_steps else {}
    validates = saves == "validations"
    if validates and name == "indexed":
        options["val_check_interval"] = 3
    whole = Noting()
    given = [loader(name), *([loader(name)] if validates else [])]
    trainer(tmp_path, saving(tmp_path, **SAVES[saves]), **options).fit(whole, *given)
    assert whole.trained == due(name, EPOCHS)
    found = checkpoints(tmp_path)
    assert len(found) == {"steps": len(whole.trained), "epochs": EPOCHS, "validations": len(found)}[saves] > 1
    for step, path in found:
        module = Noting()
        given = [loader(name, workers=0), *([loader(name)] if validates else [])]
        trainer(tmp_path, **options).fit(module, *given, ckpt_path=path, weights_only=True)
        assert module.trained == whole.trained[step:], path.name
        if validates:  # a checkpoint of an epoch's last validation is followed by the end of that epoch
            assert module.ends == EPOCHS - (step - 1) // len(due(name, 1))


def test_a_resumed_run_writes_checkpoints_that_resume(tmp_path: Path) -> None:
    for name, ends in (("indexed", (2, 7, 9, 9, 10, 18)), ("stateful", (1, 8, 8, 9, 16))):
        trained, path = [], None
        for i, end in enumerate((*ends, None)):
            at = tmp_path / name / str(i)
            if end == len(trained):
                continue
            calls = [] if end is None else [Stop(end - len(trained))]
            trained += fitted(tmp_path, saving(at), *calls, name=name, path=path).trained
            path = checkpoints(at)[-1][1]
        assert trained == due(name, EPOCHS)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("how", ["exception", "callback of exceptions", "stop", "max_steps", "saved by hand"])
def test_a_run_that_ends_in_mid_epoch_goes_on_there(how: str, name: str, tmp_path: Path) -> None:
    epoch = len(due(name, 1))
    for end in (3, epoch, epoch + 2):
        module, at = Noting(), tmp_path / str(end)
        if "exception" in how:
            module.options["crash"] = end
            saves = saving(at, save_on_exception=True) if how == "exception" else OnExceptionCheckpoint(at, "step=0")
            with pytest.raises(RuntimeError, match="on purpose"):
                trainer(tmp_path, saves, enable_checkpointing=True).fit(module, loader(name))
        elif how == "max_steps":
            trainer(tmp_path, saving(at), max_steps=end).fit(module, loader(name))
        elif how == "stop":
            trainer(tmp_path, saving(at), Stop(end)).fit(module, loader(name))
        else:
            of = trainer(tmp_path, Stop(end))
            of.fit(module, loader(name))
            of.save_checkpoint(at / "step=0.ckpt")
        assert len(module.trained) == end
        assert module.trained + fitted(tmp_path, name=name, path=checkpoints(at)[-1][1]).trained == due(name, EPOCHS)


@pytest.mark.parametrize("name", DATA)
def test_limits_and_accumulation(name: str, tmp_path: Path) -> None:
    options = {"limit_train_batches": 5, "accumulate_grad_batches": 2}
    expected = [x for x in due(name, EPOCHS) if x[1] < 5]
    assert fitted(tmp_path, saving(tmp_path, every_n_train_steps=1), name=name, **options).trained == expected
    batches = [2, 4, 5, 7, 9, 10, 12, 14, 15]  # the batches after which the optimizer makes a step
    assert [step for step, _ in checkpoints(tmp_path)] == list(range(1, 10))
    for step, path in checkpoints(tmp_path):
        assert fitted(tmp_path, name=name, path=path, **options).trained == expected[batches[step - 1] :]


@pytest.mark.parametrize("name", DATA)
def test_a_rest_that_a_hook_skips_is_skipped_after_a_resume(name: str, tmp_path: Path) -> None:
    class Skipping(Noting):
        def on_train_batch_start(self, batch: Any, index: int) -> int | None:
            return -1 if batch.step == 4 else None

    expected = [x for x in due(name, EPOCHS) if x[1] < 4]
    assert fitted(tmp_path, saving(tmp_path), name=name, module=Skipping()).trained == expected
    assert fitted(tmp_path, name=name, module=Skipping(), path=checkpoints(tmp_path)[0][1]).trained == expected[4:]


@pytest.mark.parametrize("name", DATA)
def test_fitting_again_goes_on_with_the_next_epoch(name: str, tmp_path: Path) -> None:
    module, of, data = Noting(), trainer(tmp_path, max_epochs=1), loader(name)
    for epochs in (1, 2, 3):
        of.fit_loop.max_epochs = epochs
        of.fit(module, data)
    assert module.trained == due(name, EPOCHS)


@pytest.mark.parametrize("name", DATA)
def test_a_run_that_fails_before_its_first_batch_loses_none(name: str, tmp_path: Path) -> None:
    data, module = loader(name), Noting(crash=0)
    with pytest.raises(RuntimeError, match="on purpose"):
        trainer(tmp_path).fit(module, data)
    module.options.clear()
    trainer(tmp_path).fit(module, data)
    assert module.trained == due(name, EPOCHS)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("is_same", [False, True])
def test_reloaded_loaders_go_on(name: str, is_same: bool, tmp_path: Path) -> None:
    class Reloading(Noting):
        def train_dataloader(self) -> Any:
            return self.options.setdefault("loader", loader(name)) if is_same else loader(name)

    module, rest = Reloading(), Reloading()
    trainer(tmp_path, saving(tmp_path), reload_dataloaders_every_n_epochs=1).fit(module)
    assert module.trained == due(name, EPOCHS)
    trainer(tmp_path, reload_dataloaders_every_n_epochs=1).fit(rest, ckpt_path=checkpoints(tmp_path)[0][1])
    assert rest.trained == [x for x in module.trained if x[0] > 0]


def test_loaders_that_are_asked_for_early(tmp_path: Path) -> None:
    """`estimated_stepping_batches` iterates them before Lightning has read its counters, and it then never loads them."""
    for name in DATA:
        options = {"max_steps": len(due(name, EPOCHS))}
        at, further = tmp_path / name, tmp_path / f"{name}-further"

        def early(*callbacks: Any, name: str = name, options: Any = options, path: Any = None) -> Any:
            return fitted(tmp_path, *callbacks, name=name, path=path, module=Noting(early=True), **options).trained

        trained = early(saving(at, every_n_train_steps=1))
        path_of = dict(checkpoints(at))
        for step in (1, len(due(name, 1)), len(due(name, 1)) + 2):
            assert early(path=path_of[step]) == trained[step:]
        early(saving(further, every_n_train_steps=1), path=path_of[2])
        assert early(path=dict(checkpoints(further))[5]) == trained[5:]


def test_checkpoints_that_are_read_after_the_loaders_were_iterated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under FSDP, with loaders that are requested early."""
    from lightning.pytorch.strategies import SingleDeviceStrategy

    monkeypatch.setattr(SingleDeviceStrategy, "restore_checkpoint_after_setup", True)
    for name in DATA:
        at, options = tmp_path / name, {"max_steps": len(due(name, EPOCHS))}
        trained = fitted(tmp_path, saving(at, every_n_train_steps=5), name=name, **options).trained
        for step, path in checkpoints(at):
            assert fitted(tmp_path, name=name, path=path, module=Noting(early=True), **options).trained == trained[step:]
        refused("that resumes", tmp_path, module=Noting(early=True), data=loader(name), path=path, resumes=False, **options)


@pytest.mark.parametrize("mode", ["min_size", "max_size", "max_size_cycle"])
def test_several_loaders(mode: Any, tmp_path: Path) -> None:
    def given() -> Any:
        shorter = leat.count(40, 4).shuffle(seed=5).batch(12, end="drop")
        return CombinedLoader([loader(), leat.torch.DataLoader(shorter, workers=0)], mode)

    trained = fitted(tmp_path, saving(tmp_path, every_n_train_steps=1), data=given()).trained
    assert len(trained) == EPOCHS * (3 if mode == "min_size" else 9)
    for step, path in checkpoints(tmp_path):
        assert fitted(tmp_path, data=given(), path=path).trained == trained[step:]


def test_validation_is_the_same_whatever_came_before(tmp_path: Path) -> None:
    for name in DATA:
        at, module, options = tmp_path / name, Noting(), {"limit_val_batches": 4, "num_sanity_val_steps": 2}
        trainer(tmp_path, saving(at), **options).fit(module, loader(name), loader(name))
        assert module.validated == due(name, 1)[:2] + EPOCHS * due(name, 1)[:4]
        rest = Noting()
        trainer(tmp_path, **options).fit(rest, loader(name), loader(name), ckpt_path=checkpoints(at)[0][1])
        assert rest.validated[-8:] == 2 * due(name, 1)[:4]
        data, of = loader(name), trainer(tmp_path)
        for _ in range(2):
            again = Noting()
            of.validate(again, data, verbose=False)
            assert again.validated == due(name, 1)


def test_a_validation_that_was_interrupted_is_done_again(tmp_path: Path) -> None:
    class Failing(Noting):
        def validation_step(self, batch: Any, index: int) -> None:
            super().validation_step(batch, index)
            if self.options.get("fails") and len(self.validated) == 3:
                raise RuntimeError("on purpose")

    options = {"num_sanity_val_steps": 0, "val_check_interval": 4}
    module, rest = Failing(fails=True), Failing()
    with pytest.raises(RuntimeError, match="on purpose"):
        trainer(tmp_path, saving(tmp_path, save_on_exception=True), **options).fit(module, loader(), loader())
    trainer(tmp_path, **options).fit(rest, loader(), loader(), ckpt_path=checkpoints(tmp_path)[-1][1])
    assert module.trained + rest.trained == due("indexed", EPOCHS)
    assert rest.validated == 2 * EPOCHS * due("indexed", 1)


def test_predict_gives_each_row_once(tmp_path: Path) -> None:
    class Predicting(Noting):
        def predict_dataloader(self) -> Any:
            return loader()

    expected = [list(x.ids()) for x in leat.Loader(DATA["indexed"](), epochs=1)]
    of, data = trainer(tmp_path), loader()
    assert of.predict(Noting(), data) == expected
    assert of.predict(Noting(), data) == expected
    assert of.predict(Predicting()) == expected
    assert of.predict(Noting(), [loader(), loader("stateful")])[0] == expected


@pytest.mark.parametrize("precision", ["32-true", "bf16-true"])
def test_batches_keep_what_they_know(precision: Any, tmp_path: Path) -> None:
    """With "bf16-true" Lightning makes a new dict of each batch."""

    class Looking(Noting):
        def training_step(self, batch: Any, index: int) -> Any:
            for x in [batch] if isinstance(batch, leat.torch.Batch) else batch.values():
                assert type(x) is leat.torch.Batch
                assert x.valid.sum() == x.valid_rows
                assert isinstance(x.snapshot(), bytes)
            return super().training_step(batch, index)

        def on_train_batch_end(self, _: Any, batch: Any, index: int) -> None:
            assert self.trained[-1] == (noted(batch) if isinstance(batch, leat.torch.Batch) else all_noted(batch))

    for name in DATA:
        module = Looking()
        trainer(tmp_path, precision=precision).fit(module, loader(name), loader(name))
        assert module.trained == due(name, EPOCHS)
        assert module.validated == due(name, 1)[:2] + EPOCHS * due(name, 1)
    module = Looking()
    trainer(tmp_path, precision=precision).fit(module, CombinedLoader({"a": loader(), "b": loader()}))
    assert [x[0] for x in module.trained] == [x[1] for x in module.trained] == due("indexed", EPOCHS)
    rows = trainer(tmp_path, precision=precision).predict(Noting(), [loader(), loader("stateful")])
    assert [len(x) for x in rows] == [len(due(name, 1)) for name in DATA]


def refused(
    what: str, directory: Path, *callbacks: Any, data: Any = None, module: Any = None, path: Any = None, **options: Any
) -> None:
    of, module = trainer(directory, *callbacks, **options), module or Noting()
    with pytest.raises(leat.InvalidArgument, match=what):
        of.fit(module, loader() if data is None else data, ckpt_path=path)
    assert module.trained == []


def test_without_the_callback_nothing_is_lost_in_silence(tmp_path: Path) -> None:
    assert fitted(tmp_path, name="stateful", resumes=False).trained == due("stateful", EPOCHS)
    fitted(tmp_path, saving(tmp_path / "weights", save_weights_only=True), resumes=False)
    refused("writes checkpoints.*callbacks=", tmp_path, saving(tmp_path), resumes=False)
    refused("reload_dataloaders", tmp_path, resumes=False, reload_dataloaders_every_n_epochs=1)
    fitted(tmp_path, saving(tmp_path))
    for early in (False, True):
        refused("that resumes", tmp_path, module=Noting(early=early), resumes=False, path=checkpoints(tmp_path)[0][1])
    of = trainer(tmp_path, resumes=False, max_epochs=1)
    of.fit(Noting(), loader())
    of.save_checkpoint(tmp_path / "by-hand.ckpt")
    refused("fetched last", tmp_path, path=tmp_path / "by-hand.ckpt")


def test_what_would_lose_or_repeat_batches_is_refused(tmp_path: Path) -> None:
    class Iterating(Noting):
        def training_step(self, dataloader_iter: Any) -> Any:
            return super().training_step(next(dataloader_iter)[0], 0)

    refused("overfit_batches", tmp_path, overfit_batches=2)
    refused("dataloader_iter", tmp_path, module=Iterating())
    refused("give limit_train_batches", tmp_path, data=[loader(), loader("stateful")])
    one = loader()
    refused("one leat loader twice", tmp_path, data=[one, one])
    for sanity in (0, 2):
        one = loader()
        with pytest.raises(leat.InvalidArgument, match="for training and for validation"):
            trainer(tmp_path, num_sanity_val_steps=sanity).fit(Noting(), one, one)
    trained = loader()
    trainer(tmp_path, max_epochs=1).fit(Noting(), trained)
    with pytest.raises(leat.InvalidArgument, match="for training and for validation"):
        trainer(tmp_path).predict(Noting(), trained)
    trainer(tmp_path, saving(tmp_path), max_epochs=1).fit(Noting(), [loader(), loader()])
    refused("2 leat loaders, and 1", tmp_path, path=checkpoints(tmp_path)[0][1])
    plain = torch.utils.data.DataLoader(torch.ones(4, 1))
    trainer(tmp_path, saving(tmp_path / "plain"), max_epochs=1, resumes=False).fit(Plain(), plain)
    refused("positions of 0 leat loaders", tmp_path, path=checkpoints(tmp_path / "plain")[0][1])


class Plain(Noting):
    def training_step(self, batch: Any, _: int) -> Any:
        return self.weight(batch).mean()


def test_another_pipeline_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    fitted(tmp_path, saving(tmp_path, every_n_train_steps=4))
    other = leat.count(100, 4).shuffle(seed=4).batch(12, end="mask")
    with pytest.raises(leat.Error):
        trainer(tmp_path).fit(Noting(), leat.torch.DataLoader(other), ckpt_path=checkpoints(tmp_path)[0][1])


class Around:
    """What a program may put around a loader."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __iter__(self) -> Any:
        yield from self.inner


def test_a_hidden_loader_is_refused_and_one_of_the_module_is_its_own_matter(tmp_path: Path) -> None:
    class Own(Noting):
        def training_step(self, batch: Any, index: int) -> Any:
            self.validated += [noted(next(iter(self.options["own"])))]
            return super().training_step(batch, index)

    for resumes in (False, True):
        refused("inside another iterable", tmp_path, data=Around(loader()), resumes=resumes)
    refused("without a leat.torch.DataLoader", tmp_path, module=Plain(), data=torch.utils.data.DataLoader(torch.ones(4, 1)))
    with pytest.raises(leat.InvalidArgument, match="inside another iterable"):
        trainer(tmp_path).validate(Noting(), Around(loader()))
    module = Own(own=loader())
    trainer(tmp_path, max_epochs=1).fit(module, loader())
    assert [x[:2] for x in module.validated] == [(i, 0) for i in range(9)]


def test_a_wrapped_loader_is_refused(tmp_path: Path) -> None:
    plain = leat.torch.wrap(torch.utils.data.DataLoader(torch.ones(4, 1)))
    refused("without a leat.torch.DataLoader", tmp_path, module=Plain(), data=plain)
    refused(r"leat.torch.wrap\(\) under Lightning", tmp_path, module=Plain(), data=plain, resumes=False)


# Ranks


def on_two_ranks(directory: str) -> dict[str, Any]:
    class Keeping(Noting):
        def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
            states.append(checkpoint["loops"]["fit_loop"]["state_dict"]["combined_loader"])

    states: list[Any] = []
    at, module, options = Path(directory), Keeping(), {"devices": 2, "strategy": "ddp"}
    trainer(at, saving(at, every_n_train_steps=3), **options).fit(module, loader("stateful"), loader())
    unknown = loader()
    unknown.rank, unknown.world_size = 0, 1  # as if made before the rank was known
    predicted = trainer(at, **options).predict(Noting(), unknown)
    begun = loader()
    begun.rank, begun.world_size = 0, 1
    next(iter(begun))
    problem = ""
    try:
        trainer(at, **options).fit(Noting(), begun)
    except leat.InvalidArgument as found:
        problem = str(found)
    mine = leat.torch.DataLoader(DATA["indexed"](), rank=0, world_size=1)
    given = Noting()
    trainer(at, max_epochs=1, **options).fit(given, mine)
    return {
        "states": states,
        "trained": module.trained,
        "validated": module.validated,
        "predicted": predicted,
        "place": (unknown.rank, unknown.world_size),
        "problem": problem,
        "given": given.trained,
    }


def test_two_ranks(tmp_path: Path) -> None:
    ranks = run_ranks(on_two_ranks, 2, str(tmp_path))
    assert joined([x["trained"] for x in ranks]) == due("stateful", EPOCHS)
    assert joined([x["validated"] for x in ranks]) == due("indexed", 1)[:2] + EPOCHS * due("indexed", 1)
    assert len(ranks[0]["states"]) == len(ranks[0]["trained"]) // 3 > 2
    assert ranks[0]["states"] == ranks[1]["states"]
    assert [x["place"] for x in ranks] == [(0, 2), (1, 2)]
    rows = [row for rank in ranks for batch in rank["predicted"] for row in batch]
    assert sorted(rows) == sorted(row for x in leat.Loader(DATA["indexed"](), epochs=1) for row in x.ids())
    for rank in ranks:
        assert "has begun as rank 0 of 1" in rank["problem"]
        assert rank["given"] == due("indexed", 1)  # the program gave every rank the whole


def run_job(ranks: int, by: str, job: dict[str, Any]) -> None:
    """The program of lightning_jobs, on ranks that Lightning starts itself, or that exist already, as under torchrun."""
    killed = job["kill_behind"] >= 0
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    environment |= {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(Path(__file__).with_name("lightning_jobs.py")), json.dumps({**job, "ranks": ranks})]
    places: list[dict[str, str]] = [{}]
    if by == "torchrun" and ranks > 1:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "TORCHELASTIC_RUN_ID": "job"}
        places = [{**where, "RANK": str(i), "LOCAL_RANK": str(i), "WORLD_SIZE": str(ranks)} for i in range(ranks)]
    started = [
        subprocess.Popen(command, env={**environment, **x}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for x in places
    ]
    told = [x.communicate(timeout=240)[0] for x in started]
    assert [x.returncode for x in started] == [-signal.SIGKILL if killed else 0] * len(started), "\n".join(told)


def global_batches(told: Path, ranks: int) -> list[Noted]:
    lines = [[json.loads(x) for x in Path(f"{told}-{rank}").read_text().splitlines()] for rank in range(ranks)]
    assert all(x[3] == ranks for rank in lines for x in rank)
    assert len({json.dumps([x[:2] for x in rank]) for rank in lines}) == 1, "ranks trained different steps"
    return [(x[0][0], x[0][1], str(sum((leat.Hash128(y[2]) for y in x), leat.Hash128()))) for x in zip(*lines, strict=True)]


def shards(directory: Path) -> leat.Pipeline:
    for shard in range(2):
        samples = range(shard * 30, shard * 30 + 30)
        write_tar(
            directory / f"train-{shard}.tar",
            [x for i in samples for x in ((f"{i:04}.cls", b"%d" % (i % 3)), (f"{i:04}.png", png(8, 8, [4 * i, 0, 255 - i])))],
        )
    data = leat.tar_shards(str(directory / "train-{0..1}.tar")).shuffle(seed=3)
    return data.map(leat.train_image("png", size=8)).batch(6, end="drop")


def text(directory: Path) -> leat.Pipeline:
    for part in range(2):
        lines = (json.dumps({"text": f"{part} {i} " + "word " * (i % 7)}) for i in range(90))
        (directory / f"part-{part}.jsonl").write_text("\n".join(lines) + "\n")
    data = leat.json_lines(str(directory / "part-{0..1}.jsonl"), ranges=2).filter(leat.bytes_between("text", min=12))
    return data.shuffle_buffer(20, seed=2).batch(12, end="drop")


@pytest.mark.parametrize(
    ("make", "kills", "by"), [(shards, (5, 13), "Lightning"), (text, (5, 16), "Lightning"), (text, (4, 12), "torchrun")]
)
def test_killed_and_resumed_with_other_ranks_and_workers(make: Any, kills: tuple[int, int], by: str, tmp_path: Path) -> None:
    data = make(tmp_path)
    (tmp_path / "pipeline").write_text(str(data))
    expected = [(x.epoch, x.step, str(x.digest())) for x in leat.Loader(data, epochs=EPOCHS, workers=0)]
    order = [x["digest"] for x in json_lines_of(run_command("order", "--pipeline", tmp_path / "pipeline"))]
    assert [x[2] for x in expected if x[0] == 0] == order
    trained: list[Noted] = []
    path = None
    for i, (ranks, kill_behind) in enumerate(zip((1, 2, 1), (*kills, -1), strict=True)):
        # Under torchrun, a loader that must talk to its peers is made in a hook, after the start of torch.distributed.
        job = {
            "pipeline": str(tmp_path / "pipeline"),
            "checkpoints": str(tmp_path / f"checkpoints-{i}"),
            "checkpoint": path,
            "told": str(tmp_path / f"told-{i}"),
            "workers": i,
            "kill_behind": kill_behind,
            "hook": by == "torchrun",
        }
        run_job(ranks, by, job)
        trained = [*trained, *global_batches(tmp_path / f"told-{i}", ranks)]
        if kill_behind >= 0:
            step, found = checkpoints(tmp_path / f"checkpoints-{i}")[-1]
            assert len(trained) - step in (1, 2, 3)  # killed after a checkpoint, so that batches are trained once more
            trained, path = trained[:step], str(found)
    assert trained == expected
