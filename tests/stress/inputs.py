"""Inputs of every kind: bytes as a memory file, and lines on the wire.

For a file: it is read, or refused as no memory, and nothing else happens; nothing of it is lost by a rewrite; a second
rewrite changes no byte; a change of one thing leaves all others. For the wire: the server answers or stays silent by
the rules of JSON-RPC, once for each line, and lives.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from memory_app.graph import changes
from memory_app.graph.changes import Addition, Deletion, NewEntity
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from memory_app.jsonl.document import NotAMemory
from memory_app.jsonl.lines import OWN_MARKER
from memory_app.tools import plans
from tests.faults.folders import folder
from tests.faults.scenes import DOCUMENT, LINES
from tests.stress import servers
from tests.stress.figures import Figures
from tests.stress.mutation import Mutator

_EDGE: Final = b" \t\r,\xef\xbb\xbf"
_NEW: Final = "something else \N{SNOWMAN}"

FILES: Final = (
    LINES,
    DOCUMENT,
    b"\xef\xbb\xbf" + LINES.replace(b"\n", b"\r\n"),
    LINES.replace(b"\n", b",\n"),
    LINES.replace(b"\n", b" "),
    LINES.decode().encode("utf-16"),
    b"[" + LINES.replace(b"\n", b",", 2).split(b"\n")[0] + b"]",
    b'{"type":"_aim","source":"x"}\n' + LINES,
    b'{"_type":"entity","name":"A","entity_type":"t","observations":[{"text":"x","at":1},null,7]}\n',
    b'{"type":"relation","source":"A","target":"B","relation":"r","note":{"deep":[1,2,{"x":null}]}}\n' + LINES,
    LINES
    + LINES.split(b"\n")[0]
    + b"\n"
    + b'{"type":"entity","name":"Ada","entityType":"other","observations":["new"]}',
    b'{"type":"entity","name":"torn","entityTy',
    b'{"entities":{"A":{"entityType":"t","observations":["x"]}},"relations":[]}',
    b'{"type":"entity","name":"\\ud800","entityType":"t","observations":["\\udfff","\\u00e9","\xc3\xa9"]}\n',
    b"",
)


def wrong_with_file(data: bytes) -> str:
    """What is wrong with how these bytes are read and written again; "" for nothing."""
    try:
        contents = document.read(data)
    except NotAMemory:
        return ""
    graph = Graph.of(contents)
    written = _bytes(graph)
    again = document.read(written)
    if _facts(graph) != _facts(Graph.of(again)):
        return "a rewrite changes what is read"
    if _bytes(Graph.of(again)) != written:
        return "a second rewrite changes bytes"
    if contents.lines and not contents.foreign and (lost := _lost(data, written)):
        return f"a rewrite loses {lost[:80]!r}"
    json.loads(plans.graph_json(graph))
    return _wrong_with_change(graph, written)


def _wrong_with_change(graph: Graph, written: bytes) -> str:
    """Changes one thing after the other, and looks at what it was not about."""
    after, made, _ = changes.create_entities(graph, [NewEntity(_NEW, "t", ("x",))])
    if made and (lost := set(_lines(written)) - set(_lines(_bytes(after)))):
        return f"a new entity loses {lost.pop()[:80]!r}"
    if not graph.entities:
        return ""
    name = next(iter(graph.entities))
    before = graph.entities[name].observations()
    added, _ = changes.add_observations(graph, [Addition(name, (_NEW,))])
    read = Graph.of(document.read(_bytes(added)))
    if _NEW not in before and read.entities[name].observations()[: len(before)] != before and not graph.repeats:
        return "a new observation changes the others"
    if _NEW not in read.entities[name].observations():
        return "a new observation is not there"
    touched = {line.raw for line in (graph.entities[name], *graph.entities[name].also)}
    if lost := set(_lines(written)) - touched - set(_lines(_bytes(added))):
        return f"a new observation loses {lost.pop()[:80]!r}"
    back, _, _ = changes.delete_observations(added, [Deletion(name, (_NEW,))])
    if Graph.of(document.read(_bytes(back))).entities[name].observations() != [text for text in before if text != _NEW]:
        return "an observation that came and went leaves a trace"
    return ""


def _bytes(graph: Graph) -> bytes:
    return b"".join(graph.chunks())


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line != OWN_MARKER]


def _facts(graph: Graph) -> Any:
    entities = [(line.name, line.entity_type, line.observations()) for line in graph.first_entities()]
    relations = [(line.source, line.relation_type, line.target) for line in graph.first_relations()]
    return entities, relations, [line for line in (*graph.head, *graph.tail) if line]


def _lost(data: bytes, written: bytes) -> bytes:
    """A line, or a piece of one that holds several values, that does not stand in the written bytes."""
    for line in data.split(b"\n"):
        core = line.strip(_EDGE)
        if core in written or core == OWN_MARKER:
            continue
        for piece in _pieces(core):
            if piece not in written and piece != OWN_MARKER:
                return piece
    return b""


def _pieces(line: bytes) -> Iterator[bytes]:
    """The values of a line one by one, by the standard library's parser; the rest where there is none."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        yield line
        return
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        try:
            end = decoder.raw_decode(text, position)[1]
        except (ValueError, RecursionError):
            end = len(text)
        yield text[position:end].encode().strip(_EDGE)
        match = re.compile(r"[ \t\r,\ufeff]*").match(text, end)
        position = match.end() if match else end


