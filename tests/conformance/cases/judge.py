"""Compares the command with the reference: the order of a case, and what a job of it hands over."""

import itertools
import json
import os
import random

import reference
from cases.command import Late
from cases.data import write_file
from cases.jobs import Chain
from cases.kinds import is_endless
from cases.writing import pipeline_text
from plain.checks import may_change_weights
from plain.iterators import TooLong
from plain.samples import Refused, Undocumented

LIMIT = 5000  # items that the reference looks at, for one question


class Case:
    """A pipeline and what to do with it.

    `style`: how it is written. `stdin`: the file to read as standard input, None: none. `epochs`, `steps`: the epochs whose order to
    compare, and how many steps of each (None: all). `jobs`: what to run, one after the other (cases/jobs.py). `raw`: a text in place
    of the tree's, perhaps not that of a pipeline. `changes`: (step, weights)s of its mix, if a job may change them."""

    def __init__(self, tree, style=None, stdin=None, epochs=(), steps=None, jobs=(), raw=None, changes=()):
        self.tree, self.style, self.stdin, self.raw, self.changes = tree, style, stdin, raw, list(changes)
        self.epochs, self.steps, self.jobs = list(epochs), steps, list(jobs)

    def text(self):
        return pipeline_text(self.tree, self.style) if self.raw is None else self.raw

    def but(self, **changes):
        return Case(**{**vars(self), **changes})

    def weights(self):
        """The changes that fit the tree, which may have become smaller."""
        fits = self.changes and self.raw is None and is_endless(self.tree) and may_change_weights(self.tree)
        inputs = [len(x.inputs) for x in self.tree.below() if x.op == "mix"] if fits else []
        return [(step, x[: inputs[0]]) for step, x in self.changes if len(x) >= inputs[0] and any(x[: inputs[0]])] if fits else []

    def told_weights(self):
        """Arguments of the command."""
        return [x for step, weights in self.weights() for x in ("--weights", f"{step}:{','.join(map(str, weights))}")]

    def __str__(self):
        facts = {name: x for name, x in vars(self).items() if name not in ("tree", "style") and x not in (None, [])}
        return self.text().encode("utf-8", "backslashreplace").decode() + "\n" + "".join(f"{name}: {x}\n" for name, x in facts.items())


class Failure:
    """What is wrong. `kind` is the same for failures that are likely the same fault."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text


class NoCase(Exception):
    """Raised if the reference cannot tell what is right."""


class Expected:
    """What the reference expects of a case."""

    def __init__(self, case, sources):
        self.case, self.sources, self.refused, self.known = case, sources, None, {}
        stdin = reference.read_file(case.stdin) if case.stdin else b""
        try:
            self.pipeline = reference.Pipeline(case.text(), stdin, sources, LIMIT, case.weights())
        except (Refused, SyntaxError) as why:
            self.refused = str(why)
        except (Undocumented, RecursionError) as why:
            raise NoCase(str(why)) from None

    def order(self, epoch):
        """(lines, error): those before the first error."""
        return self.asked(("order", epoch), lambda: self.pipeline.order(epoch, self.case.steps))

    def handed_over(self, epochs, steps, policy, throw_at):
        """({(epoch, step): rows}, error) of a job with this many epochs (None: an endless one) and steps."""
        due, error = {}, None
        for epoch in range(epochs or 1):
            batches, error = self.asked(
                (epoch, steps, policy, throw_at),
                lambda epoch=epoch: self.pipeline.handed_over(epoch, steps, policy, throw_at),
            )
            for step, rows in enumerate(batches):
                if steps is None or len(due) < steps:
                    due[epoch, step] = rows
            if error or steps is not None and len(due) >= steps:
                break
        return due, error

    def asked(self, key, ask):
        if self.refused:
            return [], self.refused
        if key not in self.known:
            self.pipeline.indexed.left = LIMIT
            self.known[key] = listed(ask())
        return self.known[key]


def listed(iterator):
    """(items, error): those before it, and the first error."""
    items = []
    try:
        for x in iterator:
            items.append(x)
    except Refused as why:
        return items, str(why)
    except (TooLong, Undocumented, RecursionError) as why:
        raise NoCase(str(why)) from None
    return items, None if items else "an epoch without a batch"


class Judge:
    """Runs commands on cases. `places`: where pipelines find their data (cases/served.py); None: in files."""

    def __init__(self, commands, sources=None, places=None):
        self.commands, self.sources, self.places = commands, {} if sources is None else sources, places

    def failure_of(self, case):
        """None if all is well. Raises NoCase."""
        rng = random.Random(case.style)
        self.write(case, rng)
        if case.raw is not None:
            return self.failure_of_text(case)
        expected = Expected(case, self.sources)
        try:
            for epoch in case.epochs:
                self.write(case, rng)
                failure = self.compare_order(case, expected, epoch)
                if failure:
                    return failure
            for job in case.jobs:
                fault = Chain(self.commands, case, expected, job, lambda: self.write(case, rng)).fault()
                if fault:
                    return Failure(*fault)
        except Late as late:
            return Failure("hang", str(late))
        return None

    def write(self, case, rng):
        """Each time with its data in other places."""
        is_moved = self.places and case.raw is None
        text = pipeline_text(self.places.drawn(case.tree, rng), case.style) if is_moved else case.text()
        write_file("./case.leat", text.encode("utf-8", "surrogateescape"))

    def failure_of_text(self, case):
        """Checks that any text is refused with a clear error, or has the right order."""
        is_long = False
        try:
            lines, error = Expected(case, self.sources).order(0)
        except NoCase:  # 2^32 repetitions of nothing take long
            lines, error, is_long = None, None, True
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError, MemoryError):
            lines, error = None, None
        try:
            done = self.commands.run("order", "--pipeline", "case.leat", "--steps", case.steps, stdin=case.stdin or "/dev/null")
        except Late as late:
            return None if is_long else Failure("hang", str(late))
        if done.code != 0:
            if not done.is_clear_error():
                return Failure(f"text: exit code {done.code}", str(done))
            return Failure("text: refused", f"{done}reference: {len(lines)} batches") if lines and not error else None
        got = done.stdout.splitlines()
        if lines is not None and (error or got != [reference.to_text(x) for x in lines]):
            return Failure("text: order", f"reference: {error or lines}\nleat: {done.stdout}")
        return None

    def compare_order(self, case, expected, epoch):
        due, error = expected.order(epoch)
        steps = [] if case.steps is None else ["--steps", case.steps]
        done = self.commands.run("order", "--pipeline", "case.leat", "--epoch", epoch, *steps, *case.told_weights(), stdin=case.stdin or "/dev/null")
        lines, got = [reference.to_text(x) for x in due], done.stdout.splitlines()
        if done.code != 0 if not error else not done.is_clear_error():
            return Failure(f"order: exit code {done.code}", f"epoch {epoch}, reference: {error}\n{done}")
        for i, (want, have) in enumerate(itertools.zip_longest(lines, got)):
            if want != have:
                return Failure("order", f"order of epoch {epoch}, line {i}:\n  reference: {want}\n  leat:      {have}")
        return None
