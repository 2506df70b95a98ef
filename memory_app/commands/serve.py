"""Serve the memory: with --http to many clients over the network (Streamable HTTP, at the path /mcp), else to one
client over stdin and stdout, as without any command.

On a loopback address (the default) no token is needed. Any other address needs a bearer token, from MEMORY_HTTP_TOKEN
or --token-file. There is no TLS: put a proxy in front. `help http` shows how, and how to run it as a service."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from memory_app.commands.memory import located
from memory_app.commands.screen.terminal import output
from memory_app.errors import UsageError
from memory_app.location.environment import HTTP_TOKEN
from memory_app.server import start
from memory_app.server.http.access import access, keep_token, new_token
from memory_app.server.lifetime import end_at_once_on_signals
from memory_app.server.stderr import Notices
from memory_app.text import shown

EXAMPLES: Final = (
    ("serve --http 8765", "serve programs of this machine at http://127.0.0.1:8765/mcp"),
    ("serve --new-token --token-file token", "make a token, keep it in a private file, print it once"),
    ("serve --http 0.0.0.0:8765 --token-file token", "serve other machines, which have to show that token"),
    ("serve --read-only", "serve one client that may only read"),
)

_LOGGED: Final = 60_000
"""Characters on stderr: below the size of a pipe, which would stop the server when it is full and nobody reads."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", metavar="[HOST:]PORT", help="serve over HTTP at this address")
    parser.add_argument("--read-only", action="store_true", help="offer only the three tools that read")
    parser.add_argument("--token-file", metavar="FILE", help=f"the file with the token (default: {HTTP_TOKEN})")
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name by which clients reach the server, as behind a proxy; may be repeated",
    )
    parser.add_argument("--access-log", action="store_true", help="say each request's id, method and status on stderr")
    parser.add_argument("--new-token", action="store_true", help="make a token, print it, and end")


def run(asked: argparse.Namespace) -> int:
    if asked.new_token:
        return _make_token(asked.token_file)
    if asked.http is not None:
        return _serve_http(asked)
    if asked.token_file is not None or asked.allow_host or asked.access_log:
        raise UsageError("--token-file, --allow-host and --access-log belong to --http. Add --http PORT.")
    return start.serve(asked.file, asked.profile, read_only=asked.read_only)


def _make_token(path: str | None) -> int:
    token = new_token()
    if path is not None:
        keep_token(path, token)
    output().line(token)
    return 0


def _serve_http(asked: argparse.Namespace) -> int:
    hosts = tuple(asked.allow_host)
    granted = access(asked.http, asked.token_file, hosts, asked.read_only, os.environ)._replace(log=asked.access_log)
    end_at_once_on_signals()
    location = located(asked, writes=not asked.read_only)
    report = Notices(sys.maxsize if asked.access_log else _LOGGED)
    report(f"memory file: {shown(location.path)} ({location.why})")
    try:
        from memory_app.server.http.run import run as serve
    except ModuleNotFoundError as error:
        if error.name in ("ssl", "_ssl"):
            raise UsageError(
                f"this Python ({shown(sys.executable)}) was built without ssl, which serving over HTTP needs. "
                "Use another Python; over stdio this one serves."
            ) from None
        raise UsageError(f"what serving over HTTP needs is not there ({error.name}).") from None
    return serve(location.path, report, granted)
