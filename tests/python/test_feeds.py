"""Feeds: sources that exist once, in Python's own functions, and served to loaders."""

import itertools
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import leat
import pytest

FEED = """
import sys
import leat

leat.run_feed("lines", join=sys.argv[1], files=sys.argv[2:], log=lambda line: print(line, flush=True))
"""


@pytest.fixture
def place(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Where a loader says that feeds join."""
    caplog.set_level(logging.WARNING, logger="leat")

    def find() -> str:
        found = re.findall(r"feeds join at (\S+)", caplog.text)
        assert found
        return found[-1]

    return find


def counter(end: int, begin: int = 0) -> Callable[[leat.Sample], bool]:
    numbers = iter(range(begin, end))

    def record(sample: leat.Sample) -> bool:
        number = next(numbers, None)
        if number is None:
            return False
        sample["value"] = number
        return True

    return record


def values(batches: "itertools.islice[leat.Batch] | leat.Loader") -> list[int]:
    return [x for batch in batches for x in batch["value"].tolist()]


def test_a_feed_of_this_process_gives_each_record_once_and_ends_with_its_source(place: Callable[[], str]) -> None:
    with leat.Loader(leat.feed("queue").batch(8), workers=1, feeds_at="127.0.0.1:0") as loader:
        feed = leat.Feed("queue", counter(96), join=place())
        assert values(loader) == list(range(96))
    assert feed.wait(30)


def test_statistics_say_what_a_feed_has_given_and_where_it_is(place: Callable[[], str]) -> None:
    with leat.Loader(leat.feed("queue").batch(8), workers=1, feeds_at="127.0.0.1:0") as loader:
        (before,) = loader.stats()["feeds"]
        assert (before["name"], before["at"], before["records_read"]) == ("queue", "", 0)
        feed = leat.Feed("queue", counter(96), join=place())
        assert values(loader) == list(range(96))
        (found,) = loader.stats()["feeds"]
        assert found.keys() == before.keys()
        assert found["at"].startswith("127.0.0.1:")
        assert found["has_ended"]
        assert not found["has_journal"]
        assert (found["records_read"], found["reached"], found["lag"]) == (96, 96, 0)
        assert found["records_taken"] >= 96
        assert found["records_received"] >= 96
        assert found["bytes_received"] > 96
        assert found["starved"] > 0
    assert feed.wait(30)
    with leat.Loader(leat.count(8).batch(4), workers=1) as loader:
        assert loader.stats()["feeds"] == []
    assert leat.graph_of(leat.feed("queue").batch(8)).feeds == ["queue"]


def test_a_program_of_its_own_serves_the_lines_of_files(place: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n" for i in range(10)))
    (tmp_path / "b.txt").write_text("".join(f"line {i}\n" for i in range(10, 16)))
    with leat.Loader(leat.feed("lines").batch(4), workers=1, feeds_at="127.0.0.1:0") as loader:
        command = [sys.executable, "-c", FEED, place(), str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
        feed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        found = [text for batch in loader for text in batch.text("text")]
    assert feed.wait(30) == 0
    feed.stdout.close()
    assert found == [f"line {i}" for i in range(16)]


def test_a_job_resumes_with_the_journal_of_its_feed(place: Callable[[], str], tmp_path: Path) -> None:
    job = leat.feed("queue").batch(4)
    journal, sets = tmp_path / "journal", tmp_path / "sets"
    with (
        leat.Loader(job, workers=1, feeds_at="127.0.0.1:0") as loader,
        leat.Feed("queue", counter(40), join=place(), journal=journal),
    ):
        found = values(itertools.islice(loader, 3))
        loader.save(sets)
        loader.wait_saved()
    with leat.Loader(job, workers=1, feeds_at="127.0.0.1:0") as loader:
        assert loader.restore(sets)
        with leat.Feed("queue", counter(0), join=place(), journal=journal):
            found += values(itertools.islice(loader, 2))
    assert found == list(range(20))


def test_the_failure_of_a_feeds_function_is_the_loaders_too(place: Callable[[], str]) -> None:
    def record(sample: leat.Sample) -> bool:
        raise ValueError("the queue is on fire")

    loader = leat.Loader(leat.feed("queue").batch(4), workers=1, feeds_at="127.0.0.1:0")
    feed = leat.Feed("queue", record, join=place())
    with pytest.raises(leat.Error, match="on fire"):
        next(loader)
    loader.close()
    with pytest.raises(leat.Error, match="on fire"):
        feed.wait(30)


def test_without_a_place_the_error_says_what_is_needed() -> None:
    with leat.Loader(leat.feed("queue").batch(4), workers=1) as loader, pytest.raises(leat.InvalidArgument, match="feeds_at"):
        next(loader)
    with pytest.raises(leat.InvalidArgument, match="name"):
        leat.feed("")
    with pytest.raises(leat.InvalidArgument):
        leat.Feed("queue", counter(1), join="nowhere").wait(30)
