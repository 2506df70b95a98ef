"""Memories to look at: small and telling, hostile, and of any size."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

COMMITTEE: Final = "The steering committee for the consolidation of regional customer data platforms"
KINDS: Final = (
    *("person", "project", "company", "document", "decision", "event", "place"),
    *("system", "topic", "task", "meeting", "note", "tool", "book"),
)


def graph(entities: list[tuple[str, str, list[str]]], relations: list[tuple[str, str, str]]) -> str:
    """The JSON text of a graph: entities as (name, type, observations), relations as (from, type, to)."""
    data: dict[str, Any] = {
        "entities": [{"name": name, "entityType": kind, "observations": texts} for name, kind, texts in entities],
        "relations": [{"from": start, "to": end, "relationType": kind} for start, kind, end in relations],
    }
    return json.dumps(data, ensure_ascii=False)


def example() -> str:
    """A memory as somebody could have it: several scripts, a long name, a name that no entity has."""
    entities = [
        ("Ada Keller", "person", ["Leads the platform team", "Prefers written updates", "Speaks German and English"]),
        ("Tomás Ferreira", "person", ["Works from Porto", "Likes Café com leite"]),
        ("Mei Lin", "person", ["Data scientist", "On leave until March"]),
        ("北川さくら", "person", ["東京オフィスで働いている", "連絡は午前中がよい"]),
        ("مريم حداد", "person", ["تعمل في قسم التصميم", "تفضل المراسلة"]),
        ("דניאל לוי", "person", ["מפתח ראשי"]),
        ("Harbour", "project", ["Moves billing", "Deadline is the end of the second quarter"]),
        ("Lantern", "project", ["Internal search", "Started as a hackathon idea"]),
        ("Northwind GmbH", "company", ["Customer since 2019", "Contract is renewed each July"]),
        ("Billing service", "system", ["Written in Go", "Two incidents in May"]),
        ("Search index", "system", ["Rebuilt each night"]),
        ("PostgreSQL 16", "technology", ["Chosen for row-level security"]),
        ("Lisbon offsite", "event", ["Three days in October"]),
        (COMMITTEE, "group", ["Meets on the first Monday of each month"]),
        ("Decision: keep one ledger", "decision", ["To be looked at again in a year"]),
        ("Winter reading list", "note", []),
    ]  # fmt: skip
    relations = [
        ("Ada Keller", "leads", "Harbour"),
        ("Ada Keller", "mentors", "Mei Lin"),
        ("Mei Lin", "learns from", "Ada Keller"),
        ("Ada Keller", "sits on", COMMITTEE),
        ("Tomás Ferreira", "works on", "Harbour"),
        ("Tomás Ferreira", "maintains", "Billing service"),
        ("Mei Lin", "works on", "Lantern"),
        ("北川さくら", "works on", "Lantern"),
        ("北川さくら", "一緒に働く", "Mei Lin"),
        ("مريم حداد", "works on", "Lantern"),
        ("דניאל לוי", "maintains", "Search index"),
        ("Harbour", "is for", "Northwind GmbH"),
        ("Harbour", "changes", "Billing service"),
        ("Lantern", "uses", "Search index"),
        ("Billing service", "stores data in", "PostgreSQL 16"),
        ("Search index", "stores data in", "PostgreSQL 16"),
        ("Decision: keep one ledger", "concerns", "Billing service"),
        ("Ada Keller", "made", "Decision: keep one ledger"),
        ("Ada Keller", "attends", "Lisbon offsite"),
        ("Tomás Ferreira", "organises", "Lisbon offsite"),
        ("Billing service", "calls", "Billing service"),
        ("Harbour", "replaces", "Old ledger"),
    ]
    return graph(entities, relations)


def many(size: int, seed: int = 1) -> str:
    """A memory of `size` entities with hubs, groups and loose ends, the same for each seed."""
    chance = random.Random(seed)
    names = [f"{chance.choice(KINDS).capitalize()} {number}" for number in range(size)]
    observation = "Observation {} of {}, long enough to look like a sentence"
    entities = [
        (name, name.split()[0].lower(), [observation.format(n, name) for n in range(chance.randrange(6))])
        for name in names
    ]
    relations = []
    verbs = ["knows", "works on", "belongs to", "mentions", "depends on", "follows"]
    for number in range(1, size):
        if chance.random() < 0.1:
            continue  # loose
        group = number - number % 40
        near = chance.randrange(group, number) if number > group else chance.randrange(number)
        target = near if chance.random() < 0.8 else int(number * chance.random() ** 3)
        relations.append((names[number], chance.choice(verbs), names[target]))
        if chance.random() < 0.45:
            target = group if chance.random() < 0.7 else chance.randrange(number)
            relations.append((names[number], chance.choice(verbs), names[target]))
    return graph(entities, relations)


def write(path: Path, graph: str) -> None:
    """A memory file of a graph, put in place by a rename, as another program does it."""
    data: dict[str, list[dict[str, Any]]] = json.loads(graph)
    lines = [{"type": "entity", **one} for one in data["entities"]] + [
        {"type": "relation", **one} for one in data["relations"]
    ]
    new = path.with_suffix(".new")
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def stored(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
