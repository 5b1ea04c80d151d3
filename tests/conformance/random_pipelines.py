#!/usr/bin/env python3
"""Holds `leat` against reference.py on random pipelines in the text form.

Every case writes a pipeline and compares `leat order --pipeline` with the reference, line by line, for several epochs.
Every fourth or so is also run as a job that stops some times in the middle, at a step or by SIGKILL, and goes on with
another world size and worker count, with a spool where it reads standard input; its log must be what the reference says, to the hash of each row, and `leat verify`
must find it good. What the reference refuses, leat must refuse too.

Case i has the seed S + i, so `--seed X --cases 1` repeats a case. A failing one is made as small as it still fails.
"""

import argparse
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True  # beside the sources
SKIPPED = 4  # tests/CMakeLists.txt: SKIP_RETURN_CODE
try:
    import reference
except ImportError as missing:
    print(f"skipped: {missing}; it is in the package python3-xxhash")
    sys.exit(SKIPPED)

from cases.data import make_data
from cases.grower import Grower
from cases.judge import Case, Expected, Judge
from cases.kinds import Checker, Invalid, reads_standard_input
from cases.smaller import shrink
from plain.programs import is_closed
from plain.samples import Refused

MAX_SAMPLES = 1500
FAILURES = 3  # as many are shown


def random_case(seed, data, checker, closed_only):
    rng = random.Random(seed)
    while True:
        tree = Grower(rng, data, closed_only).pipeline()
        once = reads_standard_input(tree)
        endless = is_endless(tree)
        job = None
        if (once or rng.random() < 0.25) and "odd" not in checker.wrong(tree):
            bad = "mask" if checker.wrong(tree) or rng.random() < 0.1 else "fail"
            job = random_job(rng, tree, endless, bad)
        steps = rng.randint(1, 15) if endless else rng.choice((None, None, None, rng.randint(1, 6)))
        epochs = [] if once else [0] if endless else [0, 1, rng.getrandbits(rng.choice((3, 40, 63)))]
        case = Case(tree, rng.getrandbits(32), epochs, None if job and not endless else steps, job)
        if allows(case, checker) and (rng.random() < 0.1 or has_batches(case)):
            return case


def is_endless(tree):
    end = tree.options["end"]
    return end == "cycle" or end == "auto" and not is_closed(tree.inputs[0]) and not reads_standard_input(tree)


def has_batches(case):
    expected = Expected(case, 0, mask=True)
    return expected.lines and not expected.error


def random_job(rng, tree, endless, bad):
    closed, lanes, once = is_closed(tree.inputs[0]), lanes_of(tree), reads_standard_input(tree)
    worlds = [x for x in (1, 2, 3, 4, 6, 8) if closed or lanes % x == 0]
    parts = [
        {"stop": stop, "kill": rng.random() < 0.3, "bytes": int(rng.expovariate(1 / 5000)), "world": rng.choice(worlds),
         "workers": rng.randint(0, 3), "dispatch": rng.choice(("on_demand", "round_robin", "by_lane"))}
        for stop in sorted(rng.random() for _ in range(rng.randint(1, 4)))
    ]  # fmt: skip
    parts[-1].update(stop=1, kill=False)
    epochs = None if endless else 1 if once else rng.randint(1, 3)
    return {"epochs": epochs, "every": rng.randint(1, 4), "bad": bad, "parts": parts}


def lanes_of(tree):
    try:
        return reference.Pipeline(Case(tree, None, [], None, None).text()).lanes
    except (Refused, KeyError):
        return 1


def allows(case, checker):
    """Whether it is a case at all: of pipelines that leat refuses only those that the reference refuses, too."""
    try:
        checker.fields(case.tree)
        if case.job:
            closed, lanes = is_closed(case.tree.inputs[0]), lanes_of(case.tree)
            if "odd" in checker.wrong(case.tree) or not closed and any(lanes % x["world"] for x in case.job["parts"]):
                return False
    except (Invalid, KeyError):
        return False
    return checker.largest(case.tree) <= MAX_SAMPLES


def show(seed, case, failure, judge, checker):
    print(f"FAILED: seed {seed}\n{case.text()}steps: {case.steps} job: {case.job}\n{failure.kind}: {failure.text}\n", flush=True)
    small, failure = shrink(case, failure, judge, lambda x: allows(x, checker))
    print(f"made smaller:\n{small.text()}steps: {small.steps} job: {small.job}\n{failure.kind}: {failure.text}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default="leat", help="the command to judge")
    parser.add_argument("--closed", action="store_true", help="only pipelines whose order is a formula")
    parser.add_argument("--no-jobs", action="store_true", help="only the order")
    options = parser.parse_args()
    judge = Judge(os.path.abspath(options.command) if os.path.sep in options.command else options.command)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        failed = judge_all(options, judge, make_data())
        os.chdir("/")
    sys.exit(1 if failed else 0)


def judge_all(options, judge, data):
    checker, failed, jobs = Checker(data), 0, 0
    print(f"seeds {options.seed} .. {options.seed + options.cases - 1}")
    for seed in range(options.seed, options.seed + options.cases):
        case = random_case(seed, data, checker, options.closed)
        if options.no_jobs:
            case = case.but(job=None)
        jobs += case.job is not None
        failure = judge.failure_of(case)
        if failure:
            show(seed, case, failure, judge, checker)
            failed += 1
        if failed == FAILURES:
            break
    print(f"{seed - options.seed + 1} pipelines, {jobs} of them run as jobs, {failed} failed")
    return failed


if __name__ == "__main__":
    main()
