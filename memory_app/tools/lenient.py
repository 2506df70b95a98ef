"""Lenient arguments: from the forms that models send to the form of the schema.

Only what does not fit as it is comes here. Rules:
- A spelling is taken for a key only where nothing else can be meant: the right key wins, and of two spellings for one
  key neither is taken. Case, `_`, `-` and spaces make no difference to a key.
- An array or object may be a JSON text, also one written by hand (see nearly_json), stand in one wrapper too many, or
  lack its outer key. One item may stand for an array of one.
- A text stays what it is: no comma splits it, and an item of an array is never decoded. A number or boolean where a
  text is wanted is that text (a boolean only where a fact is).
- Nothing is dropped in silence: relations in create_entities are refused, and so is an unknown key with text or an
  array where the key that should hold the facts is missing or empty.
- `alone` says that a text stood in place of an array: a delete then has to find every item.

Nothing here knows the graph. What cannot be brought into the form raises `MisfitError`, as the readers do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from memory_app.tools.nearly_json import decoded, decoded_row, decoded_twice, looks_like_json, why_not
from memory_app.tools.spellings import (
    CALL_KEYS,
    CALL_WORDS,
    LIST_KEYS,
    LONGEST_KEY,
    NAME_KEYS,
    SHAPES,
    TEXT_KEYS,
    WRAPPERS,
    Shape,
    Slot,
    bare,
    is_record_kind,
    take,
    take_if_one,
    unclear,
    under_other_spellings,
)
from memory_app.tools.values import MisfitError, described

_LONGEST_NAME: Final = 1024
"""Characters of a text that may stand for an array of one name; longer ones are no name."""

_DEEPEST_WRAPPING: Final = 4
"""Wrappers around arguments that are taken off: a call within a call within a client's own envelope has three."""

_NOTHING: Final = ("null", "none", "undefined")
"""Texts of an option that was not given."""

_LARGEST_NUMBER: Final = 1e15
"""From here on a number's text in JSON is not what was written."""


class Mended(NamedTuple):
    arguments: dict[str, object]
    alone: bool


_BROKEN_ARRAY: Final = re.compile(r"""\s*\[\s*["'{\[]""")


def mend(tool: str, given: object) -> Mended:
    """The arguments in the form of the tool's schema, with its keys alone. MisfitError where more than one form, or
    none, can be meant."""
    return _Call(tool, SHAPES[tool]).mend(given)


def as_object(tool: str, given: object) -> dict[str, object]:
    """Arguments that came as something else than an object, as one: JSON text, an array, one text; nothing is none."""
    shape = SHAPES.get(tool)
    return {} if shape is None else dict(_Call(tool, shape).unwrap(given))


