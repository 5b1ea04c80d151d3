"""Odd files, each of which stands for a class: what the command, and Python, report of them and read."""

import gzip
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import leat
import pytest
from support import COMMAND

ODD = Path(os.environ.get("LEAT_ODD", Path(__file__).resolve().parents[2].parent / "shared" / "data" / "odd"))
pytestmark = pytest.mark.skipif(not ODD.is_dir(), reason=f"there is no {ODD}")  # not "needs": see tests/python/frameworks

ROWS = '.map("select@1", fields=["cls"]).batch(1, end="mask")'
ONE = '.batch(1, end="mask")'
CYCLE = '.batch(1, end="cycle")'
TEXTS = '.map("default_field@1", field="text", value="none").map("select@1", fields=["text"]).batch(1, end="mask")'


class Case(NamedTuple):
    """A pipeline, in which FILE stands for the file: either it reads so many rows, or its error contains all of these."""

    file: str
    text: str
    rows: int | None = None
    error: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


DOTTED = ("a key ends at the first dot", "the sample has 00.png 00.cls")
NOT_NEIGHBOURS = ("000.cls after 000.jpg", "must be neighbours")
ENDS_EARLY = ("torn file", "the end of the file", "was cut short")
CASES = [
    Case("T01-dotted.tar", f'tar_shards("FILE"){ONE}', error=DOTTED),
    Case("T01-dotted.tar", f'tar_stream("FILE"){ONE}', error=DOTTED),
    Case("T02-not-neighbours.tar", f'tar_shards("FILE"){ONE}', error=("tar --sort=name",), notices=NOT_NEIGHBOURS),
    Case("T02-not-neighbours.tar", f'tar_stream("FILE"){ONE}', error=("must be neighbours", "tar --sort=name")),
    Case("T04-macos.tar", f'tar_shards("FILE"){ROWS}', rows=2),
    Case("T04-macos.tar", f'tar_stream("FILE"){ROWS}', rows=2),
    Case("T08-hard-link.tar", f'tar_shards("FILE"){ROWS}', rows=3, notices=("1 hard link (", "b.jpg")),
    Case("T08-hard-link.tar", f'tar_stream("FILE"){ROWS}', rows=3, notices=("1 hard link (", "b.jpg")),
    Case("T10-empty.tar", f'tar_shards("FILE"){ONE}', error=("T10-empty.tar", "0 samples")),
    Case("T10-empty.tar", f'tar_shards("FILE"){CYCLE}', error=("T10-empty.tar", "0 samples")),
    Case("T10-empty.tar", f'tar_stream("FILE"){ONE}', error=("T10-empty.tar", "no batch")),
    Case("T10-empty.tar", f'tar_stream("FILE"){CYCLE}', error=("T10-empty.tar",)),
    Case("T10-zero-bytes.tar", f'tar_shards("FILE"){CYCLE}', error=("T10-zero-bytes.tar", *ENDS_EARLY)),
    Case("T10-zero-bytes.tar", f'tar_stream("FILE"){ONE}', error=("T10-zero-bytes.tar", *ENDS_EARLY)),
    Case("T11-cat.tar", f'tar_shards("FILE"){ROWS}', rows=2, notices=("goes on after its end mark", "10240 bytes")),
    Case("T11-cat.tar", f'tar_stream("FILE"){ROWS}', rows=2, notices=("goes on after its end mark",)),
    *(
        Case(f"T12-cut-{x}.tar{ending}", f'{source}("FILE"){ROWS}', error=ENDS_EARLY)
        for x in ("at-member", "in-record")
        for source, ending in (("tar_shards", ""), ("tar_stream", ""), ("tar_stream", ".gz"))
    ),
    Case("J03-blank-end.jsonl", f'json_lines("FILE"){ONE}', rows=2),
    Case("J07-nan.jsonl", f'json_lines("FILE"){ONE}', error=("line 2", "NaN and Infinity", "write null")),
    Case("J08-uint64-ids.jsonl", f'json_lines("FILE"){ONE}', error=("line 1", "int64 cannot hold", 'types=["id:u64"]')),
    Case("J08-uint64-ids.jsonl", f'json_lines("FILE", types=["id:u64"]){ONE}', rows=2),
    Case("J10-null.jsonl", f'json_lines("FILE"){ONE}', error=('field "text" is missing', "default_field@1")),
    Case("J10-null.jsonl", f'json_lines("FILE"){TEXTS}', rows=3),
    Case("J11-int-then-float.jsonl", f'json_lines("FILE"){ONE}', error=("cast@1", 'types=["score:f64"]')),
    Case("J11-int-then-float.jsonl", f'json_lines("FILE").map("cast@1", field="score", type="f64"){ONE}', rows=3),
    Case("J12-list-types.jsonl", f'json_lines("FILE"){ONE}', error=('types=["v:f64"]',)),
    Case("J12-list-types.jsonl", f'json_lines("FILE", types=["v:f64"]).map("ragged@1", field="v"){ONE}', rows=3),
    Case("J12-messages.jsonl", f'json_lines("FILE"){ONE}', error=('types=["messages:bytes"]',)),
    Case("J12-messages.jsonl", f'json_lines("FILE", types=["messages:bytes"]){ONE}', rows=2),
    Case("J13-pretty.jsonl", f'json_lines("FILE"){ONE}', error=("JSON over several lines", "jq -c .")),
    Case("J14-utf16.jsonl", f'json_lines("FILE"){ONE}', error=("it is UTF-16", "iconv -f UTF-16 -t UTF-8")),
    Case("Z02-garbage-behind.jsonl.gz", f'json_lines("FILE"){ONE}', error=("other bytes after the end of what gzip packed",)),
    Case("Z04-dictionary.jsonl.zst", f'json_lines("FILE"){ONE}', error=("made with a dictionary", "zstd -d -D DICTIONARY")),
    Case("Z09-gzip-named.jsonl.zst", f'json_lines("FILE"){ONE}', rows=2),
    Case("Z09-plain-named.jsonl.gz", f'json_lines("FILE"){ONE}', error=("JSON, which its name says gzip", "named.jsonl")),
    Case("M10-headerless.npy", f'npy("FILE"){ONE}', error=("without NumPy's first bytes", "tokens(")),
    Case("M10-headerless.npy", f'tokens("FILE", type="u32", length=10){ONE}', rows=10),
    Case("P02-other-order.parquet", f'lines("FILE"){ONE}', error=("a Parquet file", "leat.parquet in Python")),
    Case("F01-checkpoints", f'image_folder("FILE"){ROWS}', rows=2),
    Case("F01-hidden", f'image_folder("FILE"){ROWS}', rows=8),
    Case("F01-macosx", f'image_folder("FILE"){ROWS}', rows=2),
    Case("F01-trash", f'image_folder("FILE"){ROWS}', rows=2),
    Case("F05-endings", f'image_folder("FILE"){ROWS}', rows=8, notices=("2 files that are no .jpg", "0.bmp")),
]  # fmt: skip


