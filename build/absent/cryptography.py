"""Replaces the package cryptography in the archive, which also leaves out cffi, needed only by that package.

The SDK's high-level server, which we do not use but which is imported with the SDK, takes four names from it to seal
the state of requests in several rounds. They can be imported from here and raise when they are used; every other name
of the package fails on import, so a version of the SDK that needs more fails at once. Installed as a package, the
program uses the real one.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final, NoReturn

TAKEN: Final = {
    "exceptions": "InvalidTag",
    "hazmat.primitives.ciphers.aead": "AESGCM",
    "hazmat.primitives.hashes": "SHA256",
    "hazmat.primitives.kdf.hkdf": "HKDF",
}
"""Module -> the name that the SDK takes from it."""

__path__: list[str] = []  # so that modules can be asked of it


class _Absent(Exception):
    """An absent name. It is also an exception, because one of the names is caught."""

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(f"{cls.__module__}.{cls.__qualname__} was used, but memory-server.pyz holds no cryptography")


def _fill() -> None:
    for path, name in TAKEN.items():
        parts = path.split(".")
        for end in range(1, len(parts) + 1):
            full = ".".join((__name__, *parts[:end]))
            if full not in sys.modules:
                module = sys.modules[full] = ModuleType(full)
                module.__path__ = []
        setattr(sys.modules[full], name, type(name, (_Absent,), {"__module__": full}))


_fill()
