"""A record of the memory file: what its JSON object says, and the bytes that say it.

Owns the record format: `{"type":"entity","name":…,"entityType":…,"observations":[…]}` and
`{"type":"relation","from":…,"to":…,"relationType":…}`, UTF-8, no spaces, keys in that order. Rules:

- What a record says is read tolerantly: forks' key names, missing keys, observations that are objects.
- A lone surrogate keeps its escape in the bytes; in every text that leaves this module it is U+FFFD.

No I/O, no clock, no thread. A line's `order` is its place in the file; lines are never changed once a graph holds them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from memory_app.text import SURROGATE, clean

_KINDS: Final = {"entity": "entity", "relation": "relation", "observation": "observation"}
quote: Final[Callable[[str], str]] = json.encoder.encode_basestring

# Keys under which forks keep the same thing; the first that is there is taken.
KIND_KEYS: Final = ("type", "_type")
NAME_KEYS: Final = ("name", "entityName", "entity_name", "label", "id")
TYPE_KEYS: Final = ("entityType", "entity_type", "kind", "category")
OBSERVATION_KEYS: Final = (
    "observations", "observation", "facts", "contents", "content", "notes", "description",
)  # fmt: skip
OWNER_KEYS: Final = ("entityName", "entity_name", "entity", "name")  # of an observation that is a record of its own
SOURCE_KEYS: Final = ("from", "source", "from_entity", "fromEntity", "from_id", "source_id", "subject", "entity1_id")
TARGET_KEYS: Final = ("to", "target", "to_entity", "toEntity", "to_id", "target_id", "object", "entity2_id")
RELATION_KEYS: Final = (
    "relationType", "relation", "relation_type", "relationship_type", "relationshipType", "predicate", "rel", "kind",
    "label",
)  # fmt: skip
# Keys that no other kind of record is likely to have: by these a record is told that does not state its type.
_OWN_TYPE_KEYS: Final = TYPE_KEYS[:2]
_OWN_RELATION_KEYS: Final = RELATION_KEYS[:6]
_LIST_KEYS: Final = ("item", "items")  # what lists become on the way through XML
_OBSERVATION_TEXT_KEYS: Final = ("text", "content", "observation", "value")

# A record that starts so and holds just our four keys is served by cutting its `"type":"entity",` out.
_ENTITY_START: Final = b'{"type":"entity","name":'
_ENTITY_CUT: Final = len(b'{"type":"entity",')
_ENTITY_KEYS: Final = ["type", "name", "entityType", "observations"]
# Deeper records are unreadable: the parser's own limit depends on how deep the caller stands; the wire takes as much.
_DEEPEST: Final = 200
_NESTED: Final = frozenset({dict, list})


class Form(Enum):
    """How an entity's record is written."""

    OURS = "in our own form, so that its bytes can be served"
    OTHER = "in another form"
    PART = "observations alone, which belong to an entity that another line defines"


class EntityLine:
    """An entity's record: one line. `also` holds the further lines of the same name, on the first of them only."""

    __slots__ = ("also", "entity_type", "form", "name", "order", "raw")

    def __init__(
        self,
        raw: bytes,
        name: str,
        entity_type: str,
        form: Form,
        order: int = -1,
        also: tuple[EntityLine, ...] = (),
    ) -> None:
        self.raw = raw
        self.name = name
        self.entity_type = entity_type
        self.form = form
        self.order = order
        self.also = also

    def placed(self, order: int, also: tuple[EntityLine, ...] = ()) -> EntityLine:
        """The same record at another place in the file."""
        if order == self.order and also is self.also:
            return self
        return EntityLine(self.raw, self.name, self.entity_type, self.form, order, also)

    def observations(self) -> list[str]:
        """All observations of the entity: those of each line in order, from later lines only what is new."""
        found = self.own_observations()
        if self.also:
            seen = set(found)
            for line in self.also:
                new = [text for text in dict.fromkeys(line.own_observations()) if text not in seen]
                found += new
                seen.update(new)
        return found

    def own_observations(self) -> list[str]:
        """The observations of this line alone."""
        if self.form is Form.OURS and b"\\" not in self.raw:
            # Quotes stand around strings only: four keys and the values.
            return self.raw.decode().split('"')[15::2]
        return _observations(json.loads(self.raw))

    def served(self) -> bytes:
        """The entity as a JSON object in UTF-8 for an answer: name, entityType, observations and no other key."""
        if self.form is Form.OURS and not self.also:
            return b"{" + self.raw[_ENTITY_CUT:]
        return _entity_json(self.name, self.entity_type, self.observations())


