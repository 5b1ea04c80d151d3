"""Small data sets, and the kinds of the fields that they have.

A kind is `bytes`, `digits` (bytes that are a decimal number), `odd` (bytes that some records lack), `int` (int64, rank 0),
`float` (float64, rank 0), `i64x4` (rank 1, of 4 elements), or `i64[]` (rank 1, of different lengths). Bytes and rows of
different lengths have at most MAX_LENGTH elements. `names:tar` (`lines`, `json_lines`): names of files of that format.
"""

import gzip
import io
import json
import os
import shutil
import struct
import subprocess
import tarfile

MAX_LENGTH = 16
STANDARD_INPUT = b"".join(b"%d %s\n" % (i, b"in" * (i % 4)) for i in range(61)) + b"no newline"
STANDARD_INPUTS = {"lines": "stdin/lines", "names": "stdin/names"}  # names: of files of JSON lines in mixed/
ANY_UNITS = 10**6
MAX_RECORDS = 30  # of a file

MEMBERS = {"i": "int", "x": "float", "a": "i64[]", "s": "bytes", "d": "digits"}
# The fields of the samples that read_files reads.
FIELDS_OF_FORMATS = {"tar": {"txt": "bytes", "cls": "digits"}, "lines": {"text": "bytes"}, "json_lines": MEMBERS}
FOLDERS = {"tar": "streams", "lines": "lines", "json_lines": "json"}
# Of bytes as they are, but for the space; most others have no token.
TOKENS = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "Ġ", "e", "i", "n", "t", "x", "in", "11", "Ġin", "te", "Ġ1", "ex", "<end>")
TOKENIZER = {
    "added_tokens": [{"id": len(TOKENS) - 1, "content": "<end>", "special": True, "normalized": False}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<end>"}}],
        "special_tokens": {"<end>": {"ids": [len(TOKENS) - 1]}},
    },
    "model": {
        "type": "BPE",
        "vocab": {token: number for number, token in enumerate(TOKENS[:-1])},
        "merges": ["i n", "1 1", "Ġ in", "t e", "Ġ 1", "e x"],
    },
}
# Of a unigram model: pieces with whole scores, whose sums are exact, and ways to one end that are equally good.
PIECES = {"\u2581": -2, "0": -3, "1": -3, "2": -3, "3": -3, "4": -4, "5": -4, "6": -4, "7": -4, "i": -2, "n": -2, "t": -3, "e": -3,
          "in": -4, "inin": -7, "11": -5, "\u25811": -6, "\u2581in": -5, "te": -7, "tex": -8, "ex": -5}  # fmt: skip
SPECIAL_PIECES = {"<unk>": 2, "<s>": 3, "</s>": 3}  # with their types


class KnownSource:
    """A call with which a pipeline may begin, the kinds of its fields, its size, the units of a stream (0: not a stream), and what
    is wrong with its records: nothing (""), some lack a field ("odd"), or some are bad samples ("bad")."""

    def __init__(self, call, fields, size, units=0, wrong=""):
        self.call, self.fields, self.size, self.units, self.wrong = call, fields, size, units, wrong


def write_file(path, content):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def tar_of(members):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as shard:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            shard.addfile(info, io.BytesIO(content))
    return data.getvalue()


def packed(path, data):
    """The data, compressed according to the name."""
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout
    return gzip.compress(data, mtime=0) if path.endswith(("gz", "tgz")) else data


def packed_in_parts(path, data, size):
    """The same, with a member or frame for each so many bytes."""
    return b"".join(packed(path, data[i : i + size]) for i in range(0, max(1, len(data)), size))


def members_of(name, records):
    members = []
    for i in range(records):
        members += [(f"{name}/{i:03}.txt", b"text" * (i % 3)), (f"{name}/{i:03}.CLS", b"%d" % (i % 10))]
    return members


def make_data():
    """Writes the data sets into the working directory; they are the same for every seed."""
    once = KnownSource(("standard_input", {}), {"text": "bytes"}, len(STANDARD_INPUT.split(b"\n")), ANY_UNITS)
    write_file(STANDARD_INPUTS["lines"], STANDARD_INPUT)
    write_file("tokenizer.json", json.dumps(TOKENIZER).encode())
    write_file("pieces.model", piece_model())
    mixed_data()
    return [*indexed_data(), *stream_data(), *line_data(), *list_data(), once]


