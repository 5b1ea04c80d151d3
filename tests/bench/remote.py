#!/usr/bin/env python3
"""What reading from a server costs, beside a bare loop of libcurl, files and other clients: ratios within a turn, as medians with their spread.

remote.py [--scenario NAME]... [--turns N] [--build DIR] [--python FILE]

Scenarios: streams, records, photographs, tables, stalls, faults, cache, processes, memory, first, others. Without any, all of them. The
server is leat-http-server on loopback, or nginx for `streams` and `records` (--nginx). --python names an interpreter that has other clients
(boto3, pyarrow, webdataset, s3torchconnector, mosaicml-streaming; leat with pyarrow for `tables`): what it lacks is skipped, by name. The data, about 1.5 GB, are
written to a folder that is removed again (--scratch names the disk).
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = 110_000  # bytes
SHARDS = 8
MIB = 1 << 20
ROUND_TRIP = 30  # ms


class Run:
    """A program that has ended: what it printed as JSON, and what it took."""

    def __init__(self, told, cpu_seconds, anonymous):
        self.told, self.cpu_seconds, self.anonymous = told, cpu_seconds, anonymous

    @property
    def seconds(self):
        return self.told["seconds"]

    @property
    def samples_per_second(self):
        return self.told["samples"] / self.seconds


class Server:
    """The data over HTTP, and as buckets of S3, on loopback."""

    def __init__(self, bench, **how):
        words = [y for name, x in how.items() for y in (f"--{name}", str(x))]
        self.process = subprocess.Popen(
            [bench.program("leat-http-server"), bench.root, *words], stdout=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()

    def url(self, name):
        return f"{self.address}/data/{name}"

    def counts(self):
        """Requests and bytes since the last time."""
        found = subprocess.run(["curl", "--silent", f"{self.address}/-/counts"], capture_output=True, check=True)
        return json.loads(found.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Nginx(Server):
    """The same without counts."""

    def __init__(self, bench):
        self.address = "http://127.0.0.1:18479"
        conf = f"""
