"""What is refused before anything is read: docs/pipelines.md, docs/iterators.md, and "refused" of docs/operators/."""

import re

from plain.functions import SHARES
from plain.samples import CODES, Undocumented
from plain.text_form import FUNCTION_CALLS, JOINS, OPTIONS
from plain.weights import BadWeights, phases

MOST = 2**64 - 1
LARGE = 100_000  # largest size of which the reference makes lists
WORDS = {
    ("shuffle", "kind"): ("full", "windowed", "none"), ("batch", "end"): ("drop", "mask", "cycle", "auto"),
    ("mix", "rule"): ("deficit", "random"), ("mix", "stop"): ("all", "first", "cycle"), ("mix", "schedule_by"): ("steps", "cost"),
    ("deduplicate", "kind"): ("window", "set"),
    ("read_files", "format"): ("tar", "lines", "json_lines"),
    ("pack", "fit"): ("first", "best"), ("pack", "cut"): ("never", "above", "always"),
    ("raw_records", "type"): ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64", "f16", "bf16"),
    ("tokens", "type"): ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"),
}  # fmt: skip
TEXTS = ("name", "field", "directory", "index_dir", "path", "type", "format", "folder", "file_order", "kind", "end", "rule", "stop", "cost", "schedule_by", "fit", "cut")
LISTS = {"patterns": str, "dims": int, "delimiter": int, "fields": str, "boundaries": int, "schedule": str, "types": str}
LEAST = {
    ("count", "bytes"): 1, ("lines", "ranges"): 1, ("json_lines", "ranges"): 1, ("shuffle", "window"): 1, ("repeat", "n"): 1,
    ("deduplicate", "keys"): 1, ("length_bucket", "group"): 1, ("pack", "length"): 1, ("tokens", "length"): 1, ("pack", "bins"): 1, ("batch", "rows"): 1,
}  # fmt: skip
# Functions: their parameters with kinds, and how many of these must be given.
FUNCTIONS = {
    "map": {"select@1": ({"fields": list}, 1), "rename@1": ({"from": str, "to": str}, 2), "int_label@1": ({"field": str}, 1),
            "pad@1": ({"field": str, "length": int, "value": float}, 2), "ragged@1": ({"field": str}, 1),
            "cast@1": ({"field": str, "type": str}, 2),
            "truncate@1": ({"field": str, "length": int}, 2), "drop_fields@1": ({"fields": list}, 1),
            "concat_fields@1": ({"fields": list, "into": str, "between": int}, 2),
            "add_tokens@1": ({"field": str, "begin": "numbers", "end": "numbers"}, 1),
            "default_field@1": ({"field": str, "value": "any", "type": str}, 2),
            "loss_mask@1": ({"field": str, "begin": "numbers", "end": "numbers", "include_end": bool, "into": str}, 2),
            "normalize_text@1": ({"field": str, "spaces": str, "trim": bool, "line_ends": bool, "control": bool, "lower": bool, "unicode": str}, 1),
            "tokenize@1": ({"tokenizer": str, "field": str, "into": str, "dtype": str, "add_special_tokens": bool, "max_tokens": int,
                            "keep_text": bool, "encode_special_tokens": bool}, 1),
            "sentencepiece@1": ({"model": str, "field": str, "into": str, "keep_text": bool, "begin": bool, "end": bool}, 1)},
    "filter": {"key_hash@1": ({"keep": int, "salt": int}, 1), "key_matches@1": ({"pattern": str}, 1),
               "field_hash@1": ({"field": str, "keep": int, "salt": int}, 2),
               "field_between@1": ({"field": str, "min": float, "max": float}, 1),
               "bytes_between@1": ({"field": str, "min": int, "max": int}, 1),
               "length_between@1": ({"field": str, "min": int, "max": int}, 1),
               "text_quality@1": ({"field": str, "min_words": int, "max_words": int, **{name: float for name in SHARES}}, 1),
               "matches@1": ({"field": str, "pattern": str, "whole": bool, "invert": bool}, 2)},
    "flat_map": {"copies@1": ({"n": int}, 1), "split@1": ({"field": str, "at": int}, 1),
                 "windows@1": ({"field": str, "length": int}, 2), "chunks@1": ({"field": str, "length": int, "overlap": int}, 2)},
    "scan": {"running_count@1": ({"into": str}, 1), "running_sum@1": ({"field": str, "into": str}, 2)},
}  # fmt: skip
TOKENIZER, MODEL = "tokenizer.json", "pieces.model"  # cases/data.py
IMAGES = ("decode_image@1", "train_image@1", "eval_image@1")


