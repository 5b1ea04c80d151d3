"""isolate=True: maps in child processes, leat's own and functions: the same batches, whatever happens to a child."""

import base64
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import leat
import process_jobs as jobs
import pytest
from child_process import ChildProcess
from support import refused
from test_functions_in_processes import content, processes


def data_with(isolate: bool) -> leat.Pipeline:
    """Maps of leat and functions, of which every second one is isolated."""
    data = leat.count(200).shuffle(seed=3).map(leat.pad("value", 12), isolate=isolate)
    data = data.map("kinds@1", jobs.every_kind, isolate=isolate).map(leat.drop_fields(["raw"]))
    return data.map("sum@1", jobs.sum_of, batched=True, isolate=isolate).batch(20)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_same_batches(workers: int) -> None:
    assert content(data_with(True), workers=workers) == content(data_with(False), workers=0)
    assert processes() == []


def test_each_worker_has_a_process_for_each_map_and_killing_them_changes_nothing() -> None:
    needed = [x["digest"] for x in content(data_with(False), workers=0)]
    found = []
    with leat.Loader(data_with(True), workers=1) as loader:
        for batch in loader:
            found.append(str(batch.digest()))
            assert len(processes()) <= 3
            for x in processes() if batch.step % 4 == 1 else []:
                os.kill(x, signal.SIGKILL)
    assert found == needed


def test_a_snapshot_is_the_same_and_resumes_with_or_without() -> None:
    snapshots = []
    for isolate in (True, False):
        with leat.Loader(data_with(isolate), workers=1) as loader:
            next(loader)
            snapshots.append(next(loader).snapshot())
    assert snapshots[0] == snapshots[1]
    needed = content(data_with(False), workers=0)[2:]
    for isolate in (True, False):
        with leat.Loader(data_with(isolate), workers=1) as loader:
            loader.restore_parts([snapshots[0]])
            assert [str(x.digest()) for x in loader] == [x["digest"] for x in needed]


def test_tokens_are_made_in_a_child(tmp_path: Path) -> None:
    file = tmp_path / "bytes.tiktoken"
    file.write_bytes(b"".join(base64.b64encode(bytes([x])) + b" %d\n" % x for x in range(256)))
    texts = leat.indexed("texts@1", [{"text": f"text {i}"} for i in range(40)])

    def found(isolate: bool) -> list[str]:
        data = texts.map(leat.tokenize(file, encoding="gpt2"), isolate=isolate).batch(10)
        return [x["digest"] for x in content(data, workers=1)]

    assert found(True) == found(False)


@pytest.mark.parametrize(("function", "text"), [(jobs.crash, "signal 11"), (jobs.leave, "exit code 3")])
def test_a_sample_that_crashes_is_bad(function: Any, text: str, tmp_path: Path) -> None:
    log = tmp_path / "bad.jsonl"
    data = leat.count(40).map("dies@1", function, isolate=True).batch(10)
    found = content(data, workers=2, bad_samples="mask", bad_sample_log=str(log))
    assert [i for x in found for i, ok in zip(range(40), x["valid"], strict=False) if not ok] == [9]
    assert text in log.read_text()
    assert '"cause":"killed"' in log.read_text().replace(" ", "")


@pytest.mark.parametrize(("function", "text"), [(jobs.crash_beside_another, "signal 11"), (jobs.close_files, "exit code 0")])
@pytest.mark.parametrize("how", [{"isolate": True}, {"processes": 2}])
def test_a_sample_that_ends_its_process_in_a_strange_way_is_bad(
    function: Any, text: str, how: dict[str, Any], tmp_path: Path
) -> None:
    log = tmp_path / "bad.jsonl"
    data = leat.count(40).map("odd@1", function, **how).batch(10)
    found = content(data, workers=2, bad_samples="mask", bad_sample_log=str(log))
    assert [i for x in found for i, ok in zip(range(40), x["valid"], strict=False) if not ok] == [9]
    assert text in log.read_text()


@pytest.mark.parametrize("function", [jobs.fork, jobs.close_output])
@pytest.mark.parametrize("how", [{"isolate": True}, {"processes": 2}])
def test_what_a_function_does_to_its_process_changes_no_sample(function: Any, how: dict[str, Any]) -> None:
    with leat.Loader(leat.count(400).map("odd@1", function, **how).batch(8), workers=2) as loader:
        assert [x for batch in loader for x in batch["x"].tolist()] == [*range(400)]


def test_texts_and_pickles_have_it() -> None:
    data = data_with(True)
    assert str(data).count("isolate=true") == 3
    again = pickle.loads(pickle.dumps(data))
    assert str(again) == str(data)
    assert content(again, workers=1) == content(data_with(False), workers=0)


def test_what_cannot_be_isolated_is_refused() -> None:
    refused("top level of a module", leat.count(10).map, "x@1", lambda sample: None, isolate=True)
    refused("both processes and isolate", leat.count(10).map, "x@1", jobs.length, processes=1, isolate=True)
    refused("both processes and isolate", leat.count(10).map, jobs.decorated, isolate=True)


@pytest.mark.parametrize("how", ["isolate=True", "processes=1"])
def test_a_program_from_standard_input_has_functions_of_modules_and_none_of_its_own(how: str) -> None:
    text = f"""
import sys
sys.path.append({str(Path(__file__).parent)!r})
import leat, process_jobs
def own(sample): pass
try:
    leat.count(9).map("own@1", own, {how})
except leat.InvalidArgument as problem:
    print("put it into a module" in str(problem))
print(len(list(leat.Loader(leat.count(9).map("length@1", process_jobs.length, {how}).batch(3), workers=1))))
"""
    found = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, timeout=60)
    assert found.stdout == "True\n3\n", found.stderr


def test_leats_own_maps_need_no_guard_of_the_main_module(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("""
import leat
data = leat.count(9).map(leat.pad("value", 9), isolate=True).batch(3)
print([b["value"].shape for b in leat.Loader(data, workers=1)])
""")
    with ChildProcess([sys.executable, path]) as child:
        assert child.end().stdout == "[(3, 9), (3, 9), (3, 9)]\n"
