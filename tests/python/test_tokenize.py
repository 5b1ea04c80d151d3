"""leat.tokenize: tokens as the package `tokenizers` gives them, and the tokenizer as a part of snapshots."""

import base64
import gc
import json
import multiprocessing
import pickle
import warnings
from pathlib import Path
from typing import Any

import leat
import numpy as np
import pytest
from child_process import run_python
from leat._leat import TokenizeStage
from leat.tokenizing import PackageStage
from support import check_restores, digests, due, first, refused

tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers: tests/python/frameworks")

SENTENCE = "the quick brown fox jumps over lazy dogs while many small birds sing their song"
WORDS = SENTENCE.split()
TEXTS = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 2 + i % 11)) for i in range(120)]


def word_level(*more: str) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.train_from_iterator([*TEXTS, *more], tokenizers.trainers.WordLevelTrainer(special_tokens=["[UNK]", "[EOS]"]))
    return made


def byte_pairs() -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    special = ["[UNK]", "[EOS]"]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(single="$A [EOS]", special_tokens=[("[EOS]", 1)])
    return made


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps({"text": text, "number": i}) + "\n" for i, text in enumerate(TEXTS)))
    return file


@pytest.fixture(params=[word_level, byte_pairs])
def make(request: pytest.FixtureRequest) -> Any:
    """A function that makes a tokenizer: one for the package, and one that leat knows itself."""
    return request.param


@pytest.fixture
def saved(tmp_path: Path, make: Any) -> Path:
    file = tmp_path / "tokenizer.json"
    make().save(str(file))
    return file


@pytest.fixture
def saved_for_the_package(tmp_path: Path) -> Path:
    file = tmp_path / "words.json"
    word_level().save(str(file))
    return file


def lines_of(documents: Path, **options: Any) -> leat.Pipeline:
    return leat.json_lines(str(documents), ranges=7, **options)


def batched(data: leat.Pipeline) -> leat.Pipeline:
    return data.batch(7, lanes=7, end="mask")


def in_batches(documents: Path, tokenizer: Any, **options: Any) -> leat.Pipeline:
    return batched(lines_of(documents).map(leat.tokenize(tokenizer, **options)))


def tokens_in(batch: leat.Batch) -> list[list[int]]:
    """Tokens by row, without rows that have no sample."""
    return [row.tolist() for row, good in zip(batch["tokens"], batch.valid, strict=True) if good]


def tokens_of(loader: leat.Loader) -> list[list[list[int]]]:
    return [tokens_in(x) for x in loader]


def expected(tokenizer: Any, documents: Path, special: bool = False) -> list[list[list[int]]]:
    numbers = [batch["number"][batch.valid].tolist() for batch in leat.Loader(batched(lines_of(documents)))]
    assert sorted(x for batch in numbers for x in batch) == list(range(len(TEXTS)))
    return [[tokenizer.encode(TEXTS[i], add_special_tokens=special).ids for i in batch] for batch in numbers]


def test_leat_knows_one_of_these_tokenizers() -> None:
    with pytest.warns(UserWarning, match="WordLevel"):
        assert isinstance(leat.tokenize(word_level()), PackageStage)
    assert isinstance(leat.tokenize(byte_pairs()), TokenizeStage)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("special", [False, True])
def test_tokens_are_those_of_the_package_for_any_workers(documents: Path, make: Any, workers: int, special: bool) -> None:
    tokenizer = make()
    data = in_batches(documents, tokenizer, add_special_tokens=special)
    assert digests(leat.Loader(data, workers=workers)) == due(data)
    assert tokens_of(leat.Loader(data, workers=workers)) == expected(tokenizer, documents, special)


def test_a_restore_behind_every_batch_goes_on_with_the_next(documents: Path, make: Any) -> None:
    check_restores(lambda: in_batches(documents, make()), tokens_in, expected(make(), documents))


def test_another_tokenizer_is_refused_at_restore(documents: Path, make: Any) -> None:
    part = first(in_batches(documents, make())).snapshot()
    changed = make()
    changed.add_tokens(["zebra"])
    for other in (changed, word_level("zebra")):
        with pytest.raises(leat.Error, match="tokenize@1") as told:
            leat.Loader(in_batches(documents, other)).restore_parts([part])
        assert told.value.code == "mismatch"
    with pytest.raises(leat.Error, match="add_special_tokens=true"):
        leat.Loader(in_batches(documents, make(), add_special_tokens=True)).restore_parts([part])
    same = make()
    same.enable_padding(length=64)
    same.enable_truncation(3)
    again = leat.Loader(in_batches(documents, same))
    again.restore_parts([part])
    assert tokens_of(again) == expected(make(), documents)[1:]


