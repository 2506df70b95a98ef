"""Markdown as a page for a terminal: headings stand out, paragraphs and lists are wrapped, code and tables stay as they
are.

Supports the Markdown that the guide uses: headings, paragraphs, lists, fenced and inline code, tables, emphasis, links,
quotes. Anything else is printed unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from memory_app.commands.screen.terminal import Terminal, columns, padded, width

_ITEM: Final = re.compile(r"^(\s*)([-*+]|\d+\.)\s+(.*)$")
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_STRONG: Final = re.compile(r"\*\*(.+?)\*\*")
_EMPHASIS: Final = re.compile(r"(?<![\w*])[*_]([^*_\s](?:[^*_]*[^*_\s])?)[*_](?![\w*])")
_CODE: Final = re.compile(r"(`[^`]+`)")
_TICK: Final = re.compile("(`)")
_WIDE: Final = "\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60"
_CLOSING: Final = "\uff0c\u3002\u3001\uff1a\uff1b\uff01\uff1f\uff09\u300d\u300f"
_PIECE: Final = re.compile(rf"\s+|[{_WIDE}](?:(?<![{_CLOSING}])`)?[{_CLOSING}]*|[^\s{_WIDE}]+")
"""What a line is made of: space, words, and wide letters; a line may end after each of them, but not before a sign that
closes something."""


def render(markdown: str, out: Terminal) -> Iterator[str]:
    """The page's lines."""
    lines = markdown.replace("\r\n", "\n").split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.startswith("```"):
            end = next((n for n in range(place + 1, len(lines)) if lines[n].startswith("```")), len(lines))
            yield from (f"    {code}" if code else "" for code in lines[place + 1 : end])
            place = end + 1
        elif line.startswith("|"):
            end = next((n for n in range(place, len(lines)) if not lines[n].startswith("|")), len(lines))
            yield from _table(lines[place:end], out)
            place = end
        elif line.startswith("#"):
            heading = _bare(line.lstrip("#").strip())
            yield out.styled(_unmarked(heading) if out.interactive else heading, "bold", "cyan")
            place += 1
        elif line.startswith("<!--"):  # a mark of a generated part
            place += 1
        elif not line.strip():
            yield ""
            place += 1
        else:
            end = _end_of_paragraph(lines, place)
            yield from _paragraph(lines[place:end], out)
            place = end


def _end_of_paragraph(lines: list[str], start: int) -> int:
    for n in range(start + 1, len(lines)):
        line = lines[n]
        if not line.strip() or line.startswith(("#", "```", "|", ">", "<!--")) or _ITEM.match(line):
            return n
    return len(lines)


def _paragraph(lines: list[str], out: Terminal) -> Iterator[str]:
    item = _ITEM.match(lines[0])
    if item:
        first, rest = f"{item[1]}{item[2]} ", [item[3], *lines[1:]]
    elif lines[0].startswith(">"):
        first, rest = "  ", [line.lstrip("> ") for line in lines]
    else:
        first, rest = "", lines
    text = " ".join(line.strip() for line in rest)
    yield from _plain(_wrapped(_bare(text), first, " " * len(first)), out)


def _wrapped(text: str, first: str, later: str) -> Iterator[str]:
    """The text in lines that fit the terminal, counted in columns; lines begin with `first` and `later`."""
    line, begin, used = first, len(first), columns(first)
    for piece in _PIECE.findall(text):
        size = columns(piece)
        if piece.isspace():
            if len(line) > begin:
                line, used = line + " ", used + 1
            continue
        if len(line) > begin and used + size > width():
            yield line.rstrip()
            line, begin, used = later, len(later), columns(later)
        line, used = line + piece, used + size
    if len(line) > begin:
        yield line.rstrip()


def _table(lines: list[str], out: Terminal) -> Iterator[str]:
    rows = [[_bare(cell.strip()).replace("\\|", "|") for cell in _cells(line)] for line in lines]
    rows = [row for row in rows if not all(set(cell) <= set(":-") for cell in row)]
    sizes = [max(columns(_unmarked(row[n])) if n < len(row) else 0 for row in rows) for n in range(len(rows[0]))]
    if sum(sizes) + 2 * len(sizes) > width():
        yield from _stacked(rows, out)
        return
    for number, row in enumerate(rows):
        cells = [padded(_unmarked(cell), size) for cell, size in zip(row, sizes, strict=False)]
        yield out.styled("  ".join(cells).rstrip(), *(("bold",) if number == 0 else ()))


def _stacked(rows: list[list[str]], out: Terminal) -> Iterator[str]:
    """A table that is wider than the terminal: each row becomes a block with its first cell as the heading. With only
    one more column the column's title is left out, because it would be the same each time.
    """
    titles = rows[0][1:] if len(rows[0]) > 2 else [""]
    for row in rows[1:]:
        yield from (out.styled(line, "bold") for line in _wrapped(_unmarked(row[0]), "", ""))
        for title, cell in zip(titles, row[1:], strict=False):
            text = f"{_unmarked(title)}: {_unmarked(cell)}" if title else _unmarked(cell)
            yield from _wrapped(text if cell else "", "  ", "    ")


def _cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip().strip("|"))


def _target(link: re.Match[str]) -> str:
    """A link as its text, followed by the topic or the address that it leads to."""
    text, address = link[1], link[2]
    topic = address.partition("#")[0]
    if "://" in address:
        return f"{text} ({address})"
    if not topic.endswith(".md"):
        return text
    name = topic[:-3]
    return f"`help {name}`" if text == name else f"{text} (`help {name}`)"


def _bare(text: str) -> str:
    """The text with links written out, and emphasis without its marks."""
    pieces = _CODE.split(text)
    for n in range(0, len(pieces), 2):
        piece = _LINK.sub(_target, pieces[n])
        pieces[n] = _EMPHASIS.sub(r"\1", _STRONG.sub(r"\1", piece))
    return "".join(pieces)


def _unmarked(text: str) -> str:
    return text.replace("`", "")


def _plain(lines: Iterable[str], out: Terminal) -> Iterator[str]:
    """The lines of one paragraph with inline code highlighted, even if the code continues in the next line.

    When the output is piped, the backticks stay, as people know them.
    """
    if not out.interactive:
        yield from lines
        return
    inside = False
    for line in lines:
        text = line.lstrip(" ")
        styled = []
        for part in _TICK.split(text):
            if part == "`":
                inside = not inside
            else:
                styled.append(out.styled(part, "yellow") if inside else part)
        yield line[: len(line) - len(text)] + "".join(styled)
