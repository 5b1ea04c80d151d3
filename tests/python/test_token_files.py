"""`leat tokenize` and `leat tokens`: files of tokens are the same for any number of workers, and after any number of kills."""

import ctypes
import json
import os
import random
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import leat
import numpy as np
import pytest
from support import COMMAND, run_command

SEED = int(os.environ.get("LEAT_TOKEN_SEED", random.SystemRandom().randrange(1 << 32)))
END = 300


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """A file of ranks: all bytes, and a few words."""
    import base64

    known = [bytes([x]) for x in range(256)] + [b"th", b"the", b" a", b"ab"]
    file = tmp_path / "small.tiktoken"
    file.write_bytes(b"".join(base64.b64encode(text) + b" %d\n" % rank for rank, text in enumerate(known)))
    return file


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    rng = random.Random(SEED)
    words = ["the", "ab", "x", "é", "文", "12", "\n", "", "the end"]
    result = [" ".join(rng.choice(words) for _ in range(rng.randint(0, 60))) for _ in range(20_000)]
    for part in range(3):
        lines = (json.dumps({"text": text, "n": i}) for i, text in enumerate(result) if i % 3 == part)
        (tmp_path / f"docs-{part}.jsonl").write_text("\n".join(lines) + "\n")
    return result[0::3] + result[1::3] + result[2::3]


def tokenize_command(ranks: Path, out: Path, *more: object) -> list[str]:
    data = str(ranks.parent / "docs-*.jsonl")
    words = ["tokenize", data, "--tokenizer", ranks, "--encoding", "gpt2", "--out", out, *more]
    return [str(x) for x in words]


def documents_in(out: Path, dtype: type) -> list[list[int]]:
    reference = leat.megatron(str(out / "tokens")).batch(100, end="mask")
    found = [row.tolist() for batch in leat.Loader(reference, workers=0) for row in batch["tokens"]]
    assert np.fromfile(out / "tokens.bin", dtype).size == sum(map(len, found))
    return found[: leat.megatron(str(out / "tokens")).size()]


def content_of(out: Path) -> dict[str, bytes]:
    return {x.name: x.read_bytes() for x in sorted(out.iterdir())}


def test_files_hold_the_tokens_of_each_document(ranks: Path, texts: list[str], tmp_path: Path) -> None:
    by = leat.tokenize(ranks, encoding="gpt2")
    wanted = [x.tolist() for x in by.encode_batch(texts)]
    out = tmp_path / "out"
    run_command(*tokenize_command(ranks, out, "--end-token", END))
    assert documents_in(out, np.uint16) == [[*x, END] for x in wanted]
    raw = tmp_path / "raw"
    run_command(*tokenize_command(ranks, raw, "--format", "raw", "--dtype", "u32"))
    assert np.fromfile(raw / "tokens.bin", np.uint32).tolist() == [token for x in wanted for token in x]
    assert sorted(content_of(raw)) == ["tokens.bin"]
    counts = json.loads(run_command("tokens", tmp_path / "docs-*.jsonl", "--tokenizer", ranks, "--encoding", "gpt2", "--json"))
    assert (counts["documents"], counts["tokens"]) == (len(texts), sum(map(len, wanted)))


@contextmanager
def changes_of(folder: Path) -> Iterator[int]:
    """A descriptor to read once for each file that gets its name in the folder: Linux's inotify."""
    folder.mkdir(exist_ok=True)
    libc, moved_to = ctypes.CDLL(None, use_errno=True), 0x80
    descriptor = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    assert libc.inotify_add_watch(descriptor, os.fsencode(folder), moved_to) >= 0, os.strerror(ctypes.get_errno())
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def wait_for_stores(changes: int, job: subprocess.Popen[bytes], stores: int) -> None:
    """Until the job has stored its place so often, or has ended."""
    ended = os.pidfd_open(job.pid)
    try:
        while stores > 0 and ended not in (ready := select.select([changes, ended], [], [])[0]):
            assert ready == [changes]
            stores -= os.read(changes, 1 << 16).count(b"tokens.state\0")
    finally:
        os.close(ended)


