"""Shared machines: what another local user has put in the way is never run, followed, waited for or changed.

Every test runs the archive as one user on what another one has prepared: two user numbers that belong to nobody.
"""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.build.starting import HELLO, environment

VICTIM, ATTACKER = 61_101, 61_102
MARK = "code of another user ran"
# What a planted program does before it lets the launcher go on.
_PAYLOAD = f"""
import os
with open(os.environ["MARKS"] + "/mark", "w") as mark:
    mark.write("{MARK}")
def check(*arguments):
    raise ValueError("go on")
"""


def _python() -> str | None:
    """An interpreter that every user can run: this one, or the system's."""
    for path in (sys.executable, "/usr/bin/python3"):
        code = "import sys; sys.exit(sys.version_info < (3, 10))"
        try:
            done = subprocess.run([path, "-c", code], user=VICTIM, group=VICTIM, extra_groups=[], check=False)
        except OSError:
            continue
        if not done.returncode:
            return path
    return None


pytestmark = [
    pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs root, to act as two other users"),
]


class Scene(NamedTuple):
    """A folder of temporary files that both share, the victim's home, and the archive."""

    python: str
    archive: Path
    shared: Path
    home: Path
    name: str

    @property
    def root(self) -> Path:
        """Where the victim looks among the temporary files."""
        return self.shared / f"memory-server-{VICTIM}"

    @property
    def genuine(self) -> Path:
        """The victim's own unpacked program, from an earlier start with the usual home."""
        return self.home / ".cache" / "memory-server" / self.name

    def start(self, user: int = VICTIM, **variables: str) -> subprocess.CompletedProcess[str]:
        """One session as that user; AssertionError unless it served well."""
        environ = environment(None, {"TMPDIR": str(self.shared), "MARKS": str(self.shared / "marks"), **variables})
        memory = str(self.shared / f"memory-{user}.jsonl")
        done = subprocess.run(
            [self.python, str(self.archive), "--file", memory],
            input=json.dumps(HELLO) + "\n",
            capture_output=True,
            text=True,
            timeout=60,
            env=environ,
            user=user,
            group=user,
            extra_groups=[],
            cwd=self.shared,
            check=False,
        )
        assert (done.returncode, "serverInfo" in done.stdout) == (0, True), done.stderr
        assert "Traceback" not in done.stderr
        return done

    def ran(self) -> bool:
        """Whether foreign code ran."""
        return (self.shared / "marks" / "mark").exists()


def _own(path: Path, user: int) -> None:
    for one in (path, *path.rglob("*")):
        os.lchown(one, user, user)


@pytest.fixture(scope="module")
def prepared(archive: Path) -> Iterator[Scene]:
    python = _python()
    if python is None:
        pytest.skip("needs a Python that every user can run, as /usr/bin/python3")
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(folder)
        shared.chmod(0o1777)
        home = shared / "home"
        home.mkdir(0o755)
        os.chown(home, VICTIM, VICTIM)
        copy = Path(shutil.copy(archive, shared / "memory-server.pyz"))
        copy.chmod(0o755)
        scene = Scene(python, copy, shared, home, "")
        scene.start(HOME=str(home))
        (name,) = [path.name for path in (home / ".cache" / "memory-server").iterdir() if path.is_dir()]
        yield scene._replace(name=name)


@pytest.fixture
def scene(prepared: Scene) -> Iterator[Scene]:
    """Before each test: the victim's earlier start, nothing among the temporary files, no mark."""
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(folder)
        shared.chmod(0o1777)
        (shared / "marks").mkdir()
        (shared / "marks").chmod(0o1777)
        home = shared / "home"
        shutil.copytree(prepared.home, home)
        _own(home, VICTIM)
        yield prepared._replace(shared=shared, home=home)


def _program(path: Path) -> None:
    """A program file that leaves a mark when it is read."""
    head = marshal.dumps((compile(_PAYLOAD, "planted", "exec"), ()))
    path.write_bytes(importlib.util.MAGIC_NUMBER + len(head).to_bytes(4, "little") + head)


def _plant(scene: Scene, root: Path | None = None) -> Path:
    """A whole folder of the attacker's in the place where the victim looks, with a genuine look."""
    folder = (root or scene.root) / scene.name
    shutil.copytree(scene.genuine, folder)
    for library in folder.rglob("*.so"):
        library.write_bytes(b"not a library".ljust(library.stat().st_size, b"\0"))
    for one in (root or scene.root, *(root or scene.root).rglob("*")):
        one.chmod(0o755)
    return folder


def _plain(scene: Scene) -> None:
    _program(_plant(scene) / "program")
    _own(scene.root, ATTACKER)


def _link_to_the_victims_own(scene: Scene) -> None:
    """The file is the victim's, the libraries beside it are not."""
    folder = _plant(scene)
    (folder / "program").unlink()
    _own(scene.root, ATTACKER)
    (folder / "program").symlink_to(scene.genuine / "program")


def _hard_link_to_the_victims_own(scene: Scene) -> None:
    folder = _plant(scene)
    (folder / "program").unlink()
    _own(scene.root, ATTACKER)
    (folder / "program").hardlink_to(scene.genuine / "program")


