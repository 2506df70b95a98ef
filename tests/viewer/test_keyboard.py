"""Every action of the page by keys alone, in a real Chromium: nothing here clicks, or gives the focus to anything.

The end of each test also demands: no error, no violation of the policy, no request but to its own server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.viewer import chromium, memories, serving
from tests.viewer.conftest import Look, Open
from tests.viewer.memories import stored, write
from tests.viewer.serving import Served
from tests.viewer.steps import STILL, chosen, drawn, focused, look_for, toast, wait_for

ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")
MOST_TABS: Final = 90  # more than the page has places


def tab_to(page: chromium.Page, name: str) -> None:
    """Go on with Tab until something of this id, text or label has the focus, and shows that it has."""
    active = "document.activeElement"
    for _ in range(MOST_TABS):
        if name in page.evaluate(f"[{active}.id, {active}.textContent.trim(), {active}.getAttribute('aria-label')]"):
            assert page.evaluate("document.activeElement.matches(':focus-visible')")
            return
        page.press("Tab")
    raise AssertionError(f"Tab does not reach {name}")


def do(page: chromium.Page, name: str) -> None:
    tab_to(page, name)
    page.press("Enter")


def begin_with(page: chromium.Page, query: str) -> None:
    """Search, and open the first entity that is found."""
    assert look_for(page, query)
    page.press("Enter")
    page.wait("!document.querySelector('#panel').hidden")
    page.wait(STILL)
    assert focused(page) == "panel-name"


def fill(page: chromium.Page, *texts: str) -> None:
    """Fill the fields of the question that is open, one after another, and agree."""
    page.wait("document.querySelector('.question')?.open")
    for number, text in enumerate(texts):
        if number:
            page.press("Tab")
        page.evaluate("document.activeElement.select?.()")  # as Ctrl+A does
        page.type(text)
    page.press("Enter")
    page.wait("document.querySelector('.question') === null")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    memory = tmp_path_factory.mktemp("keyboard") / "memory.jsonl"
    write(memory, memories.example())
    with serving.serving(memory) as found:
        yield found, memory


@ON_POSIX
def test_an_entity_is_added_renamed_retyped_merged_and_deleted_and_all_of_it_undone(
    served: tuple[Served, Path], look: Look
) -> None:
    """One page, so that each step also shows where the last one left the focus."""
    page, memory = look(served[0]), served[1]
    before = stored(memory)
    do(page, "add")
    fill(page, "Crane", "system")
    wait_for(page, "Crane")
    assert focused(page) == "panel-name"
    do(page, "Rename")
    fill(page, "Harbour crane")
    wait_for(page, "Harbour crane")
    do(page, "Change type")
    fill(page, "machine")
    page.wait("document.querySelector('#panel .kind').textContent === 'machine'")
    do(page, "Add a relation")
    page.wait("document.querySelector('.question')?.open")
    page.press("ArrowDown", "ArrowUp", "Tab")  # the direction, which stays
    page.type("stands in")
    page.press("Tab")
    page.type("Harbour")
    page.press("Enter")
    toast(page, "Added Harbour crane stands in Harbour")
    do(page, "Delete relation")
    toast(page, "Deleted Harbour crane stands in Harbour")
    do(page, "Merge")
    fill(page, "Harbour")
    wait_for(page, "Harbour")
    do(page, "Delete")
    page.wait("document.querySelector('.question')?.open")
    do(page, "Delete")
    page.wait("document.querySelector('#panel').hidden")
    toast(page, "Deleted Harbour")
    assert not any(one.get("name") == "Harbour" for one in stored(memory))
    do(page, "Last changes 7")
    undos = [f"Undo: {text}" for text in page.texts("#change-list bdi")]
    for undo in undos:
        do(page, undo)
        toast(page, undo.replace("Undo: ", "Undone: "))
    assert sorted(map(str, stored(memory))) == sorted(map(str, before))


@ON_POSIX
def test_an_observation_is_added_edited_and_deleted(served: tuple[Served, Path], look: Look) -> None:
    page, memory = look(served[0]), served[1]
    begin_with(page, "winter")
    do(page, "Add an observation")
    page.type("Middlemarch")
    page.press("Enter")
    page.wait("document.querySelector('.fact')?.textContent === 'Middlemarch'")
    do(page, "Edit observation")
    page.evaluate("document.activeElement.select()")
    page.type("Emma")
    page.press("Enter")
    page.wait("document.querySelector('.fact')?.textContent === 'Emma'")
    [entity] = [line for line in stored(memory) if line.get("name") == "Winter reading list"]
    assert entity["observations"] == ["Emma"]
    do(page, "Delete observation")
    page.wait("document.querySelector('.fact') === null")
    do(page, "Undo")
    page.wait("document.querySelector('.fact')?.textContent === 'Emma'")


def test_types_of_entities_and_relations_are_filtered(open_page: Open) -> None:
    page = open_page(memories.example())
    page.wait(STILL)
    do(page, "Relations 17")
    page.press("Tab")
    page.press(" ")
    page.wait(STILL)
    assert "works on" not in {one["text"] for one in drawn(page)}
    page.press(" ")
    page.wait(STILL)
    assert "works on" in {one["text"] for one in drawn(page)}
    do(page, "only")
    page.wait(STILL)
    turned = {one["text"] for one in drawn(page) if one["text"] and one["angle"]}
    assert turned == {"works on"}


def test_the_way_and_the_steps_around_an_entity(open_page: Open) -> None:
    page = open_page(memories.example())
    begin_with(page, "tomas")
    do(page, "3")
    page.wait(STILL)
    assert focused(page) == "3", "the focus stays where it was"
    assert page.text("#live").endswith("up to 3 steps away")
    do(page, "Path to …")
    assert focused(page) == "query"
    page.type("mei")
    page.press("ArrowDown", "Enter")
    page.wait("document.querySelector('.way-list')")
    assert page.texts(".way-list .end bdi") == ["Tomás Ferreira", "Harbour", "Ada Keller", "Mei Lin"]
    page.press("Escape")
    assert page.is_hidden("#panel")


def test_table_theme_picture_and_help(open_page: Open) -> None:
    page = open_page(memories.example())
    do(page, "show-table")
    do(page, "rows-relations")
    tab_to(page, "relations")
    page.press("ArrowDown", "Enter")
    assert focused(page) == "panel-name"
    assert chosen(page)
    page.press("Escape")
    assert focused(page) == "relations"
    for opener, dialog in (("picture", "picture-dialog"), ("help", "help-dialog")):
        do(page, opener)
        page.wait(f"document.querySelector('#{dialog}').open")
        page.press("Escape")
        page.wait(f"!document.querySelector('#{dialog}').open")
        assert focused(page) == opener
    do(page, "theme")
    assert page.attribute("html", "data-theme") == "dark"
