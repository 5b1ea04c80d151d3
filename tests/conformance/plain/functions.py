"""Predicates, flat_maps, scans and maps that are built in: docs/iterators.md, "Functions", and docs/pipelines.md, "Operators".

Each gets a good sample, the lane's input to it, and the call's options.
"""

import fnmatch
import functools
import json
import re
import struct
import unicodedata
from urllib.parse import unquote_to_bytes

from plain.hashes import hash128, mulhi, number_bytes
from plain.samples import CODES, BadSample, Ragged, Sample, Tensor, element, field_bytes, scalar, size_of, vector

MASK = 2**64 - 1

# ---------------------------------------------------------------------------------------------------- predicates


def key_hash(sample, keep, salt=0):
    return kept(sample.id.encode(), keep, salt)


def key_matches(sample, pattern, invert=False):
    return fnmatch.fnmatchcase(sample.id.encode(), pattern.encode()) != invert


def field_hash(sample, field, keep, salt=0):
    return kept(field_bytes(sample.field(field)), keep, salt)


def field_between(sample, field, min=float("-inf"), max=float("inf")):
    return float(min) <= number(sample, field) <= float(max)


def bytes_between(sample, field, min=0, max=MASK):
    return int(min) <= len(field_bytes(sample.field(field))) <= int(max)


def length_between(sample, field, min=0, max=MASK):
    type, raw = sample.row(field)
    return int(min) <= len(raw) // size_of(type) <= int(max)


def text(sample, field):
    x = sample.field(field)
    if isinstance(x, Tensor):
        raise BadSample(f"{field} of {sample.id} is no text")
    return x


def matches(sample, field, pattern, whole=False, invert=False):
    """Python's re is another language, but the patterns of the cases mean the same in both, on ASCII texts."""
    pattern, x = unquote_to_bytes(pattern), text(sample, field)
    found = re.compile(pattern).fullmatch(x) if whole else re.compile(pattern).search(x)
    return (found is not None) != invert


ENDS = [x.encode() for x in (".", "!", "?", '"', "…", "”", "。", "！", "？")]
SHARES = {  # of what among what
    "min_letters": ("letters", "characters"), "max_digits": ("digits", "characters"), "max_symbols": ("symbols", "characters"),
    "min_words_with_letters": ("words_with_letters", "words"), "max_repeated_lines": ("repeated_lines", "lines"),
    "min_ended_lines": ("ended_lines", "lines"), "max_bullet_lines": ("bullet_lines", "lines"),
    "max_ellipsis_lines": ("ellipsis_lines", "lines"), "min_word_length": ("characters", "words"),
    "max_word_length": ("characters", "words"),
}  # fmt: skip


def counts(raw):
    """All that text_quality counts."""
    words, lines = re.findall(rb"[^\t-\r ]+", raw), [x.strip(b"\t\n\v\f\r ") for x in raw.split(b"\n")]
    lines = [x for x in lines if x]
    characters = re.sub(rb"[\t-\r \x80-\xbf]", b"", raw)
    return {
        "words": len(words), "words_with_letters": sum(bool(re.search(rb"[a-zA-Z\x80-\xff]", x)) for x in words),
        "characters": len(characters), "letters": len(re.findall(rb"[a-zA-Z\x80-\xff]", characters)),
        "digits": len(re.findall(rb"[0-9]", characters)), "symbols": len(re.findall(rb"[!-/:-@[-`{-~]", characters)),
        "lines": len(lines), "repeated_lines": len(lines) - len(set(lines)), "ended_lines": sum(any(map(x.endswith, ENDS)) for x in lines),
        "bullet_lines": sum(any(map(x.startswith, (b"-", b"*", "•".encode()))) for x in lines),
        "ellipsis_lines": sum(any(map(x.endswith, (b"...", "…".encode()))) for x in lines),
    }  # fmt: skip


def text_quality(sample, field, **bounds):
    of = counts(text(sample, field))
    for name, bound in bounds.items():
        if name in SHARES:
            part, whole = (of[x] for x in SHARES[name])
            x = part / whole if whole else 0.0
        else:
            x = of["words"]
        if x < float(bound) if name.startswith("min") else x > float(bound):
            return False
    return True


def kept(data, keep, salt):
    return mulhi(hash128(number_bytes(salt) + data) & MASK, 100) < keep


