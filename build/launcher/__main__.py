# -*- coding: utf-8 -*-
"""The archive's start. Owns the path to the second start; the first one is `launcher.unpack`.

Rules: Python 2.7 must be able to read this file. It is compiled again at every start, so it is short: everything that
can be compiled beforehand is in `launcher.boot`, whose code is in the program file that the first start writes:

    4 bytes   the interpreter's magic number: another one could not run the code
    4 bytes   length of the head, little-endian
    8 bytes   hash of the head, for disks that lose bits
    head      marshal: (code of launcher.boot, arguments for its `start`)
    the rest  compiled modules and sources, read one by one when they are imported
"""

import sys

VERSION = "@VERSION@"
BUILD = "@BUILD@"  # of everything that can change what is unpacked; part of the folder's name
ARCHIVE = "@ARCHIVE@"
SMALL = {"x86_64": "i686", "i386": "i686", "i486": "i686", "i586": "i686", "aarch64": "armv7l", "armv8l": "armv7l"}

if sys.version_info < (3, 10) or sys.implementation.name != "cpython":
    from launcher import refusal

    sys.exit(refusal.interpreter())

import _stat as stat  # built in, unlike stat
import marshal
import os
from _frozen_importlib_external import MAGIC_NUMBER
from _imp import extension_suffixes, source_hash
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]  # built in

if getsignal(SIGINT) is default_int_handler:  # Ctrl-C while modules are imported: no traceback
    signal(SIGINT, lambda number, frame: os._exit(128 + number))


def interpreter():
    """The name of the compiled parts that fit: cp313-linux-x86_64."""
    if sys.platform == "win32":  # .cp313-win_amd64.pyd, .cp313-win32.pyd
        return extension_suffixes()[0].split(".")[1].replace("win_", "windows-").replace("win32", "windows-x86")
    system = {"darwin": "macos"}.get(sys.platform, sys.platform)
    if system == "linux":
        try:
            os.confstr("CS_GNU_LIBC_VERSION")
        except (AttributeError, ValueError, OSError):  # no such name: not glibc
            system = "android" if hasattr(sys, "getandroidapilevel") else "musl"
    machine = os.uname().machine
    if sys.maxsize < 2**32:  # maybe an old userland on a new kernel
        machine = SMALL.get(machine, machine)
        if "gnueabi." in extension_suffixes()[0]:  # that of Debian's armel, which has no floating point in hardware
            machine += "-softfloat"
    abi = "cp%d%d%s" % (sys.version_info[0], sys.version_info[1], sys.abiflags.replace("d", ""))
    return "%s-%s-%s" % (abi, system, machine)


def cache_root():
    """The folder of this user's caches: the first place to look, and usually the last. May be empty."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.join(os.environ.get("HOME", ""), "Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if base[:1] != "/":  # its specification: a relative one is to be ignored
            base = os.path.join(os.environ.get("HOME", ""), ".cache")
    return os.path.join(base, "memory-server") if os.path.isabs(base) else ""


def resolve(path, named):
    """The real path of that folder, if only root and this user can lead it elsewhere; else PermissionError.

    Every folder and link on the way must be root's or ours. A folder that others can write must have the sticky bit:
    what is ours in it stays ours. `named`: the user names the folder and answers for those on the way, unless they are
    in a place where anybody can make one.
    """
    me, here, links = os.geteuid(), "/", 40
    todo = path.split("/")[::-1]
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            here = os.path.dirname(here)
            continue
        at = os.path.join(here, part)
        facts = os.lstat(at)
        foreign = facts.st_uid not in (0, me) and not is_unmapped(facts.st_uid)
        if foreign and (not named or os.lstat(here).st_mode & stat.S_IWOTH):
            raise PermissionError(at + " belongs to another user")
        if stat.S_ISLNK(facts.st_mode):
            links -= 1
            if not links:
                raise PermissionError(at + " is a link without an end")
            target = os.readlink(at)
            here = "/" if target[0] == "/" else here
            todo += target.split("/")[::-1]
            continue
        # A group of the user's own number is the user's private one.
        others = stat.S_IWOTH if facts.st_gid == me else stat.S_IWOTH | stat.S_IWGRP
        # The last one is judged by `Place`.
        if todo and not named and facts.st_mode & others and not facts.st_mode & stat.S_ISVTX:
            raise PermissionError("others can write " + at)
        here = at
    return here


def is_unmapped(user):
    """Whether this number says only that the owner is outside this user namespace, as for root's files in a sandbox."""
    try:
        with open("/proc/sys/kernel/overflowuid") as known, open("/proc/self/uid_map") as mapped:
            return user == int(known.read()) and "4294967295" not in mapped.read()
    except (OSError, ValueError):
        return False


class Place:
    """A folder for unpacked programs that only root and this user can have made or can change.

    OSError if there is none at that path. The owner of a folder that the user names counts like root, and its modes are
    not checked. On Windows the folders are chosen below the user's profile, and nothing is checked.
    """

    def __init__(self, path, named):
        if not os.path.isabs(path):  # no cache folder is known: never the current one
            raise FileNotFoundError("it does not exist")
        self.path = path
        self.owners = self.others = None
        if hasattr(os, "geteuid"):
            self.path = resolve(path, named)
            facts = os.lstat(self.path)
            self.owners = (0, os.geteuid(), facts.st_uid) if named else (0, os.geteuid())
            self.others = 0 if named else stat.S_IWGRP | stat.S_IWOTH
            self.vet(facts, stat.S_IFDIR)

    resolve = staticmethod(resolve)

    def vet(self, facts, kind):
        """PermissionError unless this folder or file is of that kind, and safe from others."""
        if stat.S_IFMT(facts.st_mode) != kind:
            raise PermissionError("something else is in its place")
        if self.owners and (facts.st_uid not in self.owners or facts.st_mode & self.others):
            raise PermissionError("others can write it")

    def open_program(self, name):
        """The start of the program that is unpacked there under that name; OSError or ValueError if none can be
        used.
        """
        folder = os.path.join(self.path, name)
        self.vet(os.lstat(folder), stat.S_IFDIR)
        flags = os.O_RDONLY
        for flag in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
            flags |= getattr(os, flag, 0)
        program = os.open(os.path.join(folder, "program"), flags)
        try:
            facts = os.fstat(program)
            self.vet(facts, stat.S_IFREG)
            begin = os.read(program, 16)
            if begin[:4] != MAGIC_NUMBER:
                raise ValueError("written by another interpreter")
            head = os.read(program, int.from_bytes(begin[4:8], "little"))
            if source_hash(0, head) != begin[8:]:
                raise ValueError("damaged")
            code, arguments = marshal.loads(head)
            scope = {}
            exec(code, scope)
            scope["check"](self.vet, folder, program, facts, *arguments)
        except BaseException:
            os.close(program)
            raise
        return lambda: scope["start"](folder, program, facts, *arguments)


name = "%s-%s-%s" % (VERSION, BUILD, interpreter())
named = os.environ.get("MEMORY_SERVER_CACHE")
archive = sys.path[0]
try:
    try:
        start = Place(os.path.abspath(named) if named else cache_root(), bool(named)).open_program(name)
    except (OSError, ValueError, EOFError, TypeError):
        from launcher import boot

        boot.keep_standard_library()  # before more is imported
        from launcher import unpack

        start = unpack.first_start(name, Place, cache_root())
    start()
except ImportError as problem:
    if (problem.name or "").split(".")[0] not in sys.stdlib_module_names:
        raise
    sys.path.insert(0, archive)
    from launcher import refusal

    sys.exit(refusal.incomplete(problem.name))
