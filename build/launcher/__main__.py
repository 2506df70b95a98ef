# -*- coding: utf-8 -*-
"""The archive's start. Owns the way to the second start; the first one is `launcher.unpack`.

Rules: Python 2.7 must be able to read this file. It is compiled anew at every start, so it is short: what can be had
compiled stands in `launcher.boot`, whose code lies in the program file that the first start writes:

    4 bytes   the interpreter's magic number: another one could not run the code
    4 bytes   length of the head, little-endian
    head      marshal: (code of launcher.boot, arguments for its `start`)
    the rest  compiled modules and sources, read one by one when they are imported
"""

import sys

VERSION = "@VERSION@"
BUILD = "@BUILD@"  # of everything that can change what is unpacked; part of the folder's name
ARCHIVE = "@ARCHIVE@"

if sys.version_info < (3, 10) or sys.implementation.name != "cpython":
    from launcher import refusal

    sys.exit(refusal.interpreter())

import marshal
import os
from _frozen_importlib_external import MAGIC_NUMBER
from _imp import extension_suffixes


def interpreter():
    """Which compiled parts fit: cp313-linux-x86_64."""
    if sys.platform == "win32":  # .cp313-win_amd64.pyd
        return extension_suffixes()[0].split(".")[1].replace("win_", "windows-")
    system = {"darwin": "macos"}.get(sys.platform, sys.platform)
    if system == "linux":
        try:
            os.confstr("CS_GNU_LIBC_VERSION")
        except (ValueError, OSError):  # no such name: not glibc
            system = "musl"
    bits = "" if sys.maxsize > 2**32 else "-32bit"  # an old userland on a new kernel
    abi = "cp%d%d%s" % (sys.version_info[0], sys.version_info[1], sys.abiflags.replace("d", ""))
    return "%s-%s-%s%s" % (abi, system, os.uname().machine, bits)


def cache_root():
    """Where this user's caches are: the first place to look, and mostly the last. May be empty."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.join(os.environ.get("HOME", ""), "Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if base[:1] != "/":  # its specification: a relative one is to be ignored
            base = os.path.join(os.environ.get("HOME", ""), ".cache")
    return os.path.join(base, "memory-server") if os.path.isabs(base) else ""


def open_program(folder, trusted):
    """The program file in that folder and its head; OSError or ValueError when there is none that can be used."""
    program = os.open(os.path.join(folder, "program"), os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        facts = os.fstat(program)
        if not trusted and hasattr(os, "geteuid") and (facts.st_uid not in (0, os.geteuid()) or facts.st_mode & 0o022):
            raise ValueError("others can write it")
        begin = os.read(program, 8)
        if begin[:4] != MAGIC_NUMBER:
            raise ValueError("written by another interpreter")
        code, arguments = marshal.loads(os.read(program, int.from_bytes(begin[4:], "little")))
        scope = {}
        exec(code, scope)
        scope["check"](folder, program, facts, *arguments)
    except BaseException:
        os.close(program)
        raise
    return lambda: scope["start"](folder, program, facts, *arguments)


name = "%s-%s-%s" % (VERSION, BUILD, interpreter())
chosen = os.environ.get("MEMORY_SERVER_CACHE") and os.path.abspath(os.environ["MEMORY_SERVER_CACHE"])
try:
    start = open_program(os.path.join(chosen or cache_root(), name), bool(chosen))
except (OSError, ValueError, EOFError, TypeError):
    from launcher import boot

    boot.keep_standard_library()  # before more is imported
    from launcher import unpack

    start = unpack.first_start(name, open_program, cache_root())
start()
