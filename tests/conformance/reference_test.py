#!/usr/bin/env python3
"""Worked examples for the reference: what docs/iterators.md specifies, computed by hand."""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True  # next to the sources
SKIPPED = 4  # tests/CMakeLists.txt: SKIP_RETURN_CODE
try:
    import xxhash
except ImportError as missing:
    print(f"skipped: {missing}; it is in the package python3-xxhash")
    sys.exit(SKIPPED)

from cases.logs import Handed
from plain import iterators, weights
from plain.hashes import keyed, mulhi, permutation, row_digest
from plain.layouts import Layout, kind_of
from plain.random_numbers import Rng, sample_key_of, map_stream, philox
from plain.samples import BadSample, Refused, Sample, Tensor, scalar, vector
from plain.sources import open_image_folder
from reference import Pipeline, to_text


def ids(text, epoch=0, steps=None, **options):
    """The ids of every batch."""
    return [line["ids"] for line in Pipeline(text, **options).order(epoch, steps)]


def row(text, **options):
    """The numbers of all ids of one lane, after their last slash."""
    return [id.rpartition("/")[2] for batch in ids(text + ".batch(1, lanes=1, end=\"mask\")", **options) for id in batch]


def samples(text):
    return [x for batch in Pipeline(text + ".batch(1, end=\"mask\")").batches(0) for _, x in batch]


def digits(text):
    return text.split()


def drawing(*choices):
    """Replaces random draws by these, in order: each is a choice, and the number of alternatives."""
    left = list(choices)

    def draw(lane, node, repeat_pass, k, n):
        choice, among = left.pop(0)
        assert n == among, f"a draw among {n}, not {among}"
        return choice

    return mock.patch.object(iterators.Lane, "draw", draw)


