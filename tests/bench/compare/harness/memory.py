"""Memory of a contender: all processes of its session together."""

import os
import threading
from pathlib import Path

INTERVAL_SECONDS = 0.2


class Peak:
    """Samples until it is paused, as sampling takes time from the contender; then on demand."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._paused = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.bytes = 0
        self._thread.start()

    def pause(self) -> None:
        self._paused.set()
        self._thread.join()

    def sample(self) -> None:
        self.bytes = max(self.bytes, resident_bytes(self._session))

    def _run(self) -> None:
        while not self._paused.wait(INTERVAL_SECONDS):
            self.sample()


def resident_bytes(session: int) -> int:
    """Sum of the proportional set sizes: a page that n processes share counts 1/n in each."""
    return sum(proportional_bytes(pid) for pid in processes_of(session))


def processes_of(session: int) -> list[int]:
    return [int(x) for x in os.listdir("/proc") if x.isdigit() and session_of(int(x)) == session]


def session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:  # It ended meanwhile.
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
