"""The timeline of the served page in a real Chromium: earlier states, what each change did, and the way back to now.

The end of each test also demands: no error, no violation of the policy, no request but to its own server.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_app.storage import history
from tests.commands.running import run
from tests.viewer import chromium, memories, serving
from tests.viewer.conftest import Look, Open
from tests.viewer.memories import stored, write
from tests.viewer.serving import Served
from tests.viewer.steps import STILL, chosen, drawn, focused, go_to, toast
from tests.viewer.test_memories import PROBES

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")

HARBOUR = ["Moves billing", "Deadline is the end of the second quarter"]
FACT = "On leave until March"
PAST = "document.body.hasAttribute('data-past')"


class Changed(Served):
    """Served, and changed before anybody looked: an observation of Mei Lin is gone, then Harbour, then Zed came."""

    def __init__(self, served: Served, memory: Path) -> None:
        super().__init__(served.process, served.address)
        self.memory = memory


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    memory = tmp_path_factory.mktemp("changed") / "memory.jsonl"
    write(memory, memories.example())
    with serving.serving(memory) as served:
        change(served)
        yield Changed(served, memory)


def change(served: Served) -> None:
    assert served.edit(do="delete fact", entity="Mei Lin", text=FACT).status == 200
    assert served.edit(do="delete entity", name="Harbour", seen=HARBOUR).status == 200
    assert served.edit(do="add entity", name="Zed", type="person", facts=["new here"]).status == 200


def open_timeline(page: chromium.Page) -> None:
    page.focus("#graph")
    page.press("t")
    page.wait("document.activeElement.id === 'moment'")


def counts(page: chromium.Page, text: str) -> None:
    page.wait(f"document.querySelector('#counts').textContent === {chromium.quoted(text)}")
    page.wait(STILL)


def test_one_looks_back_and_returns_by_keys_alone(changed: Changed, look: Look) -> None:
    before = changed.memory.read_bytes()
    page = look(changed)
    open_timeline(page)
    assert page.text("#moment-text") == "The memory now"
    page.press("ArrowLeft", "ArrowLeft")
    counts(page, "16 entities · 22 relations")
    assert "Harbour" in {one["text"] for one in drawn(page)}
    assert page.text("#moment-text").startswith("Read only: before ")
    assert page.text("#moment-text").endswith(" (forget)")
    assert page.text("#live").startswith("The memory as it was before ")
    assert page.attribute("#moment", "aria-valuetext") == page.text("#moment-text").removeprefix("Read only: ")
    page.press("ArrowLeft")
    page.wait("document.querySelector('#panel .fact')")
    page.press("ArrowRight", "ArrowRight", "ArrowRight")
    page.wait(f"!{PAST}")
    counts(page, "16 entities · 17 relations")
    assert "Harbour" not in {one["text"] for one in drawn(page)}
    assert page.is_hidden("#panel")
    page.press("t")
    page.wait("document.querySelector('#timeline').hidden")
    assert focused(page) == "show-timeline"
    assert changed.memory.read_bytes() == before


def test_what_a_change_did_is_told_as_diff_tells_it(changed: Changed, look: Look, tmp_path: Path) -> None:
    page = look(changed)
    open_timeline(page)
    page.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    page.wait("document.querySelector('#panel .fact')")
    assert page.texts("#panel h3") == ["Gone observations 1"]
    assert page.texts("#panel section bdi, #panel .fact") == ["Mei Lin", FACT]
    page.focus("#until")
    page.press("ArrowDown")
    page.wait("document.querySelectorAll('#panel h3').length > 1")
    assert focused(page) == "until"
    told = run("diff", first(changed.memory), "--json", "--file", changed.memory, home=tmp_path).json()
    assert told["firstOnly"]["entities"] == ["Harbour"]
    assert page.texts("#panel h3") == [
        "Gone entities 1",
        "Gone observations 1",
        f"Gone relations {len(told['firstOnly']['relations'])}",
        "New entities 1",
    ]
    page.press("Escape")
    assert page.is_hidden("#panel")
    assert page.evaluate(PAST), "closing the details is no way back"


def first(memory: Path) -> str:
    return history.generations(str(memory.resolve()))[-1].stamp


def test_the_past_is_marked_and_offers_no_change(changed: Changed, look: Look) -> None:
    page = look(changed)
    go_to(page, "mei")
    assert FACT not in page.texts(".fact")
    page.click("#show-timeline")
    page.wait("!document.querySelector('#earlier').disabled")
    for _ in range(3):
        page.click("#earlier")
    page.wait(f"[...document.querySelectorAll('.fact')].some(e => e.textContent === {chromium.quoted(FACT)})")
    assert chosen(page) == "Mei Lin", "an entity is looked at through time"
    assert page.texts(".item-tools, .edit-actions, .adding") == []
    assert page.is_hidden("#add")
    assert page.evaluate("getComputedStyle(document.querySelector('#graph-view'), '::after').borderTopWidth") == "4px"
    page.click("#what-changed")
    page.wait("document.querySelector('#until')")
    page.click("#to-now")
    page.wait(f"!{PAST}")
    assert not page.is_hidden("#add")


def test_changes_meanwhile_wait_until_one_returns(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        change(served)
        page = look(served)
        open_timeline(page)
        page.press("ArrowLeft")
        counts(page, "15 entities · 17 relations")
        graph = json.loads(memories.graph([("Only", "t", [])], []))
        write(memory, json.dumps(graph))
        page.wait("document.querySelector('#changes .amount').textContent.trim() === '4'")
        assert page.text("#counts") == "15 entities · 17 relations"
        page.click("#to-now")
        counts(page, "1 entity · 0 relations")
        assert [one["name"] for one in stored(memory)] == ["Only"]


def test_a_state_that_is_gone_is_told_and_the_present_stays(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        change(served)
        page = look(served)
        open_timeline(page)
        shutil.rmtree(history.folder_of(str(memory.resolve())))
        page.press("ArrowLeft")
        toast(page, "This state is not kept any more")
        assert page.text("#moment-text") == "The memory now"
        assert not page.evaluate(PAST)
        page.press("t", "t")
        page.wait("document.querySelector('#moment-text').textContent === 'No earlier state has been kept yet'")


def test_markup_in_the_past_stays_text(tmp_path: Path, look: Look) -> None:
    memory = tmp_path / "memory.jsonl"
    probes = [probe for probe in PROBES if probe.isprintable()]
    write(memory, memories.graph([("Ann", "t", probes), *((probe, probe, [probe]) for probe in probes)], []))
    with serving.serving(memory) as served:
        for probe in probes:
            assert served.edit(do="add relation", **{"from": probe, "to": "Ann", "type": probe}).status == 200
            assert served.edit(do="delete fact", entity="Ann", text=probe).status == 200
            assert served.edit(do="delete entity", name=probe, seen=[probe]).status == 200
        page = look(served)
        before = len(page.texts("img, script, b, iframe, link"))
        open_timeline(page)
        page.press("Home")
        page.wait("document.querySelector('#until')")
        page.focus("#until")
        page.press("ArrowDown")
        page.wait("document.querySelectorAll('#panel h3').length > 1")
        assert set(probes) <= set(page.texts("#panel .fact"))
        assert set(probes) <= set(page.texts("#panel .end bdi"))
        assert len(page.texts("img, script, b, iframe, link")) == before
        assert page.evaluate("document.body.dataset.bad") is None


def test_what_is_being_written_is_not_lost_by_looking_back(changed: Changed, look: Look) -> None:
    page = look(changed)
    go_to(page, "ada")
    page.focus("section .adding button")
    page.press("Enter")
    page.type("half a sentence")
    page.click("#show-timeline")
    page.wait("!document.querySelector('#earlier').disabled")
    page.click("#earlier")
    toast(page, "Save or cancel what you are writing first.")
    assert page.evaluate("document.querySelector('textarea').value") == "half a sentence"
    assert not page.evaluate(PAST)


def test_a_page_that_was_written_has_no_timeline(open_page: Open) -> None:
    page = open_page(memories.example())
    assert page.is_hidden("#show-timeline")
    page.press("t")
    assert page.is_hidden("#timeline")
