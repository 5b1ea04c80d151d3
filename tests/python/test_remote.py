"""Options for servers: `remote=` of sources and loaders."""

import importlib
import random
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import leat
import numpy as np
import pytest
from made_files import write_tar

CONTENT = bytes(range(240))


class Bucket(BaseHTTPRequestHandler):
    """One object, /b/x, that anybody may read, in ranges."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[int]] = []  # the sizes of all ranges so far

    def do_GET(self) -> None:
        if self.path != "/b/x":
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        first, last = (int(x) for x in self.headers["Range"].removeprefix("bytes=").split("-"))
        self.asked.append(last + 1 - first)
        part = CONTENT[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", '"v1"')
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: Any) -> None:
        pass


class Shards(Bucket):
    """Objects that anybody may read, in ranges, and write."""

    objects: ClassVar[dict[str, bytes]] = {}
    names_asked: ClassVar[list[str]] = []
    asked: ClassVar[list[int]] = []
    refuses_more_than: ClassVar[int] = 1 << 40

    def do_GET(self) -> None:
        self.names_asked.append(self.path)
        content = self.objects.get(self.path)
        if content is None:
            self.answer(404)
            return
        first, last = (int(x) for x in self.headers["Range"].removeprefix("bytes=").split("-"))
        part = content[first : last + 1]
        if len(part) > self.refuses_more_than:
            self.answer(403)
            return
        self.asked.append(len(part))
        self.answer(206, part, {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(content)}"})

    def do_PUT(self) -> None:
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200)

    def answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] = MappingProxyType({})) -> None:
        self.send_response(status)
        if self.path in self.objects:
            self.send_header("ETag", f'"{zlib.crc32(self.objects[self.path])}"')
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler] = Bucket) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def rows_of(loader: leat.Loader) -> list[int]:
    return [int(x) for batch in loader for x in batch["value"]]


def test_a_source_and_a_loader_take_them() -> None:
    with served() as address:
        remote = {"endpoint": address, "anonymous": True, "region": None}
        data = leat.raw_records("s3://b/x", "u8", remote=remote).batch(80)
        assert rows_of(leat.Loader(data, workers=0)) == list(CONTENT)
        text = str(data)
        assert address not in text
        again = leat.parse_pipeline(text)
        assert rows_of(leat.Loader(again, workers=0, remote=remote)) == list(CONTENT)
        assert len(leat.indexed_sources(leat.with_remote(again, remote))[0]) == len(CONTENT)


def test_a_cache_keeps_what_is_fetched(tmp_path: Path) -> None:
    with served() as address:
        remote = {"endpoint": address, "anonymous": True, "cache": tmp_path / "c", "cache_bytes": 20_000_000}
        text = str(leat.raw_records("s3://b/x", "u8", remote={"endpoint": address, "anonymous": True}).batch(80))
        assert rows_of(leat.Loader(leat.parse_pipeline(text), workers=0, remote=remote)) == list(CONTENT)
        assert (tmp_path / "c" / "leat-cache-1").is_dir()
        before = [x for x in Bucket.asked if x > 1]
        assert rows_of(leat.Loader(leat.parse_pipeline(text), workers=0, remote=remote)) == list(CONTENT)
        assert [x for x in Bucket.asked if x > 1] == before  # one byte says which version there is


def test_indexes_are_put_and_found_by_their_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tar(tmp_path / "0.tar", [(f"{i}.txt", b"x" * i) for i in range(20)])
    Shards.objects = {"/b/0.tar": (tmp_path / "0.tar").read_bytes()}
    manifest = "s3://b/all.leat-manifest"
    with served(Shards) as address:
        remote = {"endpoint": address, "anonymous": True}
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one machine"))
        data = leat.tar_shards("s3://b/0.tar", remote=remote)
        made = leat.put_indexes(data, manifest)
        assert made == {
            "manifest": manifest,
            "shards": 1,
            "records": 20,
            "manifest_bytes": len(Shards.objects["/b/all.leat-manifest"]),
            "index_bytes": 0,
        }
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
        Shards.names_asked.clear()
        again = leat.tar_shards("s3://b/0.tar", index_dir=manifest, remote=remote)
        found = leat.operators_with_data(again)["data"]
        assert set(Shards.names_asked) == {"/b/all.leat-manifest"}
        near = leat.tar_shards(tmp_path / "0.tar", index_dir=tmp_path / "near")
        assert found["digest"] == leat.operators_with_data(near)["data"]["digest"]
        assert len(leat.indexed_sources(again)[0][19]["txt"]) == 19
        leat.put_indexes(data, tmp_path / "out")
        assert (tmp_path / "out" / "data.leat-manifest").is_file()
        for out, said in (("https://h.example/x", "puts nothing"), ("s3://b", "shards of this machine")):
            with pytest.raises(leat.InvalidArgument, match=said):
                leat.put_indexes(near, out)
        with pytest.raises(leat.InvalidArgument, match="of this machine"):
            leat.tar_shards(tmp_path / "0.tar", index_dir=manifest)
        with pytest.raises(leat.InvalidArgument, match="tar_shards"):
            leat.put_indexes(leat.count(5), tmp_path / "out")


@contextmanager
def served_tables(tmp_path: Path, rows: int = 400, files: int = 2) -> Iterator[tuple[str, dict[str, Any]]]:
    """The addresses of Parquet files that are on this machine as well, and options for them."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    draw = random.Random(5)
    Shards.objects = {}
    for file in range(files):
        numbers = range(file * rows, (file + 1) * rows)
        columns = {
            "n": arrow.array(numbers, arrow.int64()),
            "noise": [draw.randbytes(2000) for _ in numbers],
            "t": [str(x) for x in numbers],
        }
        place = tmp_path / f"{file}.parquet"
        parquet.write_table(
            arrow.table(columns),
            place,
            row_group_size=50,
            use_dictionary=False,
            write_page_checksum=True,
            write_statistics=False,
        )
        Shards.objects[f"/b/{place.name}"] = place.read_bytes()
    Shards.names_asked.clear()
    Shards.asked.clear()
    with served(Shards) as address:
        yield f"s3://b/{{0..{files - 1}}}.parquet", {"endpoint": address, "anonymous": True}


