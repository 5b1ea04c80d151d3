"""The virtual environment that the contenders run in."""

import json
import subprocess
import sys
import venv
from pathlib import Path

FAILED = "compare-failed.json"
DONE = "compare-requirements.txt"


def prepare(directory: Path, requirements: Path) -> Path:
    """Makes the environment unless it is there, installs what is new; returns its Python."""
    python = directory / "bin" / "python"
    if not python.exists():
        venv.create(directory, with_pip=True)
    wanted = requirements.read_text(encoding="utf-8")
    done = directory / DONE
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        failed = install(python, requirements, wanted)
        (directory / FAILED).write_text(json.dumps(failed), encoding="utf-8")
        done.write_text(wanted, encoding="utf-8")
    return python


def install(python: Path, requirements: Path, wanted: str) -> dict[str, str]:
    """Installs each line by itself; returns what could not be had, with pip's reason."""
    failed = {}
    for line in wanted.splitlines():
        if not line or line.startswith("#"):
            continue
        print(f"compare: installing {line}", file=sys.stderr)
        pip = [python, "-m", "pip", "install", "--quiet", "--constraint", requirements, line]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            failed[line.split("==")[0]] = reason(done.stderr)
    return failed


def reason(text: str) -> str:
    """The line of pip's output that says most."""
    lines = [line.strip(" │") for line in text.splitlines()]
    telling = [line for line in lines if "Error: " in line or line.startswith("ERROR: ")]
    return (telling or lines or ["no reason given"])[0]


def failures() -> dict[str, str]:
    """Of the environment that runs this."""
    path = Path(sys.prefix) / FAILED
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
