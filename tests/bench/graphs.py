"""The memories that are measured: n entities and n relations, the same for the same n, as an assistant writes them.

An entity has three observations of some 60 characters; each tenth is not in ASCII. A relation leads from each entity to
one that stands near it. One word stands in one entity only: what a search with a rare hit looks for.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Final

RARE: Final = "Quetzalcoatlus"
NOWHERE: Final = "Archaeopteryx"
# Common words that stand side by side in no text: what holds all of them is an answer.
ALL_WORDS: Final = (
    "weekend library deadline notes contract",
    "coffee garden invoice Berlin customer",
    "train Lisbon database backend release",
    "meeting project reviewed moved knows",
)
# What no entity holds word for word, so that the third stage answers: first with a rare word, then with common ones.
MISSPELT: Final = "Quetzalcoatlos"
COMMON: Final = (
    "coffees gardens weekends contracts",
    "projects backends databases customers invoices libraries trains",
    "who works on coffees and gardens?",
    "the contracts with customers about deadlines",
)
# The dearest kinds: many common words, a hub of relations, many misspelt words.
DEAR: Final = (
    *COMMON,
    MISSPELT,
    "Where does entity number 77 work at weekends?",
    "prefres uzes onws wrtoe reviewd knwos movd vistis plnas abuot prject meetng relase bakend datbase customr invoce",
    "prefers uses owns wrote reviewed knows moved visits plans met about projects meetings releases qqqq",
)
_WORDS: Final = (
    "prefers",
    "uses",
    "owns",
    "wrote",
    "reviewed",
    "knows",
    "moved",
    "visits",
    "plans",
    "met",
    "the",
    "a",
    "with",
    "from",
    "about",
    "project",
    "meeting",
    "release",
    "backend",
    "database",
    "customer",
    "invoice",
    "garden",
    "coffee",
    "train",
    "Berlin",
    "Lisbon",
    "weekend",
    "deadline",
    "contract",
    "library",
    "notes",
)
_OTHERS: Final = ("Grüße", "naïve", "東京", "кофе", "Café", "größer")
_TYPES: Final = ("person", "project", "organisation", "place", "event", "preference")
_RELATIONS: Final = ("knows", "works_on", "part_of", "located_in", "depends_on")


def name(number: int) -> str:
    """The name of an entity."""
    return f"Entity number {number}"


def write_stated(path: Path, size: int) -> None:
    """Write the memory whose costs are stated for a million entities: half as many relations, two observations each.

    A million are some 190 MB.
    """
    chance = random.Random(size)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for number in range(size):
            observations = [" ".join(chance.choices(_WORDS, k=length)) for length in (4, 3)]
            if number % 10 == 0:
                observations[1] += " " + chance.choice(_OTHERS)
            if number == size * 2 // 3:
                observations[1] += " " + RARE
            entity: dict[str, object] = {"type": "entity", "name": name(number), "entityType": chance.choice(_TYPES)}
            file.write(_line(entity | {"observations": observations}))
        for number in range(0, size, 2):
            ends = {"from": name(number), "to": name((number + chance.randrange(1, 20)) % size)}
            file.write(_line({"type": "relation", **ends, "relationType": chance.choice(_RELATIONS)}))


def write(path: Path, size: int) -> None:
    """Write the memory of `size` entities and relations."""
    chance = random.Random(size)
    lines: list[dict[str, object]] = []
    for number in range(size):
        observations = [" ".join(chance.choices(_WORDS, k=9)) + f" {number}.{k}" for k in range(3)]
        if number % 10 == 0:
            observations[1] += " " + chance.choice(_OTHERS)
        if number == size * 2 // 3:
            observations[2] += " " + RARE
        entity: dict[str, object] = {"type": "entity", "name": name(number), "entityType": chance.choice(_TYPES)}
        lines.append(entity | {"observations": observations})
    for number in range(size):
        relation: dict[str, object] = {"type": "relation", "from": name(number)}
        relation["to"] = name((number + chance.randrange(1, 20)) % size)
        lines.append(relation | {"relationType": chance.choice(_RELATIONS)})
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(_line(line))


def _line(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
