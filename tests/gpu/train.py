"""Checks leat.torch on a GPU: contents of tensors, ResNet-50 beside its batches, a trace of that.

train.py --seconds N --out DIR [--directory DIR] [--device cuda] [--rows 256] [--pixels 224]

With the device cpu, and few pixels, it runs anywhere, to try the program itself.
"""

import argparse
import contextlib
import json
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import leat
import leat.torch
import numpy as np
import torch
import torch_trace
from rows import judged, measured, skipped
from torch import nn

BEGIN = time.monotonic()
STEPS_AHEAD = 2
WARM_UP = 8
Feed = Callable[[], torch.Tensor]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--directory")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--pixels", type=int, default=224)
    return parser.parse_args()


class Gpu:
    """The few calls of torch.cuda that are used here; nothing on a CPU."""

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)
        self.is_there = self.device.type == "cuda"

    def finish(self) -> None:
        if self.is_there:
            torch.cuda.synchronize()

    def delay(self) -> None:
        """The current stream stands still for about 2 ms."""
        if self.is_there:
            torch.cuda._sleep(4_000_000)

    def side_stream(self) -> contextlib.AbstractContextManager[Any]:
        return torch.cuda.stream(torch.cuda.Stream()) if self.is_there else contextlib.nullcontext()

    def mark(self) -> Any:
        if not self.is_there:
            return None
        event = torch.cuda.Event()
        event.record()
        return event


# Contents


def mixed(directory: Path) -> leat.Pipeline:
    """Images, numbers, ragged tokens and bytes, of odd sizes."""
    random = np.random.default_rng(5)
    n = 200
    random.standard_normal((n, 3, 37, 41), dtype=np.float32).tofile(directory / "odd.f32")
    random.integers(0, 256, (n, 7, 5, 3), dtype=np.uint8).tofile(directory / "odd.u8")
    with (directory / "lines.jsonl").open("w") as file:
        for i in range(n):
            tokens = random.integers(0, 50_000, random.integers(0, 300)).tolist()
            print(json.dumps({"label": i, "tokens": tokens, "note": f"number {i}"}), file=file)
    types = {"label": "i64", "tokens": "i32"}
    return leat.zip(
        [
            leat.raw_records(directory / "odd.f32", "f32", [3, 37, 41]).map(leat.rename("value", "image")),
            leat.raw_records(directory / "odd.u8", "u8", [7, 5, 3]).map(leat.rename("value", "pixels")),
            leat.json_lines(directory / "lines.jsonl", types=types).map(leat.ragged("tokens")),
        ]
    ).batch(13, end="mask")


def tensors(batch: leat.torch.Batch) -> dict[str, torch.Tensor]:
    result = {}
    for name, x in batch.items():
        if isinstance(x, leat.torch.Ragged):
            result[name], result[f"{name}, offsets"] = x.values, x.offsets
        else:
            result[name] = x
    return result


def copies(data: leat.Pipeline, device: str | None, gpu: Gpu) -> Iterator[dict[str, torch.Tensor]]:
    for batch in leat.torch.DataLoader(data, device=device, epochs=2, workers=2):
        if device:
            gpu.delay()
        yield {name: x.clone() for name, x in tensors(batch).items()}


def check_contents(directory: Path, gpu: Gpu) -> None:
    data = mixed(directory)
    due = list(copies(data, None, gpu)) + list(copies(data, None, gpu))
    for where, context in (("the current stream", contextlib.nullcontext()), ("a stream of its own", gpu.side_stream())):
        with context:
            found = [x for _ in range(2) for x in copies(data, str(gpu.device), gpu)]
        gpu.finish()
        wrong, fields, there = [], 0, set()
        for step, (a, b) in enumerate(zip(due, found, strict=True)):
            for name, x in a.items():
                fields += 1
                there |= {name} if b[name].device.type == gpu.device.type else set()
                if x.dtype != b[name].dtype or not torch.equal(x, b[name].cpu()):
                    wrong.append(f"step {step}, {name}")
        found_text = (
            f"{len(wrong)} wrong of {fields} tensors in {len(found)} batches{''.join(f', first {x}' for x in wrong[:1])}"
        )
        judged(f"torch, contents, {where}", "0 wrong", found_text, not wrong)
        measured(f"torch, fields on the device, {where}", ", ".join(sorted(there)))


# Speed