class Wrong(SyntaxError):
    """A pipeline that leat must refuse."""


def check(root):
    """Raises Wrong, and Undocumented for what is too large for the reference."""
    if root.op != "batch":
        raise Wrong("no batch at the end")
    for node in root.below():
        if node.op not in OPTIONS:
            raise Wrong(f"no call {node.op}")
        if node.op == "batch" and node is not root or bool(node.inputs) == (node.op in SOURCES):
            raise Wrong(f"{node.op} out of its place")
        if node.op not in JOINS and len(node.inputs) > 1:
            raise Wrong(f"{node.op} of several")
        check_options(node)
    check_passes(root, 1)
    check_schedules(root, True)
    sure_fields(root)


def check_schedules(node, in_last_round):
    """`in_last_round`: nothing above it probes content."""
    if node.op == "mix" and node.options["schedule"] and node.options["schedule_by"] == "steps" and not in_last_round:
        raise Wrong("a schedule below an operator that probes content")
    for x in node.inputs:
        check_schedules(x, in_last_round and not probes_content(node))


def may_change_weights(root):
    """Whether a job can change weights: there is one mix, below nothing that probes content. Its epoch must be endless, too."""

    def mixes(node, in_last_round):
        own = [in_last_round and node.options.get("schedule_by", "steps") == "steps"] if node.op == "mix" else []
        return own + [y for x in node.inputs for y in mixes(x, in_last_round and not probes_content(node))]

    return mixes(root, True) == [True]


def ends_pipeline(node):
    """The token_budget at a node, or with nothing but maps above it."""
    while node.op == "map":
        node = node.inputs[0]
    return node if node.op == "token_budget" else None


def probes_content(node):
    """docs/iterators.md, "Rounds"."""
    if node.op in ("filter", "flat_map"):
        return node.options["name"] not in ("key_hash@1", "key_matches@1", "copies@1")
    if node.op == "mix":
        return node.options["cost"] != "" and node.options["rule"] != "random"
    return node.op in ("read_files", "scan", "pack", "length_bucket", "token_budget", "deduplicate")


def check_passes(node, passes):
    """`passes`: how many the operator may have."""
    if passes > 2**128:
        raise Wrong("more than 2^128 passes")
    if node.op == "repeat":
        passes *= node.options["n"]
    if node.op == "mix" and node.options["stop"] == "cycle":
        passes *= 2**32
    for x in node.inputs:
        check_passes(x, passes)


def sure_fields(node):
    """docs/pipelines.md: "Fields that are sure"."""
    o, inputs = node.options, [sure_fields(x) for x in node.inputs]
    if node.op == "zip":
        if sum(map(len, inputs)) > len(set().union(*inputs)):
            raise Wrong("surely two fields of one name")
        return set().union(*inputs)
    if node.op in JOINS:
        return set.intersection(*inputs)
    if not node.inputs:
        return {OWN_FIELDS[node.op]} if node.op in OWN_FIELDS else set()
    if node.op == "map":
        return fields_after_map(o, inputs[0])
    if node.op == "read_files":
        return {"text"} if o["format"] == "lines" else set()
    if node.op == "pack":
        return {o["field"], *fields_of_pack(o)}
    added = {"enumerate": "field", "scan": "into"}.get(node.op)
    return inputs[0] | {o[added]} if added else inputs[0]


def fields_of_pack(o):
    """The fields that it adds to its own."""
    return [x for x in ("segment", "offset", "labels", "cu_seqlens") if o[x]] + ["longest"] * o["cu_seqlens"]


