#!/usr/bin/env python3
"""Worked examples for the reference, computed by hand: what random pipelines rarely show of it."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # next to the sources
SKIPPED = 4  # tests/CMakeLists.txt: SKIP_RETURN_CODE
try:
    import xxhash
except ImportError as missing:
    print(f"skipped: {missing}; it is in the package python3-xxhash")
    sys.exit(SKIPPED)

from cases.logs import Handed
from plain import weights
from plain.hashes import keyed, row_digest
from plain.layouts import Layout, kind_of
from plain.random_numbers import Rng, sample_key_of, map_stream, philox
from plain.samples import BadSample, Refused, Sample, Tensor, scalar, vector
from reference import Pipeline


def ids(text, epoch=0, steps=None, **options):
    """The ids of every batch."""
    return [line["ids"] for line in Pipeline(text, **options).order(epoch, steps)]


def row(text, **options):
    """The numbers of all ids of one lane, after their last slash."""
    return [id.rpartition("/")[2] for batch in ids(text + ".batch(1, lanes=1, end=\"mask\")", **options) for id in batch]


def samples(text):
    return [x for batch in Pipeline(text + ".batch(1, end=\"mask\")").batches(0) for _, x in batch]


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


class LanesAndEnds(unittest.TestCase):
    def test_cycle_begins_a_lane_again_by_itself(self):
        text = 'count(5).filter("key_matches@1", pattern="*").batch(2)'
        expected = [["count/0", "count/1"], ["count/2", "count/3"], ["count/4", "count/1"], ["count/0", "count/3"]]
        self.assertEqual(ids(text, steps=4), expected)

    def test_a_lane_that_gives_nothing_in_an_era_is_an_error(self):
        with self.assertRaises(Refused):
            ids('count(5).filter("key_matches@1", pattern="*/[024]").batch(2)', steps=1)

    def test_cycle_needs_steps_and_has_one_epoch(self):
        for options in ({}, {"epoch": 1, "steps": 3}):
            with self.assertRaises(Refused):
                ids('count(5).batch(2, end="cycle")', **options)


class Mix(unittest.TestCase):
    def test_weights_become_whole_numbers(self):
        self.assertEqual(weights.whole_weights([0.7, 0.2, 0.1]), [7, 2, 1])
        self.assertEqual(weights.whole_weights([20, 10]), [20, 10])
        self.assertEqual(weights.whole_weights([3.2e12, 4e11]), [2147483647, 268435456])
        self.assertEqual(weights.tempered([4, 1], 2), [2**20, 2**19])


class FiltersAndChildren(InDirectory):
    def test_scan_counts_and_sums_from_the_start_of_every_pass(self):
        self.write("x.jsonl", b'{"i": 3}\n{"i": -5}\n')
        rows = samples('json_lines("x.jsonl").scan("running_sum@1", field="i", into="s")'
                       '.scan("running_count@1", into="n").repeat(2)')  # fmt: skip
        self.assertEqual([x.fields["s"].numbers() + x.fields["n"].numbers() for x in rows], [[3, 0], [-2, 1]] * 2)

    def test_ragged_lets_lengths_vary_in_a_batch(self):
        self.write("x.jsonl", b'{"a": [1, 2]}\n{"a": []}\n{"a": 3}\n')
        rows = samples('json_lines("x.jsonl").map("ragged@1", field="a")')
        self.assertEqual([x.fields and x.fields["a"].numbers() for x in rows], [[1, 2], [], None])
        self.assertEqual({kind_of(x.fields["a"]) for x in rows[:2]}, {("ragged", "i64", ())})


class Streams(InDirectory):
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

    def test_a_line_that_is_no_object_is_bad_and_passes_under_mask(self):
        self.write("x", b'{"i": 1}\n\f\n[1]\n{"i": 2\n{"i": 5}\n')
        self.assertEqual([x.bad for x in samples('json_lines("x")')], [False, True, True, True, False])
        text = ('json_lines("x").filter("field_between@1", field="i", min=4).scan("running_count@1", into="n")'
                '.flat_map("windows@1", field="i", length=1).batch(1, end="mask")')  # fmt: skip
        with self.assertRaises(BadSample):
            ids(text)

    def test_operators_that_need_no_content_do_not_care_for_bad_samples(self):
        self.write("x", b"[]\n[]\n")
        text = 'json_lines("x").filter("key_matches@1", pattern="*1").flat_map("copies@1", n=2)'
        self.assertEqual(row(text), ["1#0", "1#1"])

    def test_under_mask_operators_let_bad_samples_pass(self):
        self.write("x", b'{"a": [1]}\n[]\n{"a": [2, 3]}\n')
        text = ('json_lines("x").scan("running_count@1", into="n").flat_map("windows@1", field="a", length=1)'
                '.pack("a", 2).batch(1, end="mask")')  # fmt: skip
        batches = Pipeline(text).batches(0, mask=True)
        self.assertEqual([(x.id, x.bad) for rows in batches for _, x in rows],
                         [("(x/1#0)", True), ("(x/0#0+x/2#0)", False), ("(x/2#1)", False)])  # fmt: skip


class Jobs(unittest.TestCase):
    """What is handed over, in addition to the order."""

    def test_a_row_is_hashed_with_its_position_and_its_fields_in_the_order_of_their_names(self):
        layout = Layout(Sample("x", {"txt": b"", "n": vector("i32", [0]), "a": vector("u8", [0, 0])}), [])
        row = Sample("y", {"n": vector("i32", [-3]), "txt": b"hey", "a": vector("u8", [1, 2])})
        self.assertEqual(layout.row_hash(5, row), "3bb49767a08c4e508c24e2a475710758")  # docs/digest.md

    def test_random_numbers_are_those_of_philox(self):
        words = philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0))
        self.assertEqual(words, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])
        rng = Rng(1, 2)
        self.assertEqual(rng.bits64(), 0x8CEDC5D3E73404CF)
        rng = Rng(1, 2)
        self.assertEqual([rng.below(6) for _ in range(8)], [1, 2, 3, 5, 3, 4, 2, 2])
        self.assertEqual(map_stream(7, "noise@1", 1), 0xE045E3539D7EA710)
        self.assertEqual(sample_key_of(0, 3, 0, 1000), 0x8739BECB317E7492)


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
