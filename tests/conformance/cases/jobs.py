"""Jobs of a case: a chain of attempts, each ended or killed somewhere, and what happens to the snapshots between them.

A job is a dict of `epochs` (None: an endless one), `steps` (None: all), `bad` (a policy), `every`, `throw` (a position, or None),
`leave_out` (ranges of steps, from the beginning on), `own_logs` (whether each attempt has logs of its own), and `attempts`, dicts of

    stop        share of the job's steps after which it ends; 1: all of them
    kill        bytes of log after which it is killed, or None
    world, workers, dispatch
    apart       whether each rank is a process of its own
    kills       of such processes, in place of `kill`, if that is not None
    resizes     (share of the steps, workers)s
    die         (worker, position)s; if two die over the same sample the attempt ends, and is made again without
    late        steps that are left out from this resume on: (share of the steps that are left, how many), or None; a share below
                0 means steps in the past: the attempt is refused, and made again without
    tell_again  whether a resume is told what to leave out, though its snapshot says so
    damage      what happens to the newest set of snapshots after it: None, "missing" or "torn"
"""

import json
import os
import tempfile

from cases.command import NOTHING
from cases.logs import Handed, Log, digest_of, given_once, place, positions_of, write_order
from cases.snapshots import TORN, Run, Snapshots