OWN_FIELDS = {"count": "value", "raw_records": "value", "npy": "value", "tokens": "tokens", "megatron": "tokens", "lines": "text", "standard_input": "text"}


def fields_after_map(o, fields):
    if o["name"] == "select@1":
        return set(o["fields"])
    if o["name"] == "rename@1":
        return fields - {o["from"]} | {o["to"]}
    if o["name"] == "int_label@1":
        return fields - set(o["field"].split(";")) | {"label"}
    if o["name"] == "drop_fields@1":
        return fields - set(o["fields"])
    if o["name"] == "concat_fields@1":
        return fields | {o["into"]}
    if o["name"] in ("tokenize@1", "sentencepiece@1"):
        text = o.get("field", "text")
        return (fields if o.get("keep_text", False) else fields - {text}) | {o.get("into", "tokens")}
    if o["name"] in ("default_field@1", "loss_mask@1"):
        return fields | {o["field"] if o["name"] == "default_field@1" else o.get("into", "loss_mask")}
    return fields


SOURCES = ("tar_shards", "image_folder", "count", "raw_records", "tokens", "npy", "megatron", "tar_stream", "lines", "json_lines", "standard_input")


def check_options(node):
    known, options = dict(OPTIONS[node.op]), dict(node.options)
    if node.op in FUNCTION_CALLS:
        check_function(node)
        options = {name: x for name, x in options.items() if name in known}
    for name, x in options.items():
        if name not in known:
            raise Wrong(f"no option {name} of {node.op}")
        if x is None:
            raise Wrong(f"{node.op} needs {name}")
        check_value(node, name, x)
    check_rules(node)


def check_value(node, name, x):
    if name in LISTS:
        fine = isinstance(x, list) and all(is_of(y, LISTS[name]) for y in x)
    elif name in TEXTS:
        fine = isinstance(x, str) and x in WORDS.get((node.op, name), (x,))
        fine = fine and (name != "file_order" or x in ("stored", "shuffled"))
    elif name == "p":
        fine = isinstance(x, (int, float)) and not isinstance(x, bool) and 0 <= x <= 1
    elif name == "weights":
        fine = isinstance(x, list) and all(is_number(y) for y in x)
    elif name == "temperature":
        fine = isinstance(x, (int, float)) and not isinstance(x, bool)
    elif name == "ignore_index":
        fine = isinstance(x, (int, float)) and not isinstance(x, bool) and -(2**53) < x < 2**53 and x == int(x)
    elif name in ("allow_torn", "split", "drop_last", "labels", "cu_seqlens", "segment", "offset", "padded"):
        fine = isinstance(x, bool)
    else:
        fine = is_of(x, int) and x >= LEAST.get((node.op, name), 0)
    if not fine:
        raise Wrong(f"{node.op}: {name}={x!r}")
    if name in ("records", "ranges", "rows", "length", "stride", "random_windows") and x > LARGE or name == "bytes" and x > 1000 or name == "bins" and x > LARGE:
        raise Undocumented(f"{name}={x} is too large for the reference")


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool) and x <= MOST


def is_of(x, kind):
    if kind is float:
        return isinstance(x, (int, float, str)) and not isinstance(x, bool) and is_float(x)
    return isinstance(x, kind) and not isinstance(x, bool) and (kind is not int or 0 <= x <= MOST)


def is_float(x):
    """A number; a whole one only if a float can represent it."""
    if isinstance(x, str):
        try:
            if " " in x or "_" in x or float(x) != float(x):
                return False
            x = int(x) if re.fullmatch(r"-?\d+", x) else float(x)
        except ValueError:
            return False
    return isinstance(x, float) or int(float(x)) == x


