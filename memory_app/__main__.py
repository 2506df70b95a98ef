"""`python -m memory_app`: the program, from its source."""

from __future__ import annotations

import sys

from memory_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