def piece_model():
    """As SentencePiece writes it: messages of Protobuf."""

    def message(field, content):
        return bytes([field * 8 + 2, len(content)]) + content

    def piece(text, score, kind):
        return message(1, message(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind]))

    special = b"".join(piece(text, 0, kind) for text, kind in SPECIAL_PIECES.items())
    return special + b"".join(piece(text, score, 1) for text, score in PIECES.items()) + message(2, b"\x18\x01")


def indexed_data():
    even = {"txt": "bytes", "cls": "digits"}
    for shard, records in enumerate((5, 0, 7, 1, 11)):
        write_file(f"tar/even-{shard}.tar", tar_of(members_of(shard, records)))
    # Irregular: fields that not all records have, a name that occurs twice, members to skip, hidden ones among them, a name that
    # is not ASCII.
    odd = ["./a.txt", "__MACOSX/a.txt", "./a.cls", "Thumbs.db", "x/.y/z.txt", "b", ".c.txt", "d.txt", "d.txt", "d.seg.png", "e.", "x.y/e.txt", "é.txt", "a.txt"]
    write_file("tar/odd-0.tar", tar_of([(name, name.encode()) for name in odd]))
    write_file("tar/odd-1.tar", tar_of([]))
    write_file("tar/odd-2.tar", tar_of([(f"{i}.txt", b"") for i in range(6)]))
    images = ("b/1.jpg", "b/2.JPEG", "b/deep/3.jfif", "a/9.jpg", "ü/4.jpeg")
    others = ("a/x.txt", ".hidden/1.jpg", "__MACOSX/b/1.jpg", "@eaDir/x.txt", "b/._1.jpg", "b/@eaDir/1.jpg/2.jpg", "a/.x/deep/1.jpg")
    for path in images + others:
        write_file("folder/" + path, path.encode())
    write_file("raw/numbers.f32", bytes(range(12 * 17)))
    for name, tokens in (("a", 19), ("b", 3), ("c", 8)):
        write_file(f"tokens/{name}.bin", struct.pack(f"<{tokens}q", *range(tokens)))
    lengths = [[i * 7 % 13] for i in range(14)]
    write_file("documents/x.idx", megatron_index(5, 8, lengths))
    write_file("documents/x.bin", struct.pack(f"<{sum(map(sum, lengths))}q", *range(sum(map(sum, lengths)))))

    def shards(patterns, fields, size, wrong=""):
        call = ("tar_shards", {"patterns": patterns, "index_dir": "", "allow_torn": False})
        return KnownSource(call, fields, size, wrong=wrong)

    def windows(size, **options):
        o = {"stride": 0, "drop_last": True, "random_windows": 0, "seed": 0, **options}
        return KnownSource(("tokens", {"patterns": ["tokens/*"], "type": "i64", **o}), {"tokens": f"i64x{o['length']}"}, size)

    images = {"jpg": "bytes", "cls": "digits", "class": "bytes"}
    return [
        windows(6, length=4),
        windows(19, length=5, stride=1),
        windows(25, length=7, random_windows=25, seed=5),
        KnownSource(("megatron", {"patterns": ["documents/x"]}), {"tokens": "i64[]"}, 14),
        shards(["tar/even-{0..4}.tar"], even, 24),
        shards(["tar/even-*.tar"], even, 24),
        shards(["tar/even-{4..2}.tar", "tar/even-0.tar"], even, 24),
        shards(["tar/even-0.tar"], even, 5),
        shards(["tar/even-1.tar"], even, 0),
        shards(["tar/odd-{0..2}.tar"], {"txt": "odd"}, 12, wrong="odd"),
        KnownSource(("image_folder", {"directory": "folder", "index_dir": ""}), images, 5),
        KnownSource(("raw_records", {"path": "raw/numbers.f32", "type": "f32", "dims": [3]}), {"value": "f32x3"}, 17),
    ]


