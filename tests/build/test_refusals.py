"""Where it cannot run: one line that says which interpreter this is, which are served and what to do, and status 1."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from build.launcher import refusal, unpack
from tests.build.starting import environment, refused

PYENV = Path.home() / ".pyenv" / "versions"
_PATCHED = """
import os, runpy, sys, types
{patch}
sys.argv[:] = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7", "3.8", "3.9"])
def test_an_old_python_is_told_in_one_line(archive: Path, tmp_path: Path, version: str) -> None:
    found = sorted(PYENV.glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} under {PYENV}")
    status, out, lines = refused(archive, environment(tmp_path / "cache"), str(found[0]))
    assert (status, out, len(lines)) == (1, "", 1)
    assert lines[0].startswith(f"memory-server needs CPython 3.10 or newer; this is Python {version}.")
    assert "python3.13 memory-server.pyz" in lines[0]
    assert not (tmp_path / "cache").exists()


# What the launcher asks the interpreter is answered for another one. Only POSIX can play all of these.
SIMULATED = {
    "PyPy": (
        "sys.implementation = types.SimpleNamespace(name='pypy', cache_tag='pypy311')",
        ["this is pypy (Python ", "needs CPython 3.10"],
    ),
    "free-threaded and older": (
        "sys.version_info = (3, 13, 0, 'final', 0); sys.abiflags = 't'",
        ["3.13 free-threaded on "],
    ),
    "free-threaded on Windows": (
        "import _imp; sys.platform = 'win32'; _imp.extension_suffixes = lambda: ['.cp314t-win_amd64.pyd']",
        ["CPython 3.14 free-threaded on windows-amd64"],
    ),
    "unknown processor": (
        "os.uname = lambda: types.SimpleNamespace(machine='sparc64')",
        ["-sparc64", "or the one for yours"],
    ),
    "old ARM": ("os.uname = lambda: types.SimpleNamespace(machine='armv6l'); sys.maxsize = 2**31 - 1", ["-armv6l"]),
    "unknown system": ("sys.platform = 'freebsd15'", ["on freebsd15-"]),
    "Android, as in Termux": ("del os.confstr; sys.getandroidapilevel = lambda: 24", ["on android-"]),
    "Android of later Pythons": ("sys.platform = 'android'; del os.confstr", ["on android-"]),
    "newer Python": (
        "sys.version_info = (3, 16, 0, 'final', 0)",
        ["CPython 3.16 on ", "Install CPython 3.10 to 3.15"],
    ),
}


@pytest.mark.skipif(os.name == "nt", reason="plays other systems on POSIX")
@pytest.mark.parametrize("what", SIMULATED)
def test_another_interpreter_is_told_in_one_line(archive: Path, tmp_path: Path, what: str) -> None:
    patch, expected = SIMULATED[what]
    script = tmp_path / "play.py"
    script.write_text(_PATCHED.format(patch=patch))
    done = subprocess.run(
        [sys.executable, str(script), str(archive)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(tmp_path / "cache"),
        check=False,
    )
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout, len(lines)) == (1, "", 1), done.stderr
    for text in expected:
        assert text in lines[0]
    assert len(lines[0]) <= 300 + len(sys.executable)
    assert not (tmp_path / "cache").exists()


ALL = {name: ["cp310", "cp311", "cp315", "cp314t"] for name in ("linux-x86_64", "linux-riscv64", "windows-arm64")}


@pytest.mark.parametrize(
    ("abi", "system", "todo"),
    [
        ("cp316", "linux-x86_64", "Install CPython 3.10 to 3.15 or 3.14 free-threaded for it."),
        ("cp313", "musl-riscv64", "On this processor, install a Python for glibc, such as Debian's."),
        (
            "cp313",
            "android-aarch64",
            "In Termux: install Debian with proot-distro, install python3 in it, and use that.",
        ),
        ("cp313", "linux-armv6l", "Use an ARMv7 or newer processor, or another supported one."),
        ("cp313", "linux-mips64", "Use a machine or a container with an x86-64 or arm64 processor."),
        ("cp313", "freebsd15-amd64", "Use a Python for Linux, macOS or Windows, or a Linux container."),
    ],
)
def test_the_archive_for_all_platforms_says_in_a_short_line_what_to_install(abi: str, system: str, todo: str) -> None:
    line = refusal.platform(abi, system, ALL)
    assert line.endswith(todo)
    assert len(line) <= 200 + len(sys.executable)


