"""The machine, and who else uses it."""

import ctypes
import datetime
import os
import platform
import time
from pathlib import Path
from typing import Any


def described() -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def cores() -> int:
    return len(os.sched_getaffinity(0))


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def has_gpu() -> bool:
    """One that CUDA's driver can use."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    number = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(number)) == 0 and number.value > 0


class BusyClock:
    """Gives the share of the cores that others have used since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._all = busy_seconds()
        self._own = own_seconds()

    def others(self) -> float:
        """Approximate: a child's time counts once it was waited for."""
        spent = busy_seconds() - self._all - (own_seconds() - self._own)
        return max(0.0, spent / (time.monotonic() - self._start) / (os.cpu_count() or 1))


def busy_seconds() -> float:
    """CPU time of all cores and processes, and what a hypervisor gave to other machines."""
    user, nice, system, _, _, irq, softirq, steal = cpu_times()[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def cpu_times() -> list[int]:
    with open("/proc/stat", encoding="ascii") as lines:
        return [int(x) for x in lines.readline().split()[1:]]


def own_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])
