"""Every source, operator, transform, predicate and option: as text, as a value, and in batches."""

import gc
import os
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path

import leat
import numpy as np
import pytest
from made_files import png, write_tar
from support import digests, due, first, json_lines_of, refused, run_command

Make = Callable[[Path], leat.Pipeline]


def write_megatron(prefix: Path, documents: list[np.ndarray]) -> None:
    """PREFIX.bin and PREFIX.idx, as Megatron-LM's builder writes them: each document is one sequence of u16."""
    lengths = np.array([len(x) for x in documents], np.int32)
    offsets = np.concatenate([[0], 2 * np.cumsum(lengths)[:-1]]).astype(np.int64)
    bounds = np.arange(len(documents) + 1, dtype=np.int64)
    header = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(bounds))
    prefix.with_suffix(".idx").write_bytes(header + lengths.tobytes() + offsets.tobytes() + bounds.tobytes())
    prefix.with_suffix(".bin").write_bytes(b"".join(x.tobytes() for x in documents))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tars a and b of 6 images each, a class folder, text and JSON lines, raw records, and a list of files."""
    folder = tmp_path_factory.mktemp("data")
    for shard in range(2):
        members = []
        for i in range(6):
            members += [(f"{i}.png", png(8 + i, 9, [40 * i, 80, shard])), (f"{i}.cls", str(i).encode())]
        write_tar(folder / f"{'ab'[shard]}.tar", members)
    for name in ("cat", "dog"):
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(4):
            (folder / "photos" / name / f"{i}.png").write_bytes(png(10, 10, [i, 2, 3]))
    (folder / "text.txt").write_text("".join(f"line {i} of the text\n" for i in range(16)))
    (folder / "more.jsonl").write_text("".join(f'{{"n": {i}, "word": "w{i}", "tokens": [1, {i}]}}\n' for i in range(16)))
    (folder / "raw.i16").write_bytes(bytes(range(240)))
    np.save(folder / "rows.npy", np.arange(60, dtype=np.int16).reshape(20, 3))
    for name in "xy":
        write_megatron(folder / name, [np.arange(n, dtype=np.uint16) for n in (3, 0, 5, 1, 2, 4, 1, 1)])
    (folder / "files.txt").write_text("".join(f"{folder}/text.txt\n" for _ in range(4)))
    return folder


def tar(folder: Path) -> leat.Pipeline:
    return leat.tar_shards(f"{folder}/{{a,b}}.tar")


def lines(folder: Path) -> leat.Pipeline:
    return leat.lines(f"{folder}/text.txt", ranges=4)


def records(folder: Path) -> leat.Pipeline:
    return leat.json_lines(f"{folder}/more.jsonl", ranges=2)


def images(*transforms: leat.ImageTransform, **options: object) -> Make:
    return lambda folder: tar(folder).map(leat.decode_image("png", [*transforms], **options)).batch(2)


def quality() -> leat.FilterStage:
    return leat.text_quality(
        "text", min_words=1, max_words=9, min_word_length=1, max_word_length=9.5, min_letters=0.1, max_digits=0.9,
        max_symbols=0.9, min_words_with_letters=0.1, max_repeated_lines=0.5, min_ended_lines=0, max_bullet_lines=0.5,
        max_ellipsis_lines=0.5,
    )  # fmt: skip


def augmented() -> leat.MapStage:
    return leat.train_image(
        "png", size=6, dtype="f16", layout="nhwc", mean=[0, 0, 0], std=[1, 1, 1], scale=[0.2, 1], ratio=[1, 1], flip=0.25
    )


CASES: dict[str, Make] = {
    "count": lambda _: leat.count(40, record_bytes=5).batch(4),
    "tar_shards": lambda x: leat.tar_shards(f"{x}/*.tar", index_dir=str(x), allow_torn=True).batch(3),
    "tar_shards of a list": lambda x: leat.tar_shards([f"{x}/b.tar", f"{x}/a.tar"]).batch(3),
    "image_folder": lambda x: leat.image_folder(f"{x}/photos", index_dir=str(x)).batch(3),
    "raw_records": lambda x: leat.raw_records(f"{x}/raw.i16", "i16", [4, 2]).batch(3),
    "raw_records without a rest": lambda x: leat.raw_records(f"{x}/raw.i16", "f64", [7], drop_last=True).batch(2),
    "tokens": lambda x: leat.tokens(f"{x}/raw.i16", "i16", 9, stride=8).batch(3),
    "tokens with a rest": lambda x: leat.tokens([f"{x}/raw.i16"], "uint16", 50, drop_last=False).batch(2),
    "tokens at random": lambda x: leat.tokens(f"{x}/raw.i16", "u16", 9, random_windows=12, seed=5).batch(3),
    "npy": lambda x: leat.npy(f"{x}/rows.npy").batch(3),
    "megatron": lambda x: leat.megatron(f"{x}/x").batch(3),
    "megatron of a list": lambda x: leat.megatron([f"{x}/y.idx", f"{x}/x.bin"]).batch(3),
    "tar_stream": lambda x: leat.tar_stream(f"{x}/*.tar", order="shuffled", seed=3).batch(2, end="drop"),
    "lines": lambda x: leat.lines(f"{x}/text.txt", ranges=4, order="shuffled", seed=5).batch(4, end="mask"),
    "json_lines": lambda x: records(x).batch(2, end="drop"),
    "shuffle": lambda _: leat.count(40).shuffle(seed=9).batch(4),
    "shuffle of windows": lambda x: tar(x).shuffle(seed=9, kind="windowed", window=2).batch(2, lanes=2),
    "no shuffle": lambda _: leat.count(40).shuffle(kind="none").batch(4),
    "take": lambda _: leat.count(40).take(9).batch(3),
    "skip": lambda _: leat.count(40).skip(9).batch(3),
    "repeat": lambda _: leat.count(10).shuffle(seed=1).repeat(3).batch(3),
    "enumerate": lambda _: leat.count(10).shuffle(seed=1).enumerate("number").batch(3),
    "sample": lambda _: leat.count(40).sample(0.5, seed=2).batch(2, end="mask"),
    "zip": lambda _: leat.zip([leat.count(9).map(leat.rename("value", "other")), leat.count(20)]).batch(3),
    "concat": lambda _: leat.concat([leat.count(9), leat.count(20)]).batch(3),
    "mix": lambda x: leat.mix(
        [lines(x), lines(x).filter(leat.key_hash(50, salt=3))], weights=[1, 3], rule="random", stop="all", seed=4
    ).batch(4, end="mask"),
    "mix with a schedule": lambda x: leat.mix(
        [lines(x), lines(x)], weights=[0.7, 0.3], schedule={2: [0, 1], 5: [1, 1]}, temperature=2
    ).batch(4, end="mask"),
    "mix with a schedule by cost": lambda x: leat.mix(
        [lines(x), lines(x)], stop="cycle", cost="text", schedule={20: [3, 1]}, max_repeats=2, schedule_by="cost"
    ).batch(4, end="mask"),
    "mix by cost": lambda x: leat.mix([lines(x), lines(x)], weights=[1, 2], cost="text", stop="first").batch(4, end="mask"),
    "shuffle_buffer": lambda x: lines(x).shuffle_buffer(8, seed=7).batch(4, end="mask"),
    "length_bucket": lambda x: lines(x).length_bucket("text", [4, 6], group=4, window=9).batch(4, lanes=2, end="mask"),
    "token_budget": lambda x: lines(x).token_budget("text", 150, rows=4).batch(4, lanes=2, end="mask"),
    "token_budget, padded": lambda x: (
        lines(x).token_budget("text", 150, rows=4, padded=True).map(leat.ragged("text")).batch(4, lanes=2, end="drop")
    ),
    "pack": lambda x: lines(x).pack("text", 64, bins=2, delimiter=10, pad=32).batch(2, end="mask"),
    "pack for a language model": lambda x: (
        lines(x)
        .pack("text", 12, bins=3, fit="best", cut="above", labels=True, ignore_index=-1, cu_seqlens=True, offset=False)
        .batch(2, end="mask")
    ),
    "pack that cuts always": lambda x: lines(x).pack("text", 24, cut="always", labels=True).batch(2, end="mask"),
    "pack that splits": lambda x: lines(x).pack("text", 24, split=True).batch(2, end="mask"),
    "read_files": lambda x: (
        leat.lines(f"{x}/files.txt", ranges=2).read_files("lines", field="text", folder="/").batch(2, end="mask")
    ),
    "key_hash": lambda x: lines(x).filter(leat.key_hash(40, 1)).batch(2, end="mask"),
    "key_matches": lambda x: lines(x).filter(leat.key_matches("*[02468]")).batch(2, end="mask"),
    "field_hash": lambda x: lines(x).filter(leat.field_hash("text", keep=60)).batch(2, end="mask"),
    "field_between": lambda x: records(x).filter(leat.field_between("n", min=3, max=12)).batch(2, end="mask"),
    "bytes_between": lambda x: lines(x).filter(leat.bytes_between("text", min=19)).batch(2, end="mask"),
    "copies": lambda _: leat.count(8).flat_map(leat.copies(3)).batch(4, end="mask"),
    "split": lambda x: lines(x).flat_map(leat.split("text", at=32)).batch(4, end="mask"),
    "windows": lambda x: lines(x).flat_map(leat.windows("text", 4)).batch(4, end="mask"),
    "running_count": lambda x: records(x).scan(leat.running_count("i")).batch(2, end="mask"),
    "running_sum": lambda x: records(x).scan(leat.running_sum("n", "sum")).batch(2, end="mask"),
    "select": lambda x: records(x).map(leat.select(["word", "n"])).batch(2, end="mask"),
    "rename": lambda x: records(x).map(leat.rename("word", "text")).batch(2, end="mask"),
    "chunks": lambda x: lines(x).flat_map(leat.chunks("text", 4, overlap=1)).batch(4, end="mask"),
    "truncate": lambda x: lines(x).map(leat.truncate("text", 3)).batch(4, end="mask"),
    "cast": lambda x: records(x).map(leat.cast("n", "f32")).batch(2, end="mask"),
    "json_lines with types": lambda x: leat.json_lines(f"{x}/more.jsonl", types={"n": "f64", "tokens": "bytes"}).batch(
        2, end="mask"
    ),
    "drop_fields": lambda x: records(x).map(leat.drop_fields(["word", "none"])).batch(2, end="mask"),
    "concat_fields": lambda x: records(x).map(leat.concat_fields(["word", "word"], "twice", between=10)).batch(2, end="mask"),
    "add_tokens": lambda x: records(x).map(leat.add_tokens("tokens", [7], end=[8, -1])).batch(2, end="mask"),
    "default_field": lambda x: records(x).map(leat.default_field("text", "a b")).batch(2, end="mask"),
    "default_field with numbers": lambda x: (
        records(x)
        .map(leat.default_field("flag", True))
        .map(leat.default_field("whole", 7))
        .map(leat.default_field("real", 2.0))
        .batch(2, end="mask")
    ),
    "loss_mask": lambda x: (
        records(x).map(leat.loss_mask("tokens", [1], [2], include_end=False, into="mask")).batch(2, end="mask")
    ),
    "normalize_text": lambda x: (
        lines(x)
        .map(leat.normalize_text("text", spaces="all", trim=False, line_ends=False, control=False, lower=True, unicode="nfd"))
        .map(leat.ragged("text"))
        .batch(2, end="mask")
    ),
    "length_between": lambda x: lines(x).filter(leat.length_between("text", min=5, max=18)).batch(2, end="mask"),
    "text_quality": lambda x: lines(x).filter(quality()).batch(2, end="mask"),
    "deduplicate": lambda x: lines(x).flat_map(leat.windows("text", 3)).deduplicate(["text"], 40).batch(2, end="mask"),
    "deduplicate with all": lambda x: lines(x).deduplicate(["text"], keys=40, kind="set").batch(2, end="mask"),
    "ragged": lambda _: leat.count(12).map(leat.ragged("value")).batch(3),
    "pad of a field": lambda x: lines(x).map(leat.pad("text", 30, value=32)).batch(2, end="mask"),
    "int_label": lambda x: tar(x).map(leat.int_label("cls")).batch(3),
    "batch": lambda x: tar(x).batch(4, lanes=2, end="mask", fields=["cls"]),
    "train_image": lambda x: tar(x).map(augmented()).batch(2),
    "eval_image": lambda x: (
        tar(x).map(leat.eval_image("png", size=6, dtype="u8", resize=8, max_pixels=400, exact=True)).batch(2)
    ),
    "random_resized_crop": images(leat.random_resized_crop(5, scale=(0.3, 0.9), ratio=(0.5, 2.0))),
    "resize": images(leat.resize((5, 7))),
    "resize of the shorter side": images(leat.resize(6), leat.center_crop((4, 5))),
    "center_crop": images(leat.center_crop(7), exact=True, max_pixels=1000),
    "random_horizontal_flip": images(leat.resize((4, 4)), leat.random_horizontal_flip(0.3)),
    "pad": images(leat.resize((4, 4)), leat.pad(left=1, top=2, right=1, bottom=2, mode="edge")),
    "pad with a colour": images(leat.resize((4, 4)), leat.pad(left=1, fill=(1, 2, 3))),
    "color_jitter": images(leat.resize((4, 4)), leat.color_jitter(0.4, contrast=0.3, saturation=(0.5, 1.5), hue=0.1)),
    "normalize": images(leat.resize((4, 4)), leat.normalize(), leat.to_dtype("bf16")),
    "random_erasing": images(
        leat.resize((4, 4)),
        leat.normalize(mean=(0, 0, 0), std=(1, 1, 1)),
        leat.random_erasing(p=0.5, scale=(0.1, 0.3), ratio=(0.5, 2), value=(1, 2, 3), noise=False),
    ),
    "to_layout": images(leat.resize((4, 4)), leat.to_dtype("f32"), leat.to_layout("nhwc")),
}


@pytest.mark.parametrize("name", CASES)
def test_it_prints_parses_compares_and_pickles(name: str, data: Path) -> None:
    made = CASES[name](data)
    text = str(made)
    again = leat.parse_pipeline(text)
    assert again == made
    assert hash(again) == hash(made)
    assert str(again) == repr(made) == text
    assert pickle.loads(pickle.dumps(made)) == made
    assert made != leat.count(41).batch(4)
    assert made != text


@pytest.mark.parametrize("name", CASES)
def test_its_batches_are_those_of_the_command(name: str, data: Path, tmp_path: Path) -> None:
    made = CASES[name](data)
    file = tmp_path / "pipeline"
    file.write_text(str(made))
    order = [x["digest"] for x in json_lines_of(run_command("order", "--pipeline", file))]
    assert order == due(made)
    assert order
    for workers in (0, 2):
        assert digests(leat.Loader(made, workers=workers)) == order


def test_options_have_the_values_that_the_text_shows(data: Path) -> None:
    text = str(CASES["pack"](data))
    assert 'pack("text", 64, bins=2, split=false, delimiter=[10], pad=32)' in text.replace("\n", ""), text
    assert 'batch(4, lanes=2, end="mask", fields=["cls"])' in str(CASES["batch"](data))
    assert 'shuffle(seed=9, kind="windowed", window=2)' in str(CASES["shuffle of windows"](data))


def test_defaults_keep_the_type_of_their_value(data: Path) -> None:
    text = str(CASES["default_field with numbers"](data))
    for words in ('type="u8", value=1', 'type="i64", value=7', 'type="f64", value=2'):
        assert words in text


def test_matches(data: Path) -> None:
    one_lane = leat.lines(f"{data}/text.txt")
    try:
        predicate = leat.matches("text", "1[0-3] of", invert=True)
    except leat.InvalidArgument as problem:
        assert problem.got == "a build of leat without RE2"  # noqa: PT017
        pytest.skip("leat was built without RE2")
    made = one_lane.filter(predicate).batch(12, lanes=1, end="mask")
    assert leat.parse_pipeline(str(made)) == made
    assert list(first(made).text("text")) == [f"line {i} of the text" for i in range(16) if not 10 <= i <= 13]
    whole = leat.matches("text", "line [0-9] of the text", whole=True)
    kept = first(one_lane.filter(whole).batch(16, lanes=1, end="mask"))
    assert len(kept.bad()) == 0
    assert [x for x in kept.text("text") if x] == [f"line {i} of the text" for i in range(10)]


def test_pipelines_are_values() -> None:
    base = leat.count(10)
    assert base.take(3) == leat.count(10).take(3)
    assert base.take(3) != base.take(4)
    assert len({base.take(3), leat.count(10).take(3), base}) == 2


def test_sizes_and_ends() -> None:
    data = leat.count(10).batch(4)
    assert (data.size(), data.batches_per_epoch()) == (10, 2)
    assert leat.end_of(data) == "drop"
    assert leat.with_end(data, "mask").batches_per_epoch() == 3
    assert leat.end_of(leat.with_end(data, "cycle")) == "cycle"
    assert not leat.is_once(data)
    assert leat.is_once(leat.standard_input())
    assert leat.shape_of(leat.zip([leat.count(3).shuffle(), leat.count(3)]).take(2).batch(1)) == (
        "zip(count.shuffle, count).take.batch"
    )


def test_facts(data: Path) -> None:
    made = CASES["shuffle_buffer"](data)
    facts = leat.epoch_of(made)
    assert (facts.batch_rows, facts.lanes, facts.end, facts.is_indexed) == (4, 4, "mask", False)
    assert facts.needs_agreement
    assert not facts.is_endless
    assert facts.world_sizes() == [1, 2, 4]
    graph = leat.graph_of(made)
    assert not graph.is_indexed
    assert any("shuffle_buffer" in x["call"] for x in graph.rounds[0]["iterator"])
    tree = leat.operators_of(made)
    assert tree["op"] == "batch"
    assert tree["inputs"][0]["op"] == "shuffle_buffer"
    tree = leat.operators_with_data(CASES["tar_shards"](data))
    assert tree["inputs"][0]["data"]["records"] == 12


def test_records_without_a_loader(data: Path) -> None:
    (source,) = leat.indexed_sources(tar(data).batch(2))
    assert len(source) == 12
    assert source.name == "tar"
    assert source.id(7).endswith("b.tar/1")
    assert source[1]["cls"] == b"1"
    assert [x["cls"] for x in (source[i] for i in range(3))] == [b"0", b"1", b"2"]
    with pytest.raises(IndexError):
        source[12]
    assert leat.class_names(f"{data}/photos") == ["cat", "dog"]


def test_tokens_are_those_of_the_files(data: Path, tmp_path: Path) -> None:
    all_tokens = np.fromfile(data / "raw.i16", np.int16)
    batch = first(leat.tokens(f"{data}/raw.i16", "i16", 9, stride=8).batch(14))
    assert batch["tokens"].dtype == np.int16
    assert (batch["tokens"] == np.lib.stride_tricks.sliding_window_view(all_tokens, 9)[::8]).all()
    np.save(tmp_path / "x.npy", all_tokens.astype(np.int64))
    batch = first(leat.tokens(str(tmp_path / "x.npy"), np.int64, 30).batch(4))
    assert (batch["tokens"] == all_tokens.reshape(4, 30)).all()
    assert (first(leat.npy(f"{data}/rows.npy").batch(20))["value"] == np.load(data / "rows.npy")).all()
    (source,) = leat.indexed_sources(leat.megatron(f"{data}/x"))
    assert [source[i]["tokens"].tolist() for i in range(4)] == [[0, 1, 2], [], [0, 1, 2, 3, 4], [0]]
    refused("u16", leat.tokens(str(tmp_path / "x.npy"), "u16", 30).size)


def test_an_image_is_what_the_transforms_say(data: Path) -> None:
    batch = first(images(leat.resize((4, 5)))(data))
    assert batch["image"].shape == (2, 3, 4, 5)
    assert batch["image"][1, :, 0, 0].tolist() == [40, 80, 0]
    batch = first(CASES["pad with a colour"](data))
    assert batch["image"][0, :, 0, 0].tolist() == [1, 2, 3]


def test_own_names_are_registered() -> None:
    leat.register_map("plus@1", lambda text: leat.MapStage("plus@1", lambda s: s.set("x", int(text[2:])), parameters=text))
    leat.register_predicate("even@1", lambda _: leat.FilterStage("even@1", lambda s: s["value"][0] % 2 == 0))
    leat.register_flat_map("twins@1", lambda _: leat.FlatMapStage("twins@1", lambda _s: 2, lambda s, i: s.set("twin", i)))
    leat.register_scan(
        "steps@1",
        lambda _: leat.ScanStage(
            "steps@1", look=lambda _s: b"", step=lambda state, _: (state + b"x", state), apply=lambda s, x: s.set("n", len(x))
        ),
    )
    text = 'count(6).map("plus@1", a=7).filter("even@1").flat_map("twins@1").scan("steps@1").batch(6, lanes=1, end="mask")'
    made = leat.parse_pipeline(text)
    batch = first(made)
    assert batch["x"].tolist() == [7] * 6
    assert batch["value"][:, 0].tolist() == [0, 0, 2, 2, 4, 4]
    assert batch["twin"].tolist() == [0, 1] * 3
    assert batch["n"].tolist() == list(range(6))
    assert pickle.loads(pickle.dumps(made)) == made
    refused("nobody@1", leat.parse_pipeline, 'count(6).map("nobody@1").batch(2)')


class _Numbered:
    """Nothing else holds it after its registration, nor the methods that are called."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __len__(self) -> int:
        return 40

    def __getitem__(self, record: int) -> dict[str, int]:
        return {"x": record * self.factor}


