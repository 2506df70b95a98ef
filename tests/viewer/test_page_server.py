"""The server behind `view`: who gets nothing from it, what it leaves behind, how it ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_app import cli
from memory_app.server.http.page import HOST
from memory_app.storage.history import generations
from tests.placing import put
from tests.viewer import serving
from tests.viewer.serving import PATIENCE, ROOT, Served

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")

SECRET = "green-tea-secret"
MEMORY = (
    f'{{"type":"entity","name":"Ann","entityType":"person","observations":["{SECRET}"]}}\n'
    '{"type":"entity","name":"Acme","entityType":"company","observations":[]}\n'
    '{"type":"relation","from":"Ann","to":"Acme","relationType":"works at"}\n'
)
EDIT = {"do": "delete entity", "name": "Acme", "seen": []}
PATHS = (
    "/memories",
    "/graph?memory=memory.jsonl",
    "/changes?memory=memory.jsonl&after=0",
    "/history?memory=memory.jsonl",
    "/state?memory=memory.jsonl&time=20260101T000000.000Z",
    "/difference?memory=memory.jsonl&from=20260101T000000.000Z&to=now",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    (folder / "memory.jsonl").write_text(MEMORY)
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serving.serving(folder / "memory.jsonl") as found:
        yield found


def test_a_search_of_the_page_ranks_as_the_tool_does_and_finds_what_comes_near(served: Served) -> None:
    def names(query: object) -> object:
        answer = served.ask("/search?memory=memory.jsonl", method="POST", body={"query": query})
        return answer.json.get("names", answer.status)

    assert names("green tea") == ["Ann"], SECRET
    assert names("acme") == ["Acme"]
    assert names("who works at Acme?") == ["Ann", "Acme"]
    assert names("zebra") == []
    assert names("x" * 2049) == names(None) == names(["tea"]) == 400


def refused(served: Served, folder: Path, status: int, **headers: Any) -> None:
    """Every door is shut for such a request, nothing of the memory comes out, nothing is changed."""
    answers = [served.ask(path, **headers) for path in PATHS]
    for path, body in (("/edit", EDIT), ("/undo", {"number": 1}), ("/search", {"query": SECRET})):
        answers.append(served.ask(f"{path}?memory=memory.jsonl", method="POST", body=body, **headers))
    assert [answer.status for answer in answers] == [status] * (len(PATHS) + 3)
    assert not any(SECRET.encode() in answer.body for answer in answers)
    assert (folder / "memory.jsonl").read_text() == MEMORY


@pytest.mark.parametrize("token", [None, "", "Bearer ", "Bearer wrong", "Basic eDp5", "bearer\tx", "Bearer é"])
def test_without_the_token_there_is_nothing(served: Served, folder: Path, token: str | None) -> None:
    refused(served, folder, 401, authorization=token)


def test_the_token_is_only_taken_from_its_header(served: Served) -> None:
    for path in PATHS:
        joined = f"{path}{'&' if '?' in path else '?'}token={served.token}"
        assert served.ask(joined, authorization=None, cookie=f"token={served.token}").status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", ""]
)
def test_a_name_that_was_rebound_to_us_is_refused(served: Served, folder: Path, host: str) -> None:
    port = served.host.rpartition(":")[2]
    refused(served, folder, 421, host=host.format(port=port))
    assert served.ask("/", host=host.format(port=port)).status == 421


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "file://", ""]
)
def test_a_page_of_another_origin_is_refused(served: Served, folder: Path, origin: str) -> None:
    refused(served, folder, 403, origin=origin)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_a_request_that_another_page_started_is_refused(served: Served, folder: Path, site: str) -> None:
    refused(served, folder, 403, sec_fetch_site=site)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", None])
def test_what_a_form_can_send_changes_nothing(served: Served, folder: Path, kind: str | None) -> None:
    answer = served.ask("/edit?memory=memory.jsonl", method="POST", body=EDIT, content_type=kind)
    assert answer.status == 415
    assert (folder / "memory.jsonl").read_text() == MEMORY


@pytest.mark.parametrize(
    ("path", "method", "body", "status"),
    [
        ("/edit?memory=memory.jsonl", "GET", None, 405),
        ("/graph?memory=memory.jsonl", "POST", {}, 405),
        ("/", "POST", {}, 405),
        ("/../etc/passwd", "GET", None, 404),
        ("/mcp", "POST", {}, 404),
        ("/graph?memory=../other.jsonl", "GET", None, 404),
        ("/graph?memory=/etc/passwd", "GET", None, 404),
        ("/graph", "GET", None, 404),
        ("/history?memory=../other.jsonl", "GET", None, 404),
        ("/state?memory=memory.jsonl&time=../../etc/passwd", "GET", None, 409),
        ("/state?memory=memory.jsonl", "GET", None, 409),
        ("/state?memory=memory.jsonl&time=now", "GET", None, 409),
        ("/difference?memory=memory.jsonl&from=now&to=20260101T000000.000Z", "GET", None, 409),
        ("/history?memory=memory.jsonl", "POST", {}, 405),
        ("/changes?memory=memory.jsonl&after=-1", "GET", None, 400),
        ("/changes?memory=memory.jsonl", "GET", None, 400),
        ("/edit?memory=memory.jsonl", "POST", b"{", 400),
        ("/edit?memory=memory.jsonl", "POST", b"[" * 100000, 400),
        ("/edit?memory=memory.jsonl", "POST", [], 409),
        ("/edit?memory=memory.jsonl", "POST", {"do": "drop"}, 409),
        ("/edit?memory=memory.jsonl", "POST", {"do": ["x"]}, 409),
        ("/edit?memory=memory.jsonl", "POST", {"do": "add fact", "entity": 5}, 409),
        ("/edit?memory=memory.jsonl", "POST", b'"' + b"x" * (2 << 20) + b'"', 413),
        ("/undo?memory=memory.jsonl", "POST", {"number": "1"}, 400),
        ("/undo?memory=memory.jsonl", "POST", {"number": 99}, 409),
    ],
)
def test_what_cannot_be_meant_is_refused(
    served: Served, folder: Path, path: str, method: str, body: object, status: int
) -> None:
    assert served.ask(path, method=method, body=body).status == status
    assert (folder / "memory.jsonl").read_text() == MEMORY


def test_the_history_names_what_was_done_in_the_page_and_undo_takes_it_back(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    put(memory, MEMORY)
    with serving.serving(memory) as served:
        assert served.edit(do="rename", name="Ann", to="Ann B.").status == 200
        assert served.edit(do="add fact", entity="Ann B.", text="Sings").status == 200
        assert served.edit(**EDIT).status == 200
        assert served.ask("/undo?memory=memory.jsonl", method="POST", body={"number": 3}).status == 200
    *_, add, rename = kept = generations(str(memory))
    assert [one.reason for one in kept] == ["undo", "forget", "add", "rename"]
    for one in (add, rename):
        assert cli.main(["undo", one.stamp, "--file", str(memory)]) == 0
    assert sorted(memory.read_text().splitlines()) == sorted(MEMORY.splitlines())


def test_the_page_itself_holds_nothing_and_cannot_be_framed_or_kept(served: Served) -> None:
    answer = served.ask("/", authorization=None)
    assert answer.status == 200
    assert SECRET.encode() not in answer.body
    assert b"memory.jsonl" not in answer.body
    assert served.token.encode() not in answer.body
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers


def test_it_listens_on_loopback_alone(served: Served) -> None:
    port = int(served.host.rpartition(":")[2])
    other = socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    if str(other[0]).startswith("127."):
        pytest.skip("this machine has no other address")
    with socket.socket() as trying:
        trying.settimeout(PATIENCE)
        assert trying.connect_ex(other) != 0


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")
def test_the_token_stands_in_no_process_list(served: Served) -> None:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            shown = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        assert served.token.encode() not in shown


def test_the_browser_opens_a_private_file_that_is_removed(folder: Path, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    browser = tmp_path / "browser"
    browser.write_text(
        "#!/bin/sh\n"
        f'cd {tmp_path}; f="${{1#file://}}"; printf %s "$*" >arguments; cat "$f" >page; '
        'stat -c "%a" "$f" "$(dirname "$f")" >modes; mv modes done\n'
    )
    browser.chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "BROWSER": f"{browser} %s", "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "memory_app", "view", "--file", str(folder / "memory.jsonl"), "Ann"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=environ)
    try:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        assert _until(tmp_path / "done").read_text().split() == ["600", "700"]
        page = (tmp_path / "page").read_text()
        address = page.partition("url=")[2].partition('"')[0].replace("&amp;", "&")
        found = Served(process, address)
        assert found.address.endswith("&open=Ann")
        assert found.ask("/memories").status == 200
        for shown in (said, (tmp_path / "arguments").read_text()):
            assert found.token not in shown
        assert found.end() == 0
        assert list(temporary.iterdir()) == []
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stderr.close() if process.stderr else None
        os.close(ours)
        os.close(theirs)


def _until(path: Path) -> Path:
    """Wait for a file that another process makes."""
    subprocess.run(
        ["sh", "-c", 'i=0; while [ ! -e "$0" ] && [ $i -lt 600 ]; do i=$((i+1)); sleep 0.1; done', str(path)],
        timeout=PATIENCE,
        check=True,
    )
    return path


def test_edits_are_stored_as_a_tool_would_and_can_be_undone(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text(MEMORY)
    with serving.serving(memory) as served:
        edits: list[dict[str, Any]] = [
            {"do": "add fact", "entity": "Ann", "text": "Moved"},
            {"do": "replace fact", "entity": "Ann", "old": "Moved", "new": "Moved to Lisbon"},
            {"do": "rename", "name": "Ann", "to": "Anna"},
            {"do": "add entity", "name": "Kites", "type": "topic", "facts": ["fly"]},
            {"do": "add relation", "from": "Acme", "to": "Kites", "type": "makes"},
            {"do": "change type", "name": "Acme", "type": "maker"},
            {"do": "delete relation", "from": "Anna", "to": "Acme", "type": "works at"},
            {"do": "merge", "name": "Kites", "into": "Acme", "seen": ["fly"]},
            {"do": "delete fact", "entity": "Anna", "text": SECRET},
            {"do": "delete entity", "name": "Anna", "seen": ["Moved to Lisbon"]},
        ]
        numbers = [served.edit(**edit).json["number"] for edit in edits]
        assert numbers == list(range(1, 11))
        assert [json.loads(line) for line in memory.read_text().splitlines()] == [
            {
                "type": "entity",
                "name": "Acme",
                "entityType": "maker",
                "observations": ["fly"],
                "otherValues": {"entityType": ["topic"]},
            }
        ]
        for number in reversed(numbers):
            answer = served.ask("/undo?memory=memory.jsonl", method="POST", body={"number": number})
            assert answer.status == 200, answer.body
        assert sorted(memory.read_text().splitlines()) == sorted(MEMORY.splitlines())
        assert served.end() == 0


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        ({"do": "replace fact", "entity": "Ann", "old": "gone", "new": "x"}, "changed or deleted meanwhile"),
        ({"do": "delete fact", "entity": "Ann", "text": "gone"}, "no such observation any more"),
        ({"do": "delete entity", "name": "Ann", "seen": ["other"]}, "was changed meanwhile"),
        ({"do": "merge", "name": "Ann", "into": "Acme", "seen": []}, "was changed meanwhile"),
        ({"do": "rename", "name": "Ann", "to": "Acme"}, "Merge the two instead"),
        ({"do": "add entity", "name": "Ann", "type": "", "facts": []}, "already"),
        ({"do": "add relation", "from": "Ann", "to": "Nobody", "type": "knows"}, "Nobody not found"),
        ({"do": "add relation", "from": "Ann", "to": "Acme", "type": "works at"}, "already"),
        ({"do": "add fact", "entity": "Ann", "text": "  "}, "Write something first"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(served: Served, folder: Path, edit: dict[str, Any], text: str) -> None:
    answer = served.edit(**edit)
    assert answer.status == 409
    assert text in answer.json["error"]
    assert (folder / "memory.jsonl").read_text() == MEMORY


def test_a_page_that_may_only_read_changes_nothing(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text(MEMORY)
    with serving.serving(memory, "--read-only") as served:
        assert served.ask("/memories").json["readOnly"] is True
        assert served.edit(**EDIT).status == 409
        assert memory.read_text() == MEMORY
        assert served.end() == 0


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_told(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text(MEMORY)
    memory.chmod(0o400)
    with serving.serving(memory) as served:
        assert served.edit(**EDIT).status == 503


def test_a_file_that_became_something_else_is_told_and_not_written(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text(MEMORY)
    with serving.serving(memory) as served:
        assert served.ask("/graph?memory=memory.jsonl").status == 200
        memory.write_text("a shopping list\n")
        answer = served.edit(**EDIT)
        assert answer.status == 503
        assert "memory.jsonl" in answer.json["error"]
        assert memory.read_text() == "a shopping list\n"


def test_it_ends_when_the_pages_have_been_closed(tmp_path: Path) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text(MEMORY)
    code = (
        "import sys; from memory_app.server.http import lookback, page; from memory_app.server.stderr import Notices;"
        "past = lookback.Past(lambda path: None, lambda one, other: {});"
        "view = page.View('page', {'memory.jsonl': sys.argv[1]}, 'secret', past, left_seconds=0.2);"
        "page.run(view, Notices(), page.Events(lambda at: print(at + '#token=secret', flush=True), lambda: None))"
    )
    with serving.running([sys.executable, "-c", code, str(memory)]) as served:
        with socket.create_connection((HOST, int(served.host.split(":")[1])), timeout=PATIENCE) as page:
            head = f"GET {PATHS[2]} HTTP/1.1\r\nhost: {served.host}\r\nauthorization: Bearer {served.token}\r\n\r\n"
            page.sendall(head.encode())
            assert page.recv(100).startswith(b"HTTP/1.1 200")
            assert served.process.poll() is None
        assert served.process.wait(PATIENCE) == 0
