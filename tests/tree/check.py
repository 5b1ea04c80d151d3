#!/usr/bin/env python3
"""Checks how the code is laid out: which folder may include which, how large folders, sources and classes may be, and how many
units may include one another in a circle. A unit is a header with its source.

  tests/tree/check.py [--stamp FILE]      FILE is written where all is well
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from classes import large_classes, reasons

ROOT = Path(__file__).resolve().parents[2]

# Each folder includes only itself and those above it; what lies below one of these belongs to it.
FOLDERS = [
    "messages", "runtime/base", "runtime/device", "runtime/storage", "runtime/network", "runtime/sample", "runtime/image", "runtime/pipeline", "runtime/children", "runtime/sources",
    "runtime/order", "runtime/rows", "runtime/snapshot", "runtime/job", "runtime/lending", "runtime/feeding", "runtime/cluster", "actors", "tools/made_data", "tools/leat",
    "python/module", "demos",
]  # fmt: skip
# Public headers lie together in runtime/leat; each belongs to the folder whose idea it declares.
PUBLIC = {
    "runtime/base": "notice patience rng source_facts step_range tensor",
    "runtime/storage": "remote_options trace",
    "runtime/sample": "field padded sample source stored_source",
    "runtime/image": "decode_options decode_times image_decoder resize_plan tensor_form transforms",
    "runtime/pipeline": "function_types functions image mix_counts once pipeline pipeline_facts sources streams tables tokenize",
    "runtime/children": "child_functions",
    "runtime/sources": "row_index",
    "runtime/rows": "bare_loop dispatch_policy graph order",
    "runtime/network": "certificates",
    "runtime/snapshot": "snapshot",
    "runtime/job": "epoch_agreement resume_point",
}
# The command and the Python module use the library as any program does: of these it may include what lies in a leat/ folder, and nothing else.
INSIDES = {x for x in FOLDERS if not x.startswith(("tools/", "python/", "demos"))} - {"runtime/base", "runtime/storage"}
MOST_UNITS, MOST_LINES, LARGEST_CIRCLE = 30, 500, 6
MOST_PUBLIC = 40  # users find the public headers of a layer in one folder
MOST_FUNCTIONS, MOST_FIELDS = 20, 15
MOST_REASONS = 12  # classes that are larger, and say why
# These open files of the system, or have looked at what they open.
OPENS_WHAT_IT_KNOWS = {
    "runtime/job/bad_sample_log.cpp",
    "runtime/job/core_budget.cpp",
    "runtime/storage/file_descriptor.cpp",
    "tools/leat/run.cpp",
    "tools/leat/command_line.cpp",
}
# What CAF does not show its users: only this folder knows of it.
CAF_INSIDES = re.compile(r"#include <caf/(detail|io|scheduler)/")
KNOWS_CAF = "actors/caf/"
INCLUDE = re.compile(r'#include ["<]([^">]+)[">]')


def folder_of(path):
    """The entry of FOLDERS that a file belongs to; None for a file that has no place."""
    if path.startswith("runtime/leat/"):
        return next((folder for folder, names in PUBLIC.items() if Path(path).stem in names.split()), None)
    return next((folder for folder in FOLDERS if path.startswith(folder + "/")), None)


def unit_of(path):
    return path.rsplit(".", 1)[0]


def own_files(folders):
    files = (x for folder in folders for suffix in ("hpp", "cpp") for x in (ROOT / folder).rglob(f"*.{suffix}"))
    return sorted(str(x.relative_to(ROOT)) for x in files)


def includes_of(path, known):
    """The project's files that a file includes, with the numbers of their lines."""
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        for base in ("", "messages/", "runtime/", "actors/") if found else ():
            if base + found[1] in known:
                yield number, base + found[1]
                break


def wrong_includes(files):
    known = set(files)
    for path in files:
        folder = folder_of(path)
        if folder is None:
            yield f"{path}: lies in no folder that tests/tree/check.py knows"
            continue
        for line, included in includes_of(path, known):
            to = folder_of(included)
            if to and FOLDERS.index(to) > FOLDERS.index(folder):
                yield f"{path}:{line}: {folder} includes {included}, which belongs to {to}, below it"


def opened_insides(files):
    """Includes by which the command or the Python module goes past the library's public headers."""
    known = set(files)
    for path in files:
        if path.startswith(("tools/leat/", "python/")):
            for line, included in includes_of(path, known):
                if folder_of(included) in INSIDES and "/leat/" not in included:
                    yield f"{path}:{line}: includes {included}, which is not a public header"


def opened_caf(files):
    for path in files:
        if not path.startswith(KNOWS_CAF):
            for line, text in enumerate((ROOT / path).read_text().splitlines(), 1):
                if CAF_INSIDES.match(text):
                    yield f"{path}:{line}: only {KNOWS_CAF} may include this"


