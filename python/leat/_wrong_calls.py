"""The errors of calls whose arguments do not fit: which argument it is, and what to write instead."""

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leat import _leat

# Names of arguments of other loaders, and what to use here.
_ELSEWHERE = {
    "batch_first": "the first dimension is always that of rows",
    "batch_sampler": "the pipeline has order and batches: data.shuffle(seed=0).batch(32)",
    "batch_size": "rows of the global batch are an operator: data.batch(32)",
    "buffer_size": "data.shuffle_buffer(1000) draws from a buffer; data.shuffle(seed=0) needs none",
    "collate_fn": "rows of one shape are stacked, and those of different lengths are a leat.Ragged, with padded(); "
    "what else a sample needs is a map: data.map(...)",
    "dataset": "the pipeline is the first argument",
    "device": 'leat.Loader(data, device="cuda"), leat.torch.DataLoader(data, device=...)',
    "drop_last": 'data.batch(32, end="drop")',
    "generator": "data.shuffle(seed=0)",
    "multiprocessing_context": "data.map(..., processes=4)",
    "num_epochs": "epochs=",
    "num_replicas": "world_size=",
    "num_samples": "data.take(1000)",
    "num_shards": "world_size=",
    "num_workers": "workers=",
    "persistent_workers": "workers live as long as the loader",
    "pin_memory": 'device="cuda" pins what it copies, as of leat.torch.DataLoader',
    "pin_memory_device": 'device="cuda" pins what it copies, as of leat.torch.DataLoader',
    "prefetch_factor": "prefetch=, in batches",
    "sampler": "the pipeline has the order: data.shuffle(seed=0), leat.mix",
    "seed": "data.shuffle(seed=0)",
    "shuffle": "data.shuffle(seed=0)",
    "shuffle_files": 'data.shuffle(seed=0), or file_order="shuffled" of streams',
    "size": "rows of the global batch are the first argument",
    "timeout": "stuck_after=, in seconds",
    "transform": "data.map(...)",
    "worker_init_fn": "data.map(..., per_worker=True)",
}
_VALUES = {
    "pad": '"mask", whose last batch has rows that are not valid',
    "error": '"fail"',
    "ignore": '"substitute" or "mask"',
    "raise": '"fail"',
    "skip": '"substitute" or "mask"',
    "warn": '"substitute" or "mask", with bad_sample_log=',
}


def signature_of(nanobind: Sequence[Any]) -> inspect.Signature:
    """A signature of the module as an inspect.Signature; annotations are text."""
    text, _, defaults = nanobind
    text = re.sub(r"\\(\d+)", lambda x: f"__defaults__[{x[1]}]", text)
    (function,) = ast.parse(f"{text}: ...").body
    assert isinstance(function, ast.FunctionDef)
    names = function.args
    positional = [*names.posonlyargs, *names.args]
    left: list[ast.expr | None] = [None] * (len(positional) - len(names.defaults))

    def default_of(x: ast.expr | None) -> Any:
        return inspect.Parameter.empty if x is None else eval(ast.unparse(x), {"__defaults__": defaults})

    def parameter(x: ast.arg, kind: Any, default: ast.expr | None = None) -> inspect.Parameter:
        annotation = inspect.Parameter.empty if x.annotation is None else _text(x.annotation)
        return inspect.Parameter(x.arg, kind, default=default_of(default), annotation=annotation)

    all_of_them = []
    for i, (x, default) in enumerate(zip(positional, [*left, *names.defaults], strict=True)):
        only = i < len(names.posonlyargs)
        all_of_them.append(
            parameter(x, inspect.Parameter.POSITIONAL_ONLY if only else inspect.Parameter.POSITIONAL_OR_KEYWORD, default)
        )
    if names.vararg:
        all_of_them.append(parameter(names.vararg, inspect.Parameter.VAR_POSITIONAL))
    for x, default in zip(names.kwonlyargs, names.kw_defaults, strict=True):
        all_of_them.append(parameter(x, inspect.Parameter.KEYWORD_ONLY, default))
    if names.kwarg:
        all_of_them.append(parameter(names.kwarg, inspect.Parameter.VAR_KEYWORD))
    result = inspect.Signature.empty if function.returns is None else _text(function.returns)
    return inspect.Signature(all_of_them, return_annotation=result)


def _text(x: ast.expr) -> str:
    return ast.unparse(x).replace("leat._leat.", "")


def signature_of_class(x: Any) -> inspect.Signature:
    """The signature of its constructor, without `self`."""
    of = signature_of(x.__init__.__nb_signature__[0])
    return of.replace(parameters=list(of.parameters.values())[1:], return_annotation=inspect.Signature.empty)