def check_function(node):
    name = node.options["name"]
    if not isinstance(name, str) or name in IMAGES:
        raise Undocumented("a function that the reference does not have")
    if name not in FUNCTIONS[node.op]:
        raise Wrong(f"no function {name}")
    known, needed = FUNCTIONS[node.op][name]
    given = {key: x for key, x in node.options.items() if key != "name"}
    if set(given) - set(known) or set(list(known)[:needed]) - set(given):
        raise Wrong(f"{name}: {list(given)}")
    for key, x in given.items():
        if known[key] in ("numbers", "any", bool):
            check_special(x, known[key])
            continue
        if known[key] is list and isinstance(x, str) and x and " " not in x:  # a function gets lists as texts, joined by commas
            x = given[key] = node.options[key] = x.split(",")
        if known[key] is list and not isinstance(x, list):
            raise Undocumented("a parameter that is to be a list, and is none")
        if known[key] is str and not isinstance(x, (str, list)) or known[key] is list and isinstance(x, list) and not all(map(is_text, x)):
            raise Undocumented("a parameter that is to be a text, and is none")
        if isinstance(x, str) and re.search(r"[,\t\n\v\f\r]", x):
            raise Undocumented("a text with commas or white space")
        if not is_of(x, known[key]) and not (known[key] is int and is_of(x, str) and x.isdigit() and is_of(int(x), int)):
            raise Wrong(f"{name}: {key}={x!r}")
        if isinstance(x, str) and (x == "" or " " in x) or known[key] is list and not all(is_word(y) for y in x):
            raise Wrong(f"{name}: {key}={x!r}")
    check_text_function(name, given)
    o = {key: float(x) if key in ("min", "max") else int(x) if known[key] is int else x for key, x in given.items()}
    if o.get("keep", 0) > 100 or o.get("at", 0) > 255 or o.get("min", -float("inf")) > o.get("max", float("inf")):
        raise Wrong(f"{name}: {given}")
    if o.get("fields") == []:
        raise Wrong("no fields to keep")
    if name in ("windows@1", "chunks@1", "truncate@1") and o["length"] == 0:
        raise Wrong(f"{name} of nothing")
    if name == "chunks@1" and o.get("overlap", 0) >= o["length"]:
        raise Wrong("chunks that do not go on")
    if max([o.get("n", 0), o.get("length", 0)]) > LARGE:
        raise Undocumented("too large for the reference")


def check_special(x, kind):
    """Checks kinds that only functions for text have; refuses to use what is not surely right."""
    if kind == "numbers":
        right = isinstance(x, list) and all(is_whole(y) for y in x)
    elif kind == "any":
        right = isinstance(x, (bool, str)) or is_whole(x) or isinstance(x, float) and x - x == 0
        right = right and not (isinstance(x, str) and re.search(r"[\s,%]|^[-0-9]", x))
    else:
        right = isinstance(x, bool)
    if not right:
        raise Undocumented(f"{x!r}")


def is_whole(x):
    return isinstance(x, int) and not isinstance(x, bool) and -(2**63) <= x < 2**63


def is_pattern(text):
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def check_text_function(name, o):
    shares = [float(o[x]) for x in o if x in SHARES and not x.endswith("word_length")]
    if name == "add_tokens@1" and not o.get("begin") and not o.get("end") or name == "loss_mask@1" and not o["begin"]:
        raise Wrong("no tokens")
    if name == "normalize_text@1" and o.get("spaces", "all") not in ("keep", "lines", "all"):
        raise Wrong("another kind of spaces")
    if name == "normalize_text@1" and o.get("unicode", "keep") not in ("keep", "nfc", "nfd", "nfkc", "nfkd"):
        raise Wrong("another form of Unicode")
    if name in ("tokenize@1", "sentencepiece@1"):
        check_tokenize(o)
    if name == "text_quality@1" and (len(o) == 1 or any(not 0 <= x <= 1 for x in shares)):
        raise Wrong("text_quality: no bounds, or no shares")
    for of in ("words", "word_length") if name == "text_quality@1" else ():
        if float(o.get(f"min_{of}", "-inf")) > float(o.get(f"max_{of}", "inf")):
            raise Wrong(f"text_quality: bounds of {of}")
    if name == "default_field@1" and "type" in o:
        right = {"i64": is_whole(o["value"]), "f64": isinstance(o["value"], float), "u8": isinstance(o["value"], bool)}
        if not right.get(o["type"], isinstance(o["value"], str) and o["type"] == "bytes"):
            raise Undocumented("a default that is written in another way")
    if name == "cast@1" and o["type"] not in CODES:  # 16-bit floats, too
        raise Wrong(f"cast to {o['type']}")
    if name == "matches@1" and not re.fullmatch(r"[\^$]?[a-z0-9\[\]+*.|()-]+[$]?", o["pattern"]):
        raise Undocumented("a pattern that may mean something else in Python")
    if name == "matches@1" and (re.search(r"[+*][+*]", o["pattern"]) or not is_pattern(o["pattern"])):
        raise Undocumented("a pattern that RE2 may refuse")


