#!/usr/bin/env python3
"""Checks that prose in Markdown is wrapped at 100 columns. Tables, code and headings are not prose; neither is a line that has
no space to break at, such as a long link.

  tests/docs/check_width.py [--fix] [FILE...]      --fix wraps the paragraphs that are too wide; without FILE: all pages
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 100
ITEM = re.compile(r" *(?:[-*]|\d+\.) ")
# Code between backticks stays on one line, and what would mean something else at a line's beginning stays off it.
WORD = re.compile(r"(?:`[^`]*`|\S| +(?=[-+*] |\d+\. |[#|<>=]))+")


def paragraphs(lines):
    """Ranges of lines, each a paragraph or an item of a list."""
    fenced = False
    begin = None
    for number, line in enumerate([*lines, ""]):
        fence = line.startswith("```")
        indented = line.startswith("    ") and begin is None
        prose = bool(line) and not (fenced or fence or indented or line.startswith(("|", "#", "<")))
        if begin is not None and (not prose or ITEM.match(line)):
            yield begin, number
            begin = None
        if prose and begin is None:
            begin = number
        fenced ^= fence


def too_wide(line):
    marker = ITEM.match(line)
    return len(line) > WIDTH and len(WORD.findall(line[marker.end() if marker else 0 :])) > 1


def wrapped(lines):
    marker = ITEM.match(lines[0])
    result = [marker[0] if marker else ""]
    indent = " " * len(result[0])
    words = WORD.findall(" ".join([lines[0][len(indent) :], *lines[1:]]))
    for word, space in zip(words, ["", *" " * (len(words) - 1)]):
        if space and len(result[-1]) + 1 + len(word) > WIDTH:
            result.append(indent + word)
        else:
            result[-1] += space + word
    return result


def fix(path, lines):
    for begin, end in reversed(list(paragraphs(lines))):
        if any(map(too_wide, lines[begin:end])):
            lines[begin:end] = wrapped(lines[begin:end])
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="wraps what is too wide")
    parser.add_argument("pages", nargs="*", type=Path, metavar="FILE", help="pages; all of them unless given")
    options = parser.parse_args()
    found = 0
    for path in options.pages or sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        lines = path.read_text().splitlines()
        wide = [x for begin, end in paragraphs(lines) for x in range(begin, end) if too_wide(lines[x])]
        if wide and options.fix:
            fix(path, lines)
            continue
        found += len(wide)
        for x in wide:
            print(f"{path}:{x + 1}: {len(lines[x])} columns, at most {WIDTH}; tests/docs/check_width.py --fix wraps it")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
