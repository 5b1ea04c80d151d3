"""Says what machine this is, as rows; ends with 4 where there is no GPU that CUDA's driver shows."""

import ctypes
import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

from rows import measured, skipped

NO_GPU = 4


def why_no_gpu() -> str | None:
    """None if there is one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as e:
        return f"no driver ({e})"
    if code := driver.cuInit(0):
        return f"the driver's cuInit answers {code}"
    count = ctypes.c_int()
    if (code := driver.cuDeviceGetCount(ctypes.byref(count))) or not count.value:
        return f"the driver shows {count.value} (code {code})"
    return None


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def main() -> int:
    if why := why_no_gpu():
        skipped("no GPU here", why)
        return NO_GPU
    measured(
        "machine",
        f"{len(os.sched_getaffinity(0))} cores, {processor()}, Linux {platform.release()}, glibc {platform.libc_ver()[1]}",
    )
    measured("Python", platform.python_version())
    if importlib.util.find_spec("torch") is None:
        skipped("torch", f"not installed for {sys.executable}")
    if shutil.which("compute-sanitizer") is None:
        skipped("compute-sanitizer", "not in PATH")
    return 0


if __name__ == "__main__":
    sys.exit(main())
