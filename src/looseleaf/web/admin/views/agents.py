"""Agents: the list of all, settings of an agent, and access to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from looseleaf.access.principals import ROLES, WRITE_USER_PAGES
from looseleaf.catalog.tool_access import MODEL_TOOLS, list_tool_categories
from looseleaf.errors import Invalid, LooseleafError
from looseleaf.memory.pages import MAIN
from looseleaf.operations.agents import AgentSummary
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import DAY_SECONDS
from looseleaf.values import value
from looseleaf.web.admin.forms import read_selection
from looseleaf.web.admin.wording import ROLE_WORDS, describe_rule, describe_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from looseleaf.agents.config import AgentConfig
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.operations.agents import ConfigPreview
    from looseleaf.operations.tokens import TokenInfo
    from looseleaf.plugins.admin_pages import Visit


# Agents: the list of all, creating an agent, and restoring a deleted one.


MOST = 50  # on one page of the list
MOST_COUNTED = 200  # agents; above this number the list has no counts
OVER, TODAY, OFF = "over", "today", "off"
CHOICES = (("", "All"), (OVER, "Over budget"), (TODAY, "Changed today"), (OFF, "Not active"))


def list_agents(visit: Visit) -> Document | Redirect:
    """List the agents whose name or slug contains the words of the filter."""
    agents: list[AgentRecord] = visit.run("looseleaf/list-agents")
    words = visit.query.get("filter", "").strip().lower()
    show = visit.query.get("show", "")
    candidates = [
        agent for agent in agents if words in agent.slug.lower() or words in agent.name.lower()
    ]
    counts = _count(visit, agents) if len(agents) <= MOST_COUNTED else {}
    matches = _choose(visit, candidates, show)
    after = visit.query.get("after", "")
    rest = [agent for agent in matches if agent.slug > after]
    data = {
        "rows": _summarize(visit, rest[:MOST], authors=True),
        "count": len(agents),
        "matches": len(matches),
        "words": words,
        "show": show,
        "choices": CHOICES,
        "counts": counts,
        "next": rest[MOST - 1].slug if len(rest) > MOST else "",
        "may_create": may_create(visit),
        "today": _compute_day_start(visit),
        "is_fresh": len(agents) == 1 and _is_fresh(visit, agents[0].slug),
    }
    return Document("agents/overview.html", "Agents", data)


def _is_fresh(visit: Visit, slug: str) -> bool:
    """Return whether nobody has written to the agent's memory yet."""
    try:
        revisions = visit.run("looseleaf/page-history", file=MAIN, agent=slug)
    except LooseleafError:
        return False  # unknown without the history
    return all(revision.operation == "scaffold" for revision in revisions)


def may_create(visit: Visit) -> bool:
    """Return whether the signed-in person may create agents; the operation decides."""
    return visit.context.principal.can("manage_agents")


def _summarize(
    visit: Visit, agents: list[AgentRecord], *, authors: bool = False
) -> list[AgentSummary]:
    slugs = [agent.slug for agent in agents]
    summaries: list[AgentSummary] = visit.run(
        "looseleaf/summarize-agents", agents=slugs, authors=authors
    )
    return summaries


def _choose(visit: Visit, agents: list[AgentRecord], show: str) -> list[AgentRecord]:
    if show == OFF:
        return [agent for agent in agents if agent.status != "active"]
    if show not in (OVER, TODAY):
        return agents
    today = _compute_day_start(visit)
    slugs = {
        agent.slug
        for agent in _summarize(visit, agents)
        if (agent.over_budget if show == OVER else agent.changed >= today)
    }
    return [agent for agent in agents if agent.slug in slugs]


def _count(visit: Visit, agents: list[AgentRecord]) -> dict[str, int]:
    today = _compute_day_start(visit)
    summaries = _summarize(visit, agents)
    return {
        "": len(agents),
        OVER: sum(bool(summary.over_budget) for summary in summaries),
        TODAY: sum(summary.changed >= today for summary in summaries),
        OFF: sum(summary.status != "active" for summary in summaries),
    }


def _compute_day_start(visit: Visit) -> float:
    """Compute the start of the present day in UTC."""
    now = visit.context.clock()
    return now - now % DAY_SECONDS


