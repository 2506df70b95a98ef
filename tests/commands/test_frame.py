"""What all commands have in common: help, wrong use, where output goes, how a command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memory_app.cli import read_arguments
from memory_app.commands import COMMANDS
from tests.commands.running import PATIENCE, ROOT, Result, command, entity, environment, run, write

pty = pytest.importorskip("pty") if sys.platform != "win32" else None


def widest(text: str) -> int:
    """Columns of the widest line, as where the program is called by its name alone."""
    *_, option, program = command()
    short = text if option == "-m" else text.replace(program, "memory-server.pyz")
    return max(map(len, short.splitlines()))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, home: Path) -> None:
    result = run(name, "--help", home=home)
    assert result.status == 0
    assert result.err == ""
    assert "examples:" in result.out
    assert f" {name}" in result.out.split("examples:")[1]
    assert widest(result.out) <= 100
    assert run("help", name, home=home).out == result.out


def test_the_overview_names_every_command(home: Path) -> None:
    result = run("--help", home=home)
    assert result.status == 0
    assert all(f"\n  {name} " in result.out for name in COMMANDS)
    assert widest(result.out) <= 80


def test_the_version_is_printed(home: Path) -> None:
    result = run("--version", home=home)
    assert (result.status, result.out.split()[0]) == (0, "memory-server")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chekc"], "Did you mean check?"),
        (["check", "--nonsense"], "--nonsense"),
        (["search"], "WORD"),
        (["export", "--format", "pdf"], "pdf"),
        (["backup", "--keep", "0"], "--keep"),
        (["show"], "NAME"),
        (["call", "no_such_tool"], "create_entities"),
        (["call", "open_nodes", "{"], "not JSON"),
        (["config", "no-such-client"], "claude-desktop"),
        (["help", "no-such-topic"], "index"),
        (["restore", "3"], "no backups"),
        (["--nonsense"], "--nonsense"),
        (["check", "--file", "a.jsonl", "--profile", "b"], "--profile"),
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_line_on_stderr_and_status_2(
    arguments: list[str], says: str, home: Path, memory: Path
) -> None:
    result = run(*arguments, home=home, env={} if "--file" in arguments else {"MEMORY_FILE_PATH": str(memory)})
    assert (result.status, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert says in result.err


@pytest.mark.parametrize("name", ["check", "search", "show", "stats", "export", "backup", "view", "repair"])
def test_a_memory_that_is_not_there_is_said_in_one_line(name: str, home: Path) -> None:
    words = ["x"] if name in ("search", "show") else []
    result = run(name, *words, "--file", "nowhere.jsonl", home=home)
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert "nowhere.jsonl" in result.err
    assert list(home.iterdir()) == []


def test_the_file_is_taken_before_and_after_the_command(home: Path, memory: Path) -> None:
    before = run("--file", memory, "stats", "--json", home=home)
    after = run("stats", "--json", f"--file={memory}", home=home)
    assert before.json() == after.json()
    assert before.json()["entities"] == 3


def test_the_file_after_the_command_wins(home: Path, memory: Path) -> None:
    result = run("--file", "nowhere.jsonl", "stats", "--file", memory, home=home)
    assert result.status == 0


def test_a_profile_is_a_memory_of_its_own(home: Path) -> None:
    place = {"MEMORY_SERVER_HOME": str(home)}
    write(home / "memory-work.jsonl", entity("Bo"))
    assert run("show", "Bo", "--profile", "work", home=home, env=place).status == 0
    assert run("--profile", "work", "show", "Bo", home=home, env=place).status == 0
    assert run("show", "Bo", "--profile", "other", home=home, env=place).status == 2


def test_what_looks_like_an_option_can_be_searched_for(home: Path) -> None:
    path = write(home / "m.jsonl", entity("flag", observations=["--force is dangerous"]))
    assert "flag" in run("search", "--file", path, "--", "--force", home=home).out


def test_a_server_loads_no_command(home: Path, memory: Path) -> None:
    code = (
        "import sys; from memory_app.cli import main; status = main(['--file', sys.argv[1]])\n"
        "print(sorted(n for n in sys.modules if n.startswith('memory_app.commands')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(memory)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(home),
        timeout=PATIENCE,
        check=True,
    )
    assert done.stderr.decode().splitlines()[-1] == "[]"


def test_reading_the_arguments_needs_no_argparse(home: Path) -> None:
    code = (
        "import sys; from memory_app.cli import read_arguments; read_arguments(['--file', 'x'])\n"
        "sys.exit('argparse' in sys.modules or 'memory_app.commands' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(home), timeout=PATIENCE, check=False)
    assert done.returncode == 0


def test_arguments_behind_a_command_are_the_command_s() -> None:
    asked = read_arguments(["--file", "a", "search", "--file", "b", "x=y"])
    assert (asked.file, asked.command, asked.arguments) == ("a", "search", ("--file", "b", "x=y"))


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_stops_is_no_error(home: Path) -> None:
    path = write(home / "m.jsonl", *(entity(f"Entity number {n}", observations=["x" * 400]) for n in range(2000)))
    process = subprocess.Popen(
        [*command(), "export", "--file", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(PATIENCE) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(home: Path, memory: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command(), "export", "--file", str(memory)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(home),
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_quietly_with_130(home: Path) -> None:
    path = write(home / "m.jsonl", entity("Ann"))
    process = subprocess.Popen(
        [*command(), "import", "-", "--file", str(path)],  # waits for stdin, which stays open
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home) | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdin is not None
    process.stdin.write(b" " * (1 << 20))  # more than a pipe holds: it is being read by now
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, b"", b"")


_INTERRUPTING = """
import atexit, os, signal, sys
place, report = int(os.environ["INTERRUPT_AT"]), os.environ["INTERRUPT_REPORT"]
seen = {"started": False, "unready": [], "ready": 0}
def hook(event, arguments):
    if event == "exec" and arguments[0].co_filename.endswith("__main__.py"):
        seen["started"] = True
    if event != "import" or not seen["started"]:
        return
    if not seen["ready"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        seen["unready"].append(arguments[0])
        return
    seen["ready"] += 1
    if seen["ready"] == place:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
@atexit.register
def tell():
    with open(report, "w") as file:
        print(len(seen["unready"]), seen["ready"], file=file)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("words", [("undo",), ("--help",)], ids=" ".join)
def test_ctrl_c_while_modules_are_imported_ends_quietly_with_130(
    words: tuple[str, ...], home: Path, memory: Path
) -> None:
    assert run("forget", "Ann", "--file", memory, home=home).status == 0
    shim = home / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(_INTERRUPTING, "utf-8")
    report = shim / "report"

    def interrupted(place: int) -> Result:
        path = os.pathsep.join([str(shim), str(ROOT)])
        env = {"PYTHONPATH": path, "INTERRUPT_AT": str(place), "INTERRUPT_REPORT": str(report)}
        return run("--file", memory, *words, home=home, env=env)

    assert interrupted(0).status == 0
    unready, imports = map(int, report.read_text("utf-8").split())
    assert unready <= 2 and imports > 8
    for place in [*range(1, imports, imports // 6), imports]:
        done = interrupted(place)
        assert (done.status, done.out, done.err) == (130, "", ""), place


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
@pytest.mark.parametrize(
    ("env", "colours"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_colours_are_for_terminals_that_want_them(env: dict[str, str], colours: bool, home: Path, memory: Path) -> None:
    assert pty is not None
    controller, terminal = pty.openpty()
    try:
        arguments = [*command(), "search", "tea", "--file", str(memory)]
        done = subprocess.run(
            arguments, stdout=terminal, stderr=subprocess.PIPE, env=environment(home, env), timeout=PATIENCE, check=True
        )
        out = os.read(controller, 1 << 16)
    finally:
        os.close(terminal)
        os.close(controller)
    assert done.stderr == b""
    assert (b"\x1b[" in out) is colours
    assert b"\x1b" not in run("search", "tea", "--file", memory, home=home, env=env).out.encode()


@pytest.mark.parametrize("name", ["search", "show", "check", "stats"])
def test_what_a_memory_holds_cannot_command_the_terminal(name: str, home: Path) -> None:
    evil = "Ann\x1b]0;owned\x07\x1b[2J\u202egnp.exe\r\n\x9b31m"
    path = write(home / "m.jsonl", entity(evil, evil, [evil, evil]), entity(evil, evil), entity("x\x1b[1m", "\x1b[1m"))
    words = {"search": ["owned"], "show": [evil]}.get(name, [])
    out = run(name, *words, "--file", path, home=home).out
    assert "owned" in out or name == "stats"
    assert not {"\x1b", "\x07", "\u202e", "\x9b", "\r"} & set(out)


def test_output_that_the_character_set_lacks_is_escaped(home: Path, memory: Path) -> None:
    result = run("show", "Café Zürich", "--file", memory, home=home, env={"PYTHONIOENCODING": "ascii"})
    assert result.status == 0
    assert "Z\\xfcrich" in result.out


def test_json_is_utf_8_whatever_the_character_set(home: Path, memory: Path) -> None:
    result = run("show", "Café Zürich", "--json", "--file", memory, home=home, env={"PYTHONIOENCODING": "ascii"})
    assert result.json()[0]["name"] == "Café Zürich"
