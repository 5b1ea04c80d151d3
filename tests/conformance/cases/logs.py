"""Checks logs of jobs against the rows that were due."""

import contextlib
import json
import os

import reference
from plain.hashes import row_digest


class Log:
    """A file that processes append to, one after the other."""

    def __init__(self, path):
        self.path, self.seen = path, 0

    def size(self):
        return os.path.getsize(self.path) if os.path.exists(self.path) else 0

    def new_lines(self):
        """The lines that have come since; a torn last line does not count."""
        if not os.path.exists(self.path):
            return []
        lines = reference.read_file(self.path).split(b"\n")[self.seen : -1]
        self.seen += len(lines)
        return [json.loads(x) for x in lines]


class Handed:
    """Which positions of a job have been handed over. `due`: {(epoch, step): rows}."""

    def __init__(self, due):
        self.due, self.positions = due, {key: set() for key in due}

    def lost(self, keys):
        """Those of these steps whose rows have not all been handed over."""
        return [key for key in keys if not self.positions[key].issuperset(x.position for x in self.due[key])]

    def fault_of(self, lines, due):
        """What is wrong with a process's lines: each of its ranks must hand over its rows of `due`, in order, from the step on with which
        it continues. `due`: steps that are not left out."""
        world, keys = lines[0]["world_size"], list(due)
        at = place(lines[0]["resumed_at"])
        begin = sum(key < at for key in keys) if at else 0
        next_steps = [begin] * world
        for line in lines[1:]:
            key, rank = (line["epoch"], line["step"]), line["rank"]
            if lines[0]["rank"] not in (None, rank) or line["world_size"] != world:
                return f"rank {rank} of {line['world_size']} in a log of {lines[0]}"
            wanted = keys[next_steps[rank]] if next_steps[rank] < len(keys) else None
            if key != wanted:
                return f"rank {rank} of {world} hands over {key}, in place of {wanted}"
            next_steps[rank] += 1
            fault = fault_of_line(line, [x for x in due[key] if x.position % world == rank])
            if fault:
                return f"rank {rank} of {world}, {key}: {fault}"
            self.positions[key] |= positions_of(line)
        return None


def place(at):
    """A header's `resumed_at`."""
    return at and (at["epoch"], at["step"])


def positions_of(line):
    """Positions of the rows that a rank has handed over, bad ones included."""
    return {*line["positions"], *(x[0] for x in line.get("bad", []))}


def row_hash(row, epoch):
    """A row's part of a batch's digest."""
    return row_digest(epoch, row.position, row.delivered) if row.pixels is not None else 0


def digest_of(due):
    return "%032x" % (sum(row_hash(x, epoch) for (epoch, _), rows in due.items() for x in rows) % 2**128)


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
    digest = digest_of({(line["epoch"], line["step"]): good})
    return None if line["digest"] == digest else f"digest {line['digest']}, not {digest}"


def write_order(path, due):
    """As `leat order` prints it, for all epochs."""
    with open(path, "w", encoding="utf-8") as file:
        for (epoch, step), rows in due.items():
            line = {"epoch": epoch, "step": step, "world_size": 1, "positions": [x.position for x in rows], "ids": [x.id for x in rows]}
            line["digest"] = "%032x" % (sum(row_digest(epoch, x.position, x.id) for x in rows) % 2**128)
            file.write(reference.to_text(line) + "\n")


@contextlib.contextmanager
def given_once(path, nothing):
    """A pipe that gives the content of a file once, shared by all its readers; yields its name."""
    if path is None:
        yield nothing
        return
    read, write = os.pipe()
    try:
        os.write(write, reference.read_file(path))  # less than a pipe holds
        os.close(write)
        yield f"/proc/{os.getpid()}/fd/{read}"
    finally:
        os.close(read)
