"""What is known of an agent: its record, and the rules for slugs and configurations."""

from __future__ import annotations

import time

from looseleaf.agents.budget import budget_of
from looseleaf.errors import InvalidAgent
from looseleaf.memory.policy import memory_policy, tool_policy
from looseleaf.memory.scope import Shelf
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

STATUSES = ("active", "inactive", "archived")
_SLUG = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_MAX_SLUG = 64
_MAX_NAME = 200


@value
class AgentRecord:
    """One agent: a stable id, the slug its folder is called, and its configuration."""

    id: int
    slug: str
    name: str
    owner: int
    status: str
    created: str
    config: Mapping[str, Any]

    @property
    def shelf(self) -> Shelf:
        """Where the agent's pages stand."""
        return Shelf("agent", 0, self.id)


def record_text(record: AgentRecord, *, renamed: AgentRecord | None = None) -> bytes:
    """Write a record as people and programs read it; the slug is the name of its folder.

    With `renamed`, the record also says which name holds from the moment that its folder has the
    new slug, so that both change in one step.
    """
    fields: dict[str, object] = {"id": record.id, "name": record.name}
    if renamed is not None:
        fields |= {"next_slug": renamed.slug, "next_name": renamed.name}
    fields |= {
        "owner": record.owner,
        "status": record.status,
        "created": record.created,
        "config": dict(record.config),
    }
    import json

    return json.dumps(fields, ensure_ascii=False, indent=2).encode() + b"\n"


def parse_record(slug: str, content: bytes) -> AgentRecord:
    """Read back a record; ValueError, KeyError or TypeError where it is damaged."""
    found = _plain_fields(content.decode())
    if found is None:
        import json

        found = json.loads(content)
    return AgentRecord(
        int(found["id"]),
        slug,
        found["next_name"] if found.get("next_slug") == slug else found["name"],
        int(found["owner"]),
        found["status"],
        found["created"],
        dict(found["config"]),
    )


def _plain_fields(text: str) -> dict[str, Any] | None:
    """Read a record without a configuration as we lay it out; None for any other text.

    The JSON parser is a fifth of a cold start, and most commands need no more than this.
    """
    first, *lines = text.split("\n")
    if first != "{" or lines[-3:] != ['  "config": {}', "}", ""] or "\\" in text:
        return None
    fields: dict[str, Any] = {"config": {}}
    for line in lines[:-3]:
        name, _, rest = line.strip().rstrip(",").partition('": ')
        fields[name[1:]] = rest[1:-1] if rest.startswith('"') else int(rest)
    return fields


def check_config(agent: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a configuration that could not be followed; keys nobody knows are plugins' own."""
    memory_policy(config.get("memory_policy"))
    tool_policy(config.get("tool_policy"))
    budget_of(config.get("prompt_budget"))
    daily = config.get("daily_memory", {})
    if not isinstance(daily, dict) or not set(daily) <= {"enabled", "recent_days"}:
        raise InvalidAgent(agent, "daily_memory takes enabled and recent_days")
    if (
        type(daily.get("enabled", False)) is not bool
        or type(daily.get("recent_days", 3)) is not int
    ):
        raise InvalidAgent(agent, "daily_memory.enabled is true or false, recent_days a number")
    models = config.get("models", {})
    if not isinstance(models, dict) or not all(isinstance(name, str) for name in models.values()):
        raise InvalidAgent(agent, 'models maps a mode, or "default", to provider:model')
    if not _chat_fits(config.get("chat", {})):
        raise InvalidAgent(
            agent,
            "chat takes journal (true or false), turn_limit (from 1) and compaction (enabled, "
            "max_messages and recent_messages)",
        )
    import json

    try:
        json.dumps(config)
    except (TypeError, ValueError) as error:
        raise InvalidAgent(agent, f"its configuration is not JSON ({error})") from error
    return dict(config)


def _chat_fits(chat: object) -> bool:
    """Say whether an agent's conversations could be so."""
    if not isinstance(chat, dict) or not chat.keys() <= {"journal", "turn_limit", "compaction"}:
        return False
    rule = chat.get("compaction", {})
    if not isinstance(rule, dict):
        return False
    flags = (chat.get("journal", False), rule.get("enabled", False))
    numbers = (
        chat.get("turn_limit", 1),
        rule.get("max_messages", 1),
        rule.get("recent_messages", 1),
    )
    return (
        rule.keys() <= {"enabled", "max_messages", "recent_messages"}
        and all(type(one) is bool for one in flags)
        and all(type(one) is int and one > 0 for one in numbers)
    )


def record_day(seconds: float) -> str:
    """Write a time as records have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def check_name(slug: str, name: str) -> str:
    """Give the name that people call an agent by back, or raise `InvalidAgent`."""
    from looseleaf.memory.characters import find_invisible

    if len(name) > _MAX_NAME or find_invisible(name, joined=True):
        why = f"its name is one line of at most {_MAX_NAME} visible characters"
        raise InvalidAgent(slug, why)
    return name


def check_slug(slug: str) -> None:
    """Raise `InvalidAgent` where no agent can have this slug."""
    why = why_not(slug)
    if why is not None:
        raise InvalidAgent(slug, why)


def why_not(slug: str) -> str | None:
    """Say why no agent can have this slug; None where one can."""
    if not slug or not slug[0].isalnum() or not set(slug) <= _SLUG:
        return "a slug has lower-case letters, digits, - and _, and starts with a letter or digit"
    if slug.isdigit():
        return "a slug of digits alone would be taken for an id"
    return f"a slug has at most {_MAX_SLUG} characters" if len(slug) > _MAX_SLUG else None
