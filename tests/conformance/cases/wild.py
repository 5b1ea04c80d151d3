"""Random trees whose samples may be anything: fields that are missing in some, or differ; operators that cannot judge their input.

Small on purpose: few lanes, few samples, but many nested operators, so that ends, repetitions and bad samples meet."""

from plain.checks import fields_of_pack
from plain.iterators import INDEXED_OPERATORS
from plain.text_form import Node

FIELDS = ("value", "tokens", "text", "txt", "cls", "i", "x", "a", "s", "d", "u")
TEXTS = ("text", "txt", "cls", "s", "d")
KINDS_OF_NUMBERS = ("i", "x", "d", "cls", "n")


class WildGrower:
    """`indexed`: only sources with an index, and operators that keep the order indexed."""

    def __init__(self, rng, stdin):
        self.rng, self.once, self.fresh = rng, stdin, 0
        self.indexed = not stdin and rng.random() < 0.12

    def pipeline(self):
        rng = self.rng
        rows = rng.choice((1, 1, 2, 2, 3, 4, 4, 6, 8))
        lanes = rng.choice([x for x in range(1, rows + 1) if rows % x == 0])
        ends = ("drop", "mask", "cycle", "auto") if not self.once else ("drop", "mask", "mask", "auto")
        self.lanes = lanes
        timed = not self.indexed and rng.random() < 0.2
        tree, fields = self.timed_mix() if timed else self.tree(rng.randrange(1, 10))
        if not timed and not self.indexed and rng.random() < 0.15:
            tree = self.token_budget(rows, tree, fields)
        chosen = rng.sample(fields, rng.randint(1, min(2, len(fields)))) if fields and rng.random() < 0.6 else []
        o = {"rows": rows, "lanes": lanes, "end": rng.choice(ends), "fields": chosen}
        return Node("batch", o, [tree])

    def token_budget(self, rows, node, fields):
        field = self.some(fields)
        o = {"field": field, "tokens": self.lanes * self.rng.choice((1, 5, 20, 60)) + self.rng.randint(0, 9), "rows": rows}
        node = self.over("token_budget", {**o, "padded": self.rng.random() < 0.4}, node)
        if self.rng.random() < 0.3:
            node = self.over("map", {"name": "ragged@1", "field": field}, node)
        return node

    def seed(self):
        return self.rng.choice((0, 1, 7, self.rng.getrandbits(64)))

    def number(self):
        return self.rng.choice((0, 1, 2, 3, self.rng.randint(0, 9), self.rng.randint(0, 30)))

    def some(self, fields):
        """Mostly one that exists."""
        return self.rng.choice(fields) if fields and self.rng.random() < 0.9 else self.rng.choice(FIELDS)

    def new_name(self):
        self.fresh += 1
        return f"f{self.fresh}"

    # Each of the following returns a node, and the names of fields that its samples are likely to have.

    def tree(self, budget, below_repeat=False):
        if budget <= 0:
            return self.leaf(below_repeat)
        ops = ["take", "skip", "concat", "zip", "enumerate", "map", "map"] + ([] if self.must_read_once(below_repeat) else ["repeat"] * 3)
        if self.indexed:
            ops += ["shuffle"] * 3
        else:
            ops += ["filter"] * 6 + ["sample"] * 2 + ["mix"] * 4 + ["flat_map"] * 2 + ["scan"] * 2 + ["length_bucket", "length_bucket", "pack", "shuffle_buffer", "shuffle_buffer", "zip", "zip", "deduplicate"]
            ops += ["read_files"] if self.rng.random() < 0.3 else []
            ops += ["zips_clash", "packs_mixed"]
            ops += ["ends_early"] * 2 + ([] if self.must_read_once(below_repeat) else ["cycles"] * 2)
        return getattr(self, self.rng.choice(ops))(budget - 1, below_repeat)

    def must_read_once(self, below_repeat):
        """Whether standard input has not been read yet, and must be read here."""
        return self.once and not below_repeat

    def over(self, op, options, input):
        if op == "map" and self.rng.random() < 0.04:
            options = {**options, "isolate": True}  # in child processes
        return Node(op, options, [input])

    def take(self, budget, below):
        node, fields = self.tree(budget, below)
        return self.over("take", {"n": self.number()}, node), fields

    def skip(self, budget, below):
        node, fields = self.tree(budget, below)
        return self.over("skip", {"n": self.rng.choice((0, 1, 2, self.number()))}, node), fields

    def repeat(self, budget, below):
        node, fields = self.tree(budget, True)
        return self.over("repeat", {"n": self.rng.choice((1, 2, 2, 3))}, node), fields

    def enumerate(self, budget, below):
        node, fields = self.tree(budget, below)
        name = self.new_name()
        return self.over("enumerate", {"field": name}, node), [*fields, name]

    def shuffle(self, budget, below):
        node, fields = self.tree(budget, below)
        return self.over("shuffle", {"seed": self.seed(), "kind": "full", "window": 4}, node), fields

    def map(self, budget, below):
        node, fields = self.tree(budget, below)
        field, kind = self.some(fields), self.rng.randrange(14)
        if kind == 13:
            return self.tokenize(field, node, fields) if self.rng.random() < 0.6 else self.sentencepiece(field, node, fields)
        if kind == 0:
            return self.over("map", {"name": "select@1", "fields": [field]}, node), [field]
        if kind == 1:
            name = self.new_name()
            renamed = [name if x == field else x for x in fields]
            return self.over("map", {"name": "rename@1", "from": field, "to": name}, node), renamed
        if kind == 2 and "label" not in fields:
            o = {"name": "int_label@1", "field": self.rng.choice([x for x in fields if x in ("d", "cls")] or [field])}
            return self.over("map", o, node), [*(x for x in fields if x != o["field"]), "label"]
        if kind == 4:
            return self.over("map", {"name": "ragged@1", "field": field}, node), fields
        if kind == 5:
            return self.over("map", {"name": "truncate@1", "field": field, "length": self.rng.randint(1, 9)}, node), fields
        if kind == 6:
            rest = [x for x in fields if x != field]
            return self.over("map", {"name": "drop_fields@1", "fields": [field]}, node), rest or fields
        if kind == 7:
            into = self.rng.choice((self.new_name(), field))
            o = {"name": "concat_fields@1", "fields": [field, self.some(fields)], "into": into}
            if self.rng.random() < 0.5:
                o["between"] = self.rng.choice((10, 300))
            return self.over("map", o, node), [*(x for x in fields if x != into), into]
        if kind >= 8:
            return self.text_map(kind, field, node, fields)
        o = {"name": "pad@1", "field": field, "length": self.rng.randint(0, 16), "value": self.rng.choice((0, 9, 255, 300))}
        return self.over("map", o, node), fields

    def tokenize(self, field, node, fields):
        rng = self.rng
        into = rng.choice((self.new_name(), self.new_name(), field, "tokens"))
        o = {"name": "tokenize@1", "tokenizer": "tokenizer.json", "field": field, "into": into, "dtype": rng.choice(("u8", "u16", "i32", "u32", "i64"))}
        o.update({x: rng.random() < 0.3 for x in ("add_special_tokens", "keep_text", "encode_special_tokens")})
        if rng.random() < 0.3:
            o["max_tokens"] = rng.randint(1, 5)
        rest = [x for x in fields if x != into and (x != field or o["keep_text"])]
        return self.over("map", o, node), [*rest, into]

    def sentencepiece(self, field, node, fields):
        into = self.rng.choice((self.new_name(), self.new_name(), field, "tokens"))
        o = {"name": "sentencepiece@1", "model": "pieces.model", "field": field, "into": into}
        o.update({x: self.rng.random() < 0.3 for x in ("keep_text", "begin", "end")})
        rest = [x for x in fields if x != into and (x != field or o["keep_text"])]
        return self.over("map", o, node), [*rest, into]

    def text_map(self, kind, field, node, fields):
        rng = self.rng
        tokens = lambda least: [rng.choice((0, 1, 2, 7, 97, 101, 300, -1)) for _ in range(rng.randint(least, 2))]
        if kind == 8:
            return self.over("map", {"name": "add_tokens@1", "field": field, "begin": tokens(0), "end": tokens(1)}, node), fields
        if kind == 9:
            name = rng.choice((field, *FIELDS))
            o = {"name": "default_field@1", "field": name, "value": rng.choice((0, -3, 0.5, 1.0, -0.0, True, "none", ""))}
            return self.over("map", o, node), [*(x for x in fields if x != name), name]
        if kind == 10:
            o = {"name": "loss_mask@1", "field": field, "begin": tokens(1)[:1], "end": tokens(0)[:1], "include_end": rng.random() < 0.5}
            into = o["into"] = rng.choice((self.new_name(), field))
            return self.over("map", o, node), [*(x for x in fields if x != into), into]
        if kind == 12:
            return self.over("map", {"name": "cast@1", "field": field, "type": rng.choice(("f64", "f32", "i64", "u8", "i16"))}, node), fields
        o = {"name": "normalize_text@1", "field": field, "spaces": rng.choice(("keep", "lines", "all"))}
        o.update({x: rng.random() < 0.5 for x in ("trim", "line_ends", "control", "lower")})
        if rng.random() < 0.5:
            o["unicode"] = rng.choice(("keep", "nfc", "nfd", "nfkc", "nfkd"))
        return self.over("map", o, node), fields

    def inputs(self, budget, below):
        count = self.rng.choice((1, 2, 2, 2, 3))
        cuts = sorted(self.rng.randint(0, budget) for _ in range(count - 1))
        budgets = [b - a for a, b in zip([0] + cuts, cuts + [budget])]
        reads = self.rng.randrange(count)
        result = []
        for i, b in enumerate(budgets):
            result.append(self.tree(b, below or i != reads))
        return result

    def concat(self, budget, below):
        inputs = self.inputs(budget, below)
        return Node("concat", {}, [x for x, _ in inputs]), inputs[0][1]

    def zip(self, budget, below):
        """Mostly fields with names of their own."""
        nodes, all_fields = [], []
        for node, fields in self.inputs(budget, below):
            both = [x for x in fields if x in all_fields]
            if both and self.rng.random() < 0.9:
                field, name = self.some(fields), self.new_name()
                node = self.over("map", {"name": "select@1", "fields": [field]}, node)
                node = self.over("map", {"name": "rename@1", "from": field, "to": name}, node)
                fields = [name]
            nodes.append(node)
            all_fields += fields
        return Node("zip", {}, nodes), all_fields

    def zips_clash(self, budget, below):
        """A zip of which one side has a field that samples of the other may have, too."""
        node, fields = self.tree(budget, below)
        other, others = self.leaf(True)
        name, old = self.some(fields), self.rng.choice(others)
        if old != name:
            other = self.over("map", {"name": "rename@1", "from": old, "to": name}, other)
        if self.rng.random() < 0.5:
            other = self.over("map", {"name": "select@1", "fields": [name]}, other)
        pair = [node, other] if self.rng.random() < 0.5 else [other, node]
        return Node("zip", {}, pair), [*fields, name]

    def packs_mixed(self, budget, below):
        """Documents of several types, and numbers that some types do not have."""
        rng, sources = self.rng, [self.records, self.mixed, self.good_json, self.plain_lines, self.count]
        inputs = []
        for source in rng.sample(sources, rng.choice((2, 2, 3))):
            node, fields = source()
            old = "a" if "a" in fields else fields[0]
            if old != "a":
                node = self.over("map", {"name": "rename@1", "from": old, "to": "a"}, node)
            inputs.append(node)
        o = {"weights": [], "rule": rng.choice(("deficit", "random")), "stop": "all", "seed": self.seed(), "cost": ""}
        node = Node("mix", o, inputs) if rng.random() < 0.7 else Node("concat", {}, inputs)
        o = {"field": "a", "length": rng.randint(4, 40), "bins": rng.choice((1, 2, 3, 8)), "split": rng.random() < 0.4,
             "delimiter": [rng.choice((0, 99, 127, 255, 300))] if rng.random() < 0.4 else [],
             "pad": rng.choice((0, 0, 9, 200, 300, 70000, 2**24 + 1, 2**63))}  # fmt: skip
        return self.packed(o, node)

    def ends_early(self, budget, below):
        """A round of an operator that probes content, below a join that ends before it."""
        node, fields = self.tree(budget, below)
        for _ in range(self.rng.randint(1, 3)):
            node, fields = self.content(node, fields)
        name = self.new_name()
        short = Node("count", {"records": self.lanes * self.rng.randint(0, 5), "bytes": 8}, [])
        if "value" in fields or self.rng.random() < 0.3:
            short = self.over("map", {"name": "rename@1", "from": "value", "to": name}, short)
        else:
            name = "value"
        if self.rng.random() < 0.5:
            short = self.over("filter", {"name": "bytes_between@1", "field": name}, short)
        kind = self.rng.randrange(4)
        if kind == 0:
            node, fields = self.over("take", {"n": self.lanes * self.rng.randint(0, 5)}, node), fields
        elif kind == 1:
            o = {"weights": [], "rule": "random", "stop": "first", "seed": self.seed(), "cost": ""}
            node, fields = Node("mix", o, [node, short]), [*fields, name]
        else:
            pair = [node, short] if kind == 2 else [short, node]
            node, fields = Node("zip", {}, pair), [*fields, name]
        return node, fields

    def content(self, node, fields):
        """One more operator that probes content, perhaps that of a map."""
        if fields and self.rng.random() < 0.5:
            node = self.over("map", {"name": "select@1", "fields": fields[:2]}, node)
            fields = fields[:2]
        if self.rng.random() < 0.5:
            into = self.new_name()
            node = self.over("scan", {"name": "running_count@1", "into": into}, node)
            return self.over("map", {"name": "select@1", "fields": [into]}, node), [into]
        return self.over("filter", {"name": "bytes_between@1", "field": self.some(fields)}, node), fields

    def cycles(self, budget, below):
        """Nested repetitions, over a round of an operator that probes content."""
        node, fields = self.filter(budget // 2, True)
        for _ in range(self.rng.randint(2, 4)):
            if self.rng.random() < 0.3:
                node = self.over("repeat", {"n": self.rng.randint(1, 3)}, node)
                continue
            inputs = [node] + [self.tree(0, True)[0] for _ in range(self.rng.randrange(2))]
            self.rng.shuffle(inputs)
            o = {"weights": [], "rule": self.rng.choice(("deficit", "random")), "stop": "cycle", "seed": self.seed(), "cost": "",
                 "schedule": [], "temperature": 1}  # fmt: skip
            node = Node("mix", o, inputs)
            if self.rng.random() < 0.3:
                node, fields = self.content(node, fields)
        return node, fields

    def mix(self, budget, below):
        cycle = not self.must_read_once(below) and self.rng.random() < 0.5
        inputs = self.inputs(budget, below or cycle)
        rule = self.rng.choice(("deficit", "random"))
        o = {"weights": [1, *(self.rng.choice((1, 2, 3, 0, 0.5, 0.7, 1.25, 1 / 3)) for _ in inputs[1:])] if self.rng.random() < 0.6 else [], "rule": rule,
             "stop": "cycle" if cycle else self.rng.choice(("all", "all", "first")), "seed": self.seed(),
             "cost": self.some(inputs[0][1]) if rule == "deficit" and self.rng.random() < 0.3 else "",
             "schedule": self.schedule(len(inputs)), "temperature": self.rng.choice((1, 1, 1, 0.5, 2, 3.5)),
             "max_repeats": self.rng.choice((0, 1, 1, 2, 3, 2**32)) if cycle else self.rng.choice((0,) * 30 + (1,)),
             "schedule_by": "steps"}  # fmt: skip
        if o["cost"] and o["schedule"] and self.rng.random() < 0.6 or self.rng.random() < 0.01:
            o["schedule_by"] = "cost"
            times = self.rng.choice((1, 5, 30))
            o["schedule"] = [f"{times * int(step)}:{weights}" for step, weights in (x.split(":") for x in o["schedule"])]
        return Node("mix", o, [x for x, _ in inputs]), inputs[0][1]

    def timed_mix(self):
        """A mix that knows the steps that its items are for, as nothing above it probes content."""
        rng, once = self.rng, self.once
        node, fields = self.mix(rng.randrange(6), False)
        for _ in range(rng.randrange(3)):
            op, o = rng.choice((("shuffle_buffer", {"n": rng.randint(4, 20), "seed": self.seed()}), ("repeat", {"n": rng.choice((1, 2))}),
                                ("filter", {"name": "key_hash@1", "keep": 60}), ("take", {"n": self.number()}),
                                ("flat_map", {"name": "copies@1", "n": rng.choice((1, 2))})))  # fmt: skip
            node = node if op == "repeat" and once else self.over(op, o, node)
        return node, fields

    def schedule(self, inputs):
        steps = sorted(self.rng.sample(range(1, 9), self.rng.randint(1, 3))) if self.rng.random() < 0.5 else []
        weights = [[self.rng.choice((1, 1, 3)), *(self.rng.choice((0, 1, 2, 0.25, 1e9)) for _ in range(inputs - 1))] for _ in steps]
        return [f"{step}:{','.join(map(str, x))}" for step, x in zip(steps, weights)]

    def filter(self, budget, below):
        node, fields = self.tree(budget, below)
        keep = {"keep": self.rng.choice((20, 50, 80, 95)), "salt": self.rng.choice((0, 1, 2, 3))}
        numbers = [x for x in fields if x in KINDS_OF_NUMBERS]
        choices = [
            {"name": "bytes_between@1", "field": self.some(fields), **self.bounds(0, 8)},
            {"name": "bytes_between@1", "field": self.some(fields)},
            {"name": "field_hash@1", "field": self.some(fields), **keep},
            {"name": "field_between@1", "field": self.some(numbers or fields), **self.bounds(-3, 5)},
            {"name": "key_hash@1", **keep},
            {"name": "length_between@1", "field": self.some(fields), **self.bounds(0, 8)},
            {"name": "text_quality@1", "field": self.some(fields), **self.quality()},
            {"name": "matches@1", "field": self.some(fields), "pattern": self.rng.choice(("[0-3]", "^[a-m]", "e|o", "[a-z0-9]*")),
             "whole": self.rng.random() < 0.3, "invert": self.rng.random() < 0.5},
        ]  # fmt: skip
        return self.over("filter", self.rng.choice(choices), node), fields

    def quality(self):
        shares = ("min_letters", "max_digits", "max_symbols", "min_words_with_letters", "max_repeated_lines", "min_ended_lines")
        bounds = {x: self.rng.choice((0, 0.25, 0.5, 0.8)) for x in self.rng.sample(shares, self.rng.randint(0, 2))}
        return {**bounds, self.rng.choice(("min_words", "max_words", "min_word_length", "max_word_length")): self.rng.randint(1, 5)}

    def deduplicate(self, budget, below):
        node, fields = self.tree(budget, below)
        keys = self.lanes * self.rng.choice((1, 1, 2, 5, 100)) + self.rng.choice((0, 0, 1))
        o = {"fields": [self.some(fields) for _ in range(self.rng.choice((1, 1, 2)))], "keys": keys, "kind": self.rng.choice(("window", "window", "set"))}
        return self.over("deduplicate", o, node), fields

    def bounds(self, least, most):
        low = self.rng.randint(least, most)
        bounds = {"min": str(low) if low < 0 else low, "max": max(0, low) + self.rng.choice((0, 3, 10))}
        return {name: x for name, x in bounds.items() if self.rng.random() < 0.6}

    def flat_map(self, budget, below):
        node, fields = self.tree(budget, below)
        choices = [
            {"name": "copies@1", "n": self.rng.choice((0, 1, 2, 2, 3))},
            {"name": "windows@1", "field": self.some(fields), "length": self.rng.randint(1, 6)},
            {"name": "split@1", "field": self.some(fields), "at": self.rng.choice((10, 44, 116))},
            {"name": "chunks@1", "field": self.some(fields), "length": 4, "overlap": self.rng.randrange(4)},
        ]
        return self.over("flat_map", self.rng.choice(choices), node), fields

    def scan(self, budget, below):
        node, fields = self.tree(budget, below)
        into = self.new_name()
        o = {"name": "running_count@1", "into": into}
        if self.rng.random() < 0.4:
            o = {"name": "running_sum@1", "field": self.some(fields), "into": into}
        return self.over("scan", o, node), [*fields, into]

    def pack(self, budget, below):
        node, fields = self.tree(budget, below)
        field = self.some([x for x in fields if x not in ("segment", "offset", "labels", "cu_seqlens", "longest")])
        o = {"field": field, "length": self.rng.randint(1, 16), "bins": self.rng.choice((1, 2, 3, 8)),
             "split": self.rng.random() < 0.4, "delimiter": [self.rng.randint(0, 99)] if self.rng.random() < 0.4 else [],
             "pad": self.rng.randint(0, 9)}  # fmt: skip
        return self.packed(o, node)

    def packed(self, o, node):
        """With some of the options that need not be given."""
        o["fit"] = self.rng.choice(("first", "first", "best"))
        if not o["split"]:
            o["cut"] = self.rng.choice(("never", "above", "above", "always"))
        if self.rng.random() < 0.4:
            o["labels"] = True
            o["ignore_index"] = self.rng.choice((-100, -1, 0, 7))
        if self.rng.random() < 0.4:
            o["cu_seqlens"] = True
        for name in ("segment", "offset"):
            if self.rng.random() < 0.2:
                o[name] = False
        added = fields_of_pack({"labels": False, "cu_seqlens": False, "segment": True, "offset": True, **o})
        node = self.over("pack", o, node)
        if "cu_seqlens" in added and self.rng.random() < 0.3:
            return self.over("filter", {"name": "field_between@1", "field": "longest", "min": self.rng.randint(0, 9)}, node), [o["field"], *added]
        return node, [o["field"], *added]

    def sample(self, budget, below):
        node, fields = self.tree(budget, below)
        return self.over("sample", {"p": self.rng.choice((0, 0.25, 0.5, 0.9, 0.999, 1)), "seed": self.seed()}, node), fields

    def shuffle_buffer(self, budget, below):
        node, fields = self.tree(budget, below)
        n = self.lanes * 2 + self.rng.choice((0, 1, 2, self.rng.randint(0, 20)))
        return self.over("shuffle_buffer", {"n": n, "seed": self.seed()}, node), fields

    def length_bucket(self, budget, below):
        node, fields = self.tree(budget, below)
        boundaries = sorted(self.rng.sample(range(12), self.rng.choice((1, 2, 2, 4))))
        group = self.lanes * self.rng.choice((1, 1, 2, 3, 4))
        o = {"field": self.some(fields), "boundaries": boundaries, "group": group,
             "window": group + self.rng.choice((0, 1, self.rng.randint(0, 3 * group), 30))}  # fmt: skip
        return self.over("length_bucket", o, node), fields

    def read_files(self, budget, below):
        """read_files over a list of names, or over standard input if that is one."""
        if self.must_read_once(below) and self.once == "names":
            self.once = None
            names = Node("standard_input", {}, [])
        else:
            names = self.lines("lines", ["lists/wild.txt"])
        if self.rng.random() < 0.5:
            names = self.over(*self.rng.choice((("take", {"n": self.number()}), ("repeat", {"n": 2}) if not self.once else ("skip", {"n": 1}),
                                                ("filter", {"name": "key_hash@1", "keep": 60, "salt": 0}))), names)  # fmt: skip
            if names.op == "repeat" and names.inputs[0].op == "standard_input":
                names = names.inputs[0]
        types = self.types() if self.rng.random() < 0.4 else []
        return Node("read_files", {"format": "json_lines", "field": "text", "folder": "mixed", "types": types}, [names]), ["i", "x", "a", "s"]

    def lines(self, op, patterns, ranges=None):
        shuffled = self.rng.random() < 0.4
        o = {"patterns": patterns, "ranges": self.rng.choice((self.lanes, self.lanes + 1, 2 * self.lanes)),
             "file_order": "shuffled" if shuffled else "stored", "seed": self.seed() if shuffled else 0}  # fmt: skip
        if op == "json_lines":
            o["types"] = self.types() if self.rng.random() < 0.4 else []
        return Node(op, o, [])

    def types(self):
        fields = self.rng.sample(("i", "x", "a", "s", "u"), self.rng.randint(1, 3))
        return [f"{x}:{self.rng.choice(('f64', 'f32', 'u64', 'i64', 'i32', 'u8', 'bytes'))}" for x in fields]

    def leaf(self, below):
        rng = self.rng
        if self.must_read_once(below):
            if self.once == "names":
                return self.read_files(0, below)
            self.once = None
            return Node("standard_input", {}, []), ["text"]
        sources = [self.count] * 5 + [self.odd_shards, self.records, self.arrays, self.windows, self.documents]
        if not self.indexed:
            sources += [self.mixed] * 4 + [self.plain_lines, self.good_json]
        node, fields = rng.choice(sources)()
        texts = [x for x in fields if x in TEXTS]
        return self.tokenize(rng.choice(texts), node, fields) if texts and rng.random() < 0.25 else (node, fields)

    def count(self):
        return Node("count", {"records": self.number(), "bytes": self.rng.choice((1, 4, 8, 8))}, []), ["value"]

    def odd_shards(self):
        patterns, fields = self.rng.choice(((["tar/odd-{0..2}.tar"], ["txt"]), (["tar/even-{0..4}.tar"], ["txt", "cls"])))
        return Node("tar_shards", {"patterns": patterns, "index_dir": "", "allow_torn": False}, []), fields

    def records(self):
        o = self.rng.choice(({"type": "f32", "dims": [3]}, {"type": "i16", "dims": [6]}, {"type": "u8", "dims": []}, {"type": "i32", "dims": []}))
        return Node("raw_records", {"path": "raw/few.bin", **o}, []), ["value"]

    def arrays(self):
        return Node("npy", {"patterns": [self.rng.choice(("arrays/rows-*.npy", "arrays/tokens.npy"))]}, []), ["value"]

    def windows(self):
        rng = self.rng
        patterns, type = rng.choice(((["raw/few.bin"], "i16"), (["arrays/tokens.npy", "raw/few.bin"], "u16"), (["raw/few.bin"], "u8")))
        o = {"patterns": patterns, "type": type, "length": rng.randint(1, 9), "stride": rng.choice((0, 0, rng.randint(1, 12))),
             "drop_last": rng.random() < 0.6, "random_windows": 0, "seed": rng.choice((0, 3))}  # fmt: skip
        if rng.random() < 0.3:
            o |= {"stride": 0, "drop_last": True, "random_windows": rng.randint(1, 20), "seed": self.seed()}
        return Node("tokens", o, []), ["tokens"]

    def documents(self):
        patterns = self.rng.choice((["megatron/a"], ["megatron/{b,a}"], ["megatron/*.bin"]))
        return Node("megatron", {"patterns": patterns}, []), ["tokens"]

    def mixed(self):
        return self.lines("json_lines", ["mixed/*.jsonl"]), ["i", "x", "a", "s", "u"]

    def good_json(self):
        return self.lines("json_lines", [self.rng.choice(("json/{0,1,5}.jsonl", "json/*.bad"))]), ["i", "x", "a", "s", "d"]

    def plain_lines(self):
        return self.lines("lines", ["lines/{0,1,5}.txt"]), ["text"]
