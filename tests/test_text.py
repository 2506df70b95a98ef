# ruff: noqa: RUF001 (letters that look alike are the matter here)
"""Folding: what search takes for the same, and what it keeps apart."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text import fold


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe", "Café"),
        ("cafe", unicodedata.normalize("NFD", "CAFÉ")),
        (unicodedata.normalize("NFD", "café"), "café"),
        ("strasse", "Straße"),
        ("istanbul", "İSTANBUL"),
        ("ISTANBUL", "ıstanbul"),
        ("istanbul", "ISTANBUL"),
        ("tea 1", "Ｔｅａ　１"),
        ("東京", "東京タワー"),
        ("カタカナ", "ｶﾀｶﾅ"),
        ("ΟΔΟΣ", "οδος"),
        ("fi", "ﬁne"),
        ("2", "x²"),
        ("angstrom", "Ångström"),
        ("ᾳ", "ᾼ"),
        ("ŉ", "ʼN"),
    ],
)
def test_these_match(query: str, text: str) -> None:
    assert fold(query) in fold(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("が", "か"),  # a Japanese voicing mark tells words apart
        ("कि", "क"),
        ("tea", "te a"),
        ("ø", "o"),
        ("л", "l"),
    ],
)
def test_these_do_not(query: str, text: str) -> None:
    assert fold(query) not in fold(text)


def test_folding_is_the_stated_sequence() -> None:
    assert fold("\u0345") == fold("ι")
    assert fold("\u0301") == ""
    assert fold("ẞ") == "ss"
    assert fold("Ａ\u0300") == "a"


@given(st.lists(st.text(st.characters() | st.sampled_from("ıİßéΣ\u0301\u0345\u3099が\0"), max_size=5), max_size=4))
def test_folding_pieces_joined_by_a_nul_folds_each(pieces: list[str]) -> None:
    assert fold("\0".join(pieces)) == "\0".join(map(fold, pieces))


@given(st.text(max_size=6))
def test_folding_again_changes_nothing_and_normal_forms_are_one(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text)) == folded


@given(st.text(st.one_of(st.characters(categories=["Mn", "Mc", "Me"]), st.characters(codec="utf-8")), max_size=12))
def test_marks_that_go_first_make_no_difference_to_the_stated_sequence(text: str) -> None:
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    stated = "".join(letter for letter in decomposed if not "\u0300" <= letter <= "\u036f")
    assert fold(text) == stated.replace("ı", "i")


def test_a_long_run_of_marks_is_gone_before_it_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting one takes the square of its length."""
    seen: list[int] = []
    normalize = unicodedata.normalize

    def counted(form: Literal["NFKD"], text: str) -> str:
        seen.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    assert fold("a" + "\u0301\u0316" * 30_000) == "a" and max(seen) == 1
