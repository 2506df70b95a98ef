"""axe has nothing to complain about in any state of the page: light, dark and forced colours, desktop and phone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.viewer import axe, chromium, memories, serving
from tests.viewer.conftest import AT_ONCE, Open
from tests.viewer.memories import write
from tests.viewer.steps import READY, STILL, go_to, look_for

LOOKS: Final = {
    "light": {"prefers_color_scheme": "light"},
    "dark": {"prefers_color_scheme": "dark"},
    "forced": {"forced_colors": "active", "prefers_color_scheme": "dark"},
}


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
    go_to(page, "ada")
    if text:
        button(page, text)


# One page goes through all of them: each begins where Escape leaves the one before.
STATES: Final[dict[str, Callable[[chromium.Page], object]]] = {
    "graph": lambda page: page.wait(STILL),
    "results": lambda page: look_for(page, "ada"),
    "nothing found": lambda page: look_for(page, "zzzz"),
    "details": lambda page: go_to(page, "ada"),
    "type": relation_type,
    "beginning of a way": lambda page: details(page, "Way to …"),
    "help": lambda page: page.click("#help"),
    "picture": lambda page: page.click("#picture"),
    "entities": lambda page: table(page, "entities"),
    "relations": lambda page: table(page, "relations"),
}
EDITS: Final[dict[str, Callable[[chromium.Page], object]]] = {
    "changes": lambda page: page.click("#changes .fold"),
    "details": details,
    "adding a fact": lambda page: details(page, "Add an observation"),
    "adding a relation": lambda page: details(page, "Add a relation"),
    "renaming": lambda page: details(page, "Rename"),
    "merging": lambda page: details(page, "Merge"),
    "deleting": lambda page: details(page, "Delete"),
    "adding an entity": lambda page: page.click("#add"),
}


def leave(page: chromium.Page) -> None:
    page.evaluate("document.querySelectorAll('dialog[open]').forEach(one => one.close())")
    for _ in range(3):
        page.press("Escape")
    page.evaluate("document.querySelector('#query').value = ''")


def found(page: chromium.Page, states: dict[str, Callable[[chromium.Page], object]], text: str) -> dict[str, list[str]]:
    """The violations of each state that has any."""
    all_of_them = {}
    for name, go in states.items():
        go(page)
        page.evaluate("new Promise(requestAnimationFrame)")
        all_of_them[name] = axe.violations(page, text)
        leave(page)
    return {name: some for name, some in all_of_them.items() if some}


@pytest.fixture(scope="module")
def text() -> str:
    return axe.script()


@pytest.mark.parametrize(("look", "width"), [*((look, 1280) for look in LOOKS), ("light", 390)])
def test_axe_finds_nothing_in_any_state(open_page: Open, text: str, look: str, width: int) -> None:
    page = open_page(memories.example(), width=width, height=800, **LOOKS[look])
    page.call("Page.setBypassCSP", enabled=True)
    assert found(page, STATES, text) == {}


@pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_while_the_memory_is_corrected(
    browser: chromium.Browser, tmp_path: Path, text: str, look: str
) -> None:
    memory = tmp_path / "memory.jsonl"
    write(memory, memories.example())
    with (
        serving.serving(memory) as served,
        browser.page(served.address, width=1280, height=800, **(AT_ONCE | LOOKS[look])) as page,
    ):
        page.wait(READY)
        assert served.edit(do="add fact", entity="Mei Lin", text="Back in April").status == 200
        page.wait("document.querySelector('#changes .amount').textContent.trim() === '1'")
        page.call("Page.setBypassCSP", enabled=True)
        assert found(page, EDITS, text) == {}