def test_packs_of_tokens_resume_at_every_batch(documents: Path, make: Any) -> None:
    data = lines_of(documents, order="shuffled", seed=3).map(leat.tokenize(make(), dtype="u16"))
    data = data.shuffle_buffer(24, seed=5).pack("tokens", 16, split=True, delimiter=1).batch(7, lanes=7, end="mask")

    def seen(x: leat.Batch) -> tuple[Any, ...]:
        return str(x.digest()), x["tokens"].dtype, x["tokens"].tolist(), x["segment"].tolist()

    wanted = [seen(x) for x in leat.Loader(data, workers=0)]
    assert [x[:2] for x in wanted] == [(digest, np.uint16) for digest in due(data)]
    assert len(wanted) >= 8
    check_restores(lambda: data, seen, wanted)


def test_a_path_makes_a_pipeline_that_its_text_and_a_pickle_make_again(documents: Path, saved: Path) -> None:
    data = in_batches(documents, saved, max_tokens=4, keep_text=True, dtype=np.int64)
    assert f'tokenizer="{saved}"' in str(data)
    assert "max_tokens=4" in str(data)
    wanted = tokens_of(leat.Loader(data))
    assert max(len(row) for batch in wanted for row in batch) == 4
    for again in (leat.parse_pipeline(str(data)), pickle.loads(pickle.dumps(data))):
        assert again == data
        assert tokens_of(leat.Loader(again)) == wanted
    assert leat.pipeline_of(leat.inspect_snapshot([leat.Loader(data).snapshot()])) == data
    assert tokens_of(leat.Loader(leat.parse_pipeline(str(in_batches(documents, saved.parent, max_tokens=4))))) == wanted
    by_hand = f'json_lines("{documents}").map("tokenize@1", tokenizer="{saved}").batch(7)'
    assert leat.parse_pipeline(by_hand) == leat.json_lines(str(documents)).map(leat.tokenize(str(saved))).batch(7)


def test_a_path_with_spaces(documents: Path, saved: Path) -> None:
    data = in_batches(documents, saved.rename(saved.parent / "my tokenizer, 100%.json"))
    assert leat.parse_pipeline(str(data)) == data


def test_a_text_says_what_to_register(documents: Path, saved: Path, make: Any) -> None:
    name = f"my-{make.__name__}"
    data = in_batches(documents, make(), name=name)
    refused(rf'leat\.register_tokenizer\("{name}", tokenizer\)', leat.parse_pipeline, str(data))
    leat.register_tokenizer(name, word_level("zebra"))
    refused(f'another tokenizer as "{name}", with the hash sha256:', leat.parse_pipeline, str(data))
    leat.register_tokenizer(name, saved)
    assert leat.parse_pipeline(str(data)) == data
    assert tokens_of(leat.Loader(leat.parse_pipeline(str(data)))) == expected(make(), documents)
    for text, told in (
        ("", "needed tokenizer=PATH"),
        (', fields="x"', "the parameter fields"),
        (', keep_text="yes"', "keep_text=yes, needed true or false"),
        (', max_tokens="x"', "max_tokens=x, needed a whole number"),
    ):
        first = "" if not text else f', tokenizer="{name}"'
        refused(told, leat.parse_pipeline, f'json_lines("{documents}").map("tokenize@1"{first}{text}).batch(7)')


def test_what_does_not_fit_is_refused_in_a_sentence(saved: Path) -> None:
    with pytest.raises(leat.NotFound, match=r"nowhere\.json"):
        leat.tokenize("nowhere.json")
    (saved.parent / "broken.json").write_text("{}")
    refused("needed a model", leat.tokenize, saved.parent / "broken.json")
    refused(r"got a function, needed a path, a tokenizers\.Tokenizer", leat.tokenize, lambda text: text.split())
    dropping = byte_pairs()
    dropping.model.dropout = 0.1
    refused(r"dropout 0\.1", leat.tokenize, dropping)
    for dtype in ("f32", np.float64, "no such", "bf16"):
        refused("needed one of u8, u16, i16", leat.tokenize, saved, dtype=dtype)
    wide = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "a": 40000}, unk_token="[UNK]"))
    refused(
        "dtype=i16 for tokens up to 40000, needed a type that has room for them, such as i32", leat.tokenize, wide, dtype="i16"
    )
    assert "dtype=u16" in leat.tokenize(wide, dtype="u16").parameters
    refused("max_tokens=0, needed at least 1", leat.tokenize, saved, max_tokens=0)
    ranks = saved.parent / "small.tiktoken"
    ranks.write_bytes(b"".join(base64.b64encode(bytes([x])) + b" %d\n" % (x * 300) for x in range(256)))
    for call in (leat.tokenize, leat.sentencepiece):
        refused("a file of ranks as tiktoken has them, without .* one of gpt2, r50k_base", call, str(ranks))
    refused("dtype=u16 for tokens up to 76500, needed", leat.tokenize, ranks, dtype="u16", encoding="gpt2")
    assert leat.tokenize(ranks, dtype="u32", encoding="gpt2").encode("!").tolist() == [300 * ord("!")]
    own = byte_pairs()
    refused(r"dtype=u8 for tokens up to \d+, needed a type that has room for them, such as i32", leat.tokenize, own, dtype="u8")
    for dtype in ("u16", "u32", np.int32):
        assert leat.tokenize(own, dtype=dtype).parameters.count(f"dtype={dtype if isinstance(dtype, str) else 'i32'} ") == 1


