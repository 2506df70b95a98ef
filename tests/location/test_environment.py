"""The variables that choose the memory file, and names that were probably meant to be one of them."""

from __future__ import annotations

import pytest

from memory_app.location import environment


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("MEMORY_FILE", "MEMORY_FILE_PATH"),
        ("MEMORY_PATH", "MEMORY_FILE_PATH"),
        ("MEMORYFILE_PATH", "MEMORY_FILE_PATH"),
        ("MEMORY_FILEPATH", "MEMORY_FILE_PATH"),
        ("MEMORY_FILES_PATH", "MEMORY_FILE_PATH"),
        ("MEMORY_FILE_NAME", "MEMORY_FILE_PATH"),
        ("MEMROY_FILE_PATH", "MEMORY_FILE_PATH"),
        ("MEM_FILE_PATH", "MEMORY_FILE_PATH"),
        ("MEMORY-FILE-PATH", "MEMORY_FILE_PATH"),
        ("memory_file_path", "MEMORY_FILE_PATH"),
        ("MCP_MEMORY_FILE_PATH", "MEMORY_FILE_PATH"),
        ("MEMORY_JSONL_PATH", "MEMORY_FILE_PATH"),
        ("MEMORY_PROFIL", "MEMORY_PROFILE"),
        ("MEMORY_SERVERHOME", "MEMORY_SERVER_HOME"),
    ],
)
def test_a_misspelt_variable_is_found_with_the_one_that_was_meant(name: str, meant: str) -> None:
    assert environment.misspelt({"PATH": "/bin", name: "x"}, "linux") == ((name, meant),)
    assert environment.misspelt({name: " "}, "linux") == ()


@pytest.mark.parametrize(
    "name",
    [
        *environment.SET_BY_PEOPLE,
        environment.ARCHIVE,
        "MEMORY_SERVER_PORT",
        "MEMORY_SERVER_CACHE",
        "MEMORY_LIMIT",
        "MEMORY_PRESSURE_WATCH",
        "NODE_MEMORY",
        "MANPATH",
        "MYFILEPATH",
        "M" * 100_000,
        "",
    ],
    ids=lambda name: name[:30],
)
def test_a_variable_that_is_ours_or_of_another_program_is_not_taken_for_a_misspelling(name: str) -> None:
    assert environment.misspelt({name: "x"}, "linux") == ()


def test_names_ignore_case_on_windows_only() -> None:
    environ = {"Memory_File_Path": "x"}
    assert environment.value_of("MEMORY_FILE_PATH", environ, "win32") == "x"
    assert environment.value_of("MEMORY_FILE_PATH", environ, "linux") is None
    assert environment.misspelt(environ, "win32") == ()


@pytest.mark.parametrize("value", ["", " ", "\t\n"], ids=ascii)
def test_an_empty_value_counts_as_not_set(value: str) -> None:
    assert environment.value_of("MEMORY_PROFILE", {"MEMORY_PROFILE": value}, "linux") is None