def _victims_file_in_a_foreign_folder(scene: Scene) -> None:
    folder = _plant(scene)
    _own(scene.root, ATTACKER)
    _program(folder / "program")
    os.chown(folder / "program", VICTIM, VICTIM)


def _foreign_folder_in_the_victims_own(scene: Scene) -> None:
    _program(_plant(scene) / "program")
    _own(scene.root, ATTACKER)
    os.chown(scene.root, VICTIM, VICTIM)
    scene.root.chmod(0o777)


def _foreign_library_in_the_victims_own(scene: Scene) -> None:
    folder = _plant(scene)
    _own(scene.root, VICTIM)
    for library in folder.rglob("*.so"):
        os.chown(library, ATTACKER, ATTACKER)


def _library_that_others_could_write(scene: Scene) -> None:
    folder = _plant(scene)
    _own(scene.root, VICTIM)
    for library in folder.rglob("*.so"):
        library.chmod(0o777)


def _folder_of_libraries_that_others_could_write(scene: Scene) -> None:
    folder = _plant(scene)
    _own(scene.root, VICTIM)
    next(folder.rglob("*.so")).parent.chmod(0o777)


def _group_could_write(scene: Scene) -> None:
    folder = _plant(scene)
    _program(folder / "program")
    _own(scene.root, VICTIM)
    folder.chmod(0o775)


def _link_in_place_of_the_root(scene: Scene) -> None:
    """It leads into a folder of the victim's that holds what somebody sent."""
    received = scene.home / "received"
    _program(_plant(scene, received) / "program")
    _own(received, VICTIM)
    scene.root.symlink_to(received)
    os.lchown(scene.root, ATTACKER, ATTACKER)


def _link_in_place_of_the_folder(scene: Scene) -> None:
    received = scene.home / "received"
    _program(_plant(scene, received) / "program")
    _own(received, VICTIM)
    scene.root.mkdir(0o700)
    (scene.root / scene.name).symlink_to(received / scene.name)
    _own(scene.root, VICTIM)


def _fifo(scene: Scene) -> None:
    folder = _plant(scene)
    (folder / "program").unlink()
    os.mkfifo(folder / "program", 0o644)
    _own(scene.root, VICTIM)


PLANTED: dict[str, Callable[[Scene], None]] = {
    "a whole folder of the attacker's": _plain,
    "a link to the victim's own program file": _link_to_the_victims_own,
    "a hard link to the victim's own program file": _hard_link_to_the_victims_own,
    "a file of the victim's in a foreign folder": _victims_file_in_a_foreign_folder,
    "a foreign folder in one of the victim's that all can write": _foreign_folder_in_the_victims_own,
    "a foreign library": _foreign_library_in_the_victims_own,
    "a library that others could write": _library_that_others_could_write,
    "a folder of libraries that others could write": _folder_of_libraries_that_others_could_write,
    "a folder that a group could write": _group_could_write,
    "a link in place of the root": _link_in_place_of_the_root,
    "a link in place of the folder": _link_in_place_of_the_folder,
    "a FIFO in place of the program file": _fifo,
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=list(PLANTED))
def test_what_another_user_could_have_planted_is_never_run(scene: Scene, plant: Callable[[Scene], None]) -> None:
    plant(scene)
    before = scene.genuine.joinpath("program").stat()
    scene.start(HOME=str(scene.shared / "another"), XDG_CACHE_HOME=str(scene.shared / "marks" / "cache"))
    assert not scene.ran()
    assert scene.genuine.joinpath("program").stat() == before