def test_files_are_the_same_for_any_number_of_workers_and_after_kills(ranks: Path, texts: list[str], tmp_path: Path) -> None:
    del texts
    whole = tmp_path / "whole"
    run_command(*tokenize_command(ranks, whole, "--workers", 0))
    rng = random.Random(SEED)
    out = tmp_path / "killed"
    resumed = 0
    for attempt in range(1000):
        command = [str(COMMAND), *tokenize_command(ranks, out, "--workers", attempt % 4, "--store-every", 0, "--resume")]
        with (
            changes_of(out) as changes,
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job,
        ):
            if attempt < 8:
                wait_for_stores(changes, job, rng.randint(0, 5))
                job.send_signal(signal.SIGKILL)
            errors = job.communicate()[1].decode()
            resumed += "resumes after" in errors
            if job.returncode == 0:
                break
            assert job.returncode == -signal.SIGKILL, errors
    assert content_of(out) == content_of(whole), f"seed {SEED}"
    assert resumed > 0


def test_other_data_and_another_tokenizer_are_refused_at_resume(ranks: Path, texts: list[str], tmp_path: Path) -> None:
    del texts
    out = tmp_path / "out"
    command = [str(COMMAND), *tokenize_command(ranks, out, "--store-every", 0, "--resume")]
    with changes_of(out) as changes, subprocess.Popen(command, stdout=subprocess.DEVNULL) as job:
        wait_for_stores(changes, job, 1)
        job.send_signal(signal.SIGKILL)
    assert job.returncode == -signal.SIGKILL
    before = content_of(out)

    def refused(text: str) -> None:
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert asked.returncode == 1
        assert text in asked.stderr
        assert content_of(out) == before

    known = ranks.read_bytes()
    ranks.write_bytes(known + b"YWJj 260\n")
    refused("tokenize@1")
    ranks.write_bytes(known)
    (tmp_path / "docs-3.jsonl").write_text('{"text": "more"}\n')
    refused("files: snapshot 3 files")


def test_what_is_there_is_not_written_over(ranks: Path, texts: list[str], tmp_path: Path) -> None:
    del texts
    out = tmp_path / "out"
    run_command(*tokenize_command(ranks, out))
    before = content_of(out)

    def refused(*more: object) -> str:
        asked = subprocess.run(
            [str(COMMAND), *tokenize_command(ranks, out, *more)], capture_output=True, text=True, check=False
        )
        assert asked.returncode in (1, 2)
        return asked.stderr

    assert "has tokens" in refused()
    assert "has tokens" in refused("--resume")
    assert content_of(out) == before
    (out / "tokens.state").write_text('{"format": "raw, i32, no end token", "documents": 0, "tokens": 0, "bytes": 0}\n')
    assert "not complete" in refused()
    assert "another format" in refused("--resume")
    (out / "tokens.state").write_text("what?\n")
    assert "damaged" in refused("--resume")
    (out / "tokens.state").unlink()
    (out / "tokens.bin").unlink()
    (out / "tokens.idx").unlink()


def test_a_type_without_room_for_the_vocabulary_is_refused_before_anything_is_written(
    ranks: Path, texts: list[str], tmp_path: Path
) -> None:
    del texts  # have small tokens alone
    out = tmp_path / "out"

    def refused(*more: object) -> str:
        command = [str(COMMAND), *tokenize_command(ranks, out, *more)]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert asked.returncode == 2
        assert not out.exists()
        return asked.stderr

    assert "the end token 65536 as u16, needed --dtype i32" in refused("--end-token", 1 << 16)
    known = ranks.read_bytes()
    ranks.write_bytes(known + b"YWJj 65536\n")
    assert "a vocabulary of 65537 tokens as u16, needed --dtype i32" in refused()
    assert "a vocabulary of 65537 tokens" in refused("--format", "raw", "--resume")
    ranks.write_bytes(known + b"YWJj 65535\n")
    run_command(*tokenize_command(ranks, out, "--end-token", 65535))
    ranks.write_bytes(known + b"YWJj 65536\n")
    run_command(*tokenize_command(ranks, tmp_path / "more", "--dtype", "i32"))
    found = np.fromfile(tmp_path / "more" / "tokens.bin", np.int32).tolist()
    assert found == [x for x in np.fromfile(out / "tokens.bin", np.uint16).tolist() if x != 65535]
