"""The command `leat`: `python -m leat`, and the script that pip installs."""

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    command = Path(__file__).parent / "bin" / "leat"
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores SIGPIPE, and the command would inherit that
    os.execv(command, ["leat", *sys.argv[1:]])


if __name__ == "__main__":
    main()
