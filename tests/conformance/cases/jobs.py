"""Jobs of a case: a chain of attempts, each ended or killed somewhere, and what becomes of the snapshots between them.

A job is a dict of `epochs` (None: an endless one), `steps` (None: all), `bad` (a policy), `every`, `throw` (a position, or None),
`leave_out` (ranges of steps), and `attempts`, dicts of

    stop        share of the job's steps behind which it ends; 1: all of them
    kill        bytes of log behind which it is killed, or None
    world, workers, dispatch
    resizes     (share of the steps, workers)s
    die         (worker, position)s
    tell_again  whether a resume is told what to leave out, though its snapshot says so
    damage      what becomes of the newest set of snapshots behind it: None, "missing" or "torn"
"""

import contextlib
import json
import os
import re
import tempfile

import reference
from cases.command import NOTHING
from plain.hashes import row_digest

SNAPSHOT = re.compile(r"epoch-(\d+)-step-(\d+)\.rank-(\d+)-of-(\d+)")


class Chain:
    """One job. `due`: {(epoch, step): rows}; `error`: why it cannot go on behind them, or None."""

    def __init__(self, commands, case, expected, job):
        self.commands, self.case, self.job = commands, case, job
        self.due, self.error = expected.handed_over(job["epochs"], job["steps"], job["bad"], job["throw"])
        self.left_out = {n for first, last in job["leave_out"] for n in range(first, last + 1)}
        self.is_once = case.stdin is not None
        self.torn, self.was_damaged, self.was_killed = {}, False, False

    def fault(self):
        """None, or (kind, text)."""
        attempts = self.job["attempts"][:1] if self.error else self.job["attempts"]
        with tempfile.TemporaryDirectory(dir=".") as self.folder, given_once(self.case.stdin) as self.stdin:
            for number, attempt in enumerate(attempts):
                fault = self.fault_of_attempt(number, attempt)
                if fault:
                    return fault[0], f"attempt {number}: {fault[1]}"
            return None if self.error else self.fault_of_end()

    def path(self, name):
        return os.path.join(self.folder, name)

    # ------------------------------------------------------------------------------------------------- attempts

    def fault_of_attempt(self, number, attempt):
        found = self.newest()
        kill = None if self.error else attempt["kill"]
        size = file_size(self.path("log"))
        options = []
        if found == "torn":
            done = self.commands.run(*self.arguments(attempt, True), stdin=self.stdin)
            if not done.is_clear_error() or file_size(self.path("log")) != size:
                return "torn snapshot", f"{done}"
            options, found = ["--allow-older"], self.newest(allow_older=True)
        watch = None if kill is None else lambda end: end() if file_size(self.path("log")) - size > kill else True
        self.done = self.commands.run(*self.arguments(attempt, found is not None), *options, stdin=self.stdin, watch=watch)
        if kill is None and (self.done.code != 0 if not self.error else not self.done.is_clear_error()):
            return f"run: exit code {self.done.code}", f"{self.done}\nreference: {self.error}"
        fault = fault_of(read_lines(self.path("log")), self.handed_over, complete=self.error and number == 0)
        if not fault and kill is None and not self.error:
            fault = self.fault_of_resume(found)
        self.was_killed = self.was_killed or kill is not None
        self.damage(attempt["damage"])
        return fault and ("log", fault)

    def arguments(self, attempt, resumes):
        job, steps = self.job, len(self.due)
        result = [
            "run", "--pipeline", "case.leat", "--world-size", attempt["world"], "--workers", attempt["workers"],
            "--dispatch", attempt["dispatch"], "--log", self.path("log"), "--bad-sample", job["bad"], "--json",
        ]  # fmt: skip
        result += ["--epochs", job["epochs"]] if job["epochs"] else []
        if not self.error and attempt["stop"] < 1 and attempt["kill"] is None:
            result += ["--steps", 1 + int(attempt["stop"] * (steps - 1))]
        elif job["steps"] is not None:
            result += ["--steps", job["steps"]]
        if len(job["attempts"]) > 1:
            result += ["--snapshot-dir", self.path("snapshots"), "--snapshot-every", job["every"]]
            result += ["--spool", self.path("spool")] if self.is_once else []
        result += ["--resume"] if os.path.exists(self.path("snapshots")) else []
        if not resumes or attempt["tell_again"]:
            result += [x for first, last in job["leave_out"] for x in ("--leave-out", f"{first}..{last}")]
        result += [] if job["throw"] is None else ["--fault", f"throw:{job['throw']}"]
        result += [x for worker, position in attempt["die"] for x in ("--fault", f"die:{worker},{position}")]
        result += [x for share, n in attempt["resizes"] for x in ("--resize", f"{int(share * steps)}:{n}")]
        return [*result, *(["--step-time", 1] if attempt["kill"] is not None else [])]

    # ------------------------------------------------------------------------------------------------ snapshots

    def sets(self):
        """{(epoch, step, world): names of parts}, of complete ones, the newest first."""
        with contextlib.suppress(FileNotFoundError):
            parts = filter(None, map(SNAPSHOT.fullmatch, os.listdir(self.path("snapshots"))))
            found = {}
            for x in parts:
                epoch, step, _, world = map(int, x.groups())
                found.setdefault((epoch, step, world), []).append(self.path(f"snapshots/{x.group()}"))
            return {key: found[key] for key in sorted(found, reverse=True) if len(found[key]) == key[2]}
        return {}

    def newest(self, allow_older=False):
        """The step that a resume begins at, None where there is no set, or "torn"."""
        for (epoch, step, _), parts in self.sets().items():
            if not any(self.torn.get(x) == os.path.getsize(x) for x in parts):
                return epoch, step
            if not allow_older:
                return "torn"
        return None

    def damage(self, kind):
        sets = list(self.sets().values())
        if kind is None or not sets or len(sets) < 2 and (self.is_once or kind == "torn"):
            return
        part = sorted(sets[0])[len(sets[0]) // 2]
        self.was_damaged = True
        if kind == "missing":
            os.remove(part)
            return
        self.torn[part] = os.path.getsize(part) * 2 // 3
        os.truncate(part, self.torn[part])

    def fault_of_resume(self, found):
        """A job goes on at the newest set; of sets with parts of two attempts only the command knows."""
        at = [x for x in read_lines(self.path("log")) if "step" not in x][-1]["resumed_at"]
        at = at and (at["epoch"], at["step"])
        if at != found and not (self.was_killed and self.was_damaged):
            return f"resumed at {at}, and the newest set is {found}"
        return None

    # ------------------------------------------------------------------------------------------- the whole job

    def fault_of_end(self):
        due = self.handed_over
        fault = fault_of(read_lines(self.path("log")), due, complete=True)
        if fault:
            return "log", fault
        summary = json.loads(self.done.stdout.splitlines()[-1])
        digest = "%032x" % (sum(row_hash(x, epoch) for (epoch, _), rows in due.items() for x in rows) % 2**128)
        bad = sum(x.bad for rows in due.values() for x in rows)
        if len(self.due) - 1 not in self.left_out and summary["global_step"] != len(self.due):
            return "summary", f"next step {summary['global_step']}, not {len(self.due)}"
        if summary["digest"] != digest or sum(summary["bad"].values()) != bad:
            return "summary", f"{summary}, reference: digest {digest}, {bad} bad"
        return self.fault_of_verify()

    def fault_of_verify(self):
        """What was left out counts as lost."""
        with open(self.path("order"), "w", encoding="utf-8") as file:
            for (epoch, step), rows in self.due.items():
                line = {"epoch": epoch, "step": step, "world_size": 1, "positions": [x.position for x in rows],
                        "ids": [x.id for x in rows]}  # fmt: skip
                line["digest"] = "%032x" % (sum(row_digest(epoch, x.position, x.id) for x in rows) % 2**128)
                file.write(reference.to_text(line) + "\n")
        done = self.commands.run("verify", self.path("order"), self.path("log"), "--json")
        lost = sum(len(rows) for rows in self.due.values()) - sum(len(rows) for rows in self.handed_over.values())
        found = json.loads(done.stdout) if done.code in (0, 1) and done.stdout else {}
        counts = [found.get(x) for x in ("lost", "repeated", "moved", "changed", "extra")]
        return None if counts == [lost, 0, 0, 0, 0] else ("verify", f"{done.stdout}, {lost} are left out\n{done}")

    @property
    def handed_over(self):
        return {key: rows for n, (key, rows) in enumerate(self.due.items()) if n not in self.left_out}


def row_hash(row, epoch):
    """A row's part of a batch's digest."""
    return row_digest(epoch, row.position, row.delivered) if row.pixels is not None else 0


def fault_of(log, due, complete):
    """What is wrong with a log: each attempt hands over the due rows, in order, from where the one before had come or earlier;
    all together hand over every row, if `complete`. `due`: {(epoch, step): rows}."""
    order = {key: i for i, key in enumerate(due)}
    missing = {key: {x.position for x in rows} for key, rows in due.items()}
    world = next_steps = None
    for line in log:
        if "step" not in line:
            world = line["world_size"]
            at = line["resumed_at"]
            begin = sum(key < (at["epoch"], at["step"]) for key in due) if at else 0
            next_steps = [begin] * world
            continue
        key, rank = (line["epoch"], line["step"]), line["rank"]
        if key not in due:
            return f"extra: {key}"
        if order[key] != next_steps[rank]:
            return f"rank {rank} of {world} hands over {key}, in place of the one numbered {next_steps[rank]} of those due"
        next_steps[rank] += 1
        fault = fault_of_line(line, [x for x in due[key] if x.position % world == rank])
        if fault:
            return f"rank {rank} of {world}, {key}: {fault}"
        missing[key] -= {*line["positions"], *(x[0] for x in line.get("bad", []))}
    lost = [key for key, rows in missing.items() if rows]
    return f"lost: {lost}" if lost and complete else None


def fault_of_line(line, due):
    """`due`: the rows of this rank."""
    good = [x for x in due if x.pixels is not None]
    wanted = [(x.position, x.delivered, x.pixels) for x in good]
    got = list(zip(line["positions"], line["ids"], line["pixels"]))
    if got != wanted or not len(got) == len(line["positions"]) == len(line["ids"]) == len(line["pixels"]):
        return f"\n  reference: {wanted}\n  leat:      {got}"
    bad = sorted((p, id, other) for p, id, _, other in line.get("bad", []))
    if bad != [(x.position, x.id, x.substitute) for x in due if x.bad]:
        return f"bad {bad}, reference: {[tuple(x) for x in due if x.bad]}"
    digest = "%032x" % (sum(row_hash(x, line["epoch"]) for x in good) % 2**128)
    return None if line["digest"] == digest else f"digest {line['digest']}, not {digest}"


@contextlib.contextmanager
def given_once(path):
    """A pipe that gives a file once, to all who read from it together; its name."""
    if path is None:
        yield NOTHING
        return
    read, write = os.pipe()
    try:
        os.write(write, reference.read_file(path))  # less than a pipe holds
        os.close(write)
        yield f"/proc/{os.getpid()}/fd/{read}"
    finally:
        os.close(read)


def read_lines(path):
    """A torn last line is none."""
    if not os.path.exists(path):
        return []
    return [json.loads(line) for line in reference.read_file(path).split(b"\n")[:-1]]


def file_size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0
