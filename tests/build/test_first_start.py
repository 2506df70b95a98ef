"""The first start: where it unpacks, what it leaves, and what may be in its way."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.build.starting import environment, mounted, refused, serve, unpacked

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, signals and mounts")


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_one_folder_is_left_and_it_is_private(filled: Path) -> None:
    (folder,) = unpacked(filled)
    assert folder.name.split("-")[2] == f"cp{sys.version_info[0]}{sys.version_info[1]}"
    modules = [name for name in tree(folder) if name.endswith((".py", ".pyc"))]
    assert modules == []  # hundreds of files to look after at each start: they are in the program file
    if os.name != "nt":
        modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (folder, folder / "program")}
        assert modes == {0}


def test_the_compiled_modules_come_from_the_first_start_whatever_the_environment_says(
    archive: Path, filled: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "another cache"
    serve(archive, tmp_path, environment(cache, {"PYTHONDONTWRITEBYTECODE": "1"}))
    there, here = unpacked(filled)[0], unpacked(cache)[0]
    assert tree(there) == tree(here)  # the program file with the compiled modules among them
    assert not list(here.rglob("__pycache__"))


def test_a_later_start_writes_nothing(archive: Path, cache: Path, tmp_path: Path) -> None:
    before = {path: path.stat() for path in cache.rglob("*")}
    serve(archive, tmp_path, environment(cache))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in cache.rglob("*")} == {
        path: (facts.st_mtime_ns, facts.st_ino) for path, facts in before.items()
    }


@pytest.mark.parametrize(
    "name", ["Gedächtnis 記憶 (1).pyz", pytest.param("memory-server", marks=pytest.mark.slow)], ids=ascii
)
def test_a_renamed_copy_unpacks_nothing_anew(archive: Path, cache: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "Ordner mit Leerzeichen und Ü"
    folder.mkdir()
    serve(shutil.copy(archive, folder / name), tmp_path, environment(cache))
    assert len(unpacked(cache)) == 1


@POSIX
def test_it_starts_through_a_symbolic_link_and_from_another_folder(archive: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "link.pyz").symlink_to(archive)
    serve("link.pyz", tmp_path, environment(cache), cwd=tmp_path)
    assert len(unpacked(cache)) == 1


def test_the_cache_may_have_any_letters_in_its_path(archive: Path, tmp_path: Path) -> None:
    cache = tmp_path / "Zwischenspeicher für 記憶"
    serve(archive, tmp_path, environment(cache))
    serve(archive, tmp_path, environment(cache))
    assert len(unpacked(cache)) == 1


@POSIX
def test_several_at_once_all_start_and_one_unpacks(archive: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    command = [sys.executable, str(archive), "--version"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(cache)) for _ in range(4)]
    assert [one.wait(60) for one in running] == [0, 0, 0, 0]
    for one in running:
        one.communicate()
    (folder,) = unpacked(cache)
    assert folder.is_dir()


@POSIX
def test_a_start_that_was_killed_half_way_leaves_nothing_for_long(archive: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    doomed = subprocess.Popen([sys.executable, str(archive), "--version"], env=environment(cache))
    deadline = time.monotonic() + 30
    while not list(cache.glob("*.tmp/*")):  # it is writing
        assert time.monotonic() < deadline
        assert doomed.poll() is None
    doomed.send_signal(signal.SIGKILL)
    doomed.wait(10)
    assert list(cache.glob("*.tmp")), "it was too fast for this test"
    serve(archive, tmp_path, environment(cache))
    assert len(unpacked(cache)) == 1


@POSIX
@pytest.mark.parametrize(
    "home",
    [{}, {"HOME": ""}, {"HOME": "/nonexistent/home"}, {"HOME": "/proc"}, {"HOME": "relative"}],
    ids=["none", "empty", "missing", "read-only", "relative"],
)
def test_without_a_home_it_unpacks_among_the_temporary_files(
    archive: Path, filled: Path, tmp_path: Path, home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    own = temporary / f"memory-server-{os.geteuid()}"
    temporary.mkdir()
    if home:  # that it unpacks is seen once, without a home: here it is enough that it looks there
        own.mkdir(0o700)
        shutil.copytree(unpacked(filled)[0], own / unpacked(filled)[0].name)
    environ = environment(None, {**home, "TMPDIR": str(temporary), "XDG_CACHE_HOME": "/proc/none"})
    serve(archive, tmp_path, environ, cwd=tmp_path)
    assert len(unpacked(own)) == 1
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


@POSIX
def test_a_temporary_folder_that_others_can_write_is_not_trusted(archive: Path, cache: Path, tmp_path: Path) -> None:
    own = tmp_path / f"memory-server-{os.geteuid()}"
    cache.rename(own)
    own.chmod(0o777)
    (own / unpacked(own)[0].name / "program").chmod(0o666)
    status, out, lines = refused(archive, environment(None, {"HOME": "/proc", "TMPDIR": str(tmp_path)}))
    assert (status, out, len(lines)) == (1, "", 1)
    assert "others can write it" in lines[0]
    assert "MEMORY_SERVER_CACHE" in lines[0]


@POSIX
def test_a_full_disk_sends_it_elsewhere_and_leaves_no_litter(archive: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with mounted(tmp_path / "home", "size=6m") as home:
        serve(archive, tmp_path, environment(None, {"HOME": str(home), "TMPDIR": str(temporary)}))
        assert unpacked(home / ".cache" / "memory-server") == []
    assert len(unpacked(temporary / f"memory-server-{os.geteuid()}")) == 1


@POSIX
def test_a_noexec_cache_is_passed_over_and_named_when_there_is_no_other(archive: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "home", "noexec") as home:
        environ = environment(None, {"HOME": str(home), "TMPDIR": str(tmp_path)})
        serve(archive, tmp_path, environ)
        assert not (home / ".cache" / "memory-server" / "program").exists()
        status, out, lines = refused(archive, {**environ, "TMPDIR": str(home)})
    assert (status, out, len(lines)) == (1, "", 1)
    assert "noexec" in lines[0]


@POSIX
def test_a_read_only_cache_that_was_filled_before_is_used(archive: Path, filled: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "cache", "size=64m") as cache:
        shutil.copytree(filled, cache, dirs_exist_ok=True)
        os.utime(next(cache.glob("*/program")), (0, 0))  # long ago: the daily look around must not mind either
        subprocess.run(["mount", "-o", "remount,ro", str(cache)], check=True)
        # No other folder could be used, so it is this one.
        serve(archive, tmp_path, environment(cache, {"HOME": "/proc", "TMPDIR": "/proc"}))


@pytest.mark.parametrize(
    "options", ["-I", *(pytest.param(one, marks=pytest.mark.slow) for one in ("-E -s", "-S", "-O", "-OO", "-X utf8=0"))]
)
def test_it_starts_with_the_interpreters_options(archive: Path, cache: Path, tmp_path: Path, options: str) -> None:
    serve(archive, tmp_path, environment(cache), *options.split())
    assert len(unpacked(cache)) == 1


BROKEN = "raise RuntimeError('a foreign module was loaded')\n"


@pytest.mark.parametrize("first", [True, False], ids=["first start", "later start"])
def test_foreign_and_broken_packages_on_the_path_are_not_seen(
    archive: Path, cache: Path, tmp_path: Path, first: bool
) -> None:
    foreign = tmp_path / "foreign"
    ours = ("pydantic", "mcp", "anyio", "typing_extensions", "cryptography", "launcher", "memory_app")
    for name in (*ours, "json", "asyncio", "zipfile", "lzma", "shutil"):
        (foreign / name).mkdir(parents=True)
        (foreign / name / "__init__.py").write_text(BROKEN)
    metadata = foreign / "foreign-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: foreign\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[pydantic]\nplugin = foreign:plugin\n")
    shiv = {"SHIV_ENTRY_POINT": "os:abort", "SHIV_ROOT": "/proc", "SHIV_INTERPRETER": "1", "SHIV_FORCE_EXTRACT": "1"}
    environ = environment(tmp_path / "new" if first else cache, {"PYTHONPATH": str(foreign), **shiv})
    serve(archive, tmp_path, environ)


def test_what_the_host_loaded_early_under_our_names_is_dropped(archive: Path, cache: Path, tmp_path: Path) -> None:
    early = tmp_path / "early"
    (early / "pydantic").mkdir(parents=True)
    (early / "pydantic" / "__init__.py").write_text("from . import inner\n")
    (early / "pydantic" / "inner.py").write_text("")
    (early / "sitecustomize.py").write_text("import pydantic.inner\n")
    serve(archive, tmp_path, environment(cache, {"PYTHONPATH": str(early)}))


@pytest.mark.parametrize("first", [True, False], ids=["first start", "later start"])
def test_a_python_without_ssl_serves_over_stdio(archive: Path, cache: Path, tmp_path: Path, first: bool) -> None:
    script = tmp_path / "play.py"
    script.write_text(
        "import runpy, sys\n"
        "sys.modules['_ssl'] = None\n"  # as built without OpenSSL
        "sys.argv[:] = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    serve(archive, tmp_path, environment(tmp_path / "new" if first else cache), str(script))
