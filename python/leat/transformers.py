"""leat for the Trainer of Transformers: it trains from pipelines, and its checkpoints resume after the batch trained last."""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
import transformers.trainer
from accelerate.utils.operations import broadcast_object_list, recursively_apply  # type: ignore[import-untyped]

import leat
import leat.accelerate
from leat._epochs import take_remote
from leat.errors import InvalidArgument
from leat.torch import Batch, DataLoader, Ragged

if TYPE_CHECKING:
    from transformers import Trainer as _Base
else:
    _Base = object

DATA_FILE = "leat_data.pt"  # in each checkpoint folder: where its data resume

_log = logging.getLogger("leat")
_VERSION = 1
_IGNORED = -100  # the label that losses of torch leave out
_accelerates_own = getattr(transformers.trainer, "skip_first_batches", None)

_NEEDED = (
    "_init_training_state",
    "_save_checkpoint",
    "_get_output_dir",
    "_set_signature_columns_if_needed",
    "get_batch_samples",
)
if _missing := [x for x in _NEEDED if not hasattr(transformers.Trainer, x)] + ["skip_first_batches"] * (not _accelerates_own):
    raise ImportError(
        f"leat.transformers needs a Trainer with {', '.join(_missing)}, which that of transformers {transformers.__version__} "
        "lacks: without it a resumed training would lose batches; 5.23 has it"
    )


