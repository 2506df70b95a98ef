"""How the picture looks and what it does not do by itself, in a real Chromium: rest, room, colours, paper, files.

The end of each test also demands: no error, no violation of the policy, no request.
"""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from memory_app import viewer
from tests.viewer import chromium, memories
from tests.viewer.conftest import Open
from tests.viewer.steps import STILL, chosen, drawn, go_to, middle, picture, wait_for

BIDI = "\u202egnp.exe"


def pdf_pages(page: chromium.Page) -> int:
    data = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    return len(re.findall(rb"/Type\s*/Page\b", data))


def drawn_box(page: chromium.Page) -> tuple[float, float]:
    """Width and height of what is drawn on the canvas, as shares of what legend, status line and buttons leave."""
    left, right, top, bottom = page.evaluate(
        "(c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "let [l, r, t, b] = [1e9, 0, 1e9, 0];"
        "for (let y = 0; y < c.height; y++) for (let x = 0; x < c.width; x++) if (d[4 * (y * c.width + x) + 3] > 99) {"
        "l = Math.min(l, x); r = Math.max(r, x); t = Math.min(t, y); b = Math.max(b, y); } return [l, r, t, b]; })"
        "(document.querySelector('#graph'))"
    )
    _, _, width, height = page.box("#graph")
    return (right - left) / (width - 232 - 62), (bottom - top) / (height - 30 - 54)


def test_a_click_or_enter_moves_nothing_where_nothing_comes_in(open_page: Open) -> None:
    page = open_page(memories.many(300))
    go_to(page, "company 0")
    before = picture(page)
    page.click_at(*middle(page))
    page.press("Enter")
    page.focus("#graph")
    page.press("Enter")
    page.evaluate("new Promise(requestAnimationFrame)")
    page.wait(STILL)
    page.mouse("mouseMoved", 300, 700)
    page.wait(STILL)
    assert chosen(page) == "Company 0"
    assert picture(page) == before


def test_a_name_is_drawn_once_also_while_the_pointer_is_on_the_chosen_entity(open_page: Open) -> None:
    page = open_page(memories.example())
    go_to(page, "ada")
    page.click_at(*middle(page))
    names = [one["text"] for one in drawn(page) if one["text"]]
    assert names.count("Ada Keller") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_high_contrast_keeps_types_apart_and_names_readable(open_page: Open, scheme: str) -> None:
    page = open_page(memories.example(), forced_colors="active", prefers_color_scheme=scheme)
    page.wait(STILL)
    frame = drawn(page)
    assert len({one["colour"] for one in frame if not one["text"]}) > 6
    assert all(one["colour"] != one["around"] for one in frame if one["text"])


@pytest.mark.parametrize("size", [2, 10])
def test_a_small_graph_fills_the_room(open_page: Open, size: int) -> None:
    names = [f"entity {number}" for number in range(size)]
    links = [(names[number], "leads to", names[(number + 1) % size]) for number in range(size if size > 2 else 1)]
    page = open_page(memories.graph([(name, "t", []) for name in names], links))
    page.wait(STILL)
    width, height = drawn_box(page)
    assert max(width, height) > (0.8 if size == 10 else 0.15)
    assert max(width, height) <= 1.02


def test_names_are_not_cut_by_the_edges_of_a_phone(open_page: Open) -> None:
    names = [f"A rather long name for a thing {number}" for number in range(9)]
    links = [(names[0], "has", name) for name in names[1:]]
    page = open_page(memories.graph([(name, "t", []) for name in names], links), width=360, height=700)
    page.wait(STILL)
    texts = [one for one in drawn(page) if one["text"] and abs(one["angle"]) < 0.01]
    assert len(texts) > 3
    assert all(one["x"] - one["width"] / 2 >= 0 and one["x"] + one["width"] / 2 <= 360 for one in texts)


def test_nothing_lies_under_the_zoom_buttons(open_page: Open) -> None:
    page = open_page(memories.many(300))
    page.wait(STILL)
    left = page.box(".zoom")[0]
    shown = "(c => c.getContext('2d').getImageData({x}, 0, c.width - {x}, c.height).data.some(v => v))({canvas})"
    assert not page.evaluate(shown.format(x=int(left), canvas="document.querySelector('#graph')"))


def test_a_type_of_a_script_from_right_to_left_stands_beside_its_sign(open_page: Open) -> None:
    page = open_page(memories.graph([("a", "אדם", []), ("b", "person", [])], []))
    left = (
        "(name => { const range = document.createRange(); range.selectNodeContents(name);"
        "const sign = name.parentElement.querySelector('.swatch').getBoundingClientRect();"
        "return range.getBoundingClientRect().left - sign.right; })"
    )
    gaps = page.evaluate(f"[...document.querySelectorAll('#types .type-name')].map({left})")
    assert len(gaps) == 2
    assert all(gap < 20 for gap in gaps)


