"""Which case a seed stands for."""

import random

from cases.broken import broken, with_extremes
from cases.data import STANDARD_INPUTS
from cases.grower import Grower
from cases.judge import Case, Expected, NoCase
from cases.kinds import Checker, Invalid, is_endless, reads_standard_input
from cases.wild import WildGrower
from cases.writing import pipeline_text
from plain.checks import may_change_weights
from plain.iterators import is_indexed
from plain.text_form import parse

MAX_SAMPLES = 800
MAX_STEPS = 12
WORLDS = (1, 2, 3, 4, 6, 8)


class Chooser:
    def __init__(self, data, options):
        self.data, self.checker, self.options = data, Checker(data), options

    def case(self, seed, judge):
        rng = random.Random(seed)
        if not self.options.tame and not self.options.chains and rng.random() < 0.25:
            return self.text(rng)
        while True:
            case = self.tame(rng) if rng.random() < 0.3 or self.options.tame else self.wild(rng)
            try:
                if case and self.add_jobs(rng, case, Expected(case, judge.sources)):
                    return case
            except NoCase:
                pass

    def jobs_of(self, text, seed, judge):
        """A case of a given pipeline."""
        rng = random.Random(seed)
        while True:
            case = self.case_of(rng, parse(text), "names" if "read_files" in text else "lines")
            try:
                if self.add_jobs(rng, case, Expected(case, judge.sources)):
                    return case
            except NoCase:
                pass

    def text(self, rng):
        """A pipeline with parameters at their limits, or a broken text."""
        while True:
            case = self.wild(rng)
            if case:
                break
        if rng.random() < 0.5:
            text = pipeline_text(with_extremes(rng, case.tree), case.style)
        else:
            text = broken(rng, case.text())
        return case.but(raw=text, epochs=[0], steps=rng.randint(1, 4))

    def tame(self, rng):
        """Valid, large and deep: no bad samples, or few."""
        tree = Grower(rng, self.data, self.options.indexed).pipeline()
        try:
            self.checker.fields(tree)
        except (Invalid, KeyError):
            return None
        if self.checker.largest(tree) > MAX_SAMPLES:
            return None
        return self.case_of(rng, tree, "lines")

    def wild(self, rng):
        kind = rng.choice((None, None, None, None, None, None, "lines", "names")) if not self.options.indexed else None
        grower = WildGrower(rng, kind)
        grower.indexed = grower.indexed or self.options.indexed
        tree = grower.pipeline()
        if sum(x.op == "standard_input" for x in tree.below()) != (kind is not None):
            return None
        return self.case_of(rng, tree, kind)

    def case_of(self, rng, tree, kind):
        once, endless = reads_standard_input(tree), is_endless(tree)
        epochs = [0] if once or endless else rng.sample([0, 1, rng.getrandbits(rng.choice((3, 40, 63)))], rng.choice((1, 1, 2)))
        steps = rng.randint(1, MAX_STEPS) if endless else rng.choice((None, None, None, rng.randint(1, 6)))
        changes = changes_of(rng, tree) if endless and rng.random() < 0.7 else []
        return Case(tree, rng.getrandbits(32), STANDARD_INPUTS[kind] if once else None, epochs, steps, changes=changes)

    def add_jobs(self, rng, case, expected):
        """Decides on a job. False if there can be none."""
        for epoch in case.epochs:
            lines, _ = expected.order(epoch)
            if not lines and rng.random() < 0.9:
                return False
        if self.options.no_jobs:
            return True
        once, indexed = case.stdin is not None, is_indexed(case.tree.inputs[0])
        endless = is_endless(case.tree)
        lanes = 1 if expected.refused else expected.pipeline.lanes
        worlds = [x for x in WORLDS if indexed or lanes % x == 0]
        bad = rng.choice(("fail", "mask", "mask") + (("substitute",) * 2 if indexed else ()))
        steps = rng.randint(1, 30) if endless else None
        job = {"epochs": None if endless else 1 if once else rng.choice((1, 1, 2, 3)), "steps": steps, "bad": bad,
               "every": rng.randint(1, 4), "throw": rng.randint(0, 12) if rng.random() < 0.08 else None, "leave_out": [],
               "own_logs": rng.random() < 0.3}  # fmt: skip
        due, error = expected.handed_over(job["epochs"], steps, bad, job["throw"])
        count = rng.randint(2, 5) if not error and len(due) > 1 and (self.options.chains or rng.random() < 0.12) else 1
        if self.options.chains and count == 1:
            return False
        if not error and rng.random() < 0.1 * count:
            first = rng.randrange(len(due))
            job["leave_out"] = [(first, rng.choice((first, first + rng.randint(0, 3))))]
        may_part = not error and (indexed or endless)  # otherwise ranks have to agree on ends of epochs
        part = 0 if not may_part else 0.25 if count > 1 else 0.06
        if part and count > 1 and max(worlds) > 1 and rng.random() < 0.15:
            part, worlds = 1, [rng.choice([x for x in worlds if x > 1])]  # ranks that stay apart, and are killed in different places
        job["attempts"] = [self.attempt(rng, worlds, case.tree.options["rows"] * len(due), part) for _ in range(count)]
        if error:
            job["attempts"][0]["world"] = 1 if rng.random() < 0.5 else job["attempts"][0]["world"]
        if error or once and count == 1:
            del job["attempts"][0]["die"][1:]  # two deaths at one sample would be another error, and the input would be gone
        for x, stop in zip(job["attempts"], sorted(rng.random() for _ in job["attempts"])):
            x["stop"] = stop
        job["attempts"][-1].update(stop=1, kill=None)
        case.jobs = [job]
        return True

    def attempt(self, rng, worlds, positions, part):
        """`part`: how likely each rank is a process of its own."""
        apart = rng.random() < part
        if apart and rng.random() < 0.8:
            worlds = [x for x in worlds if x > 1] or worlds
        workers = rng.randint(0, 4)
        deaths = rng.choice((1, 1, 2, 3, 5)) if workers and rng.random() < 0.15 else 0
        places = [rng.choice((0, rng.randrange(positions + 1), rng.randrange(positions + 1))) for _ in range(deaths)]
        places = sorted(places) if rng.random() < 0.7 else places
        return {
            "kill": int(rng.expovariate(1 / 3000)) if rng.random() < (0.3 + 0.4 * part if apart else 0.3) else None,
            "world": rng.choice(worlds), "workers": workers, "dispatch": rng.choice(("on_demand", "round_robin", "by_lane")),
            "resizes": [(rng.random(), rng.randint(1, 4))] if workers and rng.random() < 0.1 else [],
            "die": [(rng.randrange(workers), x) for x in places],
            "apart": apart,
            "kills": [int(rng.expovariate(1 / 3000)) if rng.random() < 0.8 else None for _ in range(WORLDS[-1])],
            "late": (rng.choice((-1, rng.random(), rng.random())), rng.choice((0, 0, 1, 3))) if rng.random() < 0.2 else None,
            "tell_again": rng.random() < 0.5,
            "damage": rng.choice((None, None, None, None, "missing", "torn")),
        }  # fmt: skip


def changes_of(rng, tree):
    """A job's changes of the weights of its mix, by rising steps; none if it cannot make any."""
    if not may_change_weights(tree):
        return []
    inputs = next(len(x.inputs) for x in tree.below() if x.op == "mix")
    steps = sorted(rng.sample(range(MAX_STEPS), rng.randint(1, 3)))
    return [(x, [1, *(rng.choice((0, 1, 3, 0.5, 0.1)) for _ in range(inputs - 1))]) for x in steps]
