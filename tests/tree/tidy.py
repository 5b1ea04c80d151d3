#!/usr/bin/env python3
"""clang-tidy for the sources that the last 50 commits changed, and a third of all others that LEAT_CI_SEED draws; without it all.

tidy.py BUILD, a build directory of clang: for its compile_commands.json. Eight sources are looked at as one, which takes a quarter of
the time.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from selected import ROOT, changed, is_drawn, units

AT_ONCE = 8
TIDY = "clang-tidy-14"


def parts(build, place):
    """Files to look at: each with the compiler's arguments, and the sources it includes. Product code alone."""
    recent = changed(50)
    place.mkdir(parents=True, exist_ok=True)
    for number, (arguments, sources) in enumerate(units(build)):
        chosen = [x for x in sources if not x.startswith("tests/") and (x in recent or is_drawn(x))]
        for begin in range(0, len(chosen), AT_ONCE):
            those = chosen[begin : begin + AT_ONCE]
            part = place / f"{number}_{begin}.cpp"
            write(part, those)
            yield part, without_precompiled(arguments[1:]), those


def write(part, sources):
    lines = (f'// NOLINTNEXTLINE(bugprone-suspicious-include)\n#include "{ROOT}/{x}"\n' for x in sources)
    part.write_text("".join(lines), encoding="utf-8")


def without_precompiled(arguments):
    """Without the precompiled header, which nobody builds for this."""
    kept = []
    for x in arguments:
        if x != "-Winvalid-pch" and "cmake_pch" not in x and x not in ("-include-pch", "-include"):
            kept.append(x)
        elif kept and kept[-1] == "-Xclang":
            kept.pop()
    return kept


def problem_of(work):
    """What there is to say of a part. Names of one source may clash with another's: what counts then is each by itself."""
    part, arguments, sources = work
    problem = look_at(part, arguments)
    if not problem or len(sources) == 1:
        return problem
    problems = []
    for number, source in enumerate(sources):
        alone = part.with_stem(f"{part.stem}_alone_{number}")
        write(alone, [source])
        problems.append(look_at(alone, arguments))
    return "".join(problems)


def look_at(part, arguments):
    command = [TIDY, "--quiet", f"--config-file={ROOT}/.clang-tidy", str(part), "--", *arguments]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout + asked.stderr if asked.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    build = parser.parse_args().build.resolve()
    work = list(parts(build, build / "tidy"))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        problems = [x for x in threads.map(problem_of, work) if x]
    print(f"clang-tidy: {sum(len(x[2]) for x in work)} sources in {len(work)} parts, {len(problems)} parts with problems")
    print("\n".join(problems), end="", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