def test_an_override_of_the_direction_is_shown_by_its_number(open_page: Open) -> None:
    page = open_page(memories.graph([(BIDI, BIDI, [BIDI]), ("b", "t", [])], [(BIDI, BIDI, "b")]), title=BIDI)
    go_to(page, "exe")
    texts = page.texts("h1, #types .type-name, #panel h2, .fact, .verb bdi, #relation-types .type-name")
    assert len(texts) == 7
    assert all("\u202e" not in text for text in texts)
    assert all("[U+202E]gnp.exe" in text for text in texts if text != "t")
    assert not any("\u202e" in one["text"] for one in drawn(page))


def test_a_link_is_the_name_and_holds_when_the_page_is_made_anew(open_page: Open) -> None:
    page = open_page(memories.example())
    go_to(page, "ada")
    assert page.evaluate("location.hash") == "#Ada%20Keller"
    other = open_page(memories.graph([("first", "t", []), ("Ada Keller", "person", [])], []))
    other.evaluate("location.hash = '#Ada%20Keller'")
    wait_for(other, "Ada Keller")
    other.evaluate("location.hash = '#Nobody%20of%20that%20name'")
    other.wait("document.querySelector('#panel').hidden")
    other.evaluate("location.hash = '#%E0%A4%A'")
    assert other.is_hidden("#panel")


def test_the_page_tells_its_file_and_its_date(open_page: Open) -> None:
    page = open_page(memories.example())
    assert page.text("#source") == "/home/ada/memory.jsonl · 2026-03-01 09:30"


def test_a_table_is_printed_whole(open_page: Open) -> None:
    page = open_page(memories.many(300))
    page.wait(STILL)
    page.click("#show-table")
    assert len(page.texts("#table .rows .row")) < 60
    assert pdf_pages(page) >= 6
    assert len(page.texts("#table .rows .row")) < 60
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert len(page.texts("#table .rows .row")) == 300
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")


def test_the_printed_graph_keeps_its_shape_and_its_details_are_whole(open_page: Open) -> None:
    facts = [f"observation {number}" for number in range(150)]
    graph = memories.graph([("a", "t", facts), ("b", "t", [])], [("a", "r", "b")])
    page = open_page(graph, prefers_color_scheme="dark")
    go_to(page, "a")
    assert pdf_pages(page) >= 3
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.call("Emulation.setEmulatedMedia", media="print")
    look = "(s => [s.objectFit, s.position])(getComputedStyle(document.querySelector('#graph')))"
    assert page.evaluate(look) == ["contain", "static"]
    assert len(page.texts(".fact")) == 150
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    panel = "(p => p.scrollHeight <= p.clientHeight + 1)(document.querySelector('#panel'))"
    assert page.evaluate(panel)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert len(page.texts(".fact")) == 100


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_picture_is_saved_as_a_file(open_page: Open, kind: str) -> None:
    hostile = "<b>&\"'\x01"
    page = open_page(memories.graph([("Ann", "t", []), (hostile, "t", [])], [("Ann", "knows", hostile)]))
    page.wait(STILL)
    page.evaluate("URL.createObjectURL = blob => { window.saved = blob; return '#saved'; }")
    page.evaluate("HTMLAnchorElement.prototype.click = function () { window.named = this.download; }")
    page.click("#picture")
    page.click(f"#picture-{kind}")
    page.wait("window.named")
    assert page.evaluate("window.named") == f"memory.jsonl.{kind}"
    if kind == "png":
        size = "createImageBitmap(window.saved).then(image => [image.width, image.height])"
        _, _, width, height = page.box("#graph")
        assert page.evaluate(size) == [2 * int(width), 2 * int(height)]
        return
    text = page.evaluate("window.saved.text()")
    assert text.count("Ann</text>") == 2, "the halo and the name"
    assert "knows</text>" in text
    assert "&lt;b&gt;&amp;&quot;'" in text
    texts = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
    assert {one.text for one in texts} >= {"Ann", "knows"}


def test_without_a_script_the_memory_is_there_as_text(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "plain.html"
    file.write_text(viewer.page(memories.example(), viewer.Source("memory.jsonl")), encoding="utf-8")
    page = open_page("{}")
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.call("Page.navigate", url=file.as_uri())
    page.wait_loaded()
    assert "Ada Keller" in page.text(".plain-list")
    assert page.texts(".plain-list dd")[0] == "Leads the platform team"
    shown = "[...document.querySelectorAll('button, input, canvas')].filter(e => e.getClientRects().length > 0).length"
    assert page.evaluate(shown) == 0
    page.problems.clear()  # the second page counts as a request
    page.call("Emulation.setScriptExecutionDisabled", value=False)
