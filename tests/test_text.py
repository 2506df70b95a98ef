# ruff: noqa: RUF001 (letters that look alike are the matter here)
"""Folding: what search takes for the same, and what it keeps apart."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app import text as fold_module
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
        ("lodz", "ŁÓDŹ"),
        ("Đặng", "dang"),
        ("orsted", "Ørsted"),
        ("aeon", "ÆON"),
        ("oeuvre", "Œuvre"),
        ("thor", "Þór"),
        ("hal", "Ħal"),
        ("ŧ", "T"),
        ("eda", "Əda"),
        ("محمد", "مُحَمَّد"),
        ("مرحبا", "مـــرحبا"),
        ("احمد", "أحمد"),
        ("שלום", "שָׁלוֹם"),
        ("שלום", "\ufb2a\u05dc\ufb4b\u05dd"),  # letters that hold their marks
    ],
)
def test_these_match(query: str, text: str) -> None:
    assert fold(query) in fold(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("が", "か"),  # a Japanese voicing mark tells words apart
        ("कि", "क"),
        ("கா", "க"),
        ("tea", "te a"),
        ("กา", "กำ"),
        ("سلم", "سلام"),
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


def test_every_letter_of_the_table_is_reached_and_becomes_plain_letters() -> None:
    for letter, base in fold_module._LETTERS.items():
        assert fold(letter) == fold(letter.upper()) == base
        assert base.isascii() and base.isalpha()


@given(st.lists(st.text(st.characters() | st.sampled_from("ıİßéΣ\u0301\u0345\u3099が\0"), max_size=5), max_size=4))
def test_folding_pieces_joined_by_a_nul_folds_each(pieces: list[str]) -> None:
    assert fold("\0".join(pieces)) == "\0".join(map(fold, pieces))


@given(st.text(max_size=6))
def test_folding_again_changes_nothing_and_normal_forms_are_one(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text)) == folded


def stated(text: str) -> str:
    """The sequence in one piece, mark by mark and letter by letter."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join("" if _is_dropped(letter) else BASES.get(letter, letter) for letter in decomposed)


def _is_dropped(letter: str) -> bool:
    if "\u0300" <= letter <= "\u036f" or letter == "\u0640":
        return True
    arabic_or_hebrew = "\u0591" <= letter <= "\u06ff" or "\u08d3" <= letter <= "\u08ff"
    return arabic_or_hebrew and unicodedata.category(letter) == "Mn"


BASES = {
    "ı": "i",
    "đ": "d",
    "ð": "d",
    "ħ": "h",
    "ł": "l",
    "ŋ": "n",
    "ø": "o",
    "ŧ": "t",
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
}
anything = st.characters(codec="utf-8").filter(lambda letter: fold_module._LETTERS.keys().isdisjoint(stated(letter)))
marks = st.characters(categories=["Mn", "Mc", "Me"]) | st.sampled_from("\u0344\u0345\u034f\u0f71\u0f72\u0f73\u0f81")


@given(st.text(marks | anything | st.sampled_from(sorted(BASES)), max_size=12))
def test_folding_agrees_with_the_stated_sequence(text: str) -> None:
    assert fold(text) == stated(text)


@given(st.integers(200, 600), st.text("aé漢\u0915ŁＡ ", min_size=1), st.text(marks, max_size=12), st.integers(1, 40))
def test_where_a_long_text_is_cut_makes_no_difference(before: int, text: str, run: str, times: int) -> None:
    long = "é" * (before % 300) + (text + run) * times
    assert fold(long) == stated(long)


@pytest.mark.parametrize(
    "run",
    [
        "\u064b\u0650",
        "\u05b0\u0591",
        "\u0f71\u0f72",
        "\u0f73",
        "\u1ab0\u1ab5",
        "\u20d0\u20d3",
        "\U0001d165\U0001d16d",
        "\u0301\u0316",
    ],
    ids=["Arabic", "Hebrew", "Tibetan", "Tibetan pair", "extended", "symbols", "musical", "Latin"],
)
def test_a_long_run_of_marks_is_normalized_in_pieces(monkeypatch: pytest.MonkeyPatch, run: str) -> None:
    """Sorting one takes the square of its length."""
    seen: list[int] = []
    normalize = unicodedata.normalize

    def counted(form: Literal["NFKD"], text: str) -> str:
        seen.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    assert fold("a" + run * 3000).startswith("a") and max(seen) <= 512
