"""Settings of an agent: its name, its model, its policies with a preview, and its deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Forbidden, Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.web.admin.prompt_rules import describe_rule
from looseleaf.web.admin.views.agents.config_form import (
    build_config,
    describe_config,
    describe_form,
)

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.config_preview import ConfigPreview
    from looseleaf.plugins.admin_pages import Visit

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
    try:
        preview: ConfigPreview = visit.run(
            "looseleaf/preview-agent-config", agent=agent.slug, config=config
        )
    except Forbidden:
        return None
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
