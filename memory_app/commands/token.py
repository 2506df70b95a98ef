"""Make, list and revoke the tokens of clients of `serve --http`. Each person or program has its own token, so that it
can be limited and revoked separately.

A token is printed once, when it is made; the file keeps its digest. A running server reads a changed file within a
second or two, without a restart.
"""

from __future__ import annotations

import argparse
import os
from typing import Final

from memory_app.commands.screen.terminal import output, say
from memory_app.errors import UsageError
from memory_app.server.http import tokens
from memory_app.server.http.tokens import Token

EXAMPLES: Final = (
    ("token add ann --token-file tokens", "make a token for Ann, who may read and write"),
    (
        "token add guest --read-only --expires 2027-12-31 --token-file tokens",
        "make a read-only token, valid until that day",
    ),
    ("token add bo --memory work --token-file tokens", "make a token for the memory served as work"),
    ("token list --token-file tokens", "list the tokens, and what each allows"),
    ("token revoke guest --token-file tokens", "withdraw one"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("add", "list", "revoke"), help="make one, list all, or revoke one")
    parser.add_argument("name", metavar="NAME", nargs="?", help="whose it is")
    parser.add_argument("--token-file", metavar="FILE", required=True, help="the file with their digests")
    parser.add_argument("--read-only", action="store_true", help="add: allow only reading")
    parser.add_argument(
        "--memory", metavar="NAME", action="append", default=[], help="add: allow only this memory; may be repeated"
    )
    parser.add_argument("--expires", metavar="DATE", help="add: the last day (UTC) on which it is valid")


def run(asked: argparse.Namespace) -> int:
    held = _held(asked.token_file, makes=asked.what == "add")
    if asked.what == "list":
        for token in held:
            output().line(_describe(token))
        return 0
    if asked.name is None:
        raise UsageError(f"token {asked.what}: give the NAME of the token.")
    if asked.what == "revoke":
        return _revoke(asked, held)
    if any(token.name == asked.name for token in held):
        raise UsageError(f"A token with the name {asked.name} exists. Revoke it first, or give another name.")
    token, text = tokens.make(asked.name, may_write=not asked.read_only, memories=asked.memory, expires=asked.expires)
    if token.is_expired():
        raise UsageError(f"--expires {asked.expires}: that day is over. Give the last day on which it is good.")
    tokens.write_file(asked.token_file, [*held, token])
    output().line(text)
    return 0


def _revoke(asked: argparse.Namespace, held: tuple[Token, ...]) -> int:
    left = [token for token in held if token.name != asked.name]
    if len(left) == len(held):
        raise UsageError(f"There is no token with the name {asked.name} in {asked.token_file}.")
    tokens.write_file(asked.token_file, left)
    say(f"The token {asked.name} is revoked.")
    return 0


def _held(path: str, *, makes: bool) -> tuple[Token, ...]:
    if makes and not os.path.lexists(path):
        return ()
    held = tokens.read_file(path)
    if any(token.name == tokens.SINGLE for token in held):
        raise UsageError(f"{path} holds one token without a name. Name another file, and make named tokens there.")
    return held


def _describe(token: Token) -> str:
    scope = "may write" if token.may_write else "may read"
    memories = "all memories" if token.memories is None else "memories: " + ", ".join(token.memories)
    until = "" if token.expires is None else f"until {token.expires}" + (" (expired)" if token.is_expired() else "")
    return ", ".join(part for part in (token.name, scope, memories, until) if part)
