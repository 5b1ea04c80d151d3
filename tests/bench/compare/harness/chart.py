"""The picture."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes

from harness.report import Report
from harness.summary import LEAT, LOOPS, Row

ACCENT, LOOP, OTHER, INK, FAINT = "#d1495b", "#b8bec6", "#5b7a9d", "#22272e", "#6b7480"


def draw(report: Report, out: Path) -> None:
    rows = report.rows[::-1]
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.48 * len(rows)), layout="constrained")
    axes.barh(
        [x.title for x in rows],
        [x.rate for x in rows],
        xerr=[[x.rate - x.low for x in rows], [x.high - x.rate for x in rows]],
        color=[color(x) for x in rows],
        height=0.66,
        error_kw={"ecolor": INK, "elinewidth": 1.2, "capsize": 3},
    )
    for y, x in enumerate(rows):
        label(axes, x, y)
    style(axes, report)
    figure.savefig(out / "chart.png", dpi=150)
    pyplot.close(figure)


def color(x: Row) -> str:
    return ACCENT if x.key.startswith(LEAT) else LOOP if x.key in LOOPS else OTHER


def label(axes: Axes, x: Row, y: int) -> None:
    text = f"{x.rate:,.0f}"
    if x.of_leat is not None and x.key != LEAT:
        text += f"   {x.of_leat:.2f} of leat"
    weight = "bold" if x.key.startswith(LEAT) else "normal"
    axes.annotate(text, (x.high, y), (6, 0), textcoords="offset points", va="center", weight=weight, color=INK)


def style(axes: Axes, report: Report) -> None:
    about = report.about
    work = {
        "train": "random resized crop 224, flip, float32 CHW normalized",
        "eval": "resize 256, center crop 224, float32 CHW normalized",
    }[about["transform"]]
    axes.set_title(f"JPEGs to batches of {about['batch']}: images per second", loc="left", weight="bold")
    axes.set_xlabel(
        f"{work}\n{about['cores']} cores, {about['processor']}; medians of {about['rounds']} "
        "interleaved rounds, lines from minimum to maximum",
        color=FAINT,
        loc="left",
    )
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlim(0, 1.28 * max(x.high for x in report.rows))
    axes.xaxis.grid(True, color="#e3e6ea")
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=INK)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    for tick, x in zip(axes.get_yticklabels(), report.rows[::-1], strict=True):
        tick.set_weight("bold" if x.key.startswith(LEAT) else "normal")
