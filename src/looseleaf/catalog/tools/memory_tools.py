"""The two tools with actions by which a model uses its memory in a conversation."""

from __future__ import annotations

from looseleaf.catalog.stated_origin import ORIGIN, ORIGIN_SCHEMA
from looseleaf.memory.page_text import MAIN
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


@value
class Action:
    """What one action of a tool does: the operation, and which arguments go to it."""

    operation: str
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    fixed_arguments: Mapping[str, str] = FrozenDict()
    defaults: Mapping[str, str] = FrozenDict()
    result: str = ""  # the name of a result that is no object


@value
class ModelTool:
    """A tool with actions, by name."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    actions: Mapping[str, Action]
    categories: tuple[str, ...] = ("memory",)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments, with every action."""
        return self.parameters_with(self.actions)

    def parameters_with(self, actions: Iterable[str]) -> dict[str, Any]:
        """Return the JSON schema of its arguments, with some of its actions."""
        names = list(actions)
        action = {
            "type": "string",
            "enum": names,
            "description": "What to do: " + ", ".join(names) + ".",
        }
        return {
            "type": "object",
            "properties": {"action": action, **self.properties},
            "required": ["action"],
            "additionalProperties": False,
        }


def _build_text_schema(description: str, *choices: str) -> dict[str, Any]:
    enumeration = {"enum": list(choices)} if choices else {}
    return {"type": "string", **enumeration, "description": description}


_SCOPE_OF_SEEDS = {
    "type": "integer",
    "description": "Ignored: whose memory it is follows from the conversation.",
}
_PLACE = ("file", "section", "position")
_UPDATE = "datamachine/update-agent-memory"

AGENT_MEMORY = ModelTool(
    "agent_memory",
    "Your lasting memory: facts, decisions and lessons that every later conversation needs. It is "
    "kept in the sections of MEMORY.md and other pages. Read a section before you change it. What "
    "merely happened belongs in agent_daily_memory. Whatever you are asked about the past, look it "
    "up first: find takes a question and gives the pages that answer it, days of the journal too.",
    {
        "file": _build_text_schema(f"The page; {MAIN} if you name none."),
        "section": _build_text_schema(
            "The section, by the text of its ## header; without it, get reads all."
        ),
        "position": {
            "type": "integer",
            "description": "The section's position, where several have the same name.",
        },
        "content": _build_text_schema("Markdown, for update and append."),
        "mode": _build_text_schema(
            "For update: set replaces the section, append adds to it.", "set", "append"
        ),
        "words": _build_text_schema(
            "A question, or some words that the page should be about, for find."
        ),
        "query": _build_text_schema("The exact text to find in a line, for search."),
        ORIGIN: ORIGIN_SCHEMA,
        "user_id": _SCOPE_OF_SEEDS,
        "agent_id": _SCOPE_OF_SEEDS,
    },
    {
        "get": Action("datamachine/get-agent-memory", _PLACE),
        "update": Action(
            _UPDATE,
            (*_PLACE, "content", "mode"),
            ("section", "content"),
            defaults={"mode": "set"},
        ),
        "append": Action(_UPDATE, (*_PLACE, "content"), ("section", "content"), {"mode": "append"}),
        "delete": Action("datamachine/delete-agent-memory-section", _PLACE, ("section",)),
        "list_sections": Action(
            "datamachine/list-agent-memory-sections", ("file",), result="sections"
        ),
        "find": Action("looseleaf/find-pages", ("words",), ("words",)),
        "search": Action(
            "datamachine/search-agent-memory", ("file", "section", "query"), ("query",)
        ),
    },
)
AGENT_DAILY_MEMORY = ModelTool(
    "agent_daily_memory",
    "Your journal, one page a day (UTC): session activity, events, work logs. It captures WHAT "
    "HAPPENED; knowledge that lasts belongs in agent_memory (MEMORY.md) instead.",
    {
        "date": _build_text_schema("A day, YYYY-MM-DD; today if you name none."),
        "content": _build_text_schema("Markdown, for write."),
        "mode": _build_text_schema(
            "For write: append (the default) adds, write replaces the day.", "append", "write"
        ),
        "query": _build_text_schema("The text to find, for search."),
        "from": _build_text_schema("The first day of a search."),
        "to": _build_text_schema("The last day of a search."),
        ORIGIN: ORIGIN_SCHEMA,
        "user_id": _SCOPE_OF_SEEDS,
    },
    {
        "read": Action("datamachine/daily-memory-read", ("date",)),
        "write": Action(
            "datamachine/daily-memory-write", ("date", "content", "mode"), ("content",)
        ),
        "list": Action("datamachine/daily-memory-list", result="months"),
        "search": Action("datamachine/search-daily-memory", ("query", "from", "to"), ("query",)),
    },
    ("memory", "daily"),
)
MODEL_TOOLS = {tool.name: tool for tool in (AGENT_MEMORY, AGENT_DAILY_MEMORY)}
