"""What is done to a memory while something goes wrong: each kind of change, on each kind of file that it may meet.

A scene is prepared in an empty folder. What the file has to hold afterwards is computed from the pure rules, not by a
save, so that a save has something to be compared with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, NamedTuple

from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.storage.store import Store
from memory_app.tools import plans, table
from tests.placing import put

LINES: Final = (
    b'{"type":"entity","name":"Ada","entityType":"person","observations":["writes","counts"]}\n'
    b'{"type":"entity","name":"Engine","entityType":"machine","observations":["made of brass"],"note":"kept"}\n'
    b'{"type":"relation","from":"Ada","to":"Engine","relationType":"programs"}\n'
    b"a line that cannot be read\n"
)
DOCUMENT: Final = json.dumps(
    {
        "entities": [{"name": "Ada", "entityType": "person", "observations": ["writes", "counts"]}],
        "relations": [{"from": "Ada", "to": "Ada", "relationType": "knows"}],
    },
    indent=1,
).encode()
NAME: Final = "memory.jsonl"


class Scene(NamedTuple):
    """`path` is where the memory is configured, `target` where its bytes are; both below the scene's folder."""

    name: str
    prepare: Callable[[Path], None]
    tool: str
    arguments: dict[str, Any]
    old: bytes | None
    path: str = NAME
    target: str = NAME


class Outcome(NamedTuple):
    """What the file holds after the scene's change, and after one more change on top, with and without the first."""

    new: bytes
    new_and_next: bytes
    old_and_next: bytes


NEXT: Final = ("create_entities", {"entities": [{"name": "Next", "entityType": "test", "observations": ["after it"]}]})


def _lines(folder: Path) -> None:
    put(folder / NAME, LINES)


def _document(folder: Path) -> None:
    put(folder / NAME, DOCUMENT)


def _nothing(folder: Path) -> None:
    del folder


def _link(folder: Path) -> None:
    (folder / "real").mkdir()
    put(folder / "real" / "kept.jsonl", LINES)
    os.symlink(os.path.join("real", "kept.jsonl"), folder / NAME)


def _link_to_nothing(folder: Path) -> None:
    os.symlink(os.path.join("missing", "kept.jsonl"), folder / NAME)


_ADD: Final = {"observations": [{"entityName": "Ada", "contents": ["loves tests"]}]}
_CREATE: Final = {"entities": [{"name": "Babbage", "entityType": "person", "observations": ["is late"]}]}

SCENES: Final = (
    Scene("create_entities", _lines, "create_entities", _CREATE, LINES),
    Scene(
        "create_relations",
        _lines,
        "create_relations",
        {"relations": [{"from": "Engine", "to": "Ada", "relationType": "serves"}]},
        LINES,
    ),
    Scene("add_observations", _lines, "add_observations", _ADD, LINES),
    Scene("delete_entities", _lines, "delete_entities", {"entityNames": ["Engine"]}, LINES),
    Scene(
        "delete_observations",
        _lines,
        "delete_observations",
        {"deletions": [{"entityName": "Ada", "observations": ["counts"]}]},
        LINES,
    ),
    Scene(
        "delete_relations",
        _lines,
        "delete_relations",
        {"relations": [{"from": "Ada", "to": "Engine", "relationType": "programs"}]},
        LINES,
    ),
    Scene("first-write", _nothing, "create_entities", _CREATE, None),
    Scene("first-write-in-new-folders", _nothing, "create_entities", _CREATE, None, f"a/b/{NAME}", f"a/b/{NAME}"),
    Scene("other-shape-with-backup", _document, "add_observations", _ADD, DOCUMENT),
    Scene("through-a-link", _link, "add_observations", _ADD, LINES, NAME, "real/kept.jsonl"),
    Scene("through-a-link-to-nothing", _link_to_nothing, "create_entities", _CREATE, None, NAME, "missing/kept.jsonl"),
)


def change(store: Store, tool: str, arguments: dict[str, Any]) -> Future[Any]:
    """Ask the store for what the tool does."""
    planned = table.plan(tool, arguments)
    assert isinstance(planned, plans.Write)
    return store.submit(planned.apply)


def outcome(scene: Scene) -> Outcome:
    """What the rules say that the scene's change makes of its file."""
    new = applied(scene.old, scene.tool, scene.arguments)
    return Outcome(new, applied(new, *NEXT), applied(scene.old, *NEXT))


def applied(old: bytes | None, tool: str, arguments: dict[str, Any]) -> bytes:
    """The file that the tool makes of another one, None for no file, by the pure rules."""
    planned = table.plan(tool, arguments)
    assert isinstance(planned, plans.Write)
    before = Graph.empty() if old is None else Graph.of(document.read(old))
    return b"".join(planned.apply(before)[0].chunks())