def large_folders(files):
    for folder, units in sorted(Counter(x.rsplit("/", 1)[0] for x in {unit_of(x) for x in files}).items()):
        most = MOST_PUBLIC if folder.endswith("/leat") and folder != "tools/leat" else MOST_UNITS
        if units > most:
            yield f"{folder}: {units} units, at most {most}"


def large_files(files):
    for path in files:
        lines, most = len((ROOT / path).read_text().splitlines()), MOST_LINES
        if lines > most:
            yield f"{path}: {lines} lines, at most {most}"


def circles(graph):
    """Sets of units that all reach one another (Tarjan's algorithm, without recursion)."""
    index, low, stack, found = {}, {}, [], []
    for start in graph:
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            unit, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in stack:
                    low[unit] = min(low[unit], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[unit])
                if low[unit] == index[unit]:
                    found.append(stack[stack.index(unit) :])
                    del stack[stack.index(unit) :]
    return found


def large_circles(files):
    known = set(files)
    graph = {unit_of(x): set() for x in files}
    for path in files:
        graph[unit_of(path)] |= {unit_of(x) for _, x in includes_of(path, known)} - {unit_of(path)}
    for circle in circles(graph):
        if len(circle) > LARGEST_CIRCLE:
            yield f"{len(circle)} units include one another, at most {LARGEST_CIRCLE}: {', '.join(sorted(circle))}"


def followed_links(files):
    """Files that are made through symbolic links. `open_output` alone does that: its files are named by the user."""
    for path in files:
        text = (ROOT / path).read_text()
        for call in re.finditer(r"::(open|openat|fopen|creat)\([^;]*;|\bofstream\b", text):
            makes = "O_CREAT" in call[0] or call[1] in ("fopen", "creat") or not call[1]
            if makes and not re.search(r"O_EXCL|O_NOFOLLOW", call[0]) and not path.startswith(("tools/made_data/", "demos/")):
                line = text.count("\n", 0, call.start()) + 1
                yield f"{path}:{line}: makes a file through links: O_EXCL or O_NOFOLLOW, or open_output if its user names it"


def waiting_opens(files):
    """Files that are opened for reading whatever they are: a pipe is waited for. `file_descriptor` alone does that."""
    for path in files:
        if path in OPENS_WHAT_IT_KNOWS or path.startswith("demos/"):
            continue
        text = (ROOT / path).read_text()
        for call in re.finditer(r"(?<!\w)::open\([^;]*;|\bifstream\b", text):
            if not re.search(r"O_NONBLOCK|O_DIRECTORY|O_WRONLY|O_RDWR|\bflags\b", call[0]):
                line = text.count("\n", 0, call.start()) + 1
                yield f"{path}:{line}: may wait for a pipe: file_descriptor::open, or open_input for what comes from a shell"


def bare_openings(files):
    """Calls that give a descriptor without `opened`, which makes room where there are none left."""
    call = r"(?<![\w>])::(open|openat|socket|accept4?|eventfd|signalfd|timerfd_create|pipe2?|memfd_create|dup)\("
    for path in files:
        text = (ROOT / path).read_text()
        inside = [x.span() for x in re.finditer(r"\bopened\(\s*\[[^\]]*\]\s*\{[^}]*\}", text)]
        for found in re.finditer(call, text):
            is_alone = not any(begin < found.start() < end for begin, end in inside)
            if is_alone and path != "tools/leat/command_line.cpp" and not path.startswith("demos/"):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: gives a descriptor: call it in opened(), which makes room where there are none left"


def large_types(files):
    for path in files:
        if path.endswith(".hpp"):
            yield from (f"{path}: {x}" for x in large_classes((ROOT / path).read_text(), MOST_FUNCTIONS, MOST_FIELDS))
    large = [x for x in files if x.endswith(".hpp") and reasons((ROOT / x).read_text())]
    if len(large) > MOST_REASONS:
        yield f"{len(large)} headers have classes that say why they are large, at most {MOST_REASONS}: {', '.join(large)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stamp", type=Path, help="is written where all is well")
    options = parser.parse_args()
    files = own_files(["messages", "runtime", "actors", "tools", "python", "demos"])
    checks = (
        wrong_includes,
        opened_insides,
        opened_caf,
        large_folders,
        large_files,
        large_circles,
        followed_links,
        waiting_opens,
        bare_openings,
        large_types,
    )
    problems = [x for check in checks for x in check(files)]
    print(*problems, sep="\n", end="\n" if problems else "")
    if not problems and options.stamp:
        options.stamp.touch()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
