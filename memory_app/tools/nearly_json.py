"""Nearly JSON, as models write it by hand: code fences, trailing commas, Python's quotes, True and None.

Rules:
- JSON is read as JSON. Other text is read only if every token has one meaning: quotes of either kind around a string
  without an escape that the two languages read differently, commas before a closing bracket, bare keys, comments.
- A string is returned exactly as it was written; nothing is guessed within one.
"""

from __future__ import annotations

import json
import re
from typing import Final

_LONGEST_BY_HAND: Final = 1 << 20
"""Characters of a text that is not JSON: longer ones were made by a program, which writes JSON or something else."""

_FENCE: Final = re.compile(r"\s*```[A-Za-z0-9]*[ \t]*\r?\n?(.*?)\s*```\s*", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/"""
    r"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\[\]{}:,]|-?[0-9][0-9.eE+-]*|[A-Za-z_][A-Za-z_0-9]*""",
    re.DOTALL,
)
_CONSTANTS: Final = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_ESCAPE: Final = re.compile(r"""\\(?:(['"\\nrtbf/])|u([0-9a-fA-F]{4})|(.))""", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def looks_like_json(text: str) -> bool:
    """Whether a text begins like an array, an object or a code fence."""
    return text.lstrip(" \t\r\n\ufeff")[:1] in ("[", "{", "`")


def read(text: str) -> object:
    """The array or object that the text holds. ValueError if it holds none, or if it could have two meanings."""
    fence = _FENCE.fullmatch(text)
    inner = (fence[1] if fence else text).strip(" \t\r\n\ufeff")
    if inner[:1] not in ("[", "{"):
        raise ValueError("neither an array nor an object")
    try:
        return json.loads(inner, strict=False)  # a line end within a string is a line end
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        if len(inner) > _LONGEST_BY_HAND:
            raise
    try:
        return json.loads("".join(_as_json(_tokens(inner))), strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _tokens(text: str) -> list[str]:
    """The tokens without white space and comments."""
    found: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"nothing that JSON or Python has at character {position}")
        position = match.end()
        if match[0][0] in "/#":
            if position == len(text):
                raise ValueError("a remark behind the value, as texts have it")
        elif not match[0].isspace():
            found.append(match[0])
    return found


def _as_json(tokens: list[str]) -> list[str]:
    made: list[str] = []
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token == "," and following in ("]", "}"):
            if made[-1] in ("[", "{", ","):
                raise ValueError("a comma that ends nothing")
        elif token[0] in "\"'":
            made.append(json.dumps(_string(token)))
        elif following == ":" and (token[0].isalpha() or token[0] == "_"):
            made.append(json.dumps(token))
        else:
            made.append(_CONSTANTS.get(token, token))
    return made


def _string(token: str) -> str:
    return _ESCAPE.sub(_unescaped, token[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    if match[3] is not None:
        raise ValueError("an escape that JSON does not have")
    return chr(int(match[2], 16)) if match[2] is not None else _ESCAPED.get(match[1], match[1])


def decoded(value: object) -> object:
    """What a JSON text holds, None if it is none."""
    if not isinstance(value, str) or not looks_like_json(value):
        return None
    try:
        return read(value)
    except ValueError:
        return None


def decoded_twice(text: str) -> object:
    """As `decoded`, also where the JSON text stands in a JSON string: where an array or object is wanted, alone."""
    if text.lstrip().startswith('"'):
        try:
            inner = json.loads(text)
        except ValueError:
            return None
        return decoded(inner)
    return decoded(text)


def decoded_row(text: str) -> object:
    """The objects of a text that holds several, one after the other with commas, line ends or nothing between them;
    None if it holds anything else."""
    if not text.lstrip().startswith("{") or len(text) > _LONGEST_BY_HAND:
        return None
    try:
        tokens = _tokens(text)
    except ValueError:
        return None
    row: list[str] = []
    depth = 0
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        depth += (token in ("{", "[")) - (token in ("}", "]"))
        row.append(token)
        if depth == 0 and token == "}" and following == "{":
            row.append(",")
    try:
        return json.loads("".join(_as_json(["[", *row, "]"])), strict=False)
    except (ValueError, RecursionError):
        return None


def why_not(value: object) -> str:
    """What an error says beside a text that begins like JSON and could not be read; empty for any other value."""
    return ", which is not valid JSON" if isinstance(value, str) and looks_like_json(value) else ""
