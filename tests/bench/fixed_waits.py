"""This program with the same lock rules, but fixed waits of 10 to 20 ms between two tries: what it is compared with."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace
from typing import Final

from memory_app import cli
from memory_app.lock import lock

_MEAN: Final = 0.015  # seconds; the lock multiplies it by a random number, here from 2/3 to 4/3

if __name__ == "__main__":
    changed = vars(lock)
    for name in ("_FIRST_WAIT", "_LONGEST_WAIT"):
        assert name in changed, f"the lock has no {name} any more"
        changed[name] = _MEAN
    changed["random"] = SimpleNamespace(uniform=lambda low, high: random.uniform(2 / 3, 4 / 3))
    sys.exit(cli.main())
