"""The handlers for prompts and for the completion of their arguments, which are names of entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import mcp_types as t
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from memory_app.errors import GraphError, StoreError
from memory_app.graph.graph import Graph
from memory_app.server.service import Service
from memory_app.text import fold
from memory_app.tools.prompts import PROMPTS, Prompt

_MOST_VALUES: Final = 100  # the protocol's limit for one completion

Context = ServerRequestContext[Any, Any]


class Names(NamedTuple):
    """The first matching names, and how many match in all."""

    values: Sequence[str]
    total: int


class Guidance:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_prompts(self, ctx: Context, params: object) -> t.ListPromptsResult:
        return t.ListPromptsResult(prompts=[_listed(prompt) for prompt in PROMPTS.values()])

    async def get_prompt(self, ctx: Context, params: t.GetPromptRequestParams) -> t.GetPromptResult:
        prompt = _known(params.name)
        try:
            text = prompt.text((params.arguments or {}).get(prompt.argument.name))
        except GraphError as error:
            raise MCPError(t.INVALID_PARAMS, str(error)) from None
        message = t.PromptMessage(role="user", content=t.TextContent(type="text", text=text))
        return t.GetPromptResult(description=prompt.description, messages=[message])

    async def complete(self, ctx: Context, params: t.CompleteRequestParams) -> t.CompleteResult:
        """Names that begin with the typed text, then names that contain it elsewhere. None without a readable file."""
        names = Names((), 0)
        if isinstance(params.ref, t.PromptReference) and params.argument.name == _known(params.ref.name).argument.name:
            try:
                names = await self._service.look(lambda graph: matching_names(graph, params.argument.value))
            except StoreError:
                pass  # a completion is a convenience: whoever calls a tool is told
        more = names.total > len(names.values)
        return t.CompleteResult(completion=t.Completion(values=list(names.values), total=names.total, has_more=more))


def matching_names(graph: Graph, typed: str) -> Names:
    """The names of entities that match the typed text, compared as search compares texts."""
    wanted = fold(typed)
    begin: list[str] = []
    hold: list[str] = []
    for name in graph.entities:
        at = fold(name).find(wanted)
        if at >= 0:
            (hold if at else begin).append(name)
    return Names((begin + hold)[:_MOST_VALUES], len(begin) + len(hold))


def _listed(prompt: Prompt) -> t.Prompt:
    name, title, description = prompt.argument
    argument = t.PromptArgument(name=name, title=title, description=description, required=False)
    return t.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=[argument])


def _known(name: str) -> Prompt:
    try:
        return PROMPTS[name]
    except KeyError:
        raise MCPError(t.INVALID_PARAMS, f"Unknown prompt: {name}") from None
