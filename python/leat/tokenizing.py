"""Text as tokens, by leat's own tokenizer, or by the package `tokenizers`, which is imported when it is needed."""

import hashlib
import importlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

from leat import _leat
from leat._leat import MapStage, Sample, TokenizeStage
from leat.errors import BadSample, Error, error_of

_TYPES = {
    "u8": "uint8",
    "u16": "uint16",
    "i16": "int16",
    "u32": "uint32",
    "i32": "int32",
    "u64": "uint64",
    "i64": "int64",
}

# What leat's own tokenizer says is needed instead of one that it does not know.
_UNKNOWN = "a tokenizer that leat knows, or the package tokenizers in Python"

_registered: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    """A tokenizer as a value: its JSON without padding and truncation, and what that leaves out."""

    name: str
    json: str
    hash: str
    last_token: int
    encode_special_tokens: bool

    def make(self, max_tokens: int | None) -> Any:
        made = _tokenizers().Tokenizer.from_str(self.json)
        made.encode_special_tokens = self.encode_special_tokens
        if max_tokens is not None:
            made.enable_truncation(max_tokens)
        return made


@dataclass(frozen=True, slots=True)
class _Content:
    """A tokenizer as leat reads it: the content of its file, and the name that stands for it."""

    name: str
    bytes: bytes
    encode_special_tokens: bool
    is_file: bool


class PackageStage(MapStage):
    """A map over the package tokenizers, and what it does to single texts: as TokenizeStage."""

    _encode_all: Callable[[list[str]], list[Any]]
    _decode: Callable[[list[int]], str]

    def encode(self, text: str) -> Any:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[Any]:
        import numpy as np

        return [np.array(x.ids, np.uint32) for x in self._encode_all(list(texts))]

    def decode(self, tokens: Iterable[int]) -> str:
        return self._decode([int(x) for x in tokens])


def tokenize(
    tokenizer: Any,
    field: str = "text",
    into: str = "tokens",
    dtype: Any = "i32",
    add_special_tokens: bool = False,
    *,
    max_tokens: int | None = None,
    keep_text: bool = False,
    name: str | None = None,
    encoding: str | None = None,
    encode_special_tokens: bool | None = None,
) -> TokenizeStage | PackageStage:
    """A map that sets `into` to the tokens of the text in `field`: ragged, [number of tokens].

    `tokenizer`: the path of a tokenizer.json, a tekken.json, or a directory with the former, a `tokenizers.Tokenizer`, or a
    fast tokenizer of transformers. It is copied; its padding and truncation are off. `max_tokens` cuts longer texts. The text
    is removed unless `keep_text`. `name` stands for the tokenizer in the pipeline's text, beside its hash: the path, if none
    is given.

    With `encoding`, the name of one of tiktoken's, `tokenizer` is the path of its file of ranks, and tokens are those of
    `encode_ordinary`. `encode_special_tokens` takes special tokens in a text as text: as the tokenizer says, if not given.

    leat's own tokenizer makes the tokens where it knows the tokenizer: those of most language models, and of BERT.
    Others go through the package tokenizers, with a warning; that sets TOKENIZERS_PARALLELISM=false in this process, unless
    it is set: leat's workers are the threads.

    What comes back also has `encode(text)`, `encode_batch(texts)` (arrays of u32) and `decode(tokens)`, to use by themselves.

    Raises InvalidArgument for a tokenizer or type that does not fit, NotFound for a file that is not there, and ImportError
    for a tokenizer that needs the package `tokenizers` where it is not. Text that is not UTF-8 makes a bad sample (corrupt).
    """
    of = _content_of(tokenizer, name)
    as_text = of.encode_special_tokens if encode_special_tokens is None else encode_special_tokens
    array_type = _integer_type(dtype)
    if max_tokens is not None and max_tokens < 1:
        raise _refusal(f"max_tokens={max_tokens}", "at least 1")
    try:
        native: TokenizeStage = _leat._tokenize_content(  # type: ignore[attr-defined]
            of.name,
            of.bytes,
            field,
            into,
            _leat_name(array_type),
            add_special_tokens,
            max_tokens,
            keep_text,
            as_text,
            encoding or "",
            not of.is_file,
        )
        return native
    except Error as problem:
        if encoding or problem.code != "invalid_argument" or problem.needed != _UNKNOWN:
            raise
        reason = problem.got
    stage = _by_package(
        tokenizer, name, field, into, array_type, add_special_tokens, max_tokens, keep_text, encode_special_tokens
    )
    warnings.warn(f"{of.name} goes through the package tokenizers, which is slower: {reason}", stacklevel=2)
    return stage