def copied(name: str, folder: Path) -> Path:
    """A copy, since indexes are made next to the files; folders are in an archive, and *.gz is made from what is there."""
    if name.startswith("F"):
        with tarfile.open(ODD / "F01-folders.tar") as archive:
            archive.extractall(folder, filter="fully_trusted")
        return folder / name
    if not (ODD / name).exists():
        (folder / name).write_bytes(gzip.compress((ODD / name.removesuffix(".gz")).read_bytes()))
        return folder / name
    return Path(shutil.copyfile(ODD / name, folder / name))


def text_of(case: Case, folder: Path) -> str:
    return case.text.replace("FILE", str(copied(case.file, folder)))


def check(case: Case, rows: int | None, error: str, notices: str) -> None:
    assert rows == case.rows, error
    for part in case.error:
        assert part in error
    for part in case.notices:
        assert part in notices
    if not case.notices:
        assert notices == ""


@pytest.mark.parametrize("case", CASES, ids=lambda x: f"{x.file} {x.text}")
def test_python(case: Case, told: list[str], tmp_path: Path) -> None:
    rows, error = None, ""
    try:
        rows = sum(x.valid_rows for x in leat.Loader(leat.parse_pipeline(text_of(case, tmp_path)), workers=1))
    except leat.Error as problem:
        error = str(problem)
    check(case, rows, error, "\n".join(told))


