"""What the commands are run on: each that writes, some in several ways, and each that only reads.

For a command that only reads, the work is done when it ends well and the files are as they were.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_ANN: Final = '{"type":"entity","name":"Ann","entityType":"t","observations":["fact-a"]}\n'
_BOB: Final = '{"type":"entity","name":"Bob","entityType":"t","observations":["fact-b"]}\n'
_AGAIN: Final = '{"type":"entity","name":"Ann","entityType":"u","observations":["fact-a2"],"k":"fact-key"}\n'
_TORN: Final = '{"type":"entity","name":"fact-torn\n'
_DOCUMENT: Final = '{"entities":[{"name":"Ann","entityType":"t","observations":["fact-a"]}],"x":"fact-x"}'
_CREATE: Final = '{"entities":[{"name":"New","entityType":"t","observations":["fact-new"]}]}'
_CONFIGURATION: Final = '{"mcpServers":{"other":{"command":"fact-other"}},"z":1}'
_CONFIGURED: Final = (
    '{"mcpServers":{"other":{"command":"fact-other"},"memory":{"command":"python3","args":["/x/memory-server.pyz"]}}}'
)
_TOKEN: Final = f'{{"name":"fact-guest","scope":"read","sha256":"{"0" * 64}"}}\n'
_STATE: Final = "memory.jsonl.history/2026010{}T000000.000Z.jsonl"
_PAST: Final = "memory.jsonl.2026010{}T000000Z.bak"


class Scene(NamedTuple):
    """A command, the files that it finds, and whether it did its work, told from the files by their names."""

    name: str
    files: Mapping[str, str]
    arguments: tuple[str, ...]
    done: Callable[[Mapping[str, bytes]], bool]
    variables: Mapping[str, str] = {}
    forgets: str = "\0"
    """The beginning of the facts that have to go."""
    varies: str = ""
    """The file that is another one each time; `done` tells whether it is whole."""
    once: bool = False
    """Done once, it cannot be done again."""


def _memory(*texts: str, without: str = "\0") -> Callable[[Mapping[str, bytes]], bool]:
    def holds(files: Mapping[str, bytes]) -> bool:
        data = files.get("memory.jsonl", b"").decode()
        return all(text in data for text in texts) and without not in data

    return holds


def _file(name: str, text: str) -> Callable[[Mapping[str, bytes]], bool]:
    return lambda files: text in files.get(name, b"").decode()


def _copies(files: Mapping[str, bytes]) -> list[bytes]:
    """The backups' contents, oldest first."""
    return [data for name, data in sorted(files.items()) if name.endswith(".bak")]


