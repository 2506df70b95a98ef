"""JSON-RPC lines to the SDK's messages and back.

Rules:
- What is no JSON is a `Malformed` with -32700, what is no JSON-RPC message one with -32600, with the request's id
  where that is known. What is odd but understood is taken: deep nesting, lone surrogates, broken UTF-8, a byte order
  mark, CR LF.
- One message is one line, ended by one `\n`, in UTF-8. A lone surrogate, in a request or in a result, is U+FFFD.
- A result that is `finished` goes out as the bytes that it is, spliced into the envelope.
To be used on the event loop's thread only: the SDK's models are not safe to build elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from memory_app.text import without_lone_surrogates

LINE_LIMIT: Final = 256 << 20  # bytes: what a tool may answer at most; npm's runtime gives up near 512 MiB
_MOST_DIGITS: Final = 4000  # Python refuses to convert 4,300 and more
_FINISHED: Final = "\0finished"  # a key that no result of the protocol has


class Malformed(Exception):
    """A line that is no message. It is answered with `code` and this text, under `request_id` if that is known."""

    def __init__(self, code: int, text: str, request_id: str | int | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.request_id = request_id


class Finished(NamedTuple):
    """A result as the bytes of its JSON object, in chunks."""

    chunks: Sequence[bytes]


def finished(chunks: Sequence[bytes]) -> dict[str, Any]:
    """A result, to be returned by a middleware, that this transport sends unchanged."""
    return {_FINISHED: Finished(chunks)}


class Lines:
    """Splits bytes into lines, in whatever pieces they arrive.

    A line over the limit is dropped up to its end and returned as None, once. The lines after it are not affected.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that this piece completes, without their line ends."""
        if b"\n" not in data:
            self._keep(data)
            return []
        first, *lines = data.split(b"\n")
        self._keep(first)
        rest = lines.pop()
        whole = [self.end(), *(line if len(line) <= self._limit else None for line in lines)]
        if rest:
            self._keep(rest)
        return whole

    def end(self) -> bytes | None:
        """The text after the last line end (b"" if none), which is then forgotten."""
        line = None if self._size > self._limit else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return line

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts.clear()
        else:
            self._parts.append(part)


def parse(line: bytes | None) -> JSONRPCMessage | None:
    """The message on one line, None if there is none (a blank line, a response without a use). Raises `Malformed`."""
    if line is not None and not line.strip():
        return None
    return _message(_value(line))


def parse_batch(line: bytes, most: int | None = None) -> list[JSONRPCMessage | Malformed]:
    """The messages of a line that is a batch (revision 2025-03-26), in order. Raises `Malformed`, also for more than
    `most`, before any is read: millions of wrong ones fit into a line.
    """
    value = _value(line)
    if not isinstance(value, list) or not value:
        raise Malformed(INVALID_REQUEST, "Invalid Request: a batch is an array of messages")
    if most is not None and len(value) > most:
        raise Malformed(INVALID_REQUEST, f"Invalid Request: a batch has {most:,} messages at most")
    found: list[JSONRPCMessage | Malformed] = []
    for one in value:
        try:
            message = _message(one)
            if type(message) is JSONRPCRequest and message.method == "initialize":
                raise Malformed(INVALID_REQUEST, "Invalid Request: initialize is no part of a batch", message.id)
        except Malformed as error:
            found.append(error)
        else:
            found += [] if message is None else [message]
    return found


def _value(line: bytes | None) -> object:
    if line is None:
        raise Malformed(INVALID_REQUEST, f"Invalid Request: a line may be {LINE_LIMIT >> 20} MiB long at most")
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        return _parse_oddities(line)


def _parse_oddities(line: bytes) -> object:
    """Parse text that pydantic's parser refuses but that has one meaning: lone surrogates, deep nesting, broken UTF-8,
    a BOM.
    """
    try:
        text = line.decode("utf-8", "replace").lstrip("\ufeff")
        value = json.loads(text, parse_constant=_no_constant, parse_int=_int)
        return json.loads(without_lone_surrogates(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise Malformed(PARSE_ERROR, "Parse error: nested too deeply") from None
    except ValueError as error:  # the text of a decode error holds positions, nothing of the line
        raise Malformed(PARSE_ERROR, f"Parse error: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number is too long")
    return int(digits)


def _message(value: object) -> JSONRPCMessage | None:
    if type(value) is not dict:
        kind = "a batch is not part of this protocol" if isinstance(value, list) else "not an object"
        raise Malformed(INVALID_REQUEST, f"Invalid Request: {kind}")
    request_id, method, params = value.get("id"), value.get("method"), value.get("params")
    known = request_id if type(request_id) in (int, str) else None
    if value.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"', known)
    if "method" not in value and ("result" in value or "error" in value):
        try:
            return jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValidationError:
            return None  # a response that answers nothing we asked: there is nobody to tell
    if type(method) is not str:
        raise Malformed(INVALID_REQUEST, 'Invalid Request: "method" must be a string', known)
    if params == []:
        params = None  # as languages write an empty object that have one word for both
    if params is not None and type(params) is not dict:
        raise Malformed(INVALID_REQUEST, 'Invalid Request: "params" must be an object', known)
    if "id" not in value:
        return JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
    if known is None:
        raise Malformed(INVALID_REQUEST, 'Invalid Request: "id" must be a string or an integer')
    return JSONRPCRequest(jsonrpc="2.0", id=known, method=method, params=params)


def encode(message: JSONRPCMessage) -> Sequence[bytes]:
    """The line of a message, in chunks."""
    if type(message) is JSONRPCResponse and type(done := message.result.get(_FINISHED)) is Finished:
        return [b'{"jsonrpc":"2.0","id":%s,"result":' % _encode_id(message.id), *done.chunks, b"}\n"]
    try:
        return [message.model_dump_json(by_alias=True, exclude_unset=True).encode(), b"\n"]
    except ValueError:  # a lone surrogate
        fields = message.model_dump(by_alias=True, exclude_unset=True)
        return [without_lone_surrogates(json.dumps(fields, ensure_ascii=False, separators=(",", ":"))).encode(), b"\n"]


def _encode_id(request_id: str | int) -> bytes:
    return b"%d" % request_id if type(request_id) is int else to_json(request_id)
