"""Python's inputs that are not plain files: opening a pipe would wait for its writer."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leat
import pytest

READERS: dict[str, Callable[[str], Any]] = {
    "parquet": lambda x: leat.Loader(leat.parquet(x).batch(1)),
    "arrow": lambda x: leat.Loader(leat.arrow(x).batch(1)),
    "raw_records": lambda x: leat.Loader(leat.raw_records(x, "u8", [1]).batch(1)),
    "tokenize": lambda x: leat.tokenize(x),
    "read_snapshot": lambda x: leat.read_snapshot(x),
    "restore": lambda x: leat.Loader(leat.count(4).batch(1), workers=0).restore(x),
}


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("make", [_pipe, _socket])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_plain_file_is_refused_at_once(reader: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "x"
    make(path)
    with pytest.raises(leat.Error, match=str(path)):
        READERS[reader](str(path))
