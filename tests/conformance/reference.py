#!/usr/bin/env python3
"""What a pipeline in leat's text form means: the global batches of an epoch, as simply as possible.

Written from docs/pipelines.md, docs/order.md and docs/digest.md alone; it shares nothing with leat. Every operator makes
the list of its whole epoch from the lists of its inputs. Prints the lines of `leat order --pipeline FILE`. Pipelines
with mistakes get Python's errors, not leat's.
"""

import argparse
import glob
import json
import os
import re
import struct
import sys
import tarfile

import xxhash

MASK = 2**64 - 1


# ------------------------------------------------------------------------------------------------- the text form


class Node:
    """An operator: its options, and the nodes that it works on."""

    def __init__(self, op, options, inputs):
        self.op, self.options, self.inputs = op, options, inputs


# The options of every call, in order, with their defaults; None: must be given.
OPTIONS = {
    "tar_shards": {"patterns": None, "index_dir": "", "allow_torn": False},
    "image_folder": {"directory": None},
    "count": {"records": None, "bytes": 8},
    "raw_records": {"path": None, "type": None, "dims": None},
    "shuffle": {"seed": 0, "kind": "full", "window": 4},
    "map": {"name": None},
    "take": {"n": None},
    "skip": {"n": None},
    "repeat": {"n": None},
    "enumerate": {"field": "index"},
    "zip": {},
    "concat": {},
    "batch": {"rows": None, "lanes": 0, "end": "drop", "fields": []},
}

TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<sign>[()\[\],.=])""",
    re.VERBOSE,
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def tokens(text):
    """(kind, text) of all words, numbers, texts and signs; ("end", "") comes last."""
    result, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise SyntaxError(f"what is this: {text[at:at + 20]!r}")
        if match.lastgroup != "space":
            result.append((match.lastgroup, match.group()))
        at = match.end()
    return result + [("end", "")]


def unescape(quoted):
    """The text between the quotes. Bytes that are not UTF-8 become lone surrogates, as in Python's file names."""
    text = b""
    for escape, plain in re.findall(r"\\(x..|.)|([^\\]+)", quoted[1:-1], re.DOTALL):
        if escape.startswith("x"):
            text += bytes([int(escape[1:], 16)])
        else:
            text += (ESCAPES[escape] if escape else plain).encode("utf-8", "surrogateescape")
    return text.decode("utf-8", "surrogateescape")


class Parser:
    """Recursive descent: a method a rule of the grammar."""

    def __init__(self, text):
        self.tokens, self.at, self.named = tokens(text), 0, {}

    def kind(self):
        return self.tokens[self.at][0]

    def next_is(self, sign, ahead=0):
        return self.tokens[self.at + ahead][1] == sign and self.tokens[self.at + ahead][0] == "sign"

    def take(self, expected=None):
        kind, text = self.tokens[self.at]
        if kind == "end" or expected is not None and text != expected:
            raise SyntaxError(f"got {text!r}, needed {expected!r}")
        self.at += 1
        return text

    def pipeline(self):
        while self.next_is("=", ahead=1):
            name = self.take()
            self.take("=")
            self.named[name] = self.expression()
        root = self.expression()
        if self.kind() != "end":
            raise SyntaxError(f"got {self.take()!r} behind the pipeline")
        return root

    def expression(self):
        if self.next_is("(", ahead=1):
            node = self.call([])
        else:
            node = self.named[self.take()]
        while self.next_is("."):
            self.take(".")
            node = self.call([node])
        return node

    def call(self, inputs):
        op = self.take()
        values, by_name, more_inputs = [], {}, []
        self.take("(")
        while not self.next_is(")"):
            if self.next_is("=", ahead=1):
                name = self.take()
                self.take("=")
                by_name[name] = self.value()
            elif self.kind() == "word" and self.tokens[self.at][1] not in ("true", "false"):
                more_inputs.append(self.expression())
            else:
                values.append(self.value())
            if not self.next_is(")"):
                self.take(",")
        self.take(")")
        return make_node(op, values, by_name, inputs + more_inputs)

    def value(self):
        kind, text = self.kind(), self.take()
        if kind == "text":
            return unescape(text)
        if kind == "number":
            return int(text) if text.isdigit() else float(text)
        if kind == "word":
            return {"true": True, "false": False}[text]
        if text != "[":
            raise SyntaxError(f"got {text!r}, needed a value")
        items = []
        while not self.next_is("]"):
            items.append(self.value())
            if not self.next_is("]"):
                self.take(",")
        self.take("]")
        return items


def make_node(op, values, by_name, inputs):
    if op == "tar_shards":
        values = [values]
    defaults = OPTIONS[op]
    options = {**defaults, **dict(zip(defaults, values)), **by_name}
    return Node(op, options, inputs)


