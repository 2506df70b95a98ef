"""Read the guide in the terminal: a topic by its name, or a command's help. Without a topic, lists the topics."""

from __future__ import annotations

import argparse
from importlib import resources
from typing import Final

from memory_app.commands import COMMANDS
from memory_app.commands.screen.pages import render
from memory_app.commands.screen.terminal import output
from memory_app.errors import UsageError
from memory_app.text import shown

EXAMPLES: Final = (
    ("help", "list the topics"),
    ("help index", "read the first page"),
    ("help repair", "read about a command, as repair --help does"),
)


def register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="a topic of the guide, or a command")
    parser.add_argument("--markdown", action="store_true", help="print the page as Markdown")


def run(asked: argparse.Namespace) -> int:
    out = output()
    pages = topics()
    if asked.topic is None:
        out.line(out.styled("Topics of the guide", "bold"))
        size = max(map(len, pages), default=0)
        for topic, title in pages.items():
            out.line(f"  {topic:<{size}}  {title}")
        out.line()
        out.line(f"Commands: {', '.join(COMMANDS)}")
        return 0
    topic = asked.topic.lower().removesuffix(".md")
    if topic in pages:
        page = _page(topic)
        for line in page.split("\n") if asked.markdown else render(page, out):
            out.line(line)
        return 0
    if topic in COMMANDS:
        from memory_app.commands.frame import parser_of

        parser_of(topic)[0].print_help()
        return 0
    raise UsageError(f"there is no topic {shown(asked.topic)}. The topics are {', '.join(pages)}.")


def topics() -> dict[str, str]:
    """The guide's topics with their titles, the index first."""
    names = [entry.name for entry in resources.files("memory_app").joinpath("guide").iterdir()]
    found = sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))
    found.sort(key=lambda topic: topic != "index")
    return {topic: _page(topic).partition("\n")[0].lstrip("# ").strip() for topic in found}


def _page(topic: str) -> str:
    return (
        resources.files("memory_app").joinpath("guide").joinpath(f"{topic}.md").read_text(encoding="utf-8").rstrip("\n")
    )
