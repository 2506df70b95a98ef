"""The served page in a real Chromium: it shows each change, corrects the memory, and takes changes back.

The end of each test also demands: no error, no violation of the policy, no request but to its own server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viewer import chromium, memories, serving
from tests.viewer.conftest import Look
from tests.viewer.memories import stored, write
from tests.viewer.steps import READY, STILL, chosen, focused, go_to, look_for, positions, toast, wait_for
from tests.viewer.test_memories import PROBES

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a terminal of its own is had on POSIX systems alone")


def test_the_token_leaves_the_address_and_holds_for_a_reload(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        assert page.evaluate("location.hash") == ""
        seen = page.evaluate("location.href + document.referrer + document.documentElement.outerHTML")
        assert served.token not in seen
        page.reload()
        page.wait(READY)
        assert page.text("#counts") == "16 entities · 22 relations"


def test_a_search_of_which_nothing_holds_the_words_shows_what_comes_near(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        assert look_for(page, "Harbuor project deadlines") == []
        page.wait("document.querySelector('#found').textContent.startsWith('No entity contains these words')")
        assert page.texts(".option-name")[0] == "Harbour"
        page.press("Enter")
        assert chosen(page) == "Harbour"
        look_for(page, "zebra crossing")
        page.wait("document.querySelector('#found').textContent === 'Nothing found'")


def test_it_begins_with_the_entity_that_was_asked_for(memory: Path, look: Look) -> None:
    with serving.serving(memory, "Mei Lin") as served:
        page = look(served)
        assert chosen(page) == "Mei Lin"
        assert page.evaluate("location.hash") == "#Mei%20Lin"


def test_a_change_by_another_program_appears_and_nothing_jumps(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        before = positions(page)
        graph = json.loads(memories.example())
        graph["entities"].append({"name": "Newcomer", "entityType": "person", "observations": ["hello"]})
        graph["relations"].append({"from": "Newcomer", "to": "Mei Lin", "relationType": "meets"})
        write(memory, json.dumps(graph))
        page.wait("document.querySelector('#counts').textContent === '17 entities · 23 relations'")
        page.wait(STILL)
        after = positions(page)
        assert "Newcomer" in after
        names = [one["name"] for one in graph["entities"] if one["name"] in before and one["name"] in after]
        assert len(names) > 10
        moved = [name for name in names if max(abs(a - b) for a, b in zip(before[name], after[name], strict=True)) > 40]
        assert moved == []
        page.click("#changes .fold")
        assert "Added Newcomer; 1 new relation" in page.texts("#change-list bdi")[0]
        page.click("#change-list button")
        toast(page, "Undone: Added Newcomer")
        page.wait("document.querySelector('#counts').textContent === '16 entities · 22 relations'")
        assert [line for line in stored(memory) if "Newcomer" in json.dumps(line)] == []


def test_what_is_looked_at_stays_while_the_memory_changes(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        go_to(page, "ada")
        assert served.edit(do="add fact", entity="Ada Keller", text="Plays the cello").status == 200
        page.wait("[...document.querySelectorAll('.fact')].some(e => e.textContent === 'Plays the cello')")
        assert served.edit(do="rename", name="Ada Keller", to="Ada K.").status == 200
        wait_for(page, "Ada K.")
        assert page.evaluate("location.hash") == "#Ada%20K."
        page.evaluate("document.querySelector('#query').value = ''")
        page.evaluate("document.querySelector('#query').dispatchEvent(new Event('input'))")
        page.click("#show-table")
        assert "Ada K." in page.texts("#table .name bdi")
        served.edit(do="add entity", name="Zed", type="person", facts=[])
        page.wait("[...document.querySelectorAll('#table .name bdi')].some(e => e.textContent === 'Zed')")
        assert chosen(page) == "Ada K."
        seen = ["Leads the platform team", "Prefers written updates", "Speaks German and English", "Plays the cello"]
        assert served.edit(do="delete entity", name="Ada K.", seen=seen).status == 200
        page.wait("document.querySelector('#panel').hidden")


def test_escape_leaves_an_edit_without_a_change(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        before = memory.read_bytes()
        page = look(served)
        go_to(page, "ada")
        page.focus(".observation-list .small")
        page.press("Enter")
        page.type("something else")
        page.press("Escape")
        assert page.texts(".fact")[0] == "Leads the platform team"
        assert chosen(page) == "Ada Keller"
        assert memory.read_bytes() == before


def test_what_is_being_written_survives_a_change_by_another_program(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        go_to(page, "ada")
        page.focus("section .adding button")
        page.press("Enter")
        page.type("half a senten")
        served.edit(do="add fact", entity="Ada Keller", text="From elsewhere")
        page.wait("document.querySelector('#changes .amount').textContent.trim() === '1'")
        assert page.evaluate("document.querySelector('textarea').value") == "half a senten"
        page.type("ce")
        page.press("Enter")
        page.wait("[...document.querySelectorAll('.fact')].some(e => e.textContent === 'half a sentence')")
        assert "From elsewhere" in page.texts(".fact")


def test_an_edit_of_what_was_changed_meanwhile_is_refused_and_told(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        go_to(page, "ada")
        page.focus(".observation-list .small")
        page.press("Enter")
        page.type(" of today")
        served.edit(do="delete fact", entity="Ada Keller", text="Leads the platform team")
        page.wait("document.querySelector('#changes .amount').textContent.trim() === '1'")
        page.press("Enter")
        toast(page, "changed or deleted meanwhile")
        assert "of today" in page.evaluate("document.querySelector('textarea').value"), "what was written is not lost"


def test_two_pages_agree(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        pages = [look(served), look(served)]
        for page, name in zip(pages, ("ada", "mei"), strict=True):
            go_to(page, name)
            page.focus("section .adding button")
            page.press("Enter")
            page.type(f"note by {name}")
            page.press("Enter")
        for page in pages:
            page.wait("document.querySelector('#changes .amount').textContent.trim() === '2'")
        held = json.dumps(stored(memory))
        assert "note by ada" in held
        assert "note by mei" in held


def test_markup_in_edits_and_in_the_memory_stays_text(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        before = len(page.texts("img, script, b, iframe, link"))
        for probe in PROBES:
            if probe.isprintable():
                assert served.edit(do="add entity", name=probe, type=probe, facts=[probe]).status == 200
                assert served.edit(do="add relation", **{"from": probe, "to": "Mei Lin", "type": probe}).status == 200
        page.wait("parseInt(document.querySelector('#changes .amount').textContent) >= 18")
        page.click("#changes .fold")
        go_to(page, "mei")
        page.evaluate("[...document.querySelectorAll('button')].find(b => b.textContent === 'Add a relation').click()")
        page.press("Escape")
        assert len(page.texts("img, script, b, iframe, link")) == before
        assert page.evaluate("document.body.dataset.bad") is None


def test_a_page_that_may_only_read_offers_no_change(memory: Path, look: Look) -> None:
    with serving.serving(memory, "--read-only") as served:
        page = look(served)
        go_to(page, "ada")
        assert page.texts(".item-tools, .edit-actions, .adding") == []
        assert page.is_hidden("#add")
        assert page.text("#source").endswith(" · read-only")


def test_an_empty_memory_fills_while_it_is_looked_at(tmp_path: Path, look: Look) -> None:
    memory = tmp_path / "memory.jsonl"
    memory.write_text("")
    with serving.serving(memory) as served:
        page = look(served)
        assert page.text("#notice").startswith("This memory is empty.")
        served.edit(do="add entity", name="First", type="t", facts=[])
        page.wait("document.querySelector('#notice').hidden")
        page.wait(STILL)
        assert "First" in positions(page)


def test_the_end_of_the_program_is_told(memory: Path, look: Look) -> None:
    with serving.serving(memory) as served:
        page = look(served)
        assert served.end() == 0
        page.wait("!document.querySelector('#banner').hidden")
        assert page.text("#banner").startswith("Not connected")
        go_to(page, "ada")


def test_several_memories_are_chosen_from(tmp_path: Path, look: Look) -> None:
    write(tmp_path / "memory.jsonl", memories.graph([("Default thing", "t", [])], []))
    write(tmp_path / "memory-work.jsonl", memories.graph([("Work thing", "t", [])], []))
    command = serving.view_command("--profile", "work")
    with serving.running(command, {"MEMORY_SERVER_HOME": str(tmp_path)}) as served:
        page = look(served)
        assert page.texts("h1 option") == ["memory-work.jsonl", "memory.jsonl"]
        assert "Work thing" in positions(page)
        page.evaluate("window.before = true; document.querySelector('h1 select').value = 'memory.jsonl'")
        page.evaluate("setTimeout(() => document.querySelector('h1 select').dispatchEvent(new Event('change')))")
        page.wait(f"window.before === undefined && {READY}")  # loaded anew
        assert page.evaluate("document.querySelector('h1 select').value") == "memory.jsonl"
        page.wait(STILL)
        assert "Default thing" in positions(page)
        assert focused(page)


def test_a_large_memory_changes_in_the_overview_and_nothing_jumps(tmp_path: Path, look: Look) -> None:
    memory = tmp_path / "memory.jsonl"
    graph = json.loads(memories.many(3000))
    write(memory, json.dumps(graph))
    with serving.serving(memory) as served:
        page = look(served)
        assert page.text("#status").startswith("3,000 entities in")
        before = positions(page)
        graph["entities"].append({"name": "Newcomer", "entityType": "person", "observations": []})
        graph["relations"].append({"from": "Newcomer", "to": graph["entities"][0]["name"], "relationType": "meets"})
        write(memory, json.dumps(graph))
        page.wait("document.querySelector('#counts').textContent.startsWith('3,001 entities')")
        page.wait(STILL)
        after = positions(page)
        assert len(before.keys() & after.keys()) > 20
        assert all(before[name] == after[name] for name in before.keys() & after.keys())
        go_to(page, "newcomer")
        assert "Newcomer" in positions(page)
        graph["entities"] = [one for one in graph["entities"] if one["name"] != "Newcomer"]
        graph["relations"] = [one for one in graph["relations"] if one["from"] != "Newcomer"]
        write(memory, json.dumps(graph))
        page.wait("document.querySelector('#panel').hidden")
        page.wait("document.querySelector('#counts').textContent.startsWith('3,000 entities')")


def test_pages_and_assistants_write_at_once_and_nothing_is_lost(memory: Path, look: Look) -> None:
    """Two pages, and two programs that change the file as an assistant's server does, each ten times."""
    code = (
        "import sys; from memory_app.storage.store import Store; from memory_app.tools import table;"
        "store = Store(sys.argv[1], lambda notice: None);"
        "done = [store.submit(table.plan('add_observations', {'observations': [{'entityName': 'Mei Lin',"
        " 'contents': [f'{sys.argv[2]} {n}']}]}).apply).result() for n in range(10)]; store.close()"
    )
    environ = {**os.environ, "PYTHONPATH": str(serving.ROOT)}
    with serving.serving(memory) as served:
        pages = [look(served), look(served)]
        others = [
            subprocess.Popen([sys.executable, "-c", code, str(memory), name], env=environ) for name in ("one", "two")
        ]
        for page in pages:
            go_to(page, "mei lin")
        for number in range(10):
            for page, name in zip(pages, ("left", "right"), strict=True):
                page.evaluate("document.querySelector('section .adding button').click()")
                page.wait("document.activeElement.tagName === 'TEXTAREA'")
                page.type(f"{name} {number}")
                page.press("Enter")
                page.wait("document.querySelector('textarea') === null")
        assert [other.wait(serving.PATIENCE) for other in others] == [0, 0]
        wanted = {f"{name} {number}" for name in ("left", "right", "one", "two") for number in range(10)}
        [entity] = [line for line in stored(memory) if line.get("name") == "Mei Lin"]
        assert wanted <= set(entity["observations"])
        for page in pages:
            page.wait(f"document.querySelectorAll('.fact').length === {len(entity['observations'])}")
            assert page.texts(".fact") == entity["observations"]


