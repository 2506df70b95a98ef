"""Serve the memory: with --http to many clients over the network (Streamable HTTP, at the path /mcp), otherwise to one
client over stdin and stdout, as without any command.

On a loopback address (the default) no token is needed. Any other address needs a bearer token, from MEMORY_HTTP_TOKEN
or --token-file. There is no TLS: put a proxy in front. `help http` shows how, and how to run it as a service.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
from typing import Any, Final

from memory_app.commands.memory import locate
from memory_app.commands.screen.terminal import output
from memory_app.disk.folders import make_folders
from memory_app.errors import UsageError
from memory_app.location.environment import HTTP_TOKEN
from memory_app.location.expansion import data_folder
from memory_app.server import start
from memory_app.server.http import hosts, sessions, tokens
from memory_app.server.http.access import Access, access, keep_token, parse_prefix
from memory_app.server.lifetime import end_at_once_on_signals
from memory_app.server.stderr import Notices
from memory_app.text import shown

EXAMPLES: Final = (
    ("serve --http 8765", "serve programs on this machine at http://127.0.0.1:8765/mcp"),
    ("token add ann --token-file tokens", "make a token for Ann, keep its digest in a private file, print it once"),
    ("serve --http 0.0.0.0:8765 --token-file tokens", "serve other machines, which need one of these tokens"),
    ("serve --http 8765 --memory work=work.jsonl --memory home=home.jsonl", "serve two memories"),
    ("serve --http unix:memory.sock", "serve only this user, through a Unix socket"),
    ("serve --read-only", "serve one client that may only read"),
)

_LOGGED: Final = 60_000
"""Characters on stderr: below the size of a pipe, which would stop the server when it is full and nobody reads."""

_MEMORY: Final = re.compile(r"([a-z0-9][a-z0-9._-]{0,63})=(.+)")
_RESERVED: Final = frozenset({"mcp", "health", "ready", "metrics"})
_LARGEST_BODY_MIB: Final = 256
_FIRST_OF_PEOPLE: Final = 500
"""User ids from which on people's begin: 500 on macOS, 1000 on most Linux systems."""


def register(parser: argparse.ArgumentParser) -> None:
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument(
        "--http", metavar="[HOST:]PORT", help="serve over HTTP at this address, at unix:PATH, or at systemd's socket"
    )
    parser.add_argument("--read-only", action="store_true", help="offer only the three tools that read")
    parser.add_argument("--token-file", metavar="FILE", help=f"the file with the tokens (default: {HTTP_TOKEN})")
    parser.add_argument("--require-token", action="store_true", help="do not start without a token, on any address")
    parser.add_argument(
        "--memory", metavar="NAME=PATH", help="serve this memory at /NAME/mcp; may be repeated", **several
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        help="a name by which clients reach the server, such as behind a proxy; may be repeated",
        **several,
    )
    parser.add_argument(
        "--allow-origin", metavar="URL", help="a web page's origin that may use the server; may be repeated", **several
    )
    parser.add_argument(
        "--path", metavar="PREFIX", default="", help="the path that a proxy keeps before /mcp, such as /office"
    )
    parser.add_argument(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="a proxy whose X-Forwarded-For names the client in logs; may be repeated",
        **several,
    )
    parser.add_argument("--max-body", metavar="MIB", type=float, default=4, help="largest request (default: 4 MiB)")
    parser.add_argument("--rate", metavar="N", type=int, default=0, help="requests a second for each token")
    parser.add_argument(
        "--max-streams", metavar="N", type=int, default=1024, help="open streams for each token (default: 1024)"
    )
    parser.add_argument("--access-log", action="store_true", help="log each request's id, method and status to stderr")
    parser.add_argument(
        "--audit-log", metavar="FILE", help="append to this file who called which tool, without any contents"
    )
    parser.add_argument(
        "--session-key",
        metavar="FILE",
        help="the file with the key by which sessions survive a restart; created if missing",
    )
    parser.add_argument("--new-token", action="store_true", help="make a token without a name, print it, and exit")


def run(asked: argparse.Namespace) -> int:
    if asked.new_token:
        return _make_token(asked.token_file)
    if asked.http is not None:
        return _serve_http(asked)
    given = [f"--{name.replace('_', '-')}" for name in _OF_HTTP if getattr(asked, name)]
    if given:
        raise UsageError(f"{' and '.join(given)} {'need' if given[1:] else 'needs'} --http. Add --http PORT.")
    return start.serve(asked.file, asked.profile, read_only=asked.read_only)


_OF_HTTP: Final = (
    "token_file", "require_token", "memory", "allow_host", "allow_origin", "path", "trusted_proxy", "rate",
    "access_log", "audit_log", "session_key",
)  # fmt: skip


