"""What sources give: docs/order.md, "Records, ids and data digests", and docs/iterators.md, "Stream sources"."""

import ast
import functools
import glob
import gzip
import io
import json
import os
import re
import struct
import subprocess
import tarfile

from plain.hashes import hash128, id_text, keyed, number_bytes, pass_word, permutation, text_bytes
from plain.random_numbers import Rng
from plain.samples import Ragged, Refused, Sample, Tensor, element, scalar, size_of, vector


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


# ---------------------------------------------------------------------------------------------- indexed sources


class Source:
    """All records, how many each stored file has, and the data digest."""

    def __init__(self, records, records_per_file, digest):
        self.records, self.records_per_file, self.digest = records, records_per_file, digest


def open_count(o):
    def value(i):
        return Tensor("u8", [o["bytes"]], (number_bytes(i) * (o["bytes"] // 8 + 1))[: o["bytes"]])

    records = [Sample(f"count/{i}", {"value": value(i)}) for i in range(o["records"])]
    return Source(records, [len(records)], hash128(text_bytes("count") + number_bytes(len(records))))


def open_raw_records(o):
    size = size_of(o["type"])
    for extent in o["dims"]:
        size *= extent
    data, name = read_file(o["path"]), os.path.basename(o["path"])
    if len(data) % size and not o["drop_last"]:
        raise Refused(f"a part of a record: {name}")
    count = len(data) // size
    values = [Tensor(o["type"], o["dims"], data[i * size : (i + 1) * size]) for i in range(count)]
    records = [Sample(f"{name}/{i}", {"value": value}) for i, value in enumerate(values)]
    return Source(records, [count], hash128(text_bytes(name) + number_bytes(len(data)) + number_bytes(count)))


def open_tokens(o):
    size, length = size_of(o["type"]), o["length"]
    files, facts = [], b""
    for path, name in named_files(o["patterns"]):
        data = read_file(path)
        tokens = data
        if path.endswith(".npy"):
            type, dims, tokens = read_npy(path)
            if type != o["type"] or len(dims) != 1:
                raise Refused(f"another array: {path}")
        if len(tokens) % size:
            raise Refused(f"a part of a token: {path}")
        files.append((name, [tokens[i : i + size] for i in range(0, len(tokens), size)]))
        facts += text_bytes(name) + number_bytes(len(data)) + number_bytes(len(files[-1][1]))
    if o["random_windows"]:
        records = drawn_windows(o, files)
        return Source(records, [len(records)], hash128(facts))
    records, records_per_file = [], []
    for name, tokens in files:
        windows = windows_of(tokens, length, o["stride"] or length, o["drop_last"])
        for i, x in enumerate(windows):
            raw = b"".join(x)
            if o["drop_last"]:
                value = Tensor(o["type"], [length], raw)
            else:
                value = Ragged(o["type"], [len(x)], raw) if o["type"] != "u8" else raw
            records.append(Sample(f"{id_text(name)}/{i}", {"tokens": value}))
        records_per_file.append(len(windows))
    return Source(records, records_per_file, hash128(facts))


def windows_of(tokens, length, stride, drop_last):
    result = []
    for begin in range(0, len(tokens), stride):
        window = tokens[begin : begin + length]
        if len(window) == length or not drop_last:
            result.append(window)
        if begin + length >= len(tokens):
            break
    return result


def drawn_windows(o, files):
    length = o["length"]
    places = [(name, tokens, i) for name, tokens in files for i in range(len(tokens) - length + 1)]
    if not places:
        raise Refused("no file is as long as a window")
    records = []
    for number in range(o["random_windows"]):
        name, tokens, begin = places[Rng(keyed("leat.tokens", o["seed"]), number).below(len(places))]
        value = Tensor(o["type"], [length], b"".join(tokens[begin : begin + length]))
        records.append(Sample(f"{id_text(name)}/@{begin}/{number}", {"tokens": value}))
    return records


def read_npy(path):
    """Type, shape and elements."""
    data = read_file(path)
    before = 10 if data[6] == 1 else 12
    end = before + int.from_bytes(data[8:before], "little")
    header = ast.literal_eval(data[before:end].decode())
    return header["descr"][1] + str(int(header["descr"][2:]) * 8), list(header["shape"]), data[end:]


def open_npy(o):
    records, records_per_file, facts, form = [], [], b"", None
    for path, name in named_files(o["patterns"]):
        type, (count, *dims), elements = read_npy(path)
        form = form or (type, dims)
        if form != (type, dims):
            raise Refused(f"another array: {path}")
        size = len(elements) // count if count else 0
        values = [Tensor(type, dims, elements[i * size : (i + 1) * size]) for i in range(count)]
        records += [Sample(f"{id_text(name)}/{i}", {"value": value}) for i, value in enumerate(values)]
        records_per_file.append(count)
        facts += text_bytes(name) + number_bytes(os.path.getsize(path)) + number_bytes(count)
    return Source(records, records_per_file, hash128(facts))


MEGATRON_TYPES = {1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 8: "u16"}


def open_megatron(o):
    prefixes = [re.sub(r"\.(bin|idx)$", "", x) for x in o["patterns"]]
    records, records_per_file, facts = [], [], b""
    for path, name in named_files([x + ".idx" for x in prefixes]):
        index, data, name = read_file(path), read_file(path[:-4] + ".bin"), name[:-4]
        type = MEGATRON_TYPES[index[17]]
        sequences, bounds = struct.unpack_from("<QQ", index, 18)
        lengths = struct.unpack_from(f"<{sequences}i", index, 34)
        offsets = struct.unpack_from(f"<{sequences}q", index, 34 + 4 * sequences)
        begins = struct.unpack_from(f"<{bounds}q", index, 34 + 12 * sequences)
        texts = [data[at : at + n * size_of(type)] for at, n in zip(offsets, lengths)]
        for number in range(bounds - 1):
            raw = b"".join(texts[begins[number] : begins[number + 1]])
            value = Ragged(type, [len(raw) // size_of(type)], raw) if type != "u8" else raw
            records.append(Sample(f"{id_text(name)}/{number}", {"tokens": value}))
        records_per_file.append(bounds - 1)
        facts += text_bytes(name) + number_bytes(len(data)) + number_bytes(bounds - 1)
    return Source(records, records_per_file, hash128(facts))


def open_image_folder(o):
    top = o["directory"].rstrip("/") or "/"
    folders = [x for x in os.listdir(top) if not x.startswith(".") and os.path.isdir(os.path.join(top, x))]
    classes = sorted((x for x in folders if not is_hidden(x)), key=os.fsencode)
    images = []
    for number, name in enumerate(classes):
        for folder, _, files in os.walk(os.path.join(top, name)):
            paths = [os.path.relpath(os.path.join(folder, x), top) for x in files if is_image(x)]
            images += [(x, number, name) for x in paths if not is_hidden(x)]
    images.sort(key=lambda image: os.fsencode(image[0]))
    records, facts = [], b""
    for path, number, name in images:
        data = read_file(os.path.join(top, path))
        fields = {"jpg": data, "cls": str(number).encode(), "class": os.fsencode(name)}
        records.append(Sample(id_text(path), fields))
        facts += text_bytes(path) + number_bytes(len(data))
    if len(folders) > len(classes):
        facts += number_bytes(len(folders) - len(classes))
    return Source(records, [len(records)], hash128(facts))


def is_image(name):
    return name.lower().endswith((".jpg", ".jpeg", ".jfif", ".png", ".webp"))


def is_hidden(path):
    """Whether a path inside the data is an entry that systems add to it."""
    names = [x for x in path.split("/") if x not in (".", "..")]
    return any(x.startswith(".") or x in ("__MACOSX", "@eaDir", "Thumbs.db", "desktop.ini") for x in names)


def open_tar_shards(o):
    records, records_per_file, facts = [], [], b""
    for path, name in named_files(o["patterns"]):
        inside = read_shard(path, name)
        records += inside
        records_per_file.append(len(inside))
        facts += text_bytes(name) + number_bytes(os.path.getsize(path)) + number_bytes(len(inside))
    return Source(records, records_per_file, hash128(facts))


def read_shard(path, name):
    """Neighbouring members with the same key are a record."""
    records, last, data = [], None, unpacked_file(path)
    if not data:
        raise Refused(f"no end mark: {path}")
    with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape", encoding="utf-8") as shard:
        for member in shard:
            folder, slash, base = re.sub(r"^(\./)+", "", member.name).rpartition("/")
            stem, _, extension = base.partition(".")
            if not member.isfile() or not stem or not extension or is_hidden(member.name):
                continue
            key = folder + slash + stem
            field = re.sub("[A-Z]", lambda x: x.group().lower(), extension)
            if not records or last != key or field in records[-1].fields:
                records.append(Sample(id_text(name) + "/" + id_text(key), {}))
                last = key
            records[-1].fields[field] = shard.extractfile(member).read()
        if data[shard.offset : shard.offset + 512] != bytes(512):
            raise Refused(f"no end mark: {path}")
    return records


def is_packed(path):
    return path.lower().endswith((".gz", ".tgz", ".zst", ".tzst"))


def unpacked_file(path):
    data = read_file(path)
    if not is_packed(path):
        return data
    return gzip.decompress(data) if path.lower().endswith("gz") else unpacked_zstd(data)


@functools.cache
def unpacked_zstd(data):
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout


INDEXED = {
    "count": open_count,
    "tar_shards": open_tar_shards,
    "image_folder": open_image_folder,
    "raw_records": open_raw_records,
    "tokens": open_tokens,
    "npy": open_npy,
    "megatron": open_megatron,
}

# ------------------------------------------------------------------------------------------------------ streams


class Stream:
    """The records of every unit, and the data digest."""

    def __init__(self, node):
        self.options, self.units, facts = node.options, [], b""
        for path, name in named_files(self.options["patterns"]):
            self.units += UNITS[node.op](path, name, self.options)
            facts += text_bytes(name) + number_bytes(os.path.getsize(path))
        self.digest = hash128(facts)

    def lane(self, node, epoch, repeat_pass, lane, lanes):
        """The records of a lane, in their order."""
        order = range(len(self.units))
        if self.options["file_order"] == "shuffled":
            words = (self.options["seed"], epoch, pass_word(repeat_pass), node.ordinal, self.digest, self.digest >> 64)
            order = permutation(len(self.units), keyed("leat.order.full", *words))
        return [record for j in list(order)[lane::lanes] for record in self.units[j]]


class StandardInput:
    """A source that exists once. It has no units."""

    def __init__(self, data):
        lines = [line for _, line in lines_of(data)]
        self.records = [Sample(f"stdin/{i}", {"text": line}) for i, line in enumerate(lines)]
        self.digest = hash128(b"")

    def lane(self, node, epoch, repeat_pass, lane, lanes):
        if repeat_pass:
            raise Refused("standard input is there once")
        return self.records[lane::lanes] if epoch == 0 else []


def tar_units(path, name, _):
    return [read_shard(path, name)]


def is_blank(line):
    return not line.strip(b" \t\r")


def line_units(path, name, options, fields_of=lambda line: {"text": line}, passes_blank=False):
    data, ranges = unpacked_file(path), options["ranges"]
    if ranges > 1 and is_packed(path):
        raise Refused("ranges of a compressed file")
    units = [[] for _ in range(ranges)]
    for number, (offset, line) in enumerate(lines_of(data)):
        if passes_blank and is_blank(line):
            continue
        id = f"{id_text(name)}/{number}" if ranges == 1 else f"{id_text(name)}/@{offset}"
        r = max(r for r in range(ranges) if offset >= len(data) * r // ranges)
        units[r].append(Sample(id, fields_of(line)))
    return units


def json_line_units(path, name, options):
    types = dict(x.rsplit(":", 1) for x in options.get("types", []))
    return line_units(path, name, options, lambda line: json_fields(line, types), passes_blank=True)


UNITS = {"tar_stream": tar_units, "lines": line_units, "json_lines": json_line_units}
STREAMS = (*UNITS, "standard_input")


def records_of_file(format, path, name, types):
    """The records of one file, by what read_files calls its format."""
    units = UNITS["tar_stream" if format == "tar" else format]
    return units(path, name, {"ranges": 1, "types": types})[0]


def lines_of(data):
    """[(offset, line)]; the last line needs no newline at its end."""
    lines, offset = [], 0
    for line in data.split(b"\n"):
        lines.append((offset, line))
        offset += len(line) + 1
    return lines[:-1] if lines[-1][1] == b"" else lines


def json_fields(line, types):
    try:
        members = members_of(line.decode().removeprefix("\ufeff"))
        return {name: json_field(x, text, types.get(name)) for name, (x, text) in members.items() if x is not None}
    except ValueError:
        return None


def members_of(line):
    """{name: (value, its text)} of a line that is an object."""
    decoder = json.JSONDecoder(parse_constant=not_a_number)
    if not isinstance(decoder.decode(line), dict):
        raise ValueError
    members, at = {}, after_space(line, line.index("{") + 1)
    while line[at] != "}":
        name, at = decoder.raw_decode(line, at)
        at = after_space(line, after_space(line, at) + 1)  # the colon
        value, end = decoder.raw_decode(line, at)
        members[name] = value, line[at:end]
        at = after_space(line, end)
        if line[at] == ",":
            at = after_space(line, at + 1)
    return members


def not_a_number(text):
    raise ValueError(text)


def after_space(text, at):
    while text[at] in " \t\r\n":
        at += 1
    return at


def json_field(x, text, type):
    if isinstance(x, str) and type in (None, "bytes"):
        return x.encode()
    if type == "bytes":
        return text.encode()
    if type:
        return typed_field(x, type)
    if is_large(x) or isinstance(x, list) and all(map(is_number, x)) and any(map(is_large, x)):
        raise ValueError(f"{text} is no int64")
    if isinstance(x, bool):
        return scalar("u8", x)
    if is_integer(x):
        return scalar("i64", x)
    if is_number(x):
        return scalar("f64", x)
    if isinstance(x, list) and all(map(is_integer, x)):
        return vector("i64", x)
    if isinstance(x, list) and all(map(is_number, x)):
        return vector("f64", x)
    return text.encode()


def typed_field(x, type):
    if isinstance(x, bool) or is_number(x):
        return scalar(type, element(x, type))
    if isinstance(x, list) and all(map(is_number, x)):
        return vector(type, [element(y, type) for y in x])
    raise ValueError(f"{x} is no {type}")


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def is_integer(x):
    return is_number(x) and isinstance(x, int) and not is_large(x)


def is_large(x):
    return isinstance(x, int) and not -(2**63) <= x < 2**63


# -------------------------------------------------------------------------------------------------------- files


def named_files(patterns):
    """[(path, SHARD)], in stored order."""
    paths = []
    for pattern in patterns:
        for name in expand_braces(pattern):
            found = [name]
            if not os.path.isfile(name):
                found = [x for x in glob.glob(name) if os.path.isfile(x) and not x.endswith(".leat-index")]
            if not found:
                raise Refused(f"no file {name}")
            paths += [os.path.abspath(x) for x in sorted(found, key=os.fsencode)]
    if not paths or len(set(paths)) < len(paths):
        raise Refused("no file, or one twice")
    directory = os.path.commonpath([os.path.dirname(path) for path in paths])
    return [(path, os.path.relpath(path, directory)) for path in paths]


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
    """08..10 as ["08", "09", "10"]; [] if it is something else."""
    match = re.fullmatch(r"(\d+)\.\.(\d+)", inside)
    if not match:
        return []
    left, right = match.groups()
    padded = any(len(x) > 1 and x[0] == "0" for x in (left, right))
    width = max(len(left), len(right)) if padded else 0
    step = 1 if int(left) <= int(right) else -1
    return [str(i).zfill(width) for i in range(int(left), int(right) + step, step)]