@pytest.mark.parametrize("case", CASES, ids=lambda x: f"{x.file} {x.text}")
def test_command(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "odd.leat"
    file.write_text(text_of(case, tmp_path))
    steps = ["--steps", "9"] if "cycle" in case.text else []
    found = subprocess.run(
        [COMMAND, "run", "--pipeline", file, "--workers", "1", "--json", *steps],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    notices = "\n".join(x for x in found.stderr.splitlines() if x.startswith("leat: "))
    assert found.returncode in (0, 1), found.stderr
    check(case, (None if found.returncode else json.loads(found.stdout)["samples"]), found.stderr, notices)


def test_an_empty_shard_among_others_is_named(tmp_path: Path) -> None:
    for name in ("T04-macos.tar", "T10-empty.tar"):
        copied(name, tmp_path)
    data = leat.tar_stream(str(tmp_path / "*.tar")).map(leat.select(["cls"])).batch(2, lanes=2, end="cycle")
    with pytest.raises(leat.Error, match=r"file .*T10-empty.tar, got nothing from lane 1 in its epoch 0, needed .*fewer lanes"):
        leat.Loader(data, workers=1).next()


def test_links_of_folders_are_told_of(told: list[str], tmp_path: Path) -> None:
    data = leat.image_folder(str(copied("F04-links", tmp_path))).map(leat.select(["cls"])).batch(1, end="mask")
    assert sum(x.valid_rows for x in leat.Loader(data, workers=0)) > 0
    assert "link" in told[0]


def rows_of(data: leat.Pipeline, rows: int) -> dict[str, Any]:
    batch = next(leat.Loader(data.batch(rows, end="mask"), workers=0))
    assert batch.valid_rows == rows
    return {name: [bytes(x) for x in batch[name]] if isinstance(batch[name], leat.Ragged) else batch[name] for name in batch}


def refusal(data: leat.Pipeline) -> str:
    with pytest.raises(leat.Error) as told:
        leat.Loader(data.batch(1, end="mask"), workers=0).next()
    return str(told.value)


def test_parquet_files_of_several_writers(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    wide, narrow, null = (copied(f"P0{x}.parquet", tmp_path) for x in ("2-other-order", "3-narrower", "4-all-null"))
    turned = tmp_path / "turned.parquet"
    pq.write_table(pq.read_table(wide).select(["text", "n"]), turned)
    assert list(rows_of(leat.parquet([str(wide), str(turned)]), 6)["n"]) == [1, 2, 3, 1, 2, 3]
    assert 'types=["NAME:i64"]' in refusal(leat.parquet([str(wide), str(narrow)]))
    both = rows_of(leat.parquet([str(wide), str(narrow)], types={"n": "i64"}), 4)
    assert (list(both["n"]), both["text"][3]) == ([1, 2, 3, 4], b"four")
    assert 'nulls="no_field"' in refusal(leat.parquet(str(null)))
    assert list(rows_of(leat.parquet(str(null), nulls="no_field"), 2)) == ["n"]
    options: dict[str, Any] = {"types": {"text": "bytes"}, "nulls": "no_field"}
    mixed = leat.parquet([str(wide), str(null)], **options).map(leat.default_field("text", "none"))
    assert rows_of(mixed, 5)["text"] == [b"one", b"two", b"three", b"none", b"none"]


def test_parquet_columns_of_other_kinds(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    decimal, image, texts, chats = (
        str(copied(f"P06-{x}.parquet", tmp_path)) for x in ("decimal", "image-struct", "list-of-texts", "messages")
    )
    assert 'types={"d": "f64"}, or "bytes"' in refusal(leat.parquet(decimal))
    assert list(rows_of(leat.parquet(decimal, types={"d": "f64"}), 2)["d"]) == [1.0, 2.0]
    assert rows_of(leat.parquet(decimal, types={"d": "bytes"}), 2)["d"] == [b"1.00", b"2.00"]
    assert sorted(rows_of(leat.parquet(image), 2)) == ["image.bytes", "image.path", "label"]
    pixels = leat.parquet(image, ["image.bytes"]).map(leat.decode_image("image.bytes", [leat.center_crop(8)]))
    assert rows_of(pixels, 2)["image"].shape == (2, 3, 8, 8)
    assert [json.loads(x) for x in rows_of(leat.parquet(texts), 2)["tags"]] == [["a", "b"], []]
    assert [json.loads(x) for x in rows_of(leat.parquet(chats), 2)["messages"]] == [[{"role": "user", "content": "hi"}], []]
