"""Processes that run functions of pipelines: with what they are started, and how they start and end."""

import importlib
import io
import os
import pickle
import signal
import sys
from collections.abc import Callable
from multiprocessing import process, spawn, util
from types import FunctionType
from typing import Any

from leat import _leat
from leat.errors import InvalidArgument, one_line

_START = "import sys; sys.path[:] = {path!r}; from leat.processes import serve; serve({parent})"
_is_serving = False


class Recipe:
    """Creates the functions of a stage in another process, with `make(*arguments, **options)`."""

    def __init__(self, make: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        self._content = (make, arguments, options)
        self._needs_main = True
        for x in arguments:
            check_name(x, "processes= for")

    def start(self) -> tuple[list[bytes], bytes]:
        """The command of a new process, and what it reads from the file of its content."""
        if _is_serving:
            raise InvalidArgument(
                "processes= within a process that leat began: the program's main module is imported there, so what it does "
                'belongs under `if __name__ == "__main__":`'
            )
        flags = util._args_from_interpreter_flags()  # type: ignore[attr-defined]
        start = _START.format(path=sys.path, parent=os.getpid())
        main = _main_module() if self._needs_main else {}
        content = pickled_by_name((main, pickled_by_name(self._content)))
        return [os.fsencode(x) for x in (spawn.get_executable(), *flags, "-c", start)], content


def own_map(name: str, parameters: str) -> Any:
    """One of leat's own maps."""
    return _leat._own_map(name, parameters)  # type: ignore[attr-defined]


def own_map_recipe(name: str, parameters: str) -> Recipe:
    """One of leat's own maps, for which a process does not import the program's main module."""
    recipe = Recipe(own_map, name, parameters)
    recipe._needs_main = False
    return recipe


def reader_of(source: Any) -> Callable[..., Any]:
    """The function that reads the records of an indexed source."""
    read: Callable[..., Any] = source.read if hasattr(source, "read") else source.__getitem__
    return read


def serve(parent: int) -> None:
    """The main function of such a process."""
    global _is_serving
    _leat._end_with_parent(parent)  # type: ignore[attr-defined]
    _is_serving = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is handled by the program
    made, refusal = None, ""
    try:
        made = _make(_leat._child_content)  # type: ignore[attr-defined]
    except BaseException as problem:
        refusal = one_line(problem, problem.__traceback__)
    _leat._serve_functions(made, refusal)  # type: ignore[attr-defined]
    flush()
    os._exit(0)


def flush() -> None:
    """Writes out what functions printed. They may have closed it, or nobody reads it any more: no reason to end a process."""
    for x in (sys.stdout, sys.stderr):
        try:
            if x is not None:
                x.flush()
        except Exception:  # contextlib.suppress takes longer than the two flushes
            continue


def pickled(x: KeyboardInterrupt | SystemExit) -> bytes:
    """Pickles an exception that ends the job, for the process of the job."""
    try:
        return pickle.dumps(x)
    except Exception:
        return pickle.dumps(SystemExit(str(x)) if isinstance(x, SystemExit) else KeyboardInterrupt(str(x)))


def raised(x: bytes) -> Any:
    """Unpickles that exception."""
    return pickle.loads(x)


def _make(file: int) -> Any:
    data = b"".join(iter(lambda: os.read(file, 1 << 20), b""))
    main, content = pickle.loads(data)
    current = process.current_process()
    current._inheriting = True  # type: ignore[attr-defined]
    try:
        spawn.prepare(main)
    finally:
        del current._inheriting  # type: ignore[attr-defined]
    make, arguments, options = pickle.loads(content)
    return make(*arguments, **options)


def _main_module() -> dict[str, Any]:
    """What a process needs to import the program's main module, as multiprocessing would."""
    main = sys.modules["__main__"]
    found: dict[str, Any] = {"sys_path": list(sys.path), "sys_argv": sys.argv, "dir": os.getcwd()}
    name = getattr(main.__spec__, "name", None)
    path = _main_file(main)
    if name is not None:
        found["init_main_from_name"] = name
    elif path is not None:
        found["init_main_from_path"] = path
    return found


def _main_file(main: Any) -> str | None:
    """None for a program that was typed, or read from standard input: Python calls that the file "<stdin>"."""
    path = getattr(main, "__file__", None)
    if path is None:
        return None
    path = os.path.normpath(os.path.join(process.ORIGINAL_DIR or "", path))  # type: ignore[attr-defined]
    return None if os.path.basename(path) == "<stdin>" and not os.path.exists(path) else path


class _Pickler(pickle.Pickler):
    def reducer_override(self, x: Any) -> Any:
        if not isinstance(x, FunctionType):
            return NotImplemented
        place = (x.__module__, x.__qualname__)
        return (_function_of, place) if getattr(_named(*place), "function", None) is x else NotImplemented


def pickled_by_name(x: Any) -> bytes:
    """Pickles functions, also decorated ones, as the names by which they are imported. Raises InvalidArgument."""
    to = io.BytesIO()
    try:
        _Pickler(to).dump(x)
    except (pickle.PicklingError, AttributeError, TypeError) as problem:
        raise InvalidArgument(f"what another process needs cannot be pickled: {problem}") from problem
    return to.getvalue()


def _named(module: str, name: str) -> Any:
    """What the name of a function refers to: the function, or the stage that a decorator made of it."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _function_of(module: str, name: str) -> Any:
    return _named(module, name).function


def check_name(x: Any, what: str) -> None:
    """Refuses a function that other processes cannot import."""
    if not isinstance(x, FunctionType):
        return
    if x.__name__ == "<lambda>" or "<locals>" in x.__qualname__:
        raise InvalidArgument(
            f"{what} {x.__qualname__}, which other processes cannot import: needed is a function at the top level of a module"
        )
    main = sys.modules["__main__"]
    if x.__module__ == "__main__" and main.__spec__ is None and _main_file(main) is None:
        raise InvalidArgument(
            f"{what} {x.__qualname__}, which was written in an interactive session, or read from standard input: other "
            "processes cannot import it, so put it into a module"
        )
