"""Call one of the nine tools from a script, as a client does. Give the tool's arguments as one JSON object, or - to
read them from stdin. Prints the tool's structured result as JSON. Without a tool, lists the tools.
"""

from __future__ import annotations

import argparse
import json
from typing import Final

from memory_app.commands.frame import program
from memory_app.commands.memory import apply_change, from_stdin, locate, open_store
from memory_app.commands.screen.terminal import output, say, write_bytes
from memory_app.commands.upkeep.correction import stored_text
from memory_app.errors import GraphError, UsageError
from memory_app.text import shown
from memory_app.tools import plans, table

EXAMPLES: Final = (
    ("call", "list the tools, with an example of each"),
    ('call search_nodes \'{"query":"tea"}\'', 'search; in cmd.exe write "{\\"query\\":\\"tea\\"}"'),
    (
        "call create_entities - < entities.json",
        "take the arguments from a file, so that the shell's quoting does not matter",
    ),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="the tool's name")
    parser.add_argument(
        "arguments", nargs="?", type=stored_text, metavar="JSON", help="its arguments, - for stdin (default: none)"
    )


def run(asked: argparse.Namespace) -> int:
    if asked.tool is None:
        out = output()
        for name, tool in table.TOOLS.items():
            out.line(f"{out.styled(name, 'bold')}\n  {program()} call {name} '{tool.example}'")
        return 0
    try:
        planned = table.plan(asked.tool, _decode(asked.arguments))
    except table.UnknownTool:
        raise UsageError(f"there is no tool {shown(asked.tool)}. The tools are {', '.join(table.TOOLS)}.") from None
    path = locate(asked, writes=isinstance(planned, plans.Write)).path
    with open_store(path) as store:
        answer = planned.run(store.graph()) if isinstance(planned, plans.Read) else apply_change(store, planned.apply)
    if answer.is_error or answer.structured is None:
        raise GraphError(answer.text or "the tool failed")
    write_bytes([answer.structured, b"\n"])
    for text in answer.more:
        say(shown(text))
    return 0


def _decode(written: str | None) -> object:
    text = written
    if written == "-":
        try:
            text = from_stdin().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"the input from stdin is not UTF-8 (byte {error.start + 1:,}). Nothing was done."
            ) from error
    if text is None or not text.strip():
        return {}
    try:
        return json.loads(text)
    except ValueError as error:
        place = f" (column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(
            f"the arguments are not JSON{place}. Put them in single quotes, or give - and send them on stdin."
        ) from error
    except RecursionError:
        raise UsageError("the arguments are nested too deeply.") from None
