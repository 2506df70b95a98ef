"""What the memory holds stays in the memory file and its backups: modes of what is made, a search for secret words."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.storage.store import Store
from tests.driver import Driver, WireError, serve
from tests.faults.folders import folder
from tests.faults.scenes import DOCUMENT, NAME, SCENES, change
from tests.faults.seam import through
from tests.placing import put

SECRET: Final = "xyzzyplugh"
_PATIENCE: Final = 20.0

_LINES: Final = (
    f'{{"type":"entity","name":"{SECRET}","entityType":"{SECRET}","observations":["{SECRET}"],"{SECRET}":1}}\n'
    f"{SECRET} is no record\n"
    f'{{"type":"entity","name":"{SECRET}","entityType":"{SECRET}"}} {{"type":"{SECRET}"}}\n'
    f'{{"type":"relation","from":"{SECRET}","to":"nobody {SECRET}","relationType":"{SECRET}"}}\n'
    f'{{"type":"entity","name":"torn {SECRET}'
).encode()
_DOCUMENT: Final = json.dumps(
    {"entities": [{"name": SECRET, "entityType": SECRET, "observations": [SECRET, {"odd": SECRET}]}, {SECRET: SECRET}]}
).encode()


@pytest.fixture
def open_umask() -> Any:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_what_is_made_is_for_its_owner_alone(open_umask: None, scene: Any) -> None:
    made: list[tuple[str, int]] = []

    def hook(name: str, arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        existed = name in ("open", "mkdir") and os.path.lexists(arguments[0])
        result = make()
        if name in ("open", "mkdir") and not existed:
            made.append((name, stat.S_IMODE(os.stat(arguments[0]).st_mode)))
        return result

    with folder() as inside, through(hook):
        scene.prepare(inside)
        was = stat.S_IMODE((inside / scene.target).stat().st_mode) if scene.old is not None else 0o600
        store = Store(str(inside / scene.path), lambda text: None)
        change(store, scene.tool, scene.arguments).result(_PATIENCE)
        store.close()
        assert made and set(made) <= {("open", 0o600), ("mkdir", 0o700)}
        assert stat.S_IMODE((inside / scene.target).stat().st_mode) == was
        backups = [path for path in inside.iterdir() if path.name.endswith(".bak")]
        assert len(backups) == (scene.old == DOCUMENT)
        assert all(stat.S_IMODE(path.stat().st_mode) == was for path in backups)


def _every_kind_of_call(server: Driver) -> None:
    """Calls that succeed and calls that fail in every way there is, each with the secret in it."""
    entity = {"name": SECRET + "2", "entityType": SECRET, "observations": [SECRET]}
    relation = {"from": SECRET, "to": f"missing {SECRET}", "relationType": SECRET}
    for tool, arguments in (
        ("create_entities", {"entities": [entity, entity]}),
        ("create_entities", {"entities": [{"name": SECRET, SECRET: SECRET}]}),
        ("create_entities", f"{SECRET}, not an object"),
        ("create_entities", {"entities": f'[{{"name": "{SECRET}"'}),
        ("create_relations", {"relations": [relation]}),
        ("create_relations", {"relations": [{"from": SECRET}]}),
        ("add_observations", {"observations": [{"entityName": SECRET, "contents": [SECRET, f"{SECRET} \ud800"]}]}),
        ("add_observations", {"observations": [{"entityName": f"missing {SECRET}", "contents": [SECRET]}]}),
        ("delete_observations", {"deletions": [{"entityName": SECRET, "observations": [f"other {SECRET}"]}]}),
        ("delete_relations", {"relations": [relation]}),
        ("delete_entities", {"entityNames": [f"missing {SECRET}"]}),
        ("search_nodes", {"query": SECRET}),
        ("search_nodes", {"query": SECRET * 300}),
        ("open_nodes", {"names": [SECRET, f"missing {SECRET}"]}),
        ("open_nodes", {"names": {SECRET: SECRET}}),
        ("read_graph", {SECRET: SECRET}),
        (f"tool {SECRET}", {SECRET: SECRET}),
    ):
        _ask(server, "tools/call", {"name": tool, "arguments": arguments})
    _ask(server, "resources/read", {"uri": "memory://knowledge-graph"})
    _ask(server, "resources/read", {"uri": f"memory://{SECRET}"})
    _ask(server, f"method/{SECRET}", {SECRET: SECRET})
    server.notify(f"notifications/{SECRET}", {SECRET: SECRET})
    server.send_bytes(f'{{"jsonrpc":"2.0","id":"{SECRET}","method":{SECRET}\n'.encode())
    server.send_bytes(f'["{SECRET}"]\n'.encode())
    _ask(server, "ping", {})


def _ask(server: Driver, method: str, params: dict[str, Any]) -> None:
    try:
        server.request(method, params)
    except WireError:
        pass


def _home(root: Path) -> dict[str, str]:
    """Every place where a program may put something of its own, below the root."""
    places = {"HOME": "home", "TMPDIR": "tmp", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"}
    for name in places.values():
        (root / name).mkdir()
    return {variable: str(root / name) for variable, name in places.items()}


def _leaks(root: Path, stderr: str) -> list[str]:
    """Where the secret stands, but for the memory and its backups."""
    found = ["stderr"] if SECRET in stderr else []
    for where, _, names in os.walk(root):
        for name in names:
            path = Path(where, name)
            if SECRET in name or (SECRET.encode() in path.read_bytes() and not _may_hold(root, path)):
                found.append(str(path.relative_to(root)))
    return found


def _may_hold(root: Path, path: Path) -> bool:
    beside = path.parent == root / "memory" and path.name.endswith((NAME, ".bak", ".replaced"))
    return beside or path.parent == root / "memory" / f"{NAME}.history"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the archive keeps what starts it faster: one for all, since filling it takes seconds."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(
    ("era", "content"),
    [
        pytest.param("2025", _LINES, id="lines"),
        pytest.param("2026", _DOCUMENT, id="other shape"),
        pytest.param("2026", f"notes about {SECRET}\n".encode(), id="no memory"),
        pytest.param("2025", None, id="no folder for it"),
    ],
)
def test_no_word_of_the_memory_is_told_on_stderr_or_kept_elsewhere(
    archive: Path, tmp_path: Path, cache: Path, era: Any, content: bytes | None
) -> None:
    (tmp_path / "memory").mkdir()
    memory = tmp_path / "memory" / NAME
    env = _home(tmp_path) | {"XDG_CACHE_HOME": str(cache)}
    if content is None:
        env["MEMORY_FILE_PATH"] = str(tmp_path / "memory" / "folder" / NAME)
    else:
        put(memory, content)
    with serve(archive, tmp_path / "memory", era=era, env=env) as server:
        server.open()
        if content is None:  # a file takes the name of the folder that the first write would make
            (tmp_path / "memory" / "folder").write_bytes(b"")
        _every_kind_of_call(server)
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        assert "memory-server: " in server.stderr
        assert _leaks(tmp_path, server.stderr) + _leaks(cache, "") == []


def test_a_leak_is_seen(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / NAME).write_bytes(_LINES)
    (tmp_path / "memory" / f"{NAME}.0.tmp").write_bytes(_LINES)
    (tmp_path / "log").write_bytes(_LINES)
    assert sorted(_leaks(tmp_path, f"memory-server: {SECRET}")) == ["log", f"memory/{NAME}.0.tmp", "stderr"]
