"""For programs to which tests send signals: how they report, and when they are at the place where the signal is to come."""

import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType


def tell(*what: object) -> None:
    """Prints a line at once: other threads print, too."""
    os.write(1, (" ".join(map(str, what)) + "\n").encode())


def when_in_call() -> None:
    """Reports "ready" once the main thread stays in one call that the program itself, or the end of the interpreter, made."""
    threading.Thread(target=_watch, daemon=True).start()


def when_in_call_later() -> Callable[[], object]:
    """The same once the result is called, even where no thread can start: at the end of the interpreter."""
    begins = threading.Event()
    threading.Thread(target=lambda: begins.wait() and _watch(), daemon=True).start()
    return begins.set


def _watch() -> None:
    looks, before = 0, None
    while looks < 20:
        time.sleep(0.005)
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        now = (id(frame), frame and frame.f_lasti)
        looks = looks + 1 if now == before and _is_of_program(frame) else 0
        before = now
    tell("ready")


def _is_of_program(frame: FrameType | None) -> bool:
    return frame is None or frame.f_code.co_filename == getattr(sys.modules["__main__"], "__file__", "<string>")
