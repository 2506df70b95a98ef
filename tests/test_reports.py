# ruff: noqa: RUF001 (letters that look alike are among what users search for)
"""What users of memory servers report, each with a further example of its kind, through the archive over real stdio."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema  # type: ignore[import-untyped,unused-ignore]  # ships no types
import pytest

from tests import driver as processes
from tests import placing
from tests.driver import Driver, Message


def serve(archive: Path, folder: Path, env: Mapping[str, str] | None = None, **options: Any) -> Driver:
    """A server without a history, which has tests of its own: here it is looked at what else stands beside a memory."""
    return processes.serve(archive, folder, env={"MEMORY_HISTORY": "off", **(env or {})}, **options)


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")


def entity(name: str, *observations: str, kind: str = "p") -> Message:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def relation(source: str, target: str, kind: str = "knows") -> Message:
    return {"from": source, "to": target, "relationType": kind}


def line(record: Message, **more: Any) -> str:
    kind = "entity" if "name" in record else "relation"
    return json.dumps({"type": kind} | record | more, ensure_ascii=False, separators=(",", ":"))


def lines(*parts: str) -> bytes:
    return "".join(part + "\n" for part in parts).encode()


ANN, BO, NEW = entity("Ann"), entity("Bo"), entity("New")
A, B, N = line(ANN), line(BO), line(NEW)
TORN = '{"type":"entity","name":"Bo","entityTy'
AIM = '{"type":"_aim","source":"mcp-knowledge-graph"}'


class Row(NamedTuple):
    """A file: what it holds, what is served of it, and what it holds after New was made (None: it is refused)."""

    id: str
    data: bytes
    entities: list[Message]
    after: bytes | None
    relations: list[Message] = []  # noqa: RUF012 (never changed)
    backup: bool = False


def document(**more: Any) -> Message:
    return {"entities": [ANN], "relations": [relation("Ann", "Ann")], **more}


DOCUMENT_AFTER = lines(A, N, line(relation("Ann", "Ann")))
CACHES = [json.dumps({"type": kind, "value": {"n": 1.0}}) for kind in ("hot_cache", "domain_index", "a", "b", "c", "d")]
MANY = [line(entity("Ann", f"fact {n}", "shared")) for n in range(65)]

FILES = [
    Row("two records on a line", (A + B).encode(), [ANN, BO], lines(A, B, N)),
    Row(
        "three of both kinds with commas",
        f"{A}, {line(relation('Ann', 'Bo'))},{B},\n".encode(),
        [ANN, BO],
        lines(A, B, N, line(relation("Ann", "Bo"))),
        [relation("Ann", "Bo")],
    ),
    Row("last line cut off", f"{A}\n{TORN}".encode(), [ANN], lines(A, N, TORN)),
    Row(
        "cut off within a letter",
        f"{A}\n".encode() + '{"type":"entity","name":"é'.encode()[:-1],
        [ANN],
        lines(A, N) + '{"type":"entity","name":"é'.encode()[:-1] + b"\n",
    ),
    Row("a bad line in the middle", lines(A, "{oops", B), [ANN, BO], lines(A, B, N, "{oops")),
    Row("only the beginning of a record", TORN.encode(), [], lines(TORN, N)),
    Row("byte order mark", b"\xef\xbb\xbf" + lines(A), [ANN], lines(A, N)),
    Row("CRLF", f"{A}\r\n{B}\r\n".encode(), [ANN, BO], lines(A, B, N)),
    Row("both, and blank lines", f"\ufeff\r\n{A}\r\n\r\n{B}".encode(), [ANN, BO], lines(A, B, N)),
    Row("UTF-16", f"{A}\r\n{B}\r\n".encode("utf-16"), [ANN, BO], lines(A, B, N), backup=True),
    Row("a fork's marker", lines(AIM, A), [ANN], lines(AIM, A, N)),
    Row("a fork's marker alone", lines(AIM), [], lines(AIM, N)),
    Row(
        "_type, _savedAt and observations that are objects",
        lines(
            '{"_type":"entity","name":"Ann","entityType":"p","observations":[{"text":"likes tea",'
            '"timestamp":"2025","version":"1.0"}],"_savedAt":"2025"}'
        ),
        [entity("Ann", "likes tea")],
        lines(
            '{"_type":"entity","name":"Ann","entityType":"p","observations":[{"text":"likes tea",'
            '"timestamp":"2025","version":"1.0"}],"_savedAt":"2025"}',
            N,
        ),
    ),
    Row(
        "_type on a relation and content for text",
        lines(
            '{"_type":"relation","from":"a","to":"b","relationType":"r"}',
            '{"_type":"entity","name":"a","entity_type":"p","observations":[{"content":"x","n":1.50},"y"]}',
        ),
        [entity("a", "x", "y")],
        lines(
            '{"_type":"entity","name":"a","entity_type":"p","observations":[{"content":"x","n":1.50},"y"]}',
            N,
            '{"_type":"relation","from":"a","to":"b","relationType":"r"}',
        ),
        [relation("a", "b", "r")],
    ),
    Row(
        "one line is the whole document",
        json.dumps(document()).encode(),
        [ANN],
        DOCUMENT_AFTER,
        [relation("Ann", "Ann")],
        backup=True,
    ),
    Row(
        "the document, indented",
        json.dumps(document(), indent=2).encode(),
        [ANN],
        DOCUMENT_AFTER,
        [relation("Ann", "Ann")],
        backup=True,
    ),
    Row("an array of records", json.dumps([{"type": "entity", **ANN}]).encode(), [ANN], lines(A, N), backup=True),
    Row(
        "records over several lines",
        json.dumps({"type": "entity", **ANN}, indent=2).encode(),
        [ANN],
        lines(A, N),
        backup=True,
    ),
    Row(
        "extra keys",
        lines(line(ANN, createdAt="2025-01-02T03:04:05Z", version=3), line(relation("Ann", "Ann"), weight=0.4)),
        [ANN],
        lines(line(ANN, createdAt="2025-01-02T03:04:05Z", version=3), N, line(relation("Ann", "Ann"), weight=0.4)),
        [relation("Ann", "Ann")],
    ),
    Row(
        "extra keys with numbers in their own form",
        lines(A[:-1] + ',"w":1.0e+2,"id":12345678901234567890}'),
        [ANN],
        lines(A[:-1] + ',"w":1.0e+2,"id":12345678901234567890}', N),
    ),
    Row(
        "relation for relationType",
        lines('{"type":"relation","from":"a","to":"b","relation":"knows"}'),
        [],
        lines(N, '{"type":"relation","from":"a","to":"b","relation":"knows"}'),
        [relation("a", "b")],
    ),
    Row(
        "source and target",
        lines('{"type":"relation","source":"a","target":"b","relationType":"knows"}'),
        [],
        lines(N, '{"type":"relation","source":"a","target":"b","relationType":"knows"}'),
        [relation("a", "b")],
    ),
    Row(
        "without entityType or observations, and with a null",
        lines(
            '{"type":"entity","name":"a","observations":[null,"x"]}', '{"type":"entity","name":"b","entityType":"p"}'
        ),
        [entity("a", "x", kind=""), entity("b")],
        lines(
            '{"type":"entity","name":"a","observations":[null,"x"]}', '{"type":"entity","name":"b","entityType":"p"}', N
        ),
    ),
    Row(
        "observations that are one text, or numbers",
        lines(
            '{"type":"entity","name":"a","observations":"x"}',
            '{"type":"entity","name":"b","observations":[1,2.5,true]}',
        ),
        [entity("a", "x", kind=""), entity("b", "1", "2.5", "true", kind="")],
        lines(
            '{"type":"entity","name":"a","observations":"x"}',
            '{"type":"entity","name":"b","observations":[1,2.5,true]}',
            N,
        ),
    ),
    Row("records of other types before the entities", lines(*CACHES, A), [ANN], lines(*CACHES, A, N)),
    Row(
        "records of other types everywhere",
        lines(CACHES[0], A, CACHES[1], B, CACHES[2]),
        [ANN, BO],
        lines(CACHES[0], A, B, N, CACHES[1], CACHES[2]),
    ),
    Row(
        "a name on two lines",
        lines(line(entity("Ann", "x")), line(entity("Ann", "y", kind="q"))),
        [entity("Ann", "x", "y")],
        lines(line(entity("Ann", "x")), line(entity("Ann", "y", kind="q")), N),
    ),
    Row(
        "a name on 65 lines",
        lines(*MANY),
        [entity("Ann", "fact 0", "shared", *(f"fact {n}" for n in range(1, 65)))],
        lines(*MANY, N),
    ),
    Row("one record only", A.encode(), [ANN], lines(A, N)),
    Row(
        "one relation only",
        line(relation("a", "b")).encode(),
        [],
        lines(N, line(relation("a", "b"))),
        [relation("a", "b")],
    ),
    Row("[]", b"[]", [], lines(N)),
    Row("{}", b"{}\n", [], lines(N)),
    Row("empty", b"", [], lines(N)),
    Row("blank lines", b"\n\r\n  \n", [], lines(N)),
    Row("an empty document", b'{"entities": [], "relations": []}', [], lines(N), backup=True),
    Row("a file of another program", b'{\n  "name": "notes",\n  "version": "1.0.0"\n}\n', [], None),
    Row("a log", b'{"level":"info","msg":"started"}\n{"level":"info","msg":"stopped"}\n', [], None),
    Row(
        "another program's dialogue", b'{"id":1,"type":"dialogue","subject":"user:operator","content":"hi"}\n', [], None
    ),
    Row(
        "another program's facts over several lines",
        b'  {\n    "subject": "Tea",\n    "fact": "green",\n    "category": "x"\n  },\n  {\n    "subject": "x"\n  }\n',
        [],
        None,
    ),
    Row("nothing but zeros after a crash", b"\0" * 512, [], None),
    Row(
        "a line separator in a name",
        lines(line(entity("a\u2028b\x85c"))),
        [entity("a\u2028b\x85c")],
        lines(line(entity("a\u2028b\x85c")), N),
    ),
    Row(
        "half of a surrogate pair",
        lines('{"type":"entity","name":"a\\ud83d","entityType":"p","observations":[]}'),
        [entity("a\ufffd")],
        lines('{"type":"entity","name":"a\\ud83d","entityType":"p","observations":[]}', N),
    ),
    Row(
        "NaN, a repeated key, a huge number, deep nesting",
        lines(
            A,
            A.replace("[]", "[NaN]"),
            A.replace("[]", '[],"name":1'),
            A.replace("[]", "[1e999]"),
            A.replace("[]", "[" * 3000 + "]" * 3000),
        ),
        [ANN],
        lines(
            A,
            N,
            A.replace("[]", "[NaN]"),
            A.replace("[]", '[],"name":1'),
            A.replace("[]", "[1e999]"),
            A.replace("[]", "[" * 3000 + "]" * 3000),
        ),
    ),
]


@pytest.fixture(scope="module")
def shared(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Driver, Path]]:
    """A server in a folder of its own, for one file after the other; what it had to say is without their contents."""
    folder = tmp_path_factory.mktemp("shared")
    with serve(archive, folder) as driver:
        driver.open()
        yield driver, folder
        assert driver.finish() == 0
        assert "Traceback" not in driver.stderr and "likes tea" not in driver.stderr


def put(shared: tuple[Driver, Path], tmp_path: Path, data: bytes, mode: int = 0o600) -> Path:
    """The memory of the shared server, as another program would have put it there; nothing else in its folder."""
    for left in shared[1].iterdir():
        left.unlink()
    placing.put(tmp_path / "prepared", data)
    (tmp_path / "prepared").chmod(mode)
    os.replace(tmp_path / "prepared", shared[1] / "memory.jsonl")
    return shared[1] / "memory.jsonl"


@pytest.mark.parametrize("row", FILES, ids=[row.id for row in FILES])
def test_a_file_that_people_have_is_served_and_survives_a_write(
    shared: tuple[Driver, Path], tmp_path: Path, row: Row
) -> None:
    driver, folder = shared
    file = put(shared, tmp_path, row.data)
    read = driver.call("read_graph")
    created = driver.call("create_entities", {"entities": [NEW]})
    searched = driver.call("search_nodes", {"query": "new"})
    backups = [path.read_bytes() for path in folder.glob("memory.jsonl.*.bak")]
    if row.after is None:
        for result in (read, created, searched):
            assert result["isError"]
            assert f"{file} is not a memory file" in result["content"][0]["text"]
        assert (file.read_bytes(), os.listdir(folder)) == (row.data, ["memory.jsonl"])
    else:
        assert read["structuredContent"] == {"entities": row.entities, "relations": row.relations}
        assert created["structuredContent"] == {"entities": [NEW]}
        assert NEW in searched["structuredContent"]["entities"]
        assert file.read_bytes() == row.after
        assert backups == ([row.data] if row.backup else [])


def test_a_damaged_file_is_served_from_the_start_and_told_of_without_its_contents(
    archive: Path, tmp_path: Path
) -> None:
    (tmp_path / "memory.jsonl").write_bytes(lines(A, "likes tea", B))
    with serve(archive, tmp_path) as driver:
        driver.open()
        assert driver.call("read_graph")["structuredContent"]["entities"] == [ANN, BO]
        assert driver.finish() == 0
        assert "line 2 is no record that can be read; it is kept as it is" in driver.stderr
        assert "likes tea" not in driver.stderr


def test_a_json_name_with_lines_inside_works(archive: Path, tmp_path: Path) -> None:
    file = tmp_path / "my memory.json"
    file.write_bytes(lines(A))
    with serve(archive, tmp_path, env={"MEMORY_FILE_PATH": str(file)}) as driver:
        driver.open()
        driver.call("create_entities", {"entities": [NEW]})
    assert file.read_bytes() == lines(A, N)


def test_a_change_of_a_tolerated_record_touches_only_what_it_names(archive: Path, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    other = '{"type":"entity","name":"Ann","observations":[ "kept" ],"n":1.0}'
    file.write_bytes(
        lines(AIM, '{"_type":"entity","name":"Ann","observations":[{"text":"x","at":1.50},"y"],"v":3}', other, "junk")
    )
    with serve(archive, tmp_path) as driver:
        driver.open()
        driver.call("add_observations", {"observations": [{"entityName": "Ann", "contents": ["x", "kept", "z"]}]})
        driver.call("delete_observations", {"deletions": [{"entityName": "Ann", "observations": ["y"]}]})
    assert file.read_bytes() == lines(
        AIM, '{"_type":"entity","name":"Ann","observations":[{"text":"x","at":1.50},"z"],"v":3}', other, "junk"
    )


def test_twenty_creates_sent_without_waiting_are_all_kept(archive: Path, tmp_path: Path) -> None:
    with serve(archive, tmp_path) as driver:
        driver.open()
        ids = [driver.start_call("create_entities", {"entities": [entity(f"N{n}")]}) for n in range(20)]
        assert not any(driver.answer(one)["result"]["isError"] for one in ids)
        assert driver.finish() == 0
    assert (tmp_path / "memory.jsonl").read_bytes() == lines(*(line(entity(f"N{n}")) for n in range(20)))


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664])
def test_a_save_keeps_the_mode(shared: tuple[Driver, Path], tmp_path: Path, mode: int) -> None:
    file = put(shared, tmp_path, lines(A), mode)
    assert not shared[0].call("create_entities", {"entities": [NEW]})["isError"]
    assert (stat.S_IMODE(file.stat().st_mode), file.read_bytes()) == (mode, lines(A, N))


@POSIX
@pytest.mark.parametrize("mode", [0o444, 0o400])
def test_a_read_only_file_is_read_and_not_replaced(shared: tuple[Driver, Path], tmp_path: Path, mode: int) -> None:
    file = put(shared, tmp_path, lines(A), mode)
    assert shared[0].call("read_graph")["structuredContent"]["entities"] == [ANN]
    refused = shared[0].call("create_entities", {"entities": [NEW]})
    assert refused["isError"] and "is read-only" in refused["content"][0]["text"]
    assert (file.read_bytes(), os.listdir(file.parent)) == (lines(A), ["memory.jsonl"])


@POSIX
def test_a_chain_of_symbolic_links_stays(archive: Path, tmp_path: Path) -> None:
    real = tmp_path / "disk" / "memory.jsonl"
    real.parent.mkdir()
    placing.put(real, lines(A))
    (tmp_path / "middle").symlink_to(real)
    (tmp_path / "memory.jsonl").symlink_to("middle")
    with serve(archive, tmp_path) as driver:
        driver.open()
        assert not driver.call("create_entities", {"entities": [NEW]})["isError"]
    assert os.readlink(tmp_path / "memory.jsonl") == "middle"
    assert real.read_bytes() == lines(A, N)
    assert sorted(os.listdir(tmp_path)) == ["disk", "memory.jsonl", "middle"]
    assert os.listdir(real.parent) == ["memory.jsonl"]


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="mounting needs root on Linux")
def test_a_single_mounted_file_is_named_with_what_to_do(archive: Path, tmp_path: Path) -> None:
    file, source = tmp_path / "memory.jsonl", tmp_path / "source"
    for path in (file, source):
        path.write_bytes(lines(A))
    mounted = subprocess.run(["mount", "--bind", source, file], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        with serve(archive, tmp_path) as driver:
            driver.open()
            refused = driver.call("create_entities", {"entities": [NEW]})
            assert refused["isError"] and "mount its folder instead" in refused["content"][0]["text"]
            assert driver.call("read_graph")["structuredContent"]["entities"] == [ANN]
    finally:
        subprocess.run(["umount", file], check=True)
    assert source.read_bytes() == lines(A)
    assert sorted(os.listdir(tmp_path)) == ["memory.jsonl", "source"]


def test_a_full_disk_fails_the_call_and_leaves_the_file(archive: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    file = tmp_path / "memory.jsonl"
    file.write_bytes(lines(A))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # inherited: no file may grow beyond
    try:
        driver = serve(archive, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with driver:
        driver.open()
        refused = driver.call("create_entities", {"entities": [entity("Big", "x" * 200_000)]})
        assert refused["isError"] and "nothing was changed" in refused["content"][0]["text"]
        assert file.read_bytes() == lines(A)
        assert os.listdir(tmp_path) == ["memory.jsonl"]
        assert not driver.call("create_entities", {"entities": [NEW]})["isError"]
    assert file.read_bytes() == lines(A, N)


def home(tmp_path: Path) -> dict[str, str]:
    """A user whose folders are all in `tmp_path`, but for the unpacked archive, which these tests share."""
    folders = {"HOME": tmp_path, "USERPROFILE": tmp_path, "APPDATA": tmp_path / "AppData"}
    folders |= {"XDG_DATA_HOME": tmp_path / "data", "LOCALAPPDATA": tmp_path / "AppData"}
    folders["MEMORY_SERVER_CACHE"] = tmp_path.parent / "unpacked"
    return {name: str(folder) for name, folder in folders.items()}


PATHS = [
    ("~/mem.jsonl", "mem.jsonl"),
    ("~/a folder/größe.jsonl", "a folder/größe.jsonl"),
    ("${HOME}/mem.jsonl", "mem.jsonl"),
    ("${HOME}/${WHERE}/mem.jsonl", "東京/mem.jsonl"),
    ("{folder}/with spaces/мем.jsonl", "with spaces/мем.jsonl"),
    ("{folder}/missing/folders/m.jsonl", "missing/folders/m.jsonl"),
    ("{folder}", "memory.jsonl"),
    ("{folder}/there/", "there/memory.jsonl"),
]


@pytest.mark.parametrize(("value", "place"), PATHS, ids=[value for value, _ in PATHS])
@POSIX
def test_a_path_lands_where_it_was_meant(archive: Path, tmp_path: Path, value: str, place: str) -> None:
    (tmp_path / "there").mkdir()
    env = {**home(tmp_path), "WHERE": "東京", "MEMORY_FILE_PATH": value.replace("{folder}", str(tmp_path))}
    with serve(archive, tmp_path, env=env) as driver:
        driver.open()
        assert not driver.call("create_entities", {"entities": [NEW]})["isError"]
        assert driver.finish() == 0
        assert str(tmp_path / place) in driver.stderr
    assert (tmp_path / place).read_bytes() == lines(N)
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("${workspaceFolder}/m.jsonl", "holds ${workspaceFolder}, which only the client could have filled in"),
        ("${NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE"),
    ],
)
def test_an_unexpanded_variable_is_one_line_and_status_2(archive: Path, tmp_path: Path, value: str, text: str) -> None:
    with serve(archive, tmp_path, env={"MEMORY_FILE_PATH": value}) as driver:
        assert driver.wait() == 2
        assert len(driver.stderr.splitlines()) == 1 and text in driver.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a folder", "größe 東京"])
def test_without_any_setting_the_memory_is_beside_the_archive_and_stays_there(
    archive: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    program = folder / "memory-server.pyz"
    shutil.copy(archive, program)
    env = {**home(tmp_path), "MEMORY_FILE_PATH": ""}
    for number in range(2):
        with serve(program, tmp_path, env=env) as driver:
            driver.open()
            assert len(driver.call("read_graph")["structuredContent"]["entities"]) == number
            driver.call("create_entities", {"entities": [entity(f"N{number}")]})
            assert driver.finish() == 0
    assert (folder / "memory.jsonl").read_bytes() == lines(line(entity("N0")), line(entity("N1")))
    assert sorted(os.listdir(tmp_path)) == [name]


@pytest.mark.parametrize("name", ["MEMORY_FILE", "MEMORY_PATH"])
def test_an_empty_value_counts_as_unset_and_a_misspelt_variable_is_named(
    archive: Path, tmp_path: Path, name: str
) -> None:
    env = {**home(tmp_path), "MEMORY_FILE_PATH": "", "MEMORY_SERVER_HOME": str(tmp_path), name: "/elsewhere/m.jsonl"}
    with serve(archive, tmp_path, env=env) as driver:
        driver.open()
        assert not driver.call("create_entities", {"entities": [NEW]})["isError"]
        assert driver.finish() == 0
        assert f"{name} is set, but" in driver.stderr
    assert (tmp_path / "memory.jsonl").read_bytes() == lines(N)


@pytest.fixture(scope="module")
def talking(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    folder = tmp_path_factory.mktemp("memory")
    (folder / "memory.jsonl").write_bytes(
        lines(
            A,
            line(entity("green", "likes green tea", "drinks it daily")),
            line(entity("café", "Café au lait")),
            line(entity("tower", "東京タワーに行った")),
            line(entity("town", "lives in İstanbul")),
            line(entity("wide", "Ｆｕｌｌ　Ｗｉｄｔｈ")),
            line(entity("pattern", "a.c [x] (y)* \\d+ $1")),
            line(relation("green", "café", "served at")),
            line(relation("Elsewhere", "green", "points at")),
        )
    )
    with serve(archive, folder) as driver:
        driver.open()
        yield driver
        assert driver.finish() == 0


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tea green", ["green"]),
        ("daily tea likes", ["green"]),
        (unicodedata.normalize("NFD", "café"), ["café"]),
        ("CAFE", ["café"]),
        ("東京", ["tower"]),
        ("タワー", ["tower"]),
        ("ISTANBUL", ["town"]),
        ("istanbul", ["town"]),
        ("ıstanbul", ["town"]),
        ("full width", ["wide"]),
        ("ＴＥＡ", ["green"]),
        ("a.c", ["pattern"]),
        ("[x] (y)*", ["pattern"]),
        ("\\d+", ["pattern"]),
        ("$1", ["pattern"]),
        (".*", []),
    ],
)
def test_a_search_finds(talking: Driver, query: str, found: list[str]) -> None:
    result = talking.call("search_nodes", {"query": query})["structuredContent"]
    assert [one["name"] for one in result["entities"]] == found


def test_marks_of_a_pattern_are_no_pattern_and_the_name_in_it_is_found_loosely(talking: Driver) -> None:
    result = talking.call("search_nodes", {"query": "^Ann$"})["structuredContent"]
    assert [one["name"] for one in result["entities"]] == ["Ann"]
    assert "loose" in result


def test_opening_a_node_shows_where_it_leads(talking: Driver) -> None:
    opened = talking.call("open_nodes", {"names": ["green"]})["structuredContent"]
    assert opened["externalRelations"] == [
        relation("green", "café", "served at"),
        relation("Elsewhere", "green", "points at"),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("open_nodes", {"names": '["Ann"]'}),
        ("open_nodes", {"names": ["Ann"], "reason": "unknown"}),
        ("add_observations", {"observations": [{"name": "Ann", "observations": []}]}),
        ("add_observations", {"observations": '[{"entityName":"Ann","contents":"[]"}]'}),
        ("create_entities", {"entities": json.dumps([ANN])}),
        ("create_entities", {"entities": [json.dumps(ANN)]}),
        ("delete_entities", {"entityNames": '["Nobody"]'}),
        ("read_graph", {"limit": "1"}),
        ("read_graph", None),
    ],
)
def test_what_models_send_is_understood(talking: Driver, tool: str, arguments: Any) -> None:
    result = talking.call(tool, arguments)
    assert not result["isError"]
    structured, text = result["structuredContent"], result["content"][0]["text"]
    if tool != "delete_entities":
        assert isinstance(json.loads(text), dict) and json.loads(text) == structured
    if tool == "open_nodes":
        assert structured["entities"] == [ANN]


@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    [
        ("open_nodes", {"names": None}, "names"),
        ("open_nodes", {}, "names"),
        ("create_entities", {"entities": [{"name": "X"}]}, "entities[0].entityType"),
        ("add_observations", {"observations": [{"whom": "Ann", "contents": ["x"]}]}, "observations[0].entityName"),
        ("create_relations", {"relations": [{"from": "Ann", "to": "Ann"}]}, "relations[0].relationType"),
        ("search_nodes", {"query": True}, "query"),
        ("search_nodes", {"query": "x" * 2049}, "query"),
    ],
)
def test_what_cannot_be_understood_is_answered_with_the_right_shape(
    talking: Driver, tool: str, arguments: Any, argument: str
) -> None:
    result = talking.call(tool, arguments)
    assert result["isError"] and "structuredContent" not in result
    (block,) = result["content"]
    assert f"{tool}: {argument} must be" in block["text"]
    assert f'Example of a right call: {{"{argument.split("[")[0].split(".")[0]}"' in block["text"]


def test_schemas_are_plain_and_every_answer_fits_its_own(talking: Driver) -> None:
    tools = {tool["name"]: tool for tool in talking.request("tools/list")["tools"]}
    assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & keys_of(list(tools.values()))
    calls = {
        "create_entities": {"entities": [entity("Made"), ANN]},
        "create_relations": {"relations": [relation("Made", "Ann")]},
        "add_observations": {"observations": [{"entityName": "Made", "contents": ["x"]}]},
        "open_nodes": {"names": ["Made"]},
        "search_nodes": {"query": "made", "limit": 1},
        "read_graph": {"limit": 2},
        "delete_observations": {"deletions": [{"entityName": "Made", "observations": ["x", "y"]}]},
        "delete_relations": {"relations": [relation("Made", "Ann")]},
        "delete_entities": {"entityNames": ["Made"]},
    }
    assert set(calls) == set(tools)
    for name, arguments in calls.items():
        result = talking.call(name, arguments)
        jsonschema.Draft202012Validator(tools[name]["outputSchema"]).validate(result["structuredContent"])
        assert tools[name]["outputSchema"]["additionalProperties"] is False
    for name in ("create_entities", "add_observations", "delete_observations"):
        assert "{" in tools[name]["description"]  # an example call, where a model could guess wrong


def keys_of(value: object) -> set[str]:
    """All keys anywhere in a JSON value."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def test_a_memory_that_is_too_much_for_one_answer_is_read_in_parts(shared: tuple[Driver, Path], tmp_path: Path) -> None:
    driver, _ = shared
    everyone = [entity(f"Person {n}", *(f"fact {n}.{k} of some length" for k in range(5))) for n in range(150)]
    put(shared, tmp_path, lines(*map(line, everyone)))
    names = driver.call("read_graph", {"namesOnly": True})
    assert names["structuredContent"]["names"] == [one["name"] for one in everyone]
    assert len(names["content"][0]["text"]) < 3000
    found, part = [], {"nextOffset": 0}
    while "nextOffset" in part:
        part = driver.call("read_graph", {"limit": 40, "offset": part["nextOffset"]})["structuredContent"]
        found += part["entities"]
    assert found == everyone
