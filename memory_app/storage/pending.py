"""Changes that wait for the writer, and the outcome of each: a result, its own error, or the store's error for all.

Knows no file and no lock, and starts no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from memory_app.errors import GraphError, MemoryServerError
from memory_app.graph.graph import Batch, Graph


class Call:
    """A waiting change and its outcome."""

    __slots__ = ("change", "deadline", "future", "outcome", "reason")

    def __init__(self, change: Callable[[Graph], tuple[Graph, Any]], deadline: float, reason: str = "") -> None:
        self.change = change
        self.deadline = deadline
        self.reason = reason  # the command whose save is to leave a generation in the history
        self.future: Future[Any] = Future()
        self.outcome: Any = None  # a value, or the exception


def apply(calls: Sequence[Call], graph: Graph) -> Graph:
    """The graph after all calls, each of which keeps its own outcome. The indexes are copied once for many calls."""
    at = 0
    while at < len(calls):
        if at + 1 < len(calls):
            graph, at = _apply_as_batch(calls, at, len(calls), graph)
        if at < len(calls):
            graph = _apply_one(calls[at], graph)
            at += 1
    return graph


def _apply_as_batch(calls: Sequence[Call], start: int, end: int, graph: Graph) -> tuple[Graph, int]:
    """The graph after the calls from `start` on, and the position of the first one that must be applied by itself: it
    failed after it had changed the graph, or it read the graph from before its own change.
    """
    batch = Batch()
    after = first = graph.in_batch(batch)
    for at in range(start, end):
        steps = batch.steps
        call = calls[at]
        try:
            after, call.outcome = call.change(after)
            continue
        except Exception as error:  # noqa: BLE001 (as in `_apply_one`)
            call.outcome = error
        if batch.steps != steps:
            return _apply_as_batch(calls, start, at, graph) if at > start else (graph, at)
    batch.close()
    return (graph if after is first else after), end


def _apply_one(call: Call, graph: Graph) -> Graph:
    try:
        graph, call.outcome = call.change(graph)
    except Exception as error:  # noqa: BLE001 (a call that fails fails alone, also by a mistake of ours)
        call.outcome = error
    return graph


def answer(calls: Sequence[Call]) -> None:
    """Set each call's own outcome: its change is stored."""
    for call in calls:
        if isinstance(call.outcome, Exception):
            call.future.set_exception(_bare(call.outcome))
        else:
            call.future.set_result(call.outcome)


def refuse(calls: Sequence[Call], error: MemoryServerError) -> None:
    """Set the store's error for each call that has no answer yet."""
    for call in calls:
        if not call.future.done():
            call.future.set_exception(_bare(call.outcome if isinstance(call.outcome, GraphError) else error))


def _bare(error: Exception) -> Exception:
    """An expected error without its frames and causes.

    These hold the calls and so the error itself: a cycle that would keep the graph alive, for good once the collector
    is frozen.
    """
    if isinstance(error, MemoryServerError):
        error.__cause__ = error.__context__ = error.__traceback__ = None
    return error
