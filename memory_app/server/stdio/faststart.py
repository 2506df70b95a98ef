"""Importing the SDK for stdio in half the time.

Nearly all of the time goes into some 500 pydantic models and into packages that stdio never uses. So, while importing:
1. The garbage collector is off, and pydantic looks for no plugins.
2. Models and type adapters are built at their first use (pydantic's own `defer_build`).
3. `mcp` and `mcp.server` are made without running their `__init__`, which would load the client and the high-level
   server; whoever asks them for an attribute later gets it run then.
4. What `mcp.server.lowlevel` imports for HTTP only is a stand-in that imports the real thing when it is called.
5. The two packages of per-era wire models are stand-ins too: a connection needs one of them.
6. ssl is not imported: asyncio is told that there is none, for anyio it is a stand-in. So a Python without it serves.
7. Modules that pydantic imports for fields which no model here has are stand-ins as in 4: importlib.metadata, which
   asks for email, csv and zipfile; secrets, which loads OpenSSL; zoneinfo, which reads how Python was built; fractions,
   which compiles two long patterns; decimal, a library of C.
8. `model_rebuild`, called by the SDK at import for four models, waits for their first use like everything of 2.
9. Some 100 typed dicts that describe pydantic's core schemas are made as plain classes: nothing asks for their keys.
10. An annotation that is written as a string, and occurs 3 times on average, is compiled once.
No file of the SDK is changed, and afterwards the process behaves as after a plain import; a test compares the two.

It is bound to the exact versions that the archive carries. With any other, and after any exception, the SDK is
imported and used plainly. A deferred model must be built on one thread only: use the SDK on the event loop's thread.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, Generic, TypeVar

from memory_app.server import sdk

_SKIPPED: Final = ("mcp", "mcp.server")
_HTTP: Final = (
    "starlette",
    "mcp.server.auth",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.server.transport_security",
)
_UNUSED: Final = ("ssl", "importlib.metadata", "secrets", "zoneinfo", "fractions", "decimal")
_CORE_SCHEMA: Final = "pydantic_core.core_schema"
_ERAS: Final = ("mcp_types._v2025_11_25", "mcp_types._v2026_07_28")
# Values that the SDK needs while importing, as defaults of streamable_http_app(); a test compares them with the real.
CONSTANTS: Final = {
    "DEFAULT_MAX_SESSIONS": 10_000,
    "DEFAULT_SESSION_IDLE_TIMEOUT": 1800,
    "DEFAULT_MAX_REQUEST_BODY_SIZE": 4 * 1024 * 1024,
}

T = TypeVar("T")


def load_asyncio() -> None:
    """Import asyncio as for a Python that has no ssl. Call it before anything imports asyncio."""
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("asyncio")
    finally:
        del sys.modules["ssl"]


def load() -> bool:
    """Import what stdio needs of the SDK; True if the fast way worked. Call it before anything imports the SDK."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return sdk.is_carried() and _load_fast()
    finally:
        if collecting:
            gc.enable()


def _load_fast() -> bool:
    before = set(sys.modules)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    try:
        with _stand_ins():
            with _plain_typed_dicts():
                importlib.import_module(_CORE_SCHEMA)
            with _deferred_models(), _rebuilt_at_first_use(), _annotations_compiled_once():
                packages = [_without_init(name) for name in _SKIPPED]
                importlib.import_module("mcp.server.lowlevel")
            importlib.import_module("anyio._backends._asyncio")  # the loop would import it without the stand-ins
        for package in packages:
            _run_init_on_demand(package)
    except Exception:  # noqa: BLE001 (whatever went wrong, the plain import is right)
        for name in [
            name for name in sys.modules if name not in before and name.partition(".")[0] in ("mcp", "mcp_types")
        ]:
            del sys.modules[name]
        return False
    return True


@contextlib.contextmanager
def _deferred_models() -> Iterator[None]:
    """Models and type adapters made meanwhile are built at their first use."""
    import pydantic

    plain: Any = pydantic.TypeAdapter

    class DeferredAdapter(plain[T], Generic[T]):  # type: ignore[misc]
        def __init__(self, kind: Any, *, config: Any = None, _parent_depth: int = 2, module: str | None = None) -> None:
            if config is None and not (isinstance(kind, type) and hasattr(kind, "model_config")):
                config = {"defer_build": True}
            super().__init__(kind, config=config, _parent_depth=_parent_depth + 1, module=module)

    pydantic.BaseModel.model_config["defer_build"] = True
    pydantic.TypeAdapter = DeferredAdapter  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        pydantic.BaseModel.model_config.pop("defer_build", None)
        pydantic.TypeAdapter = plain  # type: ignore[misc]