class LoaderMixin(_Base):  # type: ignore[misc]
    """Makes a Trainer train and evaluate from pipelines: `class Trainer(LoaderMixin, transformers.Trainer)`.

    `train_pipeline`: ends with batch(rows), rows of the global batch of one forward pass, over all ranks. Its fields are the
    parameters of the model's forward. `eval_pipeline`: the same for evaluate(), or a dict of name -> pipeline.
    `loader_options`: options of leat.torch.DataLoader for both; without `workers` it is `args.dataloader_num_workers`, "auto"
    for 0.

    Each checkpoint has a file with the place where the data resume, and train(resume_from_checkpoint=...) resumes there, on any
    number of ranks and workers. All ranks save. Raises leat.Error, InvalidArgument for what would lose or repeat batches.
    """

    def __init__(
        self,
        *args: Any,
        train_pipeline: leat.Pipeline | None = None,
        eval_pipeline: leat.Pipeline | Mapping[str, leat.Pipeline] | None = None,
        loader_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        for name, x in [("an argument", x) for x in args] + list(kwargs.items()):
            _refuse_as_dataset(name, x)
        self.train_pipeline = _pipeline_of("train_pipeline", train_pipeline)
        self.loader_options: dict[str, Any] = dict(loader_options or {})
        self._job: _Job | None = None
        self._saved: _Saved | None = None
        self._is_beginning = False
        self._evaluated: _Loader | None = None
        self._is_loss_next = False
        self.gather_function: Any = None
        if eval_pipeline is not None:
            if kwargs.get("eval_dataset") is not None:
                raise InvalidArgument("eval_pipeline and eval_dataset were given: give one")
            kwargs["eval_dataset"] = _pipelines_of(eval_pipeline)
        if self.train_pipeline is not None:
            self._prepare_arguments(args, kwargs)
        super().__init__(*args, **kwargs)
        if self.train_pipeline is not None and self.train_dataset is not None:
            raise InvalidArgument("train_pipeline and train_dataset were given: give one")

    def _prepare_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        found = [x for x in (*args, *kwargs.values()) if isinstance(x, transformers.TrainingArguments)]
        if not found:
            found = [kwargs.setdefault("args", transformers.TrainingArguments(output_dir="tmp_trainer"))]
        if kwargs.get("data_collator") is not None and kwargs.get("eval_dataset") is None:
            raise InvalidArgument("data_collator with a train_pipeline, which makes the batches itself: leave it out")
        _refuse_arguments(found[0])
        if "mesh" not in self.loader_options:
            assert self.train_pipeline is not None
            data = take_remote(self.train_pipeline, dict(self.loader_options))
            _take_over_rows(data, found[0], self.loader_options.get("world_size") or found[0].world_size)

    # Loaders

    def get_train_dataloader(self) -> Any:
        """The loader of train_pipeline; in train(), at the place of the checkpoint."""
        if self.train_pipeline is None:
            return super().get_train_dataloader()
        _refuse_arguments(self.args)
        loader = self._loader(self.train_pipeline, is_training=True)
        if self._is_beginning:
            self._is_beginning = False
            if self._saved is not None and self._saved.state is not None:
                loader.load_state_dict(self._saved.state)
            self._job = _Job(loader)
        return loader

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        """A loader for one evaluation of a pipeline: of eval_pipeline, or of the one that is given."""
        chosen = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(chosen, str):
            chosen = self.eval_dataset[chosen]
        if isinstance(chosen, leat.Pipeline):
            return self._loader(chosen, is_training=False)
        _refuse_as_dataset("eval_dataset", chosen)
        return super().get_eval_dataloader(eval_dataset)

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        """A loader for one prediction of a pipeline."""
        if isinstance(test_dataset, leat.Pipeline):
            return self._loader(test_dataset, is_training=False)
        _refuse_as_dataset("test_dataset", test_dataset)
        return super().get_test_dataloader(test_dataset)

    def _loader(self, data: leat.Pipeline, is_training: bool) -> "_Loader":
        self._refuse_shared_rows()
        options: dict[str, Any] = {
            "workers": self.args.dataloader_num_workers or "auto",
            # The Trainer holds the batches of a whole step; on a GPU, leases take its memory.
            "leases": (8 if self.args.device.type == "cuda" else 64) + self.args.gradient_accumulation_steps,
            **self.loader_options,
        }
        if not is_training:
            options["epochs"] = 1
        columns = None
        if self.args.remove_unused_columns:
            self._set_signature_columns_if_needed()
            columns = frozenset(self._signature_columns)
        loader = _Loader(data, columns, frozenset(self.label_names), is_training, **options)
        self.accelerator.prepare(loader)
        return loader

    def _refuse_shared_rows(self) -> None:
        shared = self.get_tp_size() * self.get_cp_size() * self.get_sp_size()
        if shared > 1 and not self.loader_options.keys() & {"mesh", "rank"}:
            raise InvalidArgument(
                f"groups of {shared} ranks share their samples (tensor, context or sequence parallelism): say which with "
                "loader_options={'mesh': ...}, a DeviceMesh, or rank and world_size"
            )

    # Training

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        """As Trainer.train(). True resumes from the newest complete checkpoint: one whose save was killed is passed over.

        Raises InvalidArgument for a checkpoint without the data's place, or of other gradient_accumulation_steps.
        """
        if self.train_pipeline is None:
            return super().train(resume_from_checkpoint, *args, **kwargs)
        if resume_from_checkpoint is True:
            resume_from_checkpoint = self._newest_complete() or True
        if isinstance(resume_from_checkpoint, (str, os.PathLike)):
            resume_from_checkpoint = os.fspath(resume_from_checkpoint)
            self._saved = _Saved.read(resume_from_checkpoint, self.args.gradient_accumulation_steps)
        self._is_beginning = True
        try:
            return super().train(resume_from_checkpoint, *args, **kwargs)
        finally:
            if self._job is not None:
                self._end(self._job.loader)
            self._job = self._saved = None
            self._is_beginning = False

    def _newest_complete(self) -> str | None:
        # The first rank looks for all: ranks that see a folder at different times must not resume from different checkpoints.
        found: list[Any] = [None, None]
        if self.args.process_index == 0:
            try:
                found[0] = _newest_complete(self.args.output_dir)
            except InvalidArgument as problem:
                found[1] = str(problem)
        path, refusal = broadcast_object_list(found)
        if refusal is not None:
            raise InvalidArgument(refusal)
        return None if path is None else str(path)

    def _init_training_state(self, *args: Any, **kwargs: Any) -> Any:
        # Where the Trainer resumes within its epochs. Its own figures assume that every epoch was trained to its end.
        found = super()._init_training_state(*args, **kwargs)
        if self._job is None or self._saved is None:
            return found
        if self.state.global_step != self._saved.global_step:
            raise InvalidArgument(
                f"{DATA_FILE} of step {self._saved.global_step} beside a trainer_state.json of step {self.state.global_step}: "
                "files of two checkpoints were mixed; resume from another one"
            )
        at = self._job.loader.position()
        return at.epoch, at.step

    def get_batch_samples(self, *args: Any, **kwargs: Any) -> Any:
        """The batches of the next optimizer step, fetched before the first of them is trained."""
        found = super().get_batch_samples(*args, **kwargs)
        if self._job is not None:
            self._job.fetched(self.state.global_step)
        return found

    def _save_checkpoint(self, model: Any, trial: Any, *args: Any, **kwargs: Any) -> Any:
        # Saved before the rest: trainer_state.json, which comes last, completes a checkpoint; then older ones are removed.
        if self._job is not None:
            step = self.state.global_step
            directory = os.path.join(self._get_output_dir(trial=trial), f"checkpoint-{step}")
            state = self._job.state(step)
            if state is None and self._saved is not None:
                state = self._saved.state
            if self.args.should_save:
                _Saved(step, self.args.gradient_accumulation_steps, state).write(directory)
        return super()._save_checkpoint(model, trial, *args, **kwargs)

    # Evaluation

    def evaluation_loop(self, dataloader: Any, *args: Any, **kwargs: Any) -> Any:
        """As Trainer.evaluation_loop(). Of a pipeline: exactly the rows that carry a sample, in the order of its epoch.

        The loss is the mean over these rows of the losses of their ranks' batches.
        """
        if not isinstance(dataloader, _Loader):
            return super().evaluation_loop(dataloader, *args, **kwargs)
        if self.args.eval_use_gather_object:
            raise InvalidArgument("eval_use_gather_object with a pipeline, whose rows are gathered as tensors: leave it out")
        before, self._evaluated = self.gather_function, dataloader
        self.gather_function = self._gather_rows
        try:
            output = super().evaluation_loop(dataloader, *args, **kwargs)
            rows = torch.tensor([dataloader.rows], device=self.accelerator.device)
            return output._replace(num_samples=int(self.accelerator.gather(rows).sum()))
        finally:
            self.gather_function, self._evaluated, self._is_loss_next = before, None, False
            self._end(dataloader)

    def prediction_step(self, *args: Any, **kwargs: Any) -> Any:
        """As Trainer.prediction_step()."""
        found = super().prediction_step(*args, **kwargs)
        self._is_loss_next = found[0] is not None
        return found

    def _gather_rows(self, data: Any) -> Any:
        assert self._evaluated is not None
        lease = self._evaluated.handed
        assert lease is not None
        is_loss, self._is_loss_next = self._is_loss_next, False
        # The Trainer repeats a batch's loss, a single number, by the number of rows per batch in its arguments.
        data = data[:1].repeat(lease.size) if is_loss else _with_all_rows(data, lease)
        return leat.accelerate.gather_for_metrics(self.accelerator, data, Batch((), lease))

    def _end(self, loader: "_Loader") -> None:
        """Ends its threads, and makes Accelerate forget it: the Trainer prepares a new loader for each evaluation."""
        loader.close()
        held = self.accelerator._dataloaders
        held[:] = [x for x in held if x is not loader]


class Trainer(LoaderMixin, transformers.Trainer):  # type: ignore[misc]
    """transformers.Trainer that trains from pipelines: see LoaderMixin."""


class _Loader(DataLoader):
    """A loader for one train() or one evaluation. Its batches are dicts of tensors, only of valid rows: `model(**inputs)`."""

    def __init__(
        self, data: leat.Pipeline, columns: frozenset[str] | None, labels: frozenset[str], is_training: bool, **options: Any
    ) -> None:
        super().__init__(data, **options)
        self.handed: leat.Batch | None = None  # the batch that was handed out last
        self.rows = 0  # valid rows of this rank that were handed out
        self._columns = columns
        self._labels = labels
        self._is_training = is_training
        self._place = (0, 0)  # the Trainer's epoch and step
        if is_training:
            _refuse_empty_parts(self._facts, self.world_size)

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """An epoch's batches as dicts."""
        if not self._is_training and self.handed is not None:
            raise InvalidArgument("a leat loader for one evaluation, iterated again: call get_eval_dataloader() again")
        batches = super().__iter__()
        if self._is_training:
            self._check_place()
        return self._inputs_of(batches)

    def _inputs_of(self, batches: Iterator[Batch]) -> Iterator[dict[str, Any]]:
        for batch in batches:
            self.handed = batch.lease
            self.rows += batch.valid_rows
            yield self._inputs(batch)

    def set_epoch(self, epoch: int) -> None:
        """Called by the Trainer before each epoch."""
        self._place = (epoch, self._place[1])

    def skipped(self, batches: int) -> "_Loader":
        """Called by the Trainer with the step where an epoch resumes: the loaded state is there already."""
        self._place = (self._place[0], batches)
        return self

    def _check_place(self) -> None:
        at = self.position()
        (epoch, step), self._place = self._place, (self._place[0], 0)
        # An endless epoch continues if a callback made the Trainer begin another one.
        if (at.epoch, at.step) != (epoch, step) and not (self._facts.is_endless and step == 0):
            raise InvalidArgument(
                f"the Trainer is at batch {step} of epoch {epoch}, its leat loader at batch {at.step} of epoch {at.epoch}: "
                "going on would lose or repeat batches; was something of LoaderMixin overridden?"
            )

    def _inputs(self, batch: Batch) -> dict[str, Any]:
        inputs = {}
        for name, x in batch.items():
            if self._columns is not None and name not in self._columns:
                continue
            if isinstance(x, Ragged):
                raise InvalidArgument(
                    f"the field {name}, whose rows have different lengths, for a model: give it one length (pack, a map that "
                    "pads), or leave it out by batch(rows, fields=[...])"
                )
            # Losses of torch accept only int64.
            is_label = name in self._labels and not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)
            inputs[name] = x.long() if is_label else x
        if not inputs:
            raise InvalidArgument(
                f"a batch with the fields {', '.join(batch)}, none of which the model's forward has as a parameter "
                f"({', '.join(sorted(self._columns or ()))}): rename them, or give remove_unused_columns=False"
            )
        if batch.valid_rows == batch.size:
            return inputs
        if batch.valid_rows > 0:
            rows = batch.valid.nonzero()[:, 0]
            return {name: x[rows.to(x.device)] for name, x in inputs.items()}
        if self._is_training:
            raise InvalidArgument(
                f"step {batch.global_step} has no sample for rank {self.rank} of {self.world_size}, which cannot train on "
                'nothing: end epochs with batch(rows, end="drop") or "cycle", and let bad_samples be "fail" or "substitute"'
            )
        # The model needs at least one row. Its result is discarded.
        return {
            name: torch.full_like(x, _IGNORED) if name in self._labels and not x.is_floating_point() else x
            for name, x in inputs.items()
        }


