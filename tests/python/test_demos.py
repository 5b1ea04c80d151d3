"""The examples of demos/python are short, and when they are killed they continue with the same batches and losses."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

DEMOS = Path(__file__).resolve().parents[2] / "demos" / "python"
TWO_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
# The packages that it needs, its length as an argument, the steps that this makes, and the step after which to kill it.
CASES = {
    "gpt_training.py": (["tokenizers", "torch"], "40", 40, 24),
    "jax_training.py": (["jax"], "2", 26, 16),
    "lightning_training.py": (["torch", "lightning"], "2", 32, 24),
    "llm_pretraining.py": (["tokenizers"], "40", 40, 24),
    "transformers_training.py": (["transformers", "torch"], "40", 40, 24),
}


KILLED = """
import builtins, os, runpy, signal, sys
real, line = print, f"step {sys.argv.pop(1)}: "
def told(text, **options):
    real(text, **options)
    if text.startswith(line):
        os.kill(os.getpid(), signal.SIGKILL)
builtins.print = told
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(demo: str, directory: Path, length: str, kill_behind: int | None = None) -> list[tuple[str, ...]]:
    """(step, digest or epoch, loss) of each line until the end, or until the process kills itself."""
    job = [str(DEMOS / demo), str(directory), length]
    if kill_behind is not None:
        job = ["-c", KILLED, str(kill_behind), *job]
    ran = subprocess.run([sys.executable, *job], capture_output=True, text=True, timeout=120, env={**os.environ, **TWO_DEVICES})
    assert ran.returncode == (0 if kill_behind is None else -signal.SIGKILL), ran.stderr
    lines = [re.fullmatch(r"step (\d+): ([0-9a-f]{32}|epoch [0-9.]+) loss (\S+)", line) for line in ran.stdout.splitlines()]
    assert all(lines), ran.stdout
    return [line.groups() for line in lines if line]


def test_they_are_short() -> None:
    assert DEMOS.exists()
    for demo in DEMOS.glob("*.py"):
        assert len(demo.read_text().splitlines()) < 60, demo


@pytest.mark.parametrize("demo", CASES)
def test_they_resume_with_the_same_batches_and_losses(demo: str, tmp_path: Path) -> None:
    packages, length, steps, kill_behind = CASES[demo]
    for package in packages:
        pytest.importorskip(package, reason=f"needs {package}: tests/python/frameworks")
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = run(demo, tmp_path / "whole", length)
    assert [int(x[0]) for x in whole] == list(range(steps))
    assert float(whole[-1][2]) < 0.7 * float(whole[0][2])
    assert run(demo, tmp_path / "parts", length, kill_behind) == whole[: kill_behind + 1]
    rest = run(demo, tmp_path / "parts", length)
    assert 0 < int(rest[0][0]) <= kill_behind
    assert rest == whole[int(rest[0][0]) :]
