"""normalize_text's forms of Unicode against those of Python's own tables."""

import random
import unicodedata
from pathlib import Path

import leat
import pytest

RANGES = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x590, 0x5F5), (0x900, 0xA00), (0x1100, 0x1200), (0x1E00, 0x2000)]
RANGES += [(0x2000, 0x2200), (0x3000, 0x3100), (0xAC00, 0xD7A4), (0xF900, 0xFB50), (0xFF00, 0xFFF0), (0x1D100, 0x1D800)]


def some_text(draw: random.Random) -> bytes:
    """Characters that are known to this Python, some of which combine; now and then a byte that is not UTF-8."""
    text = b""
    for _ in range(draw.randrange(30)):
        if draw.random() < 0.05:
            text += bytes([draw.randrange(128, 256)])
            continue
        character = chr(draw.randrange(*draw.choice(RANGES)))
        if unicodedata.category(character) != "Cn":
            text += character.encode()
    return text


@pytest.mark.parametrize("form", ["nfc", "nfd", "nfkc", "nfkd"])
def test_forms_are_those_of_python(form: str, tmp_path: Path) -> None:
    seed = random.randrange(1 << 31)
    print("seed", seed)
    draw = random.Random(seed)
    texts = [some_text(draw) for _ in range(5000)]
    (tmp_path / "texts.txt").write_bytes(b"\n".join(texts) + b"\n")
    stage = leat.normalize_text("text", spaces="keep", trim=False, line_ends=False, control=False, unicode=form)
    pipeline = leat.lines(str(tmp_path / "texts.txt")).map(stage).batch(100, lanes=1, end="mask")
    got = []
    for batch in leat.Loader(pipeline, workers=2):
        got += batch.bytes("text")
    for text, normal in zip(texts, got, strict=True):
        characters = text.decode("utf-8", "surrogateescape")
        wanted = unicodedata.normalize(form.upper(), characters).encode("utf-8", "surrogateescape")
        assert normal == wanted, (text, normal, wanted)
