"""The package as a whole: what it imports, its command, and functions of several samples."""

import signal
import subprocess
import sys

import leat
import pytest
from child_process import run_python


def test_only_numpy_is_imported() -> None:
    found = run_python("import sys, leat; print(*sorted({x.partition('.')[0] for x in sys.modules}))").stdout.split()
    assert "leat" in found
    assert not {"torch", "accelerate", "lightning", "transformers", "jax", "PIL", "tqdm"} & set(found)


def test_it_is_not_imported_where_the_gil_is_kept_off() -> None:
    found = run_python("import sys; sys._is_gil_enabled = lambda: False; import leat")
    assert found.returncode == 1
    assert "ImportError" in found.stderr
    assert "PYTHON_GIL" in found.stderr


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_function_of_several_samples_makes_the_same_as_one_that_is_called_for_each(workers: int) -> None:
    largest = 0

    def alone(sample: leat.Sample, context: leat.Context) -> None:
        number = int(sample["value"][0])
        if number % 17 == 3:
            raise ValueError("no such number")
        sample["sum"] = number + context.below(1000)

    def together(samples: list[leat.Sample], contexts: list[leat.Context]) -> None:
        nonlocal largest
        largest = max(largest, len(samples))
        for sample, context in zip(samples, contexts, strict=True):
            alone(sample, context)

    def seen(data: leat.Pipeline, workers: int) -> list[object]:
        loader = leat.Loader(data.batch(50), workers=workers, bad_samples="mask")
        return [(str(x.digest()), x["sum"].tolist(), [(row.position, row.why) for row in x.bad()]) for x in loader]

    data = leat.count(400).shuffle(seed=5)
    assert seen(data.map("sum@1", together, batched=True), workers) == seen(data.map("sum@1", alone), 0)
    assert 1 < largest <= 64


def test_a_kept_array_and_a_kept_sample_of_several_are_refused() -> None:
    kept = []
    data = leat.count(64).map("keeps@1", lambda samples: kept.extend(x["value"] for x in samples), batched=True)
    with pytest.raises(leat.Error, match="kept an array"):
        leat.Loader(data.batch(64), workers=1).next()
    samples: list[leat.Sample] = []
    leat.Loader(leat.count(64).map("keeps@1", samples.extend, batched=True).batch(64), workers=1).next()
    with pytest.raises(leat.InvalidArgument):
        samples[0].fields()


def test_the_command_is_part_of_the_package_and_has_its_version() -> None:
    run = [sys.executable, "-m", "leat"]
    made = subprocess.run([*run, "--version"], check=True, capture_output=True, text=True, timeout=60)
    assert made.stdout.strip() == leat.__version__
    with subprocess.Popen([*run, "order", "count:1000000"], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.read(1)
        running.stdout.close()  # as `| head` does
        assert running.wait(60) == -signal.SIGPIPE


def test_text_that_is_not_utf_8_is_a_unicode_decode_error() -> None:
    data = leat.count(2).map("bytes@1", lambda sample: sample.set("text", b"\xff\xfe"))
    batch = next(leat.Loader(data.batch(2), workers=0))
    assert batch.bytes("text") == [b"\xff\xfe"] * 2
    with pytest.raises(UnicodeDecodeError):
        batch.text("text")
    with pytest.raises(leat.Error, match="UnicodeDecodeError"):
        leat.Loader(data.map("text@1", lambda sample: sample.set("text", sample.text("text"))).batch(2), workers=0)


def test_a_second_interpreter_is_refused() -> None:
    text = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import leat
said = interpreters.run_string(interpreters.create(), "import leat._leat")
print("refused", said)
"""
    found = run_python(text)
    told = found.stdout + found.stderr
    assert found.returncode in (0, 1), told
    assert "ImportError" in told
