"""The pages of the core: name, address below /admin, views and navigation entry of each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import AGENT
from looseleaf.web.admin.views import agents, editor, journal, operation, pages, prompt, start

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.web.http.request_log import RecentRequests

ADMINISTRATION = "administration"
LAYERED = "agents/{agent}/%s/{layer}/{file:path}"


def register_pages(site: AdminPages, recent: RecentRequests) -> None:
    """Register the pages of the core; features and plugins add theirs, or remove some."""
    site.register("agents", "", agents.list_agents, label="Agents", priority=10)
    site.register(
        "start",
        "start",
        start.show_steps,
        submit=start.write_fact,
        label="First steps",
        priority=90,
        needs="memory_long_term_add",
    )
    site.register("search", "search", start.search)
    site.register("shortcuts", "shortcuts", start.list_shortcuts)
    _register_agent_pages(site)
    _register_agent_settings(site)
    _register_people(site)
    _register_operation(site, recent)


def _register_agent_settings(site: AdminPages) -> None:
    site.register(
        "new-agent", "new-agent", agents.show_form, submit=agents.create_agent, parent="agents"
    )
    site.register(
        "deleted-agents", "deleted-agents", agents.list_deleted, submit=agents.restore_agent,
        parent="agents",
    )  # fmt: skip
    site.register(
        "agent-settings", "agents/{agent}/settings", agents.show_settings,
        submit=agents.change_settings, label="Settings", section=AGENT, priority=80,
        needs="looseleaf/configure-agent",
    )  # fmt: skip
    site.register(
        "access", "agents/{agent}/access", agents.show_access, submit=agents.change_access,
        label="Access", section=AGENT, priority=70, needs="looseleaf/list-tokens",
    )  # fmt: skip


def _register_people(site: AdminPages) -> None:
    site.register(
        "people", "people", operation.list_people, submit=operation.create_person, label="People",
        priority=60, group=ADMINISTRATION, needs="looseleaf/list-users",
    )  # fmt: skip
    site.register(
        "person",
        "people/{user}",
        operation.show_person,
        submit=operation.change_person,
        parent="people",
    )


def _register_operation(site: AdminPages, recent: RecentRequests) -> None:
    site.register(
        "settings", "settings", operation.list_settings, submit=operation.change_setting,
        label="Settings", priority=65, group=ADMINISTRATION, needs="looseleaf/list-settings",
    )  # fmt: skip
    site.register(
        "audit", "audit", operation.list_audit, label="Audit", priority=70, group=ADMINISTRATION,
        needs="looseleaf/list-audit",
    )  # fmt: skip
    site.register(
        "health", "health", operation.show_health, label="Health", priority=75,
        group=ADMINISTRATION, needs="looseleaf/check-workspace",
    )  # fmt: skip
    show_requests = partial(operation.list_requests, recent)
    site.register(
        "requests", "requests", show_requests, label="Requests", priority=80,
        group=ADMINISTRATION, needs="looseleaf/list-audit",
    )  # fmt: skip


def _register_agent_pages(site: AdminPages) -> None:
    site.register("agent", "agents/{agent}", agents.show_agent, section=AGENT, parent="pages")
    site.register(
        "pages",
        "agents/{agent}/pages",
        pages.list_pages,
        label="Pages",
        section=AGENT,
        priority=10,
        group="memory",
    )
    site.register(
        "page", LAYERED % "pages", pages.read_page, submit=pages.change_page, section=AGENT,
        parent="pages",
    )  # fmt: skip
    site.register(
        "edit", LAYERED % "edit", editor.edit_page, submit=editor.save_page, section=AGENT,
        parent="pages",
    )  # fmt: skip
    site.register(
        "history", LAYERED % "history", pages.show_history, submit=pages.restore_page,
        section=AGENT, parent="pages",
    )  # fmt: skip
    _register_prompt_pages(site)


def _register_prompt_pages(site: AdminPages) -> None:
    site.register(
        "prompt", "agents/{agent}/prompt", prompt.show_prompt, label="What it sees", section=AGENT,
        priority=20, group="memory",
    )  # fmt: skip
    site.register(
        "prompt-comparison", "agents/{agent}/prompt/compare", prompt.compare_prompts,
        section=AGENT, parent="prompt",
    )  # fmt: skip
    site.register(
        "journal", "agents/{agent}/journal", journal.show_journal, submit=journal.change_journal,
        label="Journal", section=AGENT, priority=30, group="memory",
    )  # fmt: skip
