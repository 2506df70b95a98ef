"""The documentation: it names everything that there is and nothing else, and shows what the program really prints."""

from __future__ import annotations

import base64
import io
import json
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from build import inputs
from build.platforms import PLATFORMS
from memory_app.cli import read_arguments
from memory_app.commands import COMMANDS
from memory_app.commands.clients.catalogue import CLIENTS, Machine, places
from memory_app.commands.frame import parser_of
from memory_app.commands.help import topics
from memory_app.commands.screen.pages import render
from memory_app.commands.screen.terminal import Terminal, columns
from memory_app.location.environment import SET_BY_PEOPLE
from memory_app.lock import heartbeat, lock, stale
from memory_app.server import messages
from memory_app.storage import memory_file
from memory_app.tools import arguments, plans
from memory_app.tools.prompts import PERSONAL_MEMORY
from tests.commands.running import environment
from tests.placing import put
from tests.platforms import clients

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GUIDE = ROOT / "memory_app" / "guide"
PAGES = sorted(GUIDE.glob("*.md"))
TRANSLATIONS = ("de", "es", "fr", "ja", "pt", "zh")
PROGRAM = "python memory-server.pyz"
MACHINES = (
    Machine("linux", {"HOME": "~"}),
    Machine("darwin", {"HOME": "~"}),
    Machine("win32", {name: f"%{name}%" for name in ("USERPROFILE", "APPDATA", "LOCALAPPDATA")}),
)

every_page = pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)


def text(page: Path) -> str:
    return page.read_text("utf-8")


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of that kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)


