"""Which file is chosen, in real folders; the order of the default place; what becomes of a memory.json of old."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_app.disk import calls, whole
from memory_app.errors import StoreError, UsageError
from memory_app.jsonl.document import reads_as_memory
from memory_app.location import choice, migration
from memory_app.location.choice import Location, Surroundings
from memory_app.lock.lock import Lock
from memory_app.text import shown

LINE = b'{"type":"entity","name":"Ann","entityType":"person","observations":[]}\n'


class Machine:
    """A server's folder, a home and a current folder of their own."""

    def __init__(self, root: Path) -> None:
        self.server = root / "Sérver folder"
        self.home = root / "home"
        self.current = root / "current"
        self.data = self.home / ".local" / "share" / "memory-server"
        for folder in (self.server, self.home, self.current):
            folder.mkdir()
        self.environ = {"HOME": str(self.home)}
        self.installed = False

    def around(self, platform: str = "linux") -> Surroundings:
        return Surroundings(self.environ, platform, None if self.installed else str(self.server), str(self.current))

    def locate(self, file: str | None = None, profile: str | None = None) -> Location:
        return choice.locate(file, profile, self.around())

    def settle(self) -> Location:
        return migration.move_old(self.locate(), reads_as_memory)

    def put(self, path: Path, content: bytes = LINE) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server's folder in which no file can be made, also where the tests run as root."""
    refuse(monkeypatch)


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(path: str, mode: int = 0o600, *, patient: bool = True) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(calls, "create", create)


def test_the_option_is_relative_to_the_current_folder(machine: Machine) -> None:
    machine.environ["MEMORY_FILE_PATH"] = "/never/m.jsonl"
    machine.environ["MEMORY_PROFILE"] = "never"
    assert machine.locate("x y/m.jsonl") == Location(str(machine.current / "x y" / "m.jsonl"), "from --file")
    assert machine.locate("/abs/m.jsonl").path == "/abs/m.jsonl"


def test_the_variable_is_relative_to_the_servers_folder(machine: Machine) -> None:
    machine.environ["MEMORY_FILE_PATH"] = "sub/m.jsonl"
    assert machine.locate() == Location(str(machine.server / "sub" / "m.jsonl"), "from MEMORY_FILE_PATH")


def test_the_variable_is_relative_to_the_data_folder_where_the_program_is_installed(machine: Machine) -> None:
    machine.installed = True
    machine.environ["MEMORY_FILE_PATH"] = "m.jsonl"
    assert machine.locate().path == str(machine.data / "m.jsonl")


def test_the_variable_is_relative_to_the_folder_that_stands_for_the_servers(machine: Machine) -> None:
    machine.environ |= {"MEMORY_FILE_PATH": "m.jsonl", "MEMORY_SERVER_HOME": "vol"}
    assert machine.locate().path == str(machine.current / "vol" / "m.jsonl")


@pytest.mark.parametrize("empty", ["", "  ", '""', " '' ", "\r"], ids=ascii)
def test_empty_variables_count_as_not_set(machine: Machine, empty: str) -> None:
    machine.environ |= {"MEMORY_FILE_PATH": empty, "MEMORY_PROFILE": empty, "MEMORY_SERVER_HOME": empty}
    assert machine.locate() == Location(str(machine.server / "memory.jsonl"), "new, in the server's folder")


@pytest.mark.parametrize("empty", ["", "  ", "\n"], ids=ascii)
def test_an_empty_option_is_refused_since_a_script_meant_something_else(machine: Machine, empty: str) -> None:
    machine.environ["MEMORY_FILE_PATH"] = "m.jsonl"
    with pytest.raises(UsageError, match=r"^--file is empty"):
        machine.locate(empty)
    with pytest.raises(UsageError, match=r"^--profile is empty"):
        machine.locate(None, empty)


def test_variables_and_home_are_expanded_in_both(machine: Machine) -> None:
    machine.environ["DIR"] = "/data dir"
    machine.environ["MEMORY_FILE_PATH"] = "~/mem.jsonl"
    assert machine.locate("${DIR}/m.jsonl").path == "/data dir/m.jsonl"
    assert machine.locate().path == str(machine.home / "mem.jsonl")


