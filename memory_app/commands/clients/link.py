"""Links that install a server when they are opened: each client's own scheme, with the whole entry in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from memory_app.errors import UsageError

_WITH_LINKS: Final = ("vscode", "cursor")


def link(client: str, name: str, entry: Mapping[str, Any]) -> str:
    """The link for this client. UsageError if it supports none."""
    if client == "vscode":
        return f"vscode:mcp/install?{quote(_compact({'name': name, **entry}), safe='')}"
    if client == "cursor":
        config = base64.b64encode(_compact(entry).encode()).decode()
        return f"cursor://anysphere.cursor-deeplink/mcp/install?{urlencode({'name': name, 'config': config})}"
    raise UsageError(f"{client} does not support such links, only {' and '.join(_WITH_LINKS)} do. Use --write.")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))  # a browser's own decoding of base64 is Latin-1
