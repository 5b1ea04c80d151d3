"""The Python of documents runs as it stands: all blocks of a page, in order, in one process and an empty directory."""

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
    "python-transformers.md": ["transformers", "torch"],
}


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page: str, tmp_path: Path) -> None:
    for package in PAGES[page]:
        pytest.importorskip(package, reason=f"needs {package}: tests/python/frameworks")
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    (tmp_path / "page.py").write_text("\n".join(blocks))
    ran = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_the_block_of_the_readme_runs(tmp_path: Path) -> None:
    command = os.environ.get("LEAT_COMMAND")
    if not command:
        pytest.skip("needs the command leat: LEAT_COMMAND")
    subprocess.run(
        [Path(command).resolve(), "make-data", "data", "--samples", "480", "--shards", "4"],
        cwd=tmp_path,
        check=True,
        timeout=120,
    )
    (block,) = re.findall(r"^```python\n(.*?)^```", (DOCS.parent / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    around = "r, w, seen = 0, 1, []\ndef train(x, label, valid):\n    seen.append((x.shape, label.dtype.name, valid.sum()))\n"
    after = "assert seen == [((240, 3, 224, 224), 'int64', 240)] * 20, seen\n"
    (tmp_path / "page.py").write_text(around + block.replace("epochs=10", "epochs=10, leases=4") + after)
    ran = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
