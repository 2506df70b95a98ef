"""The protocol over real stdio, in both eras: what is announced, what is answered, in which order.

Whole messages are compared. What the SDK leaves unanswered (broken lines, odd ids) has its required behaviour here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from memory_app import __version__
from memory_app.tools.schemas import instructions
from memory_app.tools.table import LISTED as TOOLS
from tests.driver import ENVELOPE, Driver, Era, Message, WireError, serve

URI = "memory://knowledge-graph"
STAMP = {"io.modelcontextprotocol/serverInfo": {"name": "memory-server", "title": "Memory", "version": __version__}}
ERAS = pytest.mark.parametrize("era", ["2025", "2026"])


def entity(name: str, *observations: str) -> Message:
    return {"name": name, "entityType": "thing", "observations": list(observations)}


ANN = entity("Ann")


def success(structured: Message, *texts: str, era: Era = "2025") -> Message:
    """The whole result of a call; without texts the one text is the JSON of the structured content."""
    blocks = texts or (json.dumps(structured, separators=(",", ":"), ensure_ascii=False),)
    result: Message = {
        "content": [{"type": "text", "text": text} for text in blocks],
        "isError": False,
        "structuredContent": structured,
    }
    return {**result, "resultType": "complete"} if era == "2026" else result


def failure(text: str, era: Era = "2025") -> Message:
    result: Message = {"content": [{"type": "text", "text": text}], "isError": True}
    return {**result, "resultType": "complete"} if era == "2026" else result


@pytest.fixture(scope="module", params=["2025", "2026"])
def talking(
    request: pytest.FixtureRequest, archive: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    """One server for many questions, none of which may harm it."""
    with serve(archive, tmp_path_factory.mktemp("talking"), era=request.param) as driver:
        driver.open()
        yield driver
        assert driver.finish() == 0
        assert "Traceback" not in driver.stderr


# -- what is announced -----------------------------------------------------------------------------------------------

CAPABILITIES = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": True},
    "tools": {"listChanged": False},
}


HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def test_the_guide_shows_what_is_announced_and_the_versions() -> None:
    page = (Path(__file__).resolve().parents[2] / "memory_app" / "guide" / "protocol.md").read_text("utf-8")
    shown = page.partition("```json\n")[2].partition("```")[0]
    assert json.loads(shown) == CAPABILITIES
    assert f"| versions | 2026-07-28 | {', '.join(HANDSHAKES)} |" in page


@pytest.mark.parametrize("version", HANDSHAKES)
def test_the_handshake_announces_what_is_served(archive: Path, tmp_path: Path, version: str) -> None:
    with serve(archive, tmp_path) as driver:
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        result = driver.request("initialize", hello)
    wanted: Message = {
        "protocolVersion": version,
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": "memory-server", "title": "Memory", "version": __version__},
        "instructions": instructions(0),
    }
    assert result == wanted


def test_discover_announces_what_is_served(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path, era="2026") as driver:
        result = driver.open()
    assert result == {
        "supportedVersions": ["2026-07-28"],
        "capabilities": CAPABILITIES,
        "instructions": instructions(0),
        "resultType": "complete",
        "cacheScope": "private",
        "ttlMs": 0,
        "_meta": STAMP,
    }


def test_the_first_message_decides_the_era_for_good(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path) as driver:
        driver.open()
        with pytest.raises(WireError) as refused:
            driver.request("tools/list", {"_meta": dict(ENVELOPE)})
        assert refused.value.error["code"] == -32600
        assert driver.request("ping") == {}
    with serve(archive, tmp_path, era="2026") as driver:
        driver.open()
        with pytest.raises(WireError) as refused:
            driver.request("initialize", {"protocolVersion": "2025-06-18"})
        assert refused.value.error["code"] == -32022
        assert refused.value.error["data"] == {"supported": ["2026-07-28"], "requested": "2025-06-18"}


@pytest.mark.parametrize("first", ["ping", "tools/call", "resources/read", "tools/list"])
def test_a_call_without_a_handshake_is_served_and_the_handshake_still_works(
    archive: Path, tmp_path: Path, first: str
) -> None:
    params = {"tools/call": {"name": "read_graph"}, "resources/read": {"uri": URI}}
    with serve(archive, tmp_path) as driver:
        driver.request(first, params.get(first))
        made = driver.call("create_entities", {"entities": [ANN]})
        assert made == success({"entities": [ANN]})
        assert driver.open()["protocolVersion"] == "2025-06-18"
        assert driver.call("read_graph") == success({"entities": [ANN], "relations": []})


def test_a_script_may_pipe_one_call_and_nothing_else(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path) as driver:
        request_id = driver.start_call("create_entities", {"entities": [ANN]})
        assert driver.finish() == 0
        assert driver.answer(request_id)["result"] == success({"entities": [ANN]})
    assert "Ann" in (tmp_path / "memory.jsonl").read_text()


def test_a_batch_under_the_revision_that_has_them_is_answered_by_one_line(archive: Path, tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    with serve(archive, tmp_path) as driver:
        driver.request("initialize", hello)
        driver.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "read_graph"}}
        batch = [json.loads(ping('"a"', "ping")), json.loads(ping("null")), call, {"jsonrpc": "2.0", "method": "x"}]
        driver.send_bytes(json.dumps(batch).encode() + b"\n")
        answers = json.loads(driver.receive_line())
        told = {one["id"]: one["error"]["code"] if "error" in one else "result" for one in answers}
        assert told == {"a": "result", None: -32600, "b": "result"}
        driver.send_bytes(b'[{"jsonrpc":"2.0","method":"notifications/none"}]\n[]\n')
        assert driver.answer(None)["error"]["code"] == -32600
        assert driver.request("ping") == {}
        assert driver.finish() == 0


ODD_CALLS: list[tuple[str, Any, Any]] = [
    ("open_nodes", '{"names":["Ann"]}', [ANN]),
    ("open_nodes", ["Ann"], [ANN]),
    ("read_graph", [], [ANN]),
    ("read_graph", "", [ANN]),
    ("read_graph", "{}", [ANN]),
]


@pytest.mark.parametrize(("tool", "sent", "entities"), ODD_CALLS)
def test_arguments_that_are_no_object_are_understood_in_both_eras(
    talking: Driver, tool: str, sent: Any, entities: Any
) -> None:
    talking.call("create_entities", {"entities": [ANN]})
    result = talking.request("tools/call", {"name": tool, "arguments": sent})
    assert result["structuredContent"]["entities"] == entities


def test_a_call_without_a_tools_name_says_so(talking: Driver) -> None:
    with pytest.raises(WireError) as refused:
        talking.request("tools/call", {"arguments": {}})
    assert refused.value.error["code"] == -32602
    assert '"name" must be a string' in refused.value.error["message"]


def test_an_unknown_tools_error_names_the_nearest_one(talking: Driver) -> None:
    with pytest.raises(WireError) as refused:
        talking.request("tools/call", {"name": "searchNodes", "arguments": {}})
    assert refused.value.error["code"] == -32602
    assert refused.value.error["message"] == "Unknown tool: searchNodes. Did you mean search_nodes?"


def test_params_that_are_an_empty_array_are_none(talking: Driver) -> None:
    talking.send_bytes(b'{"jsonrpc":"2.0","id":77,"method":"ping","params":[]}\n')
    assert "result" in talking.answer(77) or talking.era == "2026"


def test_the_tools_are_listed_as_they_are_described(talking: Driver) -> None:
    assert talking.request("tools/list")["tools"] == list(TOOLS)


def test_the_resource_is_listed(talking: Driver) -> None:
    listed = talking.request("resources/list")["resources"]
    assert [(one["uri"], one["name"], one["mimeType"]) for one in listed] == [
        (URI, "knowledge-graph", "application/json")
    ]
    assert talking.request("resources/templates/list")["resourceTemplates"] == []


# -- tools and resource ----------------------------------------------------------------------------------------------


@ERAS
def test_calls_give_whole_results(archive: Path, tmp_path: Path, era: Era) -> None:
    ada, bo = entity("Ada", 'said "hé\\\u2028"', "\U0001f600"), entity("Bo")
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        assert driver.call("create_entities", {"entities": [ada, bo]}) == success({"entities": [ada, bo]}, era=era)
        skipped: Message = {"entities": [], "skipped": ["Bo"]}
        again = driver.call("create_entities", {"entities": [bo]})
        note = "1 skipped: the name exists. Use add_observations for new facts."
        assert again == success(skipped, json.dumps(skipped, separators=(",", ":")), note, era=era)
        graph: Message = {"entities": [ada, bo], "relations": []}
        assert driver.call("read_graph") == success(graph, era=era)
        contents = driver.request("resources/read", {"uri": URI})["contents"]
        assert [(one["uri"], one["mimeType"], json.loads(one["text"])) for one in contents] == [
            (URI, "application/json", graph)
        ]
        deleted: Message = {"success": True, "message": "Entities deleted successfully"}
        assert driver.call("delete_entities", {"entityNames": ["Ada"]}) == success(deleted, deleted["message"], era=era)
        failed = driver.call("open_nodes", {"names": None})
        assert failed == failure(failed["content"][0]["text"], era)
        assert "names must be an array" in failed["content"][0]["text"]


@ERAS
def test_a_lone_surrogate_is_understood_and_comes_back_as_the_replacement_character(
    archive: Path, tmp_path: Path, era: Era
) -> None:
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        made = driver.call("create_entities", {"entities": [entity("a\ud83d", "\ude00b")]})
        assert made == success({"entities": [entity("a\ufffd", "\ufffdb")]}, era=era)
        opened = driver.call("open_nodes", {"names": ["a\udc00"]})
        assert opened == success({"entities": [entity("a\ufffd", "\ufffdb")], "relations": []}, era=era)
        # and from a file that holds the escape
        with open(tmp_path / "memory.jsonl", "a") as file:
            file.write('{"type":"entity","name":"f\\ud83d","entityType":"t","observations":["\\ude00"]}\n')
        found = driver.call("search_nodes", {"query": "f\ufffd"})["structuredContent"]["entities"]
        assert found == [{"name": "f\ufffd", "entityType": "t", "observations": ["\ufffd"]}]


@ERAS
def test_an_unknown_resource_has_the_code_of_the_era(archive: Path, tmp_path: Path, era: Era) -> None:
    uri = "memory://other"
    wanted = {
        "code": -32002 if era == "2025" else -32602,
        "message": f"Resource not found: {uri}",
        "data": {"uri": uri},
    }
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        methods = ["resources/read", *(["resources/subscribe", "resources/unsubscribe"] if era == "2025" else [])]
        for method in methods:
            with pytest.raises(WireError) as refused:
                driver.request(method, {"uri": uri})
            assert refused.value.error == wanted


@ERAS
def test_prompts_are_listed_filled_in_and_completed(archive: Path, tmp_path: Path, era: Era) -> None:
    with serve(archive, tmp_path, era=era) as driver:
        driver.open()
        names = [f"Café {number}" for number in range(120)]
        driver.call("create_entities", {"entities": [*map(entity, names), entity("the café")]})
        listed = {prompt["name"]: prompt for prompt in driver.request("prompts/list")["prompts"]}
        assert list(listed) == ["personal_memory", "tidy_memory"]
        argument = listed["tidy_memory"]["arguments"][0]["name"]
        got = driver.request("prompts/get", {"name": "tidy_memory", "arguments": {argument: "Café 7"}})
        assert [message["role"] for message in got["messages"]] == ["user"]
        assert '"Café 7"' in got["messages"][0]["content"]["text"]
        ask = {"ref": {"type": "ref/prompt", "name": "tidy_memory"}, "argument": {"name": argument, "value": "CAFE"}}
        completed = driver.request("completion/complete", ask)["completion"]
        assert completed == {"values": names[:100], "total": 121, "hasMore": True}
        ask["argument"]["value"] = "e cafe"
        assert driver.request("completion/complete", ask)["completion"]["values"] == ["the café"]
        for method, params in (("prompts/get", {"name": "no"}), ("prompts/get", {})):
            with pytest.raises(WireError) as refused:
                driver.request(method, params)
            assert refused.value.error["code"] == -32602


# -- odd input -------------------------------------------------------------------------------------------------------


def ping(request_id: str, method: str = "resources/list") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{request_id},"method":"{method}"}}'.encode()


BAD: list[tuple[str, bytes, int, Any]] = [
    ("broken JSON", b"{bad", -32700, None),
    ("NUL", b"\0", -32700, None),
    ("nested too deeply", b"[" * 200_000 + b"]" * 200_000, -32700, None),
    ("a number", b"42", -32600, None),
    ("another object", b'{"hello":1}', -32600, None),
    ("a batch", b"[" + ping("1") + b"]", -32600, None),
    ("an id with a fraction", ping("1.5"), -32600, None),
    ("a null id", ping("null"), -32600, None),
    ("a true id", ping("true"), -32600, None),
    ("an object as id", ping("{}"), -32600, None),
    ("params as an array", b'{"jsonrpc":"2.0","id":71,"method":"ping","params":[1]}', -32600, 71),
    ("another version", b'{"jsonrpc":"1.0","id":72,"method":"ping"}', -32600, 72),
    ("no method", b'{"jsonrpc":"2.0","id":"73"}', -32600, "73"),
]


@pytest.mark.parametrize(("line", "code", "known"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_bad_line_is_answered_and_harms_nothing(talking: Driver, line: bytes, code: int, known: Any) -> None:
    talking.send_bytes(line + b"\n")
    message = talking.answer(known)
    assert set(message) == {"jsonrpc", "id", "error"}
    assert message["error"]["code"] == code
    assert talking.call("open_nodes", {"names": []})["isError"] is False


PASSED_OVER: list[tuple[str, bytes]] = [
    ("a blank line", b"  "),
    ("an unknown notification", b'{"jsonrpc":"2.0","method":"notifications/none"}'),
    ("a stray response", b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    ("a stray error", b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}'),
    ("a cancellation of nothing", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}'),
    ("a broken cancellation", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}'),
]


@pytest.mark.parametrize("line", [row[1] for row in PASSED_OVER], ids=[row[0] for row in PASSED_OVER])
def test_what_wants_no_answer_gets_none(talking: Driver, line: bytes) -> None:
    before = len(talking.messages)
    talking.send_bytes(line + b"\n")
    talking.call("open_nodes", {"names": []})
    assert len(talking.messages) == before + 1


NO_NAME: Message = {
    "code": -32602,
    "message": 'Invalid request parameters: "name" must be a string, the name of a tool',
}
REFUSED: list[tuple[str, str, Message, Message]] = [
    ("an unknown method", "none", {}, {"code": -32601, "message": "Method not found", "data": "none"}),
    (
        "an unknown tool",
        "tools/call",
        {"name": "none"},
        {"code": -32602, "message": "Unknown tool: none. Did you mean open_nodes?"},
    ),
    ("a tool's name that is none", "tools/call", {"name": 5}, NO_NAME),
    ("no tool's name", "tools/call", {}, NO_NAME),
]


@pytest.mark.parametrize(("method", "params", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_wrong_request_is_an_error_of_the_protocol(
    talking: Driver, method: str, params: Message, error: Message
) -> None:
    with pytest.raises(WireError) as refused:
        talking.request(method, params)
    assert refused.value.error == error


@pytest.mark.parametrize("request_id", ["text", -4, 99999999999999999999999, 'q"\\é'], ids=repr)
def test_every_valid_id_comes_back_as_it_was(talking: Driver, request_id: Any) -> None:
    talking.start_call("open_nodes", {"names": []}, request_id)
    assert "result" in talking.answer(request_id)


def test_line_ends_and_marks_of_windows_are_understood(talking: Driver) -> None:
    for before, after in ((b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n"), (b"\r\n", b"\n")):
        line = json.dumps({"jsonrpc": "2.0", "id": "w", "method": "resources/list", "params": talking.params()})
        talking.send_bytes(before + line.encode() + after)
        assert "result" in talking.answer("w")


def test_a_line_of_50_megabytes_is_served(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path, patience=60) as driver:
        driver.open()
        big = entity("big", "x" * 50_000_000)
        assert driver.call("create_entities", {"entities": [big]}) == success({"entities": [big]})
        assert driver.call("read_graph") == success({"entities": [big], "relations": []})


@ERAS
def test_thousands_of_pipelined_calls_are_all_answered(archive: Path, tmp_path: Path, era: Era) -> None:
    with serve(archive, tmp_path, era=era, paused=True, patience=60) as driver:
        names = [f"e{number}" for number in range(0, 3000, 60)]
        first = driver.start("server/discover") if era == "2026" else None
        if era == "2025":
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            first = driver.start("initialize", hello)
        asked = [first]
        for number in range(3000):
            tool = ("create_entities", {"entities": [entity(f"e{number}")]}) if number % 60 == 0 else ("read_graph", {})
            asked.append(driver.start_call(*tool))
        driver.flush(len(asked))  # all of it was taken although nobody reads the answers
        driver.resume()
        driver.close_stdin()
        answers = driver.drain()
        assert sorted(answer["id"] for answer in answers) == asked
        assert all("result" in answer for answer in answers)
        assert driver.wait() == 0
        kept = [json.loads(line)["name"] for line in (tmp_path / "memory.jsonl").read_text().splitlines()]
        assert kept == names


def test_a_repeated_id_in_flight_is_answered_each_time(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path) as driver:
        driver.open()
        for number in range(3):
            driver.start_call("create_entities", {"entities": [entity(str(number))]}, "same")
        driver.close_stdin()
        assert [message["id"] for message in driver.drain()] == ["same"] * 3
        assert driver.wait() == 0


# -- the SDK's own client --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_sdk_client_is_served(archive: Path, tmp_path: Path, mode: str) -> None:
    import sys

    file = str(tmp_path / "memory.jsonl")
    command = StdioServerParameters(command=sys.executable, args=[str(archive)], env={"MEMORY_FILE_PATH": file})

    async def talk() -> None:
        async with mcp.Client(stdio_client(command), mode=mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            assert [tool.name for tool in (await client.list_tools()).tools] == [tool["name"] for tool in TOOLS]
            ada: Message = entity("Ada", "likes \u2028 tea")
            made = await client.call_tool("create_entities", {"entities": [ada]})
            assert (made.structured_content, made.is_error) == ({"entities": [ada]}, False)
            for tool, arguments in (
                ("read_graph", {}),
                ("search_nodes", {"query": "TEA"}),
                ("open_nodes", {"names": ["Ada"]}),
            ):
                result = await client.call_tool(tool, arguments)
                assert result.structured_content == {"entities": [ada], "relations": []}
                block = result.content[0]
                assert isinstance(block, mcp.types.TextContent)
                assert json.loads(block.text) == result.structured_content
            failed = await client.call_tool(
                "create_relations", {"relations": [{"from": "Ada", "to": "Bo", "relationType": "knows"}]}
            )
            assert failed.is_error
            assert failed.content == [mcp.types.TextContent(type="text", text="Entity with name Bo not found")]
            contents = (await client.read_resource(URI)).contents[0]
            assert isinstance(contents, mcp.types.TextResourceContents)
            assert json.loads(contents.text) == {"entities": [ada], "relations": []}
            assert len((await client.list_prompts()).prompts) == 2
            with pytest.raises(mcp.MCPError):
                await client.read_resource("memory://other")

    asyncio.run(asyncio.wait_for(talk(), 60))