def stream_data():
    """Tar files to be read in sequence, with every compression."""
    endings = ["tar", "tar.gz", "tgz", "tar.zst" if shutil.which("zstd") else "tar"]
    sizes = (6, 9, 0, 13, 4, 8, 7, 5, 10, 6, 3, 12)
    for shard, records in enumerate(sizes):
        path = f"streams/s{shard:02}.{endings[shard % 4]}"
        write_file(path, packed(path, tar_of(members_of(shard, records))))

    def stream(patterns, size, units):
        call = ("tar_stream", {"patterns": patterns, "file_order": "stored", "seed": 0})
        return KnownSource(call, FIELDS_OF_FORMATS["tar"], size, units)

    return [
        stream(["streams/*"], sum(sizes), 12),
        stream(["streams/s00.*"], 6, 1),
        stream(["streams/s0[03457]*", "streams/s1*"], 51, 7),
        stream(["streams/s{04..08}.*"], 34, 5),
    ]


def line_data():
    sizes = (9, 5, 0, 30, 1, 12)
    for i, lines in enumerate(sizes):
        end = b"" if i % 2 else b"\n"
        text = b"\n".join(b"%d,%s" % (j, b"ab,c" * (j % 4)) for j in range(lines))
        write_file(f"lines/{i}.txt", text + (end if lines else b""))
        objects = [with_blank_lines(i, j, json_object(i, j)) for j in range(lines)]
        write_file(f"json/{i}.jsonl", b"".join(x.encode() + b"\n" for x in objects))

        bad = [b"[]\n" if j % 5 == i else b"{\n" if j % 7 == i else x.encode() + b"\n" for j, x in enumerate(objects)]
        write_file(f"json/{i}.bad", b"".join(bad))

    zst = "zst" if shutil.which("zstd") else "gz"
    packed_sizes = (11, 0, 17, 25)
    for i, lines in enumerate(packed_sizes):
        text = b"".join(b"%d,%s\n" % (j, b"xy,z" * (j % 5)) for j in range(lines))
        objects = "".join(with_blank_lines(i, j, json_object(i + 10, j)) + "\n" for j in range(lines)).encode()
        size = (30, 10**6)[i % 2]
        for path, data in ((f"lines/q{i}.txt.{('gz', zst)[i // 2]}", text), (f"json/q{i}.jsonl.{(zst, 'gz')[i // 2]}", objects)):
            write_file(path, packed_in_parts(path, data, size))

    result = [
        known("lines", ["lines/q*"], {"text": "bytes"}, sum(packed_sizes), 4, 1),
        known("lines", ["lines/q2*", "lines/3.txt"], {"text": "bytes"}, 47, 2, 1),
        known("json_lines", ["json/q*"], MEMBERS, sum(packed_sizes), 4, 1),
        known("json_lines", ["json/q3*"], MEMBERS, 25, 1, 1),
    ]
    for op, path, fields in (("lines", "lines/{}.txt", {"text": "bytes"}), ("json_lines", "json/{}.jsonl", MEMBERS)):
        result += [known(op, [path.format("*")], fields, sum(sizes), 6, ranges) for ranges in (1, 2, 5)]
        result += [known(op, [path.format("3")], fields, 30, 1, ranges) for ranges in (1, 3, 12)]
        result += [known(op, [path.format("{5,3,0}")], fields, 51, 3, ranges) for ranges in (1, 4)]
    result.append(known("json_lines", ["json/*.bad"], MEMBERS, sum(sizes), 6, 2, "bad"))
    return result


def list_data():
    """Lists of the files of each format, some of them twice."""
    result = []
    for format, folder in FOLDERS.items():
        names = [x for x in sorted(os.listdir(folder)) if not x.endswith(".bad")]
        names += names[1::3]
        lines = "".join(with_blank_lines(i, 1, x) + "\n" for i, x in enumerate(names))
        write_file(f"lists/{format}.txt", lines.encode())
        fields = {"text": f"names:{format}"}
        result += [known("lines", [f"lists/{format}.txt"], fields, lines.count("\n"), 1, ranges) for ranges in (1, 4, 12)]
    return result