def _by_package(
    tokenizer: Any,
    name: str | None,
    field: str,
    into: str,
    array_type: Any,
    add_special_tokens: bool,
    max_tokens: int | None,
    keep_text: bool,
    encode_special_tokens: bool | None,
) -> PackageStage:
    of = _tokenizer_of(tokenizer, name)
    if encode_special_tokens is not None:
        of = replace(of, encode_special_tokens=encode_special_tokens)
    _check_room(array_type, of)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

    def of_worker() -> Callable[[Sample], None]:
        import numpy as np

        encode = of.make(max_tokens).encode_batch_fast  # without offsets, which cost a quarter of the time

        def tokens(sample: Sample) -> None:
            try:
                text = sample.bytes(field).decode()
            except UnicodeDecodeError as problem:
                raise BadSample("corrupt", f'"{field}" is not UTF-8: {problem}') from None
            ids = encode([text], add_special_tokens=add_special_tokens)[0].ids
            if not keep_text:
                sample.erase(field)
            sample.set_ragged(into, np.array(ids, array_type))

        return tokens

    parameters = {"tokenizer": of.name, "hash": of.hash, "field": field, "into": into, "dtype": _leat_name(array_type)}
    parameters["add_special_tokens"] = _text_of(add_special_tokens)
    if max_tokens is not None:
        parameters["max_tokens"] = str(max_tokens)
    if keep_text:
        parameters["keep_text"] = "true"
    if of.encode_special_tokens:
        parameters["encode_special_tokens"] = "true"
    written = " ".join(f"{key}={quote(value, safe='/:.,+-_~@')}" for key, value in parameters.items())
    stage = PackageStage("tokenize@1", of_worker, parameters=written, per_worker=True)
    stage.note = "by the package tokenizers"
    made = of.make(max_tokens)
    stage._encode_all = lambda texts: made.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
    stage._decode = lambda tokens: made.decode(tokens, skip_special_tokens=False)
    return stage


def register_tokenizer(name: str, tokenizer: Any) -> None:
    """Makes a tokenizer known to parse_pipeline, for texts in which `name` stands for it. A later one replaces it."""
    _registered[name] = tokenizer


def tokenize_of_text(parameters: str) -> MapStage:
    """The map for `.map("tokenize@1", ...)` in a pipeline's text. Without a hash, any tokenizer of that name will do."""
    words = [part.partition("=") for part in parameters.split()]
    values = {key: unquote(value) for key, _, value in words}
    known = {"tokenizer", "hash", "field", "into", "dtype", "add_special_tokens", "max_tokens", "keep_text"}
    known |= {"encode_special_tokens", "encoding"}
    if unknown := [key for key, equals, _ in words if key not in known or not equals]:
        raise _refusal(f"the parameter {unknown[0]}", f"one of {', '.join(sorted(known))}")
    if "tokenizer" not in values:
        raise _refusal("no tokenizer", "tokenizer=PATH")
    name = values["tokenizer"]
    if name not in _registered and not os.path.exists(name):
        raise _refusal(
            f'the tokenizer "{name}", which is neither a file here nor registered',
            f'leat.register_tokenizer("{name}", tokenizer) before this pipeline is made from its text',
        )
    given = _registered.get(name, name)
    options: dict[str, Any] = {
        "field": values.get("field", "text"),
        "into": values.get("into", "tokens"),
        "add_special_tokens": _flag(values, "add_special_tokens"),
        "max_tokens": _number(values, "max_tokens"),
        "keep_text": _flag(values, "keep_text"),
        "name": name,
        "encode_special_tokens": _flag(values, "encode_special_tokens") if "encode_special_tokens" in values else None,
    }
    dtype = values.get("dtype", "i32")
    stage = tokenize(given, dtype=dtype, encoding=values.get("encoding"), **options)
    found = _hash_in(stage)
    if values.get("hash", found) == found:
        return stage
    if "encoding" not in values and _has_package():  # which other versions of it wrote otherwise
        other = _by_package(given, array_type=_integer_type(dtype), **options)
        if _hash_in(other) == values["hash"]:
            return other
    raise _refusal(f'another tokenizer as "{name}", with the hash {found}', f"the one with the hash {values['hash']}")