class Trainer:
    """ResNet-50, bf16, channels last, SGD."""

    def __init__(self, gpu: Gpu, rows: int, pixels: int) -> None:
        self.gpu, self.rows = gpu, rows
        torch.backends.cudnn.benchmark = True
        try:
            from torchvision.models import resnet50

            self.source = "torchvision's"
        except ImportError:
            from resnet import resnet50

            self.source = "written for this"
        self.net: nn.Module = resnet50().to(gpu.device, memory_format=torch.channels_last)
        self.net.train()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()
        self.labels = torch.randint(1000, (rows,), device=gpu.device)
        self.resident = torch.randn(rows, 3, pixels, pixels, device=gpu.device)

    def step(self, images: torch.Tensor) -> None:
        with torch.autocast(self.gpu.device.type, dtype=torch.bfloat16):
            loss = self.loss(self.net(images.contiguous(memory_format=torch.channels_last)), self.labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def rate(self, feed: Feed, seconds: float) -> float:
        """Images per second."""
        marks: deque[Any] = deque()
        self.gpu.finish()
        begin, steps = time.monotonic(), 0
        while time.monotonic() - begin < seconds or steps < STEPS_AHEAD:
            self.step(feed())
            steps += 1
            marks.append(self.gpu.mark())
            if len(marks) > STEPS_AHEAD and (mark := marks.popleft()):
                mark.synchronize()  # the trainer's own wait, so that it is not far ahead
        self.gpu.finish()
        return steps * self.rows / (time.monotonic() - begin)


class Feeds:
    """Where the images come from: nowhere, leat's batches on the device, and its batches on the host, which are moved."""

    def __init__(self, directory: Path, trainer: Trainer, rows: int, pixels: int) -> None:
        path = directory / "images.f32"
        random = np.random.default_rng(1)
        with path.open("wb") as file:
            for _ in range(8):
                random.standard_normal((rows // 4, 3, pixels, pixels), dtype=np.float32).tofile(file)
        data = leat.raw_records(path, "f32", [3, pixels, pixels]).repeat(100_000).batch(rows)
        device = trainer.gpu.device
        self.times: list[float] = []
        self._there = iter(leat.torch.DataLoader(data, device=str(device)))
        self._here = iter(leat.torch.DataLoader(data))
        self.all: dict[str, Feed] = {"alone": lambda: trainer.resident, "leat": self.from_leat}
        self.all["not pinned"] = lambda: next(self._here).to(device, non_blocking=True)["value"]

    def from_leat(self) -> torch.Tensor:
        begin = time.perf_counter()
        batch = next(self._there)
        self.times.append(time.perf_counter() - begin)
        result: torch.Tensor = batch["value"]
        return result


def milliseconds(x: float) -> str:
    return f"{x * 1e3:.2f} ms"


def report_speed(rates: dict[str, list[float]], times: list[float], what: str) -> None:
    middle = {name: statistics.median(x) for name, x in rates.items()}
    for name, x in rates.items():
        share = middle[name] / middle["alone"]
        of = f"{middle[name]:.0f} images/s = {share:.3f} of alone (rounds: {', '.join(f'{v:.0f}' for v in x)})"
        if name == "leat":
            judged(f"{what}, with leat's batches on the device", "0.99 of alone", of, share >= 0.99, ratio=share)
        else:
            measured(f"{what}, {name}", of, ratio=share)
    times.sort()
    if times:
        p50, p99 = (times[int(q * (len(times) - 1))] for q in (0.5, 0.99))
        text = f"p50 {milliseconds(p50)}, p99 {milliseconds(p99)}, longest {milliseconds(times[-1])} ({len(times)})"
        measured("time of next() beside ResNet-50", text)


def check_speed(trainer: Trainer, feeds: Feeds, until: float) -> None:
    begin = time.monotonic()
    for feed in feeds.all.values():
        for _ in range(WARM_UP):
            trainer.step(feed())
    trainer.gpu.finish()
    measured(
        "ResNet-50", f"{trainer.source}, bf16, channels last, batch {trainer.rows}, warm after {time.monotonic() - begin:.1f} s"
    )
    feeds.times.clear()
    rates: dict[str, list[float]] = {name: [] for name in feeds.all}
    rounds = 5
    left = until - time.monotonic()
    seconds = max(0.5, min(4.0, left / rounds / len(rates)))
    for i in range(rounds):
        if i and time.monotonic() + seconds * len(rates) > until:
            break
        for name in list(rates)[i % 2 :] + list(rates)[: i % 2]:
            rates[name].append(trainer.rate(feeds.all[name], seconds))
        print(f"round {i}: " + ", ".join(f"{name} {x[-1]:.0f}" for name, x in rates.items()), flush=True)
    report_speed(rates, feeds.times, "ResNet-50")


# Trace


def traced(trainer: Trainer, feeds: Feeds, steps: int) -> Any:
    """The profiler, with nothing in the steps that waits for the GPU."""
    from torch.profiler import ProfilerActivity, profile, record_function

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if trainer.gpu.is_there else [])
    with profile(activities=activities) as profiler:
        with record_function("leat_steps"):
            for _ in range(steps):
                trainer.step(feeds.from_leat())
        trainer.gpu.finish()
    return profiler


def check_trace(trainer: Trainer, feeds: Feeds, out: Path) -> None:
    path = out / "trace.json.gz"
    traced(trainer, feeds, 2)  # the first one takes long to begin
    traced(trainer, feeds, 12).export_chrome_trace(str(path))
    told = torch_trace.analyse(torch_trace.read(path), "leat_steps")
    if not trainer.gpu.is_there:
        skipped("trace", "no GPU")
        return
    share = f"{told.overlap:.3f} of {told.copy_time / 1e3:.1f} ms in {told.copies} copies"
    judged("copies to the GPU while a kernel ran", "0.9 of their time", share, told.overlap >= 0.9, ratio=told.overlap)
    rate = told.bytes / told.copy_time / 1e3 if told.copy_time else 0.0
    measured("rate of these copies beside ResNet-50", f"{rate:.1f} GB/s; {', '.join(told.kinds)}")
    found = ", ".join(f"{name} {n} times" for name, n in told.waits.items()) or "none"
    judged("waits for the GPU in the trainer's thread, in 12 steps", "none", found, not told.waits)


def main() -> int:
    given = parse()
    gpu = Gpu(given.device)
    if gpu.is_there and not torch.cuda.is_available():
        skipped("torch", "it sees no GPU")
        return 0
    name = torch.cuda.get_device_name() if gpu.is_there else "CPU"
    measured("torch", f"{torch.__version__}, {name}, leat {leat.__version__}")
    with TemporaryDirectory(dir=given.directory) as scratch:
        directory = Path(scratch)
        check_contents(directory, gpu)
        trainer = Trainer(gpu, given.rows, given.pixels)
        feeds = Feeds(directory, trainer, given.rows, given.pixels)
        check_speed(trainer, feeds, BEGIN + given.seconds - 20)
        check_trace(trainer, feeds, given.out)
        del feeds
    return 0


if __name__ == "__main__":
    sys.exit(main())
