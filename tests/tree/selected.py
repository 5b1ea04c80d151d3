"""What a check looks at where it does not look at everything: what changed lately, and a share of the rest that LEAT_CI_SEED draws."""

import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def lot(name: str) -> int:
    """A random number of this name, the same for the same seed."""
    return int.from_bytes(hashlib.sha256(f"{os.environ.get('LEAT_CI_SEED')} {name}".encode()).digest()[:8])


def is_drawn(name: str, one_in: int = 3) -> bool:
    """One in so many; without a seed everything."""
    return "LEAT_CI_SEED" not in os.environ or lot(name) % one_in == 0


def drawn(names: set[str], most: int) -> set[str]:
    """As many of them; without a seed all."""
    return set(sorted(names, key=lot)[:most]) if "LEAT_CI_SEED" in os.environ else names


def changed(commits: int) -> set[str]:
    """Files of the last commits, and the sources of their headers."""
    command = ["git", "log", f"-{commits}", "--name-only", "--format="]
    files = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    return files | {re.sub(r"\.hpp$", ".cpp", x) for x in files}


def units(build: Path) -> Iterator[tuple[list[str], list[str]]]:
    """From a build's compile_commands.json, for each unit: the compiler's arguments, and its sources, which are several or one."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        arguments = shlex.split(entry["command"])
        arguments = arguments[: arguments.index("-o")]
        found = [Path(entry["file"])]
        if "/Unity/" in entry["file"]:
            found = [Path(x) for x in re.findall(r'#include "([^"]+)"', found[0].read_text(encoding="utf-8"))]
        yield arguments, [x.relative_to(ROOT).as_posix() for x in found if x.is_relative_to(ROOT) and not x.is_relative_to(build)]
