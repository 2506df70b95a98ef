"""axe has nothing to complain about in any state of the page: light, dark and forced colours, desktop and phone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.viewer import axe, chromium, memories, serving
from tests.viewer.conftest import Look, Open
from tests.viewer.steps import STILL, go_to, look_for, toast

LOOKS: Final = {
    "light": {"prefers_color_scheme": "light"},
    "dark": {"prefers_color_scheme": "dark"},
    "forced": {"forced_colors": "active", "prefers_color_scheme": "dark"},
}
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")
States = Mapping[str, Callable[[chromium.Page], object]]


def button(page: chromium.Page, text: str) -> None:
    page.evaluate(
        f"[...document.querySelectorAll('button')].find(b => b.textContent === {chromium.quoted(text)}).click()"
    )


def table(page: chromium.Page, rows: str) -> None:
    page.click("#show-table")
    page.click(f"#rows-{rows}")


def relation_type(page: chromium.Page) -> None:
    look_for(page, "works on")
    page.press("Enter")


def details(page: chromium.Page, text: str = "") -> None:
    page.click("#show-graph")
    go_to(page, "ada")
    if text:
        button(page, text)


def timeline(page: chromium.Page) -> None:
    page.click("#show-timeline")
    page.wait("!document.querySelector('#moment').disabled")


def looking_back(page: chromium.Page) -> None:
    timeline(page)
    page.click("#earlier")
    page.wait("document.body.hasAttribute('data-past')")
    page.click("#what-changed")
    page.wait("document.querySelector('#until')")


def refused(page: chromium.Page) -> None:
    """What somebody else was quicker with."""
    page.click("#add")
    page.wait("document.querySelector('.question')?.open")
    page.type("Ada Keller")
    page.press("Enter")
    toast(page, "already")


# One page goes through all of them: each begins where `leave` ends the one before.
STATES: Final[States] = {
    "graph": lambda page: page.wait(STILL),
    "results": lambda page: look_for(page, "ada"),
    "nothing found": lambda page: look_for(page, "zzzz"),
    "details": details,
    "type": relation_type,
    "beginning of a way": lambda page: details(page, "Path to …"),
    "help": lambda page: page.click("#help") if page.box("#help")[2] else None,
    "picture": lambda page: page.click("#picture"),
    "entities": lambda page: table(page, "entities"),
    "relations": lambda page: table(page, "relations"),
}
EDITS: Final[States] = {
    "changes": lambda page: page.click("#changes .fold"),
    "details": details,
    "adding a fact": lambda page: details(page, "Add an observation"),
    "adding a relation": lambda page: details(page, "Add a relation"),
    "renaming": lambda page: details(page, "Rename"),
    "merging": lambda page: details(page, "Merge"),
    "deleting": lambda page: details(page, "Delete"),
    "adding an entity": lambda page: page.click("#add"),
    "refused": refused,
    "timeline": timeline,
    "looking back": looking_back,
}
READING: Final[States] = {
    "details": details,
    "changes": lambda page: page.click("#changes .fold"),
    "looking back": looking_back,
}


def leave(page: chromium.Page) -> None:
    page.evaluate("document.querySelectorAll('dialog[open]').forEach(one => one.close())")
    page.evaluate("document.querySelector('#timeline').hidden || document.querySelector('#show-timeline').click()")
    page.wait("document.querySelector('#timeline').hidden")
    for _ in range(3):
        page.press("Escape")
    page.evaluate("document.querySelector('#query').value = ''")


def found(page: chromium.Page, states: States, text: str) -> dict[str, list[str]]:
    """The violations of each state that has any, in each look. A phone has the same colours, so one look is enough."""
    page.call("Page.setBypassCSP", enabled=True)
    all_of_them = {}
    looks = LOOKS if page.evaluate("innerWidth > 720") else {"light": LOOKS["light"]}
    for name, go in states.items():
        go(page)
        for look, media in looks.items():
            page.pretend(prefers_reduced_motion="reduce", **media)
            page.evaluate("new Promise(requestAnimationFrame)")
            all_of_them[f"{name}, {look}"] = axe.violations(page, text, colours=look != "light")
        leave(page)
    return {name: some for name, some in all_of_them.items() if some}


@pytest.fixture(scope="module")
def text() -> str:
    return axe.script()


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_in_any_state(open_page: Open, text: str, width: int) -> None:
    assert found(open_page(memories.example(), width=width), STATES, text) == {}


@ON_POSIX
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_while_the_memory_is_corrected(memory: Path, look: Look, text: str, width: int) -> None:
    with serving.serving(memory) as served:
        page = look(served, width=width)
        assert served.edit(do="add fact", entity="Mei Lin", text="Back in April").status == 200
        page.wait("document.querySelector('#changes .amount').textContent.trim() === '1'")
        assert found(page, EDITS, text) == {}


@ON_POSIX
def test_axe_finds_nothing_where_nothing_can_be_changed_or_the_program_has_ended(
    memory: Path, look: Look, text: str
) -> None:
    with serving.serving(memory) as served:
        assert served.edit(do="delete fact", entity="Mei Lin", text="Data scientist").status == 200
        assert served.end() == 0
    with serving.serving(memory, "--read-only") as served:
        page = look(served)
        assert found(page, READING, text) == {}
        assert served.end() == 0
        page.wait("!document.querySelector('#banner').hidden")
        assert found(page, {"not connected": lambda page: None}, text) == {}


def test_axe_does_find_what_is_wrong(open_page: Open, text: str) -> None:
    page = open_page(memories.example())
    page.call("Page.setBypassCSP", enabled=True)
    page.evaluate("document.querySelector('#theme').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('#theme').removeAttribute('title')")
    page.evaluate("document.querySelector('#counts').style.color = '#f0f0f0'")
    rules = {one.partition(":")[0] for one in axe.violations(page, text)}
    assert rules == {"button-name", "color-contrast"}
