"""What only Windows has: drive letters, %NAME%, Ctrl-C, files that cannot be replaced while somebody has them open."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from tests.driver import Driver
from tests.platforms.places import Place
from tests.platforms.smoke import Scene

_ADA: Final = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}]}
_HOLD: Final = """
import sys
with open(sys.argv[1], "rb"):
    print("open", flush=True)
    sys.stdin.read()
"""  # as every program there opens a file that does not say otherwise: nobody can replace it meanwhile

_AS: Final = """
import os, subprocess, sys
while "=" in sys.argv[1]:
    name, _, value = sys.argv.pop(1).partition("=")
    os.environ[name] = value
sys.exit(subprocess.call(sys.argv[1:]))
"""  # Wine itself sets these variables for a program that the machine starts


def _store(place: Place, folder: Path, env: dict[str, str], *arguments: str) -> None:
    """Start a server, store one entity, end it."""
    with place.serve(folder, *arguments, env=env) as server:
        server.open()
        result = server.call("create_entities", _ADA)
        assert result["isError"] is False, result
        assert server.finish() == 0, server.stderr
        assert "Traceback" not in server.stderr, server.stderr


def variables_in_a_path_are_put_in(place: Place, folder: Path) -> None:
    for number, written in enumerate((r"%OURS%\one {}\memory.jsonl", r"${{ours}}/one {}/memory.jsonl")):
        env = {"MEMORY_FILE_PATH": written.format(number), "OURS": place.inside(folder / "Jürgen")}
        _store(place, folder, env)
        assert (folder / "Jürgen" / f"one {number}" / "memory.jsonl").is_file()
    name = f"{folder.name}.jsonl"
    _store(place, folder, {"MEMORY_FILE_PATH": rf"%APPDATA%\{name}"})
    found = [path for cache in place.caches for path in cache.parent.parent.glob(f"Roaming/{name}")]
    assert len(found) == 1, found
    found[0].unlink()


def drive_letters_unc_names_and_both_slashes_are_paths(place: Place, folder: Path) -> None:
    whole = place.inside(folder)
    for number, path in enumerate((whole, whole.replace("\\", "/"), "\\\\?\\" + whole)):
        file = f"{path}{'/' if '/' in path else chr(92)}{number}.jsonl"
        _store(place, folder, {"MEMORY_FILE_PATH": file})
        _store(place, folder, {}, "--file", file)
        assert (folder / f"{number}.jsonl").is_file(), file
    _store(place, folder, {}, "--file", r"below\it.jsonl")
    assert (folder / "below" / "it.jsonl").is_file()


def a_users_name_may_have_any_letters(place: Place, folder: Path) -> None:
    home = folder / "Zoë Müller"
    local = home / "AppData" / "Local"
    local.mkdir(parents=True)
    given = [f"USERPROFILE={place.inside(home)}", f"LOCALAPPDATA={place.inside(local)}", "MEMORY_FILE_PATH=~/m.jsonl"]
    python = place.inside(Path(place.command[-1]))
    theirs = place._replace(command=(*place.command, "-c", _AS, *given, python))
    _store(theirs, folder, {})
    assert (home / "m.jsonl").is_file()
    assert (local / "memory-server").is_dir(), "unpacked elsewhere"


def ctrl_c_ends_it_well(place: Place, folder: Path) -> None:
    helper = place.inside(Path(__file__).with_name("console.py"))
    server = (place.command[-1], place.archive)
    file = ("--file", place.inside(folder / "memory.jsonl"))
    done = subprocess.run(
        [*place.command, helper, *(place.inside(Path(path)) for path in server), *file],
        env=dict(place.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=place.patience,
        check=False,
    )
    assert done.stdout.strip() == "0", (done.stdout, done.stderr)


def a_file_that_another_program_keeps_open_is_refused_and_later_written(place: Place, folder: Path) -> None:
    _store(place, folder, {"MEMORY_FILE_PATH": place.inside(folder / "memory.jsonl")})
    command = [*place.command, "-c", _HOLD, place.inside(folder / "memory.jsonl")]
    pipe = subprocess.PIPE
    holding = subprocess.Popen(command, env=dict(place.environ), stdin=pipe, stdout=pipe, stderr=pipe)
    with place.serve(folder) as server, holding as reader:
        assert reader.stdin is not None and reader.stdout is not None
        try:
            server.open()
            assert reader.stdout.readline().strip() == b"open"
            _refused_then_done(server, reader)
        finally:
            reader.kill()


def _refused_then_done(server: Driver, reader: subprocess.Popen[bytes]) -> None:
    more = {"entities": [{"name": "Bob", "entityType": "person", "observations": []}]}
    refused = server.call("create_entities", more)
    assert refused["isError"] is True and "nothing was changed" in refused["content"][0]["text"], refused
    assert reader.stdin is not None
    reader.stdin.close()
    reader.wait(60)
    assert server.call("create_entities", more)["isError"] is False


ALL: Final[tuple[Scene, ...]] = (
    variables_in_a_path_are_put_in,
    drive_letters_unc_names_and_both_slashes_are_paths,
    a_users_name_may_have_any_letters,
    ctrl_c_ends_it_well,
    a_file_that_another_program_keeps_open_is_refused_and_later_written,
)