def test_fields(make: Any) -> None:
    def fields(**options: Any) -> set[str]:
        source = leat.indexed("texts@1", [{"text": x, "number": i} for i, x in enumerate(TEXTS)])
        return set(next(leat.Loader(source.map(leat.tokenize(make(), **options)).batch(3))))

    assert fields() == {"tokens", "number"}
    assert fields(keep_text=True) == {"tokens", "number", "text"}
    assert fields(into="text") == {"text", "number"}


def test_text_that_is_not_utf8_is_a_bad_sample(make: Any) -> None:
    source = leat.indexed("texts@1", [{"text": b"the fox"}, {"text": b"the \xff fox"}, {"text": b""}])
    batch = next(leat.Loader(source.map(leat.tokenize(make())).batch(3), bad_samples="mask"))
    assert batch.valid.tolist() == [True, False, True]
    assert [(x.why, '"text" is not UTF-8' in x.text) for x in batch.bad()] == [("corrupt", True)]
    assert len(batch["tokens"][2]) == 0


def test_special_tokens_in_a_text_are_as_the_tokenizer_says(make: Any) -> None:
    def tokens(tokenizer: Any) -> list[int]:
        data = leat.indexed("texts@1", [{"text": "the [EOS]"}]).map(leat.tokenize(tokenizer)).batch(1)
        return next(leat.Loader(data))["tokens"][0].tolist()

    plain, split = make(), make()
    split.encode_special_tokens = True
    assert tokens(plain) == plain.encode("the [EOS]", add_special_tokens=False).ids
    assert tokens(split) == split.encode("the [EOS]", add_special_tokens=False).ids != tokens(plain)
    assert leat.tokenize(plain).parameters != leat.tokenize(split).parameters


def test_fast_tokenizers_of_transformers(documents: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers: tests/python/frameworks")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=word_level(), unk_token="[UNK]", name_or_path="my/words")
    data = in_batches(documents, fast)
    assert 'tokenizer="my/words"' in str(data)
    fast(["the fox", "the"], padding=False, truncation=True, max_length=1)  # sets the backend's truncation
    assert in_batches(documents, fast) == data
    assert tokens_of(leat.Loader(data)) == expected(word_level(), documents)


def test_the_package_is_imported_when_it_is_used_and_its_threads_stay_off(saved_for_the_package: Path) -> None:
    lines = (
        "import os, sys, leat",
        "assert 'tokenizers' not in sys.modules",
        "stage = leat.tokenize(sys.argv[1])",
        "assert 'tokenizers' in sys.modules and os.environ['TOKENIZERS_PARALLELISM'] == 'false'",
        "data = leat.indexed('texts@1', [{'text': 'the fox'}] * 64).map(stage).batch(8)",
        "for batch in leat.Loader(data, workers=0): pass",
        "import tokenizers; threads = len(os.listdir('/proc/self/task'))",
        "made = tokenizers.Tokenizer.from_file(sys.argv[1]); made.encode_batch(['a'] * 100)",
        "assert len(os.listdir('/proc/self/task')) <= threads",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOKENIZERS_PARALLELISM", raising=False)
        found = run_python("\n".join(lines), str(saved_for_the_package))
    assert found.returncode == 0, found.stderr
    without = "import sys; sys.modules['tokenizers'] = None; import leat; leat.tokenize(sys.argv[1])"
    assert (
        "ImportError: leat.tokenize needs the package tokenizers: pip install tokenizers"
        in run_python(without, str(saved_for_the_package)).stderr
    )


def read_all(data: leat.Pipeline, into: Any) -> None:
    into.put(tokens_of(leat.Loader(data, workers=2)))


@pytest.mark.parametrize("way", ["fork", "spawn"])
@pytest.mark.parametrize("used_before", [False, True])
def test_other_processes_tokenize_alike(documents: Path, saved: Path, make: Any, way: Any, used_before: bool) -> None:
    data = in_batches(documents, saved)
    if used_before:
        leat.Loader(data, workers=0).next()
    gc.collect()  # a loader that an earlier test has left in a cycle would be forked with its threads
    leat.shutdown()  # a child may then have loaders of its own
    context = multiprocessing.get_context(way)
    results = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork while there are threads
        child = context.Process(target=read_all, args=(data, results))
        child.start()
    try:
        assert results.get(timeout=60) == expected(make(), documents)
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()
