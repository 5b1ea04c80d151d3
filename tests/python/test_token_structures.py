"""Random tokenizer.json files beside the package tokenizers: what leat knows of them it does to the last token.

Others go through the package. LEAT_TOKEN_TEXTS=1000000 for more files and texts, LEAT_TOKEN_SEED to repeat a run.
"""

# ruff: noqa: SIM905
import copy
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leat
import pytest
from leat._leat import TokenizeStage
from test_token_identity import PIECES, SEED, TEXTS, documents, made, some_text, tokenizers

TEXTS_PER_FILE = 20
RULES = ["Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext"]
ATOMS = [
    *r"a b s \. ' é ▁ 中 - \s \S \d \w \W \p{L} \p{N} \p{Lu} \p{M} \P{L} \p{P} . [^\w\s] [\W\d] [a-zé] [^a\p{L}]".split(),
    " ",
]
REPEATS = ["", "", "", "?", "*", "+", "{2}", "{1,3}", "+?", "++", "{1,2}+"]

Json = dict[str, Any]


def flag(rng: random.Random, part: float = 0.5) -> bool:
    return rng.random() < part


def pattern(rng: random.Random, depth: int = 0) -> str:
    def atom() -> str:
        if depth < 2 and flag(rng, 0.2):
            return rng.choice(("(?:", "(", "(?i:")) + pattern(rng, depth + 1) + ")"
        return rng.choice(ATOMS)

    def sequence() -> str:
        last = rng.choice(("", "", "", r"(?!\S)", "(?=a)"))
        return "".join(atom() + rng.choice(REPEATS) for _ in range(rng.randint(1, 3))) + last

    return "|".join(sequence() for _ in range(rng.choice((1, 1, 2, 3))))


def found(rng: random.Random) -> Json:
    return {"Regex": pattern(rng)} if flag(rng, 0.6) else {"String": rng.choice((" ", "▁", "a", "  ", "é", "\n", "1"))}


def some(rng: random.Random, of: Any, most: int) -> list[Json]:
    return [of(rng) for _ in range(rng.randint(0, most))]


def normalizer(rng: random.Random) -> Json:
    kind = rng.choice(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer", "Replace", "Prepend"))
    if kind == "BertNormalizer":
        flags = {name: flag(rng) for name in ("clean_text", "handle_chinese_chars", "lowercase")}
        return {"type": kind, "strip_accents": rng.choice((None, True, False)), **flags}
    if kind == "Replace":
        return {"type": kind, "pattern": found(rng), "content": rng.choice(("", " ", "▁", "a b", "é", "\u0301"))}
    return {"type": kind, "prepend": rng.choice(("", "▁", " ", "a b"))} if kind == "Prepend" else {"type": kind}


def pre_tokenizer(rng: random.Random) -> Json:
    kind = rng.choice(("Split", "Split", "Metaspace", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit"))
    rest: Json = {
        "Split": {"pattern": found(rng), "behavior": rng.choice(RULES), "invert": flag(rng)},
        "Metaspace": {"replacement": rng.choice("▁▁_"), "prepend_scheme": rng.choice(("always", "first", "never"))},
        "Digits": {"individual_digits": flag(rng)},
        "Punctuation": {"behavior": rng.choice(RULES)},
    }
    return {"type": kind, **rest.get(kind, {}), **({"split": flag(rng)} if kind == "Metaspace" else {})}


def post_processor(rng: random.Random) -> Json:
    ids = {"<s>": rng.randrange(9), "<|end|>": rng.randrange(9)}
    begin, end = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ids)
    text, other = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    template = {
        "type": "TemplateProcessing",
        "single": [*([begin] if flag(rng) else []), text, *([end] if flag(rng) else [])],
        "pair": [begin, text, other, end],
        "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in ids.items()},
    }
    return rng.choice((template, {"type": "BertProcessing", "sep": ["<|end|>", 1], "cls": ["<s>", 2]}))


def added_tokens(rng: random.Random, vocabulary: Json) -> list[Json]:
    tokens: list[Json] = []
    number = len(vocabulary)
    for text in {rng.choice([*PIECES, *vocabulary]) for _ in range(rng.choice((0, 1, 3, 8)))}:
        flags = {name: flag(rng, 0.3) for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        tokens.append({"id": vocabulary.get(text, number), "content": text, **flags})
        number += text not in vocabulary
    return tokens


def change(rng: random.Random, model: Json) -> None:
    if model["type"] == "BPE":
        model |= {name: flag(rng, 0.3) for name in ("fuse_unk", "ignore_merges")}
        model["unk_token"] = rng.choice((None, model["unk_token"], "<unk>"))
        if flag(rng, 0.3):
            rng.shuffle(model["merges"])
        if flag(rng, 0.2):  # numbers with gaps
            model["vocab"] = {text: 2 * number for text, number in model["vocab"].items()}
        gone = set(rng.sample([x for x in model["vocab"] if len(x) == 1], 5)) if flag(rng, 0.3) else set()
        for text in gone:
            del model["vocab"][text]
        model["merges"] = [pair for pair in model["merges"] if not gone & {*pair}]
    elif model["type"] == "WordPiece":
        model["max_input_chars_per_word"] = rng.choice((100, 5, 1))
    elif flag(rng):
        model["vocab"] = [[text, rng.choice((score, rng.uniform(-9, 30)))] for text, score in model["vocab"]]


def file_of(rng: random.Random, trained: Json) -> Json:
    file = copy.deepcopy(trained)
    change(rng, file["model"])
    known = file["model"]["vocab"]
    vocabulary = known if isinstance(known, dict) else {text: i for i, (text, _) in enumerate(known)}
    file["added_tokens"] = added_tokens(rng, vocabulary)
    if flag(rng, 0.6):
        file["normalizer"] = {"type": "Sequence", "normalizers": some(rng, normalizer, 3)}
    if flag(rng, 0.8):
        last = [file["pre_tokenizer"]] if "ByteLevel" in json.dumps(file["pre_tokenizer"]) else []
        file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*some(rng, pre_tokenizer, 2), *last]}
    file["post_processor"] = {"type": "Sequence", "processors": some(rng, post_processor, 2)}
    return file


def unless_it_panics(call: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """None where the package gives up: a panic of Rust is no Exception."""
    try:
        return call(*given, **options)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None


@pytest.mark.parametrize("kind", ["gpt2", "metaspace", "bert", "unigram"])
def test_random_files_have_the_tokens_of_the_package(kind: str, tmp_path: Path) -> None:
    rng, known, trained = random.Random(f"{SEED} {kind}"), documents(), json.loads(made(kind).to_str())
    path = tmp_path / "tokenizer.json"
    rounds = max(1, TEXTS // TEXTS_PER_FILE)
    compared = 0
    for _ in range(rounds):
        file, special = file_of(rng, trained), flag(rng)
        path.write_text(json.dumps(file))
        package = unless_it_panics(tokenizers.Tokenizer.from_file, str(path))
        if package is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stage = leat.tokenize(path, add_special_tokens=special)
        if not isinstance(stage, TokenizeStage):
            continue
        texts = [some_text(rng, known) for _ in range(TEXTS_PER_FILE)]
        for text, tokens in zip(texts, stage.encode_batch(texts), strict=True):
            wanted = unless_it_panics(package.encode, text, add_special_tokens=special)
            parts = {name: x for name, x in file.items() if name != "model"}
            assert wanted is None or tokens.tolist() == wanted.ids, f"seed {SEED}: {text!r} {json.dumps(parts)}"
            compared += 1
    assert compared > rounds * TEXTS_PER_FILE // 10