SCENES: Final = (
    Scene(
        "backup --keep",
        {"memory.jsonl": _ANN, **{_PAST.format(n): _BOB.replace("fact-b", f"old-{n}") for n in (1, 2, 3)}},
        ("backup", "--keep", "2"),
        lambda files: len(_copies(files)) == 2 and _copies(files)[-1] == _ANN.encode(),
    ),
    Scene(
        "backup --to",
        {"memory.jsonl": _ANN},
        ("backup", "--to", "safe/place"),
        lambda files: [data for name, data in files.items() if name.startswith("safe/place/")] == [_ANN.encode()],
    ),
    Scene("restore", {"memory.jsonl": _ANN, _PAST.format(1): _BOB}, ("restore", _PAST.format(1)), _memory("fact-b")),
    Scene(
        "restore over something else",
        {"memory.jsonl": "fact-else, no memory\n" * 3, _PAST.format(1): _BOB},
        ("restore",),
        _memory("fact-b", without="fact-else"),
    ),
    Scene("restore of a lost file", {_PAST.format(1): _BOB}, ("restore",), _memory("fact-b")),
    Scene("import", {"memory.jsonl": _ANN, "b.jsonl": _BOB}, ("import", "b.jsonl"), _memory("fact-a", "fact-b")),
    Scene("import into nothing", {"b.jsonl": _BOB}, ("import", "b.jsonl"), _memory("fact-b")),
    Scene(
        "merge",
        {"memory.jsonl": _ANN, "b.jsonl": _BOB},
        ("merge", "memory.jsonl", "b.jsonl"),
        _memory("fact-a", "fact-b"),
    ),
    Scene(
        "merge --output",
        {"memory.jsonl": _ANN, "b.jsonl": _BOB},
        ("merge", "memory.jsonl", "b.jsonl", "--output", "both.jsonl", "--force"),
        _file("both.jsonl", "fact-b"),
    ),
    Scene(
        "repair",
        {"memory.jsonl": _ANN + _TORN + _AGAIN},
        ("repair", "--drop-unreadable"),
        _memory("fact-a2", "fact-key", without="fact-torn"),
    ),
    Scene(
        "export --force",
        {"memory.jsonl": _ANN, "out.json": '{"old":1}'},
        ("export", "--output", "out.json", "--force"),
        _file("out.json", "fact-a"),
    ),
    Scene(
        "view",
        {"memory.jsonl": _ANN},
        ("view", "--output", "page.html", "--no-open", "--force"),
        lambda files: files.get("page.html", b"").endswith(b"</html>\n"),
        varies="page.html",
    ),
    Scene(
        "config --write",
        {"memory.jsonl": _ANN, "home/.cursor/mcp.json": _CONFIGURATION},
        ("config", "cursor", "--write"),
        _file("home/.cursor/mcp.json", '"memory"'),
    ),
    Scene(
        "config --write, the first",
        {"memory.jsonl": _ANN},
        ("config", "cursor", "--write"),
        _file("home/.cursor/mcp.json", '"memory"'),
    ),
    Scene(
        "serve --new-token",
        {},
        ("serve", "--new-token", "--token-file", "token"),
        lambda files: re.fullmatch(rb"[\w-]{43}\n", files.get("token", b"")) is not None,
        varies="token",
        once=True,
    ),
    Scene(
        "undo",
        {"memory.jsonl": _BOB, _STATE.format(1): _ANN + _BOB, _STATE.format(2): _BOB},
        ("undo", "20260101T000000.000Z"),
        _memory("fact-a", "fact-b"),
        {"MEMORY_HISTORY": "9999"},
    ),
    Scene("add", {"memory.jsonl": _ANN}, ("add", "Ann", "fact-added"), _memory("fact-a", "fact-added")),
    Scene(
        "edit",
        {"memory.jsonl": _ANN, "editor": "#!/bin/sh\necho fact-edited >> $1\n"},
        ("edit", "Ann"),
        _memory("fact-a", "fact-edited"),
        {"VISUAL": "sh editor"},
    ),
    Scene(
        "rename", {"memory.jsonl": _ANN}, ("rename", "Ann", "Zoe"), _memory("Zoe", "fact-a", without="Ann"), once=True
    ),
    Scene(
        "merge-entities",
        {"memory.jsonl": _ANN + _BOB},
        ("merge-entities", "Bob", "Ann"),
        _memory("fact-a", "fact-b", without="Bob"),
        once=True,
    ),
    Scene(
        "forget",
        {"memory.jsonl": _ANN + _BOB, _STATE.format(1): _BOB},
        ("forget", "Bob"),
        _memory("fact-a", without="fact-b"),
        {"MEMORY_HISTORY": "9999"},
        once=True,
    ),
    Scene(
        "forget --everywhere",
        {"memory.jsonl": _ANN + _BOB, _STATE.format(1): _BOB + _ANN, _PAST.format(1): _BOB + _ANN},
        ("forget", "Bob", "--everywhere", "--yes"),
        lambda files: b"fact-b" not in b"".join(files.values()) and _memory("fact-a")(files),
        {"MEMORY_HISTORY": "9999"},
        "fact-b",
        once=True,
    ),
    Scene(
        "a tool that deletes",
        {"memory.jsonl": _ANN + _BOB},
        ("call", "delete_entities", '{"entityNames":["Bob"]}'),
        _memory("fact-a", without="fact-b"),
        forgets="fact-b",  # a generation that cannot be kept does not keep the deletion
    ),
    Scene(
        "token add",
        {"tokens": _TOKEN},
        ("token", "add", "ann", "--token-file", "tokens"),
        lambda files: re.fullmatch(_TOKEN.encode() + rb'{"name":"ann".*}\n', files.get("tokens", b"")) is not None,
        varies="tokens",
        once=True,
    ),
    Scene(
        "token revoke",
        {"tokens": _TOKEN + _TOKEN.replace("fact-guest", "other").replace("0", "1")},
        ("token", "revoke", "other", "--token-file", "tokens"),
        lambda files: files.get("tokens") == _TOKEN.encode(),
        once=True,
    ),
    Scene(
        "config --remove",
        {"memory.jsonl": _ANN, "home/.cursor/mcp.json": _CONFIGURED},
        ("config", "cursor", "--remove"),
        lambda files: b"memory-server" not in files.get("home/.cursor/mcp.json", b"memory-server"),
        once=True,
    ),
    Scene(
        "another shape",
        {"memory.jsonl": _DOCUMENT},
        ("call", "create_entities", _CREATE),
        lambda files: _memory("fact-a", "fact-new")(files) and _DOCUMENT.encode() in _copies(files),
    ),
    Scene(
        "the old name",
        {"memory.json": _ANN},
        ("call", "create_entities", _CREATE),
        _memory("fact-a", "fact-new"),
        {"MEMORY_SERVER_HOME": ".", "MEMORY_FILE_PATH": ""},
    ),
)


def _reading(name: str, *arguments: str, **more: str) -> Scene:
    """A command that changes nothing."""
    files = {"memory.jsonl": _ANN + _BOB, _STATE.format(1): _ANN, _PAST.format(1): _BOB}
    before = {path: text.encode() for path, text in files.items()}
    return Scene(name, files, arguments, lambda after: after == before, {"MEMORY_HISTORY": "9999", **more})


READING: Final = (
    *(_reading(name, name) for name in ("stats", "brief", "history", "check", "doctor", "config", "help")),
    _reading("search", "search", "fact"),
    _reading("show", "show", "Ann"),
    _reading("diff", "diff"),
    _reading("export", "export"),
    _reading("undo --list", "undo", "--list"),
    _reading("restore --list", "restore", "--list"),
    _reading("forget --dry-run", "forget", "Ann", "--everywhere", "--dry-run"),
    _reading("call", "call", "read_graph"),
    _reading("completion", "completion", "bash"),
)
