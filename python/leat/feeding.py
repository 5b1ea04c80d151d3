"""A source that exists once, which this process serves to all ranks of a job."""

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from leat import _leat

if TYPE_CHECKING:
    from leat import Sample

# Seconds for a feed whose program has failed, or ends: its function may block.
_patience = 10

_running: "weakref.WeakSet[Feed]" = weakref.WeakSet()


class Feed:
    """Serves the records that `next(sample)` makes to pipelines with leat.feed(name), in a thread of its own.

    The arguments are those of leat.run_feed. It begins at once, and ends with its source, once all ranks have had all
    records; with close(), or at the end of a `with`; and with the process. What goes wrong is raised by wait() and close().
    """

    def __init__(
        self,
        name: str,
        next: Callable[["Sample"], Any] | None = None,
        *,
        join: str,
        files: Sequence[str | os.PathLike[str]] = (),
        queue: str = "",
        journal: str | os.PathLike[str] = "",
        sync: bool = False,
        memory: int = 256 << 20,
        certificates: str | os.PathLike[str] = "",
        token: str = "",
        log: Callable[[str], Any] | None = None,
    ) -> None:
        self._stop = _leat._FeedStop()  # type: ignore[attr-defined]
        self._error: BaseException | None = None
        arguments = (name, next, join, list(files), queue, journal, sync, memory, certificates, token, log)
        self._thread = threading.Thread(target=self._run, args=arguments, name=f"leat feed {name}", daemon=True)
        _running.add(self)
        self._thread.start()

    def _run(self, *arguments: Any) -> None:
        try:
            _leat._run_feed_until(self._stop, *arguments)  # type: ignore[attr-defined]
        except BaseException as error:
            self._error = error

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it has ended; False if it has not after so many seconds. Raises what has ended it."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        error, self._error = self._error, None
        if error is not None:
            raise error
        return True

    def close(self) -> None:
        """Ends it; a call of `next` has to return first. Raises what had ended it before."""
        self._stop.set()
        self.wait()

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._stop.set()
            self._thread.join(_patience)


@atexit.register
def _end_all() -> None:
    feeds = list(_running)
    for feed in feeds:
        feed._stop.set()
    for feed in feeds:
        feed._thread.join(_patience)
