"""mem0's exports: a list of memories, each an observation about its owner, and the relations beside it.

The answers of its API and of `get_all` call the text `memory` and name the owner. The backups of OpenMemory call it
`content`, in one document that names the user, or in one line per memory.
"""

from __future__ import annotations

import json
from typing import Any, Final

from memory_app.commands.imports import Gathered, Read

_OWNERS: Final = ("user_id", "agent_id", "run_id")
_NOBODY: Final = "memories"


def memories(data: bytes) -> Read | None:
    """The content of the export; None if it is not one."""
    if not (b'"memory"' in data or b'"content"' in data) or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
        return None
    try:
        value = _parse(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    beside = value.get("relations") if isinstance(value, dict) else None
    items = value.get("results", value.get("memories")) if isinstance(value, dict) else value
    if not isinstance(items, list) or not any(_text(item) is not None for item in items):
        return None
    user = value.get("user") if isinstance(value, dict) else None
    found = Gathered()
    for item in items:
        text = _text(item)
        if text is None:
            found.left["item without a memory"] += 1
        elif item.get("state") == "deleted":
            found.left["memory that was deleted"] += 1
        else:
            owner = _first(user, ("user_id", "name")) or _first(item, _OWNERS) or _NOBODY
            of_user = isinstance(user, dict) or item.get("user_id") == owner
            found.observation(owner, "user" if of_user else "memory", text)
    for item in beside if isinstance(beside, list) else ():
        texts = [_first(item, keys) for keys in (("source",), ("target", "destination"), ("relationship", "relation"))]
        if None in texts:
            found.left["relation without an end"] += 1
        else:
            source, target, kind = map(str, texts)
            found.relation(source, target, kind)
    return found.read()


def _parse(text: str) -> Any:
    """One document, or a list of documents with one line each."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def _text(item: Any) -> str | None:
    """The text of a memory. `content` counts only together with the state that OpenMemory gives a memory. None for a
    record of a memory file, which may also have such keys.
    """
    if not isinstance(item, dict) or "observations" in item or item.get("type") in ("entity", "relation"):
        return None
    text = item.get("memory", item.get("content") if "state" in item else None)
    return text if isinstance(text, str) else None


def _first(item: Any, keys: tuple[str, ...]) -> str | None:
    held = [item[key] for key in keys if isinstance(item.get(key), str) and item[key]] if isinstance(item, dict) else []
    return held[0] if held else None
