"""Holds the command against the reference: the order of a case, and the log of its job."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import tempfile
import time

import reference
from cases.data import STANDARD_INPUT, write_file
from cases.kinds import reads_standard_input
from cases.writing import pipeline_text
from plain.hashes import row_digest
from plain.samples import Refused

SECONDS = 60  # longest a command may take


class Case:
    """A pipeline, how it is written, the epochs to compare, how many steps of each (None: all), and the job to run; `job` is
    None for the order alone."""

    def __init__(self, tree, style, epochs, steps, job):
        self.tree, self.style, self.epochs, self.steps, self.job = tree, style, epochs, steps, job

    def text(self):
        return pipeline_text(self.tree, self.style)

    def but(self, **changes):
        return Case(**{**vars(self), **changes})


class Failure:
    """What is wrong. `kind` is the same for what is likely the same fault."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text


class Expected:
    """What the reference says of an epoch: the lines before the first error, and that error. `mask`: bad samples pass, and a
    line's `pixels` has None for them."""

    def __init__(self, case, epoch, pixels=False, mask=False):
        self.lines, self.error = [], None
        try:
            pipeline = reference.Pipeline(case.text(), STANDARD_INPUT)
            for line in pipeline.lines(epoch, pixels, case.steps, mask):
                self.lines.append(line)
        except Refused as why:
            self.error = str(why)


class Judge:
    """Runs the command on cases."""

    def __init__(self, command):
        self.command = command

    def leat(self, *arguments, stdin=None):
        """Reads standard input from the beginning, or from where others have left a pipe."""
        command = [self.command, *map(str, arguments)]
        given = {"input": STANDARD_INPUT} if stdin is None else {"stdin": stdin}
        return subprocess.run(command, capture_output=True, timeout=SECONDS, **given)

    def failure_of(self, case):
        """None where all is well."""
        write_file("./case.leat", case.text().encode())
        try:
            for epoch in case.epochs:
                failure = self.compare_order(case, epoch)
                if failure:
                    return failure
            return self.run_job(case) if case.job else None
        except subprocess.TimeoutExpired as late:
            return Failure("hang", f"{' '.join(late.cmd)} took more than {SECONDS} s")

    def compare_order(self, case, epoch):
        steps = [] if case.steps is None else ["--steps", case.steps]
        done = self.leat("order", "--pipeline", "case.leat", "--epoch", epoch, *steps)
        expected = Expected(case, epoch)
        lines, got = [reference.to_text(x) for x in expected.lines], done.stdout.decode().splitlines()
        fine = lines and not expected.error
        if done.returncode not in ([0] if fine else [1, 2]):
            why = f"epoch {epoch}, reference: {expected.error}\n{done.stderr.decode()}"
            return Failure(f"order: exit code {done.returncode}", why)
        if not fine and not (done.stderr.startswith(b"leat order: ") and done.stderr.count(b"\n") == 1):
            return Failure("order: not one line of error", done.stderr.decode())
        if expected.error:  # how many batches come before it is the command's own affair
            lines = lines[: len(got)]
        return difference(f"order of epoch {epoch}", lines, got)

    # ---------------------------------------------------------------------------------------------------- jobs

    def run_job(self, case):
        job = case.job
        mask = job["bad"] == "mask"
        epochs = [Expected(case, epoch, pixels=True, mask=mask) for epoch in range(job["epochs"] or 1)]
        steps = sum(len(x.lines) for x in epochs)
        good = any(row for x in epochs for line in x.lines for row in line["pixels"])
        if not good or any(x.error for x in epochs):
            return None  # nothing to hand over, or no sample to learn the batch's fields from
        for attempt in ("job.log", "job.log.bad"):
            if os.path.exists(attempt):
                os.remove(attempt)
        once = reads_standard_input(case.tree)
        with tempfile.TemporaryDirectory(dir=".") as folder, standard_input_once() as stdin:
            where = ["--snapshot-dir", f"{folder}/snapshots", *(["--spool", f"{folder}/spool"] if once else [])]
            for i, part in enumerate(job["parts"]):
                failure = self.run_part(job, part, steps, where + (["--resume"] if i > 0 else []), stdin)
                if failure:
                    return failure
        return self.check_log([line for x in epochs for line in x.lines])

    def run_part(self, job, part, steps, where, stdin):
        """Up to a step, or killed at one."""
        stop = 1 + int(part["stop"] * (steps - 1))
        arguments = [
            "run", "--pipeline", "case.leat", "--world-size", part["world"], "--workers", part["workers"],
            "--dispatch", part["dispatch"], "--log", "job.log", "--bad-sample", job["bad"],
            "--steps", steps if part["kill"] else stop,
            "--snapshot-every", job["every"], *where, *(["--epochs", job["epochs"]] if job["epochs"] else []),
        ]  # fmt: skip
        if part["kill"]:
            self.kill_at(part, [*arguments, "--step-time", 1], stdin)
            return None
        done = self.leat(*arguments, stdin=stdin)
        if done.returncode == 0:
            return None
        return Failure(f"run: exit code {done.returncode}", f"{part} {arguments}: {done.stderr.decode()}")

    def kill_at(self, part, arguments, stdin):
        """SIGKILL once the log has so many more bytes."""
        begin, ended = log_size(), time.monotonic() + SECONDS
        with subprocess.Popen([self.command, *map(str, arguments)], stdin=stdin,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # fmt: skip
            while process.poll() is None and log_size() - begin <= part["bytes"] and time.monotonic() < ended:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)

    def check_log(self, lines):
        """The attempts of the log, and what `leat verify` says of them."""
        if not os.path.exists("job.log"):
            return Failure("no log", "the job wrote no log")
        with open("job.log", encoding="utf-8") as log:
            fault = fault_of([json.loads(line) for line in log], lines)
        if fault:
            return Failure("log", fault)
        order = "".join(reference.to_text(without_pixels(x)) + "\n" for x in lines)
        write_file("./order.json", order.encode())
        done = self.leat("verify", "order.json", "job.log")
        return None if done.returncode == 0 else Failure("verify", done.stdout.decode() + done.stderr.decode())


