"""A stand-in for a language model on loopback: told anything, it stores one fact with create_entities, then says so.

It speaks as much of four interfaces as the clients ask for: Anthropic's messages, OpenAI's responses and chat
completions, and Gemini's. What it answers is decided by the request alone: with the tool it calls it, with a tool that
waits for the client's servers it calls that first, and once the tool's result is there, or without any, it only talks.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

FACT: Final = {"name": "Zoë", "entityType": "person", "observations": ["plays chess"]}
_NAME: Final = re.compile(r'"name": ?"([^"]*create_entities)"')
_WAIT: Final = "WaitForMcpServers"  # Claude Code's, while its servers are not there yet
_WAITS: Final = 10  # a machine that does other work may start a server slowly
_STORED: Final = ("call_store", '"functionCall":')  # how a request tells that the call was made
_SAID: Final = "Remembered."

Event = tuple[str, Mapping[str, Any]]


class _Turn(NamedTuple):
    """`tool` is what is called, by the name that the client offers, "" if it is to talk; `space` its namespace."""

    call: str
    tool: str
    space: str
    model: str

    @property
    def arguments(self) -> dict[str, Any]:
        return {} if self.tool == _WAIT else {"entities": [FACT]}


def _turn(body: Mapping[str, Any]) -> _Turn:
    text = json.dumps(body)
    name = _NAME.search(text)
    waited = text.count("call_wait")  # in the call and in its result
    call, tool = "", ""
    if name and not any(mark in text for mark in _STORED):
        call, tool = "call_store", name[1]
    elif not name and f'"name": "{_WAIT}"' in text and waited < 2 * _WAITS:
        call, tool = f"call_wait_{waited}", _WAIT
    tools = body.get("tools") or []
    spaces = [one.get("name", "") for one in tools if one.get("type") == "namespace" and _NAME.search(json.dumps(one))]
    return _Turn(call, tool, (spaces or [""])[0], str(body.get("model", "")))


def _messages(turn: _Turn) -> list[Event]:
    """Anthropic's stream."""
    if turn.tool:
        block: Any = {"type": "tool_use", "id": turn.call, "name": turn.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": _SAID}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": turn.model, "content": []}
    reason = {"stop_reason": "tool_use" if turn.tool else "end_turn", "stop_sequence": None}
    return [
        ("message_start", {"message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": reason, "usage": usage}),
        ("message_stop", {}),
    ]


def _responses(turn: _Turn) -> list[Event]:
    """OpenAI's newer stream."""
    if turn.tool:
        call = {
            "type": "function_call",
            "call_id": turn.call,
            "name": turn.tool,
            "arguments": json.dumps(turn.arguments),
        }
        item: dict[str, Any] = call | ({"namespace": turn.space} if turn.space else {})
    else:
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": _SAID}]}
    item |= {"id": "item_1", "status": "completed"}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": "resp_1", "object": "response"}
    return [
        ("response.created", {"response": {**response, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": {**response, "status": "completed", "output": [item], "usage": usage}}),
    ]


def _completions(turn: _Turn) -> list[Any]:
    """OpenAI's older stream."""
    called = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
    if turn.tool:
        delta: Any = {"tool_calls": [{"index": 0, "id": turn.call, "type": "function", "function": called}]}
    else:
        delta = {"content": _SAID}
    chunk = {"id": "chunk_1", "object": "chat.completion.chunk", "created": 1, "model": turn.model}
    end = "tool_calls" if turn.tool else "stop"
    return [
        {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
    ]


def _gemini(turn: _Turn) -> list[Any]:
    part: Any = {"functionCall": {"name": turn.tool, "args": turn.arguments}} if turn.tool else {"text": _SAID}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": usage}]


def _answer(path: str, body: Mapping[str, Any]) -> str:
    """The event stream for a request."""
    turn = _turn(body)
    if "/messages" in path:
        return _named(_messages(turn))
    if "/responses" in path:
        return _named(_responses(turn))
    if "/chat/completions" in path:
        return _plain([*_completions(turn), "[DONE]"])
    return _plain(_gemini(turn))


def _named(events: Sequence[Event]) -> str:
    return "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events)


def _plain(items: Sequence[Any]) -> str:
    return "".join(f"data: {item if isinstance(item, str) else json.dumps(item)}\n\n" for item in items)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send("application/json", "")

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"data": [], "models": []}))

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "count" in self.path:
            self._send("application/json", json.dumps({"input_tokens": 1, "totalTokens": 1}))
        else:
            self._send("text/event-stream", _answer(self.path, json.loads(data)))

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Its address, while it serves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