def show_agent(visit: Visit) -> Document | Redirect:
    """Redirect to the pages of an agent."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    return Redirect(f"/admin/agents/{agent.slug}/pages")


def show_form(visit: Visit) -> Document | Redirect:
    """Show the form for a new agent."""
    data = {"may_create": may_create(visit)}
    return Document("agents/new.html", "New agent", data)


def create_agent(visit: Visit) -> Document | Redirect:
    """Create an agent, and redirect to its pages."""
    agent = visit.run(
        "looseleaf/create-agent",
        slug=visit.form.get("slug", "").strip(),
        name=visit.form.get("name", "").strip(),
    )
    notice = f"{agent.name} is created. Write its SOUL.md first, which says who it is."
    return Redirect(f"/admin/agents/{agent.slug}/pages", notice)


def list_deleted(visit: Visit) -> Document | Redirect:
    """List the deleted agents that can be restored."""
    agents = visit.run("looseleaf/list-deleted-agents")
    used_slugs = {agent.slug for agent in visit.run("looseleaf/list-agents")}
    data = {"agents": visit.cut(agents, MOST, name="agents"), "taken": used_slugs}
    return Document("agents/deleted.html", "Deleted agents", data)


def restore_agent(visit: Visit) -> Document | Redirect:
    """Restore a deleted agent."""
    agent = visit.run(
        "looseleaf/restore-agent",
        agent=visit.form.get("agent", ""),
        slug=visit.form.get("slug", "").strip(),
    )
    notice = f"{agent.name} is restored with its pages and history, without tokens and roles."
    return Redirect(f"/admin/agents/{agent.slug}/pages", notice)


# Access to an agent: who has which role, and its tokens; a new token is shown once.


ENDS = (("", "never"), ("1", "after a day"), ("30", "after 30 days"), ("365", "after a year"))
MOST_TOKENS = 200
ENDED = (
    "Programs and browsers that use it are refused at once. It cannot be made valid again; a new "
    "one can be made."
)


def show_access(visit: Visit) -> Document | Redirect:
    """Show the roles and the tokens, as far as the signed-in person may see them."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    is_admin = visit.context.principal.role_on(agent.id, agent.owner) == "admin"
    tokens = _list_tokens(visit, agent)
    data = {
        "agent": agent,
        "grants": visit.run("looseleaf/list-grants", agent=agent.slug) if is_admin else None,
        "tokens": None if tokens is None else visit.cut(tokens, MOST_TOKENS, name="tokens"),
        "is_admin": is_admin,
        "roles": ROLES,
        "role_words": ROLE_WORDS,
        "ends": ENDS,
        "describe_token": describe_token,
    }
    return Document("agents/access.html", "Access", data)


def _list_tokens(visit: Visit, agent: AgentRecord) -> list[TokenInfo] | None:
    """List the tokens, valid ones first, or None if they may not be seen."""
    if not visit.may("looseleaf/list-tokens", agent):
        return None
    tokens: list[TokenInfo] = visit.run("looseleaf/list-tokens", agent=agent.slug)
    return sorted(tokens, key=lambda token: (bool(token.ended), -token.created))


