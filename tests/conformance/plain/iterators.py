"""What each lane of a pipeline gives: docs/iterators.md; indexed parts: docs/pipelines.md and docs/order.md.

An indexed part is the list of its whole epoch. Everything else is one generator per lane, neither saved nor shared.
"""

import itertools
import math
import os
import struct

from plain import functions
from plain.hashes import MASK, hash128, keyed, mulhi, number_bytes, pass_word, permutation, raw_bytes, share, text_bytes, windowed_order
from plain.samples import CODES, BadSample, Ragged, Refused, Sample, Tensor, field_bytes, scalar, size_of, vector
from plain.sources import INDEXED, STREAMS, is_blank, records_of_file
from plain.weights import phases

INDEXED_OPERATORS = (*INDEXED, "shuffle", "map", "take", "skip", "repeat", "enumerate", "zip", "concat")


def is_indexed(node):
    if node.indexed is None:
        node.indexed = node.op in INDEXED_OPERATORS and all(map(is_indexed, node.inputs))
    return node.indexed


BLANK = Sample("blank", None)  # a row of a batch without a sample


class TooLong(Exception):
    """Raised if there are more items than the limit."""


# -------------------------------------------------------------------------------------------------- indexed parts


class IndexedPart:
    """All samples that an indexed operator gives in an epoch, for a number of lanes. `left`: items that may still be looked at."""

    def __init__(self, lanes, limit=None):
        self.lanes, self.known, self.left = lanes, {}, float("inf") if limit is None else limit

    def spend(self, items):
        self.left -= items
        if self.left < 0:
            raise TooLong

    def samples(self, node, epoch, repeat_pass):
        key = (id(node), epoch, repeat_pass)
        if key not in self.known:
            self.known[key] = self.made(node, epoch, repeat_pass)
            self.spend(len(self.known[key]))
        return self.known[key]

    def made(self, node, epoch, repeat_pass):
        if not node.inputs:
            return node.source.records
        if node.op == "repeat":
            n = node.options["n"]
            self.spend(n)
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
            return [numbered(x, node.options["field"], p) for p, x in enumerate(inputs[0])]
        if node.op == "map":
            return [mapped(x, node) for x in inputs[0]]
        return [inputs[0][i] for i in self.shuffled(node, len(inputs[0]), epoch, repeat_pass)]

    def shuffled(self, node, n, epoch, repeat_pass):
        """The number of the input's sample at each place."""
        kind = node.options["kind"]
        if kind == "none":
            return range(n)
        if kind == "full":
            return permutation(n, shuffle_key("leat.order.full", node, epoch, repeat_pass))
        return windowed_order(
            node.sources()[0].source.records_per_file,
            node.options["window"],
            self.lanes,
            shuffle_key("leat.order.files", node, epoch, repeat_pass),
            shuffle_key("leat.order.windows", node, epoch, repeat_pass),
        )


def shuffle_key(tag, node, epoch, repeat_pass):
    sources = node.sources()
    digest = sources[0].source.digest
    if len(sources) > 1:
        halves = [number_bytes(x.source.digest) + number_bytes(x.source.digest >> 64) for x in sources]
        digest = hash128(b"".join(halves))
    words = [node.options["seed"], epoch, pass_word(repeat_pass), sources[0].ordinal, digest, digest >> 64]
    between, below = 0, node.inputs[0]
    while below.inputs:
        between += below.op == "shuffle"
        below = below.inputs[0]
    return keyed(tag, *words, *([between] if between else []))


# ---------------------------------------------------------------------------------------------------- one sample


def zipped(together):
    id, fields = joined_ids(together), {}
    if any(x.bad for x in together):
        return Sample(id, None)
    for x in together:
        if set(fields) & set(x.fields):
            return Sample(id, None)
        fields.update(x.fields)
    return Sample(id, fields)


def joined_ids(samples):
    return "(" + "+".join(x.id for x in samples) + ")"


def numbered(sample, field, number):
    return sample if sample.bad else sample.but(**{field: scalar("i64", number)})


