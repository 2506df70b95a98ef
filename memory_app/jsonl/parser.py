"""The JSON parser of the memory file: it takes what can be written back without a change of meaning, and nothing else.

A repeated key, a non-finite number, and nesting or numbers beyond what the interpreter's parser takes make a text
unreadable: `NotTaken`, a ValueError. White space is JSON's own four characters. No I/O, no clock, no thread.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

_SPACE: Final = re.compile(r"[ \t\r\n]*")


class NotTaken(ValueError):
    """The text is no JSON, or the file format does not accept it. `position` is the character where that shows."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason if position is None else f"{reason} at character {position}")
        self.reason = reason
        self.position = position


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise NotTaken("a key is repeated")
    return made


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotTaken("a number is not finite")
    return number


def _constant(name: str) -> float:
    raise NotTaken(f"{name} is not JSON")


_scan: Final[Callable[[str, int], tuple[Any, int]]] = json.JSONDecoder(  # type: ignore[attr-defined]
    object_pairs_hook=_object, parse_float=_finite, parse_constant=_constant
).scan_once


def parse(text: str, position: int = 0) -> tuple[Any, int]:
    """The JSON value that starts at `position`, and the position where it ends. `NotTaken` if the format does not
    accept it.
    """
    try:
        return _scan(text, position)
    except StopIteration as end:
        raise NotTaken("no JSON value", end.value) from None
    except RecursionError:
        raise NotTaken("nested too deeply") from None
    except NotTaken:
        raise
    except json.JSONDecodeError as error:
        raise NotTaken(error.msg, error.pos) from None
    except ValueError as error:  # a number of more digits than the interpreter turns into an int
        raise NotTaken(str(error)) from None


def skip_space(text: str, position: int) -> int:
    """The next position at or after this one that is not JSON white space."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def parse_all(text: str) -> Any:
    """The one JSON value that `text` is. `NotTaken` if it is not exactly one."""
    value, end = parse(text, skip_space(text, 0))
    if skip_space(text, end) != len(text):
        raise NotTaken("something follows the value")
    return value
