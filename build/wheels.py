"""The wheels of the archive: which ones (wheels.txt), and how they get into the cache.

Rules: a wheel is named by its file name and hash, never by an address: pip's configuration says where it comes from. A
file in the cache with the right hash is never downloaded again. A file with a wrong hash is not used.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

from build import inputs

LOCK: Final = inputs.ROOT / "build" / "wheels.txt"
CACHE: Final = inputs.ROOT / ".cache" / "wheels"
_AT_ONCE: Final = 4  # pip mostly waits for the network


class Wheel(NamedTuple):
    """A line of wheels.txt: for which platform and interpreter ("any": all of them), which file, which content."""

    platform: str
    abi: str
    file: str
    sha256: str

    @property
    def name(self) -> str:
        return str(parse_wheel_filename(self.file)[0])

    @property
    def version(self) -> str:
        return str(parse_wheel_filename(self.file)[1])

    @property
    def tags(self) -> frozenset[Tag]:
        return parse_wheel_filename(self.file)[3]


def locked_wheels(platforms: Iterable[str]) -> list[Wheel]:
    """The wheels for these platforms, in the order of wheels.txt."""
    wanted = {"any", *platforms}
    lines = (line.split() for line in LOCK.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return [Wheel(*fields) for fields in lines if fields[0] in wanted]


def fetch(wheels: Sequence[Wheel]) -> list[Path]:
    """The wheels' files, in that order; only missing ones are downloaded."""
    CACHE.mkdir(parents=True, exist_ok=True)
    missing = [wheel for wheel in dict.fromkeys(wheels) if not _is_cached(wheel)]
    if missing:
        print(f"memory-server build: downloading {len(missing)} wheels", file=sys.stderr, flush=True)
        groups: dict[tuple[str, ...], list[Wheel]] = {}
        for wheel in missing:
            groups.setdefault(_asked_for_with(wheel), []).append(wheel)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(_download, groups, groups.values()))
    return [CACHE / wheel.file for wheel in wheels]


def _is_cached(wheel: Wheel) -> bool:
    path = CACHE / wheel.file
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == wheel.sha256


def _asked_for_with(wheel: Wheel) -> tuple[str, ...]:
    """pip's options that select exactly such a wheel: its interpreter, then its ABI and platforms."""
    tags = sorted(wheel.tags, key=str)
    # A wheel for every later interpreter (abi3), and a pure one, go with our oldest.
    version = "310" if tags[0].abi in ("abi3", "none") else tags[0].interpreter.removeprefix("cp")
    platforms = sorted({tag.platform for tag in tags})
    return (f"{version[0]}.{version[1:]}", "--abi", tags[0].abi, *(f"--platform={one}" for one in platforms))


def _download(options: tuple[str, ...], wheels: list[Wheel]) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        wish = Path(folder, "wish.txt")
        lines = [f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n" for wheel in wheels]
        wish.write_text("".join(lines), "utf-8")
        command = [*pip_download(wish, Path(folder), python=options[0]), *options[1:]]
        subprocess.run(command, check=True, stdout=sys.stderr, stdin=subprocess.DEVNULL)
        for wheel in wheels:
            os.replace(Path(folder, wheel.file), CACHE / wheel.file)


def pip_download(wish: Path, into: Path, *, python: str) -> list[str]:
    """The pip command that downloads the wheels of a requirements file, for another interpreter than this one.

    The caller adds --abi and --platform.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--require-hashes", "--requirement", str(wish), "--dest", str(into)]
    return [*command, "--implementation", "cp", "--python-version", python]
