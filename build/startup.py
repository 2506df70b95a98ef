"""`make startup`: writes startup.txt, the modules that the first start compiles: those that serving loads.

Rules: found by running the archive, one session in each era with every request that loads something. The list is
stored, so that the archive does not depend on who builds it. Interpreters load slightly different modules: name several
(`make startup PYTHONS='python3.10 python3.13'`). A test reports an outdated list.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from build import inputs

LIST: Final = inputs.ROOT / "build" / "startup.txt"
_ENTITY: Final = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}]}
_REQUESTS: Final[tuple[tuple[str, dict[str, object]], ...]] = (
    ("tools/list", {}),
    ("tools/call", {"name": "create_entities", "arguments": _ENTITY}),
    ("tools/call", {"name": "read_graph", "arguments": {}}),
    ("tools/call", {"name": "search_nodes", "arguments": {"query": "café"}}),
    ("tools/call", {"name": "create_entities", "arguments": {"entities": 1}}),
    ("tools/call", {"name": "none", "arguments": {}}),
    ("resources/list", {}),
    ("resources/read", {"uri": "memory://knowledge-graph"}),
    ("none", {}),
)
# Runs an archive and then tells which modules are loaded. (`-X importtime` would not show those of importlib.)
_TELL: Final = """
import runpy, sys
told, sys.argv[:] = sys.argv[1], sys.argv[2:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    with open(told, "w") as file:
        file.write("\\n".join(sys.modules))
"""


def loaded_modules(archive: Path, python: str = sys.executable) -> set[str]:
    """All modules that serving one client in each era loads, including those of the standard library."""
    found: set[str] = set()
    for messages in (_handshake_era(), _envelope_era()):
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder, "modules")
            memory = str(Path(folder, "memory.jsonl"))
            command = [python, "-c", _TELL, str(told), str(archive), "--file", memory]
            lines = "".join(json.dumps(message) + "\n" for message in messages)
            done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=True)
            found |= set(told.read_text("utf-8").split())
        if done.stdout.count('"result"') < len(_REQUESTS) - 2:
            raise RuntimeError("the server did not answer: " + done.stdout[-1000:])
    return found


def _handshake_era() -> Iterable[dict[str, object]]:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "startup", "version": "1"}}
    yield {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}
    yield {"jsonrpc": "2.0", "method": "notifications/initialized"}
    subscribe = ("resources/subscribe", {"uri": "memory://knowledge-graph"})
    for number, (method, params) in enumerate((subscribe, *_REQUESTS)):
        yield {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _envelope_era() -> Iterable[dict[str, object]]:
    prefix = "io.modelcontextprotocol/"
    meta = {
        prefix + "protocolVersion": "2026-07-28",
        prefix + "clientInfo": {"name": "startup", "version": "1"},
        prefix + "clientCapabilities": {},
    }
    listen = {"notifications": {"resourceSubscriptions": ["memory://knowledge-graph"]}}
    first: list[tuple[str, dict[str, object]]] = [("subscriptions/listen", {**listen}), ("server/discover", {})]
    for number, (method, params) in enumerate((*first, *_REQUESTS)):
        yield {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta}}


def ours(names: Iterable[str]) -> list[str]:
    """Those of these modules that are in the archive and not the program's own, all of which are compiled anyway."""
    from build import platforms, stage

    staged = stage.stage([platforms.host().name])
    # Python modules come in the wheels of compiled packages too: pydantic_core.core_schema is the largest of all.
    files = {*staged.pure, *(path for groups in staged.native.values() for group in groups.values() for path in group)}
    paths = [path.removesuffix(".py") for path in files if path.endswith(".py")]
    carried = {path.removesuffix("/__init__").replace("/", ".") for path in paths}
    return sorted(name for name in set(names) & carried if not name.startswith("memory_app"))


def main(archive: Path, pythons: Iterable[str]) -> int:
    names = set[str]().union(*(loaded_modules(archive, python) for python in pythons))
    LIST.write_text("".join(name + "\n" for name in ours(names)), "ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:] or [sys.executable]))
