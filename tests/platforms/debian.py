"""CPythons of newer Debian suites, and those of other processors under qemu, in folders of their own.

An interpreter and what it depends on are downloaded by apt and unpacked, not installed: it needs no more to run, and
packages of another processor, whose programs would all have to run under qemu, come in seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import threading
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tests.platforms.fetching import CACHE, Missing, call, need_programs, need_root
from tests.platforms.places import Place
from tests.platforms.results import Job, Row, run_suite
from tests.platforms.smoke import FOR_A_PROCESSOR

_EMULATORS: Final = {
    "arm64": "qemu-aarch64-static",
    "armhf": "qemu-arm-static",
    "ppc64el": "qemu-ppc64le-static",
    "riscv64": "qemu-riscv64-static",
    "s390x": "qemu-s390x-static",
}
"""Debian's word for a processor -> what runs its programs. 32-bit x86 needs none on 64-bit x86."""

_ASK: Final = "import os, sys; print(sys.version.split()[0], os.confstr('CS_GNU_LIBC_VERSION'))"
_EMULATED_PATIENCE: Final = 600.0  # seconds: under qemu a first start takes a minute, on a busy machine several
_IN_SHORT: Final = "only the scenes that a processor can change"
_WHOLE_SUITE: Final = ("amd64", "arm64")  # with the others under qemu too it would take an hour
_UPDATING: Final = threading.Lock()
_HOST: Final = "amd64"
_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
_URI: Final = re.compile(r"^(?:URIs:|deb (?:\[.*?\] )?) *(\S+)", re.MULTILINE)


class Suite(NamedTuple):
    """A suite, and the interpreter that is taken from it."""

    name: str
    processor: str
    python: str

    @property
    def emulator(self) -> str | None:
        return _EMULATORS.get(self.processor)


SUITES: Final = (
    Suite("trixie", "amd64", "python3.13"),
    Suite("forky", "amd64", "python3.14"),
    Suite("sid", "amd64", "python3.15"),
    Suite("trixie", "i386", "python3.13"),
    *(Suite("trixie", processor, "python3.13") for processor in ("arm64", "armhf", "riscv64")),
    # Mirrors often lack some of the newest packages for these.
    *(Suite("bookworm", processor, "python3.11") for processor in ("ppc64el", "s390x")),
)


def jobs(archive: Path) -> list[Job]:
    return [
        Job(
            f"Debian {suite.name} {suite.processor}",
            f"CPython {suite.python.removeprefix('python')}",
            partial(_rows, archive, suite),
        )
        for suite in SUITES
    ]


def _rows(archive: Path, suite: Suite) -> list[Row]:
    root = tree(suite)
    folder = root / "srv" / suite.python
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / "memory-server.pyz"
    shutil.copyfile(archive, copy)
    command = ["chroot", str(root)]
    if suite.emulator:
        shutil.copy(str(shutil.which(suite.emulator)), root / "usr" / "bin")
        command.append(f"/usr/bin/{suite.emulator}")
    command.append(f"/usr/bin/{suite.python}")
    environ = {"PATH": os.environ["PATH"], "HOME": f"/srv/{suite.python}/home"}
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
        _EMULATED_PATIENCE if suite.emulator else 60.0,
    )
    if suite.processor in _WHOLE_SUITE:
        return [run_suite(place)]
    return [run_suite(place, FOR_A_PROCESSOR, _IN_SHORT, 1)]


def tree(suite: Suite) -> Path:
    """The folder with the interpreter's files and those of the packages that it depends on."""
    need_root()
    programs = {"dpkg-deb": "dpkg", "chroot": "coreutils"}
    need_programs(programs | ({suite.emulator: "qemu-user-static"} if suite.emulator else {}))
    root = CACHE / "debian" / f"{suite.name}-{suite.processor}"
    stamp = root / "complete"
    if stamp.is_file() and stamp.read_text("utf-8") == suite.python:
        return root
    shutil.rmtree(root, ignore_errors=True)
    for name in ("usr/bin", "usr/lib", "tmp", "srv"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib32", "lib64", "sbin"):  # as every Debian has it
        (root / "usr" / name).mkdir(exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    apt = _apt(suite.name, suite.processor)
    call([*apt, "install", "--yes", "--no-install-recommends", "--download-only", suite.python])
    for file in (_home(suite.name, suite.processor) / "cache" / "archives").glob("*.deb"):
        call(["dpkg-deb", "--extract", str(file), str(root)])
    make_devices(root)
    stamp.write_text(suite.python, "utf-8")
    return root


def make_devices(root: Path) -> None:
    """The null device and random numbers: all that a server opens."""
    (root / "dev").mkdir(exist_ok=True)
    for name in ("null", "urandom"):
        facts = os.stat(f"/dev/{name}")
        if (root / "dev" / name).exists():
            continue
        try:
            os.mknod(root / "dev" / name, facts.st_mode, facts.st_rdev)
            os.chmod(root / "dev" / name, 0o666)
        except OSError as problem:
            raise Missing(f"no device files can be made here: {problem.strerror}") from problem


def sources(suite: str, package: str, folder: Path) -> Path:
    """The folder with that source package as its authors released it, below `folder`. Nothing of Debian's is added."""
    folder.mkdir(parents=True)
    try:
        call([*_apt(suite, _HOST), "source", "--download-only", package], cwd=folder)
    except Missing as problem:
        raise Missing(f"the Debian mirror does not give the source of {package} in {suite} ({problem})") from problem
    archive = max(folder.glob("*.orig.tar.?z"), key=lambda path: path.stat().st_size)
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked


def package(suite: str, name: str) -> Path:
    """The folder with that package's files."""
    need_programs({"dpkg-deb": "dpkg"})
    made = CACHE / "debian" / f"{suite}-{name}"
    if not made.is_dir():
        part = made.with_name(made.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        call([*_apt(suite, _HOST), "download", name], cwd=part)
        (file,) = part.glob("*.deb")
        call(["dpkg-deb", "--extract", str(file), str(part / "files")])
        os.replace(part / "files", made)
        shutil.rmtree(part)
    return made


def _home(suite: str, processor: str) -> Path:
    return CACHE / "apt" / f"{suite}-{processor}"


def _apt(suite: str, processor: str) -> list[str]:
    """apt-get with lists of its own, which know that suite, as for a machine on which nothing is installed."""
    need_programs({"apt-get": "apt"})
    home = _home(suite, processor)
    options = {
        "APT::Architecture": processor,
        "APT::Architectures::": processor,
        "APT::Sandbox::User": "root",  # the folders are ours
        "Acquire::Languages": "none",
        "Acquire::Retries": 3,
        "Debug::NoLocking": 1,
        "Dir::Cache": home / "cache",
        "Dir::Etc::SourceList": home / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": home / "lists",
        "Dir::State::Status": "/dev/null",
    }
    command = ["apt-get", *(f"-o{name}={value}" for name, value in options.items())]
    with _UPDATING:
        if not (home / "complete").is_file():
            for folder in ("lists/partial", "cache/archives/partial"):
                (home / folder).mkdir(parents=True, exist_ok=True)
            where = f"[signed-by={_KEYRING}] {_mirror()} {suite} main"
            lines = f"deb {where}\n" + (f"deb-src {where}\n" if processor == _HOST else "")
            (home / "sources.list").write_text(lines, "ascii")
            call([*command, "update"])
            (home / "complete").touch()
    return command


def _mirror() -> str:
    """Where this machine gets its Debian packages from."""
    for path in (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")):
        if path.exists() and (found := _URI.search(path.read_text("utf-8"))):
            return found[1]
    raise Missing("finds no Debian mirror in /etc/apt")
