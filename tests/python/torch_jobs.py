"""Jobs of several ranks: spawned processes that are joined by gloo."""

import datetime
import multiprocessing
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leat

SAMPLES, ROWS = 100, 12
SECONDS = 150


def _most(sample: leat.Sample) -> bool:
    return int(sample["value"][0]) % 5 != 0


def indexed() -> leat.Pipeline:
    return leat.count(SAMPLES, 4).shuffle(seed=3).batch(ROWS, end="mask")


def stateful() -> leat.Pipeline:
    return leat.count(SAMPLES, 4).filter("most@1", _most).shuffle_buffer(48, seed=2).batch(ROWS, end="mask")


DATA: dict[str, Callable[[], leat.Pipeline]] = {"indexed": indexed, "stateful": stateful}

Digest = tuple[int, int, str]


def due(of: str | leat.Pipeline, epochs: int) -> list[Digest]:
    data = DATA[of]() if isinstance(of, str) else of
    return [(x.epoch, x.step, str(x.digest)) for e in range(epochs) for x in leat.OrderPreview(data, epoch=e)]


def seen(batch: Any) -> Digest:
    return batch.epoch, batch.step, str(batch.digest())


def joined(ranks: list[list[Digest]]) -> list[Digest]:
    """The global batches: what all ranks saw at the same steps, summed up. Their order is that of the first rank."""
    assert len({tuple(x[:2] for x in rank) for rank in ranks}) == 1, "ranks saw different steps"
    return [
        (*batches[0][:2], str(sum((leat.Hash128(x[2]) for x in batches), leat.Hash128())))
        for batches in zip(*ranks, strict=True)
    ]


def _rank(what: Callable[..., Any], rank: int, world_size: int, directory: str, arguments: tuple[Any, ...]) -> None:
    import torch

    torch.set_num_threads(1)
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(world_size),
        LOCAL_RANK=str(rank),
        MASTER_ADDR="127.0.0.1",  # required by Accelerate, which then finds the existing group
        MASTER_PORT="29500",
        GLOO_SOCKET_IFNAME="lo",
        OMP_NUM_THREADS="1",
    )
    store = torch.distributed.FileStore(f"{directory}/meet", world_size)
    torch.distributed.init_process_group(
        "gloo", store=store, rank=rank, world_size=world_size, timeout=datetime.timedelta(seconds=SECONDS)
    )
    Path(directory, f"found-{rank}").write_bytes(pickle.dumps(what(*arguments)))
    store.set(f"done-{rank}", "")  # not a barrier: a test may have broken the group on purpose
    store.wait([f"done-{i}" for i in range(world_size)], datetime.timedelta(seconds=SECONDS))
    torch.distributed.destroy_process_group()  # without this a thread of gloo aborts one process in a hundred at its end


def run_ranks(what: Callable[..., Any], world_size: int, *arguments: Any, code: int = 0) -> list[Any]:
    """The results of what(*arguments) in each rank; `what` is a function of a module. `code`: what all ranks end with."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as directory:
        ranks = [context.Process(target=_rank, args=(what, i, world_size, directory, arguments)) for i in range(world_size)]
        for x in ranks:
            x.start()
        for x in ranks:
            x.join(SECONDS)
        codes = [x.exitcode for x in ranks]
        for x in ranks:
            if x.exitcode is None:
                x.kill()
        assert codes == [code] * world_size
        return [] if code != 0 else [pickle.loads(Path(directory, f"found-{i}").read_bytes()) for i in range(world_size)]
