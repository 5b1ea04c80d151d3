"""leat.sentencepiece: the tokens that SentencePiece's own command gives, with models that it trains here.

More texts: LEAT_TOKEN_TEXTS=1000000, and LEAT_TOKEN_SEED for others. Real models: tests/python/real_tokenizers, or
LEAT_TOKENIZER_FILES=DIRECTORY with NAME.model.
"""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import leat
import pytest

TRAIN, ENCODE = (shutil.which(x) or "" for x in ("spm_train", "spm_encode"))
pytestmark = pytest.mark.skipif(not TRAIN or not ENCODE, reason="needs spm_train and spm_encode: apt install sentencepiece")

COMMON = "the quick brown fox jumps over lazy dogs während Übermut naïve café 12345 3.14 foo_bar don't <sep> <user> ab aab aaab"
WORDS = [*COMMON.split(), "東京", "日本語", "\ufb01ne", "①", "\uff41\uff42\uff43", "😀", "½", "e\u0301", "\u00a0", "\u3000"]
BYTES = "--byte_fallback=true --character_coverage=0.98"
MODELS = {
    "unigram": "--model_type=unigram --vocab_size=200",
    "unigram with bytes and symbols": f"--model_type=unigram --vocab_size=450 {BYTES} --user_defined_symbols=<sep>,<user>,aab",
    "unigram with spaces after words": "--model_type=unigram --vocab_size=250 --treat_whitespace_as_suffix=true "
    "--normalization_rule_name=nmt_nfkc_cf --split_by_whitespace=false",
    "BPE": "--model_type=bpe --vocab_size=220",
    "BPE with bytes and symbols": f"--model_type=bpe --vocab_size=500 {BYTES} --user_defined_symbols=<sep>,aab,o_b "
    "--normalization_rule_name=nfkc_cf",
    "BPE of texts as they are": "--model_type=bpe --vocab_size=300 --normalization_rule_name=identity "
    "--remove_extra_whitespaces=false --add_dummy_prefix=false",
    "words": "--model_type=word --vocab_size=60",
    "words with bytes": f"--model_type=word --vocab_size=310 {BYTES} --remove_extra_whitespaces=false",
    "characters": "--model_type=char --vocab_size=50 --user_defined_symbols=<sep>,aab",
    "characters with bytes": f"--model_type=char --vocab_size=300 {BYTES}",
}
TEXTS = int(os.environ.get("LEAT_TOKEN_TEXTS", "2000"))
SEED = int(os.environ.get("LEAT_TOKEN_SEED", "77"))
FILES = os.environ.get("LEAT_TOKENIZER_FILES")


def texts(seed: int, count: int) -> list[str]:
    """Words, and here and there characters that a model has never seen."""
    rng = random.Random(seed)
    odd = "abcdeé漢字 ②ｱﾞ\t\u200b\u00ad\u0378😀ゔ"
    found = []
    for _ in range(count):
        words = [
            "".join(rng.choice(odd) for _ in range(rng.randint(1, 6))) if rng.random() < 0.2 else rng.choice(WORDS)
            for _ in range(rng.randint(0, 14))
        ]
        found.append((" " * rng.choice((1, 1, 1, 2, 3))).join(words))
    return found


def run(*command: str, **options: Any) -> str:
    return subprocess.run(command, text=True, check=True, timeout=60 + TEXTS / 1000, capture_output=True, **options).stdout


def train(folder: Path, seed: int, count: int, options: str) -> str:
    """The path of a new model."""
    (folder / "train.txt").write_text("\n".join(texts(seed, count)))
    run(TRAIN, f"--input={folder}/train.txt", f"--model_prefix={folder}/{seed}", "--minloglevel=2", *options.split())
    return f"{folder}/{seed}.model"


def check(path: str, folder: Path) -> None:
    given = [x for x in texts(SEED, TEXTS) if x.strip(" \t")]  # the command passes over some empty lines
    encoded = run(ENCODE, f"--model={path}", "--output_format=id", input="\n".join(given) + "\n")
    wanted = [[int(x) for x in line.split()] for line in encoded.split("\n")[:-1]]
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": x}) + "\n" for x in given))
    data = leat.json_lines(f"{folder}/texts.jsonl").map(leat.sentencepiece(path)).batch(100, lanes=1, end="mask")
    got = [row.tolist() for batch in leat.Loader(data, workers=2) for row in batch["tokens"]]
    assert len(wanted) == len(given)
    assert got[: len(given)] == wanted, f"LEAT_TOKEN_SEED={SEED}"


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_tokens_are_those_of_sentencepiece(options: str, tmp_path: Path) -> None:
    check(train(tmp_path, 5, 2000, options), tmp_path)


@pytest.mark.parametrize("model", sorted(Path(FILES).glob("*.model")) if FILES else [], ids=lambda x: x.name)
def test_tokens_of_a_real_model(model: Path, tmp_path: Path) -> None:
    check(str(model), tmp_path)


def test_a_snapshot_knows_the_model(tmp_path: Path) -> None:
    first, second = (train(tmp_path, seed, 500, "--vocab_size=200") for seed in (1, 2))
    path = tmp_path / "x.model"
    shutil.copy(first, path)
    (tmp_path / "texts.txt").write_text("".join(f"{x}\n" for x in texts(3, 50)))

    def job() -> leat.Pipeline:
        return leat.lines(f"{tmp_path}/texts.txt").map(leat.sentencepiece(str(path))).batch(4, end="mask")

    loader = leat.Loader(job(), workers=0)
    part = next(loader).snapshot()
    again = leat.Loader(job(), workers=0)
    again.restore_parts([part])
    assert str(next(again).digest()) == str(next(loader).digest())
    shutil.copy(second, path)
    with pytest.raises(leat.Error, match="hash"):
        leat.Loader(job(), workers=0).restore_parts([part])
