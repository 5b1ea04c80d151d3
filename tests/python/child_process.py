"""Programs that tests start and talk to; one that hangs is ended, and prints where."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

# Seconds after which a program counts as hanging: many more than it takes on a busy machine.
PATIENCE = 150.0
# Python 3.12 and later warn about a fork if there are threads.
FORKS_MAY_WARN = {"PYTHONWARNINGS": "ignore:This process:DeprecationWarning"}


class ChildProcess:
    """If several of its threads print, each must write a line with one call: with PYTHONUNBUFFERED, print() writes the line's
    end separately, and another thread's line may come between.
    """

    def __init__(self, command: Sequence[object], *, patience: float = PATIENCE, **options: Any) -> None:
        self.lines: list[str] = []
        self.hangs = False
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed with the child)
        self._has_ended = threading.Event()
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [str(x) for x in command],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **FORKS_MAY_WARN, "PYTHONFAULTHANDLER": "1"},
            start_new_session=True,  # so that everything that it starts can be ended
            **options,
        )
        self.pid = self._process.pid
        self._watchdog = threading.Thread(target=self._watch, args=(patience,))
        self._watchdog.start()

    def __enter__(self) -> "ChildProcess":
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: TracebackType | None) -> None:
        self._has_ended.set()
        self._watchdog.join()
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        with self._process:
            pass
        self._errors.close()

    def line(self) -> str:
        """The next line that it prints, without its end."""
        assert self._process.stdout is not None
        text = self._process.stdout.readline()
        assert text, self._report("said no more")
        self.lines.append(text.rstrip("\n"))
        return self.lines[-1]

    def interrupt(self) -> None:
        os.kill(self.pid, signal.SIGINT)

    def interrupt_all(self) -> None:
        """Sends a signal as a terminal does: to the program and all that it started."""
        os.killpg(self.pid, signal.SIGINT)

    def read_from(self, file: Path) -> str:
        """What comes through a named pipe."""
        pipe = os.open(file, os.O_RDWR)  # does not wait for the other end
        try:
            while not select.select([pipe], [], [], 0.1)[0]:
                self._check_runs(f"nothing to {file.name}")
            return os.read(pipe, 1 << 16).decode()
        finally:
            os.close(pipe)

    def write_to(self, file: Path, text: str) -> None:
        """Waits until a named pipe is open at its other end."""
        while True:
            try:
                pipe = os.open(file, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError:
                self._check_runs(f"nothing that asks {file.name}")
                time.sleep(0.01)
        os.write(pipe, text.encode())
        os.close(pipe)

    def end(self, text: str = "") -> subprocess.CompletedProcess[str]:
        """Waits for it. `text`: its standard input, if that is a pipe."""
        assert self._process.stdout is not None
        if self._process.stdin is not None:
            self._process.stdin.write(text)
            self._process.stdin.close()
        stdout = self._process.stdout.read()
        self.lines += stdout.splitlines()
        code = self._process.wait()
        self._has_ended.set()
        self._watchdog.join()
        assert not self.hangs, self._report("did not end")
        return subprocess.CompletedProcess(self._process.args, code, stdout, self._said_of_errors())

    def _check_runs(self, what: str) -> None:
        assert self._process.poll() is None, self._report(f"said {what}")

    def _said_of_errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def _report(self, what: str) -> str:
        code = self._process.wait()
        printed = "\n".join(self.lines)
        return f"A child {what}; its exit code is {code}. It printed:\n{printed}\nIts errors:\n{self._said_of_errors()}"

    def _watch(self, patience: float) -> None:
        if self._has_ended.wait(patience):
            return
        self.hangs = True
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.killpg(self.pid, signal.SIGABRT)  # faulthandler prints where its threads stand
            if not self._has_ended.wait(20):
                os.killpg(self.pid, signal.SIGKILL)


def wait_for_end_of(pid: int) -> None:
    """Of a process that others may have started."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([process], [], [], PATIENCE)
    os.close(process)
    assert ended, f"process {pid} goes on"


def run_python(text: str, *arguments: str, patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    with ChildProcess([sys.executable, "-c", text, *arguments], patience=patience) as child:
        return child.end()
