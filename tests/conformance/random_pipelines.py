#!/usr/bin/env python3
"""Holds `leat` against reference.py on random pipelines in the text form.

Every case writes a pipeline and compares `leat order --pipeline` with the reference, line by line, for several epochs.
Every fourth or so is also run as a job that stops some times in the middle and goes on with another world size and
worker count; its log must be what the reference says, to the hash of each row, and `leat verify` must find it good.

Case i has the seed S + i, so `--seed X --cases 1` repeats a case. A failing one is made as small as it still fails.
"""

import argparse
import io
import itertools
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True  # beside the sources
SKIPPED = 4  # tests/CMakeLists.txt: SKIP_RETURN_CODE
try:
    import reference
    from reference import Node
except ImportError as missing:
    print(f"skipped: {missing}; it is in the package python3-xxhash")
    sys.exit(SKIPPED)

MAX_SAMPLES = 1500
SECONDS = 60  # longest a command may take
FAILURES = 3  # as many are shown
TRIES = 250  # to make a failing case smaller

# ------------------------------------------------------------------------------------------------------- data


def write_shard(path, members):
    with tarfile.open(path, "w") as shard:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            shard.addfile(info, io.BytesIO(content))


def write_file(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


class KnownSource:
    """A call that a pipeline may begin with, the kinds of its fields, its size, and whether it can be read without a
    bad sample."""

    def __init__(self, call, fields, size, regular=True):
        self.call, self.fields, self.size, self.regular = call, fields, size, regular


def tar_source(patterns, fields, size, regular=True):
    return KnownSource(("tar_shards", {"patterns": patterns, "index_dir": "", "allow_torn": False}), fields, size, regular)


def make_data():
    """Writes small data sets into the working directory; the same for every seed."""
    even = {"txt": "bytes", "cls": "bytes"}
    os.mkdir("tar")
    for shard, records in enumerate((5, 0, 7, 1, 11)):
        members = []
        for i in range(records):
            members += [(f"{shard}/{i:03}.txt", b"text" * (i % 3)), (f"{shard}/{i:03}.CLS", b"%d" % (i % 10))]
        write_shard(f"tar/even-{shard}.tar", members)
    # Other than regular: fields that not all records have, one name twice, members to pass over, a name that is not ASCII.
    odd = ["./a.txt", "./a.cls", "b", ".c.txt", "d.txt", "d.txt", "d.seg.png", "e.", "x.y/e.txt", "é.txt", "a.txt"]
    write_shard("tar/odd-0.tar", [(name, name.encode()) for name in odd])
    write_shard("tar/odd-1.tar", [])
    write_shard("tar/odd-2.tar", [(f"{i}.txt", b"") for i in range(6)])
    for path in ("b/1.jpg", "b/2.JPEG", "b/deep/3.jpg", "a/9.jpg", "a/x.txt", ".hidden/1.jpg", "ü/4.jpeg"):
        write_file("folder/" + path, path.encode())
    write_file("raw/numbers.f32", bytes(range(12 * 17)))
    return [
        tar_source(["tar/even-{0..4}.tar"], even, 24),
        tar_source(["tar/even-*.tar"], even, 24),
        tar_source(["tar/even-{4..2}.tar", "tar/even-0.tar"], even, 24),
        tar_source(["tar/even-0.tar"], even, 5),
        tar_source(["tar/even-1.tar"], even, 0),
        tar_source(["tar/odd-{0..2}.tar"], {"txt": "odd"}, 12, regular=False),
        KnownSource(("image_folder", {"directory": "folder"}), {"jpg": "bytes", "cls": "bytes", "class": "bytes"}, 5),
        KnownSource(
            ("raw_records", {"path": "raw/numbers.f32", "type": "f32", "dims": [3]}), {"value": "f32x3"}, 17
        ),
    ]


# ---------------------------------------------------------------------------------------- what a tree is worth


class Invalid(Exception):
    """A pipeline that leat refuses, or that has bad samples."""


class Checker:
    """Fields and sizes of operators. Raises Invalid for what a case must not be."""

    def __init__(self, data):
        self.data = {json.dumps(x.call): x for x in data}

    def source(self, node):
        return self.data[json.dumps([node.op, node.options])]

    def fields(self, node):
        """The kind of each field that an operator's samples have."""
        o, inputs = node.options, [self.fields(x) for x in node.inputs]
        if node.op == "count":
            return {"value": f"u8x{o['bytes']}"}
        if not node.inputs:
            return self.source(node).fields
        if node.op == "zip":
            if sum(map(len, inputs)) != len({name for x in inputs for name in x}):
                raise Invalid("two fields of one name")
            return {name: kind for x in inputs for name, kind in x.items()}
        if node.op == "concat" and any(x != inputs[0] for x in inputs):
            raise Invalid("different fields behind each other")
        if node.op == "enumerate":
            return self.added(inputs[0], o["field"], "int64")
        if node.op == "map" and o["name"] == "rename@1":
            if o["from"] not in inputs[0]:
                raise Invalid("no such field")
            rest = {name: kind for name, kind in inputs[0].items() if name != o["from"]}
            return self.added(rest, o["to"], inputs[0][o["from"]])
        if node.op == "map" or node.op == "batch" and o["fields"]:
            if not set(o["fields"]) <= set(inputs[0]):
                raise Invalid("no such field")
            return {name: inputs[0][name] for name in o["fields"]}
        if node.op == "shuffle" and o["kind"] == "windowed":
            below = node.inputs[0]
            while below.op == "map":
                below = below.inputs[0]
            if below.inputs:
                raise Invalid("a windowed shuffle that is not at a source")
        if node.op == "batch" and o["lanes"] and o["rows"] % o["lanes"]:
            raise Invalid("lanes that do not divide the rows")
        return inputs[0]

    @staticmethod
    def added(fields, name, kind):
        if name in fields:
            raise Invalid("two fields of one name")
        return {**fields, name: kind}

    def size(self, node):
        o, inputs = node.options, [self.size(x) for x in node.inputs]
        if node.op == "count":
            return o["records"]
        if not node.inputs:
            return self.source(node).size
        if node.op == "zip":
            return min(inputs)
        if node.op == "concat":
            return sum(inputs)
        if node.op == "repeat":
            return inputs[0] * o["n"]
        if node.op == "take":
            return min(inputs[0], o["n"])
        if node.op == "skip":
            return max(0, inputs[0] - o["n"])
        return inputs[0]

    def largest(self, node):
        return max(self.size(x) for x in reference.nodes_below(node))

    def regular(self, node):
        """Whether a job of the pipeline has no bad sample."""
        sources = [x for x in reference.sources_below(node) if x.op != "count"]
        return all(self.source(x).regular for x in sources)

    def allows(self, tree):
        try:
            self.fields(tree)
        except Invalid:
            return False
        return self.largest(tree) <= MAX_SAMPLES


# ----------------------------------------------------------------------------------------------- random trees


def rename(old, new, node):
    return Node("map", {"name": "rename@1", "from": old, "to": new}, [node])


def select(names, node):
    return Node("map", {"name": "select@1", "fields": list(names)}, [node])


class Grower:
    """Makes random trees, from the root to the leaves, each for the fields that it is to have."""

    def __init__(self, rng, data):
        self.rng, self.data, self.names = rng, data, (f"f{i}" for i in itertools.count())

    def pipeline(self):
        kinds = self.rng.choice((["u8x8"], ["u8x8"], ["u8x3"], ["bytes"], ["odd"], ["bytes", "bytes"], ["f32x3"],
                                 ["u8x8", "bytes"], ["int64", "bytes"], ["int64", "u8x8", "u8x3"]))  # fmt: skip
        wanted = {}
        for kind in kinds:
            own = {"u8x8": "value", "int64": "index", "odd": "txt"}.get(kind)
            own_name = own and own not in wanted and self.rng.random() < 0.5
            wanted[own if own_name else next(self.names)] = kind
        tree = self.tree(wanted, self.rng.randrange(11))
        rows = self.rng.choice((1, 2, 3, 4, 6, 8, 12, self.rng.randint(1, 20)))
        lanes = self.rng.choice([0] + [x for x in range(1, rows + 1) if rows % x == 0])
        fields = self.rng.sample(list(wanted), len(wanted) - 1) if self.rng.random() < 0.2 else []
        end = self.rng.choice(("drop", "mask"))
        return Node("batch", {"rows": rows, "lanes": lanes, "end": end, "fields": fields}, [tree])

    def number(self):
        """Mostly enough for some batches, now and then for none."""
        return self.rng.randint(0, 3) if self.rng.random() < 0.08 else self.rng.randint(8, 60)

    def tree(self, wanted, budget):
        """A tree of about `budget` operators whose samples have the fields `wanted`: name to kind."""
        if budget <= 0:
            return self.leaf(wanted)
        often = (self.shuffle, self.shuffle, self.take, self.skip, self.repeat, self.concat)
        seldom = (self.zip, self.enumerate, self.rename, self.select)
        return self.rng.choice(often * 2 + seldom)(wanted, budget - 1)

    def split(self, budget, parts):
        """Budgets that sum up to this one."""
        cuts = sorted(self.rng.randint(0, budget) for _ in range(parts - 1))
        return [b - a for a, b in zip([0] + cuts, cuts + [budget])]

    def shuffle(self, wanted, budget):
        return self.shuffled(self.tree(wanted, budget), self.rng.choice(("full", "full", "full", "none")))

    def shuffled(self, node, kind):
        seed = self.rng.choice((0, 1, 7, self.rng.getrandbits(64)))
        return Node("shuffle", {"seed": seed, "kind": kind, "window": self.rng.randint(1, 5)}, [node])

    def take(self, wanted, budget):
        return Node("take", {"n": self.number()}, [self.tree(wanted, budget)])

    def skip(self, wanted, budget):
        n = self.rng.choice((self.rng.randint(0, 5), self.number()))
        return Node("skip", {"n": n}, [self.tree(wanted, budget)])

    def repeat(self, wanted, budget):
        return Node("repeat", {"n": self.rng.randint(1, 4)}, [self.tree(wanted, budget)])

    def concat(self, wanted, budget):
        if self.rng.random() < 0.2:  # one thing twice, perhaps under one name
            return Node("concat", {}, [self.tree(wanted, budget // 2)] * 2)
        return Node("concat", {}, [self.tree(wanted, b) for b in self.split(budget, self.rng.choice((1, 2, 2, 3)))])

    def zip(self, wanted, budget):
        if self.rng.random() < 0.05:
            return Node("zip", {}, [self.tree(wanted, budget)])
        extra = {}
        if len(wanted) == 1 or self.rng.random() < 0.2:
            extra = {next(self.names): self.rng.choice(("u8x8", "bytes", "int64"))}
        items = list({**wanted, **extra}.items())
        self.rng.shuffle(items)
        at = self.rng.randint(1, len(items) - 1)
        budgets = self.split(budget, 2)
        node = Node("zip", {}, [self.tree(dict(items[:at]), budgets[0]), self.tree(dict(items[at:]), budgets[1])])
        return select(wanted, node) if extra else node

    def enumerate(self, wanted, budget):
        field = next((name for name, kind in wanted.items() if kind == "int64"), None)
        if field is None:
            extra = next(self.names)
            return select(wanted, Node("enumerate", {"field": extra}, [self.tree(wanted, budget)]))
        rest = {name: kind for name, kind in wanted.items() if name != field}
        if rest:
            return Node("enumerate", {"field": field}, [self.tree(rest, budget)])
        return self.numbered(field, self.tree({next(self.names): "u8x8"}, budget))

    def numbered(self, field, node):
        return select([field], Node("enumerate", {"field": field}, [node]))

    def rename(self, wanted, budget):
        new = self.rng.choice(list(wanted))
        old = next(self.names)
        return rename(old, new, self.tree({old if name == new else name: kind for name, kind in wanted.items()}, budget))

    def select(self, wanted, budget):
        more = {next(self.names): self.rng.choice(("u8x8", "bytes", "int64"))}
        return select(wanted, self.tree({**wanted, **more}, budget))

    def leaf(self, wanted):
        """Sources, perhaps with a windowed shuffle, and no more of them and of maps than it takes."""
        if len(wanted) > 1 and (set(wanted.values()) != {"bytes"} or len(wanted) > 2):
            items = list(wanted.items())
            return Node("zip", {}, [self.leaf(dict(items[:1])), self.leaf(dict(items[1:]))])
        kind = next(iter(wanted.values()))
        if kind == "int64":
            return self.numbered(next(iter(wanted)), self.windowed(self.count(8)))
        if kind.startswith("u8x"):
            return self.adapted(self.count(int(kind[3:])), {"value": kind}, wanted)
        fit = [x for x in self.data if kind in x.fields.values()]
        source = self.rng.choice(fit)
        return self.adapted(Node(*source.call, []), source.fields, wanted)

    def count(self, record_bytes):
        return Node("count", {"records": self.number(), "bytes": record_bytes}, [])

    def adapted(self, node, fields, wanted):
        """Fields of a source chosen and renamed until they are those wanted, all of which are of one kind."""
        if self.rng.random() < 0.5:
            node = self.windowed(node)
        same = [name for name in wanted if name in fields]
        others = [name for name in fields if name not in same]
        self.rng.shuffle(others)
        pairs = list(zip(others, [name for name in wanted if name not in same]))
        if len(fields) > len(wanted):
            node = select(same + [old for old, _ in pairs], node)
        for old, new in pairs:
            node = rename(old, new, node)
        shuffled = any(x.op == "shuffle" for x in reference.nodes_below(node))
        return node if shuffled else self.windowed(node)

    def windowed(self, node):
        """Now and then shuffles a source, or maps above one, by windows of files."""
        several_files = reference.sources_below(node)[0].op == "tar_shards"
        return self.shuffled(node, "windowed") if self.rng.random() < (0.4 if several_files else 0.1) else node


# --------------------------------------------------------------------------------------------------- as text


def value_text(x):
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, list):
        return "[" + ", ".join(map(value_text, x)) + "]"
    return '"' + x.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(x, str) else str(x)


def argument_texts(node, rng):
    """A call's arguments; with `rng` in one of the many ways to write them."""
    options = dict(node.options)
    first = [value_text(x) for x in options.pop("patterns", [])]
    if node.op == "map":
        first.append(value_text(options.pop("name")))
    in_order = rng.randint(0, len(options)) if rng and node.op not in ("map", "tar_shards") else 0
    by_name = list(options.items())[in_order:]
    if rng:
        rng.shuffle(by_name)
        defaults = reference.OPTIONS[node.op]
        by_name = [(name, x) for name, x in by_name if x != defaults.get(name) or rng.random() < 0.5]
    first += [value_text(x) for x in list(options.values())[:in_order]]
    return first + [f"{name}={value_text(x)}" for name, x in by_name]


def pipeline_text(tree, style):
    """The text form. `style` is a seed for names, comments and line breaks; None: plain."""
    rng = random.Random(style) if style is not None else None
    lines, named = [], {}

    def expression(node):
        if id(node) in named:
            return named[id(node)]
        inputs = [expression(x) for x in node.inputs]
        joins = node.op in ("zip", "concat")
        arguments = (inputs if joins else []) + argument_texts(node, rng)
        text = f"{node.op}({', '.join(arguments)}{',' if rng and arguments and rng.random() < 0.1 else ''})"
        if inputs and not joins:
            text = inputs[0] + (rng.choice((".", "\n  .", " . ")) if rng else ".") + text
        if rng and node is not tree and rng.random() < 0.15:
            named[id(node)] = f"name_{len(named)}"
            lines.append(f"{named[id(node)]} = {text} # a name, (with. a \"comment\"")
            return named[id(node)]
        return text

    root = expression(tree)
    return "\n".join(lines + [root]) + "\n"


# ----------------------------------------------------------------------------------------------------- a case


class Case:
    """A pipeline, how it is written, the epochs to compare, and the job to run; `job` is None for the order alone."""

    def __init__(self, tree, style, epochs, job):
        self.tree, self.style, self.epochs, self.job = tree, style, epochs, job

    def text(self):
        return pipeline_text(self.tree, self.style)

    def but(self, **changes):
        return Case(**{**vars(self), **changes})


class Failure:
    """What is wrong. `kind` is the same for what is likely the same fault."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text


def random_case(seed, data, checker):
    rng = random.Random(seed)
    while True:
        tree = Grower(rng, data).pipeline()
        if checker.allows(tree):
            break
    job = None
    if rng.random() < 0.25 and checker.regular(tree):
        parts = [
            {"stop": stop, "world": rng.choice((1, 2, 3, 4, 6, 8)), "workers": rng.randint(0, 3),
             "dispatch": rng.choice(("on_demand", "round_robin", "by_lane"))}
            for stop in sorted(rng.random() for _ in range(rng.randint(1, 4)))
        ]  # fmt: skip
        parts[-1]["stop"] = 1
        job = {"epochs": rng.randint(1, 3), "parts": parts}
    return Case(tree, rng.getrandbits(32), [0, 1, rng.getrandbits(rng.choice((3, 40, 63)))], job)


class Judge:
    """Runs the command on cases."""

    def __init__(self, command):
        self.command = command

    def leat(self, *arguments):
        return subprocess.run([self.command, *map(str, arguments)], capture_output=True, timeout=SECONDS)

    def failure_of(self, case):
        """None where all is well."""
        write_file("./case.leat", case.text().encode())
        pipeline = reference.Pipeline(case.text())
        try:
            for epoch in case.epochs:
                failure = self.compare_order(pipeline, epoch)
                if failure:
                    return failure
            return self.run_job(pipeline, case.job) if case.job else None
        except subprocess.TimeoutExpired as late:
            return Failure("hang", f"{' '.join(late.cmd)} took more than {SECONDS} s")

    def compare_order(self, pipeline, epoch):
        done = self.leat("order", "--pipeline", "case.leat", "--epoch", epoch)
        expected = [reference.to_text(x) for x in pipeline.lines(epoch)]
        if done.returncode != (0 if expected else 1):
            return Failure(f"order: exit code {done.returncode}", f"epoch {epoch}: {done.stderr.decode()}")
        if not expected and not (done.stderr.startswith(b"leat order: ") and done.stderr.count(b"\n") == 1):
            return Failure("order: not one line of error", done.stderr.decode())
        return difference(f"order of epoch {epoch}", expected, done.stdout.decode().splitlines())

    def run_job(self, pipeline, job):
        epochs = [pipeline.lines(epoch, pixels=True) for epoch in range(job["epochs"])]
        steps = sum(map(len, epochs))
        if steps == 0:
            return None
        for attempt in ("job.log", "job.log.bad"):
            if os.path.exists(attempt):
                os.remove(attempt)
        with tempfile.TemporaryDirectory(dir=".") as snapshots:
            for i, part in enumerate(job["parts"]):
                more = ["--steps", 1 + int(part["stop"] * (steps - 1))] + (["--resume"] if i else [])
                done = self.leat(
                    "run", "--pipeline", "case.leat", "--epochs", job["epochs"], "--world-size", part["world"],
                    "--workers", part["workers"], "--dispatch", part["dispatch"], "--log", "job.log",
                    "--snapshot-dir", snapshots, "--snapshot-every", 3, *more)  # fmt: skip
                if done.returncode != 0:
                    return Failure(f"run: exit code {done.returncode}", f"{part} {more}: {done.stderr.decode()}")
        return self.check_log(epochs)

    def check_log(self, epochs):
        """The rows of the log, ranks put together, and what `leat verify` says of it."""
        if not os.path.exists("job.log"):
            return Failure("no log", "the job wrote no log")
        with open("job.log", encoding="utf-8") as log:
            got = [json.loads(line) for line in log]
        steps = {}
        for line in got:
            if "step" in line:
                rows = zip(line["positions"], line["ids"], line["pixels"])
                steps.setdefault((line["epoch"], line["step"]), []).extend(rows)
        expected = {
            (line["epoch"], line["step"]): list(zip(line["positions"], line["ids"], line["pixels"]))
            for lines in epochs for line in lines
        }  # fmt: skip
        failure = difference("rows of the log", as_texts(expected), as_texts(steps))
        if failure:
            return failure
        order = "".join(reference.to_text(without_pixels(x)) + "\n" for lines in epochs for x in lines)
        write_file("./order.json", order.encode())
        done = self.leat("verify", "order.json", "job.log")
        return None if done.returncode == 0 else Failure("verify", done.stdout.decode() + done.stderr.decode())


def as_texts(steps):
    return [f"epoch {epoch} step {step}: {sorted(rows)}" for (epoch, step), rows in sorted(steps.items())]


def without_pixels(line):
    return {name: x for name, x in line.items() if name != "pixels"}


def difference(what, expected, got):
    """The first line that differs."""
    for i, (want, have) in enumerate(itertools.zip_longest(expected, got)):
        if want != have:
            return Failure(what.split()[0], f"{what}, line {i}:\n  reference: {want}\n  leat:      {have}")
    return None


# ------------------------------------------------------------------------------------------------ made smaller


def smaller_values(name, value):
    if name in ("records", "n", "bytes", "rows", "lanes", "window", "seed") and isinstance(value, int):
        least = 1 if name in ("bytes", "rows", "window") else 0
        return [x for x in dict.fromkeys((least, 1, value // 2, value - 1)) if least <= x < value]
    simple = {"kind": "full", "end": "drop", "fields": []}
    return [simple[name]] if name in simple and value != simple[name] else []


def smaller_trees(node):
    """Trees with an operator or an input less, or a smaller number."""
    if node.op != "batch":
        yield from node.inputs
    for i, child in enumerate(node.inputs):
        others = node.inputs[:i] + node.inputs[i + 1 :]
        if len(others) > 1:
            yield Node(node.op, node.options, others)
        for x in smaller_trees(child):
            yield Node(node.op, node.options, node.inputs[:i] + [x] + node.inputs[i + 1 :])
    if not node.inputs and node.op != "count":
        yield Node("count", {"records": 5, "bytes": 8}, [])
    for name, value in node.options.items():
        for x in smaller_values(name, value):
            if (node.op, name, x) not in (("repeat", "n", 0), ("map", "fields", [])):
                yield Node(node.op, {**node.options, name: x}, node.inputs)


def smaller_cases(case):
    if case.style is not None:
        yield case.but(style=None)
    if case.job:
        yield case.but(job=None)
        parts = case.job["parts"]
        for i, part in enumerate(parts):
            plain = {"stop": part["stop"], "world": 1, "workers": 0, "dispatch": "on_demand"}
            if i + 1 < len(parts):
                yield case.but(job={**case.job, "parts": parts[:i] + parts[i + 1 :]})
            if part != plain:
                yield case.but(job={**case.job, "parts": parts[:i] + [plain] + parts[i + 1 :]})
        if case.job["epochs"] > 1:
            yield case.but(job={**case.job, "epochs": 1})
    for epoch in case.epochs if len(case.epochs) > 1 else []:
        yield case.but(epochs=[epoch])
    for tree in smaller_trees(case.tree):
        yield case.but(tree=tree)


def shrink(case, failure, judge, checker):
    """The smallest case that is found to fail in the same way, and how."""
    tries, going = 0, True
    while going:
        going = False
        for x in smaller_cases(case):
            if not checker.allows(x.tree) or x.job and not checker.regular(x.tree):
                continue
            tries += 1
            if tries > TRIES:
                break
            other = judge.failure_of(x)
            if other and other.kind == failure.kind:
                case, failure, going = x, other, True
                break
    return case, failure


# ----------------------------------------------------------------------------------------------------- command


def show(seed, case, failure, judge, checker):
    print(f"FAILED: seed {seed}\n{case.text()}{failure.text}\n")
    small, failure = shrink(case, failure, judge, checker)
    print(f"made smaller:\n{small.text()}job: {small.job}\n{failure.text}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default="leat", help="the command to judge")
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
        case = random_case(seed, data, checker)
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