def mapped(sample, node):
    """For maps that the reference does not know, only the ids are right: no map changes them."""
    function = functions.MAPS.get(node.options["name"])
    if sample.bad or not function:
        return sample
    try:
        return function(sample, **functions.parameters(node))
    except BadSample:
        return Sample(sample.id, None)


# ------------------------------------------------------------------------------------------------------ one lane


class Lane:
    """Lane `number` of `lanes` in one epoch. With `mask`, bad samples pass operators that probe content; otherwise they raise."""

    def __init__(self, number, lanes, epoch, indexed, clock, mask=False):
        self.number, self.lanes, self.epoch, self.indexed, self.clock, self.mask = number, lanes, epoch, indexed, clock, mask

    def items(self, node, repeat_pass=0):
        self.indexed.spend(1)
        if is_indexed(node):
            return self.counted(self.indexed.samples(node, self.epoch, repeat_pass)[self.number :: self.lanes])
        if node.op in STREAMS:
            return self.counted(node.source.lane(node, self.epoch, repeat_pass, self.number, self.lanes))
        return getattr(self, node.op)(node, repeat_pass)

    def counted(self, samples):
        for x in samples:
            self.indexed.spend(1)
            yield x

    def inputs(self, node, repeat_pass):
        return [self.items(x, repeat_pass) for x in node.inputs]

    def share(self, n):
        return share(n, self.number, self.lanes)

    def draw(self, node, repeat_pass, k, n):
        """The k-th choice of an operator, among n."""
        numbers = (node.options["seed"], node.ordinal, self.epoch, pass_word(repeat_pass), self.number, k)
        return mulhi(keyed(node.op, *numbers), n)

    def judged(self, sample, result_of_good, result_of_bad):
        """What an operator that probes content finds in a sample."""
        try:
            if sample.bad:
                raise BadSample(sample.id)
            return result_of_good(sample)
        except BadSample:
            if not self.mask:
                raise
            return result_of_bad(Sample(sample.id, None))

    # Each of the following gives what the operator of its name gives.

    def map(self, node, repeat_pass):
        for x in self.items(node.inputs[0], repeat_pass):
            yield x if x is BLANK else mapped(x, node)

    def enumerate(self, node, repeat_pass):
        for k, x in enumerate(self.items(node.inputs[0], repeat_pass)):
            yield numbered(x, node.options["field"], self.number + k * self.lanes)

    def zip(self, node, repeat_pass):
        for together in zip(*self.inputs(node, repeat_pass)):
            yield zipped(together)

    def concat(self, node, repeat_pass):
        for x in node.inputs:
            yield from self.items(x, repeat_pass)

    def take(self, node, repeat_pass):
        n = self.share(node.options["n"])
        yield from itertools.islice(self.items(node.inputs[0], repeat_pass), n)

    def skip(self, node, repeat_pass):
        n = self.share(node.options["n"])
        yield from itertools.islice(self.items(node.inputs[0], repeat_pass), n, None)

    def repeat(self, node, repeat_pass):
        n = node.options["n"]
        for r in range(n):
            yield from self.items(node.inputs[0], repeat_pass * n + r)

    def filter(self, node, repeat_pass):
        name, options = node.options["name"], functions.parameters(node)

        def holds(sample):
            return functions.PREDICATES[name](sample, **options)

        for x in self.items(node.inputs[0], repeat_pass):
            if name in functions.NEEDS_NO_CONTENT:
                kept = holds(x)
            else:
                kept, x = self.judged(x, lambda x: (holds(x), x), lambda bad: (True, bad))
            if kept:
                yield x

    def sample(self, node, repeat_pass):
        o, below = node.options, math.ldexp(node.options["p"], 64)
        numbers = (o["seed"], node.ordinal, self.epoch, pass_word(repeat_pass))
        start = text_bytes("sample") + b"".join(map(number_bytes, numbers))
        for x in self.items(node.inputs[0], repeat_pass):
            if hash128(start + raw_bytes(x.id)) & MASK < below:
                yield x

    def flat_map(self, node, repeat_pass):
        name, options = node.options["name"], functions.parameters(node)

        def children(sample):
            return functions.CHILDREN[name](sample, **options)

        for x in self.items(node.inputs[0], repeat_pass):
            free = name in functions.NEEDS_NO_CONTENT
            parts = children(x) if free else self.judged(x, children, lambda _: [None])
            for i, fields in enumerate(parts):
                yield Sample(f"{x.id}#{i}", fields)

    def deduplicate(self, node, repeat_pass):
        o, known = node.options, []
        for x in self.items(node.inputs[0], repeat_pass):
            key, x = self.judged(x, lambda x: (functions.key_of(x, o["fields"]), x), lambda bad: (None, bad))
            if key in known:
                continue
            if key is not None:
                if len(known) == self.share(o["keys"]):
                    if o["kind"] == "set":
                        raise Refused("more keys than there is room for")
                    known.pop(0)
                known.append(key)
            yield x

    def scan(self, node, repeat_pass):
        function, options, value = functions.SCANS[node.options["name"]], functions.parameters(node), 0
        for x in self.items(node.inputs[0], repeat_pass):
            value, result = self.judged(x, lambda x: function(value, x, **options), lambda bad: (value, bad))
            yield result

    def read_files(self, node, repeat_pass):
        o = node.options

        def records(named):
            name = os.fsdecode(field_bytes(named.field(o["field"])))
            return [] if is_blank(os.fsencode(name)) else records_of_file(o["format"], os.path.join(o["folder"], name), name, o["types"])

        for x in self.items(node.inputs[0], repeat_pass):
            yield from self.judged(x, records, lambda bad: [bad])

    def shuffle_buffer(self, node, repeat_pass):
        most, held, k = self.share(node.options["n"]), [], 0
        for x in self.items(node.inputs[0], repeat_pass):
            held.append(x)
            if len(held) == most:
                yield held.pop(self.draw(node, repeat_pass, k, len(held)))
                k += 1
        while held:
            yield held.pop(self.draw(node, repeat_pass, k, len(held)))
            k += 1

    def length_bucket(self, node, repeat_pass):
        o, waiting = node.options, []  # (bucket, item) as they came
        group, window = o["group"] // self.lanes, self.share(o["window"])

        def bucket(sample):
            length = length_of(sample, o["field"])
            return sum(x < length for x in o["boundaries"])

        def taken(chosen):
            waiting[:] = [x for x in waiting if not any(x is y for y in chosen)]
            return [x for _, x in chosen]

        for x in self.items(node.inputs[0], repeat_pass):
            waiting.append(self.judged(x, lambda x: (bucket(x), x), lambda bad: (0, bad)))
            own = [y for y in waiting if y[0] == waiting[-1][0]]
            if len(own) == group:
                yield from taken(own)
            elif len(waiting) == window:
                oldest = waiting[0][0]
                nearest = sorted(waiting, key=lambda y: (abs(y[0] - oldest), y[0]))
                yield from taken(nearest[:group])
        yield from taken(sorted(waiting, key=lambda y: y[0]))

    def token_budget(self, node, repeat_pass):
        o = node.options
        rows, tokens = o["rows"] // self.lanes, o["tokens"] // self.lanes

        def length(sample):
            if length_of(sample, o["field"]) > tokens:
                raise BadSample(f"{sample.id} is longer than a batch")
            return length_of(sample, o["field"])

        def fits(lengths):
            return (max(lengths) * len(lengths) if o["padded"] else sum(lengths)) <= tokens

        given = []
        for x in self.items(node.inputs[0], repeat_pass):
            n, x = self.judged(x, lambda x: (length(x), x), lambda bad: (0, bad))
            if not fits([*given, n]):
                yield from [BLANK] * (rows - len(given))
                given = []
            yield x
            given = [] if len(given) + 1 == rows else [*given, n]
        if given:
            yield from [BLANK] * (rows - len(given))

    def mix(self, node, repeat_pass):
        o, inputs = node.options, range(len(node.inputs))
        planned, begun, spent = phases(node), None, 0
        cycle = o["stop"] == "cycle"
        live, ended, repetition, given = set(inputs), set(), [0] * len(inputs), [False] * len(inputs)

        def begin(i):
            return self.items(node.inputs[i], (repeat_pass << 32) + repetition[i] if cycle else repeat_pass)

        iterators, k = [begin(i) for i in inputs], 0
        while live:
            by_cost = o["schedule_by"] == "cost"
            step, of_phase = [x for x in planned if share(x[0], self.number, self.lanes) <= spent][-1] if by_cost else self.clock.phase(planned)
            if step != begun:
                begun, taken = step, taken_before(self.number, of_phase, live)
            weights = weights_of_live(of_phase, live)
            if o["rule"] == "deficit":
                i = deficit_choice(weights, taken)
            else:
                i = input_at(self.draw(node, repeat_pass, k, sum(weights)), weights)
            x = next(iterators[i], None)
            if x is not None:
                if o["rule"] == "deficit":
                    cost, x = self.cost(x, o["cost"])
                    taken[i] += cost
                    spent += cost
                given[i] = True
                k += 1
                yield x
            elif o["stop"] == "first":
                return
            elif o["stop"] == "all":
                live.remove(i)
            else:
                if not given[i]:
                    raise Refused(f"input {i} of mix gives nothing in repetition {repetition[i]}")
                ended.add(i)
                if len(ended) == len(inputs):
                    return
                if o["max_repeats"] and repetition[i] == o["max_repeats"]:
                    live.remove(i)
                    continue
                repetition[i] += 1
                given[i] = False
                iterators[i] = begin(i)

    def cost(self, sample, field):
        def elements(sample):
            x = sample.field(field)
            return len(field_bytes(x)) // (size_of(x.type) if isinstance(x, Tensor) else 1)

        return self.judged(sample, lambda x: (elements(x), x), lambda bad: (0, bad)) if field else (1, sample)

    def pack(self, node, repeat_pass):
        splits = node.options["split"] or node.options["cut"] == "always"
        packer = SplittingPacker(node.options) if splits else FittingPacker(node.options)
        for x in self.items(node.inputs[0], repeat_pass):
            yield from self.judged(x, packer.add, lambda bad: [Sample(joined_ids([bad]), None)])
        yield from packer.rest()


