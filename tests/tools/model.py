"""The rules of the nine tools once more, as naively as can be: lists and loops, written from the rules and not from the
program. A `Model` is a memory; `call` gives the whole result object of a tools/call, without what the era adds.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

Result = dict[str, Any]


class Broken(Exception):
    """A rule is broken: the text of an `isError` result."""


def fold(text: str) -> str:
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    text = text.replace("ı", "i").replace("ł", "l").replace("ø", "o").replace("æ", "ae")  # noqa: RUF001
    return "".join(char for char in text if not (0x300 <= ord(char) <= 0x36F or 0x64B <= ord(char) <= 0x652))


def relevance(entity: Result, query: str) -> int:
    whole, name = fold(query).strip(), fold(entity["name"])
    held = [word in name for word in whole.split()]
    classes = [
        name.strip() == whole,
        name.startswith(whole),
        whole in name or all(held),
        any(held),
        whole in fold(entity["entityType"]),
        True,
    ]
    return classes.index(True)


def clean(value: Any) -> Any:
    """The value with U+FFFD for each lone surrogate."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    return value


def without_near(result: Result) -> Result:
    """The result without the near names, which are a matter of judgement: hints of errors, and lists of `notFound`."""
    if result["isError"]:
        text = result["content"][0]["text"].partition(". Did you mean ")[0]
        return {**result, "content": [{"type": "text", "text": text}]}
    if "notFound" not in result["structuredContent"]:
        return result
    missing = [{"name": one["name"], "near": []} for one in result["structuredContent"]["notFound"]]
    structured = {**result["structuredContent"], "notFound": missing}
    content = [{"type": "text", "text": json.dumps(structured, ensure_ascii=False, separators=(",", ":"))}]
    return {**result, "content": content, "structuredContent": structured}


def refuse_empty_names(entities: list[Result]) -> None:
    for number, entity in enumerate(entities):
        if not entity["name"]:
            raise Broken(
                f"create_entities: entities[{number}].name must be a name, but it is empty. Nothing was done. "
                'Example of a right call: {"entities":[{"name":"Ann","entityType":"person",'
                '"observations":["Likes green tea"]}]}'
            )


