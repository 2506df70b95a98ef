"""Named tokens: what is kept of them, whom they let in, for how long, and that changes need no restart."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from memory_app.errors import UsageError
from memory_app.server.http import tokens
from memory_app.server.http.tokens import Tokens
from tests.commands.running import run
from tests.driver import Era
from tests.server.http.raw import Client, Reply, ask, message, post
from tests.server.http.serving import serving

WRITE = message("tools/call", {"name": "create_entities", "arguments": {"entities": []}})
LIST = message("tools/list")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def bearer(token: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {token}"


def added(home: Path, *arguments: str) -> str:
    """The new token."""
    result = run("token", "add", *arguments, home=home)
    assert result.status == 0, result.err
    return result.out.strip()


def test_of_a_token_only_the_digest_is_kept_in_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    text = added(tmp_path, "ann", "--token-file", str(path))
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == {
        "name": "ann",
        "scope": "write",
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600
    assert len(text) >= 43


def test_tokens_are_listed_without_their_digests_and_revoked_one_by_one(tmp_path: Path) -> None:
    file = ("--token-file", str(tmp_path / "tokens"))
    added(tmp_path, "ann", *file)
    added(tmp_path, "guest", "--read-only", "--memory", "work", "--expires", "2099-12-31", *file)
    listed = run("token", "list", *file, home=tmp_path).out
    assert "ann" in listed and "guest" in listed and "2099-12-31" in listed and "work" in listed
    assert not any(json.loads(line)["sha256"] in listed for line in Path(file[1]).read_text().splitlines())
    assert run("token", "revoke", "ann", *file, home=tmp_path).status == 0
    assert [token.name for token in tokens.read_file(file[1])] == ["guest"]
    assert run("token", "revoke", "ann", *file, home=tmp_path).status == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("add", "ann"), "exists"),
        (("add", "a b"), "name"),
        (("add", "bo", "--expires", "tomorrow"), "--expires"),
        (("add", "bo", "--expires", "2020-12-31"), "that day is over"),
        (("revoke", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_done_ends_with_one_line(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    file = ("--token-file", str(tmp_path / "tokens"))
    added(tmp_path, "ann", *file)
    before = Path(file[1]).read_text()
    result = run("token", *arguments, *file, home=tmp_path)
    assert result.status == 2 and text in result.err and result.err.count("\n") == 1
    assert Path(file[1]).read_text() == before


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"ann"}',
        '{"name":"ann","scope":"all","sha256":"' + "0" * 64 + '"}',
        '{"name":"ann","scope":"read","sha256":"short"}',
        '{"name":"ann","scope":"read","sha256":"' + "0" * 64 + '","expires":"soon"}',
        '{"name":"ann","scope":"read","sha256":"' + "0" * 64 + '","memories":[1]}',
        '{"name":1,"scope":"read","sha256":"' + "0" * 64 + '"}',
        "{",
    ],
)
def test_a_line_that_is_no_token_is_named_and_lets_nobody_in(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text + "\n")
    path.chmod(0o600)
    with pytest.raises(UsageError, match="Line 1"):
        tokens.read_file(str(path))


def test_an_expired_token_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    token, text = tokens.make("ann", may_write=True, expires="2027-01-31")
    held = Tokens([token])
    monkeypatch.setattr(tokens, "_today", lambda: "2027-01-31")
    assert held.match(f"Bearer {text}") == token
    monkeypatch.setattr(tokens, "_today", lambda: "2027-02-01")
    assert held.match(f"Bearer {text}") is None
    assert not held.holds(token)


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    path, clock = tmp_path / "tokens", Clock()
    ann, ann_text = tokens.make("ann", may_write=True)
    bo, bo_text = tokens.make("bo", may_write=False)
    tokens.write_file(str(path), [ann])
    held, said = Tokens([ann], str(path), clock), list[str]()
    held.report = said.append
    tokens.write_file(str(path), [bo])
    assert held.match(f"Bearer {ann_text}") is not None  # it looks once a second
    clock.now = 2.0
    assert held.match(f"Bearer {ann_text}") is None
    assert held.match(f"Bearer {bo_text}") == bo
    path.write_text("{")
    clock.now = 4.0
    assert held.match(f"Bearer {bo_text}") == bo
    path.unlink()
    clock.now = 6.0
    assert held.match(f"Bearer {bo_text}") == bo
    tokens.write_file(str(path), [])
    clock.now = 8.0
    assert held.match(f"Bearer {bo_text}") is None
    assert sum("stay good" in line for line in said) == 2 and ann_text not in str(said)


def test_each_token_does_what_it_is_for_and_a_new_one_needs_no_restart(tmp_path: Path) -> None:
    file = ("--token-file", str(tmp_path / "tokens"))
    writes = added(tmp_path, "ann", *file)
    reads = added(tmp_path, "guest", "--read-only", *file)
    elsewhere = added(tmp_path, "other", "--memory", "home", *file)
    memories = ("--memory", f"work={tmp_path / 'work.jsonl'}", "--memory", f"home={tmp_path / 'home.jsonl'}")
    with serving(tmp_path, *file, *memories) as server:

        def answered(token: str, body: dict[str, object], at: str = "/work/mcp") -> Reply:
            headers = [("Content-Type", "application/json"), ("MCP-Protocol-Version", "2026-07-28"), bearer(token)]
            headers += [("Mcp-Method", str(body["method"]))]
            headers += [("Mcp-Name", "create_entities")] if body is WRITE else []
            return ask(server.port, "POST", at, headers, json.dumps(body).encode())

        def asked(token: str, body: dict[str, object], at: str = "/work/mcp") -> int:
            return answered(token, body, at).status

        assert [asked(token, LIST) for token in (writes, reads, elsewhere, "wrong")] == [200, 200, 403, 401]
        assert [asked(token, WRITE) for token in (writes, reads)] == [200, 400]
        assert b"This token may only read" in answered(reads, WRITE).body
        assert asked(elsewhere, LIST, "/home/mcp") == 200
        metrics = [ask(server.port, "GET", "/metrics", [bearer(token)]).status for token in (reads, elsewhere)]
        assert metrics == [200, 403]
        assert run("token", "revoke", "ann", *file, home=tmp_path).status == 0
        late = added(tmp_path, "late", *file)
        server.wait_until_said("read again")
        assert [asked(token, LIST) for token in (writes, late)] == [401, 200]
        assert asked(writes, LIST, "/mcp") == 404


@pytest.mark.parametrize("era", ["2025", "2026"])
def test_a_revoked_token_loses_its_streams_and_the_others_keep_theirs(tmp_path: Path, era: Era) -> None:
    file = ("--token-file", str(tmp_path / "tokens"))
    anns, bos = added(tmp_path, "ann", *file), added(tmp_path, "bo", *file)

    async def work(port: int) -> None:
        async with Client(port, era, bos) as bo:
            ann = await Client(port, era, anns).__aenter__()
            await ann.subscribe()
            await bo.subscribe()
            revoked = await asyncio.to_thread(run, "token", "revoke", "ann", *file, home=tmp_path)
            assert revoked.status == 0
            await ann.stream_ended(whole=False)
            await bo.call("create_entities", {"entities": [{"name": "Late", "entityType": "x", "observations": []}]})
            await bo.updated(1)
            assert ann.updates == 0

    with serving(tmp_path, *file) as server:
        asyncio.run(work(server.port))


@pytest.mark.parametrize("era", ["2025", "2026"])
def test_a_token_has_its_share_of_streams(tmp_path: Path, era: Era) -> None:
    file = ("--token-file", str(tmp_path / "tokens"))
    anns, bos = added(tmp_path, "ann", *file), added(tmp_path, "bo", *file)

    async def work(port: int) -> None:
        async with Client(port, era, anns) as first, Client(port, era, anns) as second, Client(port, era, bos) as other:
            await first.subscribe()
            with pytest.raises(AssertionError, match="429"):
                await second.subscribe()
            await other.subscribe()

    with serving(tmp_path, *file, "--max-streams", "1") as server:
        asyncio.run(work(server.port))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes")
def test_the_old_token_file_of_one_word_still_serves(tmp_path: Path) -> None:
    path = tmp_path / "token"
    text = run("serve", "--new-token", "--token-file", path, home=tmp_path).out.strip()
    with serving(tmp_path, "--token-file", str(path)) as server:
        assert post(server.port, LIST, bearer(text)).status == 200
        assert post(server.port, LIST).status == 401