@contextlib.contextmanager
def _rebuilt_at_first_use() -> Iterator[None]:
    """Meanwhile `Model.model_rebuild()` does nothing. With arguments, as at a model's first use, it works as usual."""
    import pydantic

    plain: Any = pydantic.BaseModel.__dict__["model_rebuild"]

    def rebuild(cls: type[pydantic.BaseModel], /, **how: Any) -> bool | None:
        return plain.__get__(None, cls)(**how) if how else None

    pydantic.BaseModel.model_rebuild = classmethod(rebuild)  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        pydantic.BaseModel.model_rebuild = plain  # type: ignore[method-assign]


@contextlib.contextmanager
def _annotations_compiled_once() -> Iterator[None]:
    """Meanwhile `ForwardRef` takes the code of a text that it has compiled before: code cannot be changed."""
    import typing

    home: Any = sys.modules[typing.ForwardRef.__module__]  # another module since Python 3.14
    kept: dict[tuple[object, ...], Any] = {}

    def compile_once(*what: Any, **how: Any) -> Any:
        if how:
            return compile(*what, **how)
        code = kept.get(what)
        if code is None:
            code = kept[what] = compile(*what)
        return code

    home.compile = compile_once
    try:
        yield
    finally:
        del home.compile


class _PlainTypedDict(type):
    """The result of `TypedDict`, without its annotations being read. A call returns a dict, as for a real one."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, total: bool = True
    ) -> _PlainTypedDict:
        return super().__new__(cls, name, (dict,), {**namespace, "__total__": total})

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, total: bool = True) -> None:
        super().__init__(name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return dict(*args, **kwargs)


@contextlib.contextmanager
def _plain_typed_dicts() -> Iterator[None]:
    """Classes written as typed dicts meanwhile become plain ones."""
    import typing

    import typing_extensions

    modules: tuple[Any, ...] = (typing, typing_extensions)
    real = [module.TypedDict for module in modules]
    for module in modules:
        module.TypedDict = _PlainTypedDict("TypedDict", (), {})
    try:
        yield
    finally:
        for module, kind in zip(modules, real, strict=True):
            module.TypedDict = kind


def _without_init(name: str) -> ModuleType:
    """The package as an importable name only."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    return module


def _run_init_on_demand(package: ModuleType) -> None:
    def fill(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        del package.__dict__["__getattr__"]
        assert package.__spec__ is not None and package.__spec__.loader is not None
        package.__spec__.loader.exec_module(package)
        return getattr(package, attribute)

    package.__dict__["__getattr__"] = fill


@contextlib.contextmanager
def _stand_ins() -> Iterator[None]:
    """Meanwhile imports of what is not needed give modules of stand-ins; afterwards the real ones can be imported."""
    finders = [_Finder(_HTTP, _Late), _Finder(_ERAS, _LateModel)]
    finders += [_Finder((name,), _Late) for name in _UNUSED if name not in sys.modules]
    sys.meta_path[:0] = finders
    try:
        yield
    finally:
        for finder in finders:
            sys.meta_path.remove(finder)
            for name in finder.made:
                module = sys.modules.pop(name)
                parent, _, child = name.rpartition(".")
                if parent in sys.modules and sys.modules[parent].__dict__.get(child) is module:
                    delattr(sys.modules[parent], child)


class _Finder:
    """Finder and loader of modules in which every name is a stand-in.

    Not derived from the classes of importlib.abc: their import alone would load tempfile, shutil and pathlib.
    """

    def __init__(self, names: Sequence[str], make: Callable[[str, str], Any]) -> None:
        self._names = names
        self._make = make
        self.made: list[str] = []

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if any(fullname == name or fullname.startswith(name + ".") for name in self._names):
            return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def stand_in(attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return CONSTANTS[attribute] if attribute in CONSTANTS else self._make(module.__name__, attribute)

        module.__dict__["__getattr__"] = stand_in
        self.made.append(module.__name__)


class _Late:
    """A stand-in for `name` of a module that is imported when the stand-in is called or asked for an attribute."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _real(self) -> Any:
        return getattr(importlib.import_module(self._module), self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._real()(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        value = getattr(self._real(), attribute)
        self.__dict__[attribute] = value
        return value


class _LateModel(_Late):
    """The same for a model: pydantic may build it into other models, and its own package is deferred as well."""

    def _real(self) -> Any:
        if self._module not in sys.modules:
            with _deferred_models():
                importlib.import_module(self._module)
        return super()._real()

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Any]) -> Any:
        return handler(self._real())
