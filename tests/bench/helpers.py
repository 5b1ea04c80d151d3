#!/usr/bin/env python3
"""What helpers add to a rank, and what their rows cost it, in turns, as medians with their spread.

helpers.py [--helpers N] [--sleep MS] [--turns N] [--seconds S] [--only speed,cost] [--bin build/bin]

speed: batches per second with 0, 1, ... helpers, by a map that sleeps, so that the processors are no limit; the rank and each
helper have one worker. Also: how long after its start a helper's first row arrives, and how long the trainer waits at most for
a batch when all helpers are killed.
cost: CPU time that the rank spends per gigabyte of uint8 images which helpers make, of its whole process, the loop that takes
the batches included, beside what the receiver of a bare connection spends on rows of that size (leat-link-bench), with and
without TLS. Apart from that: what it costs to normalize a gigabyte of them to float32 with NumPy.
PYTHONPATH names the package: build/python.
"""

import argparse
import logging
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import leat
import numpy as np

IMAGE = np.full((3, 224, 224), 7, np.uint8)
ROOT = Path(__file__).resolve().parents[2]


def register(sleep_ms, image_ms):
    """The maps of both jobs; a rank's own images take so long that helpers make nearly all of them."""

    def sleep(sample):
        sample["value"] = sample["value"] + 1
        time.sleep(sleep_ms / 1000)

    def image(sample):
        time.sleep(image_ms / 1000)
        sample["image"] = IMAGE

    leat.register_map("sleep@1", lambda parameters: leat.MapStage("sleep@1", sleep))
    leat.register_map("image@1", lambda parameters: leat.MapStage("image@1", image))
    return sleep, image


class Places(logging.Handler):
    """Where loaders say that helpers join."""

    def __init__(self):
        super().__init__()
        self.found = ""
        logging.getLogger("leat").addHandler(self)

    def emit(self, record):
        found = re.search(r"helpers join at (\S+)", record.getMessage())
        if found:
            self.found = found[1]

    def next(self, loader):
        """That of a loader which begins now."""
        self.found = ""
        loader.next()
        return self.found


class Helped:
    """A loader, and its helpers as processes."""

    def __init__(self, places, sleep, options, helpers):
        job = leat.count(10_000_000).map("sleep@1", sleep).batch(4)
        self.loader = leat.Loader(job, workers=1, workers_at="127.0.0.1:0")
        self.batches = iter(self.loader)
        next(self.batches)
        self.command = [sys.executable, __file__, "--join", places.found, "--sleep", str(options.sleep)]
        self.helpers = []
        self.joined = []
        for _ in range(helpers):
            self.begin()
        while self.loader.stats()["helped"]["helpers"] < helpers:
            next(self.batches)

    def begin(self):
        self.helpers.append(subprocess.Popen(self.command, stdout=subprocess.DEVNULL))

    def rate(self, seconds):
        """Batches per second, once what was made ahead before is gone."""
        for _ in range(80):
            next(self.batches)
        begin, number = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            next(self.batches)
            number += 1
        return number / (time.perf_counter() - begin)

    def join_time(self):
        """Seconds from a helper's start to its first row, of which its interpreter takes a part."""
        before = self.loader.stats()["helped"]["rows_received"]
        begin = time.perf_counter()
        self.begin()
        while self.loader.stats()["helped"]["rows_received"] == before:
            next(self.batches)
        return time.perf_counter() - begin

    def longest_wait(self, seconds):
        """The longest wait for a batch after all helpers were killed."""
        for x in self.helpers:
            x.kill()
        begin = last = time.perf_counter()
        longest = 0.0
        while last - begin < seconds:
            next(self.batches)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        return longest

    def end(self):
        for x in self.helpers:
            x.kill()
            x.wait()
        self.loader.close()


