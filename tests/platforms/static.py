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
from build.platforms import PLATFORMS, Platform, abi, python
from tests.platforms.results import Job, Row, run_checks

_LIBRARIES: Final = (".so", ".pyd", ".dll", ".dylib")
_ELF: Final = {"x86_64": 62, "aarch64": 183, "i686": 3, "armv7l": 40, "ppc64le": 21, "s390x": 22, "riscv64": 243}
_PE: Final = {"AMD64": 0x8664, "x86": 0x14C, "ARM64": 0xAA64}
_SMALL: Final = ("i686", "armv7l", "x86")  # 32-bit processors
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


def jobs(archive: Path) -> list[Job]:
    return [Job("every platform", "CPython", lambda: [_row(archive, platform) for platform in PLATFORMS])]


def _row(archive: Path, platform: Platform) -> Row:
    with zipfile.ZipFile(archive) as opened:
        start = opened.read("__main__.py").decode("utf-8")
        served = parts.served(opened)
        files = {one: list(parts.read(opened, one, platform.name)) for one in map(abi, platform.pythons)}

    def every_wheel_has_a_tag_of_its_platform() -> None:
        for wheel in wheels.locked_wheels([platform.name]):
            for one in platform.pythons if wheel.platform == "any" else [python(wheel.abi)]:
                known = {*_tags(platform, one), Tag("py3", "none", "any"), Tag("py2.py3", "none", "any")}
                assert wheel.tags & known, f"{wheel.file} is not for CPython {one} on {platform.name}"

    def the_launcher_asks_for_what_is_there() -> None:
        assert served[platform.name] == sorted(map(abi, platform.pythons)), served
        for one in platform.pythons:
            asked = _interpreter(start, platform, one)
            assert asked == f"{abi(one)}-{platform.name}", asked

    def its_parts_are_those_of_the_wheels() -> None:
        for one in platform.pythons:
            expected = {Path(file).name for file in _libraries_of_wheels(platform, one)}
            found = {Path(path).name for path, _ in files[abi(one)] if _is_library(path)}
            assert found == expected, found ^ expected

    def its_libraries_are_for_its_processor() -> None:
        for name, found in files.items():
            for path, content in found:
                if _is_library(path):
                    assert _fits(content, platform), f"{path} for {name} is another processor's"

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
    span = f"CPython {', '.join(platform.pythons)}"
    return run_checks(platform.label, span, checks, "read from the archive, nothing started")


def _tags(platform: Platform, interpreter: str) -> set[Tag]:
    """What pip takes there: the interpreter's own ABI, none."""
    version = tuple(map(int, interpreter.removesuffix("t").split(".")))
    return {
        *cpython_tags(version, abis=[abi(interpreter)], platforms=platform.tags),
        *(Tag("py3", "none", tag) for tag in platform.tags),
    }


def _interpreter(start: str, platform: Platform, interpreter: str) -> str:
    """What the launcher's own `interpreter` says when it sees that platform's facts."""
    body = ast.parse(start).body
    wanted = [one for one in body if getattr(one, "name", "") == "interpreter"]
    wanted += [one for one in body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "SMALL"]
    major, minor = interpreter.removesuffix("t").split(".")
    system: Any = SimpleNamespace(
        platform=platform.sys_platform,
        maxsize=2**31 - 1 if platform.machine in _SMALL else 2**63 - 1,
        version_info=(int(major), int(minor), 0, "final", 0),
        abiflags="t" if interpreter.endswith("t") else "",
    )

    def confstr(name: str) -> str:
        if platform.name.startswith("musl"):
            raise ValueError("unrecognized configuration name")
        return "glibc 2.17"

    # What a 64-bit kernel says to a 32-bit userland.
    machine = {"i686": "x86_64", "armv7l": "aarch64"}.get(platform.machine, platform.machine)
    operating: Any = SimpleNamespace(confstr=confstr, uname=lambda: SimpleNamespace(machine=machine))
    suffix = f".{abi(interpreter)}-{platform.tags[0]}.pyd" if platform.sys_platform == "win32" else ".so"
    scope: dict[str, Any] = {"sys": system, "os": operating, "extension_suffixes": lambda: [suffix]}
    exec(compile(ast.Module(wanted, []), "__main__.py", "exec"), scope)
    return str(scope["interpreter"]())


def _libraries_of_wheels(platform: Platform, interpreter: str) -> list[str]:
    """The compiled files of the wheels for that interpreter, but for pywin32's many that nothing imports."""
    found: list[str] = []
    for wheel in wheels.locked_wheels([platform.name]):
        if wheel.platform == platform.name and wheel.abi == abi(interpreter):
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
        return (
            content[:4] == b"\x7fELF"
            and struct.unpack_from(">H" if content[5] == 2 else "<H", content, 18)[0] == _ELF[platform.machine]
        )
    if content[:4] == b"\xca\xfe\xba\xbe":  # one file for several processors
        (count,) = struct.unpack_from(">I", content, 4)
        return _MACH[platform.machine] in [struct.unpack_from(">I", content, 8 + 20 * n)[0] for n in range(count)]
    return struct.unpack_from("<II", content) == (0xFEEDFACF, _MACH[platform.machine])