def parse(text):
    """The root of the pipeline."""
    return Parser(text).pipeline()


# ------------------------------------------------------------------------------------------------------- hashes


def number_bytes(x):
    return struct.pack("<Q", x & MASK)


def text_bytes(text):
    """Length and bytes, as texts enter hashes."""
    raw = text.encode("utf-8", "surrogateescape")
    return number_bytes(len(raw)) + raw


def hash128(data):
    return xxhash.xxh3_128_intdigest(data)


def id_text(name):
    """A file's name in an id: bytes that are not UTF-8, and a backslash before an x, as \\xHH."""
    text = name.replace("\\x", "\\x5Cx")
    return re.sub("[\udc80-\udcff]", lambda byte: "\\x%02X" % (ord(byte.group()) - 0xDC00), text)


# ------------------------------------------------------------------------------------------------------ sources


class Source:
    """Records, each an id and its fields as bytes; records of every stored file; data digest."""

    def __init__(self, records, records_per_file, digest):
        self.records, self.records_per_file, self.digest = records, records_per_file, digest


def open_count(o):
    def value(i):
        return (number_bytes(i) * (o["bytes"] // 8 + 1))[: o["bytes"]]

    records = [(f"count/{i}", {"value": value(i)}) for i in range(o["records"])]
    return Source(records, [len(records)], hash128(text_bytes("count") + number_bytes(len(records))))


def open_raw_records(o):
    size = int(re.sub(r"\D", "", o["type"])) // 8
    for extent in o["dims"]:
        size *= extent
    data, name = read_file(o["path"]), os.path.basename(o["path"])
    count = len(data) // size
    records = [(f"{name}/{i}", {"value": data[i * size : (i + 1) * size]}) for i in range(count)]
    digest = hash128(text_bytes(name) + number_bytes(len(data)) + number_bytes(count))
    return Source(records, [count], digest)


def open_image_folder(o):
    top = o["directory"].rstrip("/") or "/"
    classes = sorted((x for x in os.listdir(top) if is_class(top, x)), key=os.fsencode)
    images = []
    for number, name in enumerate(classes):
        for folder, _, files in os.walk(os.path.join(top, name)):
            paths = [os.path.join(folder, x) for x in files if x.lower().endswith((".jpg", ".jpeg"))]
            images += [(os.path.relpath(x, top), number, name) for x in paths]
    images.sort(key=lambda image: os.fsencode(image[0]))
    records, facts = [], b""
    for path, number, name in images:
        data = read_file(os.path.join(top, path))
        fields = {"jpg": data, "cls": str(number).encode(), "class": os.fsencode(name)}
        records.append((id_text(path), fields))
        facts += text_bytes(path) + number_bytes(len(data))
    return Source(records, [len(records)], hash128(facts))


def is_class(top, name):
    return not name.startswith(".") and os.path.isdir(os.path.join(top, name))


def open_tar_shards(o):
    paths = []
    for pattern in o["patterns"]:
        for name in expand_braces(pattern):
            found = [name]
            if not os.path.isfile(name):
                found = [x for x in glob.glob(name) if os.path.isfile(x) and not x.endswith(".leat-index")]
            paths += [os.path.abspath(x) for x in sorted(found, key=os.fsencode)]
    directory = os.path.dirname(paths[0]) if len(paths) == 1 else os.path.commonpath(paths)
    records, records_per_file, facts = [], [], b""
    for path in paths:
        name = os.path.relpath(path, directory)
        inside = read_shard(path)
        records += [(id_text(name) + "/" + id_text(key), fields) for key, fields in inside]
        records_per_file.append(len(inside))
        facts += text_bytes(name) + number_bytes(os.path.getsize(path)) + number_bytes(len(inside))
    return Source(records, records_per_file, hash128(facts))


def read_shard(path):
    """Neighbouring members with one key are a record: [(key, fields)]."""
    records = []
    with tarfile.open(path, errors="surrogateescape", encoding="utf-8") as shard:
        for member in shard:
            folder, slash, base = re.sub(r"^(\./)+", "", member.name).rpartition("/")
            stem, _, extension = base.partition(".")
            if not member.isfile() or not stem or not extension:
                continue
            key = folder + slash + stem
            field = re.sub("[A-Z]", lambda x: x.group().lower(), extension)
            if not records or records[-1][0] != key or field in records[-1][1]:
                records.append((key, {}))
            records[-1][1][field] = shard.extractfile(member).read()
    return records


def expand_braces(pattern):
    """All texts that a pattern stands for, in order: {a,b} and {08..10}, also nested; the last varies fastest."""
    for begin in [i for i, c in enumerate(pattern) if c == "{"]:
        depth, parts = 0, [""]
        for end in range(begin, len(pattern)):
            depth += {"{": 1, "}": -1}.get(pattern[end], 0)
            if depth == 0:
                break
            if depth == 1 and pattern[end] == ",":
                parts.append("")
            elif end > begin:
                parts[-1] += pattern[end]
        if depth != 0:
            continue
        heads = [x for part in parts for x in expand_braces(part)] if len(parts) > 1 else numbers(parts[0])
        if heads:
            return [pattern[:begin] + h + t for h in heads for t in expand_braces(pattern[end + 1 :])]
    return [pattern]


def numbers(inside):
    """08..10 as ["08", "09", "10"]; [] where it is something else."""
    match = re.fullmatch(r"(\d+)\.\.(\d+)", inside)
    if not match:
        return []
    left, right = match.groups()
    padded = any(len(x) > 1 and x[0] == "0" for x in (left, right))
    width = max(len(left), len(right)) if padded else 0
    step = 1 if int(left) <= int(right) else -1
    return [str(i).zfill(width) for i in range(int(left), int(right) + step, step)]


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


OPEN = {
    "count": open_count,
    "tar_shards": open_tar_shards,
    "image_folder": open_image_folder,
    "raw_records": open_raw_records,
}


# -------------------------------------------------------------------------------------------------------- order


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def permutation(n, key):
    """The bijection of 0 .. n-1 under a key, as a list."""
    rows = 2
    while rows * rows < n:
        rows += 2
    columns = -(-n // rows)
    rounds = 24 if n < 1024 else 8
    keys = [mix((key + (i + 1) * 0x9E3779B97F4A7C15) & MASK) for i in range(rounds)]
    result = []
    for i in range(n):
        row, column = divmod(i, columns)
        while True:
            for k in range(0, rounds, 2):
                row = (row + (mix(column ^ keys[k]) * rows >> 64)) % rows
                column = (column + (mix(row ^ keys[k + 1]) * columns >> 64)) % columns
            if row * columns + column < n:
                break
        result.append(row * columns + column)
    return result


def share(n, lane, lanes):
    return max(0, -(-(n - lane) // lanes))


def windowed_order(records_per_file, window, lanes, files_key, windows_key):
    """The record at each position."""
    row, file_of, first = [], {}, [sum(records_per_file[:i]) for i in range(len(records_per_file))]
    for j, file in enumerate(permutation(len(records_per_file), files_key)):
        for record in range(first[file], first[file] + records_per_file[file]):
            row.append(record)
            file_of[record] = j
    order, begin = [None] * len(row), 0
    for lane in range(lanes):
        run = row[begin : begin + share(len(row), lane, lanes)]
        begin += len(run)
        windows = {}
        for record in run:
            windows.setdefault((file_of[record] - file_of[run[0]]) // window, []).append(record)
        items = []
        for v in sorted(windows):
            key = xxhash.xxh3_64_intdigest(struct.pack("<QQQ", windows_key, lane, v))
            items += [windows[v][i] for i in permutation(len(windows[v]), key)]
        for k, record in enumerate(items):
            order[lane + k * lanes] = record
    return order


# ---------------------------------------------------------------------------------------------------- operators


class Pipeline:
    """A parsed pipeline with its data open."""

    def __init__(self, text):
        self.root = parse(text)
        if self.root.op != "batch":
            raise SyntaxError("no batch at the end")
        self.input = copy_tree(self.root.inputs[0])
        for ordinal, node in enumerate(sources_below(self.input)):
            node.ordinal = ordinal
            node.source = OPEN[node.op](node.options)
        self.rows = self.root.options["rows"]
        self.lanes = self.root.options["lanes"] or self.default_lanes()

    def default_lanes(self):
        files = [len(sources_below(x)[0].source.records_per_file) for x in nodes_below(self.input)
                 if x.op == "shuffle" and x.options["kind"] == "windowed"]  # fmt: skip
        return max(x for x in range(1, min(files + [self.rows]) + 1) if self.rows % x == 0)

    def samples(self, node, epoch, repeat_pass=0):
        """All samples that an operator gives in an epoch: [(id, fields)]."""
        if node.op in OPEN:
            return node.source.records
        if node.op == "repeat":
            n = node.options["n"]
            passes = [self.samples(node.inputs[0], epoch, repeat_pass * n + r) for r in range(n)]
            return [x for samples in passes for x in samples]
        inputs = [self.samples(x, epoch, repeat_pass) for x in node.inputs]
        if node.op == "zip":
            return [zipped(together) for together in zip(*inputs)]
        if node.op == "concat":
            return [x for samples in inputs for x in samples]
        if node.op == "take":
            return inputs[0][: node.options["n"]]
        if node.op == "skip":
            return inputs[0][node.options["n"] :]
        if node.op == "enumerate":
            field = node.options["field"]
            return [(id, {**fields, field: number_bytes(p)}) for p, (id, fields) in enumerate(inputs[0])]
        if node.op == "map":
            return [(id, mapped(node.options, fields)) for id, fields in inputs[0]]
        return [inputs[0][i] for i in self.shuffled(node, len(inputs[0]), epoch, repeat_pass)]

    def shuffled(self, node, n, epoch, repeat_pass):
        """The number of the input's sample at each place."""
        kind = node.options["kind"]
        if kind == "none":
            return range(n)
        if kind == "full":
            return permutation(n, shuffle_key("leat.order.full", node, epoch, repeat_pass))
        return windowed_order(
            sources_below(node)[0].source.records_per_file,
            node.options["window"],
            self.lanes,
            shuffle_key("leat.order.files", node, epoch, repeat_pass),
            shuffle_key("leat.order.windows", node, epoch, repeat_pass),
        )

    def lines(self, epoch, pixels=False):
        """The epoch's global batches, as `leat order` prints them; with `pixels` also each row's hash."""
        samples = self.samples(self.input, epoch)
        if self.root.options["end"] == "drop":
            samples = samples[: len(samples) // self.rows * self.rows]
        batches = []
        for begin in range(0, len(samples), self.rows):
            rows = list(enumerate(samples))[begin : begin + self.rows]
            line = {
                "epoch": epoch,
                "step": begin // self.rows,
                "world_size": 1,
                "positions": [position for position, _ in rows],
                "ids": [id for _, (id, _) in rows],
                "digest": "%032x" % (sum(row_digest(epoch, p, id) for p, (id, _) in rows) % 2**128),
            }
            if pixels:
                line["pixels"] = [self.row_pixels(p, fields) for p, (_, fields) in rows]
            batches.append(line)
        return batches

    def row_pixels(self, position, fields):
        names = self.root.options["fields"] or fields
        names = sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape"))
        return "%032x" % hash128(number_bytes(position) + b"".join(fields[name] for name in names))


def copy_tree(node):
    """Makes a node that several names lead to as many nodes: what is used twice is read twice."""
    return Node(node.op, node.options, [copy_tree(x) for x in node.inputs])


def nodes_below(node):
    return [node] + [y for x in node.inputs for y in nodes_below(x)]


def sources_below(node):
    return [x for x in nodes_below(node) if x.op in OPEN]


def zipped(together):
    fields = {}
    for _, more in together:
        if set(fields) & set(more):
            raise ValueError(f"two inputs of zip with a field of one name: {set(fields) & set(more)}")
        fields.update(more)
    return "(" + "+".join(id for id, _ in together) + ")", fields


def mapped(options, fields):
    if options["name"] == "select@1":
        return {name: fields[name] for name in options["fields"]}
    if options["name"] == "rename@1":
        return {options["to"] if name == options["from"] else name: x for name, x in fields.items()}
    if options["name"] == "int_label@1":
        fields = dict(fields)
        return {"label": struct.pack("<q", int(fields.pop(options["field"]))), **fields}
    return fields  # of other maps only the ids are right: no map changes them


def shuffle_key(tag, node, epoch, repeat_pass):
    sources = sources_below(node)
    digest = sources[0].source.digest
    if len(sources) > 1:
        halves = [number_bytes(x.source.digest) + number_bytes(x.source.digest >> 64) for x in sources]
        digest = hash128(b"".join(halves))
    words = [node.options["seed"], epoch, repeat_pass, sources[0].ordinal, digest, digest >> 64]
    between, below = 0, node.inputs[0]
    while below.inputs:
        between += below.op == "shuffle"
        below = below.inputs[0]
    if between:
        words.append(between)
    return hash128(text_bytes(tag) + b"".join(map(number_bytes, words))) & MASK


def row_digest(epoch, position, id):
    return hash128(number_bytes(epoch) + number_bytes(position) + id.encode())


# ------------------------------------------------------------------------------------------------------ command


def to_text(line):
    """One line of `leat order`, to the byte."""
    members = []
    for name, x in line.items():
        members.append(f'"{name}": ' + json.dumps(x, ensure_ascii=False, separators=(",", ":")))
    return "{" + ", ".join(members) + "}"


def main():
    parser = argparse.ArgumentParser(description="Prints what `leat order --pipeline FILE` must print.")
    parser.add_argument("file", help="a pipeline in the text form")
    parser.add_argument("--epoch", type=int, default=0)
    parser.add_argument("--pixels", action="store_true", help="also the hash of each row's fields, as `leat run` logs it")
    options = parser.parse_args()
    text = read_file(options.file).decode("utf-8", "surrogateescape")
    lines = Pipeline(text).lines(options.epoch, options.pixels)
    for line in lines:
        print(to_text(line))
    if not lines:
        sys.exit("the epoch has no batch")


if __name__ == "__main__":
    main()
