"""What a tree's samples are: the kinds of their fields (cases/data.py), and how many there are at most."""

import json
import re

from cases.data import FIELDS_OF_FORMATS, FOLDERS, MAX_RECORDS
from plain.iterators import is_indexed
from plain.text_form import JOINS


class Invalid(Exception):
    """Raised for a pipeline that leat refuses, that has bad samples, or that is not suitable as a case."""


def is_row(kind):
    """Whether it is bytes, or of rank 1."""
    return element_is_byte(kind) or re.search(r"\dx|\[\]$", kind) is not None


def element(kind):
    return "u8" if element_is_byte(kind) else re.match(r"[a-z]\d+", kind).group()


def of_any_length(kind):
    return "bytes" if element_is_byte(kind) else element(kind) + "[]"


class Checker:
    """Fields and sizes of operators. Raises Invalid for what a case must not be."""

    def __init__(self, data):
        self.data = {json.dumps(without_order(x.call)): x for x in data}

    def source(self, node):
        return self.data[json.dumps(without_order((node.op, node.options)))]

    def fields(self, node):
        """The kind of each field that an operator's samples have."""
        inputs = [self.fields(x) for x in node.inputs]
        if node.op == "count":
            return {"value": f"u8x{node.options['bytes']}"}
        if not node.inputs:
            return self.source(node).fields
        check = getattr(self, "fields_of_" + node.op, None)
        return check(node, *inputs) if check else inputs[0]

    def fields_of_zip(self, node, *inputs):
        if sum(map(len, inputs)) != len({name for x in inputs for name in x}):
            raise Invalid("two fields of one name")
        return {name: kind for x in inputs for name, kind in x.items()}

    def fields_of_concat(self, node, *inputs):
        plain = [{name: "bytes" if kind == "digits" else kind for name, kind in x.items()} for x in inputs]
        if any(x != plain[0] for x in plain):
            raise Invalid("different fields behind each other")
        return plain[0]

    def fields_of_mix(self, node, *inputs):
        weights, cost = node.options["weights"], node.options["cost"]
        if weights and len(weights) != len(inputs) or cost and cost not in inputs[0]:
            raise Invalid("weights or a cost that do not fit")
        if cost and node.options["stop"] == "cycle" and "x" not in inputs[0][cost]:
            raise Invalid("a mix that may be endless")
        return self.fields_of_concat(node, *inputs)

    def fields_of_enumerate(self, node, fields):
        return added(fields, node.options["field"], "int")

    def fields_of_shuffle(self, node, fields):
        if node.options["kind"] == "windowed":
            below = node.inputs[0]
            while below.op == "map":
                below = below.inputs[0]
            if below.inputs:
                raise Invalid("a windowed shuffle that is not at a source")
        return fields

    def fields_of_batch(self, node, fields):
        o = node.options
        if o["lanes"] and o["rows"] % o["lanes"]:
            raise Invalid("lanes that do not divide the rows")
        check_once(node)
        fields = chosen(fields, o["fields"]) if o["fields"] else fields
        if any(kind.endswith("[]") for kind in fields.values()):
            raise Invalid("a field of different lengths in a batch")
        return fields

    def fields_of_map(self, node, fields):
        o = node.options
        if o["name"] == "rename@1":
            rest = {name: kind for name, kind in fields.items() if name != o["from"]}
            return added(rest, o["to"], field(fields, o["from"]))
        if o["name"] == "pad@1":
            kind = field(fields, o["field"])
            return {**fields, o["field"]: "bytes" if element_is_byte(kind) else f"{element(kind)}x{o['length']}"}
        return chosen(fields, o["fields"])

    def fields_of_filter(self, node, fields):
        o = node.options
        kind = field(fields, o["field"]) if "field" in o else None
        if o["name"] == "field_between@1" and kind not in ("int", "float", "digits"):
            raise Invalid("no number")
        return fields

    def fields_of_flat_map(self, node, fields):
        o = node.options
        if "field" not in o:
            return fields
        kind = field(fields, o["field"])
        if not is_row(kind) or o["name"] == "split@1" and not element_is_byte(kind):
            raise Invalid("nothing to be taken apart")
        return {**fields, o["field"]: of_any_length(kind)}

    def fields_of_read_files(self, node, fields):
        o = node.options
        if field(fields, o["field"]) != "names:" + o["format"] or o["folder"] != FOLDERS[o["format"]]:
            raise Invalid("no names of such files")
        return FIELDS_OF_FORMATS[o["format"]]

    def fields_of_scan(self, node, fields):
        if "field" in node.options and field(fields, node.options["field"]) != "int":
            raise Invalid("nothing to sum up")
        return added(fields, node.options["into"], "int")

    def fields_of_pack(self, node, fields):
        o = node.options
        kind = field(fields, o["field"])
        if not is_row(kind) or o["field"] in ("segment", "offset"):
            raise Invalid("nothing to pack")
        numbers = f"i32x{o['length']}"
        return {o["field"]: f"{element(kind)}x{o['length']}", "segment": numbers, "offset": numbers}

    def size(self, node):
        """At least as many as an operator gives in a pass."""
        o, inputs = node.options, [self.size(x) for x in node.inputs]
        if node.op == "count":
            return o["records"]
        if not node.inputs:
            return self.source(node).size
        if node.op == "mix" and o["stop"] == "cycle":
            weights = o["weights"] or [1] * len(inputs)
            most_expensive = 16 if o["cost"] else 1
            return max(2 * most_expensive * (n + 1) * sum(weights) // w for n, w in zip(inputs, weights))
        if node.op in JOINS:
            return min(inputs) if node.op == "zip" else sum(inputs)
        if node.op == "repeat":
            return inputs[0] * o["n"]
        if node.op == "take":
            return min(inputs[0], o["n"])
        if node.op == "skip":
            return max(0, inputs[0] - o["n"])
        if node.op == "flat_map":
            return inputs[0] * o.get("n", 3)
        return inputs[0] * {"pack": 2, "read_files": MAX_RECORDS}.get(node.op, 1)

    def largest(self, node):
        return max(self.size(x) for x in node.below())

    def wrong(self, node):
        """What is wrong with the records of its sources."""
        return {self.source(x).wrong for x in node.sources() if x.op != "count"} - {""}


def check_once(root):
    """Checks that standard input is read once: not by two sources, in another pass, or in another epoch."""
    if not reads_standard_input(root):
        return
    again = [x for x in root.below() if x.op == "repeat" or x.options.get("stop") == "cycle" or x.options.get("end") == "cycle"]
    if sum(x.op == "standard_input" for x in root.sources()) > 1 or any(map(reads_standard_input, again)):
        raise Invalid("standard input twice")


def reads_standard_input(node):
    return any(x.op == "standard_input" for x in node.sources())


def without_order(call):
    """A source's call without the options that do not affect its fields and size."""
    op, options = call
    return [op, {name: x for name, x in options.items() if name not in ("file_order", "seed")}]


def element_is_byte(kind):
    return kind in ("bytes", "digits")


def field(fields, name):
    if name not in fields:
        raise Invalid(f"no field {name}")
    return fields[name]


def chosen(fields, names):
    return {name: field(fields, name) for name in names}


def added(fields, name, kind):
    if name in fields:
        raise Invalid("two fields of one name")
    return {**fields, name: kind}


def is_endless(tree):
    end = tree.options["end"]
    return end == "cycle" or end == "auto" and not is_indexed(tree.inputs[0]) and not reads_standard_input(tree)