def check_tokenize(o):
    if o.get("tokenizer", TOKENIZER) != TOKENIZER or o.get("model", MODEL) != MODEL or any("%" in x for x in o.values() if isinstance(x, str)):
        raise Undocumented("another tokenizer, or names that are written in another way")
    if CODES.get(o.get("dtype", "i32"), "f") in "fd":
        raise Wrong(f"tokens of the type {o['dtype']}")
    if int(o.get("max_tokens", 1)) < 1:
        raise Wrong("no tokens")


def is_text(x):
    return isinstance(x, str)


def is_word(x):
    return is_text(x) and x != "" and " " not in x and "," not in x


def check_rules(node):
    o = node.options
    if node.op == "read_files" and o["types"] and o["format"] != "json_lines":
        raise Wrong("types of other files than JSON lines")
    if node.op in ("json_lines", "read_files"):
        names = [x.rpartition(":")[0] for x in o["types"]]
        if any(":" not in x or x.rpartition(":")[2] not in (*CODES, "bytes") for x in o["types"]) or len(set(names)) < len(names):
            raise Wrong(f"types {o['types']}")
    if node.op == "mix":
        try:
            phases(node)
        except BadWeights as problem:
            raise Wrong(f"weights {problem}") from None
        if o["max_repeats"] and (o["stop"] != "cycle" or o["max_repeats"] >= 2**32):
            raise Wrong("max_repeats")
        if o["schedule_by"] == "cost" and (not o["cost"] or o["rule"] == "random" or not o["schedule"]):
            raise Wrong("schedule_by")
    if node.op == "batch" and len(set(o["fields"])) != len(o["fields"]):
        raise Wrong(f"fields {o['fields']}")
    if node.op == "pack" and (len(o["delimiter"]) > 1 or o["field"] in ("", *fields_of_pack(o))):
        raise Wrong("pack")
    if node.op == "pack" and (o["split"] and o["cut"] == "above" or o["ignore_index"] != -100 and not o["labels"]):
        raise Wrong("options of pack that exclude each other")
    if node.op == "length_bucket":
        rising = all(a < b for a, b in zip(o["boundaries"], o["boundaries"][1:]))
        if not rising or not 1 <= len(o["boundaries"]) <= 2**16 or not o["field"]:
            raise Wrong(f"boundaries {o['boundaries']} of {o['field']}")
        if o["group"] > 2**24 or not o["group"] <= o["window"] <= 2**32:
            raise Wrong(f"a group of {o['group']} in a window of {o['window']}")
    if node.op == "token_budget" and (not 1 <= o["tokens"] <= 2**32 or not 1 <= o["rows"] <= 2**24 or not o["field"]):
        raise Wrong(f"{o['tokens']} tokens in {o['rows']} rows of {o['field']}")
    if node.op not in ("map", "batch") and any(ends_pipeline(x) for x in node.inputs):
        raise Wrong(f"{node.op} after token_budget")
    if node.op == "batch" and (end := ends_pipeline(node.inputs[0])) and end.options["rows"] != o["rows"]:
        raise Wrong("other rows than those of token_budget")
    if node.op == "shuffle_buffer" and o["n"] > 2**32:
        raise Wrong("a shuffle_buffer beyond its limit")
    if node.op == "deduplicate" and (o["keys"] > 2**32 or o["fields"] == [] or "" in o["fields"]):
        raise Wrong("deduplicate")
    if node.op == "tokens" and o["random_windows"] and (o["stride"] or not o["drop_last"]):
        raise Wrong("windows that are drawn, and that are not")
    if node.op == "enumerate" and not o["field"]:
        raise Wrong("a field without a name")
