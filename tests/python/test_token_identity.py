"""leat's own tokenizer beside the packages tokenizers and tiktoken, token by token, on random and mutated texts.

More texts: LEAT_TOKEN_TEXTS=1000000 pytest tests/python/test_token_identity.py. Real files: tests/python/real_tokenizers, or
LEAT_TOKENIZER_FILES=DIRECTORY with NAME.json, tekken*.json, and ENCODING.tiktoken or NAME.ENCODING.tiktoken.
"""

# ruff: noqa: E501, RUF001, SIM905
import base64
import json
import os
import random
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leat
import pytest

tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers: tests/python/frameworks")

SEED = int(os.environ.get("LEAT_TOKEN_SEED", random.SystemRandom().randrange(1 << 32)))
TEXTS = int(os.environ.get("LEAT_TOKEN_TEXTS", 1000))
FILES = os.environ.get("LEAT_TOKENIZER_FILES")

PIECES = [
    *"'s 'S 'ſ 're 'LL 'VE a Z é É ſ K İ ǅ ʰ 中 文字 ア 한 ก ่ ٣ ² Ⅷ １ 0 12 1234567 😀 👩‍👩‍👧 ́ ️ - -- / // ... ! ’ « € _ __ 𝒜 𐐀 ߊ".split(),
    *"<|end|> <|user|> <|im_sep|> </s> ▁ Ġ < /> x don't It's HTTPServer camelCase ĳ ﬁ Straße foo <left> <right> <unk> <0x41>".split(),
    *"각 ᄀ ᅡ ᆨ ᆧ Å ﬀ が ㋿ ẛ ệ क़ Σ ẞ \u0915\u093c \u0323 \u0327 \u0345 \u0f71\u0f72 \U0001d15e \U00011938 \u0897 \ua7d2".split(),
    *"שלום مرحبا नमस्ते สวัสดีครับ привет Ελληνικά 日本語テキスト".split(),
    *(" ", "  ", "\n", "\r", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\0", "\x1c", "\x7f", "\x85", "\ufeff", "\U000e0001"),
]
BASES = [
    0x41,
    0x65,
    0xC5,
    0x212B,
    0x3B1,
    0x1F00,
    0x1100,
    0xAC00,
    0xAC01,
    0x304B,
    0x915,
    0x958,
    0x9C7,
    0xCC6,
    0x1D157,
    0xFB01,
    0x20,
]
MARKS = [0x300, 0x301, 0x302, 0x323, 0x327, 0x315, 0x5B0, 0x345, 0x3099, 0x9BC, 0x93C, 0x94D, 0xE38, 0xE48, 0xF71, 0xF72]
MARKS += [0x1161, 0x11A7, 0x11A8, 0xCD5, 0xCC2, 0x897, 0x1D165]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SUFFIX = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = SUFFIX + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST
QWEN35 = SUFFIX + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}" + REST.replace(r"\s\p{L}", r"\s\p{L}\p{M}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def cased(end: str, digits: str) -> str:
    first = r"[^\r\n\p{L}\p{N}]?"
    words = f"{first}{UPPER}*{LOWER}+{end}|{first}{UPPER}+{LOWER}*{end}"
    return words + rf"|\p{{N}}{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def some_text(rng: random.Random, documents: list[str]) -> str:
    way = rng.random()
    if way < 0.4:
        return "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 40)))
    if way < 0.5:
        points = (rng.randrange(rng.choice((0x80, 0x800, 0x10000, 0x110000))) for _ in range(rng.randint(1, 60)))
        return "".join(chr(x) for x in points if not 0xD800 <= x < 0xE000)
    if way < 0.6:
        return rng.choice(PIECES) * rng.randint(1, 300)
    if way < 0.7:  # marks that change places, and what they join
        return "".join(chr(rng.choice(rng.choice((BASES, MARKS)))) for _ in range(rng.randint(1, 30)))
    document = rng.choice(documents)
    begin = rng.randrange(len(document))
    characters = list(document[begin : begin + rng.randint(1, 300)])
    for _ in range(rng.randint(0, 12)):
        place = rng.randrange(len(characters) + 1)
        characters[place : place + rng.randint(0, 2)] = [rng.choice(PIECES)]
    return "".join(characters)