def _make_token(path: str | None) -> int:
    token = tokens.new_token()
    if path is not None:
        keep_token(path, token)
    output().line(token)
    return 0


def _serve_http(asked: argparse.Namespace) -> int:
    granted = _read_access(asked)
    end_at_once_on_signals()
    report = Notices(sys.maxsize if asked.access_log else _LOGGED)
    paths = _memories(asked, report)
    if granted.tokens is None and not granted.address.is_unix and (others := _other_users()):
        report(
            f"no token is required, so every user of this machine ({', '.join(others)}) can read and change the "
            "memory; --token-file requires one, and --http unix:PATH serves you alone"
        )
    key = _session_key(asked, report)
    try:
        from memory_app.server.http.run import run as serve
    except ModuleNotFoundError as error:
        if error.name in ("ssl", "_ssl"):
            raise UsageError(
                f"this Python ({shown(sys.executable)}) was built without ssl, which serving over HTTP needs. "
                "Use another Python; over stdio this one serves."
            ) from None
        raise UsageError(f"a package that serving over HTTP needs is missing ({error.name}).") from None
    return serve(paths, report, granted, key)


def _read_access(asked: argparse.Namespace) -> Access:
    if not 0 < asked.max_body <= _LARGEST_BODY_MIB:
        raise UsageError(f"--max-body {asked.max_body:g}: give MiB, {_LARGEST_BODY_MIB} at most.")
    if asked.rate < 0 or asked.max_streams < 1:
        raise UsageError("--rate and --max-streams: give a number of one or more.")
    for origin in asked.allow_origin:
        if not hosts.origin_of(origin):
            raise UsageError(f"--allow-origin {origin}: give an origin such as https://notes.example.org.")
    names = tuple(asked.allow_host)
    granted = access(asked.http, asked.token_file, names, asked.read_only, os.environ, needs_token=asked.require_token)
    return granted._replace(
        log=asked.access_log,
        origins=tuple(origin.lower() for origin in asked.allow_origin),
        prefix=parse_prefix(asked.path),
        proxies=tuple(asked.trusted_proxy),
        largest_body=int(asked.max_body * (1 << 20)),
        rate=asked.rate,
        streams=asked.max_streams,
        audit=asked.audit_log,
    )


def _memories(asked: argparse.Namespace, report: Notices) -> dict[str, str]:
    if not asked.memory:
        location = locate(asked, writes=not asked.read_only)
        report(f"memory file: {shown(location.path)} ({location.why})")
        return {"": location.path}
    if asked.file or asked.profile:
        raise UsageError("--memory names each file; leave --file and --profile out.")
    paths: dict[str, str] = {}
    for given in asked.memory:
        found = _MEMORY.fullmatch(given)
        if found is None or found[1] in _RESERVED or found[1] in paths:
            raise UsageError(
                f"--memory {given}: give a new name of lower-case letters and digits, and a file, such as "
                "work=/srv/work.jsonl."
            )
        location = locate(argparse.Namespace(file=found[2], profile=None), writes=not asked.read_only)
        paths[found[1]] = location.path
    if len({os.path.realpath(path) for path in paths.values()}) < len(paths):
        raise UsageError("Two of the memories are one file. Give each a file of its own.")
    for name, path in paths.items():
        report(f"memory file of {name}: {shown(path)}")
    return paths


def _session_key(asked: argparse.Namespace, report: Notices) -> bytes:
    """The key with which sessions survive a restart. Without a place to store it they last as long as this process."""
    folder = data_folder(os.environ, sys.platform)
    beside = f"{asked.token_file}.session-key" if asked.token_file else None
    places = [asked.session_key] if asked.session_key else [beside, folder and os.path.join(folder, "session-key")]
    trouble = "there is no home folder"
    for place in filter(None, places):
        try:
            make_folders(os.path.dirname(os.path.abspath(place)))
            return sessions.load_key(place)
        except OSError as error:
            trouble = f"{shown(place)}: {error.strerror or error}"
    if asked.session_key:
        raise UsageError(f"--session-key {trouble}.")
    report(f"sessions will end with this process ({trouble}); --session-key FILE names a place for their key")
    return secrets.token_bytes(sessions.KEY_BYTES)


def _other_users() -> list[str]:
    """The names of other people with an account on this machine, at most three."""
    if sys.platform == "win32":
        return []
    import pwd

    ours = os.geteuid()
    people = [
        user.pw_name
        for user in pwd.getpwall()
        if user.pw_uid >= _FIRST_OF_PEOPLE
        and user.pw_uid not in (ours, 65534)
        and not user.pw_shell.endswith(("nologin", "false", "sync"))
        and user.pw_shell
        and os.path.isdir(user.pw_dir)
    ]
    return people[:3]
