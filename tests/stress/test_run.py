"""How the long proofs are run: parts by name, one line of figures each, a status that tells a loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress import run
from tests.stress.figures import Figures

GUIDE = Path(run.__file__).resolve().parents[2] / "memory_app" / "guide" / "reliability.md"


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
    text = GUIDE.read_text("utf-8")
    listed = text[text.index("the parts are ") : text.index("## Where the promises end")]
    assert all(name in listed for name in run.PARTS)
