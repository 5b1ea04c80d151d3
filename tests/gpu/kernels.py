"""Runs the tests of kernels on the GPU: the same that run the kernels' bodies on the host in every build.

kernels.py SPEC PROGRAM...   SPEC: which tests, as Catch2 takes it
"""

import os
import re
import subprocess
import sys

from rows import judged, measured

TOLD = re.compile(r"(photographs|damaged files): .*")
LAST = re.compile(r"(All tests passed|test cases:|No tests? ran|No test cases matched).*")


def main(spec: str, *program: str) -> int:
    done = subprocess.run(
        [*program, spec], env={**os.environ, "LEAT_TEST_KERNELS": "cuda"}, capture_output=True, text=True, check=False
    )
    for found in TOLD.finditer(done.stdout):
        measured("kernels on the GPU", found[0])
    summary = next((x[0] for x in LAST.finditer(done.stdout)), f"ended with {done.returncode}: {done.stderr[-300:]}")
    is_good = done.returncode == 0 and summary.startswith("All tests passed")
    judged(f"tests of kernels on the GPU, {spec}", "the processor's pixels, and damage told", summary, is_good)
    if not is_good:
        print(done.stdout[-20000:], done.stderr[-2000:], file=sys.stderr)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