def shown_commands(page: Path) -> Iterator[str]:
    """What stands behind the program's name wherever a page shows it, in code between the lines and in blocks."""
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text(page), flags=re.MULTILINE | re.DOTALL)):
        if code.startswith(PROGRAM):
            yield code.removeprefix(PROGRAM).strip()
    for line in "".join(re.findall(r"^```\w*\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)).splitlines():
        found = line.removeprefix("$ ").strip()
        if found.startswith(PROGRAM):
            yield re.split(r" {3,}| > ", found.removeprefix(PROGRAM).strip())[0]


def anchors(page: Path) -> set[str]:
    """The places within a page that a link can lead to."""
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", [*SET_BY_PEOPLE, "MEMORY_SERVER_CACHE", "NO_COLOR"])
def test_every_variable_is_in_the_table(name: str) -> None:
    assert re.search(rf"^\| `{name}` \| \S", text(GUIDE / "environment.md"), re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_of_it_is_described(name: str) -> None:
    assert re.search(rf"^\|.*`{name}\b", text(README), re.MULTILINE)
    section = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", text(GUIDE / "commands.md"), re.MULTILINE | re.DOTALL)
    assert section is not None
    parser = parser_of(name)[0]
    options = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
    described = section[1] + (text(GUIDE / "http.md") if name == "serve" else "")
    missing = {option for option in options - {"--help", "--file", "--profile"} if option not in described}
    assert not missing
    unknown = set(re.findall(r"--[a-z][a-z-]+", section[1])) - options
    assert not unknown


@every_page
def test_every_command_that_is_shown_can_be_run(page: Path) -> None:
    for shown in shown_commands(page):
        words = shlex.split(shown.partition(" | ")[0].partition(" #")[0].replace("COMMAND", "check"))
        asked = read_arguments(words)
        if asked.command is None or asked.command.startswith("-"):
            continue
        assert asked.command in COMMANDS, shown
        arguments = [word.replace("WORDS", "word").replace("N", "1") for word in asked.arguments if word != "<"]
        if "--help" not in arguments and "CLIENT" not in arguments:
            parser_of(asked.command)[0].parse_intermixed_args(arguments)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_its_file_on_each_system(client: str) -> None:
    row = re.search(rf"^\| `{client}` \|.*$", text(GUIDE / "clients.md"), re.MULTILINE)
    assert row is not None
    cells = [cell.strip().strip("`") for cell in row[0].strip("|").split("|")]
    expected = [next(iter(places(CLIENTS[client], machine)), "") for machine in MACHINES]
    assert cells == [client, CLIENTS[client].title, *expected, CLIENTS[client].project or ""]
    assert CLIENTS[client].title.removeprefix("Visual Studio ") in text(README).replace("VS Code", "Code")


def test_what_clients_fill_in_is_told_as_doctor_knows_it() -> None:
    table = text(GUIDE / "clients.md").partition("| client | fills in |\n|---|---|\n")[2].partition("\n\n")[0]
    short = {"VS Code": "Visual Studio Code", "Copilot CLI": "GitHub Copilot CLI"}
    titles = {client.title: client for client in CLIENTS.values()}
    told: set[str] = set()
    for row in table.splitlines():
        named, examples = (cell.strip() for cell in row.strip("|").split("|"))
        for name in named.split(", ") if named != "the others" else ():
            client = titles[short.get(name, name)]
            told.add(client.title)
            for example in re.findall(r"`([^`]+)`", examples):
                assert re.fullmatch(client.fills, example), (name, example)
    assert told == {client.title for client in CLIENTS.values() if client.fills}


def test_the_pages_and_the_list_of_topics_agree() -> None:
    listed = set(re.findall(r"\(([a-z-]+)\.md\)", text(GUIDE / "index.md")))
    assert listed | {"index"} == set(topics()) == {page.stem for page in PAGES}
    assert all(topics().values())
    assert not set(topics()) - {"index"} & set(COMMANDS), "`help NAME` could mean two things"


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    written = text(page)
    for target in re.findall(r"\]\(([^)\s]+)\)", written):
        address, _, place = target.partition("#")
        if "://" in address:
            continue
        leads_to = (page.parent / address).resolve() if address else page
        assert leads_to.is_file(), target
        assert not place or place in anchors(leads_to), target
        if page != README:
            assert leads_to.parent == GUIDE, f"{target} is not in the archive"
    defined = dict(re.findall(r"^\[(\w+)\]: (\S+)$", written, re.MULTILINE))
    assert set(re.findall(r"\]\[(\w+)\]", written)) == set(defined)


def installs(page: str) -> dict[str, str]:
    """The links of a page that install the server, by their text."""
    links = re.findall(
        r"\[([^\]]+)\]\((https://(?:insiders\.vscode\.dev|vscode\.dev|cursor\.com)/\S+)\)", text(GUIDE / page)
    )
    return dict(links)


def test_links_that_install_in_vs_code_hold_a_server_of_ours() -> None:
    links = installs("vscode.md")
    names = [
        f"{quality}{kind}"
        for quality in ("VS Code", "VS Code Insiders")
        for kind in ("", " on Windows", " with Docker")
    ]
    assert list(links) == names
    image = re.search(r"`docker (run [^`]+)`", text(README))
    assert image is not None
    for name, url in links.items():
        insiders = "Insiders" in name
        assert urlsplit(url).netloc == ("insiders.vscode.dev" if insiders else "vscode.dev")
        query = parse_qs(urlsplit(url).query)
        assert query["name"] == ["memory"]
        assert query.get("quality") == (["insiders"] if insiders else None)
        server = json.loads(query["config"][0])
        if name.endswith("Docker"):
            assert server == {"type": "stdio", "command": "docker", "args": image[1].split()}
            continue
        command = "python" if name.endswith("Windows") else "python3"
        assert server == {"type": "stdio", "command": command, "args": ["${input:archive}"]}
        assert [one["id"] for one in json.loads(query["inputs"][0])] == ["archive"]
    direct = re.search(r"^vscode:mcp/install\?(\S+)$", text(GUIDE / "vscode.md"), re.MULTILINE)
    assert direct is not None
    query = parse_qs(urlsplit(links["VS Code"]).query)
    config, inputs = (json.loads(query[key][0]) for key in ("config", "inputs"))
    assert json.loads(unquote(direct[1])) == {"name": "memory", **config, "inputs": inputs}


def test_links_that_install_in_cursor_hold_a_server_of_ours() -> None:
    links = installs("clients.md")
    image = re.search(r"`docker (run [^`]+)`", text(README))
    assert image is not None
    servers = []
    for url in links.values():
        query = parse_qs(urlsplit(url).query)
        assert query["name"] == ["memory"]
        servers.append(json.loads(base64.b64decode(query["config"][0])))
    assert servers == [
        {"command": "python3", "args": ["${userHome}/memory-server.pyz"]},
        {"command": "docker", "args": image[1].split()},
    ]


def test_the_system_prompt_is_the_one_that_is_served() -> None:
    assert blocks(GUIDE / "system-prompt.md", "") == [PERSONAL_MEMORY.text(None).rstrip("\n") + "\n"]


@every_page
def test_json_that_is_shown_can_be_read(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block)


def test_the_limits_that_are_told_are_those_of_the_program() -> None:
    large, answer, line = memory_file.LARGEST_FILE >> 30, plans.LARGEST_ANSWER >> 20, messages.LINE_LIMIT >> 20
    assert answer == line, "they are told as one"
    limits = f"a file of at most {large} GiB, an answer or a message of at most {answer} MiB"
    assert f"{limits}, a search of at most {arguments.LONGEST_QUERY} characters" in text(README)
    assert f"waits** for the lock {lock.WAIT:.0f} seconds at most" in text(README)
    assert f"{large} GiB for the file, {answer} MiB for a line and for an answer" in text(GUIDE / "reliability.md")
    assert f"not renewed for {stale.UNREFRESHED:.0f} seconds" in text(GUIDE / "how-it-works.md")
    for rule, seconds in (
        ("The holder renews the lock's time while it works | every", heartbeat.INTERVAL),
        ("A lock that nobody renewed is removed | after", stale.UNREFRESHED),
        ("A call that cannot get the lock fails, and nothing is written | after", lock.WAIT),
    ):
        assert f"| {rule} {seconds:.0f} seconds |" in text(GUIDE / "lock.md")


def test_every_target_of_the_makefile_is_in_the_guide() -> None:
    phony = re.search(r"^\.PHONY: (help .*)$", text(ROOT / "Makefile"), re.MULTILINE)
    assert phony is not None
    documented = set(re.findall(r"`make ([\w-]+)`", text(GUIDE / "development.md")))
    assert set(phony[1].split()) - {"help"} == documented - {"pyz-PLATFORM"}


def test_the_readme_is_short() -> None:
    assert len(text(README).splitlines()) <= 160


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_a_translation_names_the_same_things(language: str) -> None:
    page = GUIDE / f"{language}.md"
    assert f"[{language}]({language}.md)" in text(GUIDE / "index.md")
    assert f"memory_app/guide/{language}.md" in text(README)
    for part in ("make run", "make test", "make pyz", "config claude-desktop --write", "MEMORY_FILE_PATH", "2026.8.31"):
        assert part in text(page)
    named = set(re.findall(r"`([a-z]+)(?: [^`]*)?`", re.search(r"(?:^\|.*\n)+", text(page), re.MULTILINE)[0]))  # type: ignore[index]
    assert named <= set(COMMANDS)


def sources() -> str:
    """All texts of the program, with what is filled in left out as `…`."""
    folders = (ROOT / "memory_app", ROOT / "build" / "launcher")
    code = "\n".join(path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py"))
    return re.sub(r'"\s*\n\s*f?"', "", code)  # a text that is written over two lines is one


def test_every_text_that_troubleshooting_quotes_is_one_of_the_program() -> None:
    said = sources()
    for quoted in re.findall(r"^\| (?:\S+, but )?`([^`]+)` \|", text(GUIDE / "troubleshooting.md"), re.MULTILINE):
        parts = re.split(r"\.\.\.|\$\{\w+\}|\bX\b|\b60\b|MEMORY_FILE(?:_PATH)?", quoted)
        for part in (part.strip(" ,") for part in parts):
            if len(part) > 5 and not part.endswith(".jsonl"):
                assert part in said, quoted


@every_page
def test_a_transcript_is_what_happens(page: Path, archive: Path, tmp_path: Path) -> None:
    """Every `console` block, in a new folder. A first `cat FILE` gives what the file holds to begin with."""
    for number, block in enumerate(blocks(page, "console")):
        home = tmp_path / f"{number}" / "ann"
        home.mkdir(parents=True)
        shutil.copy(archive, home / "memory-server.pyz")
        steps = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        for place, step in enumerate(steps):
            line, _, expected = step.partition("\n")
            words = shlex.split(line)
            if words[0] == "cat":
                if place == 0:
                    put(home / words[1], expected)
                assert (home / words[1]).read_text("utf-8") == expected, line
                continue
            assert words[:2] == PROGRAM.split(), line
            assert masked(ran(words[1:], home), home) == masked(expected, Path("/home/ann")), line


def ran(words: list[str], home: Path) -> str:
    """What the program prints, on either stream."""
    done = subprocess.run(
        ["python", *words],
        executable=sys.executable,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=home,
        env=environment(home),
        timeout=60,
        check=False,
    )
    return done.stdout.decode()


def masked(output: str, home: Path) -> str:
    """Without what differs from run to run: the folder and the times."""
    return re.sub(
        r"\b\d{8}T\d{6}Z\b|\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?\b",
        "TIME",
        output.replace(str(home), "~").replace("\\", "/"),
    )


def test_the_generated_parts_have_their_marks() -> None:
    for mark, page in (
        ("platforms", "platforms.md"),
        ("run", "platforms.md"),
        ("clients", "clients.md"),
        ("bench", ""),
    ):
        written = text(GUIDE / page if page else README)
        assert written.count(f"<!-- {mark}:begin -->") == written.count(f"<!-- {mark}:end -->") == 1


def test_the_readme_counts_the_processors_that_there_are() -> None:
    count = {"glibc": 0, "musl": 0}
    for one in PLATFORMS:
        count["glibc"] += "glibc" in one.label
        count["musl"] += "musl" in one.label
    words = {7: "seven", 2: "two"}
    assert f"Linux (glibc on {words[count['glibc']]} processors, musl on {words[count['musl']]})" in text(README)


def test_versions_of_clients_are_those_that_make_platforms_starts() -> None:
    page = text(GUIDE / "clients.md")
    versions = set(re.findall(r"(?<![\w.])\d+\.\d+\.\d+(?![\w.])", page))
    assert versions <= set(clients.PACKAGES.values())


def test_pictures_are_small() -> None:
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text(README)):
        assert (ROOT / picture).stat().st_size <= 150_000


@every_page
def test_a_page_fits_the_terminal(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    prose = re.sub(r"^```.*?^```$", "", text(page), flags=re.MULTILINE | re.DOTALL)
    for line in render(prose, Terminal(io.StringIO())):
        assert columns(line) <= 80 or len(line.split()) <= 2, line
        assert "**" not in line and "<!--" not in line, line


def test_what_the_proofs_printed_stands_in_one_place() -> None:
    """A figure of theirs that is said again in prose would go its own way at the next run."""
    proofs = re.compile(r"<!-- stress:begin -->\n(.*?)<!-- stress:end -->", re.DOTALL)
    told = [(page.name, found) for page in (README, *PAGES) for found in proofs.findall(text(page))]
    assert [name for name, _ in told] == ["reliability.md"]
    assert len(told[0][1].splitlines()) > 10
    figures = set(re.findall(r"\d+,\d{3}|\d+\.\d %", told[0][1]))
    for page in (README, *PAGES):
        prose = re.sub(r"^```.*?^```$|<!-- bench:begin.*?bench:end -->", "", text(page), flags=re.MULTILINE | re.DOTALL)
        again = {figure for figure in figures if re.search(rf"(?<![\d,.]){figure} (?:writes|of|calls|states)", prose)}
        assert not again, page.name


def test_sizes_of_archives_are_those_that_were_built(archive: Path) -> None:
    """The one for this platform as it is; the one for all where it was made here, from the same sources."""
    told = re.search(r"one archive of (\d+) MB for all of them, `make pyz-linux-x86_64` one of (\d+) MB", text(README))
    assert told is not None
    everywhere = ROOT / "dist" / "memory-server.pyz"
    if inputs.is_current(everywhere, ("all",), inputs.digest()):
        assert int(told[1]) == round(everywhere.stat().st_size / 1e6)
    if (sys.platform, platform.machine(), platform.libc_ver()[0]) == ("linux", "x86_64", "glibc"):
        assert int(told[2]) == round(archive.stat().st_size / 1e6)


@every_page
def test_no_page_waits_for_a_figure(page: Path) -> None:
    assert "@@" not in text(page)
