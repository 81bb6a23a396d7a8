"""A workspace with something on every page of the admin site, and the addresses of all of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape
from urllib.parse import urljoin

from looseleaf.catalog.dispatch import invoke
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.times import DAY_SECONDS, format_date
from tests.features.bundles.agents_of import encode, files_of
from tests.web.fixtures import Site

MEMORY = """# Agent Memory

## State
- Content calendar migration: in progress
- SEO audit: completed 2026-02-20

## Site Knowledge
- WordPress at /var/www/example.com
- Custom theme: flavor ([its docs](https://example.com/docs))

## Lessons Learned
- WP-CLI needs --allow-root on this server
- Image uploads fail above 5 MB
"""

NEWS = {"target": "section", "file": "MEMORY.md", "section": "News", "template": "- {{content}}"}

# Every page of ours, by the name that its picture has.
ADDRESSES = {
    "agents": "/admin",
    "pages": "/admin/agents/ada/pages",
    "page": "/admin/agents/ada/pages/agent/MEMORY.md",
    "edit": "/admin/agents/ada/edit/agent/MEMORY.md",
    "history": "/admin/agents/ada/history/agent/MEMORY.md",
    "generated": "/admin/agents/ada/pages/shared/SITE.md",
    "prompt": "/admin/agents/ada/prompt",
    "compare": "/admin/agents/ada/prompt/compare?other_agent=wiki-builder&other_mode=pipeline",
    "journal": "/admin/agents/ada/journal",
    "journal-search": "/admin/agents/ada/journal?q=deploy",
    "chat": "/admin/agents/ada/chat",
    "pipelines": "/admin/agents/ada/pipelines",
    "pipeline": "/admin/agents/ada/pipelines/1",
    "flow": "/admin/agents/ada/flows/1",
    "agent-jobs": "/admin/agents/ada/jobs",
    "job": "/admin/agents/ada/jobs/1",
    "jobs": "/admin/jobs",
    "schedules": "/admin/schedules",
    "search": "/admin/search?q=upload",
    "start": "/admin/start",
    "new-agent": "/admin/new-agent",
    "deleted-agents": "/admin/deleted-agents",
    "agent-settings": "/admin/agents/ada/settings",
    "access": "/admin/agents/ada/access",
    "bundle": "/admin/agents/ada/bundle?profile=backup",
    "bundles": "/admin/bundles",
    "bundle-approval": "/admin/bundles/wiki-builder",
    "people": "/admin/people",
    "person": "/admin/people/eve",
    "upkeep": "/admin/upkeep",
    "upkeep-prompts": "/admin/upkeep/prompts",
    "retention": "/admin/retention?preview=yes",
    "agent-upkeep": "/admin/agents/ada/upkeep",
    "lint": "/admin/agents/ada/lint",
    "settings": "/admin/settings",
    "audit": "/admin/audit",
    "backups": "/admin/backups",
    "import": "/admin/import",
    "health": "/admin/health",
    "requests": "/admin/requests",
    "shortcuts": "/admin/shortcuts",
}


def find_target(form: str, path: str) -> str:
    """Return the address that a form of the page at `path` is sent to."""
    action = re.search(r'\saction="([^"]*)"', form[: form.index(">")])
    return urljoin(path, unescape(action[1]) if action else "").partition("#")[0] or path


def fill(site: Site) -> None:
    """Write what a workspace has after a few days of use."""
    for slug in ("night-editor", "wiki-builder"):
        site.run("looseleaf/create-agent", slug=slug)
    place = {"file": "MEMORY.md", "agent": "ada"}
    site.run("datamachine/write-agent-file", content=MEMORY, **place)
    site.clock.ahead += 3600
    line = {"section": "Lessons Learned", "content": '- Category "Reviews" has ID 14', **place}
    in_chat = site.workspace.acting(actor="ada", surface="chat")
    invoke(in_chat, "datamachine/update-agent-memory", {**line, "mode": "append"})
    site.clock.ahead += 86_400
    site.run(
        "datamachine/update-agent-memory",
        section="State",
        content="- Content calendar migration: done\n- SEO audit: completed 2026-02-20",
        mode="set",
        **place,
    )
    site.clock.ahead += 540
    fill_people(site)
    fill_journal(site, days=3)
    fill_workflows(site)
    fill_jobs(site)
    fill_approvals(site)


def fill_approvals(site: Site) -> None:
    """Let a part of a bundle wait for approval."""
    files = files_of(site.run("looseleaf/export-bundle", agent="wiki-builder")["data"])
    files["memory/agent/SOUL.md"] += b"\n## Voice\n\nShort sentences, no adjectives.\n"
    site.run("looseleaf/upgrade-bundle", data=encode(files), agent="wiki-builder")


def fill_workflows(site: Site) -> None:
    """Add a pipeline with steps, memory and a file, and a flow of it."""
    page = {"file": "content-strategy.md", "content": "Short sentences.\n", "agent": "ada"}
    site.run("datamachine/write-agent-file", **page)
    feed = {"source": "text", "text": "The news of today."}
    steps = [
        {"type": "input", "label": "Feed", "settings": feed},
        {"type": "ai", "label": "Write"},
    ]
    site.run(
        "looseleaf/create-pipeline",
        agent="ada",
        name="Daily Music News",
        system_prompt="Write the news of the day.",
        memory_files=["content-strategy.md"],
        steps=steps,
    )
    site.run("datamachine/upload-flow-file", pipeline=1, file="style.txt", data="U2hvcnQu")
    schedule = {"interval": "daily"}
    site.run("looseleaf/create-flow", pipeline=1, name="Morning edition", schedule=schedule)


def fill_jobs(site: Site) -> None:
    """Submit three jobs: one that writes to memory, one of the flow, and one that is cancelled."""
    text = "The label sends the new album on Friday."
    steps = [
        {"type": "input", "label": "Mail", "settings": {"source": "text", "text": text}},
        {"type": "memory_update", "label": "Remember", "settings": NEWS},
    ]
    site.run("datamachine/execute-workflow", agent="ada", steps=steps, label="Mail of the label")
    site.run("datamachine/execute-workflow", flow=1)
    site.run("datamachine/execute-workflow", agent="ada", steps=steps, label="The same again")
    site.run("looseleaf/cancel-job", job=3)


def run_jobs(site: Site) -> None:
    """Have a worker run the jobs that wait, and wait for their end."""
    jobs = jobs_of(site.workspace)
    jobs.start_worker()
    wait_until(lambda: all(jobs.jobs.find(number).is_final for number in (1, 2)))
    jobs.close()


def wait_until(is_true: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for what another thread does."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def fill_people(site: Site) -> None:
    """Add people with roles, tokens, an agent that is over budget, and one that was deleted."""
    eve = {"login": "eve", "name": "Eve Adler", "capabilities": ["chat"]}
    invoke(site.workspace.context, "looseleaf/create-user", eve)
    site.run("looseleaf/create-user", login="mallory")
    site.run("looseleaf/update-user", user="mallory", status="disabled")
    site.run("looseleaf/grant-role", agent="ada", user="eve", role="operator")
    site.run("looseleaf/create-token", agent="ada", label="the script on the build server")
    old = site.run("looseleaf/create-token", agent="ada", label="last year's laptop", role="viewer")
    site.run("looseleaf/revoke-token", id=old["id"])
    notes = "".join(f"- Page {number} has no summary yet\n" for number in range(310))
    site.run("datamachine/write-agent-file", file="MEMORY.md", agent="wiki-builder", content=notes)
    site.run("looseleaf/set-agent-status", agent="night-editor", status="archived")
    site.run("looseleaf/create-agent", slug="drafts")
    site.run("looseleaf/delete-agent", agent="drafts", files=True)


def fill_journal(site: Site, *, days: int) -> None:
    """Write some days of the journal, on most of the last ones, some at length."""
    lines = [
        "- Checked the queue: nothing waits",
        "- The deploy took four minutes",
        "- Moved the images to the new server",
        "- Asked for the new logo",
    ]
    for number in range(days):
        if number % 7 in (5, 6) or number % 11 == 3:
            continue
        date = format_date(site.clock() - number * DAY_SECONDS)
        text = "\n".join((lines * 3)[number % 3 : number % 3 + 1 + number * number % 8])
        site.run("datamachine/daily-memory-write", date=date, content=text, agent="ada")