def told(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def speed(options, sleep):
    places = Places()
    rates = {n: [] for n in range(options.helpers + 1)}
    joins, waits = [], []
    for _ in range(options.turns):
        for n, found in rates.items():
            job = Helped(places, sleep, options, n)
            found.append(job.rate(options.seconds))
            if n == 0:
                joins.append(job.join_time())
            if n == options.helpers:
                waits.append(job.longest_wait(4))
            job.end()
    alone = statistics.median(rates[0])
    for n, found in rates.items():
        print(f"{n} helpers: {told(found)} batches/s, {statistics.median(found) / alone:.2f} times the rank alone")
    print(f"a helper's first row after {told(joins)} s")
    print(f"longest wait for a batch once all were killed: {told(waits)} s; the rank alone takes {1 / alone:.3f} s for one")


class Received:
    """A loader whose rows are images that two helpers make."""

    HELPERS = 2

    def __init__(self, places, image, certificates):
        job = leat.count(10_000_000).map("image@1", image).batch(64)
        access = leat.HelperAccess(lend="items", certificates=f"{certificates}/rank" if certificates else "")
        self.loader = leat.Loader(job, workers=1, workers_at="127.0.0.1:0", helpers=access)
        command = [sys.executable, __file__, "--join", places.next(self.loader), "--sleep", "0"]
        if certificates:
            command += ["--certificates", f"{certificates}/worker"]
        self.helpers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(self.HELPERS)]

    def cost(self, seconds):
        """CPU seconds of this process per gigabyte that came."""
        batches = iter(self.loader)
        while self.loader.stats()["helped"]["helpers"] < self.HELPERS:
            if any(x.poll() is not None for x in self.helpers):
                sys.exit("a helper has ended instead of joining: see what it has printed")
            next(batches)
        for _ in range(40):
            next(batches)
        end = time.perf_counter() + seconds
        before, begin = self.rows(), time.process_time()
        while time.perf_counter() < end:
            next(batches)
        return (time.process_time() - begin) / ((self.rows() - before) * IMAGE.nbytes * 1e-9)

    def rows(self):
        return self.loader.stats()["helped"]["rows_received"]

    def end(self):
        for x in self.helpers:
            x.kill()
            x.wait()
        self.loader.close()


def bare_receiver(binaries):
    """CPU seconds per gigabyte that the receiver takes in one round of the links' benchmark, plain and with TLS."""
    bench = [binaries / "leat-link-bench", "1", "rows of 150 KB"]
    text = subprocess.run(bench, capture_output=True, text=True, check=True).stdout
    return [float(re.search(rf", {way}, who receives +(\S+)", text)[1]) for way in ("bulk connection", "bulk, TLS")]


def normalizing(gigabytes=0.5):
    images = np.broadcast_to(IMAGE, (64, *IMAGE.shape)).copy()
    made = np.empty(images.shape, np.float32)
    times = max(1, int(gigabytes * 1e9 / images.nbytes))
    begin = time.process_time()
    for _ in range(times):
        np.multiply(images, np.float32(1 / 57), out=made)
        np.subtract(made, np.float32(2.1), out=made)
    return (time.process_time() - begin) / (times * images.nbytes * 1e-9)


def cost(options, image):
    places = Places()
    found = {}
    with tempfile.TemporaryDirectory() as certificates:
        leat_command = options.bin / "leat"
        subprocess.run([leat_command, "certs", "init", certificates], check=True, stdout=subprocess.DEVNULL)
        for role in ("rank", "worker"):
            issue = [leat_command, "certs", "issue", certificates, role, "--role", role]
            subprocess.run(issue, check=True, stdout=subprocess.DEVNULL)
        for _ in range(options.turns):
            bare = bare_receiver(options.bin)
            for way, (folder, of_links) in {"plain": ("", bare[0]), "TLS": (certificates, bare[1])}.items():
                job = Received(places, image, folder)
                try:
                    of_rank = job.cost(options.seconds)
                finally:
                    job.end()
                found.setdefault(f"the rank, {way}", []).append(of_rank)
                found.setdefault(f"a bare connection's receiver, {way}", []).append(of_links)
                found.setdefault(f"the rank / the receiver, {way}", []).append(of_rank / of_links)
            found.setdefault("normalizing to float32, apart", []).append(normalizing())
    print(f"CPU s per GB of rows of {IMAGE.nbytes} bytes from {Received.HELPERS} helpers")
    for name, values in found.items():
        print(f"{name}: {told(values)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--helpers", type=int, default=3)
    parser.add_argument("--sleep", type=float, default=10, help="milliseconds that a row takes")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="speed,cost")
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "bin", help="where leat and leat-link-bench are")
    parser.add_argument("--join", help=argparse.SUPPRESS)
    parser.add_argument("--certificates", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - {"speed", "cost"}
    if unknown:
        parser.error(f"--only={options.only}: needed speed, cost or both, separated by a comma")
    sleep, image = register(options.sleep, 0 if options.join else 20)
    if options.join:
        leat.run_worker(options.join, cores=1, certificates=options.certificates)
        return
    os.environ.setdefault("PYTHONPATH", os.pathsep.join(sys.path[1:]))
    if "speed" in options.only.split(","):
        speed(options, sleep)
    if "cost" in options.only.split(","):
        cost(options, image)


if __name__ == "__main__":
    main()
