"""What the benchmark tells: a miss is called one, ratios are of one round, the README's region alone is rewritten."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.bench import graphs
from tests.bench.plot import Panel, draw
from tests.bench.report import Row, marked, table
from tests.bench.servers import used_profiles


@pytest.mark.parametrize(("target", "met"), [(0.5, True), (0.4, False), (None, None)])
def test_a_target_is_met_by_the_median_of_the_rounds_own_ratios(target: float | None, met: bool | None) -> None:
    row = Row("work", 10, ours=[1.0, 9.0, 1.0], others=[2.0, 9.0, 4.0], target=target)
    assert row.ratio == 0.5
    assert row.met is met


def test_a_table_shows_medians_the_spread_and_what_is_missed() -> None:
    row = Row("a write", 1000, ours=[0.003, 0.001, 0.002], others=[0.001, 0.002, 0.002], target=0.8)
    [_, _, line] = table([row], "npm").splitlines()
    assert line == "| a write | 1,000 | 2 ms | 2 ms | 1 | 0.50 to 3 | ≤ 0.8 | **no** |"


def test_only_the_marked_region_is_replaced() -> None:
    text = "a\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nz\n"
    assert marked(text, "bench", "new\n") == "a\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\nz\n"
    assert marked("nothing here", "bench", "new\n") == "nothing here"


def test_the_plot_is_an_image_with_every_panel() -> None:
    drawn = draw([Panel(f"<{number}>", {"npm": [(10, 0.001), (1000, 0.1)]}) for number in range(3)], ["a & b"])
    texts = [element.text for element in ElementTree.fromstring(drawn).iter()]
    assert {"<0>", "<1>", "<2>"} <= set(texts)


def test_a_memory_is_the_same_every_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    one, other = (tmp_path_factory.mktemp("graph") / "memory.jsonl" for _ in range(2))
    for path in (one, other):
        graphs.write(path, 30)
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes().count(b"\n") == 60
    assert one.read_text("utf-8").count(graphs.RARE) == 1


@pytest.mark.parametrize(
    ("facts", "used"),
    [
        pytest.param(("--enable-optimizations", "-fprofile-generate", "-fprofile-use"), True, id="asked for"),
        pytest.param(("--enable-shared", "-fprofile-generate", "-fprofile-use"), False, id="not asked for"),
        pytest.param(("--enable-shared", "-fprofile-generate", ""), True, id="Debian's"),
        pytest.param((None, None, None), False, id="not known, as on Windows"),
    ],
)
def test_an_interpreter_is_called_optimised_if_a_profile_was_used(
    facts: tuple[str | None, str | None, str | None], used: bool
) -> None:
    assert used_profiles(*facts) is used