class _Call:
    def __init__(self, tool: str, shape: Shape) -> None:
        self._tool = tool
        self._shape = shape
        self._alone = False

    def mend(self, given: object) -> Mended:
        found = self.unwrap(given)
        outer = self._shape.outer
        made: dict[str, object] = {}
        for slot in self._shape.options:
            value = take(found, slot)
            if value is not None and not (isinstance(value, str) and value.strip().lower() in _NOTHING):
                made[slot.key] = value
        if self._tool == "create_entities":
            _refuse_relations(found)
        if not outer.key:
            return Mended(made, False)
        value = self._outer(found)
        if value is None:
            self._refuse_others(found, outer, "missing", self._shape.options)
            kind = "a string" if self._tool == "search_nodes" else "an array of strings"
            kind = f"an array, each item {self._shape.item}" if self._shape.slots else kind
            raise MisfitError(kind, _absence(found, outer.key), f".{outer.key}")
        if value in ("", [], {}):
            self._refuse_others(found, outer, "empty", self._shape.options)
        try:
            if self._shape.slots:
                made[outer.key] = self._items(value)
            elif self._tool == "search_nodes":
                made[outer.key] = _query(value, outer)
            else:
                made[outer.key] = [_name(item) for item in self._texts(self._names(value))]
        except MisfitError as misfit:
            misfit.path = f".{outer.key}{misfit.path}"
            raise
        return Mended(made, self._alone)

    def unwrap(self, given: object, deepest: int = _DEEPEST_WRAPPING) -> Mapping[str, object]:
        """The arguments as an object, out of JSON text, an array around it, or a wrapper."""
        outer = self._shape.outer
        if isinstance(given, str):
            if not given.strip():
                return {}
            held = decoded_twice(given)
            return {outer.key: given} if held is None else self.unwrap(held, deepest - 1) if deepest else {}
        if isinstance(given, list):
            only = given[0] if len(given) == 1 and isinstance(given[0], dict) else {}
            inner = take_if_one(only, outer)
            if deepest and inner is not None and (not self._shape.slots or self._holds_items(inner)):
                return self.unwrap(only, deepest - 1)
            return {outer.key: given} if given else {}
        if not isinstance(given, dict):
            return {} if given is None else {outer.key: given}
        if not deepest or given.get(outer.key) is not None or len(given) > len(CALL_KEYS):
            return given
        for key, value in given.items():
            spelled = bare(key)
            if (spelled in WRAPPERS or spelled == bare(self._tool)) and isinstance(value, (dict, list, str)):
                others = [(one, held) for one, held in given.items() if one != key]
                if all(self._is_of_a_call(one, held) for one, held in others):
                    return self.unwrap(value, deepest - 1)
        return given

    def _is_of_a_call(self, key: str, value: object) -> bool:
        """Whether a key beside the arguments says nothing but which tool is called."""
        if bare(key) in ("id", "jsonrpc"):
            return True
        return bare(key) in CALL_KEYS and isinstance(value, str) and (
            bare(value) in CALL_WORDS or bare(value) == bare(self._tool)
        )  # fmt: skip

    def _outer(self, given: Mapping[str, object]) -> object:
        """What stands under the outer key, or for it."""
        outer, slots = self._shape.outer, self._shape.slots
        there = given.get(outer.key)
        if not slots:
            return take(given, outer) if there is None else there
        is_item = take_if_one(given, slots[0]) is not None
        if there is not None and not (is_item and not self._holds_items(there)):
            return there
        found = {
            key: value
            for key, value in given.items()
            if outer.is_meant_by(bare(key)) and key != outer.key and self._holds_items(value)
        }
        if len(found) > 1:
            raise unclear(outer.key, found)
        if found:
            return next(iter(found.values()))
        if is_item:
            return [given]
        return there

    def _holds_items(self, value: object) -> bool:
        if isinstance(value, str):
            return looks_like_json(value) and self._holds_items(decoded(value))
        if isinstance(value, list):
            return all(isinstance(item, (dict, list)) or self._holds_items(item) for item in value)
        return isinstance(value, dict)

    def _items(self, value: object) -> list[object]:
        expected = f"an array, each item {self._shape.item}"
        held = decoded_twice(value) if isinstance(value, str) else value
        if held is None and isinstance(value, str):
            held = decoded_row(value)
        for _ in range(_DEEPEST_WRAPPING):
            if isinstance(held, dict) and (inner := take_if_one(held, self._shape.outer)) is not None:
                if not self._holds_items(inner) or take_if_one(held, self._shape.slots[0]) is not None:
                    break
                held = decoded(inner) if isinstance(inner, str) else inner
            elif isinstance(held, list) and len(held) == 1 and isinstance(held[0], list):
                if not any(isinstance(item, dict) for item in held[0]):
                    break
                held = held[0]
            else:
                break
        if isinstance(held, dict):
            held = _row(held) or self._by_name(held) or [held]
        if not isinstance(held, list):
            raise MisfitError(expected, f"it is {described(value)}{why_not(value)}")
        made: list[object] = []
        try:
            for item in held:
                made.append(self._item(item))
        except MisfitError as misfit:
            misfit.path = f"[{len(made)}]{misfit.path}"
            raise
        return made

    def _by_name(self, given: Mapping[str, object]) -> list[object]:
        """The items of an object whose keys are names; empty if it is none."""
        name, *rest = self._shape.slots
        if not self._shape.by_name or not given or any(self._is_known(key) for key in given):
            return []
        if all(isinstance(value, dict) and any(self._is_known(key) for key in value) for value in given.values()):
            return [_named(value, name, key) for key, value in given.items() if isinstance(value, dict)]
        if len(rest) == 1 and all(isinstance(value, (list, str)) for value in given.values()):
            return [{name.key: key, rest[0].key: value} for key, value in given.items()]
        return []

    def _is_known(self, key: str) -> bool:
        return any(slot.is_meant_by(bare(key)) for slot in self._shape.slots)

    def _item(self, value: object) -> dict[str, object]:
        item = decoded(value) if isinstance(value, str) else value
        if isinstance(item, list) and len(item) == 1:
            item = item[0]
        if isinstance(item, dict) and len(item) == 1:
            (only,) = item.values()
            if isinstance(only, dict):
                item = only
            elif named := self._by_name(item):
                (item,) = named
        if not isinstance(item, dict):
            raise MisfitError(self._shape.item, f"it is {described(value)}{why_not(value)}")
        if self._tool == "create_entities":
            _refuse_relations(item)
        made: dict[str, object] = {}
        for slot in self._shape.slots:
            found = take(item, slot)
            try:
                if slot.key == self._shape.facts:
                    made[slot.key] = texts = self._texts(found)
                    if not texts:
                        self._refuse_others(item, slot, "missing" if found is None else "empty", self._shape.slots)
                    if found is not None or slot.key in self._shape.may_lack:
                        continue
                elif found is not None:
                    if found == "":
                        self._refuse_others(under_other_spellings(item, slot), slot, "empty", ())
                    made[slot.key] = _text(_name(found) if isinstance(found, dict) else found)
                    continue
                kind = "an array of strings" if slot.key == self._shape.facts else "a string"
                raise MisfitError(kind, _absence(item, slot.key))
            except MisfitError as misfit:
                if not misfit.path.startswith(f".{slot.key}"):
                    misfit.path = f".{slot.key}{misfit.path}"
                raise
        return made

    def _texts(self, value: object) -> list[object]:
        """An array of texts; one text stands for an array of one."""
        if value is None or value == "":
            return []
        if isinstance(value, str):
            held = decoded(value)
            if held is None:
                if _BROKEN_ARRAY.match(value):
                    raise MisfitError("an array of strings", f"it is {described(value)}{why_not(value)}")
                if not self._shape.slots and len(value) > _LONGEST_NAME:
                    raise MisfitError("an array of strings", f"it is {described(value)}")
                self._alone = True
                return [value]
            if isinstance(held, list) and all(isinstance(item, (str, dict)) for item in held):
                return self._texts(held)
            raise MisfitError("an array of strings", f"it is {described(value)}")
        if isinstance(value, dict):
            if not value and self._shape.may_lack:
                return []
            only = _row(value) or self._list_in(value)
            return [_text(value)] if only is None else self._texts(only)
        if isinstance(value, list):
            if len(value) == 1 and isinstance(value[0], list):
                return self._texts(value[0])
            return [_fact(item) for item in value]
        self._alone = True
        return [_fact(value)]

    def _names(self, value: object) -> object:
        """The names. Nulls beside names to be read say nothing; an empty text to be deleted is a MisfitError."""
        if self._tool == "open_nodes" and isinstance(value, list):
            return [item for item in value if item is not None] or value
        if self._tool == "delete_entities" and value == "":
            raise MisfitError("an array of strings", "it is an empty text")
        return value

    def _list_in(self, value: Mapping[str, object]) -> object:
        """The array in an object that only wraps it, as `{"items": […]}` or `{"names": […]}` in `names`."""
        if len(value) != 1:
            return None
        ((key, held),) = value.items()
        own = next((slot for slot in self._shape.slots if slot.key == self._shape.facts), self._shape.outer)
        return held if isinstance(held, list) and (bare(key) in LIST_KEYS or own.is_meant_by(bare(key))) else None

    def _refuse_others(self, given: Mapping[str, object], slot: Slot, state: str, known: Iterable[Slot]) -> None:
        """Refuse another key that holds what this slot, whose own key is missing or empty, should hold."""
        for key, value in given.items():
            if key == slot.key or not value or not isinstance(value, (str, list, dict)):
                continue
            if self._is_of_a_call(key, value) or is_record_kind(key, value):
                continue
            if slot.is_meant_by(bare(key)) or not (
                isinstance(value, dict) or any(one.is_meant_by(bare(key)) for one in known)
            ):
                kind = {str: "text", list: "an array"}.get(type(value), "an object")
                raise MisfitError(
                    "given under this name",
                    f"it is {state}, while the key {json.dumps(key[:LONGEST_KEY], ensure_ascii=False)} holds {kind}",
                    f".{slot.key}",
                )


