"""Relations in a real Chromium: their names, their types, ways between entities, what is near.

The end of each test also demands: no error, no violation of the policy, no request.
"""

from __future__ import annotations

import itertools

import pytest

from tests.viewer import memories
from tests.viewer.conftest import Open
from tests.viewer.steps import STILL, chosen, drawn, focused, go_to, look_for, picture, wait_for

CHAIN = memories.graph(
    [(name, "t", []) for name in ("Ann", "Acme", "Kites", "Wind", "Alone")],
    [("Ann", "works at", "Acme"), ("Kites", "are made by", "Acme"), ("Kites", "need", "Wind")],
)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_small_graph_names_its_relations(open_page: Open, width: int) -> None:
    page = open_page(CHAIN, width=width)
    page.wait(STILL)
    assert {"works at", "are made by", "need"} <= {one["text"] for one in drawn(page)}


def test_names_of_relations_are_upright(open_page: Open) -> None:
    page = open_page(memories.example())
    page.wait(STILL)
    turned = [one for one in drawn(page) if one["text"] and one["angle"] != 0]
    assert len(turned) > 8
    assert all(abs(one["angle"]) <= 1.571 for one in turned)


def test_a_type_of_relation_is_hidden_by_the_legend(open_page: Open) -> None:
    page = open_page(memories.example())
    page.wait(STILL)
    page.click("section:nth-of-type(2) .fold")
    assert page.texts("#relation-types .type-name")[0] == "works on"
    page.click("#relation-types li:first-child label")
    page.wait(STILL)
    assert "works on" not in {one["text"] for one in drawn(page)}
    page.click("#show-table")
    page.click("#rows-relations")
    assert page.attribute("#relations", "aria-rowcount") == "19"
    page.evaluate("document.querySelector('#relation-types li:first-child .only').click()")
    assert page.attribute("#relations", "aria-rowcount") == "5"
    assert set(page.texts("#relations .kind bdi")) == {"works on"}


def test_relations_have_a_table(open_page: Open) -> None:
    page = open_page(memories.example())
    page.click("#show-table")
    page.click("#rows-relations")
    assert page.attribute("#rows-relations", "aria-pressed") == "true"
    page.click("#relations .headings .from button")
    assert page.texts("#relations .rows .from bdi")[0] == "Ada Keller"
    look_for(page, "stores data")
    assert page.texts("#relations .rows .kind bdi") == ["stores data in"] * 2
    page.focus("#relations")
    page.press("ArrowDown", "Enter")
    assert chosen(page) in ("Billing service", "Search index")


def test_search_finds_types_of_relations(open_page: Open) -> None:
    page = open_page(memories.example())
    assert look_for(page, "stores data") == []
    assert page.texts(".option-relation") == ["stores data in"]
    page.press("Enter")
    wait_for(page, "stores data in")
    page.wait(STILL)
    assert page.texts("#panel .end bdi") == ["Billing service", "PostgreSQL 16", "Search index", "PostgreSQL 16"]
    names = {one["text"] for one in drawn(page) if one["text"]}
    assert names == {"Billing service", "PostgreSQL 16", "Search index", "stores data in"}
    page.press("Escape")
    assert page.is_hidden("#panel")


def test_an_entity_of_the_name_comes_before_a_type_of_relation(open_page: Open) -> None:
    graph = memories.graph([("Knowledge", "t", []), ("b", "t", ["you know"])], [("b", "knows", "Knowledge")])
    page = open_page(graph)
    look_for(page, "know")
    assert page.texts("#options > li > bdi:first-of-type") == ["Knowledge", "knows", "b"]


def test_what_matched_is_marked_in_results_and_details(open_page: Open) -> None:
    facts = [f"fact {number}" for number in range(300)] + ["Er trägt Straßenschuhe im Café"]
    page = open_page(memories.graph([("Ann", "person", facts), ("Ben", "person", [])], []))
    look_for(page, "STRASSEN")
    assert page.texts("#options mark") == ["Straßen"]
    page.press("Enter")
    page.wait("document.querySelector('.fact mark')")
    assert page.texts(".fact mark") == ["Straßen"]
    _, top, _, height = page.box(".fact mark")
    assert 0 < top < 800 - height, "it is scrolled to"
    look_for(page, "cafe tragt")
    assert page.texts("#options mark") == ["trägt", "Café"]


def test_the_way_between_two_entities_is_found(open_page: Open) -> None:
    page = open_page(CHAIN)
    go_to(page, "ann")
    page.click("#panel .actions > button")
    assert focused(page) == "query"
    page.type("wind")
    page.press("Enter")
    page.wait("document.querySelector('.way-list')")
    page.wait(STILL)
    assert page.texts(".way-list .end bdi") == ["Ann", "Acme", "Kites", "Wind"]
    assert page.texts(".way-list .verb") == ["↓ works at ", "↑ are made by ", "↓ need "]
    assert focused(page) == "panel-name"
    assert page.text("#live") == "The path has 3 steps."
    page.click(".way-list li:first-child button")
    wait_for(page, "Ann")
    page.focus("#panel .actions > button")
    page.press("Enter")
    page.type("alone")
    page.press("Enter")
    page.wait("document.querySelector('#panel .kind').textContent === 'No way'")


def test_neighbours_are_lit_by_steps(open_page: Open) -> None:
    page = open_page(CHAIN)
    go_to(page, "ann")
    names = []
    for far in (1, 2, 3):
        page.click(f".steps button:nth-of-type({far})")
        page.wait(STILL)
        assert page.texts(".steps [aria-pressed=true]") == [str(far)]
        names.append({one["text"] for one in drawn(page)} & {"Ann", "Acme", "Kites", "Wind", "Alone"})
    assert names == [{"Ann", "Acme"}, {"Ann", "Acme", "Kites"}, {"Ann", "Acme", "Kites", "Wind"}]
    lit = picture(page)
    page.click(".steps button:nth-of-type(1)")
    page.wait(STILL)
    assert picture(page) != lit


def test_steps_bring_in_what_a_large_graph_does_not_show(open_page: Open) -> None:
    names = [f"link {number:05}" for number in range(3000)]
    links = [(one, "next", other) for one, other in itertools.pairwise(names)]
    page = open_page(memories.graph([(name, "t", []) for name in names], links))
    page.wait(STILL)
    go_to(page, "link 02000")
    page.click(".steps button:nth-of-type(3)")
    page.wait(STILL)
    assert {f"link {number:05}" for number in range(1997, 2004)} <= {one["text"] for one in drawn(page)}
