"""Addresses and tokens: what is refused before anything is served, and what is never shown."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from memory_app.errors import UsageError
from memory_app.server.http import access, tokens
from memory_app.server.http.access import Address, parse_address
from tests.commands.running import run

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("8765", "127.0.0.1", 8765),
        ("0", "127.0.0.1", 0),
        (" 8765 ", "127.0.0.1", 8765),
        (":8765", "127.0.0.1", 8765),
        ("0.0.0.0:80", "0.0.0.0", 80),
        ("[::1]:8765", "::1", 8765),
        ("memory.example:65535", "memory.example", 65535),
    ],
)
def test_an_address_is_a_port_with_or_without_a_host(text: str, host: str, port: int) -> None:
    assert parse_address(text) == Address(host, port)


@pytest.mark.parametrize("text", ["", "x", "8765:", "65536", "-1", "::1:80", "1.2.3.4", "80x", "\u0663", "1.2.3.4:x"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_address(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_loopback_needs_no_token(host: str) -> None:
    address = f"[{host}]:1" if ":" in host else f"{host}:1"
    assert access.access(address, None, (), False, {}).tokens is None


@pytest.mark.parametrize("address", ["8765", "unix:/tmp/socket"])
def test_a_token_can_be_asked_for_everywhere(address: str) -> None:
    with pytest.raises(UsageError, match="--require-token"):
        access.access(address, None, (), False, {}, needs_token=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.168.1.2", "memory.example", "localhost.example", "1"])
def test_any_other_address_is_refused_without_a_token(host: str) -> None:
    with pytest.raises(UsageError, match="a token is needed"):
        access.access(f"{host}:1", None, (), False, {})
    held = access.access(f"{host}:1", None, (), False, {"MEMORY_HTTP_TOKEN": TOKEN}).tokens
    assert held is not None and held.match(f"Bearer {TOKEN}") is not None


@pytest.mark.parametrize("token", ["short", "two words of some length", 'quoted"0123456789', "0123456789abcd\u00e9f"])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(token: str) -> None:
    with pytest.raises(UsageError) as found:
        access.access("1", None, (), False, {"MEMORY_HTTP_TOKEN": token})
    assert token not in str(found.value)


@pytest.mark.parametrize(
    "name", ["", "https://memory.example", "memory.example/mcp", "a/b", "*", "*.example.org", "example.org.", "a b"]
)
def test_what_is_no_name_of_a_host_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--allow-host"):
        access.access("1", None, (name,), False, {})


def test_a_name_may_come_with_a_port_and_in_any_case() -> None:
    given = ("Memory.Example:443", "[FE80::1]", "2001:db8::1", "b\u00fccher.example")
    assert access.access("1", None, given, False, {}).hosts == (
        "memory.example",
        "fe80::1",
        "2001:db8::1",
        "xn--bcher-kva.example",
    )


def test_a_token_file_is_private_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = tokens.new_token()
    access.keep_token(str(path), token)
    held = access.access("1", str(path), (), False, {"MEMORY_HTTP_TOKEN": "another" * 3}).tokens
    assert held is not None and held.match(f"Bearer {token}") is not None
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="exists already"):
        access.keep_token(str(path), "other")
    assert path.read_text() == f"{token}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no modes")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o666])
def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(mode)
    with pytest.raises(UsageError, match="chmod 600"):
        access.access("1", str(path), (), False, {})


def test_a_token_file_that_is_not_there_or_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            access.access("1", str(path), (), False, {})


def test_new_tokens_are_printed_once_and_differ(tmp_path: Path) -> None:
    path = tmp_path / "token"
    shown = run("serve", "--new-token", home=tmp_path)
    kept = run("serve", "--new-token", "--token-file", path, home=tmp_path)
    assert (shown.status, shown.err, kept.status, kept.err) == (0, "", 0, "")
    assert kept.out == path.read_text() != shown.out
    assert len(shown.out.strip()) >= 43


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(("--http", "0.0.0.0:0"), "a token is needed", id="open-to-all"),
        pytest.param(("--http", "203.0.113.1:0"), "a token is needed", id="an-address"),
        pytest.param(("--http", "nonsense"), "give a port", id="no-port"),
        pytest.param(("--http", "0", "--require-token"), "--require-token", id="token-required"),
        pytest.param(("--http", "0", "--memory", "a=x", "--memory", "b=x"), "one file", id="one-file-twice"),
        pytest.param(("--http", "0", "--memory", "health=x"), "give a new name", id="reserved-name"),
        pytest.param(("--http", "0", "--path", "office/"), "give a path", id="no-path"),
        pytest.param(("--http", "0", "--max-body", "0"), "give MiB", id="no-size"),
        pytest.param(("--http", "0", "--allow-origin", "localhost"), "give an origin", id="no-origin"),
        pytest.param(("--http", "0", "--token-file", "missing"), "cannot be read", id="no-file"),
        pytest.param(("--token-file", "x"), "needs --http", id="without-http"),
        pytest.param(("--allow-host", "x"), "needs --http", id="name-without-http"),
    ],
)
def test_what_would_not_be_safe_ends_with_one_line(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    result = run("serve", *arguments, home=tmp_path)
    assert result.status == 2 and text in result.err and result.err.count("\n") == 1


def test_an_address_of_another_machine_ends_with_one_line(tmp_path: Path) -> None:
    environ = {"MEMORY_HTTP_TOKEN": TOKEN, "MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    result = run("serve", "--http", "203.0.113.1:0", home=tmp_path, env=environ)
    assert result.status == 2 and "Cannot listen at 203.0.113.1:0" in result.err
    assert TOKEN not in result.err and os.fspath(tmp_path) in result.err