@pytest.mark.skipif(shutil.which("su") is None, reason="needs su, a program that becomes root")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_command_line_of_a_set_uid_program_does_not_count_as_a_file_of_roots(scene: Scene) -> None:
    """/proc/PID/cmdline belongs to root, nobody can write it, and its bytes are its starter's choice."""
    head = marshal.dumps((compile(_PAYLOAD, "planted", "exec"), ()))
    blob = importlib.util.MAGIC_NUMBER + len(head).to_bytes(4, "little") + head
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while os.write(write, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(write, True)
    su = subprocess.Popen(  # it stays, writing its complaint into a full pipe
        blob.split(b"\0"),
        executable=shutil.which("su"),
        user=ATTACKER,
        group=ATTACKER,
        extra_groups=[],
        stdout=write,
        stderr=write,
    )
    try:
        shown = Path(f"/proc/{su.pid}/cmdline")
        deadline = time.monotonic() + 10
        while not shown.read_bytes().startswith(blob) and time.monotonic() < deadline:
            time.sleep(0.01)
        if shown.stat().st_uid != 0:
            pytest.skip("this kernel shows the command line as its starter's")
        folder = _plant(scene)
        (folder / "program").unlink()
        _own(scene.root, ATTACKER)
        (folder / "program").symlink_to(shown)
        scene.start(HOME=str(scene.shared / "another"), XDG_CACHE_HOME=str(scene.shared / "marks" / "cache"))
        assert not scene.ran()
    finally:
        su.kill()
        su.wait(10)
        os.close(read)
        os.close(write)


def test_root_with_the_home_of_a_user_runs_nothing_of_theirs_and_leaves_nothing_there(scene: Scene) -> None:
    """As sudo does where it keeps HOME."""
    cache = scene.home / ".cache" / "memory-server"
    _program(cache / scene.name / "program")
    _own(cache, VICTIM)
    scene.start(user=0, HOME=str(scene.home))
    assert not scene.ran()
    shutil.rmtree(scene.home / ".cache")
    scene.start(user=0, HOME=str(scene.home))
    assert not (scene.home / ".cache").exists()


def test_a_named_folder_is_not_used_where_somebody_else_made_it_first(scene: Scene) -> None:
    named = scene.shared / "cache"
    _program(_plant(scene, named) / "program")
    _own(named, ATTACKER)
    done = scene.start(HOME=str(scene.home), MEMORY_SERVER_CACHE=str(named))
    assert not scene.ran()
    assert "memory file" in done.stderr


def test_in_a_named_folder_that_all_share_what_others_made_is_not_used(scene: Scene) -> None:
    named = scene.shared / "cache"
    _program(_plant(scene, named) / "program")
    _own(named, ATTACKER)
    os.chown(named, 0, 0)
    named.chmod(0o1777)
    scene.start(HOME=str(scene.home), MEMORY_SERVER_CACHE=str(named))
    assert not scene.ran()


def test_a_named_folder_that_an_administrator_filled_is_used(scene: Scene) -> None:
    named = scene.shared / "cache"
    shutil.copytree(scene.genuine, named / scene.name)
    _own(named, ATTACKER)  # any account of the administrator's
    for one in (named, *named.rglob("*")):
        one.chmod(0o755 if one.is_dir() else 0o644)
    parent = scene.shared / "administrator"
    parent.mkdir(0o755)
    named = named.rename(parent / "cache")
    nowhere = str(scene.shared / "memory-server.pyz")  # no other folder could be used, so it is this one
    scene.start(HOME=nowhere, TMPDIR=str(scene.home / ".cache"), MEMORY_SERVER_CACHE=str(named))
    assert not list((scene.home / ".cache").glob("memory-server-*"))


@pytest.mark.parametrize("kind", ["link", "FIFO"])
def test_a_lock_that_somebody_planted_is_neither_followed_nor_waited_for(scene: Scene, kind: str) -> None:
    named = scene.shared / "cache"
    named.mkdir()
    named.chmod(0o1777)
    lock = named / f"{scene.name}.lock"
    if kind == "link":
        lock.symlink_to(scene.home / "new")
    else:
        os.mkfifo(lock)
        lock.chmod(0o666)
    os.lchown(lock, ATTACKER, ATTACKER)
    scene.start(HOME=str(scene.home), MEMORY_SERVER_CACHE=str(named))
    assert not (scene.home / "new").exists()


def test_the_current_folder_is_never_a_cache(scene: Scene) -> None:
    """It may hold what somebody sent: a repository, an unpacked archive."""
    received = scene.home / "received"
    for root in (received / f"memory-server-{VICTIM}", received):
        _program(_plant(scene, root) / "program")
    _own(received, VICTIM)
    done = subprocess.run(
        [scene.python, str(scene.archive), "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "MARKS": str(scene.shared / "marks"), "TMPDIR": ".", "HOME": ""},
        user=VICTIM,
        group=VICTIM,
        extra_groups=[],
        cwd=received,
        check=False,
    )
    shutil.rmtree(f"/tmp/memory-server-{VICTIM}", ignore_errors=True)
    assert done.returncode == 0, done.stderr
    assert not scene.ran()


@pytest.mark.parametrize("what", ["folder", "library"])
def test_what_was_open_to_others_for_a_while_is_unpacked_anew(scene: Scene, what: str) -> None:
    open_to_all = scene.genuine if what == "folder" else next(scene.genuine.rglob("*.so"))
    open_to_all.chmod(0o777)
    number = scene.genuine.stat().st_ino
    scene.start(HOME=str(scene.home))
    assert scene.genuine.stat().st_ino != number
    assert not [path for path in scene.genuine.parent.iterdir() if path.name.endswith(".tmp")]
    scene.start(HOME=str(scene.home))
    assert all(stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0 for path in scene.genuine.rglob("*"))


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
def test_it_starts_again_whatever_the_umask_of_the_first_start(scene: Scene, mask: int) -> None:
    home = scene.shared / "new home"
    home.mkdir(0o755)
    os.chown(home, VICTIM, VICTIM)
    before = os.umask(mask)
    try:
        scene.start(HOME=str(home), XDG_CACHE_HOME=str(home / "deep" / "cache"))
    finally:
        os.umask(before)
    folder = home / "deep" / "cache" / "memory-server" / scene.name
    number = (folder / "program").stat().st_ino
    scene.start(HOME=str(home), XDG_CACHE_HOME=str(home / "deep" / "cache"))
    assert (folder / "program").stat().st_ino == number
