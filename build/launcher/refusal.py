# -*- coding: utf-8 -*-
"""What somebody is told whose interpreter or platform cannot run this: which it is, which are served, what to do.

Rules: Python 2.7 must be able to read this file. One line each: whoever calls ends with it and status 1.
"""

import sys

NEEDS = "memory-server needs CPython 3.10 or newer"


def interpreter():
    """For an interpreter that is too old or not CPython."""
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
    """For a CPython that none of the archive's compiled parts fit. `served`: platform -> list of abis."""
    this = "this is %s on %s (%s)" % (_python(abi), system, sys.executable)
    if system in served:
        if abi.endswith("t"):
            what = "free-threaded builds are not served"
            todo = "Use the ordinary build of the same Python."
        else:
            what = "for %s it serves %s" % (system, _range(served[system]))
            todo = "Use one of these."
    else:
        what = "it serves " + "; ".join("%s (%s)" % (name, _range(served[name])) for name in sorted(served))
        if system == "windows-arm64":
            todo = "Install the x86-64 (64-bit Intel) build of Python: Windows on Arm runs it."
        elif len(served) == 1:
            todo = "Use the memory-server.pyz for all platforms, or the one for yours."
        else:
            todo = "Run it on one of these."
    return "memory-server has no compiled parts for this interpreter: %s; %s. %s" % (this, what, todo)


def old_libc(what, needed):
    """For a C library older than the compiled parts can bear."""
    return (
        "memory-server needs %s; this system has %s. "
        "Use a newer release of the system, or run it in a newer container." % (needed, what)
    )


def no_lzma(system):
    """For an interpreter that was built without the module that unpacks the archive for all platforms."""
    return (
        "memory-server.pyz cannot be unpacked by this interpreter, which has no _lzma module (%s). "
        "Use memory-server-%s.pyz, which does not need it, or another Python." % (sys.executable, system)
    )


def _python(abi):
    digits = abi[2:].rstrip("t")
    return "CPython %s.%s%s" % (digits[:1], digits[1:], " free-threaded" if abi.endswith("t") else "")


def _range(abis):
    return "CPython %s to %s" % (_python(abis[0])[8:], _python(abis[-1])[8:])
