"""Hashes, random draws, permutations and orders: docs/order.md, docs/digest.md, and docs/iterators.md, "Draws"."""

import functools
import re
import struct

import xxhash

MASK = 2**64 - 1


def number_bytes(x):
    return struct.pack("<Q", x & MASK)


def raw_bytes(text):
    """The bytes of a text; lone surrogates stand for bytes that are not UTF-8, as in Python's file names."""
    return text.encode("utf-8", "surrogateescape")


def text_bytes(text):
    """Length and bytes, as texts enter hashes."""
    return number_bytes(len(raw_bytes(text))) + raw_bytes(text)


def hash128(data):
    return xxhash.xxh3_128_intdigest(data)


def pass_word(repeat_pass):
    """A pass as it enters hashes."""
    if repeat_pass < 2**64:
        return repeat_pass
    return hash128(repeat_pass.to_bytes(16, "little")) & MASK


def keyed(tag, *numbers):
    """The low half of the hash of a tag and numbers: keys of shuffles, and draws."""
    return hash128(text_bytes(tag) + b"".join(map(number_bytes, numbers))) & MASK


def mulhi(x, n):
    return x * n >> 64


def share(n, lane, lanes):
    return max(0, -(-(n - lane) // lanes))


def id_text(name):
    """A file's name in an id: bytes that are not UTF-8, and a backslash before an x, as \\xHH."""
    text = name.replace("\\x", "\\x5Cx")
    return re.sub("[\udc80-\udcff]", lambda byte: "\\x%02X" % (ord(byte.group()) - 0xDC00), text)


def row_digest(epoch, position, id):
    return hash128(number_bytes(epoch) + number_bytes(position) + id.encode())


# ------------------------------------------------------------------------------------------------------- orders


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


@functools.lru_cache(4096)
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
