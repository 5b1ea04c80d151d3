"""Where a loader stands."""

from typing import NamedTuple

from leat._leat import Hash128


class Position(NamedTuple):
    """The next batch, and the digest of everything that this rank handed over before."""

    epoch: int
    step: int
    global_step: int
    digest: Hash128
