"""results.json, and the table made of it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from harness.summary import Row, to_json

JSON = "results.json"
HEAD = """\
| loader | workers | images/s | relative to leat | relative to plain C++ | memory MB | first batch s |
|---|---:|---:|---:|---:|---:|---:|
"""


@dataclasses.dataclass
class Report:
    about: dict[str, Any]
    rows: list[Row]
    left_out: dict[str, str]
    """Reasons by title."""


def write_json(report: Report, out: Path) -> None:
    content = {"about": report.about, "rows": [to_json(x) for x in report.rows], "left_out": report.left_out}
    (out / JSON).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_table(report: Report, out: Path) -> None:
    sections = [
        setting(report.about),
        HEAD + "".join(map(line, report.rows)) + "".join(map(left_out, report.left_out.items())),
        legend(report.rows),
        "The loaders do not do exactly the same:\n\n" + "".join(note for x in report.rows for note in notes(x)),
        "Images/s with other numbers of workers, before the rounds:\n\n" + tried(report.rows),
        "Versions: " + versions(report.rows) + "\n",
    ]
    (out / "table.md").write_text("\n".join(sections), encoding="utf-8")


def setting(about: dict[str, Any]) -> str:
    return (
        f"{about['cores']} cores of {about['processor']}, {about['date']}; "
        f"{about['records']:,} images of {about['mean_image_bytes'] / 1000:.0f} KB, "
        f"{about['images']:,} an epoch; transform {about['transform']}, batch {about['batch']}; "
        f"median (extremes) of {about['rounds']} rounds, in which all ran in turn. Other processes "
        f"took {about['others']:.0%} of the cores' time, {about['others_worst']:.0%} at worst.\n"
    )


def line(x: Row) -> str:
    title = f"**{x.title}**" if x.key.startswith("leat") else x.title
    rates = f"{x.rate:,.0f} ({x.low:,.0f} to {x.high:,.0f})"
    memory = x.peak_bytes and x.peak_bytes / 1e6
    cells = [title, str(x.workers), rates, number(x.of_leat, 2), number(x.of_plain, 2)]
    cells += [number(memory, 0), number(x.first_batch_seconds, 2)]
    return "| " + " | ".join(cells) + " |\n"


def number(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:,.{decimals}f}"


def left_out(item: tuple[str, str]) -> str:
    title, reason = item
    return f"| {title} | | left out: {reason.replace('|', '/')} | | | | |\n"


def legend(rows: list[Row]) -> str:
    text = (
        "Ratios are medians of each round's. Memory: peak of all processes of a loader, shared "
        "pages counted once. First batch: since the start of the process. The C++ loops are of "
        "`leat bench`: as many threads that read and transform, without a loader.\n"
    )
    if all(x.of_plain is None for x in rows):
        text += "This leat's benchmark has no plain C++ loop, so there is no ratio to one.\n"
    return text


def notes(x: Row) -> list[str]:
    return [f"- {x.title}: {note}\n" for note in x.notes]


def tried(rows: list[Row]) -> str:
    rows = [x for x in rows if x.tried]
    workers = sorted({count for x in rows for count in x.tried})
    head = "| loader | " + " | ".join(f"{x} workers" for x in workers) + " |\n"
    rule = "|---|" + "---:|" * len(workers) + "\n"
    lines = [f"| {x.title} | " + " | ".join(number(x.tried.get(y), 0) for y in workers) + " |\n" for x in rows]
    return head + rule + "".join(lines)


def versions(rows: list[Row]) -> str:
    known = {name: version for x in rows for name, version in x.versions.items()}
    return ", ".join(f"{name} {version}" for name, version in sorted(known.items()))