def documents() -> list[str]:
    root = Path(__file__).resolve().parents[2]
    return [x.read_text() for x in sorted([*root.glob("docs/*.md"), *root.glob("tests/python/*.py")])]


def tokens_of(stage: leat.MapStage, texts: list[str]) -> Iterator[list[int]]:
    data = leat.indexed("texts@1", [{"text": x} for x in texts]).map(stage).batch(50, end="mask")
    for batch in leat.Loader(data, workers=2):
        yield from (row.tolist() for row, good in zip(batch["tokens"], batch.valid, strict=True) if good)


def check(stage: leat.MapStage, wanted: Callable[[str], list[int]], seed: int) -> None:
    rng, known = random.Random(seed), documents()
    for _ in range(0, TEXTS, 1000):
        texts = [some_text(rng, known) for _ in range(min(TEXTS, 1000))]
        for text, found in zip(texts, tokens_of(stage, texts), strict=True):
            assert found == wanted(text), f"seed {seed}: {text!r}"


def trained(pre: Any = None, normalizer: Any = None, characters: bool = False, **model: Any) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE(**model))
    if pre is not None:
        made.pre_tokenizer = pre
    if normalizer is not None:
        made.normalizer = normalizer
    special = ["<|end|>", "<s>"] + (["<unk>"] if characters else [])
    alphabet = [] if characters else tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=1500, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    return taught(made, trainer)


def taught(made: Any, trainer: Any) -> Any:
    rng = random.Random(1)
    mixture = ["".join(rng.choice(PIECES) for _ in range(200)) for _ in range(40)]
    made.train_from_iterator([x[:3000] for x in documents()[:30]] + mixture, trainer)
    processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A <|end|>", special_tokens=[("<s>", made.token_to_id("<s>")), ("<|end|>", made.token_to_id("<|end|>"))]
    )
    made.post_processor = processor
    token = tokenizers.AddedToken
    made.add_tokens(
        [token("foo", single_word=True), token("<left>", lstrip=True), token("<right>", rstrip=True, normalized=False)]
    )
    return made


def word_pieces(normalizer: Any, pre: Any, **model: Any) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]", **model))
    made.normalizer, made.pre_tokenizer = normalizer, pre
    special = ["[UNK]", "<|end|>", "<s>"]
    return taught(made, tokenizers.trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special, show_progress=False))


def unigram(pre: Any, normalizer: Any = None) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = pre
    if normalizer is not None:
        made.normalizer = normalizer
    special = ["<unk>", "<|end|>", "<s>"]
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=1500, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    return taught(made, trainer)


def unigram_with_bytes() -> Any:
    file = json.loads(unigram(tokenizers.pre_tokenizers.Metaspace()).to_str())
    known = file["model"]["vocab"]
    file["added_tokens"] = [token for token in file["added_tokens"] if token["id"] < len(known)]
    known += [[f"<0x{byte:02X}>", -30.0] for byte in range(256)]
    file["model"]["byte_fallback"] = True
    return tokenizers.Tokenizer.from_str(json.dumps(file))


def with_bytes(made: Any) -> Any:
    """The same with a token for each byte, for characters that have none."""
    file = json.loads(made.to_str())
    known = file["model"]["vocab"]
    trained_tokens = len(known)
    added = [token for token in file["added_tokens"] if token["content"] not in known]
    for byte in range(256):
        known.setdefault(f"<0x{byte:02X}>", len(known))
    for token in added:
        token["id"] += len(known) - trained_tokens
    file["model"]["byte_fallback"] = True
    return tokenizers.Tokenizer.from_str(json.dumps(file))


def with_phi_tokens(made: Any, lstrip: bool) -> Any:
    """The same with the tokens around messages, which take the white space beside them."""
    names = ["<|system|>", "<|user|>", "<|assistant|>", "<|im_start|>", "<|im_sep|>", "<|im_end|>", "</s>"]
    token = tokenizers.AddedToken
    made.add_special_tokens([token(x, lstrip=lstrip, rstrip=True, normalized=False, special=True) for x in names])
    return made


