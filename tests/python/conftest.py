"""Fixtures that several files share."""

import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import leat
import pytest
from cluster_bench import Job

# As in a shell's foreground: programs in the background ignore SIGINT, and what tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def told() -> Iterator[list[str]]:
    """The notices."""
    heard: list[str] = []
    leat.set_notice_handler(heard.append)
    yield heard
    leat.set_notice_handler(logging.getLogger("leat").warning)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with ExitStack() as stack:
        yield Job(stack, tmp_path)
