"""Functions that never return: the program that uses them ends nevertheless, and so do their processes."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from child_process import wait_for_end_of

PROGRAM = """
import os, sys, time
import leat

def hang(sample):
    if sample.id == "count/305":  # the first ones are also made in the program's own thread
        with open(sys.argv[2], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(10000)

def keep(sample):
    hang(sample)
    return True

if __name__ == "__main__":
    processes = int(sys.argv[1])
    stage = {"processes": processes} if processes else {}
    data = leat.count(400)
    if sys.argv[3] == "map":
        data = data.map("hang@1", hang, **stage).batch(8)
    else:
        data = data.filter("hang@1", keep, **stage).batch(8, lanes=1, end="mask")
    for batch in leat.Loader(data, workers=2, stuck_after=float(sys.argv[4])):
        pass
"""


def begin(directory: Path, processes: int, stage: str, stuck_after: float) -> tuple["subprocess.Popen[str]", Path]:
    (directory / "program.py").write_text(PROGRAM)
    place = directory / "pid"
    command = [sys.executable, str(directory / "program.py"), str(processes), str(place), stage, str(stuck_after)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True), place


@pytest.mark.parametrize("processes", [0, 1, 3])
@pytest.mark.parametrize("stage", ["map", "filter"])
def test_a_program_whose_function_hangs_exits_after_the_error(tmp_path: Path, processes: int, stage: str) -> None:
    # The first sample of a process waits until the process has started, which takes a while if cores are busy.
    program, place = begin(tmp_path, processes, stage, 4 if processes else 0.5)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 1, errors
    assert "hang@1" in errors, errors
    assert "stuck" in errors, errors
    if stage == "map":
        assert "count/305" in errors, errors
    assert ("abandoned" in errors) == (processes == 0), errors
    assert not [x for x in ("Fatal", "terminate", "leaked") if x in errors], errors
    wait_for_end_of(int(place.read_text()))


def test_a_process_whose_program_was_killed_ends_though_its_function_hangs(tmp_path: Path) -> None:
    program, place = begin(tmp_path, 2, "map", 300)
    while not place.exists() or not place.read_text():
        time.sleep(0.01)
    program.send_signal(signal.SIGKILL)
    program.communicate(timeout=60)
    wait_for_end_of(int(place.read_text()))
