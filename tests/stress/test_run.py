"""How the long proofs are run: parts by name, one line of figures each, a status that tells a loss."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory_app import __version__
from tests.stress import checkers, printed, run
from tests.stress.figures import Figures
from tests.stress.servers import ROOT


def _part(name: str, *losses: str, broken: bool = False) -> Figures:
    if broken:
        raise RuntimeError("it broke")
    figures = Figures(name)
    figures.count("tries", 1234)
    for loss in losses:
        figures.lost(loss)
    return figures


def test_each_part_prints_one_line_and_no_loss_is_status_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "PARTS", {"one": lambda seed: _part("one"), "two": lambda seed: _part(f"two {seed}")})
    assert run.main(["--seed", "7"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "seed 7",
        "one: 1,234 tries; losses: 0 (0 s)",
        "two 7: 1,234 tries; losses: 0 (0 s)",
    ]


@pytest.mark.parametrize("broken", [False, True], ids=["lost", "broken off"])
def test_a_loss_is_status_1_and_tells_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: bool
) -> None:
    parts = {"good": lambda seed: _part("good"), "bad": lambda seed: _part("bad", "x is missing", broken=broken)}
    monkeypatch.setattr(run, "PARTS", parts)
    assert run.main(["--seed", "7"]) == 1
    said = capsys.readouterr().out
    assert "losses: 1" in said and ("it broke" if broken else "lost: x is missing") in said
    assert said.splitlines()[-1] == "to see it again: python -m tests.stress.run --seed 7 bad"


def test_a_part_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(["nothing"])
    assert ended.value.code == 2
    assert "there is no part nothing" in capsys.readouterr().err


def test_the_guide_names_every_part() -> None:
    text = printed.GUIDE.read_text("utf-8")
    listed = text[text.index("the parts are ") : text.index("## Where the promises end")]
    assert all(name in listed for name in run.PARTS)


def _page(folder: Path, *lines: str, version: str = "") -> Path:
    page = folder / "page.md"
    page.write_text("before\n<!-- stress:begin -->\n<!-- stress:end -->\nafter\n")
    if lines:
        printed.write(lines, is_whole=True, page=page)
    if version:
        page.write_text(page.read_text().replace(__version__, version))
    return page


def test_lines_of_some_parts_stand_in_the_guide_in_place_of_their_older_ones(tmp_path: Path) -> None:
    page = _page(tmp_path, "one: 1 try", "two: 2 tries")
    printed.write(["two: 3 tries", "new: 4 tries"], is_whole=False, page=page)
    assert printed.there(page.read_text()) == ["one: 1 try", "two: 3 tries", "new: 4 tries"]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("after\n")


def test_no_line_of_another_version_or_of_a_part_that_is_gone_stays_in_the_guide(tmp_path: Path) -> None:
    page = _page(tmp_path, "one: 1 try", "two: 2 tries", version="0.9.9")
    printed.write(["two: 3 tries"], is_whole=False, page=page)
    assert printed.there(page.read_text()) == ["two: 3 tries"]
    printed.write(["one: 5 tries"], is_whole=True, page=page)
    assert printed.there(page.read_text()) == ["one: 5 tries"]


@pytest.mark.parametrize("losses", [(), ("x is missing",)], ids=["nothing lost", "lost"])
def test_lines_go_into_the_guide_only_if_nothing_was_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, losses: tuple[str, ...]
) -> None:
    page = _page(tmp_path, "one: 1 try")
    monkeypatch.setattr(run, "PARTS", {"one": lambda seed: _part("one", *losses)})
    monkeypatch.setattr(printed, "GUIDE", page)
    run.main(["--write", "one"])
    assert printed.there(page.read_text()) == ["one: 1 try" if losses else "one: 1,234 tries; losses: 0 (0 s)"]


def test_a_part_that_hangs_ends_the_run_with_the_stacks_of_its_threads() -> None:
    code = """
import time
from tests.stress import run
run._LONGEST = 0.2
run.PARTS = {"stuck": lambda seed: time.sleep(60)}
run.main([])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 1 and "Timeout" in done.stderr and "run.py" in done.stderr


def test_a_checker_that_cannot_run_here_is_told_and_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot() -> list[str]:
        raise checkers.CannotRun("there is none")

    monkeypatch.setattr(checkers, "CHECKS", (cannot, lambda: ["a loss"]))
    figures = checkers.run()
    assert figures.line() == "checkers: 1 broken programs, 1 of them caught; not cannot: there is none; losses: 0"


def test_a_checker_that_catches_nothing_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind() -> list[str]:
        return []

    monkeypatch.setattr(checkers, "CHECKS", (blind,))
    assert checkers.run().losses == ["nothing caught blind"]