def length_of(sample, field):
    x = sample.field(field)
    if not isinstance(x, Tensor):
        return len(x)
    if not x.dims:
        raise BadSample(f"{field} of {sample.id} has no length")
    return x.dims[0]


# ---------------------------------------------------------------------------------------------------------- mix


def weights_of_live(weights, live):
    """0 for an input that is not live. If all live inputs have weight 0, they count alike."""
    rest = [x if i in live else 0 for i, x in enumerate(weights)]
    return rest if any(rest) else [int(i in live) for i in range(len(weights))]


def deficit_choice(weights, taken):
    total, weight = sum(taken), sum(weights)
    choice = [i for i, x in enumerate(weights) if x]
    return max(choice, key=lambda i: weights[i] * (total + 1) - taken[i] * weight)  # the first of equal ones


def taken_before(lane, weights, live):
    """The counts with which lane `lane` begins."""
    taken, weights = [0] * len(weights), weights_of_live(weights, live)
    for _ in range(lane):
        taken[deficit_choice(weights, taken)] += 1
    return taken


def input_at(u, weights):
    """The first input with u below the weights up to it."""
    return next(i for i, up_to in enumerate(itertools.accumulate(weights)) if u < up_to)


# ---------------------------------------------------------------------------------------------------------- pack


class Document:
    """The elements of an item's field, with its delimiter; or a part of them, which `next` follow in the whole."""

    def __init__(self, sample, type, elements, id=None, begin=0, next=()):
        self.sample, self.type, self.elements = sample, type, elements
        self.id, self.begin, self.next = id or sample.id, begin, next

    def part(self, begin, end):
        whole = begin == 0 and end == len(self.elements)
        id = self.id if whole else f"{self.id}@{begin}-{end}"
        return Document(self.sample, self.type, self.elements[begin:end], id, begin, self.elements[end : end + 1])

    def followers(self):
        """What comes after each element; None after the last one of the whole document."""
        return ([*self.elements, *self.next, None])[1 : len(self.elements) + 1]