@pytest.mark.parametrize("written", ["folder", "folder/", "./folder", "new/"])
def test_a_folder_means_memory_jsonl_in_it(machine: Machine, written: str) -> None:
    (machine.current / "folder").mkdir()
    name = "new" if written.startswith("new") else "folder"
    assert machine.locate(written).path == str(machine.current / name / "memory.jsonl")


def test_a_link_to_a_folder_is_a_folder_and_a_link_to_a_file_stays_a_link(machine: Machine) -> None:
    (machine.current / "folder").symlink_to(machine.home)
    (machine.current / "m.jsonl").symlink_to(machine.home / "real.jsonl")
    assert machine.locate("folder").path == str(machine.current / "folder" / "memory.jsonl")
    assert machine.locate("m.jsonl").path == str(machine.current / "m.jsonl")


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ("${workspaceFolder}/m.jsonl", "only the client could have filled in"),
        ("${NOPE_NOT_SET}/m.jsonl", "NOPE_NOT_SET is not set"),
        ("a\0b", "NUL"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_that_names_its_source(machine: Machine, written: str, part: str) -> None:
    with pytest.raises(UsageError, match=r"^--file ") as caught:
        machine.locate(written)
    assert part in str(caught.value)
    machine.environ["MEMORY_FILE_PATH"] = written
    with pytest.raises(UsageError, match=r"^MEMORY_FILE_PATH ") as caught:
        machine.locate()
    assert part in str(caught.value)
    machine.environ["MEMORY_FILE_PATH"] = ""
    machine.environ["MEMORY_SERVER_HOME"] = written
    with pytest.raises(UsageError, match=r"^MEMORY_SERVER_HOME "):
        machine.locate()


def test_a_file_at_the_path_as_written_stays_the_memory_and_the_move_is_named(machine: Machine) -> None:
    machine.environ["MEMORY_FILE_PATH"] = "$HOME/notes/m.jsonl"
    literal = machine.put(machine.server / "$HOME" / "notes" / "m.jsonl")
    found = machine.locate()
    assert (found.path, found.why) == (str(literal), "from MEMORY_FILE_PATH, as written")
    meant = machine.home / "notes" / "m.jsonl"
    assert f"it means {meant}." in found.notes[0]
    command = found.notes[1].partition(": ")[2]
    subprocess.run(["sh", "-c", command], check=True, timeout=30)
    assert machine.locate() == Location(str(meant), "from MEMORY_FILE_PATH")


@pytest.mark.parametrize(
    "written",
    [
        "file:///nowhere/m.jsonl",
        '"quoted.jsonl"',
        "m.jsonl ",
        "m.jsonl\r",
        " m.jsonl",
        "%APPDATA%/m.jsonl",
        "${workspaceFolder}/m.jsonl",
        "$NOPE/m.jsonl",
        "${NOPE:-other}/m.jsonl",
        "https://example.org/m.jsonl",
        "~/m.jsonl",
    ],
)
def test_whatever_a_path_means_today_the_memory_that_is_there_is_kept(machine: Machine, written: str) -> None:
    literal = machine.put(Path(os.path.normpath(machine.current / written)))
    found = machine.locate(written)
    assert found.path == str(literal)
    assert len(found.notes) == 2
    assert shown(str(literal)) in found.notes[0]


def test_a_folder_at_the_path_as_written_keeps_its_memory_too(machine: Machine) -> None:
    literal = machine.put(machine.current / "$HOME" / "memory.jsonl")
    assert machine.locate("$HOME").path == str(literal)


def test_a_path_that_1_0_expanded_keeps_its_memory_although_the_npm_server_left_another(machine: Machine) -> None:
    machine.put(machine.server / "~" / "m.jsonl")
    real = machine.put(machine.home / "m.jsonl")
    machine.environ["MEMORY_FILE_PATH"] = "~/m.jsonl"
    found = machine.locate()
    assert found.path == str(real)
    assert "not used" in found.notes[0]


def test_of_two_memories_the_one_as_written_stays_and_both_are_named(machine: Machine) -> None:
    literal = machine.put(machine.current / "$HOME" / "m.jsonl")
    other = machine.put(machine.home / "m.jsonl")
    found = machine.locate("$HOME/m.jsonl")
    assert found.path == str(literal)
    assert str(other) in found.notes[0]
    assert "import" in found.notes[1]


def test_a_plain_path_is_taken_without_a_word(machine: Machine) -> None:
    path = machine.put(machine.current / "m.jsonl")
    assert machine.locate("m.jsonl") == machine.locate("./m.jsonl") == Location(str(path), "from --file")


def test_what_is_no_file_is_refused_at_once_by_the_name_of_its_source(machine: Machine) -> None:
    os.mkfifo(machine.current / "fifo")
    (machine.current / "loop").symlink_to("loop")
    machine.put(machine.current / "file")
    for written, part in (
        ("fifo", "is a FIFO"),
        ("/dev/null", "is a device"),
        ("loop", "leads back to itself"),
        ("file/m.jsonl", "through a file"),
        ("x" * 300, "longer than this system takes"),
    ):
        with pytest.raises(UsageError, match=r"^--file: ") as caught:
            machine.locate(written)
        assert part in str(caught.value)


def test_a_path_that_is_no_utf8_is_found_and_can_be_told(machine: Machine) -> None:
    folder = os.fsencode(machine.current) + b"/\xff\xfe"
    os.mkdir(folder)
    found = machine.locate("\udcff\udcfe")
    assert os.fsencode(found.path) == folder + b"/memory.jsonl"
    shown(found.path).encode()


def test_a_relative_option_without_a_current_folder_is_a_usage_error(machine: Machine) -> None:
    around = machine.around()._replace(current_folder=None)
    with pytest.raises(UsageError, match="current folder is not known"):
        choice.locate("m.jsonl", None, around)
    assert choice.locate("/x/m.jsonl", None, around).path == "/x/m.jsonl"


def test_windows_paths_are_located_by_windows_rules(machine: Machine) -> None:
    around = Surroundings(
        {"USERPROFILE": r"C:\Users\Ann", "memory_file_path": r"data\m.jsonl"}, "win32", r"C:\srv", r"D:\w"
    )
    assert choice.locate(None, None, around).path == r"C:\srv\data\m.jsonl"
    assert choice.locate("~/m.jsonl", None, around).path == r"C:\Users\Ann\m.jsonl"
    assert choice.locate("sub/", None, around).path == "D:\\w\\sub\\memory.jsonl"
    assert choice.locate(r"\\host\share\m.jsonl", None, around).path == r"\\host\share\m.jsonl"


def test_a_misspelt_variable_is_told_in_every_case(machine: Machine) -> None:
    machine.environ["MEMORY_FILE"] = "x"
    note = "MEMORY_FILE is set, but this program does not read it: did you mean MEMORY_FILE_PATH?"
    assert machine.locate("m.jsonl").notes == (note,)
    assert machine.locate().notes == (note,)


def test_a_profile_is_a_file_of_its_own_beside_the_default_one(machine: Machine) -> None:
    assert machine.locate(None, "work") == Location(
        str(machine.server / "memory-work.jsonl"), "profile work, new, in the server's folder"
    )
    machine.environ["MEMORY_PROFILE"] = "a.b_c-1"
    assert machine.locate().path == str(machine.server / "memory-a.b_c-1.jsonl")
    assert machine.locate(None, "work").path == str(machine.server / "memory-work.jsonl")
    machine.environ["MEMORY_SERVER_HOME"] = "/data"
    assert machine.locate(None, "work").path == "/data/memory-work.jsonl"


def test_a_profile_that_exists_in_the_data_folder_is_used_there(machine: Machine) -> None:
    kept = machine.put(machine.data / "memory-work.jsonl")
    machine.put(machine.server / "memory.jsonl")
    assert machine.locate(None, "work") == Location(str(kept), "profile work, in your data folder")


def test_a_profile_never_takes_over_an_old_file(machine: Machine) -> None:
    machine.put(machine.server / "memory.json")
    assert machine.locate(None, "work").old is None


@pytest.mark.parametrize("name", ["a/b", "..\\x", "ü", "a b", "x" * 65, "a\n", "*"])
def test_a_profile_with_a_name_that_could_lead_elsewhere_is_refused(machine: Machine, name: str) -> None:
    with pytest.raises(UsageError, match=r"^--profile: a name has"):
        machine.locate(None, name)
    machine.environ["MEMORY_PROFILE"] = name
    with pytest.raises(UsageError, match=r"^MEMORY_PROFILE: a name has"):
        machine.locate()


def test_a_file_and_a_profile_together_are_refused_and_options_go_before_variables(machine: Machine) -> None:
    with pytest.raises(UsageError, match=r"^--file and --profile are both given"):
        machine.locate("m.jsonl", "work")
    machine.environ |= {"MEMORY_FILE_PATH": "/x/m.jsonl", "MEMORY_PROFILE": "home"}
    with pytest.raises(UsageError, match=r"^MEMORY_FILE_PATH and MEMORY_PROFILE are both given"):
        machine.locate()
    assert machine.locate("m.jsonl").path == str(machine.current / "m.jsonl")
    assert machine.locate(None, "work").path == str(machine.server / "memory-work.jsonl")


def test_an_existing_writable_file_in_the_servers_folder_is_first(machine: Machine) -> None:
    here = machine.put(machine.server / "memory.jsonl")
    assert machine.locate() == Location(str(here), "in the server's folder")


def test_then_an_existing_file_in_the_data_folder(machine: Machine) -> None:
    there = machine.put(machine.data / "memory.jsonl")
    assert machine.locate() == Location(str(there), "in your data folder")


def test_then_a_new_file_in_the_servers_folder_which_stays_as_it_was(machine: Machine) -> None:
    assert machine.locate() == Location(str(machine.server / "memory.jsonl"), "new, in the server's folder")
    assert list(machine.server.iterdir()) == []


@pytest.mark.usefixtures("no_probe")
def test_then_a_new_file_in_the_data_folder(machine: Machine) -> None:
    assert machine.locate() == Location(str(machine.data / "memory.jsonl"), "new, in your data folder")
    assert not machine.data.exists()


def test_a_program_that_is_installed_uses_the_data_folder(machine: Machine) -> None:
    machine.put(machine.server / "memory.jsonl")
    machine.installed = True
    assert machine.locate() == Location(str(machine.data / "memory.jsonl"), "new, in your data folder")


def test_if_both_exist_both_are_named(machine: Machine) -> None:
    here = machine.put(machine.server / "memory.jsonl")
    there = machine.put(machine.data / "memory.jsonl")
    assert machine.locate() == Location(
        str(here),
        "in the server's folder",
        (f"{here} is used; there is also {there}, which is not used: the other comes first.",),
    )


def test_a_file_that_cannot_be_written_is_passed_over_and_named(machine: Machine) -> None:
    here = machine.put(machine.server / "memory.jsonl")
    here.chmod(0o444)
    there = machine.data / "memory.jsonl"
    note = f"{there} is used; there is also {here}, which is not used: it cannot be written."
    assert machine.locate() == Location(str(there), "new, in your data folder", (note,))
    machine.put(there)
    assert machine.locate() == Location(str(there), "in your data folder", (note,))


def test_a_file_in_a_folder_of_another_user_is_passed_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine.put(machine.server / "memory.jsonl")
    for refused in (str(machine.server), str(here)):
        monkeypatch.setattr(os, "access", lambda path, mode, refused=refused: path != refused)
        assert machine.locate().path == str(machine.data / "memory.jsonl")


def test_a_link_is_judged_by_where_it_leads(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    real = machine.put(machine.home / "sync" / "real.jsonl")
    link = machine.server / "memory.jsonl"
    link.symlink_to(real)
    assert machine.locate().path == str(link)
    real.chmod(0o444)
    assert machine.locate().path == str(machine.data / "memory.jsonl")
    real.unlink()
    there = machine.put(machine.data / "memory.jsonl")
    assert machine.locate().path == str(link)  # leads to nothing yet, but a file can be made there
    there.unlink()
    assert os.listdir(real.parent) == []
    refuse(monkeypatch)
    assert machine.locate().path == str(machine.data / "memory.jsonl")


def test_a_folder_with_the_files_name_is_no_memory(machine: Machine) -> None:
    (machine.server / "memory.jsonl").mkdir()
    there = machine.put(machine.data / "memory.jsonl")
    assert machine.locate() == Location(str(there), "in your data folder")


def test_the_folder_that_stands_for_the_servers_is_the_only_place(machine: Machine) -> None:
    machine.put(machine.server / "memory.jsonl")
    machine.put(machine.data / "memory.jsonl")
    machine.environ["MEMORY_SERVER_HOME"] = "~/vol"
    assert machine.locate() == Location(str(machine.home / "vol" / "memory.jsonl"), "in MEMORY_SERVER_HOME")


@pytest.mark.usefixtures("no_probe")
def test_without_any_place_the_error_says_what_to_set(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "data_folder", lambda environ, platform: None)
    with pytest.raises(UsageError, match="Set MEMORY_FILE_PATH"):
        machine.locate()
    here = machine.put(machine.server / "memory.jsonl")
    here.chmod(0o444)
    assert machine.locate() == Location(str(here), "in the server's folder")  # it can at least be read


@pytest.mark.parametrize("place", ["server", "data", "home variable"])
def test_an_old_memory_is_renamed_in_each_default_place(machine: Machine, place: str) -> None:
    folder = machine.data if place == "data" else machine.server
    old = machine.put(folder / "memory.json")
    if place == "home variable":
        machine.environ["MEMORY_SERVER_HOME"] = str(machine.server)
    found = machine.locate()
    assert (found.path, found.old) == (str(folder / "memory.jsonl"), str(old))
    assert old.exists()
    settled = migration.move_old(found, reads_as_memory)
    assert settled == found._replace(old=None, notes=(f"{old} was renamed to memory.jsonl.",))
    assert os.listdir(folder) == ["memory.jsonl"]
    assert (folder / "memory.jsonl").read_bytes() == LINE
    assert machine.settle() == settled._replace(notes=())


def test_an_old_file_that_is_no_memory_stays(machine: Machine) -> None:
    old = machine.put(machine.server / "memory.json", b'{"theme":"dark"}')
    assert machine.settle() == Location(
        str(machine.server / "memory.jsonl"),
        "in the server's folder",
        (f"{old} is not a memory and stays as it is.",),
    )
    assert os.listdir(machine.server) == ["memory.json"]


def test_an_old_memory_beside_the_new_one_is_left_alone_without_a_word(machine: Machine) -> None:
    machine.put(machine.server / "memory.json")
    here = machine.put(machine.server / "memory.jsonl", b"")
    assert machine.settle() == Location(str(here), "in the server's folder")
    assert sorted(os.listdir(machine.server)) == ["memory.json", "memory.jsonl"]


def test_an_old_memory_is_named_but_left_where_another_place_has_the_memory(machine: Machine) -> None:
    old = machine.put(machine.server / "memory.json")
    there = machine.put(machine.data / "memory.jsonl")
    note = f"{there} is used; there is also {old}, which is not used: the other comes first."
    assert machine.settle() == Location(str(there), "in your data folder", (note,))
    assert old.exists()


def test_a_path_that_was_given_never_takes_over_an_old_file(machine: Machine) -> None:
    machine.put(machine.current / "memory.json")
    assert machine.locate(".") == Location(str(machine.current / "memory.jsonl"), "from --file")


def test_an_old_file_that_cannot_be_written_is_not_taken_over(machine: Machine) -> None:
    old = machine.put(machine.server / "memory.json")
    old.chmod(0o444)
    found = machine.settle()
    assert found.path == str(machine.server / "memory.jsonl")
    assert found.notes == (f"{found.path} is used; there is also {old}, which is not used: it cannot be written.",)
    assert old.read_bytes() == LINE


def test_an_old_memory_that_cannot_be_renamed_now_is_used_under_its_old_name(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = machine.put(machine.server / "memory.json")

    def rename(source: str, target: str) -> None:
        raise PermissionError(13, "in use\nby another", source)

    monkeypatch.setattr(whole, "move_to_new_name", rename)
    settled = machine.settle()
    assert settled.path == str(old)
    assert len(settled.notes) == 1
    assert settled.notes[0].isprintable()
    assert "it is used as it is" in settled.notes[0]
    assert os.listdir(machine.server) == ["memory.json"]


def test_an_old_memory_is_not_moved_while_another_process_holds_the_lock(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = machine.put(machine.server / "memory.json")
    monkeypatch.setattr(migration, "_LOCK_WAIT", 0.05)
    other = Lock(str(machine.server / "memory.jsonl"))
    other.acquire(float("inf"))
    try:
        assert machine.settle().path == str(old)
    finally:
        other.release()
    assert machine.settle().path == str(machine.server / "memory.jsonl")


def test_the_slower_of_two_processes_uses_what_the_faster_one_moved(machine: Machine) -> None:
    machine.put(machine.server / "memory.json")
    slow = machine.locate()
    settled: list[Location] = []
    reading, moved = threading.Event(), threading.Event()

    def reads(data: bytes) -> bool:
        reading.set()
        assert moved.wait(10)
        return True

    thread = threading.Thread(target=lambda: settled.append(migration.move_old(slow, reads)))
    thread.start()
    assert reading.wait(10)
    machine.settle()
    moved.set()
    thread.join(10)
    assert settled == [slow._replace(old=None)]
    assert migration.move_old(slow, reads) == slow._replace(old=None)  # moved before it could be read
    assert os.listdir(machine.server) == ["memory.jsonl"]


def test_the_lock_is_given_back_whatever_happens(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.put(machine.server / "memory.json")

    def fail(self: Lock, deadline: float, abandoned: Callable[[], bool]) -> None:
        raise StoreError("no lock", stored=False)

    with monkeypatch.context() as patch:
        patch.setattr(Lock, "acquire", fail)
        assert machine.settle().why == "under its old name"
    with monkeypatch.context() as patch:
        patch.setattr(calls, "sync_folder", lambda path: calls.remove(path + "/no such file"))
        assert "was renamed" in machine.settle().notes[0]
    assert os.listdir(machine.server) == ["memory.jsonl"]


def test_a_new_memory_that_appears_meanwhile_is_not_overwritten(machine: Machine) -> None:
    old = machine.put(machine.server / "memory.json")
    found = machine.locate()

    def reads(data: bytes) -> bool:
        machine.put(machine.server / "memory.jsonl", b"")
        return True

    assert migration.move_old(found, reads) == found._replace(old=None)
    assert (old.read_bytes(), (machine.server / "memory.jsonl").read_bytes()) == (LINE, b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFO on this platform")
def test_an_old_name_that_is_no_file_is_nothing(machine: Machine) -> None:
    os.mkfifo(machine.server / "memory.json")
    assert machine.settle() == Location(str(machine.server / "memory.jsonl"), "new, in the server's folder")


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_servers_folder_is_the_one_of_the_real_archive(at: Path) -> None:
    (at / "real").mkdir()
    (at / "bin").mkdir()
    archive = at / "real" / "memory-server.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("__main__.py", "")
    link = at / "bin" / "server"
    link.symlink_to(archive)
    package = str(at / "cache" / "site-packages" / "memory_app")
    real = os.path.realpath(at / "real")
    for environ, program in (
        ({"MEMORY_SERVER_ARCHIVE": str(archive)}, "x"),
        ({"MEMORY_SERVER_ARCHIVE": str(link)}, "x"),
        ({}, str(link)),
        ({}, "bin/server"),
    ):
        assert choice.surroundings(environ, program, package).server_folder == real


@pytest.mark.parametrize("site", ["site-packages", "dist-packages"])
def test_an_installed_package_has_no_folder_of_its_own(at: Path, site: str) -> None:
    script = at / "memory-server"
    script.write_text("#!/usr/bin/python3\n")
    package = at / "lib" / site / "memory_app"
    around = choice.surroundings({}, str(script), str(package))
    assert around == Surroundings({}, sys.platform, None, os.path.realpath(at))


def test_run_from_its_source_the_servers_folder_is_the_one_of_the_source(at: Path) -> None:
    package = at / "source" / "memory_app"
    for program in ("-m", "", str(package / "__main__.py")):
        assert choice.surroundings({}, program, str(package)).server_folder == os.path.realpath(at / "source")


def test_a_current_folder_that_was_removed_is_no_obstacle(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from memory_app.location import choice\n"
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "around = choice.surroundings({'HOME': '/h'}, 'memory-server.pyz', '/opt/source/memory_app')\n"
        "print(around.current_folder, around.server_folder)"
    )
    root = str(Path(choice.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code, root], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "None /opt/source\n", "")
