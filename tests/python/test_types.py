"""The stub of the module: what type checkers know of the module is what exists."""

import os
import re
import subprocess
import sys
from pathlib import Path

import leat
import pytest

pytest.importorskip("mypy")

PACKAGE = Path(leat.__file__).parent
FRAMEWORKS = {"accelerate", "jax", "lightning", "transformers"}  # .ci/run checks those that it installs
# What stubtest says of every function and class of nanobind.
OF_NANOBIND = re.compile(
    r"is not a function$|metaclass differs$|is a disjoint base at runtime"
    r"|stub is a staticmethod but runtime is not$"
    r'|is inconsistent, stub does not have \*args parameter "args"$'
    r"|\.__signature__ is not present in stub$"  # that of __init__
)
PROGRAM = """
from pathlib import Path

import leat
import numpy


@leat.map("double@1")
def double(sample: leat.Sample, context: leat.Context) -> None:
    sample["double"] = 2 * sample["value"]
    sample["u"] = context.uniform()


data: leat.Pipeline = leat.count(100).shuffle(seed=3).map(double).batch(10, end="mask")
loader = leat.Loader(data, workers="auto", bad_samples="mask", agree=None)
at: leat.Position | None = loader.restore("snapshots")
for batch in loader:
    values: numpy.ndarray | leat.Ragged = batch["double"]
    for name, field in batch.items():
        print(name, len(field))
    names: list[str] = batch.ids()
    part: bytes = batch.snapshot()
    raw: list[bytes] = batch.bytes("value")
    for bad in batch.bad():
        text: str = bad.text
    loader.save("snapshots", batch)
try:
    leat.parse_pipeline(Path("pipeline").read_text())
except leat.InvalidArgument as problem:
    print(problem.code, problem.offset)
"""
WRONG = """
import leat

leat.count(100).shuffle(sed=3)
leat.count(100).batch(10, end="ask")
leat.Loader(leat.count(100).batch(10), bad_samples="ignore")
leat.count("many")
x: str = leat.Loader(leat.count(100).batch(10)).position().epoch
leat.loader
"""


def run(*arguments: str) -> str:
    environment = {**os.environ, "MYPYPATH": "", "PYTHONPATH": str(PACKAGE.parent)}
    ran = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=250, env=environment, check=False
    )
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"--cache-dir={tmp_path_factory.mktemp('mypy')}"


def test_programs_are_checked(tmp_path: Path, cache: str) -> None:
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    assert "Success" in run("mypy", "--strict", cache, str(tmp_path / "right.py"))
    found = run("mypy", "--strict", cache, str(tmp_path / "wrong.py"))
    assert [int(x) for x in re.findall(r"wrong.py:(\d+): error", found)] == [4, 5, 6, 7, 8, 9]


def test_the_package_is_strict(cache: str) -> None:
    files = [x for x in sorted(PACKAGE.glob("*.py*")) if x.suffix in (".py", ".pyi") and x.stem not in FRAMEWORKS]
    # By module name: given a file in site-packages, mypy would take its neighbours for the program's own.
    modules = [f"--module=leat.{x.stem}".removesuffix(".__init__") for x in files]
    assert "Success" in (found := run("mypy", "--strict", "--follow-imports=silent", cache, *modules)), found


def test_the_stub_is_the_module() -> None:
    assert [x for x in run("mypy.stubtest", "--concise", "leat._leat").splitlines() if not OF_NANOBIND.search(x)] == []


def test_arguments_have_names() -> None:
    assert re.findall(r"def (?!__)\w+\([^)]*\barg\d*\b", (PACKAGE / "_leat.pyi").read_text()) == []