class _Job:
    """One train(): its loader, and the batch up to which the weights were trained."""

    def __init__(self, loader: _Loader) -> None:
        self.loader = loader
        self._step = -1
        self._fetched: leat.Batch | None = None
        self._trained: leat.Batch | None = None

    def fetched(self, step: int) -> None:
        """Records that the batches for the step after optimizer step `step` are fetched, and those before are trained."""
        self._trained = self._last_of(step)
        self._step, self._fetched = step, self.loader.handed

    def state(self, step: int) -> dict[str, Any] | None:
        """Where the data resume after `step` optimizer steps; None if none was made in this train(). All ranks call it."""
        last = self._last_of(step)
        if last is None:
            return None
        # The Trainer counts the next epoch from the step after the last batch, not from the end of the loop.
        return {**self.loader.state_dict(after=Batch((), last)), "finished": False}

    def _last_of(self, step: int) -> leat.Batch | None:
        return self._fetched if step > self._step else self._trained


class _Saved:
    """The content of DATA_FILE."""

    def __init__(self, global_step: int, accumulation: int, state: dict[str, Any] | None) -> None:
        self.global_step = global_step
        self.accumulation = accumulation
        self.state = state  # None: the beginning

    def write(self, directory: str) -> None:
        """Writes the file into a checkpoint that is incomplete until the Trainer has written all of it."""
        os.makedirs(directory, exist_ok=True)
        Path(directory, "trainer_state.json").unlink(missing_ok=True)  # left by an earlier checkpoint in this folder
        path = Path(directory, DATA_FILE)
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)  # left by a dead process, or a link that leads elsewhere
        with open(new, "xb") as file:
            torch.save(
                {
                    "leat_transformers": _VERSION,
                    "global_step": self.global_step,
                    "gradient_accumulation_steps": self.accumulation,
                    "state": self.state,
                },
                file,
            )
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)

    @staticmethod
    def read(directory: str, accumulation: int) -> "_Saved":
        """Reads that of a checkpoint from which a job resumes. Raises InvalidArgument where it cannot."""
        if problem := _incomplete(directory):
            raise InvalidArgument(f"{directory}: {problem}: resume from another checkpoint")
        path = Path(directory, DATA_FILE)
        if not path.exists():
            raise InvalidArgument(
                f"{directory} has no {DATA_FILE}, which says where the data go on: it was saved without leat.transformers; "
                "resume from another checkpoint, or begin anew without resume_from_checkpoint"
            )
        found = torch.load(path, weights_only=True)
        if not isinstance(found, dict) or found.get("leat_transformers") != _VERSION:
            raise InvalidArgument(f"{path} is not of version {_VERSION} of this file")
        if found["gradient_accumulation_steps"] != accumulation:
            raise InvalidArgument(
                f"{directory} was saved under gradient_accumulation_steps={found['gradient_accumulation_steps']}, now "
                f"{accumulation}: the Trainer's steps would be other ones; leave it as it was"
            )
        return _Saved(found["global_step"], accumulation, found["state"])