def number(sample, field):
    x = sample.field(field)
    if isinstance(x, Tensor) and not x.dims:
        return x.numbers()[0]
    if not isinstance(x, Tensor) and re.fullmatch(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", x):
        return float(x)
    raise BadSample(f"{field} of {sample.id} is no number")


PREDICATES = {
    "key_hash@1": key_hash,
    "key_matches@1": key_matches,
    "field_hash@1": field_hash,
    "field_between@1": field_between,
    "bytes_between@1": bytes_between,
    "length_between@1": length_between,
    "text_quality@1": text_quality,
    "matches@1": matches,
}

# ------------------------------------------------------------------------------------------------------ flat_map


def copies(sample, n):
    return [sample.fields] * n


def split(sample, field, at=10):
    parts = field_bytes(sample.field(field)).split(bytes([at]))
    return [{**sample.fields, field: part} for part in parts]


def windows(sample, field, length):
    type, raw = sample.row(field)
    step = length * size_of(type)
    parts = [raw[i : i + step] for i in range(0, len(raw), step)]
    return [{**sample.fields, field: like(sample.fields[field], part)} for part in parts]


def like(x, raw):
    """The field x, bytes or of rank 1, with other elements."""
    return type(x)(x.type, [len(raw) // size_of(x.type)], raw) if isinstance(x, Tensor) else raw


def chunks(sample, field, length, overlap=0):
    type, raw = sample.row(field)
    size = len(raw) // size_of(type)
    begins = [b for b in range(0, size, length - overlap) if b == 0 or b + overlap < size]
    return [{**sample.fields, field: like(sample.fields[field], raw[b * size_of(type) : (b + length) * size_of(type)])} for b in begins]


def key_of(sample, fields):
    """The hash by which deduplicate recognizes a sample."""
    return hash128(b"".join(number_bytes(len(x)) + x for x in (field_bytes(sample.field(name)) for name in fields))) & MASK


CHILDREN = {"copies@1": copies, "split@1": split, "windows@1": windows, "chunks@1": chunks}
NEEDS_NO_CONTENT = ("key_hash@1", "key_matches@1", "copies@1")

# ---------------------------------------------------------------------------------------------------------- scan


def running_count(total, sample, into):
    return total + 1, sample.but(**{into: scalar("i64", total)})


def running_sum(total, sample, field, into):
    x = sample.field(field)
    if not isinstance(x, Tensor) or x.dims or x.type.startswith("f"):
        raise BadSample(f"{field} of {sample.id} is no integer")
    total = (total + x.numbers()[0] + 2**63) % 2**64 - 2**63
    return total, sample.but(**{into: scalar("i64", total)})


SCANS = {"running_count@1": running_count, "running_sum@1": running_sum}

# ----------------------------------------------------------------------------------------------------------- map


def cast(sample, field, type):
    x = sample.field(field)
    if not isinstance(x, Tensor) or x.type not in CODES:
        raise BadSample(f"{field} of {sample.id} has no numbers")
    try:
        raw = vector(type, [element(y, type) for y in x.numbers()]).raw
    except ValueError:
        raise BadSample(f"{field} of {sample.id} is no {type}") from None
    return sample.but(**{field: raw if isinstance(x, Ragged) and type == "u8" and len(x.dims) == 1 else x._replace(type=type, raw=raw)})


def select(sample, fields):
    return Sample(sample.id, {name: sample.field(name) for name in fields})


def rename(sample, to, **options):
    old = options["from"]
    sample.field(old)
    if to in sample.fields:
        raise BadSample(f"{sample.id} has {to} already")
    return Sample(sample.id, {to if name == old else name: x for name, x in sample.fields.items()})


def int_label(sample, field):
    x = sample.field(field)
    if isinstance(x, Tensor) or not re.fullmatch(rb"\s*-?\d+\s*", x) or not -(2**63) <= int(x) < 2**63:
        raise BadSample(f"{field} of {sample.id} is no integer")
    rest = {name: x for name, x in sample.fields.items() if name != field}
    return Sample(sample.id, {**rest, "label": scalar("i64", int(x))})


def pad(sample, field, length, value=0):
    type, raw = sample.row(field)
    lacking = length - len(raw) // size_of(type)
    if lacking < 0:
        raise BadSample(f"{field} of {sample.id} is longer than {length}")
    filled = raw + elements(type, value) * lacking
    return sample.but(**{field: like(sample.fields[field], filled)})


def elements(type, value):
    """One element's bytes. Raises BadSample for numbers that this type cannot represent; fractions are rounded."""
    try:
        raw = struct.pack("<" + CODES[type], value)
    except (struct.error, OverflowError):
        raise BadSample(f"{value} is no {type}") from None
    if isinstance(value, int) and struct.unpack("<" + CODES[type], raw)[0] != value:
        raise BadSample(f"{value} is no {type}")
    return raw


def ragged(sample, field):
    x = sample.field(field)
    if isinstance(x, Ragged) or not isinstance(x, Tensor):
        return sample
    if not x.dims or 0 in x.dims[1:]:
        raise BadSample(f"{field} of {sample.id} has no elements to count")
    if x.type == "u8" and len(x.dims) == 1:
        return sample.but(**{field: x.raw})
    return sample.but(**{field: Ragged(*x)})


def truncate(sample, field, length):
    type, raw = sample.row(field)
    if not isinstance(sample.field(field), Tensor) and len(raw) > length:
        length = next((start for start in range(max(0, length - 3), length) if character(raw[start:]) > length - start), length)
    return sample.but(**{field: like(sample.fields[field], raw[: length * size_of(type)])})


def character(raw):
    """The number of bytes of the character with which these begin; 0 if it is not UTF-8."""
    for size in range(1, 5):
        try:
            if len(raw) >= size and len(raw[:size].decode()) == 1:
                return size
        except UnicodeDecodeError:
            pass
    return 0


def drop_fields(sample, fields):
    return Sample(sample.id, {name: x for name, x in sample.fields.items() if name not in fields})


def concat_fields(sample, fields, into, between=None):
    types, parts = zip(*map(sample.row, fields))
    if len(set(types)) > 1:
        raise BadSample(f"{fields} of {sample.id} are of several types")
    gap = b"" if between is None else elements(types[0], int(between))
    raw = gap.join(parts)
    kinds = [x for x in map(sample.field, fields)]
    if any(not isinstance(x, Tensor) for x in kinds):
        return sample.but(**{into: raw})
    return sample.but(**{into: like(next((x for x in kinds if isinstance(x, Ragged)), kinds[0]), raw)})


def whole_numbers(x):
    return [int(y) for y in (x if isinstance(x, list) else str(x).split(","))]


def add_tokens(sample, field, begin=(), end=()):
    type, raw = sample.row(field)
    before, after = (b"".join(elements(type, x) for x in whole_numbers(y)) if y != () else b"" for y in (begin, end))
    return sample.but(**{field: like(sample.fields[field], before + raw + after)})


def default_field(sample, field, value, type=None):
    x = sample.fields.get(field)
    number = {"i64": int, "f64": float, "u8": lambda x: int(x in (True, "true", 1, "1"))}
    if type is None:
        type = "u8" if isinstance(value, bool) else {int: "i64", float: "f64"}.get(value.__class__, "bytes")
    if x is not None and (type == "bytes" or x != b"null"):
        return sample
    if type == "bytes":
        return sample.but(**{field: unquote_to_bytes(str(value))})
    return sample.but(**{field: scalar(type, number[type](value))})


def loss_mask(sample, field, begin, end=(), include_end=True, into="loss_mask"):
    type, raw = sample.row(field)
    size = size_of(type)
    begin, end = (b"".join(elements(type, x) for x in whole_numbers(y)) if y != () else b"" for y in (begin, end))
    raw_at = lambda pattern, at: next((i for i in range(at, len(raw) - len(pattern) + 1, size) if raw[i : i + len(pattern)] == pattern), -1)
    mask, at = bytearray(len(raw) // size), 0
    while at < len(raw) and (found := raw_at(begin, at)) >= 0:
        first = found + len(begin)
        closed = raw_at(end, first) if end else -1
        at = len(raw) if closed < 0 else closed + len(end)
        last = at if include_end or closed < 0 else closed
        mask[first // size : last // size] = b"\1" * ((last - first) // size)
    x = sample.fields[field]
    ragged = not isinstance(x, Tensor) or isinstance(x, Ragged)
    return sample.but(**{into: bytes(mask) if ragged else Tensor("u8", [len(mask)], bytes(mask))})


def normalize_text(sample, field, spaces="lines", trim=True, line_ends=True, control=True, lower=False, unicode="keep"):
    x, white = text(sample, field), b"\t\n\v\f\r "
    if unicode != "keep":
        characters = x.decode("utf-8", "surrogateescape")
        run = 0
        for c in characters:
            run = run + 1 if unicodedata.combining(c) else 0
            if run > 1000:
                raise BadSample(f"{field} of {sample.id} has too many combining characters in a row")
        x = unicodedata.normalize(unicode.upper(), characters).encode("utf-8", "surrogateescape")
    if line_ends:
        x = re.sub(rb"\r\n?", b"\n", x)
    if control:
        x = re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", b"", x)
    if lower:
        x = re.sub(rb"[A-Z]", lambda c: c[0].lower(), x)
    if spaces == "lines":
        x = b"\n".join(re.sub(rb"[\t\v\f\r ]+", b" ", line.strip(white)) for line in x.split(b"\n"))
    if spaces == "all":
        x = re.sub(rb"[\t-\r ]+", b" ", x)
    return sample.but(**{field: x.strip(white) if trim else x})


@functools.lru_cache
def tokenizer_of(path):
    """The tokens of a byte-level tokenizer.json without a pattern: bytes to numbers, pairs in the order of their ranks, special ones."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    raw = lambda token: token.replace("Ġ", " ").encode()
    numbers = {raw(token): number for token, number in content["model"]["vocab"].items()}
    pairs = [tuple(raw(part) for part in x.split(" ")) for x in content["model"]["merges"]]
    return numbers, pairs, {x["content"].encode(): x["id"] for x in content["added_tokens"]}


def merged(raw, numbers, pairs):
    """The pair of the smallest rank, the first of equal ones, again and again. Bytes without a token are left out."""
    parts = [raw[i : i + 1] for i in range(len(raw)) if raw[i : i + 1] in numbers]
    while True:
        found = [(pairs.index(x), i) for i, x in enumerate(zip(parts, parts[1:])) if x in pairs]
        if not found:
            return [numbers[x] for x in parts]
        at = min(found)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def tokenize(sample, tokenizer, field="text", into="tokens", dtype="i32", add_special_tokens=False, max_tokens=MASK, keep_text=False, encode_special_tokens=False):
    x = text(sample, field)
    try:
        x.decode()
    except UnicodeDecodeError:
        raise BadSample(f"{field} of {sample.id} is not UTF-8") from None
    numbers, pairs, special = tokenizer_of(tokenizer)
    parts = [x] if encode_special_tokens else re.split(b"(" + b"|".join(map(re.escape, special)) + b")", x)
    tokens = [y for part in parts for y in ([special[part]] if part in special and not encode_special_tokens else merged(part, numbers, pairs))]
    after = [*special.values()] if add_special_tokens else []
    tokens = tokens[: int(max_tokens) - len(after)] + after
    rest = sample if keep_text or field == into else Sample(sample.id, {name: y for name, y in sample.fields.items() if name != field})
    return rest.but(**{into: b"".join(elements(dtype, y) for y in tokens) if dtype == "u8" else Ragged(*vector(dtype, tokens))})


@functools.lru_cache
def pieces_of(path):
    """The pieces of a model of SentencePiece, with numbers and scores, and special ones by their texts."""
    with open(path, "rb") as file:
        raw = file.read()
    at, number, pieces, special = 0, 0, {}, {}
    while raw[at] == 10:  # field 1: a piece, which has a text, a score and a type
        size, length = raw[at + 1], raw[at + 3]
        text = raw[at + 4 : at + 4 + length].decode()
        score, kind = struct.unpack("<f", raw[at + 5 + length : at + 9 + length])[0], raw[at + 10 + length]
        if kind == 1:
            pieces[text] = (number, score)
        else:
            special[text] = number
        at, number = at + 2 + size, number + 1
    return pieces, special


def best_pieces(text, pieces, unknown):
    """The pieces with the largest sum of scores; of equal ways to a place the one whose last piece is the longest."""
    of_unknown = min(score for _, score in pieces.values()) - 10
    ways = [(0, [])] + [None] * len(text)
    for end in range(1, len(text) + 1):
        for begin in range(end):
            number, score = pieces.get(text[begin:end], (unknown, of_unknown) if end == begin + 1 else (None, 0))
            if number is not None and (ways[end] is None or ways[begin][0] + score > ways[end][0]):
                ways[end] = (ways[begin][0] + score, [*ways[begin][1], number])
    numbers = ways[-1][1]
    return [x for i, x in enumerate(numbers) if x != unknown or i == 0 or numbers[i - 1] != unknown]


def sentencepiece(sample, model, field="text", into="tokens", keep_text=False, begin=False, end=False):
    x = text(sample, field)
    try:
        words = [word for word in x.decode().split(" ") if word]
    except UnicodeDecodeError:
        raise BadSample(f"{field} of {sample.id} is not UTF-8") from None
    pieces, special = pieces_of(model)
    tokens = best_pieces("".join("\u2581" + word for word in words), pieces, special["<unk>"])
    tokens = [special["<s>"]] * begin + tokens + [special["</s>"]] * end
    rest = sample if keep_text or field == into else Sample(sample.id, {name: y for name, y in sample.fields.items() if name != field})
    return rest.but(**{into: Ragged(*vector("i32", tokens))})


MAPS = {"select@1": select, "cast@1": cast, "rename@1": rename, "int_label@1": int_label, "pad@1": pad, "ragged@1": ragged,
        "truncate@1": truncate, "drop_fields@1": drop_fields, "concat_fields@1": concat_fields, "add_tokens@1": add_tokens,
        "default_field@1": default_field, "loss_mask@1": loss_mask, "normalize_text@1": normalize_text,
        "tokenize@1": tokenize, "sentencepiece@1": sentencepiece}  # fmt: skip


def parameters(node):
    return {name: x for name, x in node.options.items() if name != "name"}
