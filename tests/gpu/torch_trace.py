"""What a trace of torch.profiler tells of copies to the GPU and of waits of the host."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WAITS = {
    f"{x}Synchronize" for x in ("cudaStream", "cudaEvent", "cudaDevice", "cuStream", "cuEvent", "cuCtx")
}  # fmt: skip
LARGE = 1_000_000  # bytes: copies that are batches

Interval = tuple[float, float]


@dataclass
class Told:
    """Times in microseconds."""

    copies: int = 0
    bytes: int = 0
    copy_time: float = 0
    under_kernels: float = 0  # of the copies' time, in which a kernel ran
    kinds: Counter[str] = field(default_factory=Counter)  # "Memcpy HtoD (Pinned -> Device)"
    waits: Counter[str] = field(default_factory=Counter)  # of the host in the marked thread, by name
    kernels: int = 0

    @property
    def overlap(self) -> float:
        """Share of the copies' time, 0 to 1."""
        return self.under_kernels / self.copy_time if self.copy_time else 0.0


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same times as intervals that are apart, in order."""
    result: list[Interval] = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((begin, end))
    return result


def common(interval: Interval, apart: Iterable[Interval]) -> float:
    """How long both are."""
    begin, end = interval
    return sum(max(0.0, min(end, y) - max(begin, x)) for x, y in apart)


def _interval(event: dict[str, Any]) -> Interval:
    return event["ts"], event["ts"] + event["dur"]


def analyse(events: list[dict[str, Any]], mark: str) -> Told:
    """`mark`: the name of a record_function around the steps, in the thread that is looked at."""
    events = [x for x in events if x.get("ph") == "X"]
    marked = next(x for x in events if x["name"] == mark and x.get("cat") in ("user_annotation", "cpu_op"))
    begin, end = _interval(marked)
    told = Told()
    kernels = union(_interval(x) for x in events if x.get("cat") == "kernel")
    told.kernels = sum(x.get("cat") == "kernel" for x in events)
    for x in events:
        if x.get("cat") == "gpu_memcpy" and "HtoD" in x["name"] and x["args"].get("bytes", 0) >= LARGE:
            # Those before the first kernel and after the last one have nothing beside which they could run.
            if not kernels or x["ts"] < kernels[0][0] or sum(_interval(x)) / 2 > kernels[-1][1]:
                continue
            told.copies += 1
            told.bytes += x["args"]["bytes"]
            told.copy_time += x["dur"]
            told.under_kernels += common(_interval(x), kernels)
            told.kinds[x["name"]] += 1
        is_call = x.get("cat") in ("cuda_runtime", "cuda_driver") and x["tid"] == marked["tid"]
        if is_call and x["name"] in WAITS and begin <= x["ts"] <= end:
            told.waits[x["name"]] += 1
    return told


def read(path: Path) -> list[dict[str, Any]]:
    """The events of a trace as torch.profiler writes it, compressed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(json.load(file)["traceEvents"])