class InDirectory(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.before = os.getcwd()
        os.chdir(self.directory.name)

    def tearDown(self):
        os.chdir(self.before)
        self.directory.cleanup()

    def write(self, path, content):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


class Draws(unittest.TestCase):
    def test_a_draw_hashes_the_tag_and_six_integers(self):
        integers = [x.to_bytes(8, "little") for x in (14, 7, 1, 2, 3, 4, 5)]
        words = integers[0] + b"shuffle_buffer" + b"".join(integers[1:])
        self.assertEqual(keyed("shuffle_buffer", 7, 1, 2, 3, 4, 5), xxhash.xxh3_128_intdigest(words) & (2**64 - 1))

    def test_a_choice_is_the_high_half_of_the_product(self):
        self.assertEqual([mulhi(x, 5) for x in (0, 2**62, 2**63, 2**64 - 1)], [0, 1, 2, 4])

    def test_an_operators_ordinal_counts_those_of_its_name_inputs_first(self):
        text = "mix(count(9).shuffle_buffer(4), count(9).shuffle_buffer(4).shuffle_buffer(5)).shuffle_buffer(6).batch(1)"
        buffers = [x for x in Pipeline(text).input.below() if x.op == "shuffle_buffer"]
        self.assertEqual({x.ordinal: x.options["n"] for x in buffers}, {0: 4, 1: 4, 2: 5, 3: 6})


class LanesAndEnds(unittest.TestCase):
    def test_a_closed_part_is_dealt_to_the_lanes(self):
        text = 'count(7).skip(1).filter("key_matches@1", pattern="*").batch(4, lanes=2, end="mask")'
        self.assertEqual(ids(text), [["count/1", "count/2", "count/3", "count/4"], ["count/5", "count/6"]])

    def test_operators_above_work_lane_by_lane(self):
        # Lane 0 has 0 2 4 6 8, lane 1 has 1 3 5 7; lane 0 loses the 0 and the 4.
        text = 'count(9).filter("key_matches@1", pattern="*/[1235678]").batch(2, lanes=2, end="END")'
        mask = [["count/2", "count/1"], ["count/6", "count/3"], ["count/8", "count/5"], ["count/7"]]
        self.assertEqual(ids(text.replace("END", "mask")), mask)
        self.assertEqual(ids(text.replace("END", "drop")), mask[:3])
        positions = [x["positions"] for x in Pipeline(text.replace("END", "mask")).order(0)]
        self.assertEqual(positions, [[0, 1], [2, 3], [4, 5], [7]])

    def test_cycle_begins_a_lane_again_by_itself(self):
        text = 'count(5).filter("key_matches@1", pattern="*").batch(2)'
        expected = [["count/0", "count/1"], ["count/2", "count/3"], ["count/4", "count/1"], ["count/0", "count/3"]]
        self.assertEqual(ids(text, steps=4), expected)

    def test_a_closed_pipeline_under_cycle_takes_its_lane_of_the_next_epochs_order(self):
        first, second = (ids("count(5).shuffle(seed=3).batch(5)", epoch)[0] for epoch in (0, 1))
        got = ids('count(5).shuffle(seed=3).batch(2, end="cycle")', steps=4)
        self.assertEqual([x[0] for x in got], first[0::2] + second[:1])
        self.assertEqual([x[1] for x in got], first[1::2] + second[1::2])

    def test_the_default_end_is_as_the_kind_of_pipeline_says(self):
        def end(text):
            return Pipeline(text).end

        self.assertEqual(end("count(5).batch(1)"), "drop")
        self.assertEqual(end("mix(count(5)).batch(1)"), "cycle")
        self.assertEqual(end("zip(count(5), standard_input()).batch(1)"), "mask")

    def test_a_lane_that_gives_nothing_in_an_era_is_an_error(self):
        with self.assertRaises(Refused):
            ids('count(5).filter("key_matches@1", pattern="*/[024]").batch(2)', steps=1)

    def test_a_bad_sample_in_a_batch_that_drop_leaves_out_is_no_error(self):
        # Lane 0 has only 0 and 2; lane 1 has 1, and meets a bad sample.
        odd = 'count(2).filter("key_matches@1", pattern="*/1").map("int_label@1", field="missing")'
        text = f'concat(count(3), {odd}.filter("field_between@1", field="label")).batch(6, lanes=2, end="END")'
        self.assertEqual(ids(text.replace("END", "drop")), [])
        with self.assertRaises(BadSample):
            ids(text.replace("END", "mask"))

    def test_cycle_needs_steps_and_has_one_epoch(self):
        for options in ({}, {"epoch": 1, "steps": 3}):
            with self.assertRaises(Refused):
                ids('count(5).batch(2, end="cycle")', **options)

    def test_take_and_skip_share_their_number_among_the_lanes(self):
        everything = 'filter("key_matches@1", pattern="*")'
        lanes = '.batch(3, lanes=3, end="mask")'
        self.assertEqual(ids(f"count(20).{everything}.take(4){lanes}"), [["count/0", "count/1", "count/2"], ["count/3"]])
        self.assertEqual(ids(f"count(8).{everything}.skip(4){lanes}"), [["count/6", "count/4", "count/5"], ["count/7"]])

    def test_enumerate_numbers_by_position(self):
        text = 'count(5).filter("key_matches@1", pattern="*/[1-4]").enumerate().batch(2, lanes=2, end="mask")'
        rows = {p: x.fields["index"].numbers() for batch in Pipeline(text).batches(0) for p, x in batch}
        self.assertEqual(rows, {0: [0], 1: [1], 2: [2], 3: [3]})

    def test_repeat_begins_with_a_pass_of_its_own(self):
        text = "mix(count(4).shuffle(seed=1)).repeat(2).repeat(2)"
        shuffled = Pipeline("count(4).shuffle(seed=1).batch(1)")
        passes = [[x.id[-1] for x in shuffled.indexed.samples(shuffled.input, 0, p)] for p in range(4)]
        self.assertEqual(row(text), [x for one in passes for x in one])


class ShuffleBuffer(unittest.TestCase):
    def test_it_fills_gives_the_drawn_one_and_moves_the_others_up(self):
        # 0 1 2: gives 1; 0 2 3: gives 3; 0 2 4: gives 0; then the end: 2 4: gives 4, and 2.
        with drawing((1, 3), (2, 3), (0, 3), (1, 2), (0, 1)):
            self.assertEqual(row("count(5).shuffle_buffer(3)"), digits("1 3 0 4 2"))

    def test_a_short_input_is_drawn_from_at_its_end(self):
        with drawing((1, 2), (0, 1)):
            self.assertEqual(row("count(2).shuffle_buffer(9)"), digits("1 0"))

    def test_its_draws_have_its_seed_ordinal_era_pass_lane_and_count(self):
        held, expected = list(range(4)), []
        for k in range(4):
            draw = keyed("shuffle_buffer", 5, 0, 2, 0, 1, k)
            expected.append(f"count/{held.pop(draw * len(held) >> 64) * 2 + 1}")
        lines = Pipeline('count(8).shuffle_buffer(8, seed=5).batch(2, end="mask")').order(2)
        self.assertEqual([x["ids"][1] for x in lines], expected)

    def test_less_than_two_in_any_lane_is_refused(self):
        Pipeline("count(8).shuffle_buffer(8).batch(4)")
        with self.assertRaises(Refused):
            Pipeline("count(8).shuffle_buffer(7).batch(4)")


class Mix(unittest.TestCase):
    def test_deficit_takes_what_lacks_most_and_of_equals_the_first(self):
        # Lacks before each, weights 3 and 1: (3, 1) a; (2, 2) a; (1, 3) b; (4, 0) a; and so again.
        got = row('mix(count(9), count(9).skip(5), weights=[3, 1])')
        self.assertEqual(got[:8], digits("0 1 5 2 3 4 6 5"))

    def test_a_lane_begins_as_if_as_many_items_as_its_number_were_taken(self):
        text = 'mix(count(8), count(8).skip(4), weights=[1, 1]).batch(2, end="drop")'
        self.assertEqual(ids(text)[:2], [["count/0", "count/5"], ["count/4", "count/1"]])

    def test_deficit_by_cost_counts_elements(self):
        # Costs 4 and 1: a to (4, 0); b four times to (4, 4); then the first again.
        got = row('mix(count(9, bytes=4).take(3), count(9, bytes=1), cost="value")')
        self.assertEqual(got[:7], digits("0 0 1 2 3 1 4"))

    def test_random_takes_the_input_in_whose_weight_the_draw_lies(self):
        with drawing((0, 4), (2, 4), (3, 4), (1, 4), (0, 4), (0, 1)):  # the last two find the ends
            self.assertEqual(row('mix(count(3), count(1), weights=[3, 1], rule="random")'), digits("0 1 0 2"))

    def test_when_an_input_has_ended_the_choice_is_made_again(self):
        seen = []

        def draw(lane, node, repeat_pass, k, n):
            seen.append((k, n))
            return n - 1

        with mock.patch.object(iterators.Lane, "draw", draw):
            self.assertEqual(row('mix(count(2), count(1), weights=[3, 2], rule="random")'), digits("0 0 1"))
        self.assertEqual(seen, [(0, 5), (1, 5), (1, 3), (2, 3), (3, 3)])

    def test_stop_first_ends_at_the_first_end(self):
        self.assertEqual(row('mix(count(9), count(2), stop="first")'), digits("0 0 1 1 2"))

    def test_stop_cycle_ends_when_all_have_ended_once(self):
        self.assertEqual(row('mix(count(3), count(2), stop="cycle")'), digits("0 0 1 1 2 0"))

    def test_a_repetition_of_stop_cycle_has_a_pass_of_its_own(self):
        text = 'mix(count(2).shuffle(seed=3), count(9), stop="cycle").repeat(2)'
        shuffled = Pipeline("count(2).shuffle(seed=3).batch(1)")
        got = row(text)
        for repeat in (0, 1):
            order = [x.id[-1] for r in range(4) for x in shuffled.indexed.samples(shuffled.input, 0, (repeat << 32) + r)]
            self.assertEqual(got[repeat * len(got) // 2 :][:16:2], order)

    def test_from_a_step_of_the_schedule_on_other_weights_hold_and_shares_are_counted_anew(self):
        # Lacks with weights 3 and 1 are those of the first test; after step 2, of 2 items each, only the second input is taken.
        text = 'mix(count(9), count(9).skip(5), weights=[3, 1], schedule=["2:0,1", "3:1,1"]).batch(2, lanes=1)'
        numbers = [[x[-1] for x in step] for step in ids(text, steps=4)]
        self.assertEqual(numbers, [["0", "1"], ["5", "2"], ["6", "7"], ["3", "8"]])

    def test_steps_run_on_over_a_lanes_own_epochs(self):
        # Epochs of two: 0 1, 0 1; from step 3 on the first input comes last.
        text = 'mix(count(1), count(2).skip(1), schedule=["3:0,1"]).batch(1, lanes=1)'
        self.assertEqual([x[0][-1] for x in ids(text, steps=8)], digits("0 1 0 1 1 0 1 0"))

    def test_an_input_whose_repeats_are_used_up_has_ended_for_good(self):
        # b ends after b1, comes once more, and is gone; then only a is left, whose first end is the last of all.
        self.assertEqual(row('mix(count(6), count(2), stop="cycle", max_repeats=1)'), digits("0 0 1 1 2 0 3 1 4 5"))
        # Only inputs with weight 0 are left, and share alike.
        self.assertEqual(row('mix(count(2), count(3), weights=[1, 0], stop="cycle", max_repeats=1)'), digits("0 1 0 1 0 1 2"))

    def test_a_schedule_by_cost_counts_what_the_mix_gave(self):
        # Items of cost 4, up to 8; then those of cost 1.
        text = 'mix(count(9, bytes=4), count(9, bytes=1).skip(4), weights=[1, 0], cost="value", schedule=["8:0,1"], schedule_by="cost")'
        self.assertEqual(row(text)[:4], digits("0 1 4 5"))

    def test_each_lane_has_its_share_of_a_cost(self):
        # Lane 0 has 5 of 9 and lane 1 has 4: two items of cost 4, and one.
        text = ('mix(count(18, bytes=4), count(18, bytes=1), weights=[1, 0], cost="value", schedule=["9:0,1"], schedule_by="cost")'
                '.batch(2, lanes=2)')  # fmt: skip
        self.assertEqual(ids(text, steps=3), [["count/0", "count/1"], ["count/2", "count/1"], ["count/0", "count/3"]])

    def test_weights_become_whole_numbers(self):
        self.assertEqual(weights.whole_weights([0.7, 0.2, 0.1]), [7, 2, 1])
        self.assertEqual(weights.whole_weights([20, 10]), [20, 10])
        self.assertEqual(weights.whole_weights([3.2e12, 4e11]), [2147483647, 268435456])
        self.assertEqual(weights.tempered([4, 1], 2), [2**20, 2**19])

    def test_an_empty_repetition_is_an_error(self):
        with self.assertRaises(Refused):
            row('mix(count(3), count(0), stop="cycle")')


class FiltersAndChildren(InDirectory):
    def test_key_hash_and_field_hash_keep_by_the_hash(self):
        def kept(data):
            return (xxhash.xxh3_128_intdigest((9).to_bytes(8, "little") + data) & (2**64 - 1)) * 100 >> 64 < 40

        by_key = [str(i) for i in range(20) if kept(b"count/%d" % i)]
        by_field = [str(i) for i in range(20) if kept(i.to_bytes(8, "little"))]
        self.assertEqual(row('count(20).filter("key_hash@1", keep=40, salt=9)'), by_key)
        self.assertEqual(row('count(20).filter("field_hash@1", field="value", keep=40, salt=9)'), by_field)

    def test_field_between_takes_numbers_of_all_kinds(self):
        self.write("x.jsonl", b'{"i": 3, "x": 0.5, "s": "-2"}\n{"i": 7, "x": 2.5, "s": "4e1"}\n')
        for bounds, kept in (
            ('field="i", min=3, max=6', ["0"]), ('field="x", min=0.75', ["1"]), ('field="x"', ["0", "1"]),
            ('field="s", max="-1.5"', ["0"]), ('field="s", min=40, max=40', ["1"]),
        ):  # fmt: skip
            self.assertEqual(row(f'json_lines("x.jsonl").filter("field_between@1", {bounds})'), kept, bounds)

    def test_numbers_beyond_float64_are_infinite_or_zero(self):
        self.write("x", b"1e400\n-1e400\n1e-400\n-1e-400\n")
        for bounds, kept in (("min=1e308", ["0"]), ("max=-1e308", ["1"]), ("min=0, max=0", ["2", "3"])):
            self.assertEqual(row(f'lines("x").filter("field_between@1", field="text", {bounds})'), kept, bounds)

    def test_bytes_between_counts_bytes(self):
        self.write("x", b"\na\nbb\nccc\n")
        self.assertEqual(row('lines("x").filter("bytes_between@1", field="text", min=1, max=2)'), digits("1 2"))

    def test_copies_and_split_and_windows_make_numbered_children(self):
        self.write("x", b"a,b,,c\n\nno")
        self.assertEqual(row('count(2).flat_map("copies@1", n=2)'), digits("0#0 0#1 1#0 1#1"))
        children = samples('lines("x").flat_map("split@1", field="text", at=44)')
        self.assertEqual([x.fields["text"] for x in children], [b"a", b"b", b"", b"c", b"", b"no"])
        self.assertEqual([x.id for x in children], ["x/0#0", "x/0#1", "x/0#2", "x/0#3", "x/1#0", "x/2#0"])
        children = samples('lines("x").flat_map("windows@1", field="text", length=4)')
        self.assertEqual([x.fields["text"] for x in children], [b"a,b,", b",c", b"no"])

    def test_scan_counts_and_sums_from_the_start_of_every_pass(self):
        self.write("x.jsonl", b'{"i": 3}\n{"i": -5}\n')
        rows = samples('json_lines("x.jsonl").scan("running_sum@1", field="i", into="s")'
                       '.scan("running_count@1", into="n").repeat(2)')  # fmt: skip
        self.assertEqual([x.fields["s"].numbers() + x.fields["n"].numbers() for x in rows], [[3, 0], [-2, 1]] * 2)

    def test_pad_fills_up_and_refuses_what_is_longer(self):
        self.write("x.jsonl", b'{"a": [1, 2]}\n')
        (x,) = samples('json_lines("x.jsonl").map("pad@1", field="a", length=4, value=9)')
        self.assertEqual(x.fields["a"], vector("i64", [1, 2, 9, 9]))
        (x,) = samples('json_lines("x.jsonl").map("pad@1", field="a", length=1)')
        self.assertTrue(x.bad)


    def test_ragged_lets_lengths_vary_in_a_batch(self):
        self.write("x.jsonl", b'{"a": [1, 2]}\n{"a": []}\n{"a": 3}\n')
        rows = samples('json_lines("x.jsonl").map("ragged@1", field="a")')
        self.assertEqual([x.fields and x.fields["a"].numbers() for x in rows], [[1, 2], [], None])
        self.assertEqual({kind_of(x.fields["a"]) for x in rows[:2]}, {("ragged", "i64", ())})


class LengthBucket(InDirectory):
    def numbers(self, lengths, options):
        self.write("x", b"".join(b"x" * n + b"\n" for n in lengths))
        return [int(x.id.partition("/")[2]) for x in samples(f'lines("x").length_bucket("text", {options})')]

    def test_whole_groups_come_first_and_the_rest_by_length(self):
        got = self.numbers([9, 1, 4, 2, 3, 9, 5, 8, 1], "[2, 5], group=2, window=100")
        self.assertEqual(got, [1, 3, 2, 4, 0, 5, 8, 6, 7])

    def test_a_full_window_gives_the_oldest_with_its_neighbours(self):
        got = self.numbers([5, 9, 7, 3, 1, 1], "[2, 4, 6, 8], group=3, window=5")
        self.assertEqual(got, [0, 3, 2, 4, 5, 1])


def packed(lines, options):
    """[(id, text, segment, offset)] of packed lines."""
    with open("x", "wb") as file:
        file.write("\n".join(lines).encode() + b"\n")
    rows = samples(f'lines("x").pack("text", {options})')
    return [(x.id.replace("x/", ""), x.fields["text"].raw.decode(), x.fields["segment"].numbers(),
             x.fields["offset"].numbers()) for x in rows]  # fmt: skip


class Pack(InDirectory):
    def ids_and_texts(self, lines, options):
        return [x[:2] for x in packed(lines, options + ", pad=46")]

    def test_a_document_goes_into_the_first_bin_with_room(self):
        got = self.ids_and_texts(["aaa", "bbb", "c", "dd", "e"], "5")
        self.assertEqual(got, [("(0+2+4)", "aaace"), ("(1+3)", "bbbdd")][::-1])

    def test_the_fullest_bin_is_closed_to_make_room_and_of_equals_the_first(self):
        got = self.ids_and_texts(["aa", "bbb", "ccc", "dddd", "e"], "4, bins=2")
        # aa | bbb; ccc: bbb goes; aa | ccc; dddd: ccc goes before the full dddd; e: to aa.
        self.assertEqual(got, [("(1)", "bbb."), ("(2)", "ccc."), ("(3)", "dddd"), ("(0+4)", "aae.")])
        self.assertEqual(self.ids_and_texts(["aaa", "bbb", "ccc"], "4, bins=2")[0], ("(0)", "aaa."))

    def test_segments_and_offsets_say_where_elements_come_from(self):
        got = packed(["ab", "", "c"], "6, delimiter=[33], pad=46")
        self.assertEqual(got, [("(0+1+2)", "ab!!c!", [1, 1, 1, 2, 3, 3], [0, 1, 2, 0, 0, 1])])

    def test_a_document_without_elements_takes_no_room(self):
        self.assertEqual(packed(["", "a", ""], "2"), [("(0+1+2)", "a\0", [2, 0], [0, 0])])

    def test_a_longer_document_is_a_bad_sample(self):
        with self.assertRaises(BadSample):
            packed(["abc"], "2")

    def test_documents_of_several_types_make_a_sample_bad_as_a_whole(self):
        self.write("x", b'{"a": [1, 2]}\n{"a": "z"}\n{"a": [0.5]}\n{"a": [3]}\n')
        rows = samples('json_lines("x").pack("a", 3)')
        self.assertEqual([(x.id, x.bad) for x in rows], [("(x/0+x/1)", True), ("(x/2+x/3)", True)])

    def test_numbers_that_the_type_does_not_have_make_every_sample_bad(self):
        self.write("x", b'{"a": "xyz"}\n{"a": [1, 2]}\n')
        rows = samples('json_lines("x").pack("a", 3, bins=1, pad=300)')
        self.assertEqual([(x.id, x.bad) for x in rows], [("(x/0)", True), ("(x/1)", False)])

    def test_the_best_fit_is_the_bin_with_the_least_room(self):
        got = self.ids_and_texts(["bbb", "aaaaa", "d", "cc"], '6, fit="best"')
        self.assertEqual(got, [("(1+2)", "aaaaad"), ("(0+3)", "bbbcc.")])
        self.assertEqual(self.ids_and_texts(["aaa", "bbb", "c"], '4, fit="best"')[0], ("(0+2)", "aaac"))

    def test_only_a_longer_document_is_cut(self):
        got = self.ids_and_texts(["xy", "abcdefghij", "zw"], '4, cut="above"')
        self.assertEqual(got, [("(1@0-4)", "abcd"), ("(1@4-8)", "efgh"), ("(0+1@8-10)", "xyij"), ("(2)", "zw..")])
        self.assertEqual(self.ids_and_texts(["abcd"], '4, cut="above", delimiter=[33]'), [("(0@0-4)", "abcd"), ("(0@4-5)", "!...")])

    def test_labels_are_the_next_elements_of_the_document(self):
        self.write("x", b"abcdef\n\ng\n")
        rows = samples('lines("x").pack("text", 3, split=true, delimiter=[33], labels=true)')
        self.assertEqual([x.fields["labels"].numbers() for x in rows],
                         [[98, 99, 100], [101, 102, 33], [-100, -100, 33], [-100, -100, -100]])  # fmt: skip

    def test_cu_seqlens_are_where_documents_begin(self):
        self.write("x", b"abc\n\nde\n")
        (x,) = samples('lines("x").pack("text", 6, cu_seqlens=true)')
        self.assertEqual((x.fields["cu_seqlens"].numbers(), x.fields["longest"].numbers()), ([0, 3, 3, 5], [3]))

    def test_segment_and_offset_can_be_left_out(self):
        self.write("x", b"abc\n\nde\n")
        (x,) = samples('lines("x").pack("text", 6, segment=false, offset=false)')
        self.assertEqual(list(x.fields), ["text"])
        (x,) = samples('lines("x").pack("text", 6, offset=false)')
        self.assertEqual(x.fields["segment"].numbers(), [1, 1, 1, 3, 3, 0])

    def test_splitting_fills_one_bin_after_the_other(self):
        got = packed(["ab", "", "cdefghi", "j"], "4, split=true, pad=46")
        self.assertEqual(got, [
            ("(0+2@0-2)", "abcd", [1, 1, 2, 2], [0, 1, 0, 1]),
            ("(2@2-6)", "efgh", [1, 1, 1, 1], [2, 3, 4, 5]),
            ("(2@6-7+3)", "ij..", [1, 2, 0, 0], [6, 0, 0, 0]),
        ])  # fmt: skip

    def test_a_delimiter_may_be_a_part_of_its_own(self):
        self.assertEqual(self.ids_and_texts(["abc"], "3, split=true, delimiter=[33]"),
                         [("(0@0-3)", "abc"), ("(0@3-4)", "!..")])  # fmt: skip


class Streams(InDirectory):
    def test_lines_need_no_newline_at_the_end(self):
        self.write("d/x", b"a\n\nb\r\nc")
        self.write("d/y", b"e\n")
        self.write("d/z", b"")
        rows = samples('lines("d/[xyz]")')
        self.assertEqual([(x.id, x.fields["text"]) for x in rows],
                         [("x/0", b"a"), ("x/1", b""), ("x/2", b"b\r"), ("x/3", b"c"), ("y/0", b"e")])  # fmt: skip

    def test_ranges_have_the_lines_that_begin_in_them(self):
        self.write("x", b"aa\nb\ncccc\nd")  # 11 bytes: cut at 3 and 7; lines at 0, 3, 5, 10
        text = 'lines("x", ranges=3).batch(3, end="mask")'
        self.assertEqual(ids(text), [["x/@0", "x/@3", "x/@10"], ["x/@5"]])

    def test_units_are_shuffled_by_era_and_pass_and_dealt_to_lanes(self):
        for i in range(5):
            self.write(f"x{i}", b"a\n" * (i + 1))
        facts = b"".join((2).to_bytes(8, "little") + b"x%d" % i + (2 * i + 2).to_bytes(8, "little") for i in range(5))
        digest = xxhash.xxh3_128_intdigest(facts)
        orders = [permutation(5, keyed("leat.order.full", 6, 3, p, 1, digest, digest >> 64)) for p in (0, 1)]
        expected = [f"x{j}/{i}" for order in orders for j in order[1::2] for i in range(j + 1)]
        stream = 'mix(count(0), lines("x*", file_order="shuffled", seed=6)).repeat(2)'
        batches = Pipeline(stream + '.batch(2, lanes=2, end="mask")').batches(3)
        self.assertEqual([x.id for rows in batches for p, x in rows if p % 2 == 1], expected)

    def test_lanes_are_no_more_than_units(self):
        for i in range(3):
            self.write(f"x{i}", b"a\n")
        self.assertEqual(Pipeline('lines("x*").batch(8)').lanes, 2)
        self.assertEqual(Pipeline('lines("x*", ranges=2).batch(8)').lanes, 4)
        self.assertEqual(Pipeline("mix(count(3)).batch(8)").lanes, 8)
        with self.assertRaises(Refused):
            Pipeline('lines("x*").batch(8, lanes=4)')

    def test_members_of_json_objects_become_fields(self):
        self.write("x", '{"s": "ü", "i": -1, "f": 2.0, "b": true, "n": null, "a": [1, 2], "e": [],'
                        ' "m": [1, 0.5], "o": {"z": [true], "a": "x"}}\n'.encode())  # fmt: skip
        (x,) = samples('json_lines("x")')
        self.assertEqual(x.fields, {
            "s": "ü".encode(), "i": Tensor("i64", [], b"\xff" * 8), "f": Tensor("f64", [], b"\0" * 7 + b"\x40"),
            "b": Tensor("u8", [], b"\1"), "a": vector("i64", [1, 2]), "e": vector("i64", []),
            "m": vector("f64", [1, 0.5]), "o": b'{"z": [true], "a": "x"}',
        })  # fmt: skip

    def test_members_have_the_types_that_are_asked_for(self):
        self.write("x", b'{"u": 18446744073709551615, "f": 1, "b": [1, "x"], "n": null, "l": [1, 0.5], "t": true}\n')
        (x,) = samples('json_lines("x", types=["u:u64", "f:f64", "b:bytes", "n:i8", "l:f32", "t:i16"])')
        self.assertEqual(x.fields, {
            "u": Tensor("u64", [], b"\xff" * 8), "f": scalar("f64", 1), "b": b'[1, "x"]', "l": vector("f32", [1, 0.5]),
            "t": scalar("i16", 1),
        })  # fmt: skip
        for bad in ("u:i64", "u:u64\", \"b:u8", "u:u64\", \"l:i64", ""):
            types = f'["{bad}"]' if bad else "[]"
            self.assertEqual([y.bad for y in samples(f'json_lines("x", types={types})')], [True], bad)

    def test_cast_makes_elements_of_another_type(self):
        self.write("x", b'{"a": 1}\n{"a": 0.5}\n{"a": [1, 300]}\n{"a": "x"}\n')
        rows = samples('json_lines("x").map("cast@1", field="a", type="f64")')
        self.assertEqual([y.fields and y.fields["a"] for y in rows], [scalar("f64", 1), scalar("f64", 0.5), vector("f64", [1, 300]), None])
        rows = samples('json_lines("x").map("cast@1", field="a", type="u8")')
        self.assertEqual([y.bad for y in rows], [False, True, True, True])

    def test_a_blank_line_of_json_is_no_record_but_has_a_number(self):
        self.write("x", b'\n{"i": 1}\n \t\r\n{"i": 2}\n\n')
        self.assertEqual([x.id for x in samples('json_lines("x")')], ["x/1", "x/3"])
        self.assertEqual([x.id for x in samples('json_lines("x", ranges=3)')], ["x/@1", "x/@14"])
        self.assertEqual([x.id for x in samples('lines("x")')], [f"x/{i}" for i in range(5)])

    def test_a_line_that_is_no_object_is_bad_and_passes_under_mask(self):
        self.write("x", b'{"i": 1}\n\f\n[1]\n{"i": 2\n{"i": 5}\n')
        self.assertEqual([x.bad for x in samples('json_lines("x")')], [False, True, True, True, False])
        text = ('json_lines("x").filter("field_between@1", field="i", min=4).scan("running_count@1", into="n")'
                '.flat_map("windows@1", field="i", length=1).batch(1, end="mask")')  # fmt: skip
        with self.assertRaises(BadSample):
            ids(text)

    def test_a_field_that_both_sides_of_a_zip_have_makes_a_bad_sample(self):
        self.write("x", b'{"value": 1}\n{"a": 1}\n')
        rows = samples('zip(json_lines("x"), count(5))')
        self.assertEqual([(x.id, x.bad) for x in rows], [("(x/0+count/0)", True), ("(x/1+count/1)", False)])

    def test_a_zip_with_a_field_that_is_surely_in_both_is_refused(self):
        for right in ('count(5).map("rename@1", from="value", to="text")', 'standard_input()', 'count(5).pack("value", 3).enumerate("text")',
                      'concat(json_lines("y").map("select@1", fields=["text"]), lines("y"))'):  # fmt: skip
            with self.assertRaises(SyntaxError):
                Pipeline(f'zip(lines("x"), {right}).batch(1)')

    def test_operators_that_need_no_content_do_not_care_for_bad_samples(self):
        self.write("x", b"[]\n[]\n")
        text = 'json_lines("x").filter("key_matches@1", pattern="*1").flat_map("copies@1", n=2)'
        self.assertEqual(row(text), digits("1#0 1#1"))

    def test_under_mask_operators_let_bad_samples_pass(self):
        self.write("x", b'{"a": [1]}\n[]\n{"a": [2, 3]}\n')
        text = ('json_lines("x").scan("running_count@1", into="n").flat_map("windows@1", field="a", length=1)'
                '.pack("a", 2).batch(1, end="mask")')  # fmt: skip
        batches = Pipeline(text).batches(0, mask=True)
        self.assertEqual([(x.id, x.bad) for rows in batches for _, x in rows],
                         [("(x/1#0)", True), ("(x/0#0+x/2#0)", False), ("(x/2#1)", False)])  # fmt: skip

    def test_tar_streams_have_the_samples_of_shards(self):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as shard:
            for name in ("a.txt", "a.cls", "b.txt"):
                info = tarfile.TarInfo(name)
                info.size = len(name)
                shard.addfile(info, io.BytesIO(name.encode()))
        self.write("1.tar", data.getvalue())
        self.write("2.tar.gz", gzip.compress(data.getvalue()))
        names = ["1.tar", "2.tar.gz"]
        if shutil.which("zstd"):
            self.write("3.tar.zst", subprocess.run(["zstd", "-c"], input=data.getvalue(), capture_output=True).stdout)
            names.append("3.tar.zst")
        rows = samples('tar_stream("?.tar*")')
        self.assertEqual([x.id for x in rows], [f"{name}/{key}" for name in names for key in "ab"])
        self.assertEqual(rows[2].fields, {"txt": b"a.txt", "cls": b"a.cls"})

    def test_hidden_members_and_entries_are_passed_over_at_any_depth(self):
        hidden = ("__MACOSX/a.txt", ".x.txt", "a/.b/c.txt", "d/@eaDir/e.txt", "Thumbs.db", "x/desktop.ini")
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as shard:
            for name in ("./a.txt", *hidden, "./a.cls", "../b.txt"):
                shard.addfile(tarfile.TarInfo(name))
        self.write("1.tar", data.getvalue())
        self.assertEqual([x.id for x in samples('tar_shards("1.tar")')], ["1.tar/a", "1.tar/../b"])
        for path in ("b/1.jpg", "a/2.jfif", "b/.x/1.jpg", "b/._1.jpg", "a/@eaDir/2.jpg"):
            self.write("in/" + path, b"")
        digest = open_image_folder({"directory": "in"}).digest
        labels = [(x.id, x.fields["cls"]) for x in samples('image_folder("in")')]
        self.assertEqual(labels, [("a/2.jfif", b"0"), ("b/1.jpg", b"1")])
        self.write("in/__MACOSX/x", b"")
        self.assertEqual([(x.id, x.fields["cls"]) for x in samples('image_folder("in")')], labels)
        self.assertNotEqual(open_image_folder({"directory": "in"}).digest, digest)

    def test_a_tar_file_without_an_end_mark_is_refused(self):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as shard:
            shard.addfile(tarfile.TarInfo("a.txt"))
        for cut in (0, 512):
            self.write("1.tar", data.getvalue()[:cut])
            for source in ("tar_shards", "tar_stream"):
                with self.assertRaises(Refused):
                    samples(f'{source}("1.tar")')
        self.write("1.tar", data.getvalue()[:1024])
        self.assertEqual([x.id for x in samples('tar_shards("1.tar")')], ["1.tar/a"])

    def test_read_files_reads_whole_files_in_the_order_of_their_names(self):
        self.write("in/a.txt", b"one\ntwo\n")
        self.write("in/b.txt", b"three")
        self.write("list.txt", b"\nb.txt\na.txt\n \r\nb.txt\n")
        got = ids('lines("list.txt").read_files("lines", folder="in").batch(1, end="mask")')
        self.assertEqual(got, [["b.txt/0"], ["a.txt/0"], ["a.txt/1"], ["b.txt/0"]])

    def test_read_files_has_an_ordinal_among_the_sources(self):
        self.write("list.txt", b"")
        text = 'concat(count(1), lines("list.txt").read_files("lines"), lines("list.txt")).batch(1)'
        below = {x.ordinal: x.op for x in Pipeline(text).input.below() if not x.inputs or x.op == "read_files"}
        self.assertEqual(below, {0: "count", 1: "lines", 2: "read_files", 3: "lines"})

    def test_standard_input_is_dealt_line_by_line_and_is_there_once(self):
        text = "standard_input().batch(2)"
        options = {"standard_input": b"a\nb\nc"}
        self.assertEqual(ids(text, **options), [["stdin/0", "stdin/1"], ["stdin/2"]])
        self.assertEqual(ids(text, epoch=1, **options), [])


class Jobs(InDirectory):
    """What is handed over, in addition to the order."""

    def handed_over(self, text, **options):
        """(id, whether it is good) of every row."""
        return [(x.delivered, x.pixels is not None) for rows in Pipeline(text).handed_over(0, **options) for x in rows]

    def test_a_row_is_hashed_with_its_position_and_its_fields_in_the_order_of_their_names(self):
        layout = Layout(Sample("x", {"txt": b"", "n": vector("i32", [0]), "a": vector("u8", [0, 0])}), [])
        row = Sample("y", {"n": vector("i32", [-3]), "txt": b"hey", "a": vector("u8", [1, 2])})
        self.assertEqual(layout.row_hash(5, row), "3bb49767a08c4e508c24e2a475710758")  # docs/digest.md

    def test_the_first_good_sample_says_what_fields_a_batch_has(self):
        self.write("x", b'[]\n{"a": 1}\n{"a": 2, "b": 3}\n{"a": 0.5}\n{"b": 1}\n')
        text = 'json_lines("x").batch(1, end="mask")'
        rows = [("x/0", False), ("x/1", True), ("x/2", True), ("x/3", False), ("x/4", False)]
        self.assertEqual(self.handed_over(text, policy="mask"), rows)
        with self.assertRaises(BadSample):
            self.handed_over(text)
        chosen = [("x/0", False), ("x/1", False), ("x/2", True), ("x/3", False), ("x/4", True)]
        self.assertEqual(self.handed_over(text.replace("end=", 'fields=["b"], end='), policy="mask"), chosen)

    def test_the_layout_is_searched_lane_by_lane(self):
        self.write("1", b'[]\n{"a": 1}\n')
        self.write("2", b'{"b": 1}\n{"a": 1}\n')
        rows = [("1/0", False), ("2/0", False), ("1/1", True), ("2/1", True)]
        self.assertEqual(self.handed_over('json_lines("?").batch(2, end="mask")', policy="mask"), rows)

    def test_random_numbers_are_those_of_philox(self):
        words = philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0))
        self.assertEqual(words, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])
        rng = Rng(1, 2)
        self.assertEqual(rng.bits64(), 0x8CEDC5D3E73404CF)
        rng = Rng(1, 2)
        self.assertEqual([rng.below(6) for _ in range(8)], [1, 2, 3, 5, 3, 4, 2, 2])
        self.assertEqual(map_stream(7, "noise@1", 1), 0xE045E3539D7EA710)
        self.assertEqual(sample_key_of(0, 3, 0, 1000), 0x8739BECB317E7492)

    def test_a_substitute_is_drawn_from_the_lane(self):
        got = self.handed_over("count(9).batch(3)", policy="substitute", throw_at=4)
        rng = Rng(map_stream(0, "substitute", 0), sample_key_of(0, 0, 0, 4))
        drawn = next(x for x in iter(lambda: 1 + 3 * rng.below(3), None) if x != 4)
        self.assertEqual(got, [(f"count/{drawn if i == 4 else i}", True) for i in range(9)])


