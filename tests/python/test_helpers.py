"""Helpers: processes that make rows for a loader, in Python with functions that both programs register."""

import itertools
import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import leat
import process_jobs as jobs
import pytest

HELPER = """
import sys
import leat

def double(sample):
    sample["value"] = sample["value"] * 2

leat.register_map("double@1", lambda parameters: leat.MapStage("double@1", double))
leat.run_worker(sys.argv[1], cores=1, token=sys.argv[2], log=lambda line: print(line, flush=True))
"""


HELPER_WITH_CHILDREN = """
import sys
import leat
import process_jobs as jobs

if __name__ == "__main__":
    leat.register_map("deadly@1", lambda parameters: leat.MapStage("deadly@1", jobs.deadly))
    leat.run_worker(sys.argv[1], cores=1, log=lambda line: print(line, flush=True))
"""
HERE = Path(__file__).resolve().parent


def double(sample: leat.Sample) -> None:
    sample["value"] = sample["value"] * 2
    time.sleep(0.002)  # so that the loader's one worker has not made all of them before a helper comes


def job() -> leat.Pipeline:
    return leat.count(2000).map("double@1", double).batch(10)


def told(batches: Iterable[leat.Batch]) -> list[tuple[str, list[list[int]]]]:
    return [(str(batch.digest()), batch["value"].tolist()) for batch in batches]


@pytest.fixture
def place(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Where a loader says that helpers join."""
    caplog.set_level(logging.WARNING, logger="leat")

    def find() -> str:
        found = re.search(r"helpers join at (\S+)", caplog.text)
        assert found
        return found[1]

    return find


def test_a_program_with_maps_of_its_own_helps(place: Callable[[], str]) -> None:
    with leat.Loader(job(), workers=2) as alone:
        expected = told(alone)
    access = leat.HelperAccess(token="between us")
    with leat.Loader(job(), workers=1, workers_at="127.0.0.1:0", helpers=access) as helped:
        found = told(itertools.islice(helped, 1))
        helper = subprocess.Popen([sys.executable, "-c", HELPER, place(), "between us"], stdout=subprocess.PIPE, text=True)
        try:
            assert "helps" in helper.stdout.readline()
            found += told(helped)
            facts = helped.stats()["helped"]
        finally:
            helper.send_signal(signal.SIGINT)
            assert helper.wait(30) != 0  # KeyboardInterrupt
            helper.stdout.close()
    assert found == expected
    assert facts["rows_received"] > 0


class Storm:
    """Helpers in processes of their own, of which now and then one is killed, and another one begins."""

    def __init__(self, place: str, seed: int) -> None:
        self._command = [sys.executable, "-c", HELPER_WITH_CHILDREN, place]
        self._path = os.pathsep.join([str(HERE), *filter(None, sys.path)])
        self._random = random.Random(seed)
        self._helpers = [self._begin() for _ in range(3)]

    def _begin(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": self._path})

    def wait_for_one(self) -> None:
        assert self._helpers[0].stdout.readline().startswith("helps ")

    def rage(self) -> None:
        if self._random.random() < 0.4:
            i = self._random.randrange(len(self._helpers))
            self._end(self._helpers[i])
            self._helpers[i] = self._begin()

    @staticmethod
    def _end(helper: subprocess.Popen[str]) -> None:
        helper.kill()
        helper.wait()
        helper.stdout.close()

    def end(self) -> None:
        for x in self._helpers:
            self._end(x)


def valid_of(batch: leat.Batch) -> list[int]:
    return [x for x, ok in zip(batch["x"].tolist(), batch.valid, strict=True) if ok]


def test_rows_that_crash_are_bad_and_no_others_under_storms_of_lost_helpers(
    place: Callable[[], str], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """LEAT_TEST_STORMS: how many (1)."""
    rows = 600
    data = leat.count(rows).shuffle(seed=1).map("deadly@1", jobs.deadly, isolate=True).batch(10)
    received = 0
    for seed in range(int(os.environ.get("LEAT_TEST_STORMS", "1"))):
        caplog.clear()
        log = tmp_path / f"bad.{seed}.jsonl"
        how: dict[str, Any] = {"bad_samples": "mask", "bad_sample_log": str(log)}
        with leat.Loader(data, workers=1, workers_at="127.0.0.1:0", **how) as loader:
            good = valid_of(next(loader))
            storm = Storm(place(), seed)
            try:
                storm.wait_for_one()
                for batch in loader:
                    good += valid_of(batch)
                    storm.rage()
                received += loader.stats()["helped"]["rows_received"]
            finally:
                storm.end()
        assert sorted(good) == [i for i in range(rows) if i % 97 != 9]
        causes = [json.loads(x)["cause"] for x in log.read_text().splitlines()]
        assert causes == ["killed"] * (rows - len(good))
    assert received > 0


def test_one_who_does_not_know_the_token_is_refused(place: Callable[[], str]) -> None:
    with leat.Loader(job(), workers=1, workers_at="127.0.0.1:0", helpers=leat.HelperAccess(token="between us")) as helped:
        next(helped)
        helper = subprocess.Popen([sys.executable, "-c", HELPER, place(), "a guess"], stdout=subprocess.PIPE, text=True)
        try:
            assert "token" in helper.stdout.readline()
        finally:
            helper.kill()
            helper.wait()
            helper.stdout.close()
        assert helped.stats()["helped"]["helpers"] == 0


def test_wrong_arguments() -> None:
    with pytest.raises(leat.InvalidArgument, match="workers_at"):
        leat.Loader(job(), workers=0, workers_at="127.0.0.1:0")
    with pytest.raises(leat.InvalidArgument, match=r"helpers\.lend"):
        leat.Loader(job(), workers=1, workers_at="127.0.0.1:0", helpers=leat.HelperAccess(lend="all"))
    assert leat.HelperAccess(lend="records").lend == "records"
    with pytest.raises(leat.InvalidArgument, match="nowhere"):
        leat.run_worker("nowhere")
    assert leat.Loader(job(), workers=1).stats()["helped"] is None
