"""Replaces the package opentelemetry-api in the archive, which does nothing without an OpenTelemetry SDK.

The archive has no such SDK and uses none from the machine, so every span of the MCP SDK records nothing. The real
package would cost each start a search through all installed packages, and each request a span. These are the names that
the MCP SDK uses, doing nothing; every other name fails on import. Installed as a package, the program uses the real
one.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, Final


class Span:
    """A span that records nothing, and the context manager that yields it."""

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *problem: object) -> None:
        return None

    def get_span_context(self) -> Any:
        return SimpleNamespace(is_valid=False)

    def record_exception(self, *args: object, **kwargs: object) -> None: ...

    def set_attribute(self, *args: object, **kwargs: object) -> None: ...

    def set_attributes(self, *args: object, **kwargs: object) -> None: ...

    def set_status(self, *args: object, **kwargs: object) -> None: ...


_SPAN: Final = Span()


class Tracer:
    """Makes such spans."""

    def start_as_current_span(self, *args: object, **kwargs: object) -> Span:
        return _SPAN


class Context(dict[str, object]):
    """A context that would hold the current span."""


def extract(carrier: object) -> Context:
    """The context that a message carries: an empty one."""
    return Context()


def inject(carrier: object) -> None:
    """Put the context into a message: there is none."""


def get_current_span(context: object = None) -> Span:
    return _SPAN


def get_tracer(name: str) -> Tracer:
    return Tracer()


TAKEN: Final[dict[str, dict[str, Any]]] = {
    "context": {"Context": Context},
    "propagate": {"extract": extract, "inject": inject},
    "trace": {
        "SpanKind": SimpleNamespace(CLIENT="client", SERVER="server"),
        "StatusCode": SimpleNamespace(ERROR="error"),
        "get_current_span": get_current_span,
        "get_tracer": get_tracer,
    },
    "trace.span": {"Span": Span},
}
"""Module -> what the SDK takes from it."""

__path__: list[str] = []  # so that modules can be asked of it


def _fill() -> None:
    for path, names in TAKEN.items():
        module = sys.modules[f"{__name__}.{path}"] = ModuleType(f"{__name__}.{path}")
        module.__path__ = []
        module.__dict__.update(names)


_fill()