@contextlib.contextmanager
def standard_input_once():
    """A pipe that gives standard input once, to all who read from it together."""
    read, write = os.pipe()
    os.write(write, STANDARD_INPUT)  # less than a pipe holds
    os.close(write)
    try:
        yield read
    finally:
        os.close(read)


def log_size():
    return os.path.getsize("job.log") if os.path.exists("job.log") else 0


def fault_of(log, lines):
    """What is wrong with a log: each attempt hands over the due rows, in order, from where the one before had come or earlier;
    all together hand over every row."""
    due = {(x["epoch"], x["step"]): dict(zip(x["positions"], zip(x["ids"], x["pixels"]))) for x in lines}
    order = {key: i for i, key in enumerate(due)}
    missing = {key: set(rows) for key, rows in due.items()}
    world = next_steps = None
    for line in log:
        if "step" not in line:
            world = line["world_size"]
            at = line["resumed_at"]
            begin = order.get((at["epoch"], at["step"]), len(due)) if at else 0
            next_steps = [begin] * world
            continue
        key, rank = (line["epoch"], line["step"]), line["rank"]
        if key not in due:
            return f"extra: {key}"
        if order[key] != next_steps[rank]:
            return f"rank {rank} of {world} hands over {key}, step {order[key]} of the job, in place of step {next_steps[rank]}"
        next_steps[rank] += 1
        rows = dict(zip(line["positions"], zip(line["ids"], line["pixels"])))
        mine = {p: x for p, x in due[key].items() if p % world == rank}
        bad = {p: id for p, id, _, _ in line.get("bad", [])}
        if bad != {p: id for p, (id, pixels) in mine.items() if pixels is None}:
            return f"rank {rank} of {world}, {key}: bad {bad}, reference: {mine}"
        wanted = {p: x for p, x in mine.items() if p not in bad}
        if rows != wanted or len(rows) != len(line["positions"]):
            return f"rank {rank} of {world}, {key}:\n  reference: {wanted}\n  leat:      {rows}"
        digest = "%032x" % (sum(row_digest(key[0], p, id) for p, (id, _) in rows.items()) % 2**128)
        if line["digest"] != digest:
            return f"rank {rank} of {world}, {key}: digest {line['digest']}, not {digest}"
        missing[key] -= {*rows, *bad}
    lost = [key for key, rows in missing.items() if rows]
    return f"lost: {lost}" if lost else None


def without_pixels(line):
    return {name: x for name, x in line.items() if name != "pixels"}


def difference(what, expected, got):
    """The first line that differs."""
    for i, (want, have) in enumerate(itertools.zip_longest(expected, got)):
        if want != have:
            return Failure(what.split()[0], f"{what}, line {i}:\n  reference: {want}\n  leat:      {have}")
    return None