def split(pattern: str) -> Any:
    of = tokenizers.pre_tokenizers
    bytes_after = of.ByteLevel(add_prefix_space=False, use_regex=False)
    return of.Sequence([of.Split(tokenizers.Regex(pattern), "isolated"), bytes_after])


def with_spaces(made: Any) -> Any:
    """The same with tokens for runs of spaces and tabs, as the families of GPT-NeoX and CodeGen have them."""
    made.add_tokens([" " * n for n in range(24, 1, -1)] + ["\t" * n for n in range(9, 1, -1)])
    return made


def split_by_matches(pattern: str) -> Any:
    """As `split`, in the way that files made out of ranks have it."""
    of = tokenizers.pre_tokenizers
    bytes_after = of.ByteLevel(add_prefix_space=False, use_regex=False)
    return of.Sequence([of.Split(tokenizers.Regex(pattern), "removed", invert=True), bytes_after])


def made(kind: str) -> Any:
    of, normal = tokenizers.pre_tokenizers, tokenizers.normalizers
    kinds: dict[str, Callable[[], Any]] = {
        "gpt2": lambda: trained(of.ByteLevel(add_prefix_space=False)),
        "gpt2 with a space": lambda: trained(of.ByteLevel(add_prefix_space=True)),
        "llama3": lambda: trained(split(LLAMA3), ignore_merges=True),
        "qwen": lambda: trained(split(LLAMA3.replace("{1,3}", ""))),
        "qwen 3.5": lambda: trained(split(QWEN35), normal.NFC()),
        "tekken": lambda: trained(split(cased("", "")), ignore_merges=True),
        "o200k": lambda: trained(split(cased(f"{SUFFIX}?", "{1,3}"))),
        "olmo": lambda: with_spaces(trained(of.ByteLevel(add_prefix_space=False), normal.NFC())),
        "olmo 2": lambda: trained(split_by_matches(LLAMA3)),
        "phi 2": lambda: with_spaces(trained(of.ByteLevel(add_prefix_space=False))),
        "phi 3": lambda: with_phi_tokens(
            with_bytes(
                trained(
                    None,
                    normal.Sequence([normal.Prepend("▁"), normal.Replace(" ", "▁")]),
                    True,
                    unk_token="<unk>",
                    fuse_unk=True,
                )
            ),
            lstrip=False,
        ),
        "phi 3 with a pre-tokenizer": lambda: with_phi_tokens(
            with_bytes(
                trained(of.Metaspace(prepend_scheme="first", split=False), None, True, unk_token="<unk>", fuse_unk=True)
            ),
            lstrip=False,
        ),
        "phi 4": lambda: with_phi_tokens(trained(split_by_matches(LLAMA3)), lstrip=True),
        "phi 4 mini": lambda: with_phi_tokens(trained(split_by_matches(cased(f"{SUFFIX}?", "{1,3}"))), lstrip=True),
        "starcoder": lambda: trained(of.Sequence([of.Digits(individual_digits=True), of.ByteLevel(add_prefix_space=False)])),
        "metaspace": lambda: trained(of.Metaspace(prepend_scheme="first"), characters=True, unk_token="<unk>", fuse_unk=True),
        "replaced": lambda: trained(
            None, normal.Sequence([normal.Prepend("▁"), normal.Replace(" ", "▁")]), characters=True, unk_token="<unk>"
        ),
        "nfc": lambda: trained(split(LLAMA3.replace("{1,3}", "")), normal.NFC()),
        "nfkc": lambda: trained(split(GPT2), normal.NFKC()),
        "small letters": lambda: trained(split(GPT2), normal.Sequence([normal.Lowercase(), normal.NFKD(), normal.NFD()])),
        "llama2": lambda: with_bytes(trained(None, normal.Replace(" ", "▁"), True, unk_token="<unk>", fuse_unk=True)),
        "gemma": lambda: with_bytes(trained(of.Split(" ", "merged_with_previous"), normal.Replace(" ", "▁"), True)),
        "words": lambda: trained(
            of.Sequence([of.Whitespace(), of.Punctuation("contiguous"), of.Digits()]), characters=True, unk_token="<unk>"
        ),
        "bert": lambda: word_pieces(normal.BertNormalizer(), of.BertPreTokenizer()),
        "bert with letters of both cases": lambda: word_pieces(
            normal.BertNormalizer(lowercase=False), of.BertPreTokenizer(), max_input_chars_per_word=9
        ),
        "word pieces": lambda: word_pieces(normal.Sequence([normal.NFD(), normal.StripAccents()]), of.Whitespace()),
        "unigram": lambda: unigram(of.Metaspace(), normal.NFKC()),
        "unigram of whole texts": lambda: unigram(None),
        "unigram with bytes": unigram_with_bytes,
    }
    return kinds[kind]()


