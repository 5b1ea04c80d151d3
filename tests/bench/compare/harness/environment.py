"""The virtual environment that the contenders run in."""

import json
import subprocess
import sys
import venv
from pathlib import Path

DONE = "compare-installed.json"
"""In the environment: each line of the requirements, with nothing, or why it could not be installed."""


def prepare(directory: Path, requirements: Path) -> Path:
    """Makes the environment unless it exists, installs what is missing; returns its Python."""
    python = directory / "bin" / "python"
    if not python.exists():
        venv.create(directory, with_pip=True)
    done = directory / DONE
    wanted = [x for x in requirements.read_text(encoding="utf-8").splitlines() if "==" in x]
    have = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {}
    missing = [line for line in wanted if have.get(line) != ""]
    if missing:
        have |= {line: install(python, requirements, line) for line in missing}
        done.write_text(json.dumps(have, indent=2), encoding="utf-8")
    return python


def install(python: Path, requirements: Path, line: str) -> str:
    """Empty, or why it could not be installed."""
    print(f"compare: installing {line}", file=sys.stderr)
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", requirements, line]
    done = subprocess.run(pip, capture_output=True, text=True)
    return reason(done.stderr) if done.returncode else ""


def reason(text: str) -> str:
    """The line of pip's output that says most."""
    lines = [line.strip(" │") for line in text.splitlines()]
    telling = [line for line in lines if "Error: " in line or line.startswith("ERROR: ")]
    return (telling or lines or ["no reason given"])[0]


def refusals() -> dict[str, str]:
    """Why packages of the environment that runs this could not be installed, by name."""
    done = Path(sys.prefix) / DONE
    have = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {}
    return {line.split("==")[0]: why for line, why in have.items() if why}