class Chain:
    """One job. `due`: {(epoch, step): rows}; `error`: why it cannot continue after them, or None. `write`: writes the pipeline for the
    next attempt."""

    def __init__(self, commands, case, expected, job, write):
        self.commands, self.case, self.job, self.write = commands, case, job, write
        self.due, self.error = expected.handed_over(job["epochs"], job["steps"], job["bad"], job["throw"])
        self.is_once = case.stdin is not None
        self.handed, self.logs = Handed(self.due), {}
        self.left_out = self.late = frozenset()  # by the last attempt; first given at a resume
        self.groups = []  # of logs that cover the same time, by name

    def fault(self):
        """None, or (kind, text)."""
        attempts = self.job["attempts"][:1] if self.error else self.job["attempts"]
        with tempfile.TemporaryDirectory(dir=".") as self.folder, given_once(self.case.stdin, NOTHING) as self.stdin:
            self.snapshots = Snapshots(self.path("snapshots"))
            for number, attempt in enumerate(attempts):
                fault = self.fault_of_attempt(number, attempt)
                if fault:
                    return fault[0], f"attempt {number}: {fault[1]}"
            return None if self.error else self.fault_of_end()

    def path(self, name):
        return os.path.join(self.folder, name)

    # ------------------------------------------------------------------------------------------------- attempts

    def fault_of_attempt(self, number, attempt):
        self.attempt, self.runs_to_end = attempt, self.error or attempt["kill"] is None
        self.kills = [None] if self.runs_to_end else attempt["kills"] if attempt["apart"] else [attempt["kill"]]
        self.open_logs(number)
        self.write()
        found, options = self.snapshots.newest(), []
        if found == TORN:
            fault = self.fault_of_refusal(self.arguments([], 0))
            if fault:
                return "torn snapshot", fault
            found, options = self.snapshots.newest(allow_older=True), ["--allow-older"]
        told = self.told(found)
        self.says_weights = not found or attempt["tell_again"]
        if attempt["late"] and attempt["late"][0] < 0 and found and not attempt["apart"]:
            past = self.past(found)
            fault = past and self.fault_of_refusal([*self.arguments(told, 0), *options, "--leave-out", past])
            if fault:
                return "steps left out that are past", fault
        self.before = self.snapshots.newer_parts(found.at if found else None)
        self.done = self.commands.run_together(
            [([*self.arguments(told, rank), *options], self.watch(rank)) for rank in range(self.processes)], self.stdin
        )
        fault = self.fault_of_codes() or self.fault_of_logs(found, told)
        if not fault and any(map(died_over_one_sample, self.done)):
            return self.fault_of_attempt(number, {**attempt, "die": [], "late": None})
        if number + 1 < len(self.job["attempts"]):
            self.snapshots.damage(attempt["damage"], self.is_once)
        return fault

    @property
    def processes(self):
        return self.attempt["world"] if self.attempt["apart"] else 1

    def open_logs(self, number):
        """Names its logs: those of the previous attempt, if that was of the same kind."""
        group = number
        if self.groups and not self.job["own_logs"] and self.groups[-1][0] == self.attempt["apart"]:
            group = self.groups.pop()[1]
        names = [self.log_name(group, x) for x in range(self.processes)]
        known = [x for x in self.logs if x not in names and x.split(".")[0] == f"log-{group}"]
        self.groups.append((self.attempt["apart"], group, sorted({*names, *known})))
        for x in names:
            self.logs.setdefault(x, Log(self.path(x)))

    def log_name(self, group, rank):
        return f"log-{group}.{rank}" if self.attempt["apart"] else f"log-{group}"

    def log(self, rank):
        return self.logs[self.log_name(self.groups[-1][1], rank)]

    def watch(self, rank):
        """Kills the process when its log is long enough."""
        kill, log = self.kills[rank % len(self.kills)], self.log(rank)
        size = log.size()
        return None if kill is None else lambda end: end() if log.size() - size > kill else True

    def fault_of_refusal(self, arguments):
        """Runs a start that must fail and change nothing; returns what is wrong."""
        size = self.log(0).size()
        done = self.commands.run(*arguments, stdin=self.stdin)
        return None if done.is_clear_error() and self.log(0).size() == size else f"{done}"

    def fault_of_codes(self):
        for rank, done in enumerate(self.done):
            was_killed = self.kills[rank % len(self.kills)] is not None
            may_fail = self.error or len(self.attempt["die"]) > 1 and died_over_one_sample(done)
            if not was_killed and (done.code != 0 if not may_fail else not done.is_clear_error()):
                return f"run: exit code {done.code}", f"{done}\nreference: {self.error}"
        return None

    def fault_of_deaths(self, done, rank, lines):
        """Checks that each death hits a worker of the rank that owns its position; a rank's only worker gets all its positions."""
        attempt, world = self.attempt, self.attempt["world"]
        if done.code != 0:
            return None
        least = most = 0
        for x in [rank] if attempt["apart"] else range(world):
            places = [y for _, y in attempt["die"] if y % world == x]
            last = max((y for line in lines[1:] if line["rank"] == x for y in positions_of(line)), default=-1)
            most += len(places)
            if attempt["workers"] == 1 and not attempt["resizes"] and places == sorted(set(places)):
                least += sum(y <= last for y in places)
        died = summary_of(done)["workers_replaced"]
        return None if least <= died <= most else ("summary", f"{died} workers died, not {least} to {most}\n{done}")

    def arguments(self, told, rank):
        """`told`: ranges of steps to leave out."""
        job, attempt, steps = self.job, self.attempt, len(self.due)
        result = [
            "run", "--pipeline", "case.leat", "--world-size", attempt["world"], "--workers", attempt["workers"],
            "--dispatch", attempt["dispatch"], "--log", self.log(rank).path, "--bad-sample", job["bad"], "--json",
        ]  # fmt: skip
        result += ["--rank", rank] if attempt["apart"] else []
        result += ["--epochs", job["epochs"]] if job["epochs"] else []
        if self.runs_to_end and not self.error and attempt["stop"] < 1:
            result += ["--steps", 1 + int(attempt["stop"] * (steps - 1))]
        elif job["steps"] is not None:
            result += ["--steps", job["steps"]]
        if len(job["attempts"]) > 1:
            result += ["--snapshot-dir", self.path("snapshots"), "--snapshot-every", job["every"]]
            result += ["--journal", self.path("journal")] if self.is_once else []
        result += ["--resume"] if len(job["attempts"]) > 1 and (self.groups[1:] or os.path.exists(self.path("snapshots"))) else []
        result += [x for first, last in told for x in ("--leave-out", f"{first}..{last}")]
        result += [] if job["throw"] is None else ["--fault", f"throw:{job['throw']}"]
        result += [x for worker, position in attempt["die"] for x in ("--fault", f"die:{worker},{position}")]
        result += [x for share, n in attempt["resizes"] for x in ("--resize", f"{int(share * steps)}:{n}")]
        result += self.case.told_weights() if self.says_weights else []
        return [*result, *([] if self.runs_to_end else ["--step-time", 1])]

    # ------------------------------------------------------------------------------------- steps that are left out

    def told(self, found):
        """Ranges that the attempt is given to leave out."""
        ranges = self.job["leave_out"] if not found or self.attempt["tell_again"] else []
        late = self.attempt["late"]
        # Ranks in separate processes may begin after the steps, if a faster one has completed a set.
        if self.attempt["apart"] and self.snapshots.newer_parts(found.at if found else None):
            return ranges
        if late and late[0] >= 0 and found:
            now = self.steps_before(found.at)
            first = now + int(late[0] * (len(self.due) - now))
            self.late |= {(first, first + late[1])}
            return [*ranges, (first, first + late[1])]
        return [*ranges, *self.late_again(found)] if not found or self.attempt["tell_again"] else ranges

    def late_again(self, found):
        """The ranges that were left out late and that an attempt may still be given, as its snapshot may be older."""
        past = set(range(self.steps_before(found.at))) - found.left_out if found else set()
        return sorted(x for x in self.late if past.isdisjoint(range(x[0], x[1] + 1)))

    def past(self, found):
        """A range that begins with a step in the past that was not left out; None if there is none."""
        steps = [n for n in range(self.steps_before(found.at)) if n not in found.left_out]
        return steps and f"{steps[-1]}..{steps[-1] + self.attempt['late'][1]}"

    def steps_before(self, at):
        return sum(key < at for key in self.due) if at else 0

    def but(self, left_out):
        return {key: rows for n, (key, rows) in enumerate(self.due.items()) if n not in left_out}

    # ------------------------------------------------------------------------------------------------- its logs

    def fault_of_logs(self, found, told):
        """Checks that each process resumes where it must and hands over what is due, and that nothing before is lost."""
        runs, self.places = {}, set()
        for rank in range(self.processes):
            lines = self.log(rank).new_lines()
            if not lines and (self.error or self.kills[rank % len(self.kills)] is not None):
                continue  # refused, or killed before it began
            if not lines:
                return "log", f"no line of rank {rank}"
            at = place(lines[0]["resumed_at"])
            base = self.left_out_at(at, rank, found)
            if base is None:
                return "log", f"rank {rank} resumed at {at}, and the newest set is {found}"
            self.left_out = base.union(*(range(first, last + 1) for first, last in told))
            self.places.add(at)
            run = Run(self.steps_before(at), self.left_out)
            runs.update({x: run for x in ([rank] if self.attempt["apart"] else range(self.attempt["world"]))})
            fault = self.handed.fault_of(lines, self.but(self.left_out))
            if fault:
                return "log", fault
            fault = self.fault_of_deaths(self.done[rank], rank, lines)
            if fault:
                return fault
        self.snapshots.note(runs)
        due = self.but(self.left_out) if runs or self.error else {}
        lost = self.handed.lost(x for x in due if self.error or x < max((x for x in self.places if x), default=(0, 0)))
        return lost and ("log", f"lost: {lost}")

    def left_out_at(self, at, rank, found):
        """Steps that a process that resumes there leaves out, if it is given none; None: it must not resume there. A rank in a process
        of its own may find a set that a faster one has completed."""
        if at == (found.at if found else None):
            return found.left_out if found else frozenset()
        run = self.before.get((at, self.attempt["world"], rank)) if self.attempt["apart"] else None
        return run.left_out if isinstance(run, Run) else None

    # ------------------------------------------------------------------------------------------- the whole job

    def fault_of_end(self):
        due = self.but(self.left_out)
        lost = self.handed.lost(due)
        if lost:
            return "log", f"lost: {lost}"
        bad = sum(x.bad for rows in due.values() for x in rows)
        summaries = [summary_of(x) for x in self.done]
        if any(x["global_step"] != len(self.due) for x in summaries):
            return "summary", f"{summaries}, next step is {len(self.due)}"
        # Each rank has the sums since it began, and the first one also those from before, if all began there.
        digest = "%032x" % (sum(int(x["digest"], 16) for x in summaries) % 2**128)
        known_bad = sum(sum(x["bad"].values()) for x in summaries)
        if len(self.places) == 1 and (digest != digest_of(due) or known_bad != bad):
            return "summary", f"{summaries}, reference: digest {digest_of(due)}, {bad} bad"
        return self.fault_of_directory(due) or self.fault_of_verify(due)

    def fault_of_directory(self, due):
        """Checks that the newest set belongs to the whole job."""
        if len(self.job["attempts"]) == 1 or len(self.places) > 1 or self.snapshots.newest() == TORN:
            return None
        done = self.commands.run("inspect", self.path("snapshots"), "--json")
        found = json.loads(done.stdout) if done.code == 0 else {}
        steps = {n for first, last in found.get("left_out", []) for n in range(first, min(last + 1, len(self.due)))}
        if (found.get("global_step"), found.get("digest"), len(self.due) - len(steps)) != (len(self.due), digest_of(due), len(due)):
            return "inspect", f"{done.stdout}\nreference: {len(self.due)} steps, digest {digest_of(due)}, without {sorted(self.left_out)}\n{done}"
        return None

    def fault_of_verify(self, due):
        """Steps that were left out count as lost. Logs do not record what an attempt leaves out: a step that an earlier attempt had
        handed over may be counted as that one's."""
        write_order(self.path("order"), self.due)
        logs = [",".join(map(self.path, names)) for _, _, names in self.groups]
        done = self.commands.run("verify", self.path("order"), *logs, "--json")
        lost = sum(map(len, self.due.values())) - sum(map(len, due.values()))
        found = json.loads(done.stdout) if done.code in (0, 1) and done.stdout else {}
        counts = [found.get(x) for x in ("repeated", "moved", "changed", "extra")]
        never = sum(x.position not in self.handed.positions[key] for key, rows in self.due.items() for x in rows)
        return None if counts == [0, 0, 0, 0] and never <= found["lost"] <= lost else ("verify", f"{done.stdout}, {lost} are left out\n{done}")


def died_over_one_sample(done):
    """Whether two workers died at the same row, which ends a job."""
    return done.code == 1 and "got 2 workers that died while they made it, needed at most 1" in done.stderr


def summary_of(done):
    return json.loads(done.stdout.splitlines()[-1])
