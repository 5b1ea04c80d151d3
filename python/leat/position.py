"""Where a loader stands."""

from typing import Any, NamedTuple

from leat._leat import Hash128


class Position(NamedTuple):
    """The next batch, and the digest of everything that this rank handed over before."""

    epoch: int
    step: int
    global_step: int
    digest: Hash128


class OwnBatch(NamedTuple):
    """A batch of an OwnLoader: what the program's own loader gave, and where it stands in the job."""

    content: Any
    epoch: int
    step: int
    global_step: int
    end_of_epoch: bool
