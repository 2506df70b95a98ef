"""The reference of the tools: made from the program, complete, and made anew when that changes."""

from __future__ import annotations

import re

import pytest

from build import tools_page
from memory_app.tools import table


def test_the_page_is_what_the_program_says_today() -> None:
    assert tools_page.PAGE.read_text("utf-8") == tools_page.page(), "make tools-page writes it anew"


@pytest.mark.parametrize("name", table.TOOLS)
def test_each_tool_has_its_input_its_result_its_rules_an_error_and_an_example(name: str) -> None:
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", tools_page.page(), re.MULTILINE | re.DOTALL)
    assert section is not None
    for part in ("Input:", "Result:", "\n- ", "Example, and its result:", "is answered with the error:"):
        assert part in section[1]
    schema = table.TOOLS[name].schema
    keys = {*schema["inputSchema"]["properties"], *schema["outputSchema"]["properties"]}
    assert {key for key in keys if f"| `{key}` |" not in tools_page.page()} == set()