def _newest_complete(output: str) -> str | None:
    """The newest checkpoint folder that is complete; None if there is none at all."""
    if not os.path.isdir(output):
        return None
    found = [x for x in os.scandir(output) if x.is_dir() and re.fullmatch(r"checkpoint-\d+", x.name)]
    for x in sorted(found, key=lambda x: -int(x.name.partition("-")[2])):
        problem = _incomplete(x.path)
        if problem is None:
            return x.path
        _log.warning("%s is passed over: %s", x.path, problem)
    if found:
        raise InvalidArgument(f"{output} has no complete checkpoint: remove the others to begin anew")
    return None


def _incomplete(directory: str) -> str | None:
    """What a checkpoint lacks because its save was killed; None if it is complete."""
    if os.path.exists(os.path.join(directory, "checkpoint-is-incomplete.txt")):
        return "its save at a signal was not finished (checkpoint-is-incomplete.txt)"
    try:
        json.loads(Path(directory, "trainer_state.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return "it has no trainer_state.json, which is saved last: its save was not finished"
    except ValueError:
        return "its trainer_state.json is torn: its save was not finished"
    return None


def _skip_first_batches(dataloader: Any, num_batches: int = 0) -> Any:
    """Replaces Accelerate's own, which would read a leat loader's stand-ins: a leat loader is already at its place."""
    if isinstance(dataloader, _Loader):
        return dataloader.skipped(num_batches)
    assert _accelerates_own is not None
    return _accelerates_own(dataloader, num_batches)


transformers.trainer.skip_first_batches = _skip_first_batches


def _with_all_rows(data: Any, lease: leat.Batch) -> Any:
    """Results of a batch's valid rows, at the indices of these rows in the batch; zeros elsewhere."""
    if lease.valid_rows == lease.size:
        return data
    rows = torch.tensor(lease.valid).nonzero()[:, 0]

    def spread(x: torch.Tensor) -> torch.Tensor:
        got = len(x) if x.dim() > 0 else 0
        if len(rows) == 0 and got == lease.size:
            return x
        if got != len(rows):
            raise InvalidArgument(
                f"an output of the model with {got} rows, of a batch with {len(rows)}: give one value per row, use end="
                '"drop", or prediction_loss_only'
            )
        whole = x.new_zeros((lease.size, *x.shape[1:]))
        whole[rows.to(x.device)] = x
        return whole

    return recursively_apply(spread, data)


def _refuse_as_dataset(name: str, x: Any) -> None:
    every = x.values() if isinstance(x, dict) else [x]
    if any(isinstance(one, (leat.Pipeline, leat.Loader, DataLoader)) for one in every):
        raise InvalidArgument(
            f"{name}: something of leat in place of a dataset: give the pipeline as train_pipeline= or eval_pipeline= (of a "
            "loader, its `data`), and options of its loader as loader_options="
        )


def _pipeline_of(name: str, x: Any) -> leat.Pipeline | None:
    if x is None or isinstance(x, leat.Pipeline):
        return x
    raise InvalidArgument(
        f"{name}, got {type(x).__name__}, needed a pipeline: the Trainer makes a loader of it for each train() and each "
        "evaluation; of a loader give its `data`, and its options as loader_options="
    )


def _pipelines_of(given: Any) -> Any:
    if isinstance(given, Mapping):
        return {name: _pipeline_of(f"eval_pipeline[{name!r}]", x) for name, x in given.items()}
    return _pipeline_of("eval_pipeline", given)


# Arguments that would mean other batches than those of the pipeline.
_REFUSED: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("ignore_data_skip", bool, "a leat loader goes to the place of a checkpoint without reading; leave it out"),
    ("auto_find_batch_size", bool, "the rows of a batch are those of batch(rows)"),
    ("dataloader_drop_last", bool, 'what becomes of an epoch\'s last rows is said by batch(rows, end="drop")'),
    ("train_sampling_strategy", lambda x: x != "random", "the order is the pipeline's"),
)


def _refuse_arguments(args: Any) -> None:
    for name, is_refused, reason in _REFUSED:
        value = getattr(args, name, None)
        if value is not None and is_refused(value):
            raise InvalidArgument(f"{name}={value!r} with a train_pipeline: {reason}")


def _take_over_rows(data: leat.Pipeline, args: Any, ranks: int) -> None:
    """Makes the Trainer's own figures (samples per second, batch sizes in its log) those of the pipeline."""
    rows = int(leat.epoch_of(data).batch_rows)
    share = max(1, -(-rows // (ranks * max(1, args.n_gpu))))
    given = args.per_device_train_batch_size
    if given != share:
        is_default = given == type(args).__dataclass_fields__["per_device_train_batch_size"].default
        _log.log(
            logging.INFO if is_default else logging.WARNING,
            "per_device_train_batch_size=%d is taken as %d: the batch of the pipeline has %d rows over all ranks",
            given,
            share,
            rows,
        )
        args.per_device_train_batch_size = share


def _refuse_empty_parts(facts: Any, world_size: int) -> None:
    """Refuses at the start what would end the training at the end of an epoch."""
    if world_size == 1 or facts.end != "mask":
        return
    if facts.samples is None:
        left = "an unknown number of samples is"
    elif 0 < facts.samples % facts.batch_rows < world_size:
        left = f"{facts.samples % facts.batch_rows} of {facts.samples} samples are"
    else:
        return
    raise InvalidArgument(
        f"{left} left for an epoch's last batch, and {world_size} ranks, of which some would get none and cannot train on "
        'nothing: end epochs with batch(rows, end="drop") or "cycle"'
    )
