"""Hostile text in every field that shows memory: no dialog, no request off the origin, no error."""

from __future__ import annotations

from looseleaf.catalog.dispatch import invoke
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.times import format_date
from tests.conftest import sample
from tests.web.admin.fixtures import OpenTab
from tests.web.admin.hostile import EVERYTHING, HOSTILE
from tests.web.admin.pages import ADDRESSES, NEWS, fill, wait_until
from tests.web.fixtures import Opens, Site

JOB = "/admin/agents/ada/jobs/4"
NAME = '"><img src=x onerror=alert(1)>'


def poison(site: Site) -> None:
    """Put hostile text into pages, sections, names, reasons and conversations."""
    rename = {"agent": "ada", "slug": "ada", "name": NAME}
    invoke(site.workspace.context, "looseleaf/rename-agent", rename)
    for file, layer in (("MEMORY.md", "agent"), ("USER.md", "user"), ("RULES.md", "shared")):
        arguments = {"file": file, "layer": layer, "agent": "ada"}
        text = f"{EVERYTHING}\n\n## {NAME}\n- upload\n"
        site.run("datamachine/write-agent-file", content=text, **arguments)
    context = site.workspace.acting(actor=NAME, reason=HOSTILE[0])
    page = site.workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    change = context.change("write", reason=HOSTILE[1])
    site.workspace.pages.append(page, f"- {HOSTILE[0]} upload {HOSTILE[1]}", change=change)
    poison_workflows(site)
    poison_job(site)
    poison_operation(site)


def poison_workflows(site: Site) -> None:
    """Put hostile text into the names, tasks, labels, settings and prompts of a workflow."""
    settings = {"source": "text", "text": EVERYTHING}
    pipeline = {
        "pipeline": 1,
        "name": HOSTILE[0],
        "system_prompt": EVERYTHING,
        "steps": [{"type": "input", "label": HOSTILE[1], "settings": settings}],
    }
    site.run("looseleaf/update-pipeline", **pipeline)
    prompts = {"flow": 1, "name": HOSTILE[0], "prompt_queue": [EVERYTHING]}
    site.run("looseleaf/update-flow", **prompts)


def poison_job(site: Site) -> None:
    """Run a job with hostile text in its label, steps, packets and transcript."""
    settings = {"source": "text", "text": EVERYTHING}
    steps = [
        {"type": "input", "label": HOSTILE[1], "settings": settings},
        {"type": "ai", "label": NAME},
        {"type": "memory_update", "settings": {**NEWS, "section": NAME}},
    ]
    site.run("datamachine/execute-workflow", agent="ada", steps=steps, label=HOSTILE[0])
    runtime = jobs_of(site.workspace)
    runtime.start_worker()
    wait_until(lambda: runtime.jobs.find(4).is_final)
    runtime.close()
    assert runtime.jobs.find(4).status == "completed"


def poison_operation(site: Site) -> None:
    """Put hostile text into people, tokens, the journal, models, the audit and the request log."""
    context = site.workspace.context
    invoke(context, "looseleaf/update-user", {"user": "eve", "name": NAME})
    site.run("looseleaf/create-token", agent="ada", label=NAME)
    site.run("looseleaf/create-token", agent="ada", label=HOSTILE[0])
    day = {"date": format_date(site.clock()), "content": f"{EVERYTHING}\n\n- deploy {NAME}"}
    site.run("datamachine/daily-memory-write", agent="ada", mode="append", **day)
    site.run("looseleaf/configure-agent", agent="ada", config={"models": {"chat": f"echo:{NAME}"}})
    invoke(context, "looseleaf/create-agent", {"slug": "trap", "name": NAME})
    site.run("looseleaf/delete-agent", agent="trap")
    site.client.get(f"/admin/{NAME}")
    site.client.get("/admin/<script>alert(1)</script>")


def test_no_page_runs_what_memory_says(opens: Opens, open_tab: OpenTab, seed: int) -> None:
    """Half of the pages by turns, in `full` all; any dialog, error or foreign request fails it."""
    site = opens(default_model="echo", pipeline_transcripts=True)
    fill(site)
    poison(site)
    tabs = [open_tab(site) for _ in range(8)]  # so that their pages become idle side by side
    others = (f"/admin/search?q={NAME}", f"/admin?filter={NAME}", JOB, f"{JOB}/transcript?step=ai")
    paths = sample([*ADDRESSES.values(), *others], seed, every=2)
    for first in range(0, len(paths), len(tabs)):
        group = paths[first : first + len(tabs)]
        for page, path in [(tab.open(path), path) for tab, path in zip(tabs, group, strict=False)]:
            page.wait_for_load_state("networkidle") if "MEMORY" not in path else None
            elements = "document.querySelectorAll('img, iframe, object, base').length"
            assert page.evaluate(elements) == 0, path
            assert not page.evaluate("[...document.querySelectorAll('*')].some(e => e.onerror)")


def test_a_preview_runs_nothing(admin_site: Site, open_tab: OpenTab) -> None:
    """Though its HTML is put into the page by a script."""
    page = open_tab(admin_site).open(ADDRESSES["edit"])
    page.get_by_label("Text of MEMORY.md").fill(f"{EVERYTHING}\n\n## Last\n\nthe end")
    page.locator("#preview h2", has_text="Last").wait_for()
    assert page.locator("#preview img, #preview script, #preview iframe").count() == 0


def test_a_notice_is_text(admin_site: Site, open_tab: OpenTab) -> None:
    """Whoever set its cookie."""
    tab = open_tab(admin_site)
    value = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    cookie = {"name": "looseleaf_notice", "value": value, "url": f"{admin_site.base}/admin"}
    tab.page.context.add_cookies([cookie])  # type: ignore[list-item]
    page = tab.open("/admin")
    assert page.locator(".note.good").inner_text() == "<img src=x onerror=alert(1)>"
