"""The Python of documents runs as it stands: all blocks of a page, in order, in one process and an empty directory."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {"python.md": [], "python-jax.md": ["jax"], "python-text.md": ["tokenizers"]}


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page: str, tmp_path: Path) -> None:
    for package in PAGES[page]:
        pytest.importorskip(package, reason=f"needs {package}: tests/python/frameworks")
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    (tmp_path / "page.py").write_text("\n".join(blocks))
    ran = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