class Packer:
    def __init__(self, options):
        self.options, self.field, self.length, self.pad = options, options["field"], options["length"], options["pad"]
        self.most, self.delimiter = options["bins"], options["delimiter"]
        self.bins = []  # open ones: lists of documents

    def document(self, sample):
        type, raw = sample.row(self.field)
        size = size_of(type)
        return Document(sample, type, [raw[i : i + size] for i in range(0, len(raw), size)] + self.delimiter)

    def room(self, bin):
        return self.length - sum(len(x.elements) for x in bin)

    def closed(self, bin):
        self.bins = [x for x in self.bins if x is not bin]
        try:
            return Sample(joined_ids(bin), self.contents(bin))
        except BadSample:
            return Sample(joined_ids(bin), None)

    def contents(self, bin):
        """Fields. Raises BadSample if documents have several types, or their type cannot represent a number that is needed."""
        type, room = bin[0].type, self.room(bin)
        if any(x.type != type for x in bin):
            raise BadSample("documents of several types")
        own = {x: functions.elements(type, x) for x in [self.pad, *self.delimiter]}
        raw = b"".join(own[x] if isinstance(x, int) else x for document in bin for x in document.elements)
        fields = {self.field: Tensor(type, [self.length], raw + own[self.pad] * room)}
        if self.options["segment"]:
            fields["segment"] = vector("i32", [i + 1 for i, x in enumerate(bin) for _ in x.elements] + [0] * room)
        if self.options["offset"]:
            fields["offset"] = vector("i32", [x.begin + i for x in bin for i in range(len(x.elements))] + [0] * room)
        if self.options["labels"]:
            fields["labels"] = vector("i64", self.labels(bin, type) + [int(self.options["ignore_index"])] * room)
        if self.options["cu_seqlens"]:
            sizes = [len(x.elements) for x in bin]
            fields["cu_seqlens"] = Ragged(*vector("i32", [sum(sizes[:i]) for i in range(len(sizes) + 1)]))
            fields["longest"] = scalar("i32", max(sizes))
        return fields

    def labels(self, bin, type):
        if type.startswith("f"):
            raise BadSample(f"{type} is no type of labels")
        numbers = []
        for x in (x for document in bin for x in document.followers()):
            if isinstance(x, bytes):
                x = struct.unpack("<" + CODES[type], x)[0]
            numbers.append(int(self.options["ignore_index"]) if x is None else x)
        if any(x >= 2**63 for x in numbers):
            raise BadSample("a label beyond i64")
        return numbers

    def rest(self):
        """Closes what is open at the end of the input."""
        return [self.closed(bin) for bin in list(self.bins)]


