"""Who runs when: first every number of workers, then rounds with the best of each."""

import dataclasses
import sys
from importlib import metadata
from typing import TypeVar

from contenders.protocol import Job
from contenders.registry import Contender
from harness import environment, machine
from harness.process import Run, run

TRIES = 4
Item = TypeVar("Item")


@dataclasses.dataclass
class Result:
    contender: Contender
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    tried: list[Run] = dataclasses.field(default_factory=list)
    """With each number of workers, before the rounds."""
    runs: list[Run | None] = dataclasses.field(default_factory=list)
    """With the best one; None if a round failed."""
    failure: str | None = None
    """Why there are no numbers, or not for each round."""

    def rates(self) -> dict[int, float]:
        """The best that each number of workers reached before the rounds."""
        rates: dict[int, float] = {}
        for x in self.tried:
            if x.failure is None:
                rates[x.workers] = max(x.rate, rates.get(x.workers, 0))
        return rates

    def workers(self) -> int:
        rates = self.rates()
        return max(rates, key=lambda x: rates[x])

    def add_round(self, x: Run) -> None:
        self.failure = x.failure or self.failure
        self.runs.append(None if x.failure else x)


@dataclasses.dataclass(frozen=True)
class Plan:
    workers: list[int]
    trials: int
    """Rounds of all numbers of workers."""
    rounds: int
    quiet: float
    """A run of a round is repeated, TRIES in all, if others used too much of the machine."""
    timeout: float


def compare(contenders: list[Contender], plan: Plan, job: Job) -> list[Result]:
    results = [described(x) for x in contenders]
    installed = [x for x in results if x.failure is None]
    for number in range(plan.trials):
        for x in rotated(installed, number):
            for workers in rotated(plan.workers, number):
                x.tried.append(once(x, workers, plan, job, f"trial {number + 1}"))
    working = [x for x in installed if x.rates()]
    for number in range(plan.rounds):
        for x in rotated(working, number):
            x.add_round(least_disturbed(x, plan, job, f"round {number + 1}"))
    for x in installed:
        if not x.rates():
            x.failure = x.tried[-1].failure
    return results


def described(contender: Contender) -> Result:
    result = Result(contender)
    if contender.needs_gpu and not machine.has_gpu():
        result.failure = "no GPU here"
        return result
    refused = environment.refusals()
    for name in contender.packages:
        try:
            result.versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            result.failure = f"{name} is not installed: {refused.get(name, 'not tried')}"
    return result


def rotated(items: list[Item], by: int) -> list[Item]:
    by %= max(1, len(items))
    return items[by:] + items[:by]


def least_disturbed(x: Result, plan: Plan, job: Job, when: str) -> Run:
    """Tries again while others use too much of the machine."""
    runs: list[Run] = []
    while not runs or (runs[-1].others > plan.quiet and len(runs) < TRIES):
        runs.append(once(x, x.workers(), plan, job, when))
    return min(runs, key=lambda run: (run.failure is not None, run.others))


def once(x: Result, workers: int, plan: Plan, job: Job, when: str) -> Run:
    result = run(x.contender, dataclasses.replace(job, workers=workers), plan.timeout)
    outcome = result.failure or f"{result.rate:,.0f} images/s, others took {result.others:.0%}"
    print(f"{when}: {x.contender.title}, {workers} workers: {outcome}", file=sys.stderr)
    return result