def change_access(visit: Visit) -> Document | Redirect:
    """Grant or revoke a role, create or revoke a token."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    form, address = visit.form, f"/admin/agents/{quote(agent.slug)}/access"
    action = form.get("action", "")
    if action == "grant":
        user, role = form.get("user", "").strip(), form.get("role", "")
        visit.run("looseleaf/grant-role", agent=agent.slug, user=user, role=role)
        return Redirect(address, f"{user} is {role} of {agent.name} from now on.")
    if action == "take":
        user = form.get("user", "")
        consequence = (
            f"{user} can no longer open {agent.name}, unless another right allows it. You can give "
            "the role again."
        )
        visit.ask(f"Take away the role of {user}?", consequence, button="Take it away")
        visit.run("looseleaf/revoke-role", agent=agent.slug, user=user)
        return Redirect(address, f"The role of {user} on {agent.name} is taken away.")
    if action == "revoke":
        visit.ask("End this token?", ENDED, button="End it")
        visit.run("looseleaf/revoke-token", id=form.get("id", ""))
        return Redirect(address, "The token is ended. Programs that use it are refused at once.")
    if action == "create":
        return _create_token(visit, agent.slug)
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def _create_token(visit: Visit, agent: str) -> Document:
    """Create a token and show its text, which no address and no log contains."""
    form = visit.form
    rights = [name for name in ("chat", WRITE_USER_PAGES) if form.get(f"can-{name}")]
    days = form.get("days", "")
    token = visit.run(
        "looseleaf/create-token",
        agent=agent,
        label=form.get("label", "").strip(),
        role=form.get("role") or None,
        capabilities=rights,
        expires_in=float(days) * DAY_SECONDS if days.isdecimal() else None,
    )
    record = visit.run("looseleaf/show-agent", agent=agent)
    data = {
        "agent": record,
        "token": token,
        "base": visit.base,
        "sentence": describe_token(token),
    }
    return Document("agents/token_created.html", "The new token", data)


# The form of an agent's configuration: its fields from the JSON, and the JSON from its fields.


MODES = ("default", "chat", "pipeline", "system")
ALL = "default"  # the choice that restricts nothing
PAGE, TOOL, CATEGORY, MODEL = "page:", "tool:", "category:", "model:"


@value
class Checkbox:
    """One checkbox of a list."""

    name: str
    is_chosen: bool


@value(kw_only=True)
class ConfigFields:
    """The fields of the form."""

    models: tuple[tuple[str, str], ...]  # mode and model
    has_daily: bool
    recent_days: int
    memory_mode: str
    pages: tuple[Checkbox, ...]
    other_pages: tuple[str, ...]
    binds_access: bool
    tool_mode: str
    tools: tuple[Checkbox, ...]
    categories: tuple[Checkbox, ...]
    other_tools: tuple[str, ...]
    outside_tools: tuple[str, ...]


def describe_config(context: Context, config: AgentConfig, pages: Iterable[str]) -> ConfigFields:
    """Return the fields of a form that shows a configuration."""
    memory, tools, daily = config.memory_policy, config.tool_policy, config.daily_memory
    policy_pages = memory.deny or memory.allow_only
    page_names = list(dict.fromkeys(pages))
    models = {mode: config.models.get(mode, "") for mode in (*MODES, *config.models)}
    return ConfigFields(
        models=tuple(models.items()),
        has_daily=daily.enabled,
        recent_days=daily.recent_days,
        memory_mode=memory.mode,
        pages=tuple(Checkbox(name, name in policy_pages) for name in page_names),
        other_pages=tuple(name for name in policy_pages if name not in page_names),
        binds_access=memory.binds == "access",
        tool_mode=tools.mode if config.has_tool_policy else ALL,
        tools=tuple(Checkbox(name, name in tools.tools) for name in MODEL_TOOLS),
        categories=tuple(
            Checkbox(name, name in tools.categories)
            for name in list_tool_categories(context.parts.operations())
        ),
        other_tools=tuple(name for name in tools.tools if name not in MODEL_TOOLS),
        outside_tools=tools.outside_tools,
    )


def describe_form(context: Context, form: Mapping[str, str], pages: Iterable[str]) -> ConfigFields:
    """Return the fields as they were sent, even if they are invalid."""
    models = {mode: form.get(MODEL + mode, "") for mode in MODES}
    categories = list_tool_categories(context.parts.operations())
    return ConfigFields(
        models=tuple(models.items()),
        has_daily="daily" in form,
        recent_days=int(days)
        if (days := form.get("recent-days", "")).isdecimal() and len(days) < 5
        else 3,
        memory_mode=form.get("memory-mode", ALL),
        pages=tuple(Checkbox(name, PAGE + name in form) for name in dict.fromkeys(pages)),
        other_pages=tuple(_split_lines(form, "other-pages")),
        binds_access="binds" in form,
        tool_mode=form.get("tool-mode", ALL),
        tools=tuple(Checkbox(name, TOOL + name in form) for name in MODEL_TOOLS),
        categories=tuple(Checkbox(name, CATEGORY + name in form) for name in categories),
        other_tools=tuple(_split_lines(form, "other-tools")),
        outside_tools=tuple(_split_lines(form, "outside-tools")),
    )


def build_config(form: Mapping[str, str], config: AgentConfig) -> dict[str, Any]:
    """Return the keys of a configuration that a form sets; None removes a key."""
    return {
        "models": _build_models(form, config),
        "daily_memory": _build_daily(form),
        "memory_policy": _build_memory_policy(form),
        "tool_policy": _build_tool_policy(form, config),
    }


def _build_models(form: Mapping[str, str], config: AgentConfig) -> dict[str, str] | None:
    models = dict(config.models)
    for name, text in form.items():
        if name.startswith(MODEL):
            models[name.removeprefix(MODEL)] = text.strip()
    return {mode: model for mode, model in models.items() if model} or None


def _build_daily(form: Mapping[str, str]) -> dict[str, Any]:
    days = form.get("recent-days", "").strip() or "3"
    if not days.isdecimal() or len(days) > 4:
        raise Invalid(f"The number of days is a whole number, not {days!r}.")
    return {"enabled": "daily" in form, "recent_days": int(days)}


def _build_memory_policy(form: Mapping[str, str]) -> dict[str, Any] | None:
    mode = form.get("memory-mode", ALL)
    binds = {"binds": "access"} if "binds" in form else {}
    if mode == ALL:
        return {"mode": ALL, **binds} if binds else None
    return {
        "mode": mode,
        mode: [*_list_checked(form, PAGE), *_split_lines(form, "other-pages")],
        **binds,
    }


def _build_tool_policy(form: Mapping[str, str], config: AgentConfig) -> dict[str, Any] | None:
    mode = form.get("tool-mode", ALL)
    if mode == ALL:
        return None
    outside = _split_lines(form, "outside-tools")
    return {
        "mode": mode,
        "tools": [*_list_checked(form, TOOL), *_split_lines(form, "other-tools")],
        "categories": read_selection(form, CATEGORY, config.tool_policy.categories),
        **({"outside_tools": outside} if outside else {}),
    }


def _list_checked(form: Mapping[str, str], prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in form if name.startswith(prefix)]


def _split_lines(form: Mapping[str, str], name: str) -> list[str]:
    return [line.strip() for line in form.get(name, "").splitlines() if line.strip()]


# Settings of an agent: its name, its model, its policies with a preview, and its deletion.


MODE_FIELD = "memory-mode"  # of the form of the configuration, and of no other
STATUSES = {
    "active": ("Activate", "answers and can be written to by its tokens"),
    "inactive": ("Deactivate", "is switched off for now"),
    "archived": ("Archive", "is put away and listed apart"),
}


def show_settings(visit: Visit) -> Document | Redirect:
    """Show the forms; after a refusal, with the typed values."""
    agent: AgentRecord = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    if visit.problem is not None and MODE_FIELD in visit.form:
        return _build_document(visit, agent, None)
    return _build_document(visit, agent, _preview(visit, agent, {}))


def _build_document(visit: Visit, agent: AgentRecord, preview: ConfigPreview | None) -> Document:
    paths = visit.run("datamachine/list-injectable-memory-files", agent=agent.slug)
    pages = [page.file for page in paths]
    if MODE_FIELD in visit.form:
        fields = describe_form(visit.context, visit.form, pages)
    else:
        fields = describe_config(visit.context, agent.configuration, pages)
    data = {
        "agent": agent,
        "fields": fields,
        "preview": preview,
        "describe_rule": describe_rule,
        "statuses": {name: words for name, words in STATUSES.items() if name != agent.status},
        "reason": _explain_refusal(visit, agent),
        "typed": visit.form,
    }
    return Document("agents/settings.html", "Settings", data)


def _preview(visit: Visit, agent: AgentRecord, config: dict[str, object]) -> ConfigPreview | None:
    """Preview a configuration, or None if the signed-in person may not change it."""
    if not visit.may("looseleaf/preview-agent-config", agent):
        return None
    preview: ConfigPreview = visit.run(
        "looseleaf/preview-agent-config", agent=agent.slug, config=config
    )
    return preview


def _explain_refusal(visit: Visit, agent: AgentRecord) -> str:
    """Explain why the signed-in person cannot change the settings, or "" if they can."""
    principal = visit.context.principal
    if principal.role_on(agent.id, agent.owner) == "admin":
        return ""
    return f"You may read what {agent.name} knows. Its settings are changed by its admins."


def change_settings(visit: Visit) -> Document | Redirect:
    """Submit one of the forms, by the button that was pressed."""
    agent: AgentRecord = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    action = visit.form.get("action", "")
    if action == "preview":
        config = build_config(visit.form, agent.configuration)
        return _build_document(visit, agent, _preview(visit, agent, config))
    if action == "rename":
        return _rename(visit, agent)
    if action == "delete":
        return _delete(visit, agent)
    if action in STATUSES:
        visit.run("looseleaf/set-agent-status", agent=agent.slug, status=action)
        return Redirect(_build_address(agent.slug), f"{agent.name} is {action} now.")
    visit.run(
        "looseleaf/configure-agent",
        agent=agent.slug,
        config=build_config(visit.form, agent.configuration),
    )
    notice = f"Saved. {agent.name} follows these settings from its next request on."
    return Redirect(_build_address(agent.slug), notice)


def _rename(visit: Visit, agent: AgentRecord) -> Redirect:
    agent = visit.run(
        "looseleaf/rename-agent",
        agent=agent.slug,
        slug=visit.form.get("slug", "").strip(),
        name=visit.form.get("name", "").strip(),
    )
    notice = f"Renamed. Its pages, history and tokens now belong to {agent.slug}."
    return Redirect(_build_address(agent.slug), notice)


def _delete(visit: Visit, agent: AgentRecord) -> Redirect:
    if visit.form.get("confirm", "").strip() != agent.slug:
        raise Invalid(f"Nothing was deleted: type {agent.slug} to confirm.")
    visit.run("looseleaf/delete-agent", agent=agent.slug, files=bool(visit.form.get("files")))
    notice = f"{agent.name} is deleted, and its tokens and roles are ended. It can be brought back."
    return Redirect("/admin", notice)


def _build_address(slug: str) -> str:
    return f"/admin/agents/{slug}/settings"
