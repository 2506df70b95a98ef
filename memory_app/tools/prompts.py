"""The prompts that a person can choose in a client: their texts, and the one argument of each.

Plain data, and the function that fills it in; knows no SDK. Prompts are offered as MCP's `prompts/list` and
`prompts/get`, and `PERSONAL_MEMORY.text(None)` also serves as a project's or a client's own instructions.

Both arguments are names of entities, so that a client can complete them from the memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from memory_app.errors import GraphError
from memory_app.text import without_lone_surrogates

_LONGEST_NAME: Final = 200
"""Characters of an argument; a longer one is a pasted text, not the name of an entity."""


class Argument(NamedTuple):
    """An optional argument of a prompt. Its value is the name of an entity."""

    name: str
    title: str
    description: str


class Prompt(NamedTuple):
    """`given` and `absent` replace {who} in `template`, with and without the argument."""

    name: str
    title: str
    description: str
    argument: Argument
    template: str
    given: str
    absent: str

    def text(self, value: str | None) -> str:
        """The prompt's text for the argument's value, or for none. GraphError if the value cannot be a name."""
        if value is None or not value.strip():
            return self.template.replace("{who}", self.absent)
        if len(value) > _LONGEST_NAME:
            raise GraphError(
                f"{self.name}: {self.argument.name} must be the name of an entity, of at most {_LONGEST_NAME} "
                f"characters, but it has {len(value)}."
            )
        # Quoted as JSON, a name can neither end its line nor pass for an instruction of its own.
        quoted = json.dumps(without_lone_surrogates(value), ensure_ascii=False)
        quoted = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in quoted)
        return self.template.replace("{who}", self.given.replace("{name}", quoted))


PERSONAL_MEMORY: Final = Prompt(
    name="personal_memory",
    title="Remember me",
    description="Have the assistant use the memory to know you across conversations, and keep it up to date.",
    argument=Argument("user", "Who you are", "The name of the entity that stands for you. Optional."),
    given="You are talking to the user whom the memory knows as {name}.",
    absent='Take it that you are talking to the user whom the memory knows as "default_user".',
    template="""\
You have a memory that lasts beyond this conversation: the knowledge graph that the memory tools read and write. When \
you speak of it, call it your "memory". In this conversation, work in four steps.

1. Know who is there.
   {who} If you are not sure who it is, find out early and in a natural way: ask.

2. Remember.
   Begin your first answer with the single word "Remembering..." and look up what may matter before you say more: \
search_nodes for the user and for what they ask about, then open_nodes for what you found and for what that is \
connected to. Use what you remember where it helps; do not recite it.

3. Notice what is new.
   While you talk, watch for five kinds of information:
   - basic identity: such as age, gender, home, job, education, languages
   - behaviours: interests, habits, routines
   - preferences: how they like to be addressed and answered, what they like and dislike
   - goals: what they are working towards, plans, wishes
   - relationships: people and organisations in their life, private and at work, up to three degrees away from them

4. Keep the memory up to date.
   When you have learned something new, store it without being asked:
   - create_entities for people, organisations, projects and events that come up again or matter; search first, so \
that nothing is there twice
   - create_relations to connect them with the user and with each other, in the active voice: "works at", "is sister of"
   - add_observations for facts, one short sentence each, with a date where the fact may change
   If something has changed, delete the old observation and add the new one. Store only what was said or is plain, and \
nothing that the user wants kept out.
""",
)

TIDY_MEMORY: Final = Prompt(
    name="tidy_memory",
    title="Tidy up the memory",
    description="Look through the memory for duplicates, outdated and misplaced facts, and mend them after asking.",
    argument=Argument("entity", "Where to look", "The name of the entity to tidy up around. Optional: everything."),
    given="Look only at the entity {name} and what it is connected to: open_nodes shows both.",
    absent=(
        "Look at everything: read_graph with namesOnly first, then open_nodes for a few names at a time, or read_graph "
        "in parts with limit and offset."
    ),
    template="""\
Please tidy up your memory, the knowledge graph that the memory tools read and write. Change nothing before I have \
agreed.

1. Look.
   {who}

2. List what you would change, briefly and in groups, naming each entity:
   - the same person or thing under several names or spellings
   - facts that are there twice, contradict each other, or are clearly out of date
   - observations that hold several facts, or that belong to another entity
   - connections that are only told in an observation and should be relations; relations to something that is not there
   - types and kinds of relation that mean the same and are named differently
   Where you are not sure which of two facts is true, ask me.

3. Ask me whether to go on: with all of it, or with which parts.

4. Then do it so that nothing is lost on the way: first add to what stays (create_entities, add_observations, \
create_relations), read it again with open_nodes, and only then delete what it replaces. Deleting an entity deletes \
its observations and every relation that touches it, and you cannot bring them back: only I can.

5. Tell me in a few lines what has changed.
""",
)

PROMPTS: Final[Mapping[str, Prompt]] = {prompt.name: prompt for prompt in (PERSONAL_MEMORY, TIDY_MEMORY)}
"""All prompts by name, in the order in which they are listed."""