class _Read(_Numbered):
    def read(self, record: int, sample: leat.Sample) -> None:
        sample.set("x", record * self.factor + 1)


@pytest.mark.parametrize("workers", [0, 2])
def test_own_sources_are_registered(workers: int) -> None:
    def values(text: str) -> list[int]:
        made = pickle.loads(pickle.dumps(leat.parse_pipeline(text)))
        return [int(x) for batch in leat.Loader(made, workers=workers) for x in batch["x"]]

    leat.register_source("numbered@1", _Numbered(3))
    leat.register_source("read@1", _Read(5))
    leat.register_source("list@1", [{"x": i} for i in range(40)])
    leat.register_sequential("units@1", lambda unit: iter([{"x": 10 * unit + i} for i in range(10)]))
    left = list(range(8))
    leat.register_once("once@1", lambda sample: bool(left) and (sample.set("x", left.pop(0)), True)[1])
    gc.collect()
    assert values('indexed("numbered@1").batch(8, lanes=1)') == [3 * i for i in range(40)]
    assert values('indexed("read@1").batch(8, lanes=1)') == [5 * i + 1 for i in range(40)]
    assert values('indexed("list@1").batch(8, lanes=1)') == list(range(40))
    same = leat.indexed("list@1", [{"x": i} for i in range(40)]).batch(8, lanes=1)
    for made in (same, leat.parse_pipeline('indexed("list@1").batch(8, lanes=1)')):
        loader = leat.Loader(made, workers=workers)
        assert [x for batch in loader for x in batch.ids()] == [f"list/{i}" for i in range(40)]
        assert loader.data_digest() == leat.Loader(same).data_digest()
    assert values('sequential("units@1", 4).batch(8, lanes=1, end="mask")') == list(range(40))
    assert values('once("once@1").batch(8, lanes=1, end="mask")') == list(range(8))