class RelationLine:
    """A relation's record: one line. `also` holds further lines with the same relation, on the first of them only."""

    __slots__ = ("also", "order", "raw", "relation_type", "source", "target")

    def __init__(
        self,
        raw: bytes,
        source: str,
        target: str,
        relation_type: str,
        order: int = -1,
        also: tuple[RelationLine, ...] = (),
    ) -> None:
        self.raw = raw
        self.source = source
        self.target = target
        self.relation_type = relation_type
        self.order = order
        self.also = also

    def placed(self, order: int, also: tuple[RelationLine, ...] = ()) -> RelationLine:
        """The same record at another place in the file."""
        if order == self.order and also is self.also:
            return self
        return RelationLine(self.raw, self.source, self.target, self.relation_type, order, also)

    def same_as(self, source: str, target: str, relation_type: str) -> bool:
        """Whether this is the relation with these three texts."""
        return self.target == target and self.relation_type == relation_type and self.source == source

    def served(self) -> bytes:
        """The relation as a JSON object in UTF-8 for an answer: from, to, relationType and no other key."""
        source, target, relation_type = quote(self.source), quote(self.target), quote(self.relation_type)
        return f'{{"from":{source},"to":{target},"relationType":{relation_type}}}'.encode()


Line: TypeAlias = "EntityLine | RelationLine"


def new_entity(name: str, entity_type: str, observations: Sequence[str]) -> EntityLine:
    """A new record in our form. The texts contain no lone surrogates."""
    raw = b'{"type":"entity",' + _entity_json(name, entity_type, observations)[1:]
    return EntityLine(raw, name, entity_type, Form.OURS)


def new_relation(source: str, target: str, relation_type: str) -> RelationLine:
    """A new record in our form. The texts contain no lone surrogates."""
    line = RelationLine(b"", source, target, relation_type)
    line.raw = b'{"type":"relation",' + line.served()[1:]
    return line