def explain(name: str, overloads: Sequence[Any], is_method: bool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The text of the TypeError of a call that fits none of a function's signatures."""
    readings = []
    for overload in overloads:
        of = list(signature_of(overload).parameters.values())[1 if is_method else 0 :]
        bound = _bound(of, args, kwargs)
        readings.append((sum(_is_right(x, value) is not False for x, value in bound), of, bound))
    _, of, bound = max(readings, key=lambda x: x[0])  # the signature that most of the call fits
    return f"{name}() {_problem(of, bound, args, kwargs)}"


Bound = Sequence[tuple[inspect.Parameter, Any]]


def _by_position(of: Sequence[inspect.Parameter]) -> list[inspect.Parameter]:
    return [x for x in of if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]


def _bound(of: Sequence[inspect.Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
    by_name = [(x, kwargs[x.name]) for x in of if x.name in kwargs and x.kind is not x.POSITIONAL_ONLY]
    return [*zip(_by_position(of), args, strict=False), *by_name]


def _is_right(x: inspect.Parameter, value: Any) -> bool | None:
    """Whether a value is of the type that an argument has; None if that is not known."""
    return _fits(value, ast.parse(str(x.annotation), mode="eval").body)


def _problem(of: Sequence[inspect.Parameter], bound: Bound, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    names = [x.name for x in of if x.kind is not x.POSITIONAL_ONLY]
    for given in kwargs:
        if given not in names:
            return f"has no argument {given}=: {_instead(given, names)}"
    by_position = _by_position(of)
    if len(args) > len(by_position):
        takes = ", ".join(x.name for x in by_position) or "none"
        rest = ", ".join(f"{x.name}=" for x in of if x.kind is x.KEYWORD_ONLY)
        return f"was given {len(args)} arguments by position, and takes: {takes}" + (f"; by name: {rest}" if rest else "")
    has = [x.name for x, _ in bound]
    if twice := [x for x in has if has.count(x) > 1]:
        return f"was given {twice[0]} twice, by position and by name"
    if missing := [x for x in of if x.default is x.empty and x.name not in has]:
        return "was called without " + ", ".join(f"{x.name}: {x.annotation}" for x in missing)
    wrong = [(x, value) for x, value in bound if _is_right(x, value) is False]
    # A value of the right type can still be out of range: a negative number, an unknown name of an element type.
    wrong = wrong or [(x, value) for x, value in bound if isinstance(value, int) and not 0 <= value < 2**63]
    wrong = wrong or [(x, value) for x, value in bound if x.name == "dtype"]
    if wrong:
        x, value = wrong[0]
        shown = _kind(value) if x.name == "remote" else _shown(value)  # which has keys and tokens
        return f"was given {x.name}={shown}; needed: {_needed(x, value)}"
    got = ", ".join(f"{x.name}: {_kind(value)}" for x, value in bound)
    return f"was given {got}; needed: {', '.join(f'{x.name}: {x.annotation}' for x, _ in bound)}"


def _instead(given: str, names: Sequence[str]) -> str:
    if given in _ELSEWHERE:
        return _ELSEWHERE[given]
    if close := difflib.get_close_matches(given, names, 1, 0.7):
        return f"{close[0]}= is meant?"
    return f"it has {', '.join(f'{x}=' for x in names)}" if names else "it has none by name"


def _needed(x: inspect.Parameter, value: Any) -> str:
    if x.name == "dtype":
        types = "u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64"
        return f"the name of an element type ({types}), or a dtype of NumPy or torch"
    literals = re.findall(r"Literal\[(.*?)\]", str(x.annotation))
    if literals and isinstance(value, str):
        choices = [ast.literal_eval(y) for y in literals[0].split(", ")]
        text = ", ".join(f'"{y}"' for y in choices[:-1]) + f' or "{choices[-1]}"' if len(choices) > 1 else f'"{choices[0]}"'
        close = difflib.get_close_matches(value, choices, 1)
        hint = _VALUES.get(value) if value in _VALUES else f'"{close[0]}"' if close else None
        return text + (f"; here it is {hint}" if hint and "mask" in choices else f": {hint} is meant?" if close else "")
    if isinstance(value, int) and "int" in str(x.annotation):
        return "a whole number of at least 0, or one that fits 64 bits"
    return f"{x.annotation}, not {_kind(value)}"


def _fits(value: Any, annotation: ast.expr) -> bool | None:
    """Whether a value is of an annotation's type; None if that is not known."""
    if isinstance(annotation, ast.BinOp):
        either = [_fits(value, annotation.left), _fits(value, annotation.right)]
        return True if True in either else None if None in either else False
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return value is None
    if isinstance(annotation, ast.Subscript):
        return _fits_subscript(value, annotation)
    text = ast.unparse(annotation)
    if text in _PLAIN:
        return _PLAIN[text](value)
    known = getattr(_leat, text, None)
    return isinstance(value, known) if isinstance(known, type) else None


def _fits_subscript(value: Any, annotation: ast.Subscript) -> bool | None:
    of = ast.unparse(annotation.value)
    inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    if of == "typing.Literal":
        return any(isinstance(x, ast.Constant) and type(x.value) is type(value) and x.value == value for x in inner)
    if of == "collections.abc.Callable":
        return callable(value)
    if of == "os.PathLike":
        return hasattr(value, "__fspath__")
    if of in ("collections.abc.Sequence", "list"):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            return False
        return all(_fits(x, inner[0]) is not False for x in value)
    if of in ("collections.abc.Mapping", "dict"):
        return isinstance(value, Mapping)
    return None


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "bool": lambda x: isinstance(x, bool) or type(x).__name__ in ("bool", "bool_"),
    "bytes": lambda x: isinstance(x, bytes),
    "float": lambda x: hasattr(x, "__float__") and not isinstance(x, str),
    "int": lambda x: hasattr(x, "__index__"),
    "str": lambda x: isinstance(x, str),
    "typing.Any": lambda x: True,
}


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
