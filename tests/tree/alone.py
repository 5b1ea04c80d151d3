#!/usr/bin/env python3
"""Compiles files alone that builds compile together: each must include what it uses.

All public headers, those that the last 10 commits changed, a sixth of the others, and 45 sources, 30 of them changed by these
commits. LEAT_CI_SEED draws; without it all. What CMAKE_CXX_COMPILER_LAUNCHER names, as ccache, is asked first.
alone.py BUILD, a build directory: for its compile_commands.json, and for headers that are made there.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from selected import ROOT, changed, drawn, is_drawn, units

FOLDERS = ("messages", "runtime", "actors")
LAUNCHER = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split()


def headers():
    """Those to compile."""
    recent = changed(10)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.hpp")):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith(f"{folder}/leat/") or name in recent or is_drawn(name, 6):
                yield name


def sources(build):
    """Those to compile, with the arguments that they are compiled with."""
    ways = {}
    for arguments, found in units(build):
        while "-include" in arguments:  # what is compiled in advance would hide what is missing
            at = arguments.index("-include")
            arguments = arguments[:at] + arguments[at + 2 :]
        ways.update((x, [*arguments, "-iquote", str(ROOT)]) for x in found)  # names are from there
    recent = changed(10) & set(ways)
    for name in drawn(recent, 30) | drawn(set(ways) - recent, 15):
        yield name, ways[name]


def problem_of(place, work):
    """What the compiler says; nothing if it says nothing."""
    name, arguments = work
    part = place / (name.replace("/", "_") + ".cpp")
    part.write_text(f'#include "{name}"\n', encoding="utf-8")
    # To an object, as ccache keeps nothing of -fsyntax-only; unoptimized, as nobody runs it.
    command = [x for x in arguments if not x.startswith("-Winvalid-pch")] + ["-O0", "-MD", "-c", str(part)]
    asked = subprocess.run([*LAUNCHER, *command, "-o", f"{part}.o"], cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stderr if asked.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    build = parser.parse_args().build.resolve()
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    compiler = next(x.split("=", 1)[1] for x in cache if x.startswith("CMAKE_CXX_COMPILER:"))
    for_headers = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem", f"{build}/messages"]
    for_headers += [f"-I{x}" for x in (ROOT, *(ROOT / x for x in FOLDERS))]
    work = [(x, for_headers) for x in headers()]
    headers_alone = len(work)
    work += sources(build)
    place = build / "alone"  # always the same, for ccache
    place.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        problems = [x for x in threads.map(partial(problem_of, place), work) if x]
    print(f"alone: {headers_alone} headers and {len(work) - headers_alone} sources, {len(problems)} of them with errors")
    print("\n".join(problems), end="", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
