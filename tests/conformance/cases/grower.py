"""Random trees, from the root to the leaves, each for the fields that it is to have."""

import itertools
from collections import Counter

from cases.data import FIELDS_OF_FORMATS, FOLDERS, MAX_LENGTH
from cases.kinds import element
from plain.text_form import Node


def rename(old, new, node):
    return Node("map", {"name": "rename@1", "from": old, "to": new}, [node])


def select(names, node):
    return Node("map", {"name": "select@1", "fields": list(names)}, [node])


# The fields that a pipeline's batches may have, by their kinds (cases/data.py).
INDEXED_ROOTS = (["u8x8"], ["u8x8"], ["u8x3"], ["bytes"], ["odd"], ["bytes", "bytes"], ["f32x3"], ["u8x8", "bytes"],
                ["int", "bytes"], ["int", "u8x8", "u8x3"])  # fmt: skip
OPEN_ROOTS = (["u8x8"], ["u8x3"], ["bytes"], ["bytes"], ["bytes", "bytes"], ["int", "bytes"], ["int", "float"],
              ["i64x7"], ["i64x16"], ["i64x20", "bytes"], ["u8x24"], ["float", "bytes", "int"])  # fmt: skip


class Grower:
    """`indexed`: only sources with an index, and operators that keep the order indexed."""

    def __init__(self, rng, data, indexed_only=False):
        self.rng, self.data, self.names = rng, data, (f"f{i}" for i in itertools.count())
        self.indexed = indexed_only or rng.random() < 0.25
        self.once = not self.indexed and rng.random() < 0.15  # standard input is still to be read

    def pipeline(self):
        o = {"rows": self.rng.choice((1, 2, 3, 4, 6, 8, 12, self.rng.randint(1, 20)))}
        o["lanes"] = self.rng.choice([0] + [x for x in range(1, o["rows"] + 1) if o["rows"] % x == 0])
        o["end"] = self.rng.choice(("drop", "mask", "auto") if self.indexed else ("drop", "mask", "cycle", "cycle", "auto"))
        if self.once:
            o["end"] = self.rng.choice(("drop", "mask", "auto"))
        self.lanes, self.rows = o["lanes"], o["rows"]
        wanted = self.wanted(self.rng.choice(INDEXED_ROOTS if self.indexed else OPEN_ROOTS))
        o["fields"] = self.rng.sample(list(wanted), len(wanted) - 1) if self.rng.random() < 0.2 else []
        if not self.indexed and self.rng.random() < 0.1:
            wanted = {"segment": "i32x9", "offset": "i32x9", next(self.names): self.rng.choice(("u8x9", "i64x9"))}
        return Node("batch", o, [self.tree(wanted, self.rng.randrange(11))])

    def wanted(self, kinds):
        wanted = {}
        for kind in kinds:
            own = {"u8x8": "value", "int": "index", "odd": "txt"}.get(kind)
            own_name = own and own not in wanted and self.rng.random() < 0.5
            wanted[own if own_name else next(self.names)] = kind
        return wanted

    def number(self):
        """Mostly enough for a few batches, sometimes for none."""
        return self.rng.randint(0, 3) if self.rng.random() < 0.08 else self.rng.randint(8, 60)

    def seed(self):
        return self.rng.choice((0, 1, 7, self.rng.getrandbits(64)))

    def some_field(self, wanted, *kinds):
        """A field of one of these kinds, or of any kind if none is named. None if there is no such field."""
        fit = [name for name, kind in wanted.items() if not kinds or kind in kinds]
        return self.rng.choice(fit) if fit else None

    # ------------------------------------------------------------------------------------------------ operators

    def tree(self, wanted, budget):
        """A tree of about `budget` operators whose samples have the fields `wanted`: name to kind."""
        if budget <= 0:
            return self.leaf(wanted)
        often = [self.take, self.skip, self.concat, *([] if self.once else [self.repeat])]
        seldom = [self.zip, self.enumerate, self.rename, self.select]
        if "segment" in wanted:
            often, seldom = often + [self.pack] * 4, []
        if self.indexed or all(map(has_indexed_source, wanted.values())):
            often += [self.shuffle] * (2 if self.indexed else 1)
        if not self.indexed:
            often += [self.filter, self.filter, self.sample, self.shuffle_buffer, self.shuffle_buffer, self.mix, self.mix]
            seldom += [self.copies, self.scan, self.taken_apart, self.pack, self.pack]
        return self.rng.choice(often * 2 + seldom)(wanted, budget - 1)

    def split(self, budget, parts):
        """Budgets that sum up to this one."""
        cuts = sorted(self.rng.randint(0, budget) for _ in range(parts - 1))
        return [b - a for a, b in zip([0] + cuts, cuts + [budget])]

    def shuffle(self, wanted, budget):
        was, self.indexed = self.indexed, True
        node = self.shuffled(self.tree(wanted, budget), self.rng.choice(("full", "full", "full", "none")))
        self.indexed = was
        return node

    def shuffled(self, node, kind):
        return Node("shuffle", {"seed": self.seed(), "kind": kind, "window": self.rng.randint(1, 5)}, [node])

    def take(self, wanted, budget):
        return Node("take", {"n": self.number()}, [self.tree(wanted, budget)])

    def skip(self, wanted, budget):
        n = self.rng.choice((self.rng.randint(0, 5), self.number()))
        return Node("skip", {"n": n}, [self.tree(wanted, budget)])

    def repeat(self, wanted, budget):
        return Node("repeat", {"n": self.rng.randint(1, 4)}, [self.tree(wanted, budget)])

    def several(self, wanted, budget):
        """Inputs of one kind."""
        if self.rng.random() < 0.2:  # the same input twice, perhaps under one name
            return [self.tree(wanted, budget // 2)] * 2
        return [self.tree(wanted, b) for b in self.split(budget, self.rng.choice((1, 2, 2, 3)))]

    def concat(self, wanted, budget):
        return Node("concat", {}, self.several(wanted, budget))

    def zip(self, wanted, budget):
        if self.rng.random() < 0.05:
            return Node("zip", {}, [self.tree(wanted, budget)])
        extra = {}
        if len(wanted) == 1 or self.rng.random() < 0.2:
            extra = {next(self.names): self.rng.choice(("u8x8", "bytes", "int"))}
        items = list({**wanted, **extra}.items())
        self.rng.shuffle(items)
        at = self.rng.randint(1, len(items) - 1)
        budgets = self.split(budget, 2)
        node = Node("zip", {}, [self.tree(dict(items[:at]), budgets[0]), self.tree(dict(items[at:]), budgets[1])])
        return select(wanted, node) if extra else node

    def enumerate(self, wanted, budget):
        return self.adding("int", wanted, budget, lambda field, node: Node("enumerate", {"field": field}, [node]))

    def adding(self, kind, wanted, budget, add):
        """An operator that adds a field: one that is wanted, or one that is dropped after it."""
        field = self.some_field(wanted, kind)
        if field is None:
            extra = next(self.names)
            return select(wanted, add(extra, self.tree(wanted, budget)))
        rest = {name: kind for name, kind in wanted.items() if name != field}
        if rest:
            return add(field, self.tree(rest, budget))
        return select([field], add(field, self.tree({next(self.names): "u8x8"}, budget)))

    def rename(self, wanted, budget):
        new = self.rng.choice(list(wanted))
        old = next(self.names)
        return rename(old, new, self.tree({old if name == new else name: kind for name, kind in wanted.items()}, budget))

    def select(self, wanted, budget):
        more = {next(self.names): self.rng.choice(("u8x8", "bytes", "int"))}
        return select(wanted, self.tree({**wanted, **more}, budget))

    def filter(self, wanted, budget):
        return Node("filter", self.predicate(wanted), [self.tree(wanted, budget)])

    def predicate(self, wanted):
        field, number = self.some_field(wanted), self.some_field(wanted, "int", "float", "digits")
        keep = {"keep": self.rng.choice((30, 60, 80, 95, 99)), "salt": self.rng.choice((0, 1, self.rng.getrandbits(64)))}
        choices = [
            {"name": "key_hash@1", **keep},
            {"name": "key_matches@1", "pattern": self.rng.choice(("*", "*[0-4]*", "*[!3]", "?*1*", "*/*[02468a]*", "[cs(]*"))},
            {"name": "field_hash@1", "field": field, **keep},
            {"name": "bytes_between@1", "field": field, **self.bounds(0, 20)},
        ]
        if number:
            choices += [{"name": "field_between@1", "field": number, **self.bounds(-5, 9)}] * 3
        return self.rng.choice(choices)

    def bounds(self, least, most):
        low = self.rng.randint(least, most)
        bounds = {"min": f"{low}.5" if low < 0 else low, "max": max(0, low) + self.rng.choice((0, 3, 10, 90))}
        for name in list(bounds):
            if self.rng.random() < 0.4:
                del bounds[name]
        return bounds

    def shuffle_buffer(self, wanted, budget):
        least = 2 * (self.lanes or self.rows)
        n = least + self.rng.choice((0, 1, self.rng.randint(0, 60)))
        return Node("shuffle_buffer", {"n": n, "seed": self.seed()}, [self.tree(wanted, budget)])

    def sample(self, wanted, budget):
        return Node("sample", {"p": self.rng.choice((0.5, 0.75, 0.9, 1)), "seed": self.seed()}, [self.tree(wanted, budget)])

    def mix(self, wanted, budget):
        inputs = self.several(wanted, budget)
        weights = [self.rng.choice((1, 1, 2, 3, 7)) for _ in inputs] if self.rng.random() < 0.7 else []
        cost = self.some_field(wanted) if self.rng.random() < 0.3 else ""
        o = {"weights": weights, "rule": self.rng.choice(("deficit", "random")), "cost": cost, "seed": self.seed(),
             "stop": self.rng.choice(("all", "all", "first", "cycle")), "schedule": [], "temperature": 1,
             "max_repeats": 0, "schedule_by": "steps"}  # fmt: skip
        if o["stop"] == "cycle":
            o["max_repeats"] = self.rng.choice((0, 1, 2, 3))
        elif cost and o["rule"] == "deficit" and self.rng.random() < 0.5:
            changes = sorted(self.rng.sample(range(1, 400), self.rng.randint(1, 3)))
            o["schedule"] = [f"{x}:{','.join(str(self.rng.choice((1, 2, 9))) for _ in inputs)}" for x in changes]
            o["schedule_by"] = "cost"
        return Node("mix", o, inputs)

    def copies(self, wanted, budget):
        o = {"name": "copies@1", "n": self.rng.choice((0, 1, 2, 3) if self.rng.random() < 0.2 else (2, 3))}
        return Node("flat_map", o, [self.tree(wanted, budget)])

    def scan(self, wanted, budget):
        def add(into, node):
            return Node("scan", {"name": "running_count@1", "into": into}, [node])

        if len(wanted) > 1 and self.rng.random() < 0.5:  # the sum of another field
            into = self.some_field(wanted, "int")
            rest = {name: kind for name, kind in wanted.items() if name != into}
            summed = self.some_field(rest, "int")
            if into and summed:
                o = {"name": "running_sum@1", "field": summed, "into": into}
                return Node("scan", o, [self.tree(rest, budget)])
        return self.adding("int", wanted, budget, add)

    def taken_apart(self, wanted, budget):
        """split or windows on bytes."""
        field = self.some_field(wanted, "bytes", "i64[]")
        if field is None:
            return self.filter(wanted, budget)
        o = {"name": "windows@1", "field": field, "length": self.rng.randint(1, MAX_LENGTH)}
        if wanted[field] == "bytes" and self.rng.random() < 0.5:
            o = {"name": "split@1", "field": field, "at": self.rng.choice((10, 44, ord("t")))}
        return Node("flat_map", o, [self.tree(wanted, budget)])

    def pack(self, wanted, budget):
        field = next((name for name, kind in wanted.items() if kind.startswith(("u8x", "i64x"))), None)
        if field is None or len(wanted) > 1 and "segment" not in wanted:
            return self.shuffle_buffer(wanted, budget)
        length = int(wanted[field].partition("x")[2])
        kind = "i64[]" if element(wanted[field]) == "i64" else self.rng.choice(("bytes", "bytes", "u8x5"))
        o = {"field": field, "length": length, "bins": self.rng.choice((1, 2, 3, 8)), "split": self.rng.random() < 0.4,
             "delimiter": [self.rng.randint(0, 99)] if self.rng.random() < 0.5 else [],
             "pad": self.rng.randint(0, 9), "fit": self.rng.choice(("first", "best"))}  # fmt: skip
        if not o["split"] and self.rng.random() < 0.5:
            o["cut"] = "above"
        node = self.tree({field: kind}, budget)
        if not o["split"] and "cut" not in o and length < MAX_LENGTH + 1:
            if length == 1:
                o["delimiter"] = []
            windows = {"name": "windows@1", "field": field, "length": self.rng.randint(1, length - len(o["delimiter"]))}
            node = Node("flat_map", windows, [node])
        node = Node("pack", o, [node])
        return node if "segment" in wanted else select([field], node)

    # --------------------------------------------------------------------------------------------------- leaves

    def leaf(self, wanted):
        """Sources, perhaps with a windowed shuffle or a filter, with no more sources or maps than necessary."""
        if "segment" in wanted:
            return self.pack(wanted, 0)
        fit = [x for x in self.data if self.fits(x, wanted)]
        if fit:
            ops = list(dict.fromkeys(map(op_of, fit)))
            op = self.rng.choice([x for x in ops if self.once and x == "standard_input"] or ops)
            source = self.rng.choice([x for x in fit if op_of(x) == op])
            self.once = self.once and op != "standard_input"
            return self.adapted(self.read(source), wanted)
        if len(wanted) > 1:
            items = list(wanted.items())
            return Node("zip", {}, [self.leaf(dict(items[:1])), self.leaf(dict(items[1:]))])
        ((name, kind),) = wanted.items()
        if kind == "int":
            return select([name], Node("enumerate", {"field": name}, [self.windowed(self.count(8))]))
        if kind.startswith("u8x"):
            return self.adapted((self.count(int(kind[3:])), {"value": kind}), wanted)
        if int(kind.partition("x")[2]) < MAX_LENGTH:
            return self.pack(wanted, 0)
        pad = {"name": "pad@1", "field": name, "length": int(kind.partition("x")[2]), "value": self.rng.randint(0, 9)}
        return Node("map", pad, [self.leaf({name: element(kind) + "[]"})])

    def fits(self, source, wanted):
        if source.units and (self.indexed or source.units < self.lanes):
            return False
        if source.call[0] == "standard_input" and not self.once:
            return False
        has, needs = Counter(map(plain_kind, fields_of(source).values())), Counter(wanted.values())
        return not needs - has

    def read(self, source):
        """A source's node and the kinds of its fields; sometimes with a filter on a number of bytes."""
        op, options = source.call
        if "file_order" in options and self.rng.random() < 0.5:
            options = {**options, "file_order": "shuffled", "seed": self.seed()}
        node = Node(op, options, [])
        if format_of(source):
            return self.read_files(node, format_of(source))
        field = self.some_field(source.fields, "digits")
        if field and not self.indexed and self.rng.random() < 0.1:
            node = Node("filter", {"name": "field_between@1", "field": field, **self.bounds(-2, 3)}, [node])
        return node, source.fields

    def read_files(self, names, format):
        """The files of a list, or of a part of it."""
        fields = {"text": "bytes"}
        for change in self.rng.sample((self.shuffle_buffer, self.take, self.skip, self.filter), self.rng.choice((0, 0, 1, 2))):
            above = change(fields, 0)
            names = Node(above.op, above.options, [names])
        o = {"format": format, "field": "text", "folder": FOLDERS[format]}
        return Node("read_files", o, [names]), FIELDS_OF_FORMATS[format]

    def count(self, record_bytes):
        return Node("count", {"records": self.number(), "bytes": record_bytes}, [])

    def adapted(self, source, wanted):
        """Chooses and renames fields of a source until they are those wanted."""
        node, fields = source
        fields = {name: plain_kind(kind) for name, kind in fields.items()}
        if self.rng.random() < 0.5:
            node = self.windowed(node)
        same = [name for name in wanted if fields.get(name) == wanted[name]]
        others = [name for name in fields if name not in same]
        self.rng.shuffle(others)
        pairs = []
        for new in (name for name in wanted if name not in same):
            old = next(name for name in others if fields[name] == wanted[new])
            others.remove(old)
            pairs.append((old, new))
        if others:
            node = select(same + [old for old, _ in pairs], node)
        for old, new in pairs:
            node = rename(old, new, node)
        shuffled = any(x.op == "shuffle" for x in node.below())
        return node if shuffled else self.windowed(node)

    def windowed(self, node):
        """Sometimes shuffles a source, or maps after one, by windows of files."""
        if any(x.op not in ("map", "count", "tar_shards", "image_folder", "raw_records", "tokens", "megatron") for x in node.below()):
            return node
        several_files = node.sources()[0].op in ("tar_shards", "tokens")
        return self.shuffled(node, "windowed") if self.rng.random() < (0.4 if several_files else 0.1) else node


def format_of(source):
    """The format of the files that it names; None if it names none."""
    kind, _, format = source.fields.get("text", "").partition(":")
    return format if kind == "names" else None


def op_of(source):
    return "read_files" if format_of(source) else source.call[0]


def fields_of(source):
    """The kinds of its records, or of those in the files that it names."""
    return FIELDS_OF_FORMATS[format_of(source)] if format_of(source) else source.fields


def plain_kind(kind):
    return "bytes" if kind == "digits" else kind


def has_indexed_source(kind):
    return kind in ("bytes", "odd", "int", "f32x3") or kind.startswith("u8x")