def _hash_in(stage: MapStage) -> str:
    return next(unquote(part[5:]) for part in stage.parameters.split() if part.startswith("hash="))


def _has_package() -> bool:
    try:
        return bool(_tokenizers())
    except ImportError:
        return False


def _tokenizers() -> Any:
    try:
        return importlib.import_module("tokenizers")
    except ModuleNotFoundError as problem:
        if problem.name != "tokenizers":
            raise
        raise ImportError("leat.tokenize needs the package tokenizers: pip install tokenizers") from None


def _refusal(got: str, needed: str, code: str = "invalid_argument") -> Error:
    text = f"{code.replace('_', ' ')}: tokenize, got {got}, needed {needed}"
    return error_of(code, text, "tokenize", "", "", None, got, needed, ())


def _text_of(flag: bool) -> str:
    return "true" if flag else "false"


def _flag(values: dict[str, str], name: str) -> bool:
    text = values.get(name, "false")
    if text not in ("true", "false"):
        raise _refusal(f"{name}={text}", "true or false")
    return text == "true"


def _number(values: dict[str, str], name: str) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise _refusal(f"{name}={text}", "a whole number")
    return int(text)


def _read(path: str) -> bytes:
    file = os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path
    if os.path.exists(file) and not os.path.isfile(file):  # opening a pipe would wait
        raise _refusal(f'"{file}", which is not a file', "a tokenizer.json")
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        raise _refusal(f'"{file}", which does not exist', "a tokenizer.json", "not_found") from None


def _opened(path: str) -> Any:
    text = _read(path).decode(errors="replace")
    try:
        return _tokenizers().Tokenizer.from_str(text)
    except (ImportError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as problem:  # the package raises no type of its own, and where it panics no Exception
        raise _refusal(f'"{path}", which is not a tokenizer ({problem})', "a tokenizer.json") from None


def _fast(given: Any) -> Any:
    fast = getattr(given, "backend_tokenizer", given)
    if not hasattr(fast, "to_str") or not hasattr(fast, "encode_batch_fast"):
        raise _refusal(
            f"a {type(given).__name__}", "a path, a tokenizers.Tokenizer, or a fast tokenizer of transformers (use_fast=True)"
        )
    return fast


def _content_of(given: Any, name: str | None) -> _Content:
    if isinstance(given, (str, os.PathLike)):
        path = str(os.fspath(given))
        return _Content(name or path, _read(path), False, is_file=True)
    fast = _fast(given)
    text = fast.to_str()
    known_as = name or str(getattr(given, "name_or_path", "")) or json.loads(text)["model"]["type"]
    return _Content(known_as, text.encode(), bool(fast.encode_special_tokens), is_file=False)


def _tokenizer_of(given: Any, name: str | None) -> _Tokenizer:
    if isinstance(given, (str, os.PathLike)):
        path = str(os.fspath(given))
        return _value_of(_opened(path), name or path)
    fast = _fast(given)
    return _value_of(fast, name or str(getattr(given, "name_or_path", "")))


def _value_of(fast: Any, name: str) -> _Tokenizer:
    content = json.loads(fast.to_str())
    content["padding"] = content["truncation"] = None
    model = content["model"]
    if model.get("dropout"):
        raise _refusal(
            f"a tokenizer with dropout {model['dropout']}, which gives other tokens in every call", "one without dropout"
        )
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    last = max(fast.get_vocab().values(), default=0)
    return _Tokenizer(
        name or model["type"],
        json.dumps(content),
        "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:32],
        last,
        bool(fast.encode_special_tokens),
    )


def _leat_name(array_type: Any) -> str:
    return next(name for name, of in _TYPES.items() if of == array_type.name)


def _integer_type(dtype: Any) -> Any:
    import numpy as np

    try:
        found = np.dtype(_TYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    except TypeError:
        found = None
    if found is None or found.name not in _TYPES.values():
        raise _refusal(f"dtype={dtype}", f"one of {', '.join(_TYPES)}")
    return found


def _check_room(array_type: Any, of: _Tokenizer) -> None:
    import numpy as np

    if of.last_token > np.iinfo(array_type).max:
        raise _refusal(
            f"dtype={_leat_name(array_type)} for tokens up to {of.last_token}", "a type that has room for them, such as i32"
        )
