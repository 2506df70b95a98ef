"""Spellings: the keys of each tool's arguments, and what models write in place of them.

A row says how a tool's arguments are built; a slot is one key of ours and its other spellings, written bare: small
letters and digits alone. A spelling may stand in several slots, as `name` does; where two could be meant in one place
lenient takes neither.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from memory_app.tools.values import MisfitError

LONGEST_KEY: Final = 40
"""Characters of a key that may be another spelling of one of ours; longer ones are not compared."""


_RECORD_KINDS: Final = ("entity", "relation", "observation")


def bare(key: str) -> str:
    """A key without case, `_`, `-` and spaces, which make no difference."""
    return re.sub(r"[^a-z0-9]", "", key.lower()) if len(key) <= LONGEST_KEY else key


class Slot(NamedTuple):
    """A key of ours, and its other spellings in bare form."""

    key: str
    others: frozenset[str]

    def is_meant_by(self, key: str) -> bool:
        """Whether a key, already bare, is this one or another spelling of it."""
        return key in self.others or key == bare(self.key)


class Shape(NamedTuple):
    """What a tool expects: `outer` holds an array of objects with these slots; without slots it holds texts, or one
    text.

    `facts` is the slot that holds an array of texts. `may_lack` slots are empty arrays if they are missing.
    """

    outer: Slot
    slots: tuple[Slot, ...] = ()
    facts: str = ""
    item: str = ""
    may_lack: frozenset[str] = frozenset()
    by_name: bool = False
    options: tuple[Slot, ...] = ()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _slot(key: str, others: str = "") -> Slot:
    return Slot(key, _words(others))


_FACTS: Final = (
    "observation contents content facts fact notes note text texts details detail description statements info"
)
_ENTITY_NAME: Final = _slot("entityName", "name entity node nodename title label subject")
_ENDS: Final = (
    _slot(
        "from",
        "source subject head src fromentity sourceentity fromname sourcename fromnode sourcenode fromid sourceid",
    ),
    _slot(
        "to",
        "target object tail dst dest destination toentity targetentity toname targetname tonode targetnode "
        "toid targetid",
    ),
    _slot(
        "relationType",
        "type relation predicate relationship relationshiptype label kind verb edge edgetype name rel reltype "
        "relationname",
    ),
)
_RELATIONS: Final = _slot("relations", "relation relationships relationship edges edge triples triple links items")
_OPTIONS: Final = (
    _slot("limit", "max maxresults maxentities maxitems topk pagesize"),
    _slot("offset", "skip"),
    _slot("relationLimit", "maxrelations"),
    _slot("relationOffset"),
    _slot("namesOnly", "onlynames"),
    _slot("summary", "summaryonly summarize"),
)

_RELATION: Final = "an object with from, to and relationType"
SHAPES: Final[Mapping[str, Shape]] = {
    "create_entities": Shape(
        _slot("entities", "entity nodes node items newentities"),
        (
            _slot("name", "entityname entity node nodename title label"),
            _slot("entityType", "type kind category class entitykind entitycategory nodetype"),
            _slot("observations", _FACTS),
        ),
        "observations",
        "an object with name, entityType and observations",
        frozenset({"observations"}),
        by_name=True,
    ),
    "create_relations": Shape(_RELATIONS, _ENDS, item=_RELATION),
    "add_observations": Shape(
        _slot("observations", "observation additions addition updates update entities items facts"),
        (_ENTITY_NAME, _slot("contents", f"{_FACTS} observations newobservations addedobservations")),
        "contents",
        "an object with entityName and contents",
        by_name=True,
    ),
    "delete_entities": Shape(_slot("entityNames", "entityname names name entities entity nodes node")),
    "delete_observations": Shape(
        _slot("deletions", "deletion observations observation entities items"),
        (_ENTITY_NAME, _slot("observations", _FACTS)),
        "observations",
        "an object with entityName and observations",
    ),
    "delete_relations": Shape(
        Slot(_RELATIONS.key, _RELATIONS.others | {"deletion", "deletions"}), _ENDS, item=_RELATION
    ),
    "read_graph": Shape(_slot(""), options=_OPTIONS),
    "search_nodes": Shape(
        _slot(
            "query",
            "q queries search searchstring searchquery searchterm searchterms searchtext text term terms keyword "
            "keywords querytext querystring string question phrase name",
        ),
        options=_OPTIONS,
    ),
    "open_nodes": Shape(
        _slot(
            "names",
            "name entitynames entityname entities entity nodes node nodenames nodename titles title ids id query",
        ),
        options=(*_OPTIONS, _slot("depth", "hops maxdepth")),
    ),
}

WRAPPERS: Final = _words(
    "input inputs arguments args params parameters data payload body request kwargs json toolinput toolarguments "
    "toolargs value call properties argument arg arg1 parameter graph knowledgegraph actioninput"
)
CALL_KEYS: Final = _words("name tool toolname method function action type id jsonrpc")
CALL_WORDS: Final = frozenset({"toolscall", "function", "tooluse", "toolcall", "object", "20"})
TEXT_KEYS: Final = _words("text content observation value fact")
NAME_KEYS: Final = _slot("name", "entityname entity node title label")
LIST_KEYS: Final = _words("item items list values array element elements")


def take(given: Mapping[str, object], slot: Slot) -> object:
    """What stands under the slot's key, or under its only other spelling; None if there is nothing.

    MisfitError if several keys could be meant.
    """
    value = given.get(slot.key)
    if value is not None:
        return value
    found = _spellings(given, slot)
    if len(found) > 1:
        raise unclear(slot.key, found)
    return next(iter(found.values()), None)


def take_if_one(given: Mapping[str, object], slot: Slot) -> object:
    """As `take`, but None if several keys could be meant."""
    value = given.get(slot.key)
    found = _spellings(given, slot) if value is None else {}
    return value if value is not None else next(iter(found.values())) if len(found) == 1 else None


def _spellings(given: Mapping[str, object], slot: Slot) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in given.items():
        if value is None or key == slot.key or is_record_kind(key, value):
            continue
        if slot.is_meant_by(bare(key)):
            found[key] = value
    return found


def is_record_kind(key: str, value: object) -> bool:
    """Whether this is the kind of record of a memory file, under `type`, which is no type of ours."""
    return bare(key) == "type" and value in _RECORD_KINDS


def under_other_spellings(given: Mapping[str, object], slot: Slot) -> dict[str, object]:
    """What stands under another spelling of this slot."""
    return {key: value for key, value in given.items() if slot.is_meant_by(bare(key))}


def unclear(key: str, found: Iterable[str]) -> MisfitError:
    """The error that names several keys of which each could be meant as this one."""
    names = " and ".join(json.dumps(one[:LONGEST_KEY], ensure_ascii=False) for one in list(found)[:3])
    return MisfitError("given under this name", f"it is missing, and {names} could each be it", f".{key}")
