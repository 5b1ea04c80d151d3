#!/usr/bin/env python3
"""Worked examples for the reference, computed by hand: what random pipelines rarely show of it."""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
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


class Mix(unittest.TestCase):
    def test_weights_become_whole_numbers(self):
        self.assertEqual(weights.whole_weights([0.7, 0.2, 0.1]), [7, 2, 1])
        self.assertEqual(weights.whole_weights([20, 10]), [20, 10])
        self.assertEqual(weights.whole_weights([3.2e12, 4e11]), [2147483647, 268435456])
        self.assertEqual(weights.tempered([4, 1], 2), [2**20, 2**19])

    def test_an_empty_repetition_is_an_error(self):
        with self.assertRaises(Refused):
            row('mix(count(3), count(0), stop="cycle")')


class FiltersAndChildren(InDirectory):
    def test_numbers_beyond_float64_are_infinite_or_zero(self):
        self.write("x", b"1e400\n-1e400\n1e-400\n-1e-400\n")
        for bounds, kept in (("min=1e308", ["0"]), ("max=-1e308", ["1"]), ("min=0, max=0", ["2", "3"])):
            self.assertEqual(row(f'lines("x").filter("field_between@1", field="text", {bounds})'), kept, bounds)

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


class Pack(InDirectory):
    def test_a_longer_document_is_a_bad_sample(self):
        self.write("x", b"abc")
        with self.assertRaises(BadSample):
            samples('lines("x").pack("text", 2)')

    def test_documents_of_several_types_make_a_sample_bad_as_a_whole(self):
        self.write("x", b'{"a": [1, 2]}\n{"a": "z"}\n{"a": [0.5]}\n{"a": [3]}\n')
        rows = samples('json_lines("x").pack("a", 3)')
        self.assertEqual([(x.id, x.bad) for x in rows], [("(x/0+x/1)", True), ("(x/2+x/3)", True)])

    def test_numbers_that_the_type_does_not_have_make_every_sample_bad(self):
        self.write("x", b'{"a": "xyz"}\n{"a": [1, 2]}\n')
        rows = samples('json_lines("x").pack("a", 3, bins=1, pad=300)')
        self.assertEqual([(x.id, x.bad) for x in rows], [("(x/0)", True), ("(x/1)", False)])


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
        self.assertEqual(ids('lines("x", ranges=3).batch(3, end="mask")'), [["x/@0", "x/@3", "x/@10"], ["x/@5"]])

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
        self.assertEqual(row(text), ["1#0", "1#1"])

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