def test_paths_of_pathlib(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    (tmp_path / "x.bin").write_bytes(bytes(16))
    for made, text in (
        (lambda x: leat.json_lines(x / "x.jsonl"), "x.jsonl"),
        (lambda x: leat.json_lines([x / "x.jsonl", str(x / "y")]), "y"),
        (lambda x: leat.lines(x / "x.jsonl"), "x.jsonl"),
        (lambda x: leat.raw_records(x / "x.bin", "u8", [4]), "x.bin"),
        (lambda x: leat.tokens(x / "x.bin", "u16", 4), "x.bin"),
        (lambda x: leat.tar_shards(x / "x.tar", index_dir=x / "index"), "index"),
        (lambda x: leat.tar_stream([x / "x.tar"]), "x.tar"),
        (lambda x: leat.image_folder(x / "train", index_dir=x), "train"),
        (lambda x: leat.npy(x / "x.npy"), "x.npy"),
        (lambda x: leat.megatron(x / "x"), "x"),
        (lambda x: leat.parquet(x / "x.parquet"), "x.parquet"),
        (lambda x: leat.arrow(x / "x.arrow"), "x.arrow"),
        (lambda x: leat.lines("x").read_files("lines", folder=x / "folder"), "folder"),
        (lambda x: leat.standard_input().journal(x / "journal"), "journal"),
    ):
        assert made(tmp_path) == made(Path(str(tmp_path)))
        assert f"{tmp_path}/{text}" in str(made(tmp_path)) or "standard_input" in str(made(tmp_path))
    data = leat.json_lines(tmp_path / "x.jsonl").batch(1, end="mask")
    log = tmp_path / "log"
    loader = leat.Loader(data, workers=0, bad_sample_log=tmp_path / "bad", trace=leat.Trace(tmp_path / "trace"))
    assert loader.restore(tmp_path) is None
    run_log = leat.RunLog(log, loader)
    batch = next(loader)
    run_log.append(batch)
    loader.save(tmp_path, batch)
    loader.wait_saved()
    assert leat.read_snapshot(tmp_path).step == len(leat.newest_snapshot(tmp_path)) == 1
    assert leat.Cluster(state_directory=tmp_path).state_directory == str(tmp_path)
    own = leat.OwnLoader("own@1", begin_epoch=lambda epoch: None, next=iter([1, None]).__next__)
    own.next()
    own.save(tmp_path / "own")
    assert leat.OwnLoader("own@1", begin_epoch=lambda epoch: None, next=lambda: None).restore(tmp_path / "own") is not None
    with pytest.raises(TypeError):
        leat.json_lines(3)
    with pytest.raises(leat.NotFound):
        leat.class_names(tmp_path / "nowhere")


def test_file_names_that_are_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / name).write_text("a\nb\n")
    assert len(list(leat.Loader(leat.lines(tmp_path / name).batch(1, end="mask"), workers=0))) == 2


@pytest.mark.parametrize(
    "data",
    [
        leat.count(1),
        leat.raw_records("x", "u8"),
        leat.tokens("x", "u16", 4),
        leat.tar_shards("x"),
        leat.image_folder("x"),
        leat.tar_stream("x"),
        leat.lines("x"),
        leat.json_lines("x", types={"a": "f64"}),
        leat.parquet("x"),
        leat.arrow("x"),
    ],
)
def test_names_in_texts_are_those_of_arguments(data: leat.Pipeline) -> None:
    text = str(data)
    assert set(re.findall(r"(\w+)=", text)) - set(inspect_signature(text.partition("(")[0])) <= {"file_order"}


def inspect_signature(function: str) -> list[str]:
    (signature, *_), *_ = getattr(leat, function).__nb_signature__
    return re.findall(r"(\w+): ", signature)