KINDS = ["gpt2", "gpt2 with a space", "llama3", "qwen", "qwen 3.5", "tekken", "o200k", "starcoder", "metaspace", "replaced"]
KINDS += ["words", "nfc", "nfkc", "small letters", "llama2", "gemma", "bert", "bert with letters of both cases", "word pieces"]
KINDS += ["phi 3", "phi 3 with a pre-tokenizer", "phi 4", "phi 4 mini"]
KINDS += ["olmo", "olmo 2", "phi 2", "unigram", "unigram of whole texts", "unigram with bytes"]


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_those_of_tokenizers(kind: str) -> None:
    tokenizer = made(kind)
    for special, as_text in ((False, False), (True, True)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # leat's own tokenizer has to know it
            stage = leat.tokenize(tokenizer, add_special_tokens=special, encode_special_tokens=as_text)
        tokenizer.encode_special_tokens = as_text

        def wanted(text: str, special: bool = special) -> list[int]:
            return tokenizer.encode(text, add_special_tokens=special).ids

        check(stage, wanted, SEED)


def with_random_bytes(rng: random.Random, text: str) -> bytes:
    raw = bytearray(text.encode())
    for _ in range(rng.choice((0, 0, 1, 3))):
        place = rng.randrange(len(raw) + 1)
        raw[place : place + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 3))
    return bytes(raw)


def text_or_none(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


@pytest.mark.parametrize("kind", ["gpt2", "llama2", "bert", "unigram"])
def test_bytes_that_are_no_text_are_bad_samples(kind: str) -> None:
    """And all others have their tokens: what Python decodes is a text."""
    tokenizer, rng, known = made(kind), random.Random(SEED), documents()
    for _ in range(0, TEXTS, 1000):
        given = [with_random_bytes(rng, some_text(rng, known)) for _ in range(min(TEXTS, 1000))]
        texts = [text_or_none(x) for x in given]
        assert None in texts
        data = leat.indexed("texts@1", [{"text": x} for x in given]).map(leat.tokenize(tokenizer)).batch(50, end="mask")
        found: list[Any] = []
        for batch in leat.Loader(data, workers=2, bad_samples="mask"):
            assert {x.why for x in batch.bad()} <= {"corrupt"}
            found += [row.tolist() if good else None for row, good in zip(batch["tokens"], batch.valid, strict=True)]
        wanted = [None if x is None else tokenizer.encode(x, add_special_tokens=False).ids for x in texts]
        assert found[: len(wanted)] == wanted, f"seed {SEED}"


@pytest.mark.parametrize("kind", ["gpt2", "o200k", "llama2", "unigram"])
@pytest.mark.parametrize("letters", ["a", "etaoinshr", "a文é1-"])
def test_a_megabyte_without_a_space(kind: str, letters: str) -> None:
    tokenizer = made(kind)
    text = "".join(random.Random(SEED).choices(letters, k=1 << 20))
    assert leat.tokenize(tokenizer).encode(text).tolist() == tokenizer.encode(text, add_special_tokens=False).ids, (
        f"seed {SEED}"
    )


def showing_parts(pre: Any, normalizer: Any = None) -> Any:
    """Each byte is a token with each of these characters beside it, unless a part ends between them."""
    others = iter(range(256, 512))
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = [chr(x if x in plain else next(others)) for x in range(256)]
    # Bytes of characters beyond ASCII first, so that a "B" joins one of them rather than a "b".
    pairs = [pair for x in [*letters[128:], *letters[:128]] for y in "abB1Ġ" for pair in ((y, x), (x, y))]
    vocabulary = {text: i for i, text in enumerate([*letters, *dict.fromkeys(a + b for a, b in pairs)])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, list(dict.fromkeys(pairs))))
    made.pre_tokenizer = pre
    if normalizer is not None:
        made.normalizer = normalizer
    return made


