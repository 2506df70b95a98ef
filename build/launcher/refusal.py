# -*- coding: utf-8 -*-
"""The texts for interpreters and platforms that cannot run this: what they are, what is supported, what to do.

Rules: Python 2.7 must be able to read this file. One line each: the caller exits with it and status 1.
"""

import sys

NEEDS = "memory-server needs CPython 3.10 or newer"


def interpreter():
    """The text for an interpreter that is too old or not CPython."""
    name = getattr(getattr(sys, "implementation", None), "name", "cpython")
    if "__pypy__" in sys.builtin_module_names:
        name = "PyPy"
    version = "%d.%d.%d" % tuple(sys.version_info[:3])
    what = "Python " + version if name == "cpython" else name + " (Python " + version + ")"
    return "%s; this is %s (%s). Start it with another one, for example: python3.13 memory-server.pyz" % (
        NEEDS,
        what,
        sys.executable,
    )


def platform(abi, system, served):
    """The text for a CPython that none of the archive's compiled parts fit. `served`: platform -> list of abis."""
    processor = system.partition("-")[2]
    if system in served:
        todo = "Install %s for it." % _range(served[system])
    elif len(served) == 1:
        todo = "This archive is only for %s: use memory-server.pyz for all platforms, or the one for yours." % min(
            served
        )
    elif system.startswith("musl-") and "linux-" + processor in served:
        todo = "On this processor, install a Python for glibc, such as Debian's."
    elif system.startswith("android-"):
        todo = "In Termux: install Debian with proot-distro, install python3 in it, and use that."
    elif system == "linux-armv6l":
        todo = "Use an ARMv7 or newer processor, or another supported one."
    elif system.startswith(("linux-", "musl-", "windows-", "macos-")):
        todo = "Use a machine or a container with an x86-64 or arm64 processor."
    else:
        todo = "Use a Python for Linux, macOS or Windows, or a Linux container."
    this = "%s on %s (%s)" % (_python(abi), system, sys.executable)
    return "memory-server has no compiled parts for %s. %s" % (this, todo)


def incomplete(module):
    """The text for an interpreter without a part of the standard library, such as Debian's python3-minimal."""
    return (
        "memory-server needs Python's complete standard library; this Python (%s) has no module %s. "
        "Install all of it (on Debian and Ubuntu: apt install python3), or use another Python."
        % (sys.executable, module)
    )


def old_libc(what, needed):
    """The text for a C library older than the compiled parts require."""
    return (
        "memory-server needs %s; this system has %s. "
        "Use a newer release of the system, or run it in a newer container." % (needed, what)
    )


def no_lzma(system):
    """The text for an interpreter that was built without the module that unpacks the archive for all platforms."""
    return (
        "memory-server.pyz cannot be unpacked by this interpreter, which has no _lzma module (%s). "
        "Use memory-server-%s.pyz, which does not need it, or another Python." % (sys.executable, system)
    )


def _python(abi):
    digits = abi[2:].rstrip("t")
    return "CPython %s.%s%s" % (digits[:1], digits[1:], " free-threaded" if abi.endswith("t") else "")


def _range(abis):
    """CPython 3.10 to 3.15 or free-threaded 3.14."""
    plain = [one for one in abis if not one.endswith("t")]
    free = [_python(one)[8:] for one in abis if one.endswith("t")]
    span = "CPython %s to %s" % (_python(plain[0])[8:], _python(plain[-1])[8:])
    return " or ".join([span] + free)  # noqa: RUF005 (Python 2.7 reads this)
