"""The record of an agent, and the rules for slugs and names."""

from __future__ import annotations

from looseleaf.errors.agents import InvalidAgent
from looseleaf.memory.scope import Shelf
from looseleaf.values import built_once, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.config import AgentConfig

STATUSES = ("active", "inactive", "archived")
_SLUG = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_MAX_SLUG = 64
_MAX_NAME = 200


@value(kw_only=True)
class AgentRecord:
    """One agent: a stable id, the slug that names its folder, and its configuration."""

    id: int
    slug: str
    name: str
    owner: int
    status: str
    created: str
    config: Mapping[str, Any]  # the JSON as it was given; `configuration` is the same, typed

    @built_once
    def shelf(self) -> Shelf:
        """Where the agent's pages stand."""
        return Shelf("agent", 0, self.id)

    @built_once
    def configuration(self) -> AgentConfig:
        """The configuration as a typed value, each key checked when it is first read."""
        from looseleaf.agents.config import AgentConfig

        return AgentConfig(self.slug, self.config)


def format_record(record: AgentRecord, *, new_record: AgentRecord | None = None) -> bytes:
    """Format a record as JSON; the slug is the name of its folder.

    With `new_record`, the record also has the name that holds from the moment that its folder has
    the new slug, so that both change in one step.
    """
    fields: dict[str, object] = {"id": record.id, "name": record.name}
    if new_record is not None:
        fields |= {"next_slug": new_record.slug, "next_name": new_record.name}
    fields |= {
        "owner": record.owner,
        "status": record.status,
        "created": record.created,
        "config": dict(record.config),
    }
    import json

    return json.dumps(fields, ensure_ascii=False, indent=2).encode() + b"\n"


def parse_record(slug: str, content: bytes) -> AgentRecord:
    """Parse a record; ValueError, KeyError or TypeError if it is damaged."""
    fields = _parse_plain_fields(content.decode())
    if fields is None:
        import json

        fields = json.loads(content)
    return AgentRecord(
        id=int(fields["id"]),
        slug=slug,
        name=fields["next_name"] if fields.get("next_slug") == slug else fields["name"],
        owner=int(fields["owner"]),
        status=fields["status"],
        created=fields["created"],
        config=dict(fields["config"]),
    )


def _parse_plain_fields(text: str) -> dict[str, Any] | None:
    """Parse a record without a configuration in our own layout, or None for any other text.

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


def check_name(slug: str, name: str) -> str:
    """Return the name of an agent for people, or raise `InvalidAgent`."""
    from looseleaf.memory.text.hidden_characters import find_invisible

    if len(name) > _MAX_NAME or find_invisible(name, allow_joiners=True):
        reason = f"its name is one line of at most {_MAX_NAME} visible characters"
        raise InvalidAgent(slug, reason)
    return name


def check_slug(slug: str) -> None:
    """Raise `InvalidAgent` if no agent can have this slug."""
    reason = find_slug_problem(slug)
    if reason is not None:
        raise InvalidAgent(slug, reason)


def find_slug_problem(slug: str) -> str | None:
    """Return why no agent can have this slug, or None if one can."""
    if not slug or not slug[0].isalnum() or not set(slug) <= _SLUG:
        return "a slug has lower-case letters, digits, - and _, and starts with a letter or digit"
    if slug.isdigit():
        return "a slug of digits alone would be taken for an id"
    return f"a slug has at most {_MAX_SLUG} characters" if len(slug) > _MAX_SLUG else None
