"""The Python code of documents runs as it is: all blocks of a page, in order, in one process and an empty directory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    "operators/arrow.md": ["pyarrow"],
    "operators/parquet.md": ["pyarrow"],
    "python.md": [],
    "python-coming-from.md": ["torch"],
    "python-jax.md": ["jax"],
    "python-lightning.md": ["torch", "lightning"],
    "python-text.md": ["tokenizers"],
    "python-torch.md": ["torch", "accelerate"],
    "python-transformers.md": ["transformers", "torch"],
}


# Code that a page leaves to its reader.
BEFORE = {"python-torch.md": "seen = []\ndef train(x, y):\n    seen.append((tuple(x.shape), len(y)))\n"}
AFTER = {"python-torch.md": "assert seen == [((240, 3, 224, 224), 240), ((4,), 4), ((4,), 4)], seen\n"}
SHORTER = {"python-torch.md": [("range(loader.epoch, 90)", "range(loader.epoch, 1)"), ("{000000..000003}", "000000")]}


def make_data(folder: Path, samples: int, shards: int) -> None:
    command = os.environ.get("LEAT_COMMAND")
    if not command:
        pytest.skip("needs the command leat: LEAT_COMMAND")
    made = [Path(command).resolve(), "make-data", "data", "--samples", str(samples), "--shards", str(shards)]
    subprocess.run(made, cwd=folder, check=True, timeout=120)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page: str, tmp_path: Path) -> None:
    for package in PAGES[page]:
        pytest.importorskip(package, reason=f"needs {package}: tests/python/frameworks")
    if page in BEFORE:
        make_data(tmp_path, 240, 1)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    text = "\n".join([BEFORE.get(page, ""), *blocks, AFTER.get(page, "")])
    for longer, shorter in SHORTER.get(page, []):
        assert longer in text
        text = text.replace(longer, shorter)
    (tmp_path / "page.py").write_text(text)
    ran = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


# Pages with parts of a program in a cluster or of a feed, or that need the package xxhash.
PARTS = {"cluster.md", "digest.md", "operators/feed.md", "queues.md"}


def test_every_page_with_python_is_run() -> None:
    found = {str(x.relative_to(DOCS)) for x in DOCS.rglob("*.md") if re.search(r"^```python$", x.read_text(), re.MULTILINE)}
    assert found == set(PAGES) | PARTS


def test_the_block_of_the_readme_runs(tmp_path: Path) -> None:
    make_data(tmp_path, 480, 4)
    (block,) = re.findall(r"^```python\n(.*?)^```", (DOCS.parent / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    around = "r, w, seen = 0, 1, []\ndef train(x, label, valid):\n    seen.append((x.shape, label.dtype.name, valid.sum()))\n"
    after = "assert seen == [((240, 3, 224, 224), 'int64', 240)] * 20, seen\n"
    (tmp_path / "page.py").write_text(around + block.replace("epochs=10", "epochs=10, leases=4") + after)
    ran = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
