#!/usr/bin/env python3
"""The meaning of a pipeline in leat's text form: its global batches, computed as simply as possible.

Written only from docs/pipelines.md, docs/iterators.md, docs/order.md and docs/digest.md (the modules in plain/); it shares
nothing with leat, and keeps no state: whatever is asked for, everything is made from the beginning. Prints the lines of
`leat order --pipeline FILE`.
"""

import itertools
import argparse
import json
import sys
from collections import Counter, namedtuple

from plain.checks import check
from plain.hashes import row_digest, share
from plain.layouts import first_layout
from plain.iterators import BLANK, IndexedPart, Lane, is_indexed
from plain.random_numbers import Rng, sample_key_of, map_stream
from plain.samples import BadSample, Refused
from plain.sources import INDEXED, StandardInput, Stream, read_file
from plain.text_form import Node, parse
from plain.weights import Clock, read_phase, whole_weights


class Pipeline:
    """A parsed pipeline with its data open. `standard_input`: the bytes that a once source reads. `sources`: those that are open
    already, kept for others. `limit`: items to look at before TooLong is raised. `changes`: (step, weights)s of a job's mix."""

    def __init__(self, text, standard_input=b"", sources=None, limit=None, changes=()):
        self.root, self.known_sources = parse(text), {} if sources is None else sources
        check(self.root)
        self.input = copy_tree(self.root.inputs[0])
        self.sources = self.input.sources()
        self.open_sources(standard_input)
        self.count_operators()
        self.rows = self.root.options["rows"]
        self.lanes = self.root.options["lanes"] or self.default_lanes()
        self.check_lanes()
        self.indexed = IndexedPart(self.lanes, limit)
        self.changes = [(step, whole_weights(weights)) for step, weights in changes]

    def open_sources(self, standard_input):
        readers = [x for x in self.input.in_data_order() if not x.inputs or x.op == "read_files"]
        for ordinal, node in enumerate(readers):
            node.ordinal = ordinal
        for node in self.sources:
            node.source = StandardInput(standard_input) if node.op == "standard_input" else self.opened(node)

    def opened(self, node):
        key = json.dumps((node.op, node.options))
        if key not in self.known_sources:
            self.known_sources[key] = INDEXED[node.op](node.options) if node.op in INDEXED else Stream(node)
        return self.known_sources[key]

    def count_operators(self):
        """Operators of the same name have ordinals in data order."""
        seen = Counter()
        for node in self.input.in_data_order():
            if node.inputs and node.op != "read_files":
                node.ordinal = seen[node.op]
                seen[node.op] += 1

    def streams(self):
        return [x.source for x in self.sources if isinstance(x.source, Stream)]

    def default_lanes(self):
        most = [len(x.units) for x in self.streams()]
        most += [len(x.sources()[0].source.records_per_file) for x in self.input.below()
                 if x.op == "shuffle" and x.options["kind"] == "windowed"]  # fmt: skip
        return max(x for x in range(1, min(most + [self.rows]) + 1) if self.rows % x == 0)

    def check_lanes(self):
        if self.rows % self.lanes:
            raise Refused("the lanes do not divide the rows")
        if any(len(x.units) < self.lanes for x in self.streams()):
            raise Refused("more lanes than a stream has units")
        if any(x.options["group"] % self.lanes for x in self.input.below() if x.op == "length_bucket"):
            raise Refused("a group of length_bucket that is no multiple of the lanes")
        if any(x.options["tokens"] < self.lanes for x in self.input.below() if x.op == "token_budget"):
            raise Refused("a token_budget without a token in a lane")
        if any(x.options["keys"] < self.lanes for x in self.input.below() if x.op == "deduplicate"):
            raise Refused("a deduplicate without a key in a lane")
        buffers = [x.options["n"] for x in self.input.below() if x.op == "shuffle_buffer"]
        if any(share(n, self.lanes - 1, self.lanes) < 2 or share(n, 0, self.lanes) >= 2**32 for n in buffers):
            raise Refused("a shuffle_buffer of less than 2 in a lane, or of 2^32")

    @property
    def end(self):
        """drop, mask or cycle."""
        if self.root.options["end"] != "auto":
            return self.root.options["end"]
        if is_indexed(self.input):
            return "drop"
        return "mask" if any(x.op == "standard_input" for x in self.sources) else "cycle"

    def lane(self, number, epoch, mask=False):
        """Everything that a lane gives: in an epoch, or endlessly with end="cycle"."""
        if self.end != "cycle":
            yield from self.items_of_lane(number, epoch, self.clock(), mask)
            return
        own_epoch, last, clock = 0, None, self.clock()
        while True:
            for last in self.items_of_lane(number, own_epoch, clock, mask):
                yield last
            if last is None:
                raise Refused(f"lane {number} gives nothing in epoch {own_epoch}")
            own_epoch, last = own_epoch + 1, None

    def clock(self):
        return Clock(self.rows // self.lanes, self.changes)

    def items_of_lane(self, number, epoch, clock, mask=False):
        return clock.counted(Lane(number, self.lanes, epoch, self.indexed, clock, mask).items(self.input))

    def batches(self, epoch, steps=None, mask=False):
        """The epoch's global batches: each a list of (position, sample)."""
        lanes = [self.lane(number, epoch, mask) for number in range(self.lanes)]
        step = 0
        while step != steps:
            taken = [next_items(lane, self.rows // self.lanes) for lane in lanes]
            samples = [items[i] for i in range(self.rows // self.lanes) for items in taken]
            rows = [(step * self.rows + i, x) for i, x in enumerate(samples) if x is not None]
            if not rows or self.end == "drop" and len(rows) < self.rows:
                return  # even if other lanes have met errors in place of samples
            rows = [(position, x) for position, x in rows if x is not BLANK]
            for error in (x for _, x in rows if isinstance(x, Refused)):
                raise error
            yield rows
            step += 1

    def order(self, epoch, steps=None):
        """The epoch's global batches, as `leat order` prints them."""
        self.check_epoch(epoch, steps)
        for step, rows in enumerate(self.batches(epoch, steps)):
            yield {
                "epoch": epoch,
                "step": step,
                "world_size": 1,
                "positions": [position for position, _ in rows],
                "ids": [x.id for _, x in rows],
                "digest": "%032x" % (sum(row_digest(epoch, p, x.id) for p, x in rows) % 2**128),
            }

    def handed_over(self, epoch, steps=None, policy="fail", throw_at=None):
        """The epoch's global batches, as a job hands them over: lists of rows. At position `throw_at` a map throws."""
        self.check_epoch(epoch, steps)
        layout = self.layout()
        for rows in self.batches(epoch, steps, policy == "mask"):
            yield [self.row(layout, epoch, p, x, policy, throw_at) for p, x in rows]

    def check_epoch(self, epoch, steps):
        if self.end == "cycle" and (steps is None or epoch):
            raise Refused("end=cycle is one endless epoch 0: it needs a number of steps")

    def layout(self):
        """The layout, from epoch 0 wherever a job begins: from the samples of the lanes, one lane after the other. Skips bad samples. A
        source that exists once is probed in the order of positions (docs/snapshot.md)."""
        if is_indexed(self.input):
            samples = self.indexed.samples(self.input, 0, 0)
        else:
            lanes = (self.items_of_lane(number, 0, Clock(self.rows // self.lanes), True) for number in range(self.lanes))
            if any(x.op == "standard_input" for x in self.sources):
                samples = (x for items in itertools.zip_longest(*lanes) for x in items if x is not None)
            else:
                samples = (x for lane in lanes for x in lane)
            samples = (x for x in samples if x is not BLANK)
        return first_layout(samples, self.root.options["fields"])

    def row(self, layout, epoch, position, sample, policy, throw_at):
        try:
            if sample.bad or position == throw_at:
                raise BadSample(sample.id)
            return Row(position, sample.id, layout.row_hash(position, sample))
        except BadSample:
            if policy == "fail":
                raise
            other = self.substitute(layout, epoch, position) if policy == "substitute" else None
            return Row(position, sample.id, layout.row_hash(position, other) if other else None, other and other.id, True)

    def substitute(self, layout, epoch, position):
        """docs/order.md: an item of the same lane, drawn until one is good."""
        lane, shuffles = position % self.lanes, [x for x in self.input.in_data_order() if x.op == "shuffle"]
        stream = map_stream(shuffles[0].options["seed"] if shuffles else 0, "substitute", 0)
        rng = Rng(stream, sample_key_of(0, epoch, 0, position))
        items = self.indexed.samples(self.input, epoch, 0)[lane :: self.lanes]
        own_epoch, own = divmod(position // self.lanes, len(items))
        if self.end == "cycle":
            items = self.indexed.samples(self.input, own_epoch, 0)[lane :: self.lanes]
        for _ in range(64):
            number = rng.below(len(items))
            other = items[number]
            try:
                if not other.bad and number != own:
                    layout.row_hash(position, other)
                    return other
            except BadSample:
                pass
        raise BadSample(f"no substitute for position {position}")


class Row(namedtuple("Row", "position id pixels substitute bad", defaults=(None, False))):
    """A row of a batch: `id` is what was due; `pixels` are None in a masked row."""

    @property
    def delivered(self):
        return self.substitute or self.id


def next_items(lane, count):
    """Items of a lane: samples; from the first error on, that error for each; or None if the lane has ended."""
    items = []
    try:
        while len(items) < count:
            items.append(next(lane, None))
    except Refused as error:
        items += [error] * (count - len(items))
    return items


def copy_tree(node):
    """Copies a node that several names refer to: what is used twice is read twice."""
    return Node(node.op, node.options, [copy_tree(x) for x in node.inputs])


def to_text(line):
    """One line of `leat order`, to the byte."""
    members = []
    for name, x in line.items():
        members.append(f'"{name}": ' + json.dumps(x, ensure_ascii=False, separators=(",", ":")))
    return "{" + ", ".join(members) + "}"


def main():
    parser = argparse.ArgumentParser(description="Prints what `leat order --pipeline FILE` must print, or what a job hands over.")
    parser.add_argument("file", help="a pipeline in the text form")
    parser.add_argument("--epoch", type=int, default=0)
    parser.add_argument("--steps", type=int, help="the first ones only; end=cycle needs it")
    parser.add_argument("--bad-sample", choices=("fail", "mask", "substitute"), help="the rows of a job under this policy")
    parser.add_argument("--weights", action="append", default=[], help="STEP:W1,W2,..: weights of the mix from a step on")
    parser.add_argument("--stdin", help="a file to read in place of standard input")
    options = parser.parse_args()
    text = read_file(options.file).decode("utf-8", "surrogateescape")
    step = None
    try:
        changes = [read_phase(x) for x in options.weights]
        pipeline = Pipeline(text, read_file(options.stdin) if options.stdin else b"", changes=changes)
        if options.bad_sample:
            for step in pipeline.handed_over(options.epoch, options.steps, options.bad_sample):
                print(json.dumps([x._asdict() for x in step]))
        else:
            for step in pipeline.order(options.epoch, options.steps):
                print(to_text(step))
    except Refused as why:
        sys.exit(f"reference: {why}")
    if step is None:
        sys.exit("the epoch has no batch")


if __name__ == "__main__":
    main()