def mixed_data():
    """Lines whose members are sometimes missing, and are sometimes of one type, sometimes of another; lists of these files."""
    numbers = [3, -2, 0.5, "7", True, None, 1, 5, 10**30, -1]
    rows = [[1, 2], [], [5], [1, 0.5], 4, "ab", [7, 8, 9]]
    texts = ["ab", "", "a,b", 3, "text\nt", None, "ü"]
    for file, (begin, lines) in enumerate(((0, 7), (3, 9), (8, 1), (0, 0), (11, 6))):
        text = ""
        for n in range(begin, begin + lines):
            members = {"i": numbers[n % 10] if n % 3 else n, "x": n / 4, "a": rows[n % 7] if n % 2 else [n] * (n % 5),
                       "s": texts[n % 7], "u": n}  # fmt: skip
            gone = "ixasu"[n * 7 % 5] if n % 4 == file % 4 else ""
            text += "[1]\n" if n % 11 == 6 else json.dumps({k: x for k, x in members.items() if k != gone}) + "\n"
        write_file(f"mixed/{file}.jsonl", text.encode())
    names = ["0.jsonl", "2.jsonl", "3.jsonl", "1.jsonl", "0.jsonl", "4.jsonl", "2.jsonl"]
    write_file("lists/wild.txt", "".join(x + "\n" for x in names).encode())
    write_file(STANDARD_INPUTS["names"], "".join(x + "\n" for x in names * 2).encode())
    write_file("raw/few.bin", bytes(range(250, 256)) + bytes(range(30)))
    array_data()


def npy_of(type, dims, elements, format=1):
    """As numpy.save writes it."""
    before = 10 if format == 1 else 12
    text = repr({"descr": type, "fortran_order": False, "shape": dims}).encode()
    text += b" " * (63 - (before + len(text)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([format, 0]) + len(text).to_bytes(before - 8, "little") + text + elements


def megatron_index(code, size, documents):
    """`documents`: the lengths of the sequences of each."""
    lengths, bounds = [n for x in documents for n in x], [0]
    for x in documents:
        bounds.append(bounds[-1] + len(x))
    offsets = [size * sum(lengths[:i]) for i in range(len(lengths))]
    header = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(bounds))
    return header + struct.pack(f"<{len(lengths)}i{len(offsets)}q{len(bounds)}q", *lengths, *offsets, *bounds)


def array_data():
    """Arrays of NumPy, and data sets of Megatron-LM, with empty ones among them."""
    for i, (rows, format) in enumerate(((4, 1), (0, 3), (7, 2))):
        write_file(f"arrays/rows-{i}.npy", npy_of("<i2", (rows, 3), bytes(range(i, i + 6 * rows)), format))
    write_file("arrays/tokens.npy", npy_of("<u2", (23,), bytes(range(100, 146))))
    for name, documents in (("a", [[3, 0, 2], [], [5], [1], [4, 4]]), ("b", []), ("c", [[2], [9]])):
        write_file(f"megatron/{name}.idx", megatron_index(8, 2, documents))
        write_file(f"megatron/{name}.bin", bytes(i % 256 for i in range(2 * sum(map(sum, documents)))))


def known(op, patterns, fields, size, files, ranges, wrong=""):
    """A source of lines."""
    call = (op, {"patterns": patterns, "ranges": ranges, "file_order": "stored", "seed": 0, **({"types": []} if op == "json_lines" else {})})
    return KnownSource(call, fields, size, files * ranges, wrong)


def with_blank_lines(file, line, text):
    """A line, and now and then blank ones before it or after it."""
    blank = ("", " \t\r", "\n\r")[line % 3]
    return {1: blank + "\n" + text, 5: text + "\n" + blank}.get((line * 3 + file) % 8, text)


def json_object(file, line):
    members = {
        "i": (line * 7 + file) % 11 - 5,
        "x": line / 8 - 1,
        "a": [line * 100 + j for j in range((line * 5 + file) % 10)],
        "s": "ü\n"[: line % 3] * (line % 4),
        "d": str(line - 3),
    }
    return json.dumps(members, ensure_ascii=line % 2 == 0)
