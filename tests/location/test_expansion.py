"""What a written path becomes on each platform; the Windows rules are tried wherever the tests run."""

from __future__ import annotations

import os

import pytest

from memory_app.errors import UsageError
from memory_app.location.expansion import data_folder, expanded, file_path, home_folder
from memory_app.text import shown

pwd = pytest.importorskip("pwd", reason="the list of users is Unix's")

UNIX = {"HOME": "/home/ann", "NAME": "va lue", "NESTED": "${NAME}", "TILDE": "~", "EMPTY": " "}
WINDOWS = {
    "USERPROFILE": r"C:\Users\Änn",
    "APPDATA": r"C:\Users\Änn\AppData\Roaming",
    "NESTED": "%APPDATA%",
    "ProgramFiles(x86)": r"C:\Program Files (x86)",
}


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("~/mem.jsonl", "/home/ann/mem.jsonl"),
        ("~", "/home/ann/"),
        ("~/", "/home/ann/"),
        ("~mem.jsonl", "~mem.jsonl"),
        ("a/~/b", "a/~/b"),
        ("${HOME}/mem.jsonl", "/home/ann/mem.jsonl"),
        ("/x/${NAME}/${NAME}.jsonl", "/x/va lue/va lue.jsonl"),
        ("~/${NAME}", "/home/ann/va lue"),
        ("/x/${NESTED}", "/x/${NAME}"),
        ("${TILDE}/x", "~/x"),
        ("$HOME/mem.jsonl", "/home/ann/mem.jsonl"),
        ("/x/$NAME.jsonl", "/x/va lue.jsonl"),
        ("/x/$1/%HOME%/$/$", "/x/$1/%HOME%/$/$"),
        ("${NOPE:-/d}/m", "/d/m"),
        ("${EMPTY:-/d}/m", "/d/m"),
        ("${HOME:-/d}/m", "/home/ann/m"),
        ("${NOPE:-$HOME/x}/m", "/home/ann/x/m"),
        ("${NOPE:-${ALSO:-~/x}}/m", "/home/ann/x/m"),
        ("${NOPE:-}m", "m"),
        ("/y${NOPE:-~/x}", "/y~/x"),
        (" /x/m.jsonl\r\n", "/x/m.jsonl"),
        ("'/x/m.jsonl'", "/x/m.jsonl"),
        ('"~/m.jsonl" ', "/home/ann/m.jsonl"),
        ("''/x''", "'/x'"),
        ("file:///x/m.jsonl", "/x/m.jsonl"),
        ("FILE://localhost/x/a%20b%C3%A9", "/x/a bé"),
        ("file:/x/m.jsonl", "/x/m.jsonl"),
        ("file://~/m.jsonl", "/home/ann/m.jsonl"),
        ("file://${HOME}/m.jsonl", "/home/ann/m.jsonl"),
        ("file://./m.jsonl", "./m.jsonl"),
        ("c:/m.jsonl", "c:/m.jsonl"),
        ("/x/${HOME", "/x/${HOME"),
        ("/x/\udcff\udcfe", "/x/\udcff\udcfe"),
        ('"quoted"', "quoted"),
        ('"half', '"half'),
    ],
)
def test_a_path_is_expanded_once_on_unix(written: str, path: str) -> None:
    assert expanded(written, "--file", UNIX, "linux") == path
    assert expanded(written, "--file", UNIX, "darwin") == path


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (r"%APPDATA%\mem.jsonl", r"C:\Users\Änn\AppData\Roaming\mem.jsonl"),
        (r"%appdata%\mem.jsonl", r"C:\Users\Änn\AppData\Roaming\mem.jsonl"),
        (r"%ProgramFiles(x86)%\m", r"C:\Program Files (x86)\m"),
        (r"${APPDATA}/mem.jsonl", r"C:\Users\Änn\AppData\Roaming/mem.jsonl"),
        (r"%NESTED%\m", r"%APPDATA%\m"),
        (r"~\mem.jsonl", r"C:\Users\Änn\mem.jsonl"),
        ("~/mem.jsonl", r"C:\Users\Änn/mem.jsonl"),
        ("~", "C:\\Users\\Änn/"),
        (r"C:\100%\50% x.jsonl", None),
        (r"C:\100%.jsonl", r"C:\100%.jsonl"),
        (r"C:\100%%.jsonl", r"C:\100%%.jsonl"),
        ('"C:\\a b\\m.jsonl"', r"C:\a b\m.jsonl"),
        ("$APPDATA/m", r"C:\Users\Änn\AppData\Roaming/m"),
        ("file:///C:/a%20b/m.jsonl", "C:/a b/m.jsonl"),
        ("file://host/share/m.jsonl", "//host/share/m.jsonl"),
        ("file://%APPDATA%/m.jsonl", r"C:\Users\Änn\AppData\Roaming/m.jsonl"),
        ("\\\\host\\C$\\m", "\\\\host\\C$\\m"),
    ],
)
def test_a_path_is_expanded_once_on_windows(written: str, path: str | None) -> None:
    if path is None:
        with pytest.raises(UsageError):
            expanded(written, "--file", WINDOWS, "win32")
    else:
        assert expanded(written, "--file", WINDOWS, "win32") == path


