"""Pickles pipelines with Python functions for other processes: as their text, and functions by their importable names."""

import functools
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from leat import _leat
from leat.errors import InvalidArgument


class Part:
    """A stage or a source that a pipeline's text only names, as the arguments with which it was made."""

    __slots__ = ("arguments", "kind", "name", "options", "parameters")

    def __init__(self, kind: str, name: str, parameters: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.kind, self.name, self.parameters = kind, name, parameters
        self.arguments, self.options = arguments, options

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name

    def content(self) -> bytes:
        """Its arguments as bytes. Raises InvalidArgument for a function that other processes cannot import."""
        from leat import processes  # imported only here, since it imports multiprocessing

        for x in (*self.arguments, *self.options.values()):
            processes.check_name(x, f'a pipeline with the {self.kind} "{self.name}" was to be pickled, of the function')
        return processes.pickled_by_name((self.arguments, self.options))


# Names that the program has registered itself, for which the text suffices; and what was unpickled, by its bytes.
registered: set[tuple[str, str]] = set()
_stages: dict[tuple[str, str], dict[str, Any]] = {}
_known: dict[tuple[str, str, str], bytes] = {}


def reduce(text: str, kept: Iterable[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How a pipeline is pickled: `kept` is what it keeps."""
    parts = {id(x): x for x in kept if isinstance(x, Part) and x.key not in registered}.values()
    return restore, (text, tuple((x.kind, x.name, x.parameters, x.content()) for x in parts))


def restore(text: str, parts: tuple[tuple[str, str, str, bytes], ...]) -> Any:
    """The pipeline again; its names are registered in this process from now on."""
    made = []
    for kind, name, parameters, content in parts:
        part = Part(kind, name, parameters, *pickle.loads(content))
        if _known.get((kind, name, parameters)) != content:
            _register(part)
            _known[kind, name, parameters] = content
        made.append(part)
    return _leat._keep(_leat.parse_pipeline(text), made)  # type: ignore[attr-defined]


def _register(x: Part) -> None:
    if x.kind in _STAGES:
        make, register = _STAGES[x.kind]
        of_name = _stages.setdefault(x.key, {})
        is_new = not of_name
        of_name[x.parameters] = make(x.name, *x.arguments, parameters=x.parameters, **x.options)
        if is_new:
            register(x.name, functools.partial(_stage_of, x.key))
    elif x.kind in ("indexed", "from_function"):
        source = getattr(_leat, x.kind)(x.name, *x.arguments, **x.options)
        _leat._register_indexed(x.name, source)  # type: ignore[attr-defined]
    elif x.kind == "sequential":
        _leat.register_sequential(x.name, x.arguments[-1])
    else:
        _leat.register_once(x.name, *x.arguments)
    registered.discard(x.key)


def _stage_of(key: tuple[str, str], parameters: str) -> Any:
    found = _stages[key].get(parameters)
    if found is None:
        kind, name = key
        raise InvalidArgument(f"the {kind} {name}({parameters}): needed are parameters with which it was unpickled")
    return found


_STAGES: dict[str, tuple[Callable[..., Any], Callable[..., None]]] = {
    "map": (_leat.MapStage, _leat.register_map),
    "filter": (_leat.FilterStage, _leat.register_predicate),
    "flat_map": (_leat.FlatMapStage, _leat.register_flat_map),
    "scan": (_leat.ScanStage, _leat.register_scan),
}
