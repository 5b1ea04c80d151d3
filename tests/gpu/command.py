"""Compares jobs of the command `leat` with and without a device.

command.py LEAT...   LEAT: how it is called
"""

import json
import subprocess
import sys

from rows import judged, measured

JOB = ["run", "count:100000:3001", "--global-batch", "256", "--transform", "none", "--workers", "2", "--json"]


def main(*leat: str) -> int:
    told = {}
    for x in ("cpu", "cuda"):
        done = subprocess.run([*leat, *JOB, "--device", x], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            judged(f"leat run --device {x}", "no error", done.stderr, False)
            return 1
        told[x] = json.loads(done.stdout)
    same = told["cpu"]["digest"] == told["cuda"]["digest"]
    judged("digest of leat run, with --device and without", "equal", "equal" if same else "different", same)
    measured("what leat run tells of the device", json.dumps(told["cuda"].get("device")))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
