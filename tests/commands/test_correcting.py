"""Correcting by hand: undo, history, diff, add, rename, edit, merge-entities, forget; each is one change."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from memory_app.commands import edit
from memory_app.errors import UsageError
from memory_app.graph.graph import Graph
from memory_app.jsonl import document
from tests.commands.running import Result, entity, relation, run, write
from tests.placing import put

Do = Callable[..., Result]

_ASCII_ONLY: Final = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def do(home: Path, memory: Path) -> Do:
    """Runs a command on the memory."""

    def go(*words: str, **options: Any) -> Result:
        return run(*words, "--file", memory, home=home, **options)

    return go


def tool(do: Do, name: str, **arguments: Any) -> None:
    assert do("call", name, json.dumps(arguments)).status == 0


def facts(memory: Path) -> dict[str, set[str]]:
    graph = Graph.of(document.read(memory.read_bytes()))
    return {name: set(line.observations()) for name, line in graph.entities.items()}


def relations(memory: Path) -> set[tuple[str, str, str]]:
    graph = Graph.of(document.read(memory.read_bytes()))
    return {(one.source, one.relation_type, one.target) for one in graph.first_relations()}


def test_undo_brings_back_what_the_last_change_took_away_and_keeps_what_is_newer(do: Do, memory: Path) -> None:
    tool(do, "delete_entities", entityNames=["Ann"])
    tool(do, "add_observations", observations=[{"entityName": "Acme", "contents": ["is newer"]}])
    done = do("undo")
    assert done.status == 0
    assert "Ann" in done.out
    assert facts(memory) == {
        "Ann": {"Likes green tea", "Moved to Lisbon in 2024"},
        "Acme": {"Makes anvils", "is newer"},
        "Café Zürich": {"Opens at 8"},
    }
    assert relations(memory) == {("Ann", "works at", "Acme"), ("Ann", "drinks at", "Café Zürich")}


def test_an_undo_can_be_undone(do: Do, memory: Path) -> None:
    tool(do, "delete_entities", entityNames=["Ann"])
    before = memory.read_bytes()
    assert do("undo").status == 0
    assert do("undo").status == 0
    assert memory.read_bytes() == before
    assert do("undo").status == 0
    assert "Ann" in facts(memory)


def test_an_undo_of_an_undo_keeps_what_was_added_between(do: Do, memory: Path) -> None:
    tool(do, "delete_entities", entityNames=["Ann"])
    do("undo")
    tool(do, "add_observations", observations=[{"entityName": "Ann", "contents": ["is newer"]}])
    do("undo")
    assert facts(memory)["Ann"] == {"is newer"}


def test_unknown_keys_and_the_form_of_observations_come_back(home: Path) -> None:
    path = write(
        home / "memory.jsonl", entity("Ann", "t", [{"text": "sings", "at": 3}, "b"], note="mine"), entity("Bo")
    )
    before = path.read_bytes().split(b"\n")[0]
    for deletion in ('{"entityNames":["Ann"]}',):
        run("call", "delete_entities", deletion, "--file", path, home=home)
    run("undo", "--file", path, home=home)
    assert before in path.read_bytes().split(b"\n")
    run(
        "call",
        "delete_observations",
        '{"deletions":[{"entityName":"Ann","observations":["sings"]}]}',
        "--file",
        path,
        home=home,
    )
    run("undo", "--file", path, home=home)
    assert b'{"text":"sings","at":3}' in path.read_bytes()


def test_a_change_further_back_is_undone_by_its_number_or_time(do: Do, memory: Path) -> None:
    tool(do, "delete_observations", deletions=[{"entityName": "Ann", "observations": ["Likes green tea"]}])
    tool(do, "delete_entities", entityNames=["Acme"])
    listed = do("undo", "--list", "--json").json()
    assert [one["number"] for one in listed] == [1, 2]
    assert listed[0]["beforeOnly"]["entities"] == ["Acme"]
    assert do("undo", "2").status == 0
    assert "Likes green tea" in facts(memory)["Ann"]
    assert "Acme" not in facts(memory)
    assert do("undo", listed[0]["time"]).status == 0
    assert "Acme" in facts(memory)
    assert do("undo", "99").status == 2


def test_a_dry_run_of_undo_changes_nothing(do: Do, memory: Path) -> None:
    tool(do, "delete_entities", entityNames=["Acme"])
    before = (memory.read_bytes(), sorted(os.listdir(f"{memory}.history")))
    assert "would come back" in do("undo", "--dry-run").out
    assert before == (memory.read_bytes(), sorted(os.listdir(f"{memory}.history")))


def test_an_import_can_be_undone(do: Do, home: Path, memory: Path) -> None:
    before = memory.read_bytes()
    other = write(home / "other.jsonl", entity("New", observations=["x"]), entity("Ann", observations=["y"]))
    assert do("import", other).status == 0
    assert do("undo").status == 0
    assert memory.read_bytes() == before


def test_without_a_history_undo_says_where_else_to_look(do: Do) -> None:
    done = do("undo")
    assert done.status == 2
    assert "restore --list" in done.err


def test_history_lists_the_states_and_restore_takes_their_times(do: Do, memory: Path) -> None:
    before = memory.read_bytes()
    tool(do, "delete_entities", entityNames=["Acme"])
    (one,) = do("history", "--json").json()
    assert one["beforeOnly"]["entities"] == ["Acme"]
    assert one["time"] in do("history").out
    assert do("restore", one["time"]).status == 0
    assert memory.read_bytes() == before
    assert do("undo").status == 0
    assert "Acme" not in facts(memory)


def test_history_of_an_entity_tells_when_each_fact_came_and_went(do: Do) -> None:
    tool(do, "add_observations", observations=[{"entityName": "Ann", "contents": ["is newer"]}])
    tool(do, "delete_observations", deletions=[{"entityName": "Ann", "observations": ["Likes green tea"]}])
    told = {one["observation"]: one for one in do("history", "Ann", "--json").json()}
    assert told["Likes green tea"]["orEarlier"]
    assert told["Likes green tea"]["goneBy"]
    assert not told["is newer"]["orEarlier"]
    assert told["is newer"]["goneBy"] is None
    assert "or earlier" in do("history", "Ann").out
    assert do("history", "Nobody").status == 1


def test_restore_lists_backups_and_history_and_takes_every_time_that_it_prints(do: Do, memory: Path) -> None:
    before = memory.read_bytes()
    do("backup")
    for name in ("Ann", "Acme"):
        tool(do, "delete_entities", entityNames=[name])
    lines = do("restore", "--list").out.splitlines()
    assert [line[:5].strip() for line in lines[:3]] == ["", "", "1"]
    assert [key for one in do("restore", "--list", "--json").json() for key in list(one)[:1]] == [
        *("generation", "generation", "backup")
    ]
    for line, wanted in zip(lines, (["Café Zürich", "Acme"], ["Café Zürich", "Acme", "Ann"], None), strict=False):
        match = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", line)
        assert match is not None
        assert do("restore", match[0]).status == 0
        assert memory.read_bytes() == before if wanted is None else sorted(facts(memory)) == sorted(wanted)


def test_undo_takes_every_time_that_its_list_prints(do: Do, memory: Path) -> None:
    for name in ("Ann", "Acme"):
        tool(do, "delete_entities", entityNames=[name])
    older = do("undo", "--list").out.splitlines()[-5:]
    match = next(found for line in older if (found := re.match(r"  2  (\S+ \S+)", line)))
    assert do("undo", match[1]).status == 0
    assert sorted(facts(memory)) == ["Ann", "Café Zürich"]
    assert do("undo", "2000-01-01 00:00:00").status == 2


def test_diff_compares_any_two_states(do: Do, home: Path, memory: Path) -> None:
    other = write(home / "other.jsonl", entity("Ann", "person", ["Likes green tea"]))
    do("backup")
    tool(do, "delete_entities", entityNames=["Acme"])
    (one,) = do("history", "--json").json()
    assert do("diff", "--json").json()["firstOnly"]["entities"] == ["Acme"]
    assert do("diff", one["time"], "--json").json()["firstOnly"]["entities"] == ["Acme"]
    assert do("diff", "1", one["time"], "--json").json()["firstOnly"]["entities"] == []
    assert do("diff", str(other), "--json").json()["secondOnly"]["entities"] == ["Café Zürich"]
    assert "hold the same" in do("diff", "now", "now").out
    assert do("diff", "nothing.jsonl").status == 2


def test_add_adds_facts_and_makes_an_entity(do: Do, memory: Path) -> None:
    assert do("add", "Ann", "Sings", "Likes green tea").status == 0
    assert do("add", "Bo", "Dances", "--type", "person").status == 0
    assert facts(memory)["Ann"] == {"Likes green tea", "Moved to Lisbon in 2024", "Sings"}
    assert entity("Bo", "person", ["Dances"]) in memory.read_text("utf-8")
    assert "Nothing to change" in do("add", "Ann", "Sings").out
    assert do("undo").status == 0
    assert "Bo" not in facts(memory)


def test_rename_takes_relations_along_and_can_be_undone(do: Do, memory: Path) -> None:
    before = facts(memory), relations(memory)
    assert do("rename", "Ann", "Ann Smith").status == 0
    assert "Ann Smith" in facts(memory)
    assert ("Ann Smith", "works at", "Acme") in relations(memory)
    assert do("undo").status == 0
    assert (facts(memory), relations(memory)) == before
    taken = do("rename", "Ann", "Acme")
    assert (taken.status, "Merge the two" in taken.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [("rename", "Zed", "Zoe"), ("forget", "Zed"), ("edit", "Zed"), ("merge-entities", "Zed", "Ann"), ("show", "Zed")],
    ids=lambda words: words[0],
)
def test_what_is_not_found_is_status_1_and_changes_nothing(words: tuple[str, ...], do: Do, memory: Path) -> None:
    before = memory.read_bytes()
    assert do(*words).status == 1
    assert memory.read_bytes() == before


def test_a_name_that_was_meant_is_told(do: Do) -> None:
    assert "Did you mean Acme?" in do("forget", "acme").err


def test_merge_entities_makes_one_of_two(do: Do, memory: Path) -> None:
    tool(do, "create_entities", entities=[{"name": "ann", "entityType": "person", "observations": ["Sings"]}])
    assert do("merge-entities", "ann", "Ann", "--dry-run").status == 0
    assert "ann" in facts(memory)
    assert do("merge-entities", "ann", "Ann").status == 0
    assert "Sings" in facts(memory)["Ann"]
    assert "ann" not in facts(memory)


def editor(home: Path, code: str) -> dict[str, str]:
    """An editor that runs this on `text`, the content of the file."""
    script = home / "editor.py"
    script.write_text(
        "import os, stat, sys\n"
        "path = sys.argv[1]\n"
        "mode = stat.S_IMODE(os.stat(path).st_mode), stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)\n"
        "open(os.path.join(os.path.dirname(sys.argv[0]), 'seen'), 'w').write(f'{path}\\n{mode}')\n"
        "open(path + '~', 'w').write('a copy')\n"
        "text = open(path, encoding='utf-8').read()\n"
        f"{code}\n"
        "open(path, 'w', encoding='utf-8').write(text)\n"
    )
    return {"EDITOR": shlex.join([sys.executable, str(script)])}


def test_edit_applies_the_difference(do: Do, home: Path, memory: Path) -> None:
    env = editor(home, "text = text.replace('green tea', 'coffee') + 'Has a \\\\n cat\\n'")
    assert do("edit", "Ann", env=env).status == 0
    graph = Graph.of(document.read(memory.read_bytes()))
    assert graph.entities["Ann"].observations() == ["Likes coffee", "Moved to Lisbon in 2024", "Has a \n cat"]
    path, mode = (home / "seen").read_text().split("\n")
    assert mode == f"({0o600}, {0o700})"
    assert not os.path.exists(os.path.dirname(path))


@pytest.mark.parametrize(
    ("code", "status"),
    [
        pytest.param("sys.exit(3)", 2, id="the editor fails"),
        pytest.param("text = ''", 0, id="all is gone"),
        pytest.param("text += 'a \\\\q\\n'", 2, id="an escape that means nothing"),
        pytest.param("open(path, 'wb').write(b'\\xff\\xfe'); sys.exit(0)", 2, id="no UTF-8"),
        pytest.param("os.unlink(path); sys.exit(0)", 2, id="no file"),
    ],
)
def test_a_mistake_in_the_editor_changes_nothing(code: str, status: int, do: Do, home: Path, memory: Path) -> None:
    before = memory.read_bytes()
    assert do("edit", "Ann", env=editor(home, code)).status == status
    assert memory.read_bytes() == before
    assert not os.path.exists(os.path.dirname((home / "seen").read_text().split("\n")[0]))


@pytest.mark.parametrize(
    ("code", "status"),
    [
        pytest.param("text += 'an hour of work \\\\x'", 2, id="an escape that means nothing"),
        pytest.param("text += 'an hour of work'; os.rename('memory.jsonl', 'elsewhere')", 1, id="the entity has gone"),
        pytest.param("text += 'an hour of work'; os.chmod('memory.jsonl', 0o400)", 2, id="it cannot be stored"),
    ],
)
def test_what_was_typed_and_cannot_be_stored_is_kept(code: str, status: int, do: Do, home: Path) -> None:
    temporary = home / "temporary"
    temporary.mkdir()
    done = do(
        "edit", "Ann", env={**editor(home, f"import os; {code}"), "TMPDIR": str(temporary), "TEMP": str(temporary)}
    )
    assert done.status == status
    (kept,) = temporary.glob("memory-*/facts.txt")
    assert "an hour of work" in kept.read_text("utf-8") and str(kept) in done.err


@pytest.mark.skipif(os.name == "nt", reason="arguments there are UTF-16")
@pytest.mark.parametrize("words", [("add", "Ann", b"caf\xe9"), ("add", b"\xe9", "x"), ("rename", "Ann", b"\xe9")])
def test_bytes_that_are_no_utf8_are_refused_where_they_would_be_stored(words: tuple[Any, ...], do: Do) -> None:
    done = do(*(os.fsdecode(word) for word in words))
    assert done.status == 2
    assert "is not valid UTF-8" in done.err and len(done.err.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="arguments there are UTF-16")
def test_utf8_that_the_locale_could_not_decode_is_stored_as_it_is(do: Do, memory: Path) -> None:
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert do("add", "Ann", "sails to Curaçao", env=bare).status == 0
    assert "sails to Curaçao" in facts(memory)["Ann"]


def test_what_is_stored_while_the_editor_is_open_stays(do: Do, home: Path, memory: Path) -> None:
    new = entity("Ann", "person", ["Likes green tea", "Moved to Lisbon in 2024", "is newer"])
    old = entity("Ann", "person", ["Likes green tea", "Moved to Lisbon in 2024"])
    code = (
        f"memory = open({str(memory)!r}, encoding='utf-8').read()\n"
        f"open({str(memory)!r}, 'w', encoding='utf-8').write(memory.replace({old!r}, {new!r}))\n"
        "text = text.replace('Likes green tea\\n', '')"
    )
    assert do("edit", "Ann", env=editor(home, code)).status == 0
    assert facts(memory)["Ann"] == {"Moved to Lisbon in 2024", "is newer"}


@pytest.mark.parametrize(
    "fact", ["# a title", "two\nlines", "a \\n b", "back\\slash", "tab\there", "\r\nx", "  spaces  "]
)
def test_every_fact_comes_through_the_editor_as_it_was(fact: str) -> None:
    assert edit.read(edit.text_for_editor("Ann", ["first", fact])) == ["first", fact]


def test_an_escape_that_means_nothing_is_named_with_its_line() -> None:
    with pytest.raises(UsageError, match="line 2"):
        edit.read("# Ann\na \\x\n")


def test_forget_is_undone_by_undo(do: Do, memory: Path) -> None:
    before = facts(memory), relations(memory)
    assert do("forget", "Ann", "Acme").status == 0
    assert set(facts(memory)) == {"Café Zürich"}
    assert do("undo").status == 0
    assert (facts(memory), relations(memory)) == before


def test_a_command_whose_change_cannot_be_undone_says_so_once(do: Do, home: Path, memory: Path) -> None:
    (home / "memory.jsonl.history").touch()
    done = do("forget", "Ann", "Acme")
    assert (done.status, done.err.count("earlier states cannot be kept")) == (0, 1)
    assert set(facts(memory)) == {"Caf\u00e9 Z\u00fcrich"}


def test_forget_everywhere_leaves_no_byte_of_it_under_the_folder(do: Do, home: Path, memory: Path) -> None:
    secret = "PIN é 4711"
    tool(do, "add_observations", observations=[{"entityName": "Ann", "contents": [secret]}])
    do("backup")
    do("backup", "--to", str(home / "safe"))
    tool(do, "delete_observations", deletions=[{"entityName": "Ann", "observations": [secret]}])
    write(home / "memory.jsonl.20260101T000000Z.replaced", entity("Ann", "t", [secret]), entity("Bo"))
    do("restore", "1")
    do("undo")
    assert do("forget", "Ann", "--everywhere").status == 2  # it asks, and there is nobody to answer
    assert do("forget", "Ann", "--everywhere", "--dry-run").status == 0
    done = do("forget", "Ann", "--everywhere", "--yes", "--from", str(home / "safe"))
    assert (done.status, done.err) == (0, "")
    for where, _, names in os.walk(home):
        for name in names:
            data = Path(where, name).read_bytes()
            assert secret.encode() not in data, name
            assert b"4711" not in data, name
            assert b'"Ann"' not in data, name
    assert set(facts(memory)) == {"Acme", "Café Zürich"}
    assert stat.S_IMODE(Path(done.out.split("\n")[1].strip()).stat().st_mode) == stat.S_IMODE(memory.stat().st_mode)
    assert do("restore", "--dry-run").status == 0
    assert do("forget", "Ann", "--everywhere", "--yes").status == 1


def test_forget_everywhere_finds_a_name_however_it_is_written(do: Do, home: Path, memory: Path) -> None:
    name = "Caf\u00e9 Z\u00fcrich"
    lines = [entity(name, "t", ["PIN \u00e9 4711"]), entity("Bo"), relation("Bo", name, "knows")]
    text = "".join(f"{line}\n" for line in lines)
    kept = home / "memory.jsonl.history"
    kept.mkdir()
    put(kept / "20990101T000000.000Z.jsonl", unicodedata.normalize("NFD", text))
    put(kept / "20990101T000001.000Z.jsonl", "\n".join(json.dumps(json.loads(line)) for line in lines) + "\n")
    put(kept / "20990101T000002.000Z.jsonl", relation("Bo", "Cafe\u0301 Zu\u0308rich", "knows") + "\n")
    (home / "memory.jsonl.20260101T000000Z.bak").write_bytes(text.encode("utf-16"))
    put(home / f"memory.jsonl.{'a' * 32}.tmp", text)
    done = do("forget", name, "--everywhere", "--yes")
    assert (done.status, done.err) == (0, "")
    for where, _, names in os.walk(home):
        for one in names:
            data = Path(where, one).read_bytes()
            assert b"4711" not in data, one
            for encoding in ("utf-8", "utf-16"):
                assert "rich" not in data.decode(encoding, "replace"), one


@pytest.mark.parametrize(
    "left",
    [
        pytest.param('{"broken": "Likes gre\\u0065n tea', id="an escape"),
        pytest.param('["{\\"said\\":\\"Likes gre\\\\u0065n tea"', id="JSON in JSON"),
        pytest.param("Moved to Lisbon in 2024", id="no JSON at all"),
    ],
)
def test_forget_everywhere_names_what_it_cannot_read_however_the_words_are_written(
    left: str, do: Do, home: Path
) -> None:
    put(home / "memory.jsonl.20260101T000000Z.unreadable", left)
    done = do("forget", "Ann", "--everywhere", "--yes")
    assert (done.status, "20260101T000000Z.unreadable" in done.err) == (1, True)


def test_forget_everywhere_leaves_the_days_of_other_facts_as_they_were(do: Do, home: Path, memory: Path) -> None:
    tool(do, "delete_entities", entityNames=["Caf\u00e9 Z\u00fcrich"])
    (one,) = (home / "memory.jsonl.history").glob("*.jsonl")
    os.utime(one, (1_700_000_000.5, 1_700_000_000.5))
    assert do("forget", "Ann", "--everywhere", "--yes").status == 0
    assert one.stat().st_mtime == 1_700_000_000
    assert "2023-11-1" in do("history", "Acme").out


def test_forget_everywhere_names_the_files_that_still_hold_its_words(do: Do, home: Path, memory: Path) -> None:
    tool(do, "add_observations", observations=[{"entityName": "Acme", "contents": ["employs Ann"]}])
    torn = home / "memory.jsonl.20260101T000000Z.unreadable"
    torn.write_text('{"type":"entity","name":"Ann","observations":["Likes green')
    done = do("forget", "Ann", "--everywhere", "--yes")
    assert done.status == 1
    assert str(memory) in done.err
    assert torn.name in done.err


def test_search_takes_a_type_and_tells_by_its_status_that_nothing_is_there(do: Do) -> None:
    assert "Acme" in do("search", "*", "--type", "Company").out
    found = do("search", "*", "--type", "company", "--json").json()
    assert [one["name"] for one in found["entities"]] == ["Acme"]
    assert do("search", "Ann", "--type", "company").status == 1


def test_show_says_that_a_missing_entity_was_there_and_how_to_have_it_back(do: Do) -> None:
    tool(do, "delete_entities", entityNames=["Ann"])
    told = do("show", "Ann")
    assert (told.status, told.err.count("\n")) == (1, 1)
    assert "existed until" in told.err
    assert "undo --list" in told.err
    assert "until" not in do("show", "Nobody").err


def test_show_shows_the_names_that_are_there(do: Do) -> None:
    done = do("show", "Ann", "Zed", "Acme", "--json")
    assert done.status == 1
    assert [one["name"] for one in done.json()] == ["Ann", "Acme"]
    assert "no entity is named Zed" in done.err


def test_a_value_of_the_variable_that_means_nothing_is_refused(do: Do, home: Path) -> None:
    done = do("show", "Ann", env={"MEMORY_HISTORY": "often"})
    assert (done.status, "MEMORY_HISTORY" in done.err) == (2, True)
    tool(lambda *words: do(*words, env={"MEMORY_HISTORY": "off"}), "delete_entities", entityNames=["Ann"])
    assert not (home / "memory.jsonl.history").exists()


def test_a_relation_that_lost_its_end_is_restored_with_it(home: Path) -> None:
    path = write(home / "memory.jsonl", entity("A"), entity("B"), relation("A", "B", "r"), relation("A", "Gone", "r"))
    run("call", "delete_entities", '{"entityNames":["A"]}', "--file", path, home=home)
    run("undo", "--file", path, home=home)
    assert relations(path) == {("A", "r", "B"), ("A", "r", "Gone")}


@pytest.mark.parametrize("words", [("undo",), ("undo", "--list"), ("forget", "Ann"), ("rename", "Ann", "Bo")])
def test_where_no_memory_is_a_correction_says_where_it_looked_and_what_to_do(
    words: tuple[str, ...], home: Path
) -> None:
    missing = home / "missing.jsonl"
    done = run(*words, "--file", missing, home=home)
    assert done.status == (2 if words[0] == "undo" else 1)
    assert f"there is no memory at {missing}" in done.err and "--file" in done.err
    done = run("forget", "Ann", "--everywhere", "--yes", "--file", missing, home=home)
    assert (done.status, f"there is no memory at {missing}" in done.err) == (2, True)


def test_a_memory_whose_file_was_removed_comes_back_by_undo(do: Do, memory: Path) -> None:
    tool(do, "delete_entities", entityNames=["Acme"])
    before = set(facts(memory))
    memory.unlink()
    assert do("undo").status == 0
    assert before < set(facts(memory))


def test_undo_names_the_memory_whose_history_is_empty(do: Do, memory: Path) -> None:
    for done in (do("undo"), do("undo", "--list")):
        assert f"history of {memory} contains no change that can be undone" in done.out + done.err


def test_a_blank_name_can_be_seen_in_what_a_change_took_away(do: Do, memory: Path) -> None:
    put(memory, "\n".join([entity(" "), entity(""), relation("", "Ann", "knows")]) + "\n")
    shown = do("forget", " ", "").out
    assert '2 entities: " ", ""\n' in shown
    assert '1 relation: "" knows' in shown


@pytest.mark.parametrize(
    "name",
    ["memory (1).jsonl", "memory.jsonl~", ".memory.jsonl.swp", "memory.json", "#memory.jsonl#", "memory.jsonl-old"],
)
def test_forget_everywhere_names_copies_of_editors_and_sync_services(name: str, do: Do, home: Path) -> None:
    copy = home / name
    put(copy, entity("Ann", "person", ["Likes green tea"]) + "\n")
    done = do("forget", "Ann", "--everywhere", "--yes")
    assert (done.status, str(copy) in done.err) == (1, True)
    assert b"green tea" in copy.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
@pytest.mark.parametrize("sent", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_closed_terminal_leaves_no_file_of_the_editor(sent: str, do: Do, home: Path, memory: Path) -> None:
    before = memory.read_bytes()
    ended = f"import os, signal; os.kill(os.getppid(), signal.{sent}); signal.pause()"
    done = do("edit", "Ann", env=editor(home, ended))
    assert done.status == 128 + int(getattr(signal, sent))
    assert not os.path.exists(os.path.dirname((home / "seen").read_text().split("\n")[0]))
    assert (memory.read_bytes(), done.err) == (before, "")


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
def test_what_was_saved_in_the_editor_before_the_terminal_closed_is_kept(do: Do, home: Path) -> None:
    temporary = home / "temporary"
    temporary.mkdir()
    ended = (
        "import os, signal\nopen(path, 'w').write('an hour of work')\n"
        "os.kill(os.getppid(), signal.SIGHUP)\nsignal.pause()"
    )
    done = do("edit", "Ann", env={**editor(home, ended), "TMPDIR": str(temporary)})
    (kept,) = temporary.glob("memory-*/facts.txt")
    assert kept.read_text("utf-8") == "an hour of work" and str(kept) in done.err


@pytest.mark.parametrize("words", [("add", "Bo", "is new"), ("rename", "Ann", "Bo"), ("rename", "Acme", "Bo")])
def test_undo_removes_an_entity_whose_relations_were_there_before_it(words: tuple[str, ...], home: Path) -> None:
    memory = home / "memory.jsonl"
    lines = entity("Ann", "t", ["x"]), entity("Acme"), relation("Ann", "Bo", "knows"), relation("Bo", "Zed", "is")
    write(memory, *lines)
    before = facts(memory), relations(memory)
    for _ in range(2):
        assert run(*words, "--file", memory, home=home).status == 0
        assert "Bo" in facts(memory)
        assert run("undo", "--file", memory, home=home).status == 0
        assert (facts(memory), relations(memory)) == before


@pytest.mark.parametrize("newer", [False, True], ids=["nothing newer", "a newer fact"])
def test_undo_of_a_merge_of_two_entities_removes_the_keys_that_the_target_got(
    newer: bool, do: Do, memory: Path
) -> None:
    ann = entity("Ann", "person", ["x"], colour="red", since=1)
    target = entity("Ann Smith", "woman", ["y"], since=2)
    works, there = relation("Ann", "Acme", "works at", note="n"), relation("Ann Smith", "Acme", "works at")
    write(memory, ann, target, entity("Acme"), works, there)
    assert do("merge-entities", "Ann", "Ann Smith").status == 0
    assert b'"colour":"red"' in memory.read_bytes().split(b"\n")[0] and b'"note":"n"' in memory.read_bytes()
    if newer:
        tool(do, "add_observations", observations=[{"entityName": "Ann Smith", "contents": ["z"]}])
        target = entity("Ann Smith", "woman", ["y", "z"], since=2)
    assert do("undo").status == 0
    assert sorted(memory.read_text("utf-8").splitlines()) == sorted([ann, target, entity("Acme"), works, there])


def test_undo_leaves_keys_that_another_program_has_changed_since(do: Do, memory: Path) -> None:
    write(memory, entity("Ann", "person", [], colour="red"), entity("Bo", "person"))
    assert do("merge-entities", "Ann", "Bo").status == 0
    tool(do, "create_entities", entities=[{"name": "Zed", "entityType": "t", "observations": []}])
    put(memory, memory.read_bytes().replace(b'"red"', b'"blue"'))
    assert do("undo").status == 0
    assert entity("Bo", "person", [], colour="blue") in memory.read_text("utf-8").splitlines()


@pytest.mark.parametrize("kept", [True, False])
def test_undo_promises_to_be_reversed_only_if_its_own_earlier_state_was_kept(kept: bool, do: Do, memory: Path) -> None:
    assert do("forget", "Ann").status == 0
    done = do("undo", env={} if kept else {"MEMORY_HISTORY": "off"})
    assert done.status == 0
    assert ("To reverse this: undo" in done.err) is kept
    assert ("cannot be reversed" in done.err) is not kept


@pytest.mark.parametrize(
    "words", [("undo",), ("undo", "--list"), ("history",), ("history", "Ann"), ("diff",)], ids=" ".join
)
def test_a_history_that_cannot_be_listed_is_not_said_to_be_empty(words: tuple[str, ...], do: Do, home: Path) -> None:
    (home / "memory.jsonl.history").touch()
    done = do(*words)
    assert (done.status, done.out) == (2, "")
    assert "memory.jsonl.history could not be read" in done.err and done.err.count("\n") == 1
    for command in ("check", "doctor"):
        assert "earlier states cannot be kept" in do(command).out


@pytest.mark.parametrize("words", [("history",), ("undo", "--list")], ids=" ".join)
def test_a_state_that_cannot_be_read_is_named(words: tuple[str, ...], do: Do, home: Path) -> None:
    assert do("forget", "Ann").status == 0
    assert do("add", "Acme", "is large").status == 0
    damaged = home / "memory.jsonl.history" / "20990101T000000.000Z.jsonl"
    put(damaged, b"\x00" * 512)
    done = do(*words)
    assert done.status == 0 and "forget" in done.out
    assert done.err == f"memory-server: {damaged} is skipped: it cannot be read\n"


def test_an_editor_whose_quotes_are_not_closed_is_named_in_one_line(do: Do) -> None:
    done = do("edit", "Ann", env={"VISUAL": "'/opt/my editor"})
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "VISUAL is '/opt/my editor: no closing quotation" in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
@pytest.mark.parametrize("command", ["show", "search", "history", "forget"])
def test_a_name_is_found_where_the_locale_cannot_decode_it(command: str, do: Do) -> None:
    done = do(command, "Caf\u00e9 Z\u00fcrich", env=_ASCII_ONLY)
    assert (done.status, done.err) == (0, "")
    assert "Caf\\xe9 Z\\xfcrich" in done.out


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_a_call_stores_its_text_where_the_locale_cannot_decode_it(do: Do, memory: Path) -> None:
    arguments = {"observations": [{"entityName": "Ann", "contents": ["née Ünal"]}]}
    done = do("call", "add_observations", json.dumps(arguments, ensure_ascii=False), env=_ASCII_ONLY)
    assert done.status == 0 and "née Ünal" in facts(memory)["Ann"]


def test_a_call_refuses_input_that_is_not_utf_8(do: Do, memory: Path) -> None:
    before = memory.read_bytes()
    given = '{"observations":[{"entityName":"Ann","contents":["née"]}]}'.encode("latin-1")
    done = do("call", "add_observations", "-", stdin=given)
    assert (done.status, done.err.count("\n")) == (2, 1) and "not UTF-8" in done.err
    assert memory.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="names of files are text there")
def test_notes_whose_names_the_locale_cannot_write_are_refused_in_one_line(do: Do, home: Path) -> None:
    done = do("export", "--format", "notes", "--output", str(home / "notes"), env=_ASCII_ONLY)
    assert (done.status, done.err.count("\n")) == (2, 1) and "PYTHONUTF8=1" in done.err
