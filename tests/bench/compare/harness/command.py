"""What the command does once it runs in the virtual environment."""

import argparse
import math
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

from contenders.protocol import BATCH, Job
from contenders.registry import CONTENDERS
from harness import chart, data, machine, report, schedule, summary


def compare(options: argparse.Namespace) -> None:
    contenders = [x for x in CONTENDERS if x.key in {summary.LEAT, *options.only}]
    images = data.unpack(data.find(options.data), options.scratch.resolve())
    job = job_of(options, images)
    plan = schedule.Plan(options.workers, options.trials, options.rounds, options.quiet, options.timeout)
    results = schedule.compare(contenders, plan, job)
    rows = summary.rows_of(results)
    if not rows:
        sys.exit(f"compare: no contender has numbers: {summary.failures_of(results)}")
    about = machine.described() | about_run(options, images, job) | noise(results)
    write(report.Report(about, rows, summary.failures_of(results)), options.out)


def job_of(options: argparse.Namespace, images: data.Data) -> Job:
    return Job(
        variant="",
        workers=0,
        transform=options.transform,
        epochs=options.epochs,
        repeats=math.ceil(options.epoch_images / images.records),
        records=images.records,
        shards=images.shards,
        listing=str(images.listing),
        scratch=str(images.folder),
        leat=command_path(options.leat),
        started=0,
    )


def command_path(leat: Path) -> str:
    path = shutil.which(leat)
    if path is None:
        sys.exit(f"compare: no command {leat}; --leat names it")
    return str(Path(path).resolve())


def about_run(options: argparse.Namespace, images: data.Data, job: Job) -> dict[str, Any]:
    return {
        "records": images.records,
        "mean_image_bytes": images.image_bytes / images.records,
        "images": job.images,
        "transform": options.transform,
        "batch": BATCH,
        "rounds": options.rounds,
        "epochs": options.epochs,
        "trials": options.trials,
    }


def noise(results: list[schedule.Result]) -> dict[str, float]:
    """How much of the machine others used during the rounds."""
    others = [run.others for x in results for run in x.runs if run]
    return {"others": statistics.median(others) if others else 0, "others_worst": max(others, default=0)}


def write(x: report.Report, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    report.write_json(x, out)
    report.write_table(x, out)
    chart.draw(x, out)
    print((out / "table.md").read_text(encoding="utf-8"))
    print(f"compare: wrote {out}", file=sys.stderr)