class Command(unittest.TestCase):
    def test_a_batch_prints_as_leat_order_prints_it(self):
        (line,) = Pipeline("count(3).batch(3)").order(0)
        self.assertEqual(to_text(line), '{"epoch": 0, "step": 0, "world_size": 1, "positions": [0,1,2], '
                         '"ids": ["count/0","count/1","count/2"], "digest": "25d58fa08092dcccaed911110cd565d6"}')  # fmt: skip


class Logs(unittest.TestCase):
    """What random_pipelines.py finds wrong with the log of a job of four steps of two rows."""

    def setUp(self):
        self.due = {(0, n): rows for n, rows in enumerate(Pipeline("count(8).batch(2)").handed_over(0))}

    def attempt(self, world, begin, end):
        """The lines of an attempt that hands over the steps from `begin` to `end`."""
        at = {"epoch": 0, "step": begin} if begin else None
        lines = [{"world_size": world, "rank": None, "resumed_at": at}]
        for (epoch, step), rows in list(self.due.items())[begin:end]:
            for rank in range(world):
                own = [x for x in rows if x.position % world == rank]
                digest = sum(row_digest(epoch, x.position, x.id) for x in own) % 2**128
                lines.append({"epoch": epoch, "step": step, "rank": rank, "world_size": world, "positions": [x.position for x in own],
                              "ids": [x.id for x in own], "pixels": [x.pixels for x in own], "digest": "%032x" % digest})  # fmt: skip
        return lines

    def fault(self, *attempts):
        handed = Handed(self.due)
        for lines in attempts:
            fault = handed.fault_of(lines, self.due)
            if fault:
                return fault
        lost = handed.lost(self.due)
        return f"lost {lost}" if lost else None

    def test_steps_may_be_handed_over_again_by_the_next_attempt(self):
        self.assertIsNone(self.fault(self.attempt(1, 0, 3), self.attempt(2, 1, 4)))

    def test_what_is_lost_repeated_moved_or_changed_is_a_fault(self):
        self.assertIn("lost", self.fault(self.attempt(1, 0, 2), self.attempt(2, 3, 4)))
        self.assertIn("lost", self.fault(self.attempt(2, 0, 4)[:-1]))
        self.assertIn("in place of", self.fault([*self.attempt(1, 0, 2), *self.attempt(1, 1, 4)[1:]]))
        for name, x in (("ids", ["count/0", "count/2"]), ("pixels", ["", ""]), ("positions", [1, 0]), ("digest", "0")):
            lines = self.attempt(1, 0, 4)
            lines[1][name] = x
            self.assertIsNotNone(self.fault(lines), name)


if __name__ == "__main__":
    unittest.main()