daemon off; worker_processes 1; pid {bench.root}/nginx.pid; error_log {bench.root}/nginx.log;
{"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 2048; }}
http {{
  access_log off; sendfile on; tcp_nopush off; keepalive_requests 10000000;
  client_body_temp_path {bench.root}/n1; proxy_temp_path {bench.root}/n2; fastcgi_temp_path {bench.root}/n3;
  uwsgi_temp_path {bench.root}/n4; scgi_temp_path {bench.root}/n5;
  server {{ listen 127.0.0.1:18479; root {bench.root}; }}
}}
"""
        place = Path(bench.root, "nginx.conf")
        place.write_text(conf)
        self.process = subprocess.Popen([bench.options.nginx, "-c", str(place)])
        while subprocess.run(["curl", "--silent", "--output", os.devnull, self.address], check=False).returncode:
            time.sleep(0.05)

    def counts(self):
        return {"requests": 0, "bytes": 0}

    def __exit__(self, *_):
        self.process.terminate()  # it ends its workers
        self.process.wait()


class Bench:
    def __init__(self, options, root):
        self.options, self.root, self.data = options, root, os.path.join(root, "data")
        os.mkdir(self.data)
        self.environment = {x: y for x, y in os.environ.items() if not x.startswith(("AWS_", "LEAT_"))}
        self.environment |= {
            "no_proxy": "127.0.0.1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "XDG_CACHE_HOME": os.path.join(root, "index"),
        }
        self.made = set()

    def program(self, name):
        return os.path.join(self.options.build, "bin", name)

    # ---------------------------------------------------------------------------------------------------- data

    def once(self, name, make):
        if name not in self.made:
            make()
            self.made.add(name)

    def raw(self):
        """Records of random bytes. Returns the file's name."""

        def make():
            with open(os.path.join(self.data, "x.raw"), "wb") as out:
                for _ in range(self.options.records):
                    out.write(os.urandom(RECORD))

        self.once("raw", make)
        return "x.raw"

    def shards(self):
        """The names of tar shards of as many records."""

        def make():
            for shard in range(SHARDS):
                with tarfile.open(os.path.join(self.data, f"s{shard}.tar"), "w") as out:
                    for i in range(self.options.records // SHARDS):
                        member = tarfile.TarInfo(f"{i:06}.bin")
                        member.size = RECORD
                        out.addfile(member, BytesIO(os.urandom(RECORD)))

        self.once("shards", make)
        return [f"s{x}.tar" for x in range(SHARDS)]

    def photos(self):
        """The names of shards of photographs, and how many bytes one has."""

        place = os.path.join(self.data, "photos")

        def make():
            words = [place, "--samples", str(self.options.photos), "--shards", "6"]
            subprocess.run([self.program("leat"), "make-data", *words], check=True, stdout=subprocess.DEVNULL)

        self.once("photos", make)
        names = [f"photos/{x}" for x in sorted(os.listdir(place)) if x.endswith(".tar")]
        return names, sum(map(os.path.getsize, self.near(names))) / self.options.photos

    def near(self, names):
        return [os.path.join(self.data, x) for x in names]

    # -------------------------------------------------------------------------------------------------- programs

    def run(self, *words, stdin="", watch=False):
        """`watch`: finds out how much memory of its own it has at most."""
        with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as printed:
            given.write(stdin)
            given.seek(0)
            process = subprocess.Popen([str(x) for x in words], stdin=given, stdout=printed, env=self.environment)
            anonymous = 0
            while watch and process.poll() is None:
                anonymous = max(anonymous, anonymous_bytes(process.pid))
                time.sleep(0.01)
            _, status, used = (0, process.returncode, None) if watch else os.wait4(process.pid, 0)
            process.returncode = status
            if status != 0:
                sys.exit(f"failed: {' '.join(map(str, words))}")
            printed.seek(0)
            return Run(json.loads(printed.read()), used.ru_utime + used.ru_stime if used else 0, anonymous)

    def leat(self, *words, workers=None, watch=False):
        return self.run(
            self.program("leat"), "run", *words, "--json", "--workers", workers or self.options.workers, watch=watch
        )

    def text(self, text, *words, watch=False):
        """A job of a pipeline."""
        place = Path(self.root, "job.leat")
        place.write_text(text)
        return self.leat("--pipeline", place, *words, watch=watch)

    def records(self, place, *words, watch=False):
        """All records in random order, in batches."""
        text = f'raw_records("{place}", dtype="u8", shape=[{RECORD}]).shuffle(seed=3).batch(20)'
        return self.text(text, *words, watch=watch)

    def bare(self, ranges, in_flight):
        return self.run(self.program("leat-bare-http"), in_flight, stdin="".join(f"{url} {a} {b}\n" for url, a, b in ranges))

    def other(self, *words, stdin=""):
        return self.run(self.options.python, HERE / "http/others.py", *words, stdin=stdin)

    def call(self, *words, check=True):
        return subprocess.run([str(x) for x in (self.options.python, HERE / "http/others.py", *words)], check=check).returncode

    def has(self, client):
        is_there = self.call("check", client, check=False) == 0
        if not is_there:
            print(f"  skipped: {self.options.python} has no {client}")
        return is_there

    def fast_server(self):
        return Nginx(self) if self.options.nginx else Server(self)

    def turns(self, **measures):
        """What each of these returned, in turns."""
        found = {name: [] for name in measures}
        for _ in range(self.options.turns):
            for name, measure in measures.items():
                found[name].append(measure())
        return found


def anonymous_bytes(pid):
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return 1024 * int(line.split()[1])
    return 0


def say(what, values, unit="", least=None, most=None):
    """A line; a median beyond its goal is marked."""
    middle = statistics.median(values)
    goal = "" if least is None and most is None else f"; goal {'>= ' + str(least) if least is not None else '<= ' + str(most)}"
    if (least is not None and middle < least) or (most is not None and middle > most):
        goal += ", MISSED"
    print(f"  {what}: {middle:.3f}{unit} ({min(values):.3f} to {max(values):.3f}){goal}", flush=True)


def ratios(ours, theirs, of=lambda x: 1 / x.seconds):
    """Of what was measured in the same turn."""
    return [of(x) / of(y) for x, y in zip(ours, theirs)]


def per_mb(run, size):
    return 1000 * run.cpu_seconds / (size / 1e6)


def say_beside_bare(found, size):
    """`found`: of leat, and of bare loops with several requests in flight."""
    bare = [min(x, key=lambda y: y.seconds) for x in zip(*(y for name, y in found.items() if name.startswith("bare")))]
    say("leat, in bare loops", ratios(found["leat"], bare), least=0.9)
    for name, runs in found.items():
        say(name, [size / 1e6 / x.seconds for x in runs], " MB/s")
        say(f"{name}, CPU", [per_mb(x, size) for x in runs], " ms per MB")


# ----------------------------------------------------------------------------------------------------------- scenarios


def streams(bench):
    """Tar shards in sequence; the bare loop takes them in MiBs."""
    names = bench.shards()
    size = sum(map(os.path.getsize, bench.near(names)))
    with bench.fast_server() as server:
        ends = {server.url(x): os.path.getsize(os.path.join(bench.data, x)) for x in names}
        ranges = [(url, a, min(a + MIB, end)) for url, end in ends.items() for a in range(0, end, MIB)]
        text = f'tar_stream("{server.url(f"s{{0..{SHARDS - 1}}}.tar")}").batch(32, lanes={SHARDS}, end="mask")'
        found = bench.turns(
            leat=lambda: bench.text(text), bare_8=lambda: bench.bare(ranges, 8), bare_16=lambda: bench.bare(ranges, 16)
        )
    say_beside_bare(found, size)


def records(bench):
    """Records of 110 KB at random."""
    name, size = bench.raw(), bench.options.records * RECORD
    order = random.Random(1).sample(range(bench.options.records), bench.options.records)
    few = order[: bench.options.records // 4]  # for clients with one request in flight
    others = [x for x in ("boto3", "boto3_16", "pyarrow") if bench.has(x)]
    with bench.fast_server() as server:
        ranges = [(server.url(name), i * RECORD, (i + 1) * RECORD) for i in order]
        measures = {"leat": lambda: bench.records(server.url(name))}
        measures |= {f"bare_{n}": lambda n=n: bench.bare(ranges, n) for n in (16, 64)}
        for client in others:
            where = ("records", client, server.address, "data", name, RECORD)
            measures[client] = lambda where=where: bench.other(*where, stdin=" ".join(map(str, few)))
        found = bench.turns(**measures)
    say_beside_bare({x: y for x, y in found.items() if x not in others}, size)
    for client in others:
        rate = [x.told["bytes"] / x.seconds for x in found[client]]
        say(
            f"leat, in {client}",
            [size / x.seconds / y for x, y in zip(found["leat"], rate)],
            least=3 if client == "boto3" else None,
        )


def photographs(bench):
    """A trainer of 500 images/s, over a link of 30 ms and 1.5 times what it needs, beside files."""
    names, size = bench.photos()
    rate = 1.5 * bench.options.trainer * size
    rows = max(1, bench.options.trainer // 10)
    words = ["--transform", "train224", "--global-batch", rows, "--step-time", 1000 * rows // bench.options.trainer]
    with Server(bench, delay=ROUND_TRIP, rate=int(rate)) as server:
        far = [server.url(x) for x in names]
        bench.leat(*far, *words, "--steps", 1)  # makes indexes
        bench.leat(*bench.near(names), *words, "--steps", 1)
        found = bench.turns(near=lambda: bench.leat(*bench.near(names), *words), far=lambda: bench.leat(*far, *words))
    print(f"  {size / 1000:.0f} KB per photograph, {rate / 1e6:.0f} MB/s")
    say("images/s, in those of files", ratios(found["far"], found["near"], lambda x: x.samples_per_second), least=0.95)
    for name, runs in found.items():
        say(f"images/s, {name}", [x.samples_per_second for x in runs])


def tables(bench):
    """Row groups of a MB in a windowed order, over a link of 30 ms, beside files."""
    if not (bench.has("leat") and bench.has("pyarrow")):
        return
    name, near = "x.parquet", os.path.join(bench.data, "x.parquet")
    bench.once("tables", lambda: bench.call("write", "tables", near))
    with Server(bench, delay=ROUND_TRIP) as server:
        found = bench.turns(
            **{x: lambda y=y: bench.other("tables", "leat", y) for x, y in (("near", near), ("far", server.url(name)))}
        )
    say("rate, in that of files", ratios(found["far"], found["near"]))
    for which, runs in found.items():
        say(which, [x.told["bytes"] / 1e6 / x.seconds for x in runs], " MB/s")


def stalls(bench):
    """Every 50th request stalls for 5 s."""
    name = bench.raw()
    with Server(bench) as server, Server(bench, stall="50:5000") as stalling:

        def measure(at):
            at.counts()
            run = bench.records(at.url(name))
            return run, at.counts()["requests"]

        found = bench.turns(plain=lambda: measure(server), stalled=lambda: measure(stalling))
    pairs = list(zip(found["stalled"], found["plain"]))
    say("rate, in that without stalls", [y.seconds / x.seconds for (x, _), (y, _) in pairs], least=0.5)
    say("requests, in those without", [x / y for (_, x), (_, y) in pairs], most=1.05)


def faults(bench):
    """5% of requests answered 503, 2% cut half way, 1% of ranges shifted, over a link of 30 ms: the rate, and the same batches."""
    name = bench.raw()
    failed, cut, shifted = 0.05, 0.02, 0.01
    left = 1 - failed - cut / 2 - shifted
    link = {"delay": ROUND_TRIP, "rate": 83_000_000}
    with Server(bench, **link) as server, Server(bench, **link, faults="5:2:1") as faulty:
        found = bench.turns(plain=lambda: bench.records(server.url(name)), faulty=lambda: bench.records(faulty.url(name)))
    if len({x.told["digest"] for runs in found.values() for x in runs}) != 1:
        sys.exit("failed: other batches under faults")
    say(
        "rate, in what the faults leave of that without", [x / left for x in ratios(found["faulty"], found["plain"])], least=0.8
    )


def cache(bench):
    """A cache that holds all, beside files; photographs with the training transform, and records as they are, for two epochs and six."""
    names, _ = bench.photos()
    name = bench.raw()
    with Server(bench) as server:
        far = [server.url(x) for x in names]
        words = ["--cache", os.path.join(bench.root, "cache")]

        def photographs(at, *more):
            return bench.leat(*(far if at else bench.near(names)), "--transform", "train224", *more)

        def records(at, *more):
            return bench.records(server.url(name) if at else bench.near([name])[0], *more)

        for read, objects, epochs in ((photographs, len(names), 2), (records, 1, 2), (records, 1, 6)):
            read(True, *words)
            server.counts()
            asked = []

            def cached(read=read, epochs=epochs, asked=asked):
                run = read(True, *words, "--epochs", epochs)
                asked.append(server.counts()["requests"])
                return run

            found = bench.turns(near=lambda read=read, epochs=epochs: read(False, "--epochs", epochs), cached=cached)
            kind = f"{read.__name__}, {epochs} epochs"
            say(f"{kind}: rate, in that of files", ratios(found["cached"], found["near"]), least=0.9)
            say(f"{kind}: requests beyond one per object", [max(0, x - objects) for x in asked], most=0)
    shutil.rmtree(os.path.join(bench.root, "cache"))


def processes(bench):
    """Eight jobs at a time on one cache that is empty."""
    name, found = bench.raw(), []
    text = Path(bench.root, "shared.leat")
    with Server(bench) as server:
        text.write_text(f'raw_records("{server.url(name)}", dtype="u8", shape=[{RECORD}]).shuffle(seed=3).batch(20)')
        for _ in range(bench.options.turns):
            place = os.path.join(bench.root, "cache")
            words = [bench.program("leat"), "run", "--pipeline", text, "--workers", "1", "--cache", place]
            server.counts()
            jobs = [
                subprocess.Popen(words, env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for _ in range(8)
            ]
            if any(x.wait() for x in jobs):
                sys.exit("failed: a job of eight on one cache")
            found.append(server.counts()["bytes"] / (bench.options.records * RECORD))
            shutil.rmtree(place)
    say("bytes fetched, in those of the data", found, most=1.02)


def memory(bench):
    """Memory of its own (RssAnon) at most, beyond that of the same job over files and the budget."""
    name, budget = bench.raw(), 64 * MIB
    with Server(bench) as server:
        found = bench.turns(
            near=lambda: bench.records(bench.near([name])[0], watch=True),
            far=lambda: bench.records(server.url(name), "--remote-bytes", budget, watch=True),
        )
    for which, runs in found.items():
        say(which, [x.anonymous / MIB for x in runs], " MiB")
    beyond = [(x.anonymous - y.anonymous - budget) / MIB for x, y in zip(found["far"], found["near"])]
    say("beyond files and a budget of 64 MiB", beyond, " MiB", most=16e6 / MIB)


def first(bench):
    """The first batch, with indexes that are there, in round trips."""
    names, _ = bench.photos()
    words = ["--transform", "none", "--global-batch", 32, "--steps", 1]
    with Server(bench, delay=ROUND_TRIP) as server:
        far = [server.url(x) for x in names]
        bench.leat(*far, *words)  # makes indexes
        bench.leat(*bench.near(names), *words)
        found = bench.turns(near=lambda: bench.leat(*bench.near(names), *words), far=lambda: bench.leat(*far, *words))
    times = {name: [1000 * x.told["first_batch_seconds"] for x in runs] for name, runs in found.items()}
    say("round trips more than files", [(x - y) / ROUND_TRIP for x, y in zip(times["far"], times["near"])], most=4)
    for name, found_times in times.items():
        say(f"first batch, {name}", found_times, " ms")


def others(bench):
    """Samples per second, and requests, of clients that read the same shards."""
    names = bench.shards()
    clients = [x for x in ("boto3", "webdataset", "s3torchconnector", "mosaicml") if bench.has(x)]
    if "mosaicml" in clients:
        bench.call("write", "mosaicml", os.path.join(bench.data, "mds"), *bench.near(names))
    with Server(bench) as server:

        def counted(measure):
            server.counts()
            return measure(), server.counts()["requests"]

        text = f'tar_stream("{server.url(f"s{{0..{SHARDS - 1}}}.tar")}").batch(32, lanes={SHARDS}, end="mask")'
        measures = {"leat": lambda: counted(lambda: bench.text(text))}
        for client in clients:
            keys = ["mds"] if client == "mosaicml" else names
            where = ("samples", client, server.address, "data", *keys)
            measures[client] = lambda where=where: counted(lambda: bench.other(*where))
        found = bench.turns(**measures)
    for name, runs in found.items():
        say(f"{name}, samples/s", [x.samples_per_second for x, _ in runs])
        say(f"{name}, requests", [x for _, x in runs])
        if name != "leat":
            say(
                f"leat, in {name}", [x.samples_per_second / y.samples_per_second for (x, _), (y, _) in zip(found["leat"], runs)]
            )


SCENARIOS = {
    x.__name__: x for x in (streams, records, photographs, tables, stalls, faults, cache, processes, memory, first, others)
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", action="append", choices=SCENARIOS)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--build", default=HERE.parent.parent / "build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--nginx", default=None, metavar="FILE", help="nginx's program, for streams and records")
    parser.add_argument("--scratch", help="where to write")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--records", type=int, default=6000, help="records of 110 KB, in each of the two forms")
    parser.add_argument("--photos", type=int, default=3000)
    parser.add_argument("--trainer", type=int, default=500, help="images per second that the trainer takes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as root:
        bench = Bench(options, root)
        for name in options.scenario or SCENARIOS:
            print(f"{name}: {SCENARIOS[name].__doc__}", flush=True)
            SCENARIOS[name](bench)


if __name__ == "__main__":
    main()
