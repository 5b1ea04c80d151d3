"""Runs a program under compute-sanitizer.

sanitizer.py TOOL LOG COMMAND...
"""

import re
import subprocess
import sys
from pathlib import Path

from rows import judged, skipped

NOTHING = re.compile(r"SUMMARY: 0 (errors|hazards)")
REFUSED = re.compile(r"not supported|Unable to|Failed to initialize|Internal Sanitizer Error", re.IGNORECASE)


def main(tool: str, log: str, *command: str) -> int:
    done = subprocess.run(
        ["compute-sanitizer", "--tool", tool, "--print-limit", "50", "--target-processes", "all", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    Path(log).write_text(text)
    told = [x.removeprefix("========= ") for x in text.splitlines() if x.startswith("=========")]
    summary = next((x for x in told if "SUMMARY" in x), told[0] if told else f"ended with {done.returncode}")
    is_good = bool(NOTHING.search(text))
    if not is_good and "SUMMARY" not in text and REFUSED.search(text):
        skipped(f"compute-sanitizer, {tool}", summary)
        return 0
    judged(f"compute-sanitizer, {tool}", "0 errors", summary, is_good)
    wrong = sum('"result":"BAD"' in x for x in text.splitlines())
    rows = sum('"result":"good"' in x for x in text.splitlines()) + wrong
    judged(f"the same checks under {tool}", "all good", f"{rows - wrong} of {rows} good", rows > 0 and wrong == 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
