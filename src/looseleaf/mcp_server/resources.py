"""Pages as resources: the list of pages, URI templates, and reading a page."""

from __future__ import annotations

from looseleaf.catalog.dispatch import run_operation
from looseleaf.catalog.resolution import list_visible_agents, scope_of
from looseleaf.mcp_server.page_uris import SCHEME, build_address, media_type_of, parse_address
from looseleaf.memory.day import Day
from looseleaf.times import format_time
from looseleaf.values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Scope
    from looseleaf.operations.files import PageInfo

PAGE = 200  # the number of resources in one answer, or a few more
RECENT_DAYS = 31  # of a journal; earlier days are read by the template
_TEMPLATES = (
    (
        "agents/{agent}/{+file}",
        "page of an agent",
        "SOUL.md, MEMORY.md and an agent's other pages.",
    ),
    (
        f"agents/{{agent}}/{Day('{year}', '{month}', '{day}').filename}",
        "day of a journal",
        "What happened on one day, in UTC.",
    ),
    ("users/{user}/{+file}", "page of a user", "USER.md and other pages about a person."),
    ("shared/{+file}", "shared page", "SITE.md, RULES.md and what else all agents share."),
    ("network/{+file}", "page of the network", "What several sites share."),
)


def list_templates(context: Context) -> list[dict[str, Any]]:
    """List the URI templates; for a client that is bound to an agent, they name that agent."""
    bound_agent = context.principal.agent_id
    agent = context.parts.agents.resolve(bound_agent).slug if bound_agent else "{agent}"
    user = str(context.principal.user_id) if bound_agent else "{user}"
    return [
        {
            "uriTemplate": SCHEME + shape.replace("{agent}", agent).replace("{user}", user),
            "name": name,
            "description": description,
            "mimeType": "text/markdown",
        }
        for shape, name, description in _TEMPLATES
    ]


def list_resources(
    context: Context, cursor: str | None = None
) -> tuple[list[dict[str, Any]], str | None]:
    """List readable pages, some agents at a time, and the cursor of the next list."""
    agents = [agent.slug for agent in list_visible_agents(context)]
    start = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() else 0
    resources = [] if cursor else _list_shared_pages(context)
    for position, slug in enumerate(agents[start:], start + 1):
        resources += _list_pages(context, "agent", slug, agent=slug)
        resources += _list_days(context, slug)
        if len(resources) >= PAGE and position < len(agents):
            return resources, str(position)
    return resources, None


def _list_shared_pages(context: Context) -> list[dict[str, Any]]:
    user = context.principal.user_id
    return [
        *_list_pages(context, "shared"),
        *_list_pages(context, "network"),
        *_list_pages(context, "user", user, user=user),
    ]


def _list_pages(
    context: Context, layer: str, owner: str | int = "", **selection: str | int
) -> list[dict[str, Any]]:
    entries: Any = run_operation(
        context, "datamachine/list-agent-files", {"layer": layer, **selection}
    )
    return [_build_resource(entry, owner) for entry in entries]


def _build_resource(page: PageInfo, owner: str | int) -> dict[str, Any]:
    last_modified = format_time(page.updated, "+00:00")
    owner_label = f"{page.layer} {owner}".strip()
    return {
        "uri": build_address(page.layer, owner, page.file),
        "name": page.file,
        **({"title": page.label} if page.label else {}),
        "description": f"Page of {owner_label}" if owner else f"Page of all ({page.layer})",
        "mimeType": media_type_of(page.file),
        "size": page.bytes,
        "annotations": {"lastModified": last_modified},
    }


def _list_days(context: Context, slug: str) -> list[dict[str, Any]]:
    months: Any = run_operation(context, "datamachine/daily-memory-list", {"agent": slug})
    days = [
        Day(month[:4], month[5:], number)
        for month, numbers in months.items()
        for number in sorted(numbers, reverse=True)
    ]
    return [
        {
            "uri": build_address("agent", slug, day.filename),
            "name": day.filename,
            "description": f"Journal of {slug}, {day}",
            "mimeType": "text/markdown",
        }
        for day in days[:RECENT_DAYS]
    ]


def read_resource(context: Context, uri: str) -> dict[str, Any]:
    """Read the page at an address."""
    file, page_owner = parse_address(uri)
    selection = {name: part for name, part in as_dict(page_owner).items() if part is not None}
    page: Any = run_operation(context, "datamachine/get-agent-memory", {"file": file, **selection})
    return {"uri": uri, "mimeType": media_type_of(file), "text": page.content}


def resolve_scope(context: Context, uri: str) -> Scope:
    """Resolve the page at an address; raise if the principal may not read it."""
    file, page_owner = parse_address(uri)
    return scope_of(context.with_permission("read"), file, page_owner)
