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


class NoGpuError(Exception):
    """Says why there is none."""


def gpu() -> str:
    """The first one's name, and its driver's version of CUDA."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as e:
        raise NoGpuError(f"no driver ({e})") from e
    if code := driver.cuInit(0):
        raise NoGpuError(f"the driver's cuInit answers {code}")
    count, version, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    if (code := driver.cuDeviceGetCount(ctypes.byref(count))) or not count.value:
        raise NoGpuError(f"the driver shows {count.value} (code {code})")
    driver.cuDriverGetVersion(ctypes.byref(version))
    if hasattr(driver, "cuDeviceGetName"):
        driver.cuDeviceGetName(name, len(name), 0)
    return f"{name.value.decode() or 'no name'}, driver for CUDA {version.value // 1000}.{version.value % 1000 // 10}"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def main() -> int:
    try:
        measured("GPU", gpu())
    except NoGpuError as e:
        skipped("no GPU here", e)
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
