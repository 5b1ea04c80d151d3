"""leat for Accelerate: prepare() takes a leat.torch.DataLoader as it is, and metrics get exactly the valid rows."""

import os
from typing import Any

import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from accelerate.state import PartialState  # type: ignore[import-untyped]
from accelerate.utils import broadcast_object_list, gather_object  # type: ignore[import-untyped]
from accelerate.utils.operations import recursively_apply  # type: ignore[import-untyped]

import leat
from leat.errors import InvalidArgument
from leat.torch import Batch, DataLoader

_accelerates_own = Accelerator.gather_for_metrics


def gather_for_metrics(accelerator: Any, data: Any, batch: Batch | None = None, *, use_gather_object: bool = False) -> Any:
    """Rows of all ranks that carry a sample, in the order of the epoch: the same for any number of ranks.

    `data`: nested tensors [batch.size, ...] on the accelerator's device, or, with `use_gather_object` or other content, a
    list of batch.size objects. `batch`: the one that they were made from; None: the last one of the loader that is iterated.
    Raises InvalidArgument for content without such rows, if the batch has rows without a sample on any rank. A collective.
    """
    lease = _lease_of(accelerator, batch)
    positions = torch.full((lease.size,), -1, dtype=torch.int64)
    positions[torch.tensor(lease.valid)] = torch.tensor(lease.positions(), dtype=torch.int64)
    every = accelerator.gather(positions.to(accelerator.device))
    rows = torch.argsort(every)[int((every < 0).sum()) :]

    if use_gather_object or not _has_tensors_alone(data):
        objects = gather_object(data)
        _check_rows(len(objects), len(every))
        return [objects[i] for i in rows.tolist()]

    def pick(x: torch.Tensor) -> torch.Tensor:
        count = len(x) if x.dim() > 0 else None  # one process gathers a number as it is
        if len(rows) == len(every) and count != len(every):
            return x
        _check_rows(1 if count is None else count, len(every) if count is not None else 0)
        return x[rows.to(x.device)]

    return recursively_apply(pick, accelerator.gather(data))


def load_state(accelerator: Any, directory: str | os.PathLike[str] | None = None, **options: Any) -> None:
    """Accelerator.load_state() for any number of ranks: ranks that the saved job did not have accumulate gradients in step.

    Accelerate keeps the phase of gradient accumulation by rank. Where a rank has none, ranks would synchronize at different
    batches. A collective.
    """
    accelerator.load_state(None if directory is None else os.fspath(directory), **options)
    told = [accelerator.step]
    accelerator.step = broadcast_object_list(told)[0]


def prepare(loader: DataLoader) -> None:
    """The effect of Accelerator.prepare(): batches go to the accelerator's device, unless the loader was given one.

    leat itself copies them there, where it can and the loader has not been iterated or loaded before.
    """
    state = PartialState()
    if not loader.is_placed and (loader.rank, loader.world_size) != (state.process_index, state.num_processes):
        raise InvalidArgument(
            f"a leat loader for rank {loader.rank} of {loader.world_size}, in process {state.process_index} of "
            f"{state.num_processes} of Accelerate: make the Accelerator before the loader, or give rank= and world_size="
        )
    if loader.device is None and state.device.type != "cpu":
        loader.copy_to(state.device)
        loader.device = state.device
    Accelerator.gather_for_metrics = _gather_for_metrics


def _gather_for_metrics(self: Any, input_data: Any, use_gather_object: bool = False) -> Any:
    """Replaces Accelerate's own, which would cut rows off the last batch: for leat's loaders, gives exactly the valid rows."""
    if isinstance(self.gradient_state.active_dataloader, DataLoader):
        return gather_for_metrics(self, input_data, use_gather_object=use_gather_object)
    return _accelerates_own(self, input_data, use_gather_object)


def _lease_of(accelerator: Any, batch: Batch | None) -> leat.Batch:
    if batch is not None:
        return batch.lease
    active = accelerator.gradient_state.active_dataloader
    if not isinstance(active, DataLoader) or active.last is None:
        raise InvalidArgument("gather_for_metrics outside the loop over a leat loader: give it the batch")
    return active.last


def _has_tensors_alone(data: Any) -> bool:
    try:
        recursively_apply(lambda x: x, data, error_on_other_type=True)
    except TypeError:
        return False
    return True


def _check_rows(got: int, needed: int) -> None:
    if got != needed:
        raise InvalidArgument(
            f"gather_for_metrics of {got} rows, where the batch has {needed} over all ranks, some of them without a sample: "
            "give it one value per row, or weigh by batch.valid yourself"
        )
