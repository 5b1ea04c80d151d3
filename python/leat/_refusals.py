"""Refuses uses by which a loader's batches would be lost or repeated. Imports nothing: only what is imported can interfere."""

import sys

from leat.errors import InvalidArgument


def check_loader(rank: int, world_size: int) -> None:
    """Called when a leat.Loader is made, and when it is first iterated. Raises InvalidArgument."""
    worker = _torch_worker()
    if worker is not None:
        number, workers = worker
        if world_size % workers or rank % workers != number:
            raise InvalidArgument(
                f"a leat.Loader for rank {rank} of {world_size} in worker {number} of {workers} of a torch DataLoader, where "
                "each worker would give all batches: iterate the loader itself, its workers are threads (workers=); or, for "
                f"a share of each batch's rows per worker, give it rank=rank * {workers} + {number} and "
                f"world_size=world_size * {workers}"
            )
    if world_size > 1:
        refuse_redealing(f"a leat.Loader for rank {rank} of {world_size}", "or, if Accelerate is to divide them, world_size=1")


def refuse_redealing(what: str, instead: str = "") -> None:
    """Refuses Accelerate's own loaders, which divide what they read among the ranks, as leat has already done."""
    if "accelerate.data_loader" not in sys.modules:
        return
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "accelerate.data_loader":
            raise InvalidArgument(
                f"{what} behind a dataset that Accelerate divides among the ranks once more, so that batches would be lost: "
                f"give a leat.torch.DataLoader itself to accelerator.prepare(){instead and ', ' + instead}"
            )
        frame = frame.f_back  # type: ignore[assignment]


def _torch_worker() -> tuple[int, int] | None:
    """(number, number of workers) in a worker process of a torch DataLoader; None elsewhere."""
    find = getattr(sys.modules.get("torch.utils.data"), "get_worker_info", None)
    worker = None if find is None else find()
    return None if worker is None else (worker.id, worker.num_workers)