def files(seed: int, seconds: float, most: int = 1 << 60) -> Figures:
    """Try mutated files for so long, or so many."""
    figures = Figures("inputs, files")
    mutator = Mutator(f"file {seed}", FILES)
    until = time.monotonic() + seconds
    while figures.counts["files"] < most and time.monotonic() < until:
        data = mutator.next()
        figures.count("files")
        try:
            wrong = wrong_with_file(data)
        except Exception as error:  # noqa: BLE001 (any exception is a finding)
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            figures.lost(f"seed {seed}, file {figures.counts['files']}, {data[:300]!r}: {wrong}")
    figures.remark(f"seed {seed}")
    return figures


def _request(number: int, method: str, params: object = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return json.dumps(message if params is None else message | {"params": params}).encode()


def _call(number: int, tool: str, arguments: object) -> bytes:
    return _request(number, "tools/call", {"name": tool, "arguments": arguments})


REQUESTS: Final = (
    _request(1, "ping"),
    _request(2, "tools/list", {}),
    _request(3, "resources/list"),
    _request(4, "resources/read", {"uri": "memory://knowledge-graph"}),
    _call(5, "create_entities", servers.entity("a", "x", "é")),
    _call(6, "create_relations", {"relations": [{"from": "a", "to": "a", "relationType": "r"}]}),
    _call(7, "add_observations", {"observations": [{"entityName": "a", "contents": ["y"]}]}),
    _call(8, "delete_observations", {"deletions": [{"entityName": "a", "observations": ["y"]}]}),
    _call(9, "delete_relations", {"relations": [{"from": "a", "to": "a", "relationType": "r"}]}),
    _call(10, "delete_entities", {"entityNames": ["a"]}),
    _call(11, "search_nodes", {"query": "x"}),
    _call(12, "open_nodes", {"names": ["a", "b"]}),
    _call(13, "read_graph", {}),
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","id":14,"result":{}}',
    b'{"jsonrpc":"2.0","id":"s","method":"nothing"}',
    b"[]",
    b"",
)


def expected(line: bytes) -> tuple[object, ...]:
    """The ids of the answers that a line gets: none, or one, which is null where the request's cannot be known."""
    if not line.strip():
        return ()
    try:
        value = json.loads(line.decode("utf-8", "replace").lstrip("\ufeff"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return (None,)
    if not isinstance(value, dict):
        return (None,)
    request_id = value.get("id")
    known = request_id if type(request_id) in (int, str) else None
    if value.get("jsonrpc") == "2.0" and "method" not in value and ("result" in value or "error" in value):
        return ()
    proper = type(value.get("method")) is str and value.get("jsonrpc") == "2.0"
    if proper and "id" not in value and (value.get("params") is None or type(value["params"]) is dict):
        return ()
    return (_clean(known),)


def _refuse(name: str) -> float:
    raise ValueError(name)


def _clean(known: object) -> object:
    """An id as it comes back: without lone surrogates."""
    return known.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if type(known) is str else known


def lines(
    seed: int, seconds: float, most: int = 1 << 60, *, each: int = 400, command: list[str] | None = None
) -> Figures:
    """Send mutated lines to servers, so many to each, for so long or so many; then compare all answers."""
    figures = Figures("inputs, lines")
    until = time.monotonic() + seconds
    session = 0
    while figures.counts["lines"] < most and time.monotonic() < until:
        session += 1
        figures.count("servers")
        _session(f"{seed} {session}", min(each, most), figures, command)
    figures.remark(f"seed {seed}")
    return figures


def _session(seed: str, count: int, figures: Figures, command: list[str] | None) -> None:
    mutator = Mutator(f"line {seed}", REQUESTS)
    wanted: Counter[str] = Counter()
    with folder() as inside, servers.started(inside / "memory.jsonl", command, figures) as server:
        for _ in range(count):
            line = mutator.next().replace(b"\n", b" ")
            if b"listen" in line or b"cancel" in line:
                continue
            figures.count("lines")
            wanted.update(map(_key, expected(line)))
            server.send_bytes(line + b"\n")
        wanted[_key("the end")] += 1
        server.answer(server.start("ping", request_id="the end"))
        status = server.finish()
        if status != 0 or "Traceback" in server.stderr:
            figures.lost(f"session {seed}: the server ended with {status}: {server.stderr[-300:]}")
        server.drain()
        got = Counter(_key(message["id"]) for message in server.messages if "id" in message)
        got[_key(1)] -= 1  # the answer to the greeting
        for key in sorted((wanted - got).keys() | (got - wanted).keys()):
            figures.lost(f"session {seed}: {got[key]} answers to the id {key}, {wanted[key]} are due")


def _key(request_id: object) -> str:
    return json.dumps(request_id)
