"""`python -m memory_app`: the program, from its source."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # built in; signal itself takes a while to load
import os
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Ctrl-C while modules are imported: no traceback
    signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))

from memory_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
