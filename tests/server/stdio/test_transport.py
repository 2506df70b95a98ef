"""The transport's parts: lines out of bytes, messages out of lines, bytes into pipes."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from memory_app.server.messages import Lines, Malformed, encode, finished, parse
from memory_app.server.stdio import pipes
from memory_app.text import without_lone_surrogates

STREAM = b'\n{"a":1}\r\n\nlong line here\ntail'
LINES = [b"", b'{"a":1}\r', b"", b"long line here", b"tail"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, len(STREAM)], ids=lambda size: f"pieces of {size}")
def test_lines_are_the_same_whatever_pieces_the_bytes_come_in(size: int) -> None:
    lines = Lines()
    found = [line for at in range(0, len(STREAM), size) for line in lines.feed(STREAM[at : at + size])]
    assert [*found, lines.end()] == LINES


@pytest.mark.parametrize("size", [1, 4, 1000], ids=lambda size: f"pieces of {size}")
def test_a_line_over_the_limit_is_dropped_alone_and_said_once(size: int) -> None:
    lines = Lines(limit=5)
    data = b"12345\n123456\nab\n1234567890123\ncd\n1234567"
    found = [line for at in range(0, len(data), size) for line in lines.feed(data[at : at + size])]
    assert [*found, lines.end(), lines.end()] == [b"12345", None, b"ab", None, b"cd", None, b""]


def test_a_line_over_the_limit_is_not_kept_in_memory() -> None:
    lines = Lines(limit=10)
    for _ in range(100):
        assert lines.feed(b"x" * 10) == []
    assert sum(map(len, lines._parts)) <= 10


REQUESTS: list[tuple[str, bytes, object]] = [
    ("plain", b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}', (1, "m", {"a": [1]})),
    ("no params", b'{"jsonrpc":"2.0","id":"x","method":"m"}', ("x", "m", None)),
    ("null params", b'{"jsonrpc":"2.0","id":0,"method":"m","params":null}', (0, "m", None)),
    ("huge id", b'{"jsonrpc":"2.0","id":99999999999999999999,"method":"m"}', (99999999999999999999, "m", None)),
    ("byte order mark", b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"m"}', (1, "m", None)),
    ("carriage returns", b'{"jsonrpc":"2.0",\r"id":1,"method":"m"}\r', (1, "m", None)),
    ("U+2028", '{"jsonrpc":"2.0","id":1,"method":"\u2028"}'.encode(), (1, "\u2028", None)),
    ("an escaped pair", rb'{"jsonrpc":"2.0","id":1,"method":"\ud83d\ude00"}', (1, "\U0001f600", None)),
    ("a lone high surrogate", rb'{"jsonrpc":"2.0","id":1,"method":"a\ud83d"}', (1, "a\ufffd", None)),
    ("a lone low surrogate", rb'{"jsonrpc":"2.0","id":1,"method":"\ude00b"}', (1, "\ufffdb", None)),
    ("swapped surrogates", rb'{"jsonrpc":"2.0","id":1,"method":"\ude00\ud83d!"}', (1, "\ufffd\ufffd!", None)),
    ("a surrogate in a key", rb'{"jsonrpc":"2.0","id":1,"method":"m","params":{"\ud83d":1}}', (1, "m", {"\ufffd": 1})),
    ("invalid UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"a\xffb"}', (1, "a\ufffdb", None)),
]


@pytest.mark.parametrize(("line", "wanted"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS])
def test_an_odd_request_is_understood(line: bytes, wanted: object) -> None:
    message = parse(line)
    assert isinstance(message, JSONRPCRequest)
    assert (message.id, message.method, message.params) == wanted


def test_nesting_beyond_the_fast_parser_is_understood() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":' + b"[" * 300 + b"]" * 300 + b"}}")
    assert isinstance(message, JSONRPCRequest)


MALFORMED: list[tuple[str, bytes | None, int, object]] = [
    ("too long", None, -32600, None),
    ("broken", b'{"jsonrpc":', -32700, None),
    ("NUL", b"\0", -32700, None),
    ("a raw control character", b'{"jsonrpc":"2.0","id":1,"method":"a\tb"}', -32700, None),
    ("NaN", b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":NaN}}', -32700, None),
    (
        "a number beyond the parser",
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":' + b"1" * 5000 + b"}}",
        -32700,
        None,
    ),
    ("nesting beyond all parsers", b"[" * 200_000 + b"]" * 200_000, -32700, None),
    ("two values", b"{} {}", -32700, None),
    ("a number", b"42", -32600, None),
    ("an empty batch", b"[]", -32600, None),
    ("a batch", b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', -32600, None),
    ("no version", b'{"id":1,"method":"m"}', -32600, 1),
    ("another version", b'{"jsonrpc":"1.0","id":"a","method":"m"}', -32600, "a"),
    ("no method", b'{"jsonrpc":"2.0","id":1}', -32600, 1),
    ("method is no string", b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1),
    ("params is an array", b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', -32600, 1),
    ("params of a notification is a string", b'{"jsonrpc":"2.0","method":"m","params":"x"}', -32600, None),
    *(
        (f"id is {bad.decode()}", b'{"jsonrpc":"2.0","id":' + bad + b',"method":"m"}', -32600, None)
        for bad in (b"1.5", b"1.0", b"null", b"true", b"{}", b"[1]")
    ),
]


@pytest.mark.parametrize(("line", "code", "known"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_a_malformed_line_names_its_code_and_the_id_where_it_is_known(
    line: bytes | None, code: int, known: object
) -> None:
    with pytest.raises(Malformed) as caught:
        parse(line)
    assert (caught.value.code, caught.value.request_id) == (code, known)


@pytest.mark.parametrize(
    "line",
    [b"", b"  \t ", b"\r", b'{"jsonrpc":"2.0","id":1,"result":5}', b'{"jsonrpc":"2.0","id":[],"error":5}'],
    ids=["empty", "blank", "CR", "a response that is none", "an error that is none"],
)
def test_a_line_that_nobody_waits_for_is_passed_over(line: bytes) -> None:
    assert parse(line) is None


def test_a_notification_has_no_id() -> None:
    message = parse(b'{"jsonrpc":"2.0","method":"m"}')
    assert isinstance(message, JSONRPCNotification)


def test_results_are_one_line_with_surrogates_replaced() -> None:
    plain = JSONRPCResponse(jsonrpc="2.0", id=1, result={"a": "é\n", "n": None})
    assert b"".join(encode(plain)) == '{"jsonrpc":"2.0","id":1,"result":{"a":"é\\n","n":null}}\n'.encode()
    odd = JSONRPCResponse(jsonrpc="2.0", id="i", result={"a": ["\ud83d"]})
    assert b"".join(encode(odd)) == '{"jsonrpc":"2.0","id":"i","result":{"a":["\ufffd"]}}\n'.encode()
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=-1, message="\ude00"))
    assert b"".join(encode(error)) == '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"\ufffd"}}\n'.encode()


@pytest.mark.parametrize(("request_id", "shown"), [(7, b"7"), (-1, b"-1"), ('a"é', '"a\\"é"'.encode())])
def test_a_finished_result_goes_out_as_the_bytes_that_it_is(request_id: Any, shown: bytes) -> None:
    body = b'{"x":1}'
    chunks = encode(JSONRPCResponse(jsonrpc="2.0", id=request_id, result=finished([body])))
    assert b"".join(chunks) == b'{"jsonrpc":"2.0","id":' + shown + b',"result":{"x":1}}\n'
    assert any(chunk is body for chunk in chunks)


def test_surrogate_pairs_become_their_character() -> None:
    assert without_lone_surrogates("a\ud83d\ude00\ud83db") == "a\U0001f600\ufffdb"


# -- pipes -----------------------------------------------------------------------------------------------------------

OUTPUTS = pytest.mark.parametrize(
    "kind",
    [
        pytest.param("_WatchedOutput", marks=pytest.mark.skipif(not hasattr(select, "poll"), reason="no poll here")),
        "_ThreadedOutput",
    ],
)
LARGE = b"x" * 3_000_000


@contextmanager
def a_pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            try:
                os.close(end)
            except OSError:
                pass


def within_bounds(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work(), 20)

    asyncio.run(bounded())


def read_in_thread(source: int, size: int) -> tuple[threading.Thread, list[bytes]]:
    got: list[bytes] = []

    def read() -> None:
        while sum(map(len, got)) < size and (piece := os.read(source, 1 << 16)):
            got.append(piece)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread, got


@OUTPUTS
def test_output_never_blocks_and_keeps_the_order(kind: str) -> None:
    pieces: Sequence[Sequence[bytes]] = ([b"first\n"], [b"{", LARGE, b"}\n"], [b"last\n"])
    wanted = b"".join(b"".join(chunks) for chunks in pieces)

    async def work() -> None:
        with a_pipe() as (source, sink):
            output = getattr(pipes, kind)(sink, lambda: None)
            for chunks in pieces:
                output.put(chunks)  # nobody reads: this must return all the same
            assert output.queued > len(LARGE) // 2
            thread, got = read_in_thread(source, len(wanted))
            await output.drain(1)
            await asyncio.to_thread(thread.join, 20)
            assert b"".join(got) == wanted
            assert (output.queued, output.taken) == (0, len(wanted))

    within_bounds(work)


@OUTPUTS
def test_output_to_nobody_is_dropped_and_said_once(kind: str) -> None:
    async def work() -> None:
        with a_pipe() as (source, sink):
            os.close(source)
            gone = asyncio.Event()
            calls: list[int] = []

            def on_gone() -> None:
                calls.append(1)
                gone.set()

            output = getattr(pipes, kind)(sink, on_gone)
            output.put([LARGE])
            await gone.wait()
            output.put([b"more"])
            await output.drain(1)
            assert (output.queued, calls) == (0, [1])

    within_bounds(work)


@OUTPUTS
def test_abandoned_output_lets_those_who_wait_for_room_go_on(kind: str) -> None:
    async def work() -> None:
        with a_pipe() as (_, sink):
            output = getattr(pipes, kind)(sink, lambda: None)
            output.put([LARGE])
            waiting = asyncio.ensure_future(output.drain(1))
            await asyncio.sleep(0)
            assert not waiting.done()
            output.abandon()
            await waiting

    within_bounds(work)


def test_output_to_a_regular_file_is_whole(tmp_path: Any) -> None:
    async def work() -> None:
        sink = os.open(tmp_path / "out", os.O_CREAT | os.O_WRONLY)
        output = pipes.open_output(sink, lambda: None)
        for _ in range(5):
            output.put([LARGE, b"\n"])
        await output.drain(1)
        os.close(sink)
        assert (tmp_path / "out").read_bytes() == (LARGE + b"\n") * 5

    within_bounds(work)


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "by a thread"])
def test_input_pauses_resumes_and_ends_once(watched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        got: list[bytes] = []
        news = asyncio.Event()

        def take(data: bytes) -> None:
            got.append(data)
            news.set()

        async def until(wanted: bytes) -> None:
            while b"".join(got) != wanted:
                news.clear()
                await news.wait()

        with a_pipe() as (source, sink):
            if not watched:

                def refuse(*_: object) -> None:
                    raise PermissionError

                monkeypatch.setattr(asyncio.get_running_loop(), "add_reader", refuse)
            stream = pipes.Input(source, take)
            os.write(sink, b"one")
            await until(b"one")
            stream.pause()
            os.write(sink, b"two")
            if watched:
                await asyncio.sleep(0)
                assert b"".join(got) == b"one"
            stream.resume()
            await until(b"onetwo")
            os.close(sink)
            while got[-1] != b"":
                news.clear()
                await news.wait()
            assert got.count(b"") == 1
            stream.stop()

    within_bounds(work)
