"""The demos for torch and Accelerate, on tiny made data: stopped, resumed, and compared with an uninterrupted run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_files import png, write_tar

torch = pytest.importorskip("torch")

DEMOS = Path(__file__).resolve().parents[2] / "demos" / "python"


def run(name: str, *arguments: object) -> str:
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, DEMOS / name, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=environment
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_torch_imagenet(tmp_path: Path) -> None:
    write_tar(
        tmp_path / "train-000000.tar",
        [
            member
            for i in range(20)
            for member in ((f"{i:04}.cls", b"%d" % (i % 3)), (f"{i:04}.jpg", png(20, 20, [10 * i, 0, 255 - i])))
        ],
    )
    shards = tmp_path / "train-000000.tar"
    small = ("--size", 8, "--batch", 4, "--epochs", 2, "--classes", 3, "--save-every", 3)
    whole = run("torch_imagenet.py", shards, tmp_path / "whole", *small).splitlines()
    assert len(whole) == 10
    first = run("torch_imagenet.py", shards, tmp_path / "parts", *small, "--stop-after", 7).splitlines()
    rest = run("torch_imagenet.py", shards, tmp_path / "parts", *small).splitlines()
    assert first == whole[:7]
    assert rest == whole[6:]  # the last checkpoint is that of six steps, and the weights are as they were


def test_accelerate(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    whole = run("accelerate_training.py", tmp_path / "whole").splitlines()
    assert whole[-1].startswith("256 rows")
    assert run("accelerate_training.py", tmp_path / "parts", 21).splitlines() == [whole[0], "stopped after 22 steps"]
    assert run("accelerate_training.py", tmp_path / "parts").splitlines() == whole[1:]
