"""JSON values of arguments: each reader here takes one value and returns it typed, or raises `MisfitError`.

Rules:
- A value must have the kind that the schema says; lenient handles everything beyond that. Only a number may be a text
  of digits, and true and false may be texts.
- A lone surrogate in a text becomes U+FFFD, so that look-ups agree with what is served.
- The path to a wrong value is built while `MisfitError` propagates, so a correct value costs one test.
- A wrong value is described by its kind and at most 60 of its characters, however long it is.

This module does not know which tool expects which value; see arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final, NoReturn, TypeVar

from memory_app.text import without_lone_surrogates

_T = TypeVar("_T")

_LONGEST_QUOTE: Final = 60
"""Characters of a wrong value that an error repeats: enough to recognise it, and no flood in a model's context."""

_LARGEST_NUMBER: Final = 2**31 - 1
"""Larger limits and offsets mean "all" or "beyond the end"; this much fits every place that counts entities."""


class MisfitError(Exception):
    """A value that does not fit. Each level prepends its part to `path` until the tool is known."""

    def __init__(self, expected: str, came: str, path: str = "") -> None:
        super().__init__(expected)
        self.expected = expected
        self.came = came
        self.path = path


def member(owner: Mapping[str, object], key: str, read: Callable[[object], _T]) -> _T:
    """The required value under `key`, read by `read`."""
    try:
        if key not in owner:
            _refuse_missing(owner, read)
        return read(owner[key])
    except MisfitError as misfit:
        misfit.path = f".{key}{misfit.path}"
        raise


def _refuse_missing(owner: Mapping[str, object], read: Callable[[object], object]) -> NoReturn:
    try:
        read(None)  # nothing that must be there may be null, so this tells what is expected
    except MisfitError as misfit:
        misfit.came = f"it is missing; what came is {described(owner)}"
        raise
    raise AssertionError("a required value was read from null")


def each(value: object, read: Callable[[object], _T], expected: str) -> tuple[_T, ...]:
    """An array, with every item read by `read`."""
    if not isinstance(value, list):
        raise MisfitError(expected, f"it is {described(value)}")
    done: list[_T] = []
    try:
        for item in value:
            done.append(read(item))
    except MisfitError as misfit:
        misfit.path = f"[{len(done)}]{misfit.path}"
        raise
    return tuple(done)


def an_object(value: object, expected: str) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise MisfitError(expected, f"it is {described(value)}")


def plain_text(value: object) -> str:
    if isinstance(value, str):
        return value if value.isascii() else without_lone_surrogates(value)
    raise MisfitError("a string", f"it is {described(value)}")


def plain_texts(value: object) -> tuple[str, ...]:
    return each(value, plain_text, "an array of strings")


def whole_number(value: object, least: int, most: int | None = None) -> int:
    number: int | float | None = None
    if isinstance(value, (int, float)) and not isinstance(value, bool):  # to Python True is 1
        number = value
    elif isinstance(value, str) and len(value) <= 20 and value.isascii() and value.strip().isdigit():
        number = int(value)
    if number is None or number < least or (most and number > most) or number != number // 1:  # NaN equals nothing
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        raise MisfitError(f"a whole number, {limits}", f"it is {described(value)}")
    return int(min(number, _LARGEST_NUMBER))


def truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    raise MisfitError("true or false", f"it is {described(value)}")


def described(value: object) -> str:
    """A wrong value in a few words: its kind, and enough of it to recognise it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}" if abs(value) < 1e15 else "a number that is too large"
    if isinstance(value, str):
        cut = f" and so on, {len(value)} characters" if len(value) > _LONGEST_QUOTE else ""
        return f'the string "{_shown(value)}"{cut}'
    if isinstance(value, Mapping):
        return f"an object with the keys {_shown(', '.join(_starts(value)))}" if value else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value)} items" if len(value) != 1 else "an array of one item"
    return "of no JSON type"


def _starts(keys: Iterable[object]) -> list[str]:
    return [str(key)[:20] for key in islice(keys, 6)]


def _shown(text: str) -> str:
    """The beginning of `text`, fit for one line of a message."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:_LONGEST_QUOTE])
