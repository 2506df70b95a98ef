"""The memory that people give to their AI assistants, as one file."""

from __future__ import annotations

from typing import Final

__version__: Final = "1.0.0"
