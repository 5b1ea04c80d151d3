#!/usr/bin/env python3
"""Compares `leat` with reference.py on random pipelines in the text form.

Most cases write a pipeline and compare `leat order --pipeline` with the reference, line by line, for several epochs, and what a job
of it hands over, to the hash of each row's content, under a policy for bad samples, and with some number of workers and ranks. About
one in ten is a chain of attempts, which stop or are killed in the middle, lose workers and parts of their snapshots, leave out steps, from the beginning
or from a resume on, and resume with another world size, all ranks in one process or each in its own; `leat verify` must find its logs good. What the reference refuses, leat must refuse too. Every fourth case is a text that
is broken, or has parameters at their limits: it is refused with a clear error, or its order is right.

With `--served`, each source of each command reads files, a web server or a bucket: an attempt may resume over another one.

Case i has the seed S + i, so `--seed X --cases 1` repeats a case. A failing one is made as small as it still fails.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
from collections import Counter

sys.dont_write_bytecode = True  # next to the sources
SKIPPED = 4  # tests/CMakeLists.txt: SKIP_RETURN_CODE
try:
    import reference
except ImportError as missing:
    print(f"skipped: {missing}; it is in the package python3-xxhash")
    sys.exit(SKIPPED)

from cases.choice import Chooser
from cases.command import Processes, Server
from cases.data import make_data
from cases.judge import Judge
from cases.served import Places
from cases.smaller import shrink

FAILURES = 3  # how many are shown


def show(seed, case, failure, judge, options):
    text = f"FAILED: seed {seed}\n{case}{failure.kind}: {failure.text}\n"
    if not options.as_it_is:
        small, failure = shrink(case, failure, judge)
        text += f"made smaller:\n{small}{failure.kind}: {failure.text}\n"
    print(text, flush=True)


def judge_all(options, first, cases):
    """The outcomes of these cases: how many of each."""
    counts = Counter()
    with tempfile.TemporaryDirectory(dir=options.scratch) as directory:
        os.chdir(directory)
        os.mkdir("printed")  # where no pattern finds it
        printed = os.path.join(directory, "printed")
        places = Places(first, printed) if options.served else None
        commands = Server(options.server, printed) if options.server else Processes(options.command, printed)
        chooser = Chooser(make_data(), options)
        judge, texts = Judge(commands, places=places), lines_of(options.texts)
        for seed in range(first, first + cases):
            if not texts and not is_drawn(seed):
                continue
            counts["pipelines"] += 1
            case = chooser.jobs_of(texts[seed % len(texts)], seed, judge) if texts else chooser.case(seed, judge)
            if options.verbose:
                print(f"seed {seed}\n{case}", flush=True)
            failure = judge.failure_of(case)
            counts["jobs"] += len(case.jobs)
            counts["chains"] += sum(len(x["attempts"]) > 1 for x in case.jobs)
            if failure:
                counts["failed"] += 1
                show(seed, case, failure, judge, options)
                if counts["failed"] == options.failures:
                    break
        commands.stop()
        os.chdir("/")
    return counts


def is_drawn(seed):
    """If LEAT_CI_SEED is set, as in CI, it selects a third of the cases; otherwise all are run."""
    drawn = os.environ.get("LEAT_CI_SEED")
    return drawn is None or seed % 3 == int(drawn) % 3


def lines_of(file):
    """The pipelines in it."""
    if not file:
        return []
    with open(file, encoding="utf-8") as lines:
        return [x for x in lines if not x.startswith("#")]


def share_of(part):
    options, first, cases = part
    return judge_all(options, first, cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default="leat", help="the command to judge")
    parser.add_argument("--server", help="leat_command_server, which runs the command in less time")
    parser.add_argument("--processes", type=int, default=1, help="that share the cases")
    parser.add_argument("--failures", type=int, default=FAILURES, help="as many are shown, by each process")
    parser.add_argument("--texts", help="only jobs of the pipelines in this file, one a line, in turns")
    parser.add_argument("--served", action="store_true", help="data are also on a web server and in a bucket that fail now and then")
    parser.add_argument("--tame", action="store_true", help="only valid pipelines, nearly without bad samples")
    parser.add_argument("--indexed", action="store_true", help="only pipelines whose order is a formula")
    parser.add_argument("--no-jobs", action="store_true", help="only the order")
    parser.add_argument("--chains", action="store_true", help="only jobs of several attempts")
    parser.add_argument("--as-it-is", action="store_true", help="does not make failing cases smaller")
    parser.add_argument("--scratch", help="where to write")
    parser.add_argument("--verbose", action="store_true", help="shows every case before it runs")
    options = parser.parse_args()
    for name in ("command", "server", "texts"):
        if os.path.sep in (getattr(options, name) or ""):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    print(f"seeds {options.seed} .. {options.seed + options.cases - 1}", flush=True)
    cuts = [options.seed + options.cases * i // options.processes for i in range(options.processes + 1)]
    parts = [(options, a, b - a) for a, b in zip(cuts, cuts[1:])]
    if len(parts) == 1:
        counts = share_of(parts[0])
    else:
        with multiprocessing.Pool(len(parts)) as pool:
            counts = sum(pool.imap_unordered(share_of, parts), Counter())
    print(", ".join(f"{counts[x]} {x}" for x in ("pipelines", "jobs", "chains", "failed")))
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
