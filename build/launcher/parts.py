"""Reads the archive's parts: tar files, one for the pure packages and one or several for a platform.

parts/pure.tar[.xz]              any/...: what every interpreter gets parts/<platform>.tar.xz          any/...,
cp310/..., ...: solid, in the archive for all platforms parts/<platform>.any.tar, .cp310.tar, ...   the same in the
archive for one platform, read without _lzma served.json                      platform -> its interpreters startup.txt
the modules that a start needs, one a line
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from typing import IO
from zipfile import ZipFile


class NoLzmaError(Exception):
    """This interpreter cannot read this archive's parts."""


def served(archive: ZipFile) -> dict[str, list[str]]:
    """Platform -> the interpreters that have compiled parts for it."""
    found = json.loads(archive.read("served.json"))
    assert isinstance(found, dict)
    return found


def startup(archive: ZipFile) -> list[str]:
    """The modules to compile at the first start."""
    return archive.read("startup.txt").decode("utf-8").split()


def read(archive: ZipFile, abi: str, platform: str) -> Iterator[tuple[str, bytes]]:
    """The path and content of every file that this interpreter needs; NoLzmaError."""
    wanted = ("any", abi)
    names = ("pure.", platform + ".tar", platform + ".any.", platform + "." + abi + ".")
    for entry in archive.namelist():
        if entry.startswith(tuple("parts/" + name for name in names)):
            with archive.open(entry) as raw, _tar(raw, entry) as tar:
                for member in tar:
                    group, _, path = member.name.partition("/")
                    if group in wanted and (file := tar.extractfile(member)):
                        yield path, file.read()


def _tar(raw: IO[bytes], entry: str) -> tarfile.TarFile:
    if not entry.endswith(".xz"):
        return tarfile.open(fileobj=raw, mode="r|")
    try:
        import lzma
    except ImportError as problem:
        raise NoLzmaError from problem
    return tarfile.open(fileobj=lzma.open(raw), mode="r|")