class Model:
    def __init__(self) -> None:
        self.entities: list[Result] = []
        self.relations: list[Result] = []

    def call(self, tool: str, arguments: Result) -> Result:
        before = json.dumps([self.entities, self.relations])
        try:
            if tool == "create_entities":
                refuse_empty_names(arguments["entities"])
            structured, text, more = getattr(self, tool)(**clean(arguments))
        except Broken as broken:
            self.entities, self.relations = json.loads(before)
            return {"content": [{"type": "text", "text": str(broken)}], "isError": True}
        if text is None:
            text = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
        content = [{"type": "text", "text": one} for one in (text, *more)]
        return {"content": content, "structuredContent": structured, "isError": False}

    def find(self, name: str) -> Result | None:
        for entity in self.entities:
            if entity["name"] == name:
                return entity
        return None

    def must_find(self, name: str) -> Result:
        entity = self.find(name)
        if entity is None:
            raise Broken(f"Entity with name {name} not found")
        return entity

    def create_entities(self, entities: list[Result]) -> Any:
        created, skipped = [], []
        before = [entity["name"] for entity in self.entities]
        for entity in entities:
            if self.find(entity["name"]) is not None:
                skipped.append(entity["name"])
                continue
            self.entities.append({key: entity[key] for key in ("name", "entityType", "observations")})
            created.append(dict(self.entities[-1], observations=list(entity["observations"])))
        found: Result = {"entities": created}
        alike = [
            name
            for entity in created
            for name in before
            if "".join(fold(name).split()) == "".join(fold(entity["name"]).split())
        ]
        if alike:
            found["similar"] = list(dict.fromkeys(alike))
        if not skipped:
            return found, None, []
        note = f"{len(skipped)} skipped: the name exists. Use add_observations for new facts."
        return {**found, "skipped": skipped}, None, [note]

    def create_relations(self, relations: list[Result]) -> Any:
        created = []
        for relation in relations:
            self.must_find(relation["from"])
            self.must_find(relation["to"])
            relation = {key: relation[key] for key in ("from", "to", "relationType")}
            if relation not in self.relations:
                self.relations.append(relation)
                created.append(relation)
        return {"relations": created}, None, []

    def add_observations(self, observations: list[Result]) -> Any:
        results = []
        for addition in observations:
            held = self.must_find(addition["entityName"])["observations"]
            added = []
            for text in addition["contents"]:
                if text not in held:
                    held.append(text)
                    added.append(text)
            results.append({"entityName": addition["entityName"], "addedObservations": added})
        return {"results": results}, None, []

    def delete_entities(self, entityNames: list[str]) -> Any:  # noqa: N803 (the argument's name)
        there = [entity["name"] for entity in self.entities]
        missing = [name for name in entityNames if name not in there]
        self.entities = [entity for entity in self.entities if entity["name"] not in entityNames]
        self.relations = [
            relation
            for relation in self.relations
            if relation["from"] not in entityNames and relation["to"] not in entityNames
        ]
        if not missing:
            return self.deleted("Entities deleted successfully")
        hits, names = len(entityNames) - len(missing), ", ".join(dict.fromkeys(missing))
        return self.deleted(f"Deleted {hits} of {len(entityNames)} entities. Not found: {names}")

    def delete_observations(self, deletions: list[Result]) -> Any:
        before = {entity["name"]: list(entity["observations"]) for entity in self.entities}
        asked = hits = 0
        missing = []
        for deletion in deletions:
            name, texts = deletion["entityName"], deletion["observations"]
            asked += len(texts)
            entity = self.find(name)
            if entity is None:
                missing.append(name)
                continue
            hits += len([text for text in texts if text in before[name]])
            entity["observations"] = [text for text in entity["observations"] if text not in texts]
        if hits == asked and not missing:
            return self.deleted("Observations deleted successfully")
        names = ", ".join(dict.fromkeys(missing))
        return self.deleted(
            f"Deleted {hits} of {asked} observations." + (f" Entities not found: {names}" if missing else "")
        )

    def delete_relations(self, relations: list[Result]) -> Any:
        asked = [{key: relation[key] for key in ("from", "to", "relationType")} for relation in relations]
        hits = len([relation for relation in asked if relation in self.relations])
        self.relations = [relation for relation in self.relations if relation not in asked]
        if hits == len(asked):
            return self.deleted("Relations deleted successfully")
        return self.deleted(f"Deleted {hits} of {len(asked)} relations. The rest matched nothing.")

    def deleted(self, message: str) -> Any:
        return {"success": True, "message": message}, message, []

    def read_graph(self, **page: Any) -> Any:
        return self.page(self.entities, page), None, []

    def search_nodes(self, query: str, **page: Any) -> Any:
        found = self.matches(query)
        if "limit" in page and fold(query).strip():
            found = sorted(found, key=lambda entity: relevance(entity, query))
        return self.page(found, page), None, []

    def open_nodes(self, names: list[str]) -> Any:
        chosen = [entity for entity in self.entities if entity["name"] in names]
        known = [entity["name"] for entity in chosen]
        found: Result = {"entities": chosen, "relations": []}
        external = []
        for relation in self.relations:
            ends = (relation["from"] in known) + (relation["to"] in known)
            if ends == 2:
                found["relations"].append(relation)
            elif ends == 1:
                external.append(relation)
        if external:
            found["externalRelations"] = external
        missing = [name for name in dict.fromkeys(names) if name not in known]
        if missing:
            found["notFound"] = [{"name": name, "near": []} for name in missing]
        return found, None, []

    def matches(self, query: str) -> list[Result]:
        if not query.strip():
            return self.entities
        texts = [
            [fold(text) for text in (entity["name"], entity["entityType"], *entity["observations"])]
            for entity in self.entities
        ]
        whole = fold(query)
        if not whole.strip():
            return [
                entity
                for entity in self.entities
                if any(query in text for text in (entity["name"], entity["entityType"], *entity["observations"]))
            ]
        found = [e for e, held in zip(self.entities, texts, strict=True) if any(whole in text for text in held)]
        if found:
            return found
        if query.strip() == "*":
            return self.entities
        return [
            entity
            for entity, held in zip(self.entities, texts, strict=True)
            if all(any(word in text for text in held) for word in whole.split())
        ]

    def page(self, matches: list[Result], page: Result) -> Result:
        offset = page.get("offset", 0)
        following = matches[offset:]
        chosen = following[: page["limit"]] if "limit" in page else following
        names = [entity["name"] for entity in chosen]
        found: Result = {"entities": chosen, "relations": []}
        if page.get("namesOnly"):
            found = {"entities": [], "relations": [], "names": names}
        elif not page and matches is self.entities:
            found["relations"] = self.relations
        else:
            found["relations"] = [r for r in self.relations if r["from"] in names or r["to"] in names]
        if page:
            found["total"] = len(matches)
            if len(chosen) < len(following):
                found["nextOffset"] = offset + len(chosen)
        return found