@pytest.mark.parametrize(
    ("written", "platform", "part"),
    [
        ("${NOPE}/m.jsonl", "linux", "MEMORY_FILE_PATH holds ${NOPE}, but NOPE is not set."),
        ("${EMPTY}/m.jsonl", "linux", "EMPTY is not set"),
        ("${}/m.jsonl", "linux", "a variable without a name is not set"),
        ("${a\nb}", "linux", "${a?b}, but a?b is not set"),
        (r"%NOPE%\m.jsonl", "win32", "MEMORY_FILE_PATH holds %NOPE%, but NOPE is not set."),
        ("${workspaceFolder}/m.jsonl", "linux", "${workspaceFolder}, which only the client could have filled in"),
        ("${workspaceFolder}/m.jsonl", "win32", "${workspaceFolder}, which only the client could have filled in"),
        ("${workspaceFolder:api}", "linux", "which only the client could have filled in"),
        ("${env:HOME}/m.jsonl", "linux", "which only the client could have filled in"),
        ("${userHome}/m.jsonl", "linux", "which only the client could have filled in"),
        ("${user_config.file}", "darwin", "which only the client could have filled in"),
        ("~nobody-by-this-name/m", "linux", "the home folder of nobody-by-this-name"),
        (r"~ann\m", "win32", "the home folder of ann"),
        (r"~root\m", "win32", "the home folder of root"),
        ("a\0b", "linux", "NUL"),
        ("file:///a%00b", "linux", "NUL"),
        ("$NOPE/m.jsonl", "linux", "MEMORY_FILE_PATH holds $NOPE, but NOPE is not set."),
        ("${NOPE:-$ALSO}/m.jsonl", "linux", "holds $ALSO, but ALSO is not set"),
        ("%APPDATA%\\m.jsonl", "linux", "%APPDATA%, which is a variable on Windows alone"),
        ("$(pwd)/m.jsonl", "linux", "only a shell could have run"),
        ("${input:memory_file}", "linux", "which only the client could have filled in"),
        ("https://example.org/m.jsonl", "linux", "MEMORY_FILE_PATH is a URL"),
        ("vscode-remote://ssh/m.jsonl", "win32", "MEMORY_FILE_PATH is a URL"),
        ("file://server/m.jsonl", "linux", "of the computer server"),
        ("''", "linux", "is empty"),
        ("/x/\ud800", "linux", "characters that this system cannot have"),
    ],
)
def test_what_cannot_be_expanded_is_one_line_that_names_it(written: str, platform: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        expanded(written, "MEMORY_FILE_PATH", UNIX, platform)
    text = str(caught.value)
    assert text.startswith("MEMORY_FILE_PATH")
    assert part in text
    assert text.isprintable()


def test_a_client_variable_that_the_environment_has_is_expanded() -> None:
    assert expanded("${workspaceFolder}/m", "--file", {"workspaceFolder": "/w"}, "linux") == "/w/m"


def test_another_users_home_is_taken_from_the_list_of_users() -> None:
    user = pwd.getpwuid(0)
    assert expanded(f"~{user.pw_name}/m", "--file", {}, "linux") == f"{user.pw_dir}/m"


def test_a_home_folder_that_is_the_root_gives_no_double_slash() -> None:
    assert expanded("~/m.jsonl", "--file", {"HOME": "/"}, "linux") == "/m.jsonl"


def test_without_home_the_list_of_users_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert home_folder({"HOME": ""}, "linux") == pwd.getpwuid(os.getuid()).pw_dir

    def nobody(number: int) -> object:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert home_folder({}, "linux") is None
    assert data_folder({}, "linux") is None


@pytest.mark.parametrize(
    ("path", "base", "file"),
    [
        ("m.jsonl", "/srv", "/srv/m.jsonl"),
        ("./a/../m.jsonl", "/srv", "/srv/m.jsonl"),
        ("../m.jsonl", "/srv/app", "/srv/m.jsonl"),
        ("/abs/../m.jsonl", "/srv", "/abs/../m.jsonl"),
        ("/abs/", "/srv", "/abs/memory.jsonl"),
        ("mem/", "/srv", "/srv/mem/memory.jsonl"),
        ("a\\", "/srv", "/srv/a\\"),
        ("C:\\x", "/srv", "/srv/C:\\x"),
    ],
)
def test_a_relative_path_joins_its_base_on_unix(path: str, base: str, file: str) -> None:
    assert file_path(path, base, "linux") == file


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("m.jsonl", r"C:\srv\m.jsonl"),
        (r"sub\m.jsonl", r"C:\srv\sub\m.jsonl"),
        ("sub/../m.jsonl", r"C:\srv\m.jsonl"),
        ("D:/data/m.jsonl", r"D:\data\m.jsonl"),
        (r"D:\data\m.jsonl", r"D:\data\m.jsonl"),
        (r"\data\m.jsonl", r"C:\data\m.jsonl"),
        ("/data/m.jsonl", r"C:\data\m.jsonl"),
        (r"\\host\share\m.jsonl", r"\\host\share\m.jsonl"),
        ("//host/share/m.jsonl", r"\\host\share\m.jsonl"),
        (r"\\?\C:\very\long.jsonl", r"\\?\C:\very\long.jsonl"),
        ("D:\\data\\", r"D:\data\memory.jsonl"),
        ("D:/data/", r"D:\data\memory.jsonl"),
        ("D:\\", r"D:\memory.jsonl"),
        (r"D:\Üser name\記憶.jsonl", r"D:\Üser name\記憶.jsonl"),
    ],
)
def test_a_path_on_windows_takes_drives_shares_and_both_slashes(path: str, file: str) -> None:
    assert file_path(path, r"C:\srv", "win32") == file


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {"HOME": "/home/ann"}, "/home/ann/.local/share/memory-server"),
        ("linux", {"HOME": "/home/ann", "XDG_DATA_HOME": "/data"}, "/data/memory-server"),
        ("linux", {"HOME": "/home/ann", "XDG_DATA_HOME": "data"}, "/home/ann/.local/share/memory-server"),
        ("freebsd14", {"HOME": "/home/ann", "XDG_DATA_HOME": ""}, "/home/ann/.local/share/memory-server"),
        ("darwin", {"HOME": "/U", "XDG_DATA_HOME": "/data"}, "/U/Library/Application Support/memory-server"),
        ("win32", {"LOCALAPPDATA": r"C:\U\L", "USERPROFILE": r"C:\U"}, r"C:\U\L\memory-server"),
        ("win32", {"localappdata": r"C:\U\L"}, r"C:\U\L\memory-server"),
        ("win32", {"USERPROFILE": r"C:\U"}, r"C:\U\AppData\Local\memory-server"),
        ("win32", {"HOMEDRIVE": "C:", "HOMEPATH": r"\U"}, r"C:\U\AppData\Local\memory-server"),
        ("win32", {"HOMEDRIVE": "C:"}, None),
        ("win32", {}, None),
    ],
)
def test_the_data_folder_is_the_one_of_the_platform(platform: str, environ: dict[str, str], folder: str | None) -> None:
    assert data_folder(environ, platform) == folder


def test_a_path_is_shown_in_one_line_whatever_it_holds() -> None:
    assert shown("/a b/記憶\u3000é/\udcff\n\x1b[0m\u202e") == "/a b/記憶\u3000é/???[0m?"
