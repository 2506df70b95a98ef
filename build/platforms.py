"""The platforms and interpreters that the archive supports, and the names that pip, wheels and our launcher give them.

Rules: one row per platform; its name is the launcher's word for it, so a new row here needs the same word there.
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Final, NamedTuple

PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
FREE_THREADED: Final = ("3.14t",)


def abi(python: str) -> str:
    """The launcher's and the wheels' word for an interpreter: cp313, cp314t."""
    return "cp" + python.replace(".", "")


def python(abi: str) -> str:
    """The interpreter with that word: 3.13, 3.14t."""
    return f"{abi[2]}.{abi[3:]}"


class Platform(NamedTuple):
    """One platform: the tags that pip is asked for, best first, and the values of environment markers there."""

    name: str
    label: str
    tags: tuple[str, ...]
    sys_platform: str
    machine: str
    pythons: tuple[str, ...] = (*PYTHONS, *FREE_THREADED)

    @property
    def markers(self) -> dict[str, str]:
        """The variables of environment markers, except the interpreter's."""
        return {
            "implementation_name": "cpython",
            "os_name": "nt" if self.sys_platform == "win32" else "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "sys_platform": self.sys_platform,
        }


# The oldest tag of each family first: a wheel for an old system runs on newer ones too, not the other way round.
_MANYLINUX: Final = ("manylinux_2_17_{0}", "manylinux2014_{0}")
_OLD_MANYLINUX: Final = (*_MANYLINUX, "manylinux_2_5_{0}", "manylinux1_{0}")
_MUSL: Final = ("musllinux_1_1_{0}", "musllinux_1_2_{0}")
_MAC_ARM: Final = ("macosx_11_0_arm64", "macosx_11_0_universal2", "macosx_10_9_universal2")
_MAC_INTEL: Final = ("macosx_10_12_x86_64", "macosx_10_15_x86_64", "macosx_10_13_x86_64", "macosx_10_9_universal2")


def _for(machine: str, *tags: str) -> tuple[str, ...]:
    return tuple(tag.format(machine) for tag in tags)


PLATFORMS: Final = (
    Platform("linux-x86_64", "Linux x86-64, glibc 2.17+", _for("x86_64", *_MANYLINUX), "linux", "x86_64"),
    Platform("linux-aarch64", "Linux arm64, glibc 2.17+", _for("aarch64", *_MANYLINUX), "linux", "aarch64"),
    Platform("linux-i686", "Linux x86, 32-bit, glibc 2.17+", _for("i686", *_OLD_MANYLINUX), "linux", "i686"),
    Platform("linux-armv7l", "Linux ARMv7, 32-bit, glibc 2.17+", _for("armv7l", *_MANYLINUX), "linux", "armv7l"),
    # Free-threaded builds are rare there, and on musl; with them the archive would have more than 60 MB.
    Platform("linux-ppc64le", "Linux ppc64le, glibc 2.17+", _for("ppc64le", *_MANYLINUX), "linux", "ppc64le", PYTHONS),
    Platform("linux-s390x", "Linux s390x, glibc 2.17+", _for("s390x", *_MANYLINUX), "linux", "s390x", PYTHONS),
    Platform("linux-riscv64", "Linux riscv64, glibc 2.31+", ("manylinux_2_31_riscv64",), "linux", "riscv64"),
    Platform("musl-x86_64", "Linux x86-64, musl 1.2+", _for("x86_64", *_MUSL), "linux", "x86_64", PYTHONS),
    Platform("musl-aarch64", "Linux arm64, musl 1.2+", _for("aarch64", *_MUSL), "linux", "aarch64", PYTHONS),
    Platform("macos-arm64", "macOS 11+, Apple silicon", _MAC_ARM, "darwin", "arm64"),
    Platform("macos-x86_64", "macOS 10.15+, Intel", _MAC_INTEL, "darwin", "x86_64"),
    # pywin32 has no free-threaded builds.
    Platform("windows-amd64", "Windows x86-64", ("win_amd64",), "win32", "AMD64", PYTHONS),
    Platform("windows-x86", "Windows x86, 32-bit", ("win32",), "win32", "x86", PYTHONS),
    # pydantic-core begins there with 3.11.
    Platform("windows-arm64", "Windows arm64", ("win_arm64",), "win32", "ARM64", PYTHONS[1:]),
)


def by_name(name: str) -> Platform:
    """The platform with that name; KeyError if there is none."""
    return {one.name: one for one in PLATFORMS}[name]


def host() -> Platform:
    """The platform of the running interpreter; KeyError if it is not one of ours."""
    machine = platform.machine().lower()
    if sys.platform == "win32":
        return by_name("windows-" + (machine if sys.maxsize > 2**32 else "x86"))
    if sys.platform == "darwin":
        return by_name("macos-" + machine)
    machine = machine.replace("arm64", "aarch64")
    if sys.maxsize < 2**32:  # an old userland on a new kernel
        machine = {"x86_64": "i686", "aarch64": "armv7l", "armv8l": "armv7l"}.get(machine, machine)
    return by_name(f"{'linux' if _has_glibc() else 'musl'}-{machine}")


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, ValueError, OSError):  # musl knows no such name
        return False
