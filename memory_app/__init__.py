"""The memory of AI assistants in one file."""

from __future__ import annotations

from typing import Final

__version__: Final = "1.1.0"