class FittingPacker(Packer):
    def add(self, sample):
        """The samples that come out of it when one more goes in."""
        document = self.document(sample)
        size = len(document.elements)
        if size <= self.length:
            return self.put(document)
        if self.options["cut"] == "never":
            raise BadSample(f"{sample.id} is longer than {self.length}")
        out, rest = [], size - size % self.length
        for begin in range(0, rest, self.length):
            out.append(self.closed([document.part(begin, begin + self.length)]))
        return out + (self.put(document.part(rest, size)) if rest < size else [])

    def put(self, document):
        out = []
        fit = [x for x in self.bins if self.room(x) >= len(document.elements)]
        if not fit:
            if len(self.bins) == self.most:
                out.append(self.closed(min(self.bins, key=self.room)))  # the first of equal ones
            fit = [[]]
            self.bins += fit
        bin = min(fit, key=self.room) if self.options["fit"] == "best" else fit[0]
        bin.append(document)
        return out + ([self.closed(bin)] if self.room(bin) == 0 else [])


class SplittingPacker(Packer):
    def add(self, sample):
        document, begin, out = self.document(sample), 0, []
        while begin < len(document.elements):
            if not self.bins:
                self.bins.append([])
            bin = self.bins[0]
            end = min(len(document.elements), begin + self.room(bin))
            bin.append(document.part(begin, end))
            begin = end
            if self.room(bin) == 0:
                out.append(self.closed(bin))
        return out
