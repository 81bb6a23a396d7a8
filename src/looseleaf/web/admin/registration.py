"""Every built-in page: its name, its address below /admin, its views and its navigation entry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import AGENT
from looseleaf.web.admin.views import search, shortcuts, start
from looseleaf.web.admin.views.agents import access, bundle, overview
from looseleaf.web.admin.views.agents import settings as agent_settings
from looseleaf.web.admin.views.chat import conversations
from looseleaf.web.admin.views.memory import editor, history, journal, pages
from looseleaf.web.admin.views.operation import (
    audit,
    backups,
    bundle_approval,
    bundles,
    health,
    imports,
    people,
    requests,
    settings,
)
from looseleaf.web.admin.views.prompt import blocks, comparison
from looseleaf.web.admin.views.upkeep import lint, prompts, retention, runs
from looseleaf.web.admin.views.workflows import flows, job_details, jobs, pipelines, schedules

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.web.http.recent_requests import RecentRequests

LAYERED = "agents/{agent}/%s/{layer}/{file:path}"


def register_pages(site: AdminPages, recent: RecentRequests) -> None:
    """Register the pages that every workspace has; plugins may remove some or add their own."""
    site.register("agents", "", overview.list_agents, label="Agents", priority=10)
    site.register(
        "start",
        "start",
        start.show_steps,
        submit=start.write_fact,
        label="First steps",
        priority=90,
    )
    site.register("search", "search", search.search)
    site.register("shortcuts", "shortcuts", shortcuts.list_shortcuts)
    _register_agent_pages(site)
    _register_agent_settings(site)
    _register_workflows(site)
    _register_people(site)
    _register_upkeep(site)
    _register_operation(site, recent)


def _register_agent_settings(site: AdminPages) -> None:
    site.register(
        "new-agent", "new-agent", overview.show_form, submit=overview.create_agent, parent="agents"
    )
    site.register(
        "deleted-agents", "deleted-agents", overview.list_deleted, submit=overview.restore_agent,
        parent="agents",
    )  # fmt: skip
    site.register(
        "agent-settings", "agents/{agent}/settings", agent_settings.show_settings,
        submit=agent_settings.change_settings, label="Settings", section=AGENT, priority=80,
    )  # fmt: skip
    site.register(
        "access", "agents/{agent}/access", access.show_access, submit=access.change_access,
        label="Access", section=AGENT, priority=70,
    )  # fmt: skip
    site.register(
        "bundle", "agents/{agent}/bundle", bundle.preview_export, label="Export", section=AGENT,
        priority=75,
    )  # fmt: skip
    site.register(
        "bundle-download", "agents/{agent}/bundle/download", bundle.download_bundle, section=AGENT,
        parent="bundle",
    )  # fmt: skip


def _register_workflows(site: AdminPages) -> None:
    site.register(
        "pipelines", "agents/{agent}/pipelines", pipelines.list_pipelines,
        submit=pipelines.create_pipeline, label="Workflows", section=AGENT, priority=50,
    )  # fmt: skip
    site.register(
        "pipeline", "agents/{agent}/pipelines/{pipeline}", pipelines.show_pipeline,
        submit=pipelines.change_pipeline, section=AGENT, parent="pipelines", takes_file=True,
    )  # fmt: skip
    site.register(
        "flow", "agents/{agent}/flows/{flow}", flows.show_flow, submit=flows.change_flow,
        section=AGENT, parent="pipelines", takes_file=True,
    )  # fmt: skip
    _register_jobs(site)


def _register_jobs(site: AdminPages) -> None:
    site.register("jobs", "jobs", jobs.list_jobs, label="Jobs", priority=66)
    site.register("job-link", "jobs/{job}", jobs.show_job, submit=jobs.change_job, parent="jobs")
    site.register(
        "schedules", "schedules", schedules.list_schedules, submit=schedules.change_schedule,
        label="Schedules", priority=67,
    )  # fmt: skip
    site.register(
        "agent-jobs", "agents/{agent}/jobs", jobs.list_jobs, label="Jobs", section=AGENT,
        priority=52,
    )  # fmt: skip
    register_below = partial(site.register, section=AGENT, parent="agent-jobs")
    address = "agents/{agent}/jobs/{job}"
    register_below("job", address, jobs.show_job, submit=jobs.change_job)
    register_below("job-artifact", f"{address}/artifact", job_details.download_artifact)
    register_below("job-transcript", f"{address}/transcript", job_details.show_transcript)


def _register_people(site: AdminPages) -> None:
    site.register(
        "people", "people", people.list_people, submit=people.create_person, label="People",
        priority=60,
    )  # fmt: skip
    site.register(
        "person", "people/{user}", people.show_person, submit=people.change_person, parent="people"
    )


def _register_upkeep(site: AdminPages) -> None:
    site.register(
        "upkeep", "upkeep", runs.show_overview, submit=runs.change_upkeep, label="Upkeep",
        priority=68,
    )  # fmt: skip
    site.register(
        "upkeep-prompts", "upkeep/prompts", prompts.show_prompts, submit=prompts.change_prompt,
        parent="upkeep",
    )  # fmt: skip
    site.register(
        "retention", "retention", retention.show_retention, submit=retention.remove_data,
        parent="upkeep",
    )  # fmt: skip
    site.register(
        "agent-upkeep", "agents/{agent}/upkeep", runs.show_runs, submit=runs.change_runs,
        label="Upkeep", section=AGENT, priority=50,
    )  # fmt: skip
    site.register(
        "lint", "agents/{agent}/lint", lint.show_findings, submit=lint.apply_fix, label="Lint",
        section=AGENT, priority=55,
    )  # fmt: skip


def _register_operation(site: AdminPages, recent: RecentRequests) -> None:
    site.register(
        "settings", "settings", settings.list_settings, submit=settings.change_setting,
        label="Settings", priority=65,
    )  # fmt: skip
    site.register("audit", "audit", audit.list_audit, label="Audit", priority=70)
    site.register(
        "backups", "backups", backups.show_backups, submit=backups.create_backup, label="Backups",
        priority=73,
    )  # fmt: skip
    site.register(
        "import", "import", imports.show_import, submit=imports.submit_import, label="Import",
        priority=72, takes_file=True,
    )  # fmt: skip
    site.register(
        "bundles", "bundles", bundles.list_bundles, submit=bundles.change_bundles, label="Bundles",
        priority=72, takes_file=True,
    )  # fmt: skip
    site.register(
        "bundle-approval", "bundles/{agent}", bundle_approval.show_approval,
        submit=bundle_approval.decide_approval, parent="bundles",
    )  # fmt: skip
    site.register("health", "health", health.show_health, label="Health", priority=75)
    show_requests = partial(requests.list_requests, recent)
    site.register("requests", "requests", show_requests, label="Requests", priority=80)


def _register_agent_pages(site: AdminPages) -> None:
    site.register("agent", "agents/{agent}", overview.show_agent, section=AGENT, parent="pages")
    site.register(
        "pages", "agents/{agent}/pages", pages.list_pages, label="Pages", section=AGENT, priority=10
    )
    site.register("page", LAYERED % "pages", pages.read_page, section=AGENT, parent="pages")
    site.register(
        "edit", LAYERED % "edit", editor.edit_page, submit=editor.save_page, section=AGENT,
        parent="pages",
    )  # fmt: skip
    site.register(
        "history", LAYERED % "history", history.show_history, submit=history.restore_page,
        section=AGENT, parent="pages",
    )  # fmt: skip
    _register_prompt_pages(site)
    _register_chat_pages(site)


def _register_prompt_pages(site: AdminPages) -> None:
    site.register(
        "prompt", "agents/{agent}/prompt", blocks.show_prompt, label="What it sees", section=AGENT,
        priority=20,
    )  # fmt: skip
    site.register(
        "prompt-comparison", "agents/{agent}/prompt/compare", comparison.compare_prompts,
        section=AGENT, parent="prompt",
    )  # fmt: skip
    site.register(
        "journal", "agents/{agent}/journal", journal.show_journal, submit=journal.change_journal,
        label="Journal", section=AGENT, priority=30,
    )  # fmt: skip


def _register_chat_pages(site: AdminPages) -> None:
    site.register(
        "chat", "agents/{agent}/chat", conversations.list_conversations,
        submit=conversations.start_conversation, label="Conversations", section=AGENT, priority=40,
    )  # fmt: skip
    site.register(
        "conversation", "agents/{agent}/chat/{session}", conversations.show_conversation,
        submit=conversations.change_conversation, section=AGENT, parent="chat",
    )  # fmt: skip
    site.register(
        "conversation-export", "agents/{agent}/chat/{session}/export",
        conversations.export_conversation, section=AGENT, parent="chat",
    )  # fmt: skip
    site.register("conversation-link", "conversations/{session}", conversations.find_conversation)
