"""Your functions as stages of a pipeline, by decorators."""

from collections.abc import Callable
from typing import Any

from leat._leat import FilterStage, MapStage


def map(
    name: str, *, parameters: str = "", per_worker: bool = False, batched: bool = False, processes: int = 0
) -> Callable[[Callable[..., Any]], MapStage]:
    """Makes a map of a function of (sample) or (sample, context): `@leat.map("tokens@1")`, then `data.map(tokens)`.

    With `batched` the function takes lists of both, which costs less per sample. With `processes` it runs in as many
    processes, which import it by its name: for functions that hold the GIL. The name is its identity in snapshots and
    random numbers: change the version when the meaning changes.
    """
    return lambda function: MapStage(
        name, function, parameters=parameters, per_worker=per_worker, batched=batched, processes=processes
    )


def filter(
    name: str, *, parameters: str = "", of_id: bool = False, processes: int = 0
) -> Callable[[Callable[..., bool]], FilterStage]:
    """Makes a filter of a function of (sample), which is true for samples to keep."""
    return lambda function: FilterStage(name, function, parameters=parameters, of_id=of_id, processes=processes)
