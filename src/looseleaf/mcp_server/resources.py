"""Pages as resources: which there are, templates for the others, and reading one."""

from __future__ import annotations

from datetime import UTC, datetime

from looseleaf.mcp_server.addresses import SCHEME, address, media_type, parsed
from looseleaf.operations.context import scope_of, visible_agents
from looseleaf.operations.door import perform
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.memory.scope import Scope
    from looseleaf.operations.context import Context
    from looseleaf.operations.files import PageInfo

PAGE = 200  # so many resources in one answer, or a few more
RECENT_DAYS = 31  # of a journal; a template reaches the others
_TEMPLATES = (
    (
        "agents/{agent}/{+file}",
        "page of an agent",
        "SOUL.md, MEMORY.md and an agent's other pages.",
    ),
    (
        "agents/{agent}/daily/{year}/{month}/{day}.md",
        "day of a journal",
        "What happened on one day, in UTC.",
    ),
    ("users/{user}/{+file}", "page of a user", "USER.md and other pages about a person."),
    ("shared/{+file}", "shared page", "SITE.md, RULES.md and what else all agents share."),
    ("network/{+file}", "page of the network", "What several sites share."),
)


def templates(context: Context) -> list[dict[str, Any]]:
    """Give the shapes of addresses; where one agent is meant, with its name in them."""
    bound = context.principal.agent_id
    agent = context.agents.resolve(bound).slug if bound else "{agent}"
    user = str(context.principal.user_id) if bound else "{user}"
    return [
        {
            "uriTemplate": SCHEME + shape.replace("{agent}", agent).replace("{user}", user),
            "name": name,
            "description": description,
            "mimeType": "text/markdown",
        }
        for shape, name, description in _TEMPLATES
    ]


def listed(context: Context, cursor: str | None = None) -> tuple[list[dict[str, Any]], str | None]:
    """List pages that one may read, some agents at a time, and where to go on."""
    agents = [one.slug for one in visible_agents(context)]
    first = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() else 0
    found = [] if cursor else _shared(context)
    for place, slug in enumerate(agents[first:], first + 1):
        found += _pages(context, "agent", slug, agent=slug)
        found += _days(context, slug)
        if len(found) >= PAGE and place < len(agents):
            return found, str(place)
    return found, None


def _shared(context: Context) -> list[dict[str, Any]]:
    user = context.principal.user_id
    return [
        *_pages(context, "shared"),
        *_pages(context, "network"),
        *_pages(context, "user", user, user=user),
    ]


def _pages(
    context: Context, layer: str, owner: str | int = "", **whose: str | int
) -> list[dict[str, Any]]:
    entries: Any = perform(context, "datamachine/list-agent-files", {"layer": layer, **whose})
    return [_resource(one, owner) for one in entries]


def _resource(page: PageInfo, owner: str | int) -> dict[str, Any]:
    changed = datetime.fromtimestamp(page.updated, UTC).isoformat(timespec="seconds")
    whose = f"{page.layer} {owner}".strip()
    return {
        "uri": address(page.layer, owner, page.file),
        "name": page.file,
        **({"title": page.label} if page.label else {}),
        "description": f"Page of {whose}" if owner else f"Page of all ({page.layer})",
        "mimeType": media_type(page.file),
        "size": page.bytes,
        "annotations": {"lastModified": changed},
    }


def _days(context: Context, slug: str) -> list[dict[str, Any]]:
    months: Any = perform(context, "datamachine/daily-memory-list", {"agent": slug})
    days = [
        f"{month}/{day}"
        for month, numbers in months.items()
        for day in sorted(numbers, reverse=True)
    ]
    return [
        {
            "uri": address("agent", slug, f"daily/{day}.md"),
            "name": f"daily/{day}.md",
            "description": f"Journal of {slug}, {day.replace('/', '-')}",
            "mimeType": "text/markdown",
        }
        for day in days[:RECENT_DAYS]
    ]


def read(context: Context, uri: str) -> dict[str, Any]:
    """Read the page at an address."""
    file, where = parsed(uri)
    whose = {name: one for name, one in as_dict(where).items() if one is not None}
    page: Any = perform(context, "datamachine/get-agent-memory", {"file": file, **whose})
    return {"uri": uri, "mimeType": media_type(file), "text": page.content}


def scope_at(context: Context, uri: str) -> Scope:
    """Find the page at an address, if one may read it."""
    file, where = parsed(uri)
    return scope_of(context.during("read"), file, where)
