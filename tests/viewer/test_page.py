"""The page as text: what it allows, that the memory stays data in it, and that it asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from memory_app import viewer
from tests.viewer import memories

FOLDER = Path(viewer.__file__).parent
SOURCE = viewer.Source("memory.jsonl", "/home/ada/memory.jsonl", "2026-03-01 09:30")
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></style><img src=x onerror=alert(1)>",
    "{{script}} {{data}} {{policy}}",
    "\u2028\u2029\u0000\u202e\\u003c \\ \" ' & &lt;",
    "\\",
)


class Parsed(HTMLParser):
    """The elements of a page: (tag, attributes, text)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.elements.append(("", {}, ""))  # what follows is not this element's text

    def handle_data(self, data: str) -> None:
        if self.elements:
            tag, attributes, text = self.elements[-1]
            self.elements[-1] = (tag, attributes, text + data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for found, attributes, text in self.elements if found == tag]


def policy_of(parsed: Parsed) -> dict[str, str]:
    [content] = [a["content"] for a, _ in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert content is not None
    return {name: value for name, _, value in (part.strip().partition(" ") for part in content.split(";"))}


def source_of(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_script_and_style_are_allowed_by_their_hash_and_nothing_else_is() -> None:
    parsed = Parsed(viewer.page(memories.example(), SOURCE))
    [script] = [text for attributes, text in parsed.all("script") if "type" not in attributes]
    [style] = [text for _, text in parsed.all("style")]
    assert policy_of(parsed) == {
        "default-src": "'none'",
        "script-src": source_of(script),
        "style-src": source_of(style),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


def test_the_policy_comes_before_everything_that_it_rules() -> None:
    page = viewer.page(memories.example(), SOURCE)
    ruled = ("<style", "<script", "<title", "<body")
    assert page.index("Content-Security-Policy") < min(page.index(mark) for mark in ruled)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_the_memory_holds_stays_data(text: str) -> None:
    graph = memories.graph([(text, text, [text]), ("b", "c", [])], [(text, text, "b")])
    page = viewer.page(graph, SOURCE)
    parsed = Parsed(page)
    [data] = [found for attributes, found in parsed.all("script") if attributes.get("id") == "data"]
    assert json.loads(data) == json.loads(graph)
    assert len(parsed.all("script")) == 2
    assert not set("<>&\u2028\u2029") & set(data)
    # Nothing apart from the data, and the list for a browser without scripts, depends on the memory.
    none = '{"entities":[],"relations":[]}'
    empty = viewer.page(none, SOURCE)
    shown = page[page.index("<dl>", page.index("<noscript>")) : page.index("</dl>", page.index("<noscript>"))]
    assert set(re.findall(r"</?(\w+)", shown)) == {"dl", "dt", "dd", "bdi", "i"}
    assert page.replace(data, "").replace(shown, "<dl>") == empty.replace(none, "")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_title_stays_text(text: str) -> None:
    parsed = Parsed(viewer.page("{}", viewer.Source(text)))
    shown = text.replace("\0", "\ufffd").replace("\u202e", "[U+202E]")
    assert [found.strip() for tag in ("title", "h1") for _, found in parsed.all(tag)] == [shown.strip()] * 2
    assert len(parsed.all("script")) == 2


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    page = viewer.page('{"entities":[{"name":"a\ud800b"}]}', viewer.Source("t\udfff"))
    assert "a\\ufffdb" in page
    assert "<title>t\ufffd</title>" in page
    page.encode()


def test_the_same_memory_gives_the_same_page() -> None:
    assert viewer.page(memories.example(), SOURCE) == viewer.page(memories.example(), SOURCE)


def test_the_page_names_no_address_and_no_way_to_send_anything() -> None:
    page = viewer.page("{}", SOURCE).replace("http://www.w3.org/2000/svg", "")
    addresses = r"https?:|//[a-z]+\.|\bsrc=|\bhref=|url\(|@import"
    calls = r"fetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import\(|window\.open"
    assert re.findall(f"{addresses}|{calls}", page) == []


def test_the_script_never_makes_markup_or_code_of_text() -> None:
    script = "".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("*.js"))
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
    code = r"\beval\b|new Function|setTimeout\(\s*[\"']"
    assert re.findall(f"{markup}|{code}", script) == []


def test_every_file_of_the_package_is_in_a_page() -> None:
    pages = viewer.page("{}", SOURCE) + viewer.served_page()
    files = [file for file in FOLDER.iterdir() if file.suffix in {".js", ".css"}]
    assert len(files) > 10
    for file in files:
        assert file.read_text(encoding="utf-8") in pages, file.name


def test_the_served_page_may_ask_its_server_and_nobody_else_and_holds_no_memory() -> None:
    served, written = Parsed(viewer.served_page()), Parsed(viewer.page("{}", SOURCE))
    policies = [policy_of(served), policy_of(written)]
    assert policies[0].pop("connect-src") == "'self'"
    assert [policies[0][name] for name in ("default-src", "form-action", "trusted-types")] == ["'none'"] * 3
    assert policies[0].keys() == policies[1].keys()
    asks = [file.name for file in FOLDER.glob("*.js") if "fetch(" in file.read_text(encoding="utf-8")]
    assert asks == ["connection.js"]


def test_no_part_can_end_its_element() -> None:
    for file in FOLDER.iterdir():
        if file.suffix in {".js", ".css"}:
            assert not re.search(r"</(script|style)|<!--", file.read_text(encoding="utf-8"), re.IGNORECASE), file.name


def test_the_page_is_made_from_inside_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("memory_app/__init__.py", "")
        for file in FOLDER.iterdir():
            if file.is_file():
                made.write(file, f"memory_app/viewer/{file.name}")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory_app import viewer; assert '.pyz' in viewer.__file__; "
        "sys.stdout.buffer.write(viewer.page('{}', viewer.Source('a')).encode())"
    )
    command = [sys.executable, "-I", "-c", code, str(archive)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert done.stdout.decode() == viewer.page("{}", viewer.Source("a"))