def test_a_page_of_another_site_can_neither_read_nor_change_anything(
    memory: Path, browser: chromium.Browser, tmp_path: Path
) -> None:
    before = memory.read_bytes()
    hostile = tmp_path / "hostile.html"
    edit = json.dumps({"do": "delete entity", "name": "Ada Keller", "seen": []})
    with serving.serving(memory) as served:
        base = f"http://{served.host}"
        hostile.write_text(
            "<!doctype html><iframe name=inside></iframe><script>"
            f"const ask = (path, options) => fetch('{base}' + path, options).then("
            "async (r) => r.type === 'opaque' ? 'opaque' : 'read ' + (await r.text()), () => 'refused');"
            f"const body = JSON.stringify({edit});"
            "Promise.all([ask('/graph?memory=memory.jsonl'), ask('/graph?memory=memory.jsonl', { mode: 'no-cors' }),"
            "ask('/edit?memory=memory.jsonl', { method: 'POST', body, mode: 'no-cors' }),"
            "ask('/edit?memory=memory.jsonl', { method: 'POST', body, headers: { 'content-type': 'application/json',"
            f" authorization: 'Bearer {served.token}' }} }})]).then((found) => (window.found = found));"
            "const form = document.createElement('form');"
            f"Object.assign(form, {{ method: 'post', enctype: 'text/plain', action: '{base}/edit' }});"
            "form.target = 'inside';"
            "form.append(Object.assign(document.createElement('input'), { name: body, value: '' }));"
            "document.body.append(form); form.submit();</script>",
            encoding="utf-8",
        )
        with browser.page(hostile) as page:
            page.wait("window.found")
            # Even with the token, if it ever got out: the origin is another one.
            assert page.evaluate("window.found") == ["refused"] * 4
        assert memory.read_bytes() == before
        assert served.end() == 0
        assert served.process.stderr is not None
        assert served.token.encode() not in served.process.stderr.read(), "nor is it in what was logged"
