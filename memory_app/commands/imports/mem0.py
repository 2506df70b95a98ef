"""mem0's export: a list of memories, each an observation of whom it is about, and the relations beside it."""

from __future__ import annotations

import json
from typing import Any, Final

from memory_app.commands.imports import Gathered, Read

_OWNERS: Final = ("user_id", "agent_id", "run_id")
_NOBODY: Final = "memories"


def memories(data: bytes) -> Read | None:
    """What the export holds; None if it is none."""
    if b'"memory"' not in data or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
        return None
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    beside = value.get("relations") if isinstance(value, dict) else None
    items = value.get("results", value.get("memories")) if isinstance(value, dict) else value
    if not isinstance(items, list) or not any(map(_is_memory, items)):
        return None
    found = Gathered()
    for item in items:
        if _is_memory(item):
            owner = next((item[key] for key in _OWNERS if isinstance(item.get(key), str) and item[key]), _NOBODY)
            found.observation(owner, "user" if item.get("user_id") == owner else "memory", item["memory"])
        else:
            found.left["item without a memory"] += 1
    for item in beside if isinstance(beside, list) else ():
        texts = [_first(item, keys) for keys in (("source",), ("target", "destination"), ("relationship", "relation"))]
        if None in texts:
            found.left["relation without an end"] += 1
        else:
            source, target, kind = map(str, texts)
            found.relation(source, target, kind)
    return found.read()


def _is_memory(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("memory"), str)


def _first(item: Any, keys: tuple[str, ...]) -> str | None:
    held = [item[key] for key in keys if isinstance(item.get(key), str)] if isinstance(item, dict) else []
    return held[0] if held else None