@pytest.mark.parametrize(
    ("first", "modules"),
    [(True, "shutil tempfile zipfile"), (True, "zipfile"), (True, "asyncio"), (False, "asyncio"), (False, "json")],
)
def test_a_python_without_a_part_of_its_library_is_told_in_one_line(
    archive: Path, cache: Path, tmp_path: Path, first: bool, modules: str
) -> None:
    """As Debian's python3-minimal."""
    script = tmp_path / "play.py"
    script.write_text(
        _PATCHED.format(patch=f"sys.modules.update(dict.fromkeys('{modules}'.split()))")
        .replace(", runpy", "")
        .replace('runpy.run_path(sys.argv[0], run_name="__main__")', _RUN_BARE)
    )
    done = subprocess.run(
        [sys.executable, "-S", str(script), str(archive)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(tmp_path / "new" if first else cache),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert f"has no module {modules.split()[0]}" in done.stderr or "has no module zipfile" in done.stderr
    assert "apt install python3" in done.stderr


# What python does with an archive; runpy would import too much.
_RUN_BARE = """
import zipimport
sys.path.insert(0, sys.argv[0])
exec(zipimport.zipimporter(sys.argv[0]).get_code("__main__"), sys.modules["__main__"].__dict__)
"""


def _archive_for(tmp_path: Path, platform: str) -> zipfile.ZipFile:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("served.json", f'{{"{platform}": ["cp310", "cp311"]}}')
    return zipfile.ZipFile(path)


@pytest.mark.skipif(not hasattr(os, "confstr"), reason="asks the C library")
@pytest.mark.parametrize(("version", "runs"), [("glibc 2.12", False), ("glibc 2.17", True), ("glibc 2.41", True)])
def test_an_old_glibc_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, runs: bool
) -> None:
    monkeypatch.setattr(os, "confstr", lambda _: version)
    with _archive_for(tmp_path, "linux-x86_64") as archive:
        if runs:
            unpack.refuse_unserved(archive, "cp311", "linux-x86_64")
        else:
            with pytest.raises(SystemExit, match=r"needs glibc 2\.17 or newer; this system has glibc 2\.12\."):
                unpack.refuse_unserved(archive, "cp311", "linux-x86_64")


def test_without_lzma_the_archive_for_one_platform_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("served.json", '{"linux-x86_64": ["cp311"]}')
        made.writestr("startup.txt", "")
        made.writestr("parts/pure.tar.xz", b"")
    monkeypatch.setitem(sys.modules, "lzma", None)
    monkeypatch.setenv("MEMORY_SERVER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(path)])
    monkeypatch.setattr(os, "confstr", lambda _: "glibc 2.36", raising=False)
    with pytest.raises(SystemExit, match=r"no _lzma module .* Use memory-server-linux-x86_64\.pyz"):
        unpack.first_start("1.0.0-0123456789abcdef-cp311-linux-x86_64", _Never, "")
    assert not list((tmp_path / "cache").glob("*.tmp"))


class _Never:
    """Stands for the launcher's judge of folders."""

    @staticmethod
    def resolve(path: str, named: bool) -> str:
        return path

    def __init__(self, path: str, named: bool) -> None:
        self.path = path

    def vet(self, facts: os.stat_result, kind: int) -> None: ...

    def open_program(self, name: str) -> unpack.Start:
        raise OSError(name)


def test_the_simulation_is_of_what_the_launcher_asks(archive: Path, tmp_path: Path) -> None:
    """Without a patch the same script starts the program."""
    script = tmp_path / "play.py"
    script.write_text(_PATCHED.format(patch=""))
    command = [sys.executable, str(script), str(archive), "--version"]
    done = subprocess.run(command, capture_output=True, timeout=60, env=environment(tmp_path / "cache"), check=False)
    assert done.returncode == 0, done.stderr
