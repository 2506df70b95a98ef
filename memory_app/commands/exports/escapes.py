"""Text in Markdown, escaped so that none of its characters has a meaning there, and read back exactly.

A character with a meaning in Markdown gets a backslash. White space at the ends of a line and control characters, which
would control a terminal, become numeric references. Nothing is lost.
"""

from __future__ import annotations

import html
import re
from typing import Final

NO_NAME: Final = "(no name)"
NO_LINE: Final = "&nbsp;"
"""An empty line of an item. A real no-break space at the end of a line is written as its number."""

_SPECIAL: Final = re.compile(r"[\\`*{}\[\]<>#|~&!$@^=:]|(?<![^\W_])_|_(?![^\W_])")
"""Anywhere in a text: emphasis, code, links, HTML, tables, entities, mathematics, mentions and bare addresses. An
underscore within a word is not one of them."""

_SPECIAL_IN_LINK: Final = re.compile(r"[\\\[\]|#]|&(?=#?\w+;)")
"""In the target of a link, which programs read unchanged."""

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")

_AT_START: Final = re.compile(r"^([-+.)]|\d+[.)])")
"""What begins a list where a line begins."""

_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])|&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w+));")


def inline(text: str) -> str:
    """A text on one line."""
    return "\\" + NO_NAME if text == NO_NAME else _line(text) or NO_NAME


def target(text: str) -> str:
    """The target of a link between `[[` and `]]`."""
    return "\\" + NO_NAME if text == NO_NAME else _line(text, _SPECIAL_IN_LINK) or NO_NAME


def item(text: str) -> str:
    """The text of a list item, which may have several lines."""
    return "\\\n  ".join(_line(line) or NO_LINE for line in text.split("\n"))


def reference(character: str) -> str:
    return f"&#{ord(character)};"


def read_inline(text: str) -> str:
    return "" if text == NO_NAME else unescaped(text)


def read_item(lines: list[str]) -> str:
    """An item's text, read from its lines without their indentation."""
    return "\n".join("" if line == NO_LINE else unescaped(line) for line in lines)


def unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _line(text: str, special: re.Pattern[str] = _SPECIAL) -> str:
    middle = text.strip()
    if not middle:
        return "".join(map(reference, text))
    start = text[: len(text) - len(text.lstrip())]
    end = text[len(text.rstrip()) :]
    escaped = special.sub(r"\\\g<0>", middle)
    escaped = _CONTROL.sub(lambda match: reference(match[0]), escaped)
    if not start and special is _SPECIAL:
        escaped = _AT_START.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", escaped)
    return "".join(map(reference, start)) + escaped + "".join(map(reference, end))


def _character(match: re.Match[str]) -> str:
    plain, decimal, hexadecimal, named = match.groups()
    if plain is not None:
        return str(plain)
    if named is not None:
        return html.unescape(match[0])
    code = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return match[0] if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)
