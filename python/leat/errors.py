"""What leat raises, and how exceptions of your functions are reported."""

import inspect
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any


class Error(Exception):
    """The base of all that leat raises: what was found, what was needed, and where.

    `code`: "not_found", "mismatch", "stuck", ... `stage`: the operator, function or part of leat. `sample`: its id. `file`,
    `offset`: where, in bytes. `got`, `needed`: what was found, and what would be right. `list`: all of several causes.
    """

    code: str = ""
    stage: str = ""
    sample: str = ""
    file: str = ""
    offset: int | None = None
    got: str = ""
    needed: str = ""
    list: Sequence[str] = ()

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidArgument(Error, ValueError):
    """A pipeline, option or argument is out of range."""


class NotFound(Error, FileNotFoundError):
    """A file, directory, field or snapshot does not exist."""


class InputOutput(Error, OSError):
    """The operating system refused a read or write."""


class WrongField(Error, KeyError):
    """A batch field was asked for under a wrong name, type or rank."""


class BadSample(Exception):
    """Raised by a function of a pipeline to call its sample bad, with a cause.

    `cause`: "truncated", "corrupt", "empty", "missing_field", "unsupported", "too_large", "function_error", "wrong_shape" or
    "killed".
    """

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


_TYPES: dict[str, type[Error]] = {
    "invalid_argument": InvalidArgument,
    "not_found": NotFound,
    "io": InputOutput,
    "wrong_field": WrongField,
}


def error_of(
    code: str,
    text: str,
    stage: str,
    sample: str,
    file: str,
    offset: int | None,
    got: str,
    needed: str,
    lines: Sequence[str],
) -> Error:
    """The exception for an error of C++."""
    made = _TYPES.get(code, Error)(text)
    made.code, made.stage, made.sample, made.file, made.offset = code, stage, sample, file, offset
    made.got, made.needed, made.list = got, needed, lines
    return made


def one_line(problem: BaseException, trace: TracebackType | None) -> str:
    """An exception with the places that it came through, innermost first."""
    text = " ".join("".join(traceback.format_exception_only(problem)).split())
    places = [f"{x.filename}:{x.lineno} in {x.name}" for x in reversed(traceback.extract_tb(trace))]
    return as_utf8(f"{text} ({'; '.join(places)})" if places else text)


def as_utf8(text: str) -> str:
    """A text with its lone surrogates, which UTF-8 cannot encode, written as \\udXXX."""
    return text.encode("utf-8", "backslashreplace").decode()


def num_arguments(function: Callable[..., Any], most: int) -> int:
    """How many positional arguments a function takes, at most `most`; one if that is unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    if any(x.kind is x.VAR_POSITIONAL for x in parameters):
        return most
    return min(most, sum(x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD) and x.default is x.empty for x in parameters))
