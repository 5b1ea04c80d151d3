"""What a job's directory of snapshots holds, and who wrote it."""

import contextlib
import os
import re
from collections import namedtuple

PART = re.compile(r"epoch-(\d+)-step-(\d+)\.rank-(\d+)-of-(\d+)")
TORN = "torn"

# A process that writes snapshots: the step of the job with which it began, and the steps that it leaves out.
Run = namedtuple("Run", "began left_out")
# A set that can be restored.
Found = namedtuple("Found", "at left_out")


class Snapshots:
    def __init__(self, folder):
        self.folder, self.known = folder, {}  # name of a part: (stamp, Run or TORN)

    def path(self, name):
        return os.path.join(self.folder, name)

    def stamp(self, name):
        x = os.stat(self.path(name))
        return x.st_ino, x.st_mtime_ns, x.st_size

    def sets(self):
        """{(epoch, step, world): {rank: name of its part}}, the newest first."""
        found = {}
        with contextlib.suppress(FileNotFoundError):
            for x in filter(None, map(PART.fullmatch, os.listdir(self.folder))):
                epoch, step, rank, world = map(int, x.groups())
                found.setdefault((epoch, step, world), {})[rank] = x.group()
        return {key: found[key] for key in sorted(found, reverse=True)}

    def note(self, runs):
        """Records that an attempt is over, and has written the new parts. `runs`: rank to Run."""
        now = {}
        for parts in self.sets().values():
            for rank, name in parts.items():
                stamp = self.stamp(name)
                was = self.known.get(name)
                now[name] = was if was and was[0] == stamp else (stamp, runs.get(rank))
        self.known = now

    def newest(self, allow_older=False):
        """What a resume begins with: Found, None, or TORN if it is refused. Parts of one set come from processes that began with the
        same step, and leave out the same steps."""
        for (epoch, step, world), parts in self.sets().items():
            runs = {self.known[name][1] for name in parts.values()}
            if len(parts) < world or TORN in runs and allow_older or TORN not in runs and len(runs) > 1:
                continue
            return TORN if TORN in runs else Found((epoch, step), runs.pop().left_out)
        return None

    def newer_parts(self, at):
        """{(at, world, rank): Run} of the parts after a place; None: of all."""
        return {((epoch, step), world, rank): self.known[name][1] for (epoch, step, world), parts in self.sets().items()
                for rank, name in parts.items() if at is None or (epoch, step) > at}  # fmt: skip

    def damage(self, kind, keep_one):
        """Removes or tears a part of the newest complete set, unless a complete set must remain."""
        sets = [parts for (_, _, world), parts in self.sets().items() if len(parts) == world]
        if kind is None or not sets or len(sets) < 2 and (keep_one or kind == TORN):
            return
        names = sorted(sets[0].values())
        name = names[len(names) // 2]
        if kind == "missing":
            os.remove(self.path(name))
        else:
            os.truncate(self.path(name), os.path.getsize(self.path(name)) * 2 // 3)
            self.known[name] = (self.stamp(name), TORN)
