"""The start of the server on stdio: from the options to the serving loop.

Everything heavy is imported here and no earlier, in the order in which it is needed: a client waits for the first
answer. Each line on stderr is written before the loop starts.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memory_app import __version__
from memory_app.text import shown

if TYPE_CHECKING:
    from memory_app.location.choice import Location


def serve(file: str | None, profile: str | None, *, read_only: bool = False) -> int:
    """Serve one client over stdin and stdout until the end, and return the exit status. Main thread only."""
    from memory_app.server.lifetime import end_at_once_on_signals
    from memory_app.server.stdio import faststart

    faststart.load_asyncio()
    from memory_app.server.stdio.pipes import fill_standard

    fill_standard()
    end_at_once_on_signals()
    from memory_app.location.choice import surroundings
    from memory_app.location.migration import find

    location = find(file, profile, surroundings(os.environ, sys.argv[0]), moves=not read_only)
    from memory_app.server.stderr import Notices

    report = Notices()
    for note in location.notes:
        report(note)
    if sys.stdin is not None and sys.stdin.isatty():
        report(_introduction(location))
    else:
        report(f"memory file: {shown(location.path)} ({location.why})")
    faststart.load()
    from memory_app.server.stdio.run import run

    return run(location.path, report, read_only=read_only)


def _introduction(location: Location) -> str:
    """The text for a person who starts the server in a terminal."""
    import json

    words = [shown(sys.executable), shown(os.path.abspath(sys.argv[0]))]
    server = {"command": words[0], "args": words[1:]}
    entry = json.dumps({"mcpServers": {"memory": server}}, ensure_ascii=False)
    return f"""version {__version__}, a memory for AI assistants, is running and waits for a client on stdin.
  memory file: {shown(location.path)} ({location.why})
  A client starts the server itself. Give it this command:
    {" ".join(f'"{word}"' if " " in word else word for word in words)}
  as in {entry}
  The command config puts that into a client's configuration; --help lists all commands.
  Stop it here with Ctrl-C."""
