"""From wheels and the program's own files to the contents of the archive, in memory: without a disk's modes or times.

Rules: what a code path of the server can reach stays, over stdio and over HTTP. Left out are files that only the client
half and the high-level server of the SDK use (`pins.LEFT_OUT`; `build/absent` replaces what is imported nevertheless),
type stubs, headers, tests, wheel bookkeeping, and pywin32's parts that nothing imports. Licences and METADATA always
stay.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, NamedTuple

from build import inputs, wheels

NATIVE: Final = (".so", ".pyd", ".dll", ".dylib")
_BOOKKEEPING: Final = ("RECORD", "INSTALLER", "REQUESTED", "WHEEL", "top_level.txt", "direct_url.json", "zip-safe")
# The SDK imports win32api, win32con, win32job and pywintypes on Windows; pywintypes needs the other two.
_PYWIN32: Final = (
    "pywin32_system32/pywintypes3*.dll",
    "win32/_win32sysloader.pyd",
    "win32/win32api.pyd",
    "win32/win32job.pyd",
    "win32/lib/pywintypes.py",
    "win32/lib/win32con.py",
)


class Staged(NamedTuple):
    """Files by path: for every interpreter, and by platform and then by abi ("any": all of that platform)."""

    pure: dict[str, bytes]
    native: dict[str, dict[str, dict[str, bytes]]]


def stage(platforms: list[str]) -> Staged:
    """The contents of the archive for these platforms, except its own start."""
    found = Staged(dict(_program()), {})
    chosen = wheels.locked_wheels(platforms)
    for wheel, path in zip(chosen, wheels.fetch(chosen), strict=True):
        for file, content in _files(wheel, path):
            target = found.pure
            if wheel.platform != "any":
                # Of one platform's wheels only the libraries differ; those for Windows have other line ends.
                groups = found.native.setdefault(wheel.platform, {})
                target = groups.setdefault(wheel.abi if _is_native(file) else "any", {})
            if target.setdefault(file, content) != content:
                raise ValueError(f"two wheels disagree about {file}")
    return found


def _program() -> Iterator[tuple[str, bytes]]:
    for path in inputs.sources(inputs.ROOT / "memory_app"):
        yield path.relative_to(inputs.ROOT).as_posix(), path.read_bytes()
    absent = inputs.ROOT / "build" / "absent"
    for path in inputs.sources(absent):
        if path.name != "__init__.py":
            yield path.relative_to(absent).as_posix(), path.read_bytes()


def _files(wheel: wheels.Wheel, path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as opened:
        for file in sorted(opened.namelist()):
            if not file.endswith("/") and _is_kept(wheel.name, file):
                yield _place(wheel.name, file), opened.read(file)


def _is_kept(package: str, file: str) -> bool:
    parts = file.split("/")
    if parts[0].endswith(".dist-info"):
        return parts[-1] not in _BOOKKEEPING and "sboms" not in parts
    if package == "pywin32":
        return any(fnmatch(file, pattern) for pattern in _PYWIN32)
    if parts[0].endswith(".data"):  # scripts and headers
        return False
    return not file.endswith((".pyi", ".h", ".pxd", "py.typed")) and not {"tests", "benchmarks"} & set(parts[:-1])


def _place(package: str, file: str) -> str:
    """The path in the archive. pywin32's parts are in one folder, so that its libraries find each other without a .pth
    file.
    """
    if package == "pywin32" and ".dist-info/" not in file:
        return file.rpartition("/")[2]
    return file


def _is_native(file: str) -> bool:
    return file.endswith(NATIVE) or ".libs/" in file
