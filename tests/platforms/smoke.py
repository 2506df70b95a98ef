"""What has to work on every platform, shown over real pipes with the archive that users get.

Rules: a scene is a function of a place and a fresh folder there; it knows nothing of the platform and raises when
something is not as it should be. A scene's name is the sentence that it shows.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal

from memory_app.tools.table import TOOLS
from tests.driver import ENVELOPE, VERSIONS, Driver, Era
from tests.platforms.places import Place

Scene = Callable[[Place, Path], None]

_ERAS: Final[tuple[Era, ...]] = ("2025", "2026")
_TOOLS: Final = frozenset(TOOLS)
_EACH: Final = 20  # writes of each of two writers
_TEMPORARY: Final = re.compile(r"memory\.jsonl\.[0-9a-f]{32}\.tmp")
_BURST: Final = 40  # writes under way when a server is killed


def seconds_to_answer(place: Place, folder: Path) -> float:
    """From the start of the process to the answer of the handshake."""
    began = perf_counter()
    with place.serve(folder) as server:
        server.open()
        taken = perf_counter() - began
        _finish(server)
    return taken


def it_speaks_both_eras(place: Place, folder: Path) -> None:
    for era in _ERAS:
        with place.serve(folder, era=era) as server:
            hello = server.open()
            if era == "2025":
                _same(hello["protocolVersion"], VERSIONS[era])
            else:
                assert VERSIONS[era] in hello["supportedVersions"], hello
            _same({tool["name"] for tool in server.request("tools/list")["tools"]}, _TOOLS)
            _finish(server)


def all_nine_tools_do_their_work(place: Place, folder: Path) -> None:
    for era in _ERAS:
        with place.serve(folder, env={"MEMORY_FILE_PATH": place.inside(folder / f"{era}.jsonl")}, era=era) as server:
            server.open()
            _use_all_tools(server)
            _finish(server)
        lines = (folder / f"{era}.jsonl").read_bytes().splitlines(keepends=True)
        _same([json.loads(line)["name"] for line in lines], ["Ada"])
        assert not any(line.endswith(b"\r\n") for line in lines), lines


def _use_all_tools(server: Driver) -> None:
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote notes — 記憶"]}
    bob = {"name": "Bob", "entityType": "person", "observations": []}
    knows = {"from": "Ada", "to": "Bob", "relationType": "knows"}
    _same(_result(server, "create_entities", {"entities": [ada, bob]}), {"entities": [ada, bob]})
    _same(_result(server, "create_relations", {"relations": [knows]}), {"relations": [knows]})
    added = {"observations": [{"entityName": "Bob", "contents": ["plays chess"]}]}
    _same(
        _result(server, "add_observations", added),
        {"results": [{"entityName": "Bob", "addedObservations": ["plays chess"]}]},
    )
    bob = {**bob, "observations": ["plays chess"]}
    _same(_result(server, "read_graph", {}), {"entities": [ada, bob], "relations": [knows]})
    _same(_result(server, "search_nodes", {"query": "chess"})["entities"], [bob])
    _same(_result(server, "open_nodes", {"names": ["Ada"]})["entities"], [ada])
    _result(server, "delete_observations", {"deletions": [{"entityName": "Bob", "observations": ["plays chess"]}]})
    _result(server, "delete_relations", {"relations": [knows]})
    _result(server, "delete_entities", {"entityNames": ["Bob"]})
    _same(_result(server, "read_graph", {}), {"entities": [ada], "relations": []})


def two_writers_at_once_lose_nothing(place: Place, folder: Path) -> None:
    with place.serve(folder) as one, place.serve(folder, era="2026") as other:
        for server in (one, other):
            server.open()
        asked = [
            (server, server.start_call("create_entities", _entity(f"{name}-{number}")))
            for number in range(_EACH)
            for server, name in ((one, "one"), (other, "other"))
        ]
        for server, request in asked:
            answer = server.answer(request)
            assert answer["result"]["isError"] is False, answer
        expected = {f"{name}-{number}" for name in ("one", "other") for number in range(_EACH)}
        for server in (one, other):
            _same(set(_names(server)), expected)
            _finish(server)
    _same(_left(folder), ["memory.jsonl"])
    _same(len((folder / "memory.jsonl").read_bytes().splitlines()), 2 * _EACH)


def what_was_answered_outlives_a_kill(place: Place, folder: Path) -> None:
    with place.serve(folder) as server:
        server.open()
        _result(server, "create_entities", _entity("before"))
        asked = [server.start_call("create_entities", _entity(f"burst-{number}")) for number in range(_BURST)]
        stored = {"before"}
        for number, request in enumerate(asked[:3]):
            assert server.answer(request)["result"]["isError"] is False
            stored.add(f"burst-{number}")
        server.kill()
    with place.serve(folder) as server:
        server.open()
        _result(server, "create_entities", _entity("after"))  # a lock left behind would make this wait
        found = set(_names(server))
        assert stored | {"after"} <= found, stored - found
        _finish(server)
    # A killed server's temporary file stays until it is so old that nobody can be writing it any more.
    _same([name for name in _left(folder) if not _TEMPORARY.fullmatch(name)], ["memory.jsonl"])


def a_path_may_have_spaces_and_any_letters(place: Place, folder: Path) -> None:
    deep = folder / "Größe und Maß" / "記憶 мой"
    with place.serve(folder, env={"MEMORY_FILE_PATH": place.inside(deep / "memory.jsonl")}) as server:
        server.open()
        _result(server, "create_entities", _entity("Ada"))
        _finish(server)
    _same(_left(deep), ["memory.jsonl"])
    with place.serve(folder, "--file", place.inside(deep / "memory.jsonl"), env={}) as server:
        server.open()
        _same(_names(server), ["Ada"])
        _finish(server)


def the_archive_may_lie_anywhere_under_any_name(place: Place, folder: Path) -> None:
    copy = folder / "Programme (x86) und mehr" / "memory-server (2) für später.pyz"
    copy.parent.mkdir()
    shutil.copyfile(place.archive, copy)
    with place._replace(archive=copy).serve(folder) as server:
        server.open()
        _finish(server)


def a_file_with_cr_lf_is_read_and_kept(place: Place, folder: Path) -> None:
    old = {"type": "entity", "name": "Old", "entityType": "thing", "observations": ["kept"]}
    (folder / "memory.jsonl").write_bytes(json.dumps(old).encode() + b"\r\n")
    with place.serve(folder) as server:
        server.open()
        _same(_names(server), ["Old"])
        _result(server, "create_entities", _entity("New"))
        _finish(server)
    with place.serve(folder) as server:
        server.open()
        _same(_names(server), ["Old", "New"])
        _finish(server)


def the_end_of_its_input_ends_it_with_everything_answered(place: Place, folder: Path) -> None:
    with place.serve(folder) as server:
        server.open()
        asked = [server.start_call("create_entities", _entity(f"last-{number}")) for number in range(_EACH)]
        server.close_stdin()
        _same(sum("result" in server.answer(request) for request in asked), _EACH)
        _same(server.wait(), 0)
        assert "Traceback" not in server.stderr, server.stderr
    _same(_left(folder), ["memory.jsonl"])


def its_commands_work(place: Place, folder: Path) -> None:
    file = ["--file", place.inside(folder / "memory.jsonl")]
    (entity,) = _entity("Zoë")["entities"]
    (folder / "memory.jsonl").write_text(json.dumps({"type": "entity", **entity}) + "\n", "utf-8")
    for arguments, said in ((["--version"], b"1."), ([*file, "check"], b""), ([*file, "export"], "Zoë".encode())):
        done = place.run(folder, *arguments)
        assert done.returncode == 0 and said in done.stdout, (arguments, done.returncode, done.stdout, done.stderr)
        assert b"Traceback" not in done.stderr, done.stderr


def it_serves_over_http_too(place: Place, folder: Path) -> None:
    file = place.inside(folder / "memory.jsonl")
    command = place.argv("--file", file, "serve", "--http", "0")
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=dict(place.environ), stdin=null, stdout=null, stderr=pipe) as server:
        assert server.stderr is not None
        late = threading.Timer(place.patience, server.kill)  # ends the wait for its line as well
        late.start()
        try:
            said = b""
            while (line := server.stderr.readline()) and b"serving at " not in line:
                said += line
            assert line, said
            url = line.decode().split("serving at ")[1].split()[0]
            request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": dict(ENVELOPE)}}
            headers = {
                "Accept": "application/json, text/event-stream",
                "Content-Type": "application/json",
                "MCP-Protocol-Version": VERSIONS["2026"],
                "Mcp-Method": "tools/list",
            }
            asked = urllib.request.Request(url, json.dumps(request).encode(), headers)
            with urllib.request.urlopen(asked, timeout=place.patience) as answer:
                _same({tool["name"] for tool in json.load(answer)["result"]["tools"]}, _TOOLS)
        finally:
            late.cancel()
            server.kill()


ALL: Final[tuple[Scene, ...]] = (
    it_speaks_both_eras,
    all_nine_tools_do_their_work,
    two_writers_at_once_lose_nothing,
    what_was_answered_outlives_a_kill,
    a_path_may_have_spaces_and_any_letters,
    the_archive_may_lie_anywhere_under_any_name,
    a_file_with_cr_lf_is_read_and_kept,
    the_end_of_its_input_ends_it_with_everything_answered,
    its_commands_work,
    it_serves_over_http_too,
)

FOR_A_PROCESSOR: Final[tuple[Scene, ...]] = (
    it_speaks_both_eras,
    all_nine_tools_do_their_work,
    what_was_answered_outlives_a_kill,
    the_end_of_its_input_ends_it_with_everything_answered,
    its_commands_work,
    it_serves_over_http_too,
)
"""What another processor can change of it: compiled parts, numbers, clocks, locks. Paths and texts it cannot."""


def _entity(name: str) -> dict[str, Any]:
    return {"entities": [{"name": name, "entityType": "thing", "observations": []}]}


def _result(server: Driver, tool: str, arguments: dict[str, Any]) -> Any:
    result = server.call(tool, arguments)
    assert result["isError"] is False, result
    return result["structuredContent"]


def _names(server: Driver) -> list[str]:
    return [entity["name"] for entity in _result(server, "read_graph", {})["entities"]]


def _left(folder: Path) -> list[str]:
    """What lies there, but for the history, which is meant to stay."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".history")


def _finish(server: Driver) -> None:
    _same(server.finish(), 0)
    assert "Traceback" not in server.stderr, server.stderr


def _same(found: object, expected: object) -> Literal[True]:
    """Like assert ==, and shows both without pytest."""
    assert found == expected, f"{found!r} is not {expected!r}"
    return True