def content_of(loader: leat.Loader) -> list[tuple[str, list[int], list[str]]]:
    return [(str(x.digest()), x["n"].tolist(), x.text("t")) for x in loader]


def test_tables_are_those_of_files(tmp_path: Path) -> None:
    with served_tables(tmp_path) as (addresses, remote):
        for columns in (None, ["t", "n"]):
            for order in ({}, {"seed": 3, "kind": "windowed", "window": 3}, {"seed": 3}):
                pair = [
                    leat.parquet(x, columns, **how)
                    for x, how in ((f"{tmp_path}/*.parquet", {}), (addresses, {"remote": remote}))
                ]
                near, far = (x.shuffle(**order).batch(30, lanes=2) if order else x.batch(30, lanes=2) for x in pair)
                assert remote["endpoint"] not in str(far)
                wanted = content_of(leat.Loader(near, workers=0))
                assert content_of(leat.Loader(far, workers=2)) == wanted
                job, again, steps = leat.Loader(near, workers=0), leat.Loader(far, workers=1), 7
                for _ in range(steps):
                    next(job)
                assert again.restore_parts([job.snapshot()]).step == steps
                assert content_of(again) == wanted[steps:]


def test_of_tables_only_what_is_chosen_is_fetched(tmp_path: Path) -> None:
    with served_tables(tmp_path, rows=1000) as (addresses, remote):
        loader = leat.Loader(leat.parquet(addresses, ["n"], remote=remote).batch(50), workers=1)
        assert [int(x) for batch in loader for x in batch["n"]] == list(range(2000))
        assert sum(Shards.asked) < sum(map(len, Shards.objects.values())) / 9  # a block for each row group
        hedges = 2 + 44 // 20  # at most, on a busy machine
        assert len(Shards.asked) <= 2 * (2 + 20) + hedges  # a version, a footer and 20 row groups for each


def test_row_groups_are_fetched_ahead_and_once(tmp_path: Path) -> None:
    def row_groups() -> int:  # versions and footers are shorter
        return sum(x > 1 << 16 for x in Shards.asked)

    for order in ({}, {"seed": 3, "kind": "windowed", "window": 3}):
        with served_tables(tmp_path) as (addresses, remote):
            data = leat.parquet(addresses, remote=remote)
            loader = leat.Loader((data.shuffle(**order) if order else data).batch(10), workers=1)
            next(loader)
            deadline = time.monotonic() + 60
            while row_groups() < 16 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert row_groups() >= 16  # of the rows that come later only some have been made
            assert sum(len(x["n"]) for x in loader) == 790
            hedges = 2 + 20 // 20  # at most, on a busy machine
            assert row_groups() <= 16 + hedges