def all_characters() -> str:
    points = [x for x in range(0x110000) if unicodedata.category(chr(x)) not in ("Cs", "Cn", "Co") or x % 97 == 0]
    return "".join(chr(x) for x in points if not 0xD800 <= x < 0xE000)


def texts_of_each(characters: str) -> list[str]:
    """Each character in several places: beside letters of both cases, a space, a digit and punctuation."""
    places = [f"a{c}b {c}1{c}Bb !!{c}b\n" for c in characters]
    return ["".join(places[i : i + 60]) for i in range(0, len(places), 60)]


def differing(stage: leat.MapStage, texts: list[str], wanted: list[list[int]]) -> list[str]:
    return [text for text, a, b in zip(texts, stage.encode_batch(texts), wanted, strict=True) if a.tolist() != b]


def by_package(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    return [x.ids for x in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


@pytest.mark.parametrize("kind", ["o200k", "gpt2", "qwen 3.5", "words", "nfkc", "small letters", "nfd", "bert", "marks"])
def test_each_character_has_its_tokens(kind: str) -> None:
    """In several places: one wrong place in a table of Unicode's is found."""
    of, normal = tokenizers.pre_tokenizers, tokenizers.normalizers
    bytes_after = of.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = {
        "o200k": lambda: showing_parts(split(cased(f"{SUFFIX}?", "{1,3}"))),
        "gpt2": lambda: showing_parts(split(GPT2)),
        "qwen 3.5": lambda: showing_parts(split(QWEN35)),
        "words": lambda: showing_parts(of.Sequence([of.Whitespace(), of.Punctuation("contiguous"), of.Digits(), bytes_after])),
        "nfkc": lambda: showing_parts(split(GPT2), normal.NFKC()),
        "small letters": lambda: showing_parts(split(GPT2), normal.Lowercase()),
        "nfd": lambda: showing_parts(split(GPT2), normal.NFD()),
        "bert": lambda: showing_parts(split(GPT2), normal.BertNormalizer()),
        "marks": lambda: showing_parts(split(GPT2), normal.StripAccents()),
    }[kind]()
    texts = texts_of_each(all_characters())
    assert not [ascii(x) for x in differing(leat.tokenize(tokenizer), texts, by_package(tokenizer, texts))][:3]


def spelled(pattern: str, classes: dict[str, set[str]]) -> str:
    """A pattern whose classes are ranges of characters: what leat's scanner makes of their names."""

    def ranges(*names: str) -> str:
        points = sorted(ord(c) for name in names for c in classes[name])
        begins = [x for i, x in enumerate(points) if i == 0 or points[i - 1] != x - 1]
        ends = [x for i, x in enumerate(points) if i + 1 == len(points) or points[i + 1] != x + 1]
        return "".join(rf"\x{{{a:x}}}-\x{{{b:x}}}" for a, b in zip(begins, ends, strict=True))

    letters = [name for name in classes if name.startswith("L")]
    for name in ("Lu", "Lt", "Ll", "Lm", "Lo", "M", "N"):
        pattern = pattern.replace(rf"\p{{{name}}}", f"[{ranges(name)}]")
    pattern = pattern.replace(r"\p{L}", f"[{ranges(*letters)}]")
    return pattern.replace(r"\s", f"[{ranges('space')}]").replace(r"\S", f"[^{ranges('space')}]")


@pytest.mark.parametrize("kind", ["gpt2", "llama3", "o200k"])
def test_one_character_in_a_wrong_class_is_found(kind: str) -> None:
    """The table of leat's scanner with one wrong entry, which a pattern with ranges of characters plants."""
    pattern = {"gpt2": GPT2, "llama3": LLAMA3, "o200k": cased(f"{SUFFIX}?", "{1,3}")}[kind]
    characters = all_characters()
    outside = {**{x: rf"\P{{{x}}}" for x in ("Lu", "Lt", "Ll", "Lm", "Lo", "M", "N")}, "space": r"\S"}
    replace = tokenizers.normalizers.Replace
    classes = {x: set(replace(tokenizers.Regex(y), "").normalize_str(characters)) for x, y in outside.items()}
    texts = texts_of_each(characters)
    wanted = by_package(showing_parts(split(pattern)), texts)
    assert not differing(leat.tokenize(showing_parts(split(spelled(pattern, classes)))), texts, wanted)
    # To the first two patterns, all letters are one class, and marks are like other characters.
    names = ["Lu", "Ll", "Lo", "M", "N", "space", "other"] if kind == "o200k" else ["Lo", "N", "space", "other"]
    members = {**classes, "other": set(characters).difference(*classes.values())}
    moves = [(a, b) for a in names for b in names if a != b]
    rng = random.Random(SEED)
    for begin, end in moves if TEXTS > 1000 else rng.sample(moves, 4):
        moved = rng.choice(sorted(x for x in members[begin] if x > "\x7f"))
        wrong = {name: (of - {moved}) | ({moved} if name == end else set()) for name, of in classes.items()}
        found = differing(leat.tokenize(showing_parts(split(spelled(pattern, wrong)))), texts, wanted)
        assert found, f"seed {SEED}: {moved!a} from {begin} to {end}"
        assert all(moved in x for x in found)


@pytest.mark.parametrize("kind", ["unigram", "unigram of whole texts", "unigram with bytes"])
def test_a_file_has_the_scores_that_the_package_reads(kind: str, tmp_path: Path) -> None:
    """A fifth of them are not the nearest numbers, which decides between ways of the same sum."""
    from leat import tokenizing

    file = tmp_path / "tokenizer.json"
    made(kind).save(str(file))
    read = tokenizers.Tokenizer.from_file(str(file))
    stage = leat.tokenize(file, name="x")
    check(stage, lambda text: read.encode(text, add_special_tokens=False).ids, SEED)
    for letters in ("a", "ab", "the", "文", "\n"):
        assert stage.encode(letters * 200).tolist() == read.encode(letters * 200, add_special_tokens=False).ids
    package = tokenizing._by_package(file, "x", "text", "tokens", tokenizing._integer_type("i32"), False, None, False, None)
    assert stage.parameters == package.parameters


@pytest.mark.parametrize("kind", ["gpt2", "metaspace", "bert", "unigram", "unigram with bytes"])
def test_the_hash_and_the_cut_are_those_of_the_package(kind: str) -> None:
    from leat import tokenizing

    tokenizer = made(kind)
    native = leat.tokenize(tokenizer, max_tokens=5, add_special_tokens=True, name="x y")
    package = tokenizing._by_package(tokenizer, "x y", "text", "tokens", tokenizing._integer_type("i32"), True, 5, False, None)
    assert native.parameters == package.parameters
    texts = ["", "a", "the quick brown fox jumps over lazy dogs"]
    assert list(tokens_of(native, texts)) == list(tokens_of(package, texts))


def encoding_of(name: str, ranks: dict[bytes, int]) -> Any:
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken: tests/python/frameworks")
    patterns = {"gpt2": GPT2, "p50k_base": GPT2, "cl100k_base": LLAMA3, "llama3": LLAMA3}
    patterns |= {"qwen": LLAMA3.replace("{1,3}", ""), "qwen35": QWEN35, "o200k_base": cased(f"{SUFFIX}?", "{1,3}")}
    pattern = patterns[name]
    if name == "cl100k_base":
        pattern = pattern.replace(r"|\s*[\r\n]+|\s+(?!\S)|\s+", r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def made_ranks() -> dict[bytes, int]:
    """All bytes, then pieces of texts, the shorter ones first."""
    rng = random.Random(2)
    known = {bytes([x]): x for x in range(256)}
    words = "".join(documents()[:10] + [" ".join(PIECES)] * 3).encode()
    while len(known) < 3000:
        begin = rng.randrange(len(words))
        known.setdefault(words[begin : begin + 2 + len(known) // 400], len(known))
    return known


@pytest.mark.parametrize("name", ["gpt2", "p50k_base", "cl100k_base", "o200k_base", "llama3", "qwen", "qwen35"])
def test_tokens_are_those_of_tiktoken(name: str, tmp_path: Path) -> None:
    pytest.importorskip("tiktoken", reason="needs tiktoken: tests/python/frameworks")
    known = made_ranks()
    file = tmp_path / f"{name}.tiktoken"
    file.write_bytes(b"".join(base64.b64encode(text) + b" %d\n" % rank for text, rank in known.items()))
    reference = encoding_of(name, known)
    check(leat.tokenize(file, encoding=name), reference.encode_ordinary, SEED)


def tekken_of(file: Any) -> tuple[Any, int]:
    """What tiktoken makes of a tekken.json, and how much larger its tokens are."""
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken: tests/python/frameworks")
    config = file["config"]
    special = config["default_num_special_tokens"]
    ranks = {base64.b64decode(x["token_bytes"]): x["rank"] for x in file["vocab"][: config["default_vocab_size"] - special]}
    return tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={}), special


def test_tokens_of_tekken(tmp_path: Path) -> None:
    known = made_ranks()
    vocabulary = [{"rank": rank, "token_bytes": base64.b64encode(text).decode()} for text, rank in known.items()]
    config = {"pattern": cased("", ""), "default_vocab_size": 2800, "default_num_special_tokens": 100}
    special = [{"rank": 7, "token_str": "<s>", "is_control": True}]
    file = tmp_path / "tekken.json"
    file.write_text(json.dumps({"config": config, "vocab": vocabulary, "special_tokens": special}))
    reference, offset = tekken_of(json.loads(file.read_text()))
    stage = leat.tokenize(file)
    check(stage, lambda text: [x + offset for x in reference.encode_ordinary(text)], SEED)
    assert leat.tokenize(file, add_special_tokens=True).encode("a").tolist() == [7, offset + ord("a")]
    assert stage.decode(stage.encode("one two 文😀")) == "one two 文😀"


REAL = sorted(x for x in Path(FILES).iterdir() if x.suffix in (".json", ".tiktoken")) if FILES else []


@pytest.mark.parametrize("file", REAL, ids=lambda x: x.name)
def test_tokens_of_a_real_file(file: Path) -> None:
    if file.suffix == ".tiktoken":
        encoding = file.stem.rpartition(".")[2]
        lines = (line.split() for line in file.read_bytes().splitlines())
        reference = encoding_of(encoding, {base64.b64decode(text): int(rank) for text, rank in lines})
        check(leat.tokenize(file, encoding=encoding), reference.encode_ordinary, SEED)
    elif file.name.startswith("tekken"):
        reference, offset = tekken_of(json.loads(file.read_bytes()))
        check(leat.tokenize(file), lambda text: [offset + token for token in reference.encode_ordinary(text)], SEED)
    else:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
        check(leat.tokenize(file), lambda text: tokenizer.encode(text, add_special_tokens=False).ids, SEED)


@pytest.mark.parametrize("kind", ["gpt2", "nfc", "llama2"])
def test_stages_encode_and_decode_single_texts(kind: str) -> None:
    tokenizer = made(kind)
    stage = leat.tokenize(tokenizer, add_special_tokens=True)
    texts = ["", "one two", "a <|end|> b", "Å文\n😀"]
    wanted = [tokenizer.encode(x).ids for x in texts]
    assert [x.tolist() for x in stage.encode_batch(texts)] == wanted
    assert [stage.encode(x).tolist() for x in texts] == wanted
    plain = leat.tokenize(tokenizer)
    assert plain.decode(plain.encode("one two 文😀")) == "one two 文😀"
    assert plain.decode([1 << 30]) == ""
    with pytest.raises(UnicodeEncodeError):
        plain.encode("\ud800")


def test_a_stage_of_the_package_encodes_and_decodes_alike() -> None:
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    with pytest.warns(UserWarning, match="WordLevel"):
        stage = leat.tokenize(words)
    work = leat.graph_of(leat.count(3).map(stage).batch(1)).rounds[-1]["function"]
    assert work[-1] == "map tokenize@1, by the package tokenizers"
    assert stage.encode("a b c").tolist() == [0, 1, 2]
    assert [x.tolist() for x in stage.encode_batch(["b", ""])] == [[1], []]
    assert stage.decode([0, 1]) == "a b"
