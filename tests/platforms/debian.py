"""CPythons of newer Debian suites, and those of other processors under qemu, in folders of their own.

A suite's packages are downloaded by debootstrap and unpacked, not installed: an interpreter needs no more, and packages
of another processor, whose programs would all have to run under qemu, come in seconds.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from tests.platforms.fetching import CACHE, Missing, call, need_programs, need_root
from tests.platforms.places import Place
from tests.platforms.results import Row, or_missing, run_suite

_EMULATORS: Final = {
    "arm64": "qemu-aarch64-static",
    "armhf": "qemu-arm-static",
    "ppc64el": "qemu-ppc64le-static",
    "riscv64": "qemu-riscv64-static",
    "s390x": "qemu-s390x-static",
}
"""Debian's word for a processor -> what runs its programs. 32-bit x86 needs none on 64-bit x86."""

_SID_SCRIPT: Final = "/usr/share/debootstrap/scripts/sid"  # an older debootstrap has no scripts for newer suites
_ASK: Final = "import os, sys; print(sys.version.split()[0], os.confstr('CS_GNU_LIBC_VERSION'))"
_EMULATED_PATIENCE: Final = 300.0  # seconds: under qemu a first start takes a minute
_URI: Final = re.compile(r"^(?:URIs:|deb (?:\[.*?\] )?) *(\S+)", re.MULTILINE)


class Suite(NamedTuple):
    """A suite, the interpreters that are taken from it, and what is shown with them."""

    name: str
    processor: str
    pythons: tuple[str, ...]
    more: tuple[str, ...] = ()

    @property
    def emulator(self) -> str | None:
        return _EMULATORS.get(self.processor)


SID: Final = Suite("sid", "amd64", ("python3.15",), more=("musl",))
SUITES: Final = (
    Suite("trixie", "amd64", ("python3.13",)),
    Suite("forky", "amd64", ("python3.14",)),
    SID,
    Suite("trixie", "i386", ("python3.13",)),
    *(Suite("trixie", processor, ("python3.13",)) for processor in _EMULATORS),
)


def rows(archive: Path) -> list[Row]:
    found: list[Row] = []
    for suite in SUITES:
        for python in suite.pythons:
            name, version = f"Debian {suite.name} {suite.processor}", f"CPython {python.removeprefix('python')}"
            found += or_missing(name, version, lambda suite=suite, python=python: [_row(archive, suite, python)])  # type: ignore[misc]
    return found


def _row(archive: Path, suite: Suite, python: str) -> Row:
    root = tree(suite)
    folder = root / "srv" / python
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / "memory-server.pyz"
    shutil.copyfile(archive, copy)
    command = ["chroot", str(root)]
    if suite.emulator:
        shutil.copy(str(shutil.which(suite.emulator)), root / "usr" / "bin")
        command.append(f"/usr/bin/{suite.emulator}")
    command.append(f"/usr/bin/{python}")
    environ = {"PATH": os.environ["PATH"], "HOME": f"/srv/{python}/home"}
    asked = call([*command, "-c", _ASK], env=environ)
    version, _, libc = asked.strip().partition(" ")
    place = Place(
        f"Debian {suite.name} {suite.processor}, {libc}" + (", under qemu" if suite.emulator else ""),
        f"CPython {version}",
        tuple(command),
        environ,
        copy,
        folder,
        (folder / "home" / ".cache",),
        lambda path: "/" + str(path.relative_to(root)),
        _EMULATED_PATIENCE if suite.emulator else 30.0,
    )
    return run_suite(place)


def tree(suite: Suite) -> Path:
    """The folder with the suite's files."""
    need_root()
    programs = {"debootstrap": "debootstrap", "dpkg-deb": "dpkg", "chroot": "coreutils"}
    need_programs(programs | ({suite.emulator: "qemu-user-static"} if suite.emulator else {}))
    root = CACHE / "debian" / f"{suite.name}-{suite.processor}"
    wanted = ",".join(["python3", *suite.pythons, *suite.more])
    stamp = root / "complete"
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return root
    shutil.rmtree(root, ignore_errors=True)
    packages = root.with_name(root.name + ".packages")
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    options = ["--download-only", "--variant=minbase", f"--arch={suite.processor}", f"--include={wanted}"]
    try:
        call(["debootstrap", *options, suite.name, str(packages), _mirror(), _SID_SCRIPT])
        root.mkdir()
        found = sorted((packages / "var/cache/apt/archives").glob("*.deb"), key=_after_the_base)
        for package in found:
            call(["dpkg-deb", "--extract", str(package), str(root)])
    finally:
        shutil.rmtree(packages, ignore_errors=True)
    for name in ("dev", "tmp", "srv"):
        (root / name).mkdir(exist_ok=True)
    _make_devices(root)
    stamp.write_text(wanted, "utf-8")
    return root


def _after_the_base(package: Path) -> tuple[bool, str]:
    """`base-files` first: its links, as /lib to /usr/lib, decide where the others' files go."""
    return not package.name.startswith("base-files_"), package.name


def _make_devices(root: Path) -> None:
    """The null device and random numbers: all that a server opens."""
    for name in ("null", "urandom"):
        facts = os.stat(f"/dev/{name}")
        try:
            os.mknod(root / "dev" / name, facts.st_mode, facts.st_rdev)
            os.chmod(root / "dev" / name, 0o666)
        except OSError as problem:
            raise Missing(f"no device files can be made here: {problem.strerror}") from problem


def _mirror() -> str:
    """Where this machine gets its Debian packages from."""
    for path in (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")):
        if path.exists() and (found := _URI.search(path.read_text("utf-8"))):
            return found[1]
    raise Missing("finds no Debian mirror in /etc/apt")
