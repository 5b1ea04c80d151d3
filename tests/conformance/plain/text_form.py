"""The text form of pipelines: docs/pipelines.md, "Syntax", and the calls of docs/pipelines.md and docs/iterators.md.

Pipelines with mistakes get Python's errors, not leat's.
"""

import re


class Node:
    """An operator: its options and its inputs."""

    def __init__(self, op, options, inputs):
        self.op, self.options, self.inputs = op, options, inputs
        self.indexed = None  # whether its order is indexed; not known yet

    def below(self):
        """This node and everything below it, from the root to the leaves, from left to right."""
        return [self] + [y for x in self.inputs for y in x.below()]

    def in_data_order(self):
        """The same nodes, inputs first."""
        return [y for x in self.inputs for y in x.in_data_order()] + [self]

    def sources(self):
        return [x for x in self.below() if not x.inputs]


FILE_ORDER = {"file_order": "stored", "seed": 0}

# The options of every call, in order, with their defaults; None: must be given.
OPTIONS = {
    "tar_shards": {"patterns": None, "index_dir": "", "allow_torn": False},
    "image_folder": {"directory": None, "index_dir": ""},
    "count": {"records": None, "bytes": 8},
    "raw_records": {"path": None, "type": None, "dims": None, "drop_last": False},
    "tokens": {"patterns": None, "type": None, "length": None, "stride": 0, "drop_last": True, "random_windows": 0, "seed": 0},
    "npy": {"patterns": None},
    "megatron": {"patterns": None},
    "tar_stream": {"patterns": None, **FILE_ORDER},
    "lines": {"patterns": None, "ranges": 1, **FILE_ORDER},
    "json_lines": {"patterns": None, "ranges": 1, **FILE_ORDER, "types": []},
    "standard_input": {},
    "shuffle": {"seed": 0, "kind": "full", "window": 4},
    "map": {"name": None},
    "take": {"n": None},
    "skip": {"n": None},
    "repeat": {"n": None},
    "enumerate": {"field": "index"},
    "zip": {},
    "concat": {},
    "filter": {"name": None},
    "sample": {"p": None, "seed": 0},
    "flat_map": {"name": None},
    "scan": {"name": None},
    "read_files": {"format": None, "field": "text", "folder": "", "types": []},
    "shuffle_buffer": {"n": None, "seed": 0},
    "deduplicate": {"fields": None, "keys": None, "kind": "window"},
    "length_bucket": {"field": None, "boundaries": None, "group": None, "window": None},
    "token_budget": {"field": None, "tokens": None, "rows": None, "padded": False},
    "pack": {"field": None, "length": None, "bins": 8, "split": False, "delimiter": [], "pad": 0, "fit": "first", "cut": "never",
             "labels": False, "ignore_index": -100, "cu_seqlens": False, "segment": True, "offset": True},
    "mix": {"weights": [], "rule": "deficit", "stop": "all", "cost": "", "seed": 0, "schedule": [], "temperature": 1,
            "max_repeats": 0, "schedule_by": "steps"},
    "batch": {"rows": None, "lanes": 0, "end": "auto", "fields": []},
}  # fmt: skip
JOINS = ("zip", "concat", "mix")
FUNCTION_CALLS = ("map", "filter", "flat_map", "scan")  # their parameters are options, too

TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
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
        if not match or match.lastgroup == "text" and "\n" in match.group():
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
    """Recursive descent: one method per rule of the grammar."""

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

    def word(self):
        if self.kind() != "word":
            raise SyntaxError(f"got {self.tokens[self.at][1]!r}, needed a word")
        return self.take()

    def pipeline(self):
        while self.next_is("=", ahead=1):
            name = self.word()
            self.take("=")
            if name in self.named or name in ("true", "false"):
                raise SyntaxError(f"the name {name}")
            self.named[name] = self.expression()
        root = self.expression()
        if self.kind() != "end":
            raise SyntaxError(f"got {self.take()!r} behind the pipeline")
        return root

    def expression(self):
        if self.next_is("(", ahead=1):
            node = self.call([])
        else:
            name = self.word()
            if name not in self.named:
                raise SyntaxError(f"no name {name}")
            node = self.named[name]
        while self.next_is("."):
            self.take(".")
            node = self.call([node])
        return node

    def call(self, inputs):
        op = self.word()
        values, by_name, more_inputs = [], {}, []
        self.take("(")
        while not self.next_is(")"):
            if self.next_is("=", ahead=1):
                name = self.word()
                self.take("=")
                if name in by_name:
                    raise SyntaxError(f"{name} twice")
                by_name[name] = self.value()
            elif by_name:
                raise SyntaxError("a value behind one that is given by name")
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
            number = int(text) if text.lstrip("-").isdigit() else float(text)
            if isinstance(number, int) and not -(2**63) <= number < 2**64:
                raise SyntaxError(f"got {text}, needed a number of 64 bits")
            return number
        if kind == "word" and text in ("true", "false"):
            return text == "true"
        if text != "[" or kind != "sign":
            raise SyntaxError(f"got {text!r}, needed a value")
        items = []
        while not self.next_is("]"):
            items.append(self.value())
            if not self.next_is("]"):
                self.take(",")
        self.take("]")
        return items


# The names of these options in texts; in nodes, and in older texts, they have their first names.
WRITTEN = {"count": {"record_bytes": "bytes"}, "raw_records": {"dtype": "type", "shape": "dims"}, "tokens": {"dtype": "type"},
           "map": {"dtype": "type"}}


def make_node(op, values, by_name, inputs):
    if op not in OPTIONS:
        raise SyntaxError(f"no call {op}")
    written = {} if "tokenize@1" in values else WRITTEN.get(op, {})  # which was never written otherwise
    first_names = [written.get(x, x) for x in by_name]
    if len(set(first_names)) < len(by_name):
        raise SyntaxError(f"an option of {op} by two names")
    by_name = dict(zip(first_names, by_name.values()))
    if op == "map" and not isinstance(by_name.pop("isolate", True), bool):  # where it runs changes nothing
        raise SyntaxError("isolate is true or false")
    if "patterns" in OPTIONS[op]:
        values = [values]
    defaults = OPTIONS[op]
    named = dict(zip(defaults, values))
    if len(values) > len(defaults) or set(named) & set(by_name) or op in JOINS and values:
        raise SyntaxError(f"too many values for {op}")
    return Node(op, {**defaults, **named, **by_name}, inputs)


def parse(text):
    """The root of the pipeline."""
    return Parser(text).pipeline()
