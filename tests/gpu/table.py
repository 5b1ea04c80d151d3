"""Results of tests/gpu/run.

table.py part NAME RESULTS   passes the output of a part on, its rows as those of a table, and appends them to RESULTS
table.py all RESULTS JSON    prints the whole table, writes JSON; ends with 1 if a row is bad
"""

import json
import sys
from pathlib import Path
from typing import Any

HEAD = "| check | wanted | found | result |\n|---|---|---|---|"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def line(row: dict[str, Any]) -> str:
    return f"| {' | '.join(cell(row[x]) for x in ('check', 'wanted', 'found', 'result'))} |"


def pass_on(part: str, results: Path) -> None:
    """Lines that are no rows go to standard error."""
    with results.open("a") as file:
        for text in sys.stdin:
            try:
                row = json.loads(text)
                shown = line(row)
            except (ValueError, TypeError, KeyError):
                print(text, end="", file=sys.stderr, flush=True)
                continue
            print(json.dumps({"part": part, **row}), file=file, flush=True)
            print(shown, flush=True)


def print_all(results: Path, to: Path) -> int:
    rows = [json.loads(x) for x in results.read_text().splitlines()]
    to.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"\n{HEAD}")
    for row in rows:
        print(line(row))
    count = {x: sum(row["result"] == x for row in rows) for x in ("good", "BAD", "measured", "skipped")}
    print(f"\n{', '.join(f'{n} {x}' for x, n in count.items())}; {to}", flush=True)
    return 1 if count["BAD"] else 0


def main(arguments: list[str]) -> int:
    if arguments[0] == "all":
        return print_all(Path(arguments[1]), Path(arguments[2]))
    pass_on(arguments[1], Path(arguments[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
