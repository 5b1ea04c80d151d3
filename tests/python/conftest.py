"""SIGINT as in a shell's foreground: programs in the background ignore it, and what tests start would inherit that."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
