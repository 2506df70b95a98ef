"""Inputs near those that people and programs send: pieces of valid ones, cut, joined, doubled, bent."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any, Final

_TOKENS: Final = (
    *(b"\n", b"\r\n", b"\r", b",", b"{", b"}", b"[", b"]", b'"', b":", b"\\", b"\\u", b"\\ud800", b"\\udc00\\ud800"),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"0.1", b"9" * 400, b"\xff", b"\xc3", b"\xed\xa0\x80"),
    *(text.encode() for text in ("\ufeff", "\u2028", "\u0085", "\xe9", "\N{SLIGHTLY SMILING FACE}")),
    *(b" ", b"\0", b"\x0b", b"\x7f", b"[[[[[[[[", b"}}}}"),
    *(b'"type":"entity"', b'"type":"relation"', b'"name":', b'"observations":', b'"from":"a",'),
)
_ODD_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1, 1.5, 10**30, "", "a", "\ud800", "é\u0301", "\u2028", [], {}, [None], {"a": {"b": []}}),
    *(["x", "x"], [{"text": "x", "date": 1}], "x" * 300, [[["x"]]]),
)


class Mutator:
    """A stream of inputs, the same for the same seed."""

    def __init__(self, seed: object, corpus: Sequence[bytes]) -> None:
        self.random = random.Random(str(seed))
        self._corpus = list(corpus)

    def next(self) -> bytes:
        """One of the corpus after a few changes, mostly small ones; now and then the change of a JSON value in it."""
        data = self.random.choice(self._corpus)
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3, 5))):
            data = self.random.choice(self._WAYS)(self, data)
        if len(self._corpus) < 400 and self.random.random() < 0.05:
            self._corpus.append(data[:4000])
        return data

    def _place(self, data: bytes) -> int:
        return self.random.randint(0, len(data))

    def _cut(self, data: bytes) -> bytes:
        start, end = sorted((self._place(data), self._place(data)))
        return data[:start] + data[end:] if self.random.random() < 0.7 else data[start:end]

    def _insert(self, data: bytes) -> bytes:
        place = self._place(data)
        return data[:place] + self.random.choice(_TOKENS) + data[place:]

    def _overwrite(self, data: bytes) -> bytes:
        place = self._place(data)
        return data[:place] + bytes([self.random.randrange(256)]) + data[place + 1 :]

    def _join(self, data: bytes) -> bytes:
        other = self.random.choice(self._corpus)
        return data[: self._place(data)] + other[self._place(other) :]

    def _double(self, data: bytes) -> bytes:
        start, end = sorted((self._place(data), self._place(data)))
        return data[:end] + data[start:end] + data[end:] if end - start < 2000 else data

    def _shuffle_lines(self, data: bytes) -> bytes:
        lines = data.split(b"\n")
        self.random.shuffle(lines)
        return b"\n".join(lines)

    def _bend_value(self, data: bytes) -> bytes:
        lines = data.split(b"\n")
        number = self.random.randrange(len(lines))
        try:
            value = json.loads(lines[number])
            lines[number] = json.dumps(self._bent(value), ensure_ascii=self.random.random() < 0.5).encode(
                "utf-8", "surrogatepass"
            )
        except (ValueError, RecursionError):
            return data
        return b"\n".join(lines)

    def _bent(self, value: Any) -> Any:
        if isinstance(value, dict) and value and self.random.random() < 0.85:
            key = self.random.choice(list(value))
            if self.random.random() < 0.2:
                return {name: item for name, item in value.items() if name != key} | {self.random.choice("xyz"): 1}
            return value | {key: self._bent(value[key])}
        if isinstance(value, list) and value and self.random.random() < 0.6:
            place = self.random.randrange(len(value))
            return [*value[:place], self._bent(value[place]), *value[place + self.random.randint(0, 1) :]]
        return self.random.choice(_ODD_VALUES)

    _WAYS: Final = (_cut, _insert, _insert, _overwrite, _join, _double, _shuffle_lines, _bend_value, _bend_value)
