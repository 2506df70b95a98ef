"""What comes of a call: the file after it, and its answer."""

from __future__ import annotations

from typing import Any

from memory_app.errors import GraphError
from memory_app.graph.graph import Graph
from memory_app.tools import table
from memory_app.tools.lenient import as_object
from memory_app.tools.plans import Read


def outcome(graph: Graph, tool: str, sent: Any) -> tuple[bytes, str | bytes | None]:
    """The file after a call of the tool, and the answer: text of an error, or JSON."""
    arguments = sent if sent is None or isinstance(sent, dict) else as_object(tool, sent)
    try:
        planned = table.plan(tool, arguments)
        after, answer = (graph, planned.run(graph)) if isinstance(planned, Read) else planned.apply(graph)
    except GraphError as error:
        return b"".join(graph.chunks()), str(error)
    return b"".join(after.chunks()), answer.structured
