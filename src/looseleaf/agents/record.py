"""The record of an agent, the rules for slugs and names, and the contract of the list of agents."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import AgentAmbiguous, AgentMissing, InvalidAgent
from looseleaf.memory.scope import Shelf
from looseleaf.values import built_once, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from looseleaf.agents.config import AgentConfig
else:
    Protocol = object


# The record of an agent, and the rules for slugs and names.


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
    from looseleaf.memory.hidden_characters import find_invisible

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


# The contract of the list of agents; stores implement it, on a disk or elsewhere.
# Every call sees the agents as they are now. `Unavailable` means that the list cannot be read,
# which is never the same as an agent that does not exist.


class AgentFolders(Protocol):
    """An optional ability of a list of agents: each agent is a folder that people can reach."""

    def slugs(self) -> list[str]:
        """List the folders that can be agents', with or without a readable record."""

    def lost_slugs(self, ids: Collection[int]) -> list[str]:
        """List the slugs of created agents whose folder is gone, except those with these ids."""

    def require_not_lost(self, agent_id: int) -> None:
        """Raise `WorkspaceUnavailable` if an agent was created and its folder is gone."""


class AgentList(Protocol):
    """The agents of a workspace: ids that never change, slugs that may."""

    @property
    def changes(self) -> int:
        """How often this process has changed the list."""

    @property
    def folders(self) -> AgentFolders | None:
        """The folders of the agents, or None if agents do not lie in folders."""

    def records(self) -> list[AgentRecord]:
        """List every agent, by slug."""

    def resolve(self, reference: str | int | None = None) -> AgentRecord:
        """Find an agent by id or slug; without either, the default one or the only one."""

    def slug_of(self, agent_id: int) -> str:
        """Return the slug of an agent, or raise `AgentMissing`."""

    def create(
        self,
        slug: str,
        *,
        name: str = "",
        owner: int = 1,
        config: Mapping[str, Any] | None = None,
        start: Callable[[AgentRecord], object] = ...,
        highest_id: Callable[[], int] = ...,
    ) -> AgentRecord:
        """Create an agent; `start` writes its first pages: both are done, or neither.

        `highest_id` returns the highest id that is used outside the list. It is called only if
        the list itself does not know which ids it has given.
        """

    def rename(self, reference: str | int, slug: str, *, name: str = "") -> AgentRecord:
        """Rename the slug of an agent; its id, pages and history stay."""

    def configure(self, reference: str | int, config: Mapping[str, Any]) -> AgentRecord:
        """Set keys of an agent's configuration; a key set to None is taken out."""

    def set_status(self, reference: str | int, status: str) -> AgentRecord:
        """Activate, deactivate or archive an agent."""

    def remove(self, reference: str | int, *, files: bool = False) -> AgentRecord:
        """Delete an agent, with its pages if they lie in its folder; it can be restored."""

    def deleted_records(self) -> list[AgentRecord]:
        """List the deleted agents that can be restored, by id."""

    def restore(self, reference: str | int, slug: str = "") -> AgentRecord:
        """Restore a deleted agent under its slug or another one, with the same id."""


def start_without_pages(_record: AgentRecord) -> None:
    """Start an agent without pages."""


def ignore_outside_ids() -> int:
    """Return 0, as if no id were used outside the list."""
    return 0


def resolve_only_active(records: Sequence[AgentRecord]) -> AgentRecord:
    """Resolve the agent if a caller names none: the only active one."""
    active = [record for record in records if record.status == "active"]
    if len(active) > 1:
        raise AgentAmbiguous(tuple(record.slug for record in active))
    if not active:
        raise AgentMissing(None, tuple(record.slug for record in records))
    return active[0]


def list_readable_agents(agents: AgentList) -> Iterator[AgentRecord]:
    """List the agents whose records can be read; a damaged record hides no other one."""
    if agents.folders is None:
        yield from agents.records()
        return
    for slug in agents.folders.slugs():
        try:
            yield agents.resolve(slug)
        except LooseleafError:
            continue
