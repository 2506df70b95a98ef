"""What can be said about platforms that do not run here: read from the archive, judged by each platform's own rules.

For every platform and interpreter: that the launcher would ask for exactly the parts that are there, that those are
the wheels' libraries for that interpreter and processor, and that no two files would meet under one name.
"""

from __future__ import annotations

import ast
import struct
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from packaging.tags import Tag, cpython_tags

from build import wheels
from build.launcher import parts
from build.platforms import PLATFORMS, PYTHONS, Platform
from tests.platforms.results import Row, run_checks

_LIBRARIES: Final = (".so", ".pyd", ".dll", ".dylib")
_ELF: Final = {"x86_64": 62, "aarch64": 183}
_PE: Final = {"AMD64": 0x8664}
_MACH: Final = {"arm64": 0x0100000C, "x86_64": 0x01000007}
_RESERVED: Final = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10)),
}
_LONGEST: Final = 140
"""Characters that Windows' 260 leave for a path below the unpacked folder, where a user's name has 20."""


def rows(archive: Path) -> list[Row]:
    return [_row(archive, platform) for platform in PLATFORMS]


def _row(archive: Path, platform: Platform) -> Row:
    with zipfile.ZipFile(archive) as opened:
        start = opened.read("__main__.py").decode("utf-8")
        served = parts.served(opened)
        files = {abi: list(parts.read(opened, abi, platform.name)) for abi in map(_abi, PYTHONS)}

    def every_wheel_has_a_tag_of_its_platform() -> None:
        for wheel in wheels.locked([platform.name]):
            for python in PYTHONS if wheel.platform == "any" or wheel.abi == "any" else [_python(wheel.abi)]:
                known = {*_tags(platform, python), Tag("py3", "none", "any"), Tag("py2.py3", "none", "any")}
                assert wheel.tags & known, f"{wheel.file} is not for CPython {python} on {platform.name}"

    def the_launcher_asks_for_what_is_there() -> None:
        assert served[platform.name] == [_abi(python) for python in PYTHONS], served
        for python in PYTHONS:
            asked = _interpreter(start, platform, python)
            assert asked == f"{_abi(python)}-{platform.name}", asked

    def its_parts_are_those_of_the_wheels() -> None:
        for python in PYTHONS:
            expected = {Path(file).name for file in _libraries_of_wheels(platform, python)}
            found = {Path(path).name for path, _ in files[_abi(python)] if _is_library(path)}
            assert found == expected, found ^ expected

    def its_libraries_are_for_its_processor() -> None:
        for abi, found in files.items():
            for path, content in found:
                if _is_library(path):
                    assert _fits(content, platform), f"{path} for {abi} is another processor's"

    def no_two_files_meet_under_one_name() -> None:
        for found in files.values():
            names = Counter(path.casefold() for path, _ in found)
            assert max(names.values()) == 1, [name for name, count in names.items() if count > 1]

    def its_file_names_can_be_made() -> None:
        for path in {path for found in files.values() for path, _ in found}:
            bare = {part.split(".")[0].casefold() for part in path.split("/")}
            assert len(path) <= _LONGEST and not bare & _RESERVED and not set(path) & set('<>:"\\|?*'), path

    checks: list[Callable[[], None]] = [
        every_wheel_has_a_tag_of_its_platform,
        the_launcher_asks_for_what_is_there,
        its_parts_are_those_of_the_wheels,
        its_libraries_are_for_its_processor,
        no_two_files_meet_under_one_name,
        its_file_names_can_be_made,
    ]
    span = f"CPython {PYTHONS[0]} to {PYTHONS[-1]}"
    return run_checks(platform.label, span, checks, "read from the archive, nothing started")


def _abi(python: str) -> str:
    return "cp" + python.replace(".", "")


def _python(abi: str) -> str:
    return f"{abi[2]}.{abi[3:]}"


def _tags(platform: Platform, python: str) -> set[Tag]:
    """What pip takes there: the interpreter's own ABI, the stable one, none."""
    version = tuple(map(int, python.split(".")))
    return {*cpython_tags(version, platforms=platform.tags), *(Tag("py3", "none", tag) for tag in platform.tags)}


def _interpreter(start: str, platform: Platform, python: str) -> str:
    """What the launcher's own `interpreter` says when it sees that platform's facts."""
    (function,) = (node for node in ast.parse(start).body if getattr(node, "name", "") == "interpreter")
    major, minor = python.split(".")
    version = (int(major), int(minor), 0, "final", 0)
    system: Any = SimpleNamespace(platform=platform.sys_platform, maxsize=2**63 - 1, version_info=version, abiflags="")

    def confstr(name: str) -> str:
        if platform.name.startswith("musl"):
            raise ValueError("unrecognized configuration name")
        return "glibc 2.17"

    operating: Any = SimpleNamespace(confstr=confstr, uname=lambda: SimpleNamespace(machine=platform.machine))
    suffix = {"win32": f".{_abi(python)}-win_amd64.pyd"}.get(platform.sys_platform, ".so")
    scope: dict[str, Any] = {"sys": system, "os": operating, "extension_suffixes": lambda: [suffix]}
    exec(compile(ast.Module([function], []), "__main__.py", "exec"), scope)
    return str(scope["interpreter"]())


def _libraries_of_wheels(platform: Platform, python: str) -> list[str]:
    """The compiled files of the wheels for that interpreter, but for pywin32's many that nothing imports."""
    found: list[str] = []
    for wheel in wheels.locked([platform.name]):
        if wheel.platform == platform.name and wheel.abi in ("any", _abi(python)):
            with zipfile.ZipFile(wheels.CACHE / wheel.file) as opened:
                names = [name for name in opened.namelist() if _is_library(name)]
            wanted = ("pywintypes3", "_win32sysloader", "win32api", "win32job")
            found += [name for name in names if wheel.name != "pywin32" or Path(name).name.startswith(wanted)]
    return found


def _is_library(path: str) -> bool:
    return path.endswith(_LIBRARIES) or (".libs/" in path and not path.endswith("/"))


def _fits(content: bytes, platform: Platform) -> bool:
    """Whether a library's own head names the platform's processor."""
    if platform.sys_platform == "win32":
        (offset,) = struct.unpack_from("<I", content, 60)
        return struct.unpack_from("<4sH", content, offset) == (b"PE\0\0", _PE[platform.machine])
    if platform.sys_platform == "linux":
        return content[:4] == b"\x7fELF" and struct.unpack_from("<H", content, 18)[0] == _ELF[platform.machine]
    if content[:4] == b"\xca\xfe\xba\xbe":  # one file for several processors
        (count,) = struct.unpack_from(">I", content, 4)
        return _MACH[platform.machine] in [struct.unpack_from(">I", content, 8 + 20 * n)[0] for n in range(count)]
    return struct.unpack_from("<II", content) == (0xFEEDFACF, _MACH[platform.machine])
