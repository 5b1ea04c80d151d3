"""From runs to the numbers that are shown."""

import dataclasses
import statistics
from collections.abc import Iterable
from typing import Any

from harness.process import Run
from harness.schedule import Result

LEAT = "leat"
PLAIN = "plain"
LOOPS = {"bare": "C++ loop over leat's own kernels", PLAIN: "plain C++ loop over libjpeg-turbo"}


@dataclasses.dataclass
class Row:
    """Rates are in images per second, one value per round."""

    key: str
    title: str
    workers: int
    rates: list[float | None]
    tried: dict[int, float] = dataclasses.field(default_factory=dict)
    peak_bytes: float | None = None
    first_batch_seconds: float | None = None
    of_leat: float | None = None
    of_plain: float | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def known(self) -> list[float]:
        return [x for x in self.rates if x is not None]

    @property
    def rate(self) -> float:
        return statistics.median(self.known)

    @property
    def low(self) -> float:
        return min(self.known)

    @property
    def high(self) -> float:
        return max(self.known)


def rows_of(results: list[Result]) -> list[Row]:
    """The contenders that have numbers, best first."""
    rows = [row for x in results if any(x.runs) for row in [row_of(x), *loop_rows(x)]]
    by_key = {x.key: x for x in rows}
    for row in rows:
        row.of_leat = ratio(row, by_key.get(LEAT))
        row.of_plain = ratio(row, by_key.get(PLAIN))
    return sorted(rows, key=lambda x: -x.rate)


def row_of(x: Result) -> Row:
    runs = [run for run in x.runs if run]
    failed = len(x.runs) - len(runs)
    notes = [x.contender.differs] if x.contender.differs else []
    notes += dict.fromkeys(note for run in runs for note in run.notes)
    if failed:
        notes.append(f"{failed} of {len(x.runs)} rounds failed: {x.failure}")
    return Row(
        x.contender.key,
        x.contender.title,
        x.workers(),
        [run and run.rate for run in x.runs],
        x.rates(),
        median(run.peak_bytes for run in runs),
        median(run.first_batch_seconds for run in runs if run.first_batch_seconds is not None),
        notes=notes,
        versions=x.versions,
    )


def loop_rows(x: Result) -> list[Row]:
    """The loops that leat's benchmark also measures."""
    return [
        Row(key, title, x.workers(), [loop_rate(run, key) for run in x.runs])
        for key, title in LOOPS.items()
        if any(loop_rate(run, key) for run in x.runs)
    ]


def loop_rate(run: Run | None, key: str) -> float | None:
    return median(run.loops.get(key, [])) if run else None


def ratio(row: Row, other: Row | None) -> float | None:
    """Median of the rounds' ratios."""
    if other is None:
        return None
    return median(a / b for a, b in zip(row.rates, other.rates, strict=True) if a and b)


def median(values: Iterable[float]) -> float | None:
    values = list(values)
    return statistics.median(values) if values else None


def failures_of(results: list[Result]) -> dict[str, str]:
    """Reasons by title, for those without numbers."""
    return {x.contender.title: x.failure or "no rounds" for x in results if not any(x.runs)}


def to_json(row: Row) -> dict[str, Any]:
    return dataclasses.asdict(row) | {"rate": row.rate, "low": row.low, "high": row.high}
