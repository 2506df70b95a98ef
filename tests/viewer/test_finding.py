"""Finding something on the page in a real Chromium: search, details, legend, table.

The end of each test also demands: no error, no violation of the policy, no request.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from memory_app import viewer
from memory_app.text import fold
from tests.viewer import memories
from tests.viewer.conftest import Open
from tests.viewer.steps import STILL, chosen, focused, go_to, look_for, wait_for


def test_search_finds_what_the_server_finds(open_page: Open) -> None:
    page = open_page(memories.example())
    wanted = {
        "cafe": ["Tomás Ferreira"],
        "CAFÉ": ["Tomás Ferreira"],
        "tomas": ["Tomás Ferreira"],
        "さくら": ["北川さくら"],
        "مريم": ["مريم حداد"],
        "ledger keep": ["Decision: keep one ledger"],
        "second quarter": ["Harbour"],
        "technology": ["PostgreSQL 16"],
        "no such thing": [],
    }
    found = {}
    for query in wanted:
        found[query] = look_for(page, query)
        page.press("Escape", "Escape", "Escape")
    assert found == wanted


def test_names_come_before_other_matches(open_page: Open) -> None:
    graph = memories.graph([("x", "t", ["lamp"]), ("my lamp", "t", []), ("lamp two", "t", []), ("Lamp", "t", [])], [])
    page = open_page(graph)
    assert look_for(page, "lamp") == ["Lamp", "lamp two", "my lamp", "x"]


def test_the_page_folds_as_the_server_does(open_page: Open) -> None:
    page = open_page("{}")
    # Cherokee folds to capitals in Python and to small letters here; each side agrees with itself, and that is enough.
    cherokee = {*range(0x13A0, 0x1400), *range(0xAB70, 0xABC0)}
    # Characters of an old Unicode version, which every Python and every browser knows.
    old = unicodedata.ucd_3_2_0
    known = [c for c in range(0x110000) if old.category(chr(c)) not in {"Cn", "Co", "Cs"} and c not in cherokee]
    source = (Path(viewer.__file__).parent / "fold.js").read_text(encoding="utf-8")
    texts = [chr(c) for c in known] + ["ΟΔΟΣ", "οδος", "Straße", "STRASSE", "ﬁancé", "Ǆ", "İstanbul", "\u0131slak"]
    # Long ones, which are folded in pieces.
    texts += [
        "é" * n + run * 200
        for n in (0, 100, 255, 256, 257)
        for run in ("\u064b\u0650x", "\u0f71\u0f72", "漢e\u0301", "\U0001d165\U0001d16da")
    ]
    theirs = page.evaluate(f"(() => {{{source}; return {json.dumps(texts)}.map(fold)}})()")
    assert {text: their for text, their in zip(texts, theirs, strict=True) if their != fold(text)} == {}


def test_the_details_show_type_observations_and_relations(open_page: Open) -> None:
    page = open_page(memories.example())
    go_to(page, "ada")
    assert chosen(page) == "Ada Keller"
    assert page.text("#panel .kind") == "person"
    assert page.texts(".observation-list li") == [
        "Leads the platform team",
        "Prefers written updates",
        "Speaks German and English",
    ]
    relations = page.texts(".relation-list button")
    assert "→ leadsHarbour" in relations
    assert relations[-1] == "← learns fromMei Lin"
    assert page.text("#live").startswith("Ada Keller, person, 6 relations, 3 observations")


def test_a_relation_leads_on_and_the_browser_back(open_page: Open) -> None:
    page = open_page(memories.example())
    go_to(page, "ada")
    page.click(".relation-list button")
    wait_for(page, "Harbour")
    page.evaluate("history.back()")
    wait_for(page, "Ada Keller")
    page.evaluate("history.forward()")
    wait_for(page, "Harbour")


def test_a_result_is_chosen_with_the_mouse(open_page: Open) -> None:
    page = open_page(memories.example())
    look_for(page, "mei")
    page.click("#option-0")
    wait_for(page, "Mei Lin")
    assert page.is_hidden("#results")


def test_keys_go_through_results(open_page: Open) -> None:
    page = open_page(memories.example())
    names = look_for(page, "on")
    page.press("ArrowDown", "ArrowDown")
    assert page.attribute("#query", "aria-activedescendant") == "option-1"
    page.press("ArrowUp", "ArrowUp")
    assert page.texts("[aria-selected=true] .option-name") == names[-1:]
    page.press("Enter")
    wait_for(page, names[-1])


def test_escape_closes_then_clears_then_leaves_the_search(open_page: Open) -> None:
    page = open_page(memories.example())
    look_for(page, "on")
    page.press("Escape")
    assert page.is_hidden("#results")
    assert page.evaluate("document.querySelector('#query').value") == "on"
    page.press("Escape")
    assert page.evaluate("document.querySelector('#query').value") == ""
    page.press("Escape")
    assert focused(page) == "graph"


def test_the_legend_hides_types(open_page: Open) -> None:
    page = open_page(memories.example())
    page.wait(STILL)
    page.click("#types li:first-child label")
    assert page.text("#status") == "11 of 17 shown"
    page.click(".legend-head .plain")
    assert page.text("#status") == ""
    page.evaluate("document.querySelector('#types li:nth-child(2) .only').click()")
    assert page.text("#status") == "2 of 17 shown"
    page.click("#show-table")
    rows = page.texts(".rows .name")
    assert sorted(rows) == ["Harbour", "Lantern"]
    page.click("#show-graph")
    go_to(page, "mei")  # what one goes to is shown, whatever is hidden
    assert page.text("#status") == "8 of 17 shown"


def test_a_table_sorts_filters_and_opens(open_page: Open) -> None:
    page = open_page(memories.example())
    page.click("#show-table")
    names = ".rows .name"
    assert page.texts(names)[0] == "Ada Keller"
    page.click(".headings .name button")
    assert page.attribute(".headings .name", "aria-sort") == "ascending"
    ascending = page.texts(names)
    page.click(".headings .name button")
    assert page.texts(names) == ascending[::-1]
    assert len(ascending) == 17
    look_for(page, "lantern")
    assert page.texts(names) == ["Lantern"]
    page.press("Escape")
    assert len(page.texts(names)) == 17
    page.focus("#table")
    page.press("End", "ArrowUp", "Enter")
    assert chosen(page) == ascending[1]
    page.press("Escape")
    assert focused(page) == "table"