def test_a_server_that_fails_is_no_bad_sample_of_tables(tmp_path: Path) -> None:
    with served_tables(tmp_path, files=1) as (addresses, remote):
        loader = leat.Loader(leat.parquet(addresses, remote=remote, cache_bytes=0).batch(10), workers=0, bad_samples="mask")
        next(loader)
        Shards.objects["/b/0.parquet"] += b"x"  # another version
        with pytest.raises(leat.InputOutput, match=r"b/0.parquet"):
            for _ in loader:
                pass
        Shards.refuses_more_than = 1  # byte, which says what version there is
        with pytest.raises(leat.InputOutput, match=r"b/0.parquet.*403"):
            leat.Loader(leat.parquet(addresses, remote=remote).batch(10), workers=0)
        Shards.refuses_more_than = 1 << 40
        with pytest.raises(KeyboardInterrupt):  # nothing of the failure is left for the next job
            next(leat.Loader(leat.count(5).map("ends@1", interrupt).batch(5), workers=0))
        Shards.objects.clear()
        with pytest.raises(leat.NotFound, match=r"b/0.parquet"):
            leat.Loader(leat.parquet(addresses, remote=remote).batch(10), workers=0)


def interrupt(_: leat.Sample) -> None:
    raise KeyboardInterrupt


def test_damaged_row_groups_and_files_of_servers_are_told_of(tmp_path: Path) -> None:
    with served_tables(tmp_path, files=1) as (addresses, remote):
        metadata = importlib.import_module("pyarrow.parquet").read_metadata(tmp_path / "0.parquet")
        place = metadata.row_group(2).column(1)
        content = bytearray(Shards.objects["/b/0.parquet"])
        content[place.data_page_offset + place.total_compressed_size - 3] ^= 1
        Shards.objects["/b/0.parquet"] = bytes(content)
        loader = leat.Loader(leat.parquet(addresses, remote=remote).batch(50), workers=2, bad_samples="mask")
        assert [all(x.valid) for x in loader] == [i != 2 for i in range(8)]
        Shards.objects["/b/0.parquet"] = bytes(content)[:-9]
        with pytest.raises(leat.Error, match="a whole Parquet file") as told:
            leat.Loader(leat.parquet(addresses, remote=remote).batch(50), workers=0)
        assert told.value.code == "torn_file"
        with pytest.raises(leat.InvalidArgument, match="on this machine"):
            leat.Loader(leat.with_remote(leat.arrow("s3://b/0.parquet").batch(5), remote), workers=0)


def test_statistics_say_what_servers_were_asked_for() -> None:
    with served() as address:
        data = leat.raw_records("s3://b/x", "u8", remote={"endpoint": address, "anonymous": True}).batch(80)
        loader = leat.Loader(data, workers=1)
        assert rows_of(loader) == list(CONTENT)
        found = loader.stats()["remote"]
        assert found["requests"] > 0
        assert found["bytes_received"] >= len(CONTENT)
        assert found["throttled"] == 0
        assert found["cache_hits"] >= 0  # those of the whole process
        assert 0 <= found["answering"] <= found["requesting"]


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_loaders_of_frameworks_open_the_data_with_them(framework: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(framework, reason=f"needs {framework}: tests/python/frameworks")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")  # where nobody answers
    made_of = {"torch": "DataLoader", "jax": "Loader"}[framework]
    loader_of = getattr(importlib.import_module(f"leat.{framework}"), made_of)
    with served() as address:
        remote = {"endpoint": address, "anonymous": True}
        data = leat.parse_pipeline(str(leat.raw_records("s3://b/x", "u8", remote=remote).batch(80)))
        loader = loader_of(data, rank=0, world_size=1, epochs=1, workers=0, remote=remote)
        assert [x for batch in loader for x in np.asarray(batch["value"]).tolist()] == list(CONTENT)


@pytest.mark.parametrize("remote", ["PLANTED", [("token", "PLANTED")]])
def test_options_of_a_wrong_type_are_not_shown(remote: Any) -> None:
    with pytest.raises(TypeError, match="remote=a ") as raised:
        leat.tar_shards("s3://b/x.tar", remote=remote)
    assert "PLANTED" not in str(raised.value)


def test_what_is_no_option_is_refused_without_its_value() -> None:
    for remote, said in (
        ({"endpoint_url": "PLANTED"}, '"endpoint_url"'),
        ({"secret_key": b"PLANTED", "access_key": "A"}, 'remote["secret_key"]'),
        ({"secret_key": "PLANTED"}, "only one half of a pair of keys"),
        ({"anonymous": "yes"}, "True or False"),
        ({"bucket_in": "PLAN"}, "automatic, path or host"),
        ({"bytes_in_flight": -1}, "not negative"),
        ({"cache": 5}, 'remote["cache"]'),
        ({"cache": "s3://b/cache"}, "a directory of this machine"),
        ({"cache_bytes": -1}, "not negative"),
        ({"cache_bytes": 5_000_000}, "without a directory"),
        ({"cache": "/x", "cache_bytes": 5}, "what a block takes"),
    ):
        with pytest.raises(leat.InvalidArgument) as raised:
            leat.tar_shards("s3://b/x.tar", remote=remote)
        assert said in str(raised.value)
        assert "PLANTED" not in str(raised.value)