def encode(value: Any) -> bytes:
    """Encode any JSON value in our form: compact, non-ASCII as itself, a lone surrogate as its escape."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def strings_json(texts: Sequence[str]) -> bytes:
    """An array of texts without lone surrogates, as compact JSON."""
    return ("[" + ",".join(map(quote, texts)) + "]").encode()


def _entity_json(name: str, entity_type: str, observations: Sequence[str]) -> bytes:
    items = ",".join(map(quote, observations))
    return f'{{"name":{quote(name)},"entityType":{quote(entity_type)},"observations":[{items}]}}'.encode()


def record(value: Any, raw: bytes, kind: str | None = None) -> Line | None:
    """The record that a parsed value represents, if it is one of ours. `raw` are its bytes; `kind` overrides the kind
    that it states.

    Lone surrogates are only searched for where the bytes contain an escape.
    """
    if type(value) is not dict:
        return None
    stated = value.get("type")
    if stated is None:
        stated = value.get("_type")
    if kind is None:
        kind = _guess(value) if stated is None else _kind_of(stated, value) if isinstance(stated, str) else None
    escaped = b"\\u" in raw
    if kind == "entity":
        key = name_key(value)
        name = None if key is None else _word(value[key])
        if name is None:
            return None
        entity_type = _first(value, TYPE_KEYS)
        if entity_type is None and stated not in (None, "entity"):
            entity_type = _word(stated)  # in a document's list of entities `type` is the entity's type
        plain = _is_plain(value, raw)
        if not plain and _is_too_deep(value):
            return None
        if escaped:
            plain = plain and not SURROGATE.search(name + "".join(value["observations"]) + (entity_type or ""))
            name, entity_type = clean(name), clean(entity_type or "")
        return EntityLine(raw, name, entity_type or "", Form.OURS if plain else Form.OTHER)
    if kind == "observation":
        owner = _first(value, OWNER_KEYS)
        if owner is None or not any(key in value for key in OBSERVATION_KEYS) or _is_too_deep(value):
            return None
        return EntityLine(raw, clean(owner), "", Form.PART)
    if kind == "relation":
        source, target = _first(value, SOURCE_KEYS), _first(value, TARGET_KEYS)
        if source is None or target is None or _is_too_deep(value):
            return None
        relation_type = _first(value, RELATION_KEYS)
        if relation_type is None:
            relation_type = _word(stated) if stated not in (None, "relation") else ""
        if escaped:
            source, target, relation_type = clean(source), clean(target), clean(relation_type or "")
        return RelationLine(raw, source, target, relation_type or "")
    return None


def _kind_of(stated: str, value: dict[str, Any]) -> str | None:
    """The kind of a record, from the type that it states. Some programs put an entity's or a relation's own type
    there.
    """
    kind = _KINDS.get(stated)
    if kind is None and stated and not stated.startswith("_"):
        if type(value.get("observations")) is list and _word(value.get("name")) is not None:
            return "entity"
        if set(value) == {"type", "from", "to"}:
            return "relation"
        if stated == "relationship" and first_key(value, RELATION_KEYS) is not None:
            return "relation"
    return kind


def _guess(value: dict[str, Any]) -> str | None:
    """The kind of a record that does not state its type, from its keys."""
    if "name" in value and any(key in value for key in ("observations", *_OWN_TYPE_KEYS)):
        return "entity"
    if "from" in value and "to" in value and any(key in value for key in _OWN_RELATION_KEYS):
        return "relation"
    return None


def _is_plain(value: dict[str, Any], raw: bytes) -> bool:
    if not raw.startswith(_ENTITY_START) or list(value) != _ENTITY_KEYS or type(value["entityType"]) is not str:
        return False
    if b"\r" in raw or b"\t" in raw:  # white space here; an answer repeats it in a JSON string, which cannot hold it
        return False
    items = value["observations"]
    if type(items) is not list or type(value["name"]) is not str:
        return False
    for item in items:
        if type(item) is not str:
            return False
    return True


def _is_too_deep(value: dict[str, Any]) -> bool:
    return not _NESTED.isdisjoint(map(type, value.values())) and _depth(value) > _DEEPEST


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        held = [item.values() if type(item) is dict else item for item in level if type(item) in (dict, list)]
        level = [item for items in held for item in items]
    return depth


def _first(value: dict[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        if key in value and (word := _word(value[key])) is not None:
            return word
    return None


def first_key(value: dict[str, Any], keys: Sequence[str]) -> str | None:
    """The first of these equivalent keys under which the value holds something."""
    for key in keys:
        if key in value and _word(value[key]) is not None:
            return key
    return None


def _word(value: Any) -> str | None:
    """A name or type: a text, or the text of a number."""
    if type(value) is str:
        return value
    if type(value) in (int, float):
        return encode(value).decode()
    return None


def _observations(value: dict[str, Any]) -> list[str]:
    key = observations_key(value)
    items = None if key is None else listed(value[key])
    if type(items) is not list:
        items = [items]
    return [text for text in map(observation_text, items) if text is not None]


def observations_key(value: dict[str, Any]) -> str | None:
    """The key under which a record has its observations: ours if it exists, otherwise the first other one with any."""
    if "observations" in value:
        return "observations"
    for key in OBSERVATION_KEYS:
        held = value.get(key)
        if held and type(held) in (str, list, dict):
            return key
    return None


def name_key(value: dict[str, Any]) -> str | None:
    """The key under which an entity has its name: ours, otherwise the first other one that holds a text."""
    if _word(value.get("name")) is not None:
        return "name"
    return next((key for key in NAME_KEYS if type(value.get(key)) is str and value[key]), None)


def listed(items: Any) -> Any:
    """The list of observations, also if it is inside an object of its own."""
    if type(items) is dict and len(items) == 1:
        ((key, held),) = items.items()
        if key in _LIST_KEYS and type(held) is list:
            return held
    return items


def observation_text(item: Any) -> str | None:
    """The text of an observation: a text itself, an object's text, nothing for null, JSON for anything else."""
    if item is None:
        return None
    if type(item) is not str:
        found = _first(item, _OBSERVATION_TEXT_KEYS) if type(item) is dict else None
        item = encode(item).decode() if found is None else found
    return clean(item)