def _named(item: Mapping[str, object], name: Slot, key: str) -> Mapping[str, object]:
    """The item under the name that it states; under its key where it states none."""
    return {**item, name.key: key} if item.get(name.key) is None else item


def _row(given: Mapping[str, object]) -> list[object]:
    """The array that was sent as an object with its places as keys; empty if it was not."""
    if not all(isinstance(value, (str, dict)) for value in given.values()):
        return []
    return list(given.values()) if [*given] == [str(place) for place in range(len(given))] else []


def _refuse_relations(given: Mapping[str, object]) -> None:
    for key, value in given.items():
        if value and isinstance(value, (list, dict, str)) and bare(key) in ("relations", "relationships", "edges"):
            raise MisfitError(
                "sent with create_relations next, once the entities are created",
                "it came with them; send the entities alone",
                f".{key}",
            )


def _absence(given: Mapping[str, object], key: str) -> str:
    return "it is null" if key in given else f"it is missing; what came is {described(given)}"


def _fact(value: object) -> object:
    """An observation, which may say true or false."""
    return json.dumps(value) if isinstance(value, bool) else _text(value)


def _text(value: object) -> object:
    """A text, from what stands for one; anything else as it is, for the reader to refuse."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value) if abs(value) < _LARGEST_NUMBER else value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if isinstance(value, dict) and len(value) == 1:
        ((key, held),) = value.items()
        if bare(key) in TEXT_KEYS and isinstance(held, str):
            return held
    return value


def _name(item: object) -> object:
    """A name, from a text or an object that has one."""
    if isinstance(item, dict):
        found = take_if_one(item, NAME_KEYS)
        return item if found is None else _text(found)
    return item


def _query(value: object, slot: Slot) -> object:
    if isinstance(value, dict) and len(value) == 1:
        ((key, held),) = value.items()
        if slot.is_meant_by(bare(key)) or bare(key) in TEXT_KEYS:
            value = held
    if isinstance(value, list) and value and all(isinstance(item, (str, int, float)) for item in value):
        return " ".join(str(_text(item)) for item in value)
    return _text(value)
