"""A flow: its schedule, its memory besides that of its pipeline, and its queue of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.errors import Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.web.admin.views.workflows.files import build_file_form, store_file
from looseleaf.web.admin.views.workflows.job_rows import build_job_address
from looseleaf.web.admin.views.workflows.jobs import list_recent_jobs
from looseleaf.web.admin.views.workflows.pipelines import (
    build_pipeline_address,
    describe_slice,
    format_json,
    list_memory_choices,
    may_change,
    read_choices,
    read_json,
)
from looseleaf.web.admin.views.workflows.schedules import find_schedule
from looseleaf.workflows.flow import CRON, MANUAL, ONE_TIME, QUEUE_MODES
from looseleaf.workflows.schedules.timing import INTERVALS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.workflows.documents import FlowDocument

BETWEEN = "---"  # a line between two prompts of the queue
CHOICES = (MANUAL, *INTERVALS, CRON, ONE_TIME)


def show_flow(visit: Visit) -> Document | Redirect:
    """Show a flow with its forms and the resulting prompt."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    flow: FlowDocument = visit.run("looseleaf/show-flow", flow=visit.parameters["flow"])
    pipeline = visit.run("looseleaf/show-pipeline", pipeline=flow.pipeline_id)
    runs, run_count = list_recent_jobs(visit, flow.id)
    command = f"looseleaf flows files {pipeline.slug}/{flow.slug} --add PATH"
    data = {
        "agent": agent,
        "flow": flow,
        "schedule": find_schedule(visit, flow.id),
        "runs": runs,
        "run_count": run_count,
        "pipeline": pipeline,
        "intervals": CHOICES,
        "queue_modes": QUEUE_MODES,
        "queue": f"\n{BETWEEN}\n".join(flow.prompt_queue),
        "settings": {
            step.id: format_json(flow.step_settings.get(step.id, {})) for step in pipeline.steps
        },
        "choices": list_memory_choices(visit, agent.slug, flow.memory_files),
        "files": build_file_form(visit, "flow", flow.id, command),
        "slice": describe_slice(visit, flow=flow.id),
        "may_change": may_change(visit, agent),
    }
    return Document("workflows/flow.html", flow.name, data)


def change_flow(visit: Visit) -> Document | Redirect:
    """Submit one of the forms of a flow's page."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    flow: FlowDocument = visit.run("looseleaf/show-flow", flow=visit.parameters["flow"])
    form, address = visit.form, f"/admin/agents/{quote(agent.slug)}/flows/{flow.id}"
    action = form.get("action", "")
    update = {"flow": flow.id, "if_match": form.get("version") or None}
    if action == "run":
        job = visit.run("datamachine/execute-workflow", flow=flow.id)
        return Redirect(build_job_address(job), f"Job {job.job_id} is started.")
    if action == "schedule":
        fields = {"name": form.get("name", "").strip(), "schedule": read_schedule(form)}
        visit.run("looseleaf/update-flow", **update, **fields)
        return Redirect(address, "The flow is saved.")
    if action == "memory":
        visit.run("looseleaf/update-flow", **update, memory_files=read_choices(form))
        return Redirect(address, "The memory is saved. The prompt beside it shows the result.")
    if action == "queue":
        prompts = split_prompts(form.get("queue", ""))
        mode = form.get("queue_mode") or None
        visit.run("looseleaf/update-flow", **update, prompt_queue=prompts, queue_mode=mode)
        return Redirect(address, "The queue is saved.")
    if action == "steps":
        pipeline = visit.run("looseleaf/show-pipeline", pipeline=flow.pipeline_id)
        step_texts = {step.id: form.get(f"settings:{step.id}", "") for step in pipeline.steps}
        settings = {key: read_json(text, key) for key, text in step_texts.items() if text.strip()}
        visit.run("looseleaf/update-flow", **update, step_settings=settings)
        return Redirect(address, "The settings are saved.")
    if action == "upload":
        return Redirect(f"{address}#files", store_file(visit, "flow", flow.id))
    if action == "delete-file":
        name = form.get("name", "")
        visit.run("datamachine/delete-flow-file", flow=flow.id, file=name)
        return Redirect(address, f"{name} is deleted.")
    if action == "delete":
        visit.run("looseleaf/delete-flow", **update)
        return Redirect(
            build_pipeline_address(agent.slug, flow.pipeline_id), f"{flow.name} is deleted."
        )
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def split_prompts(text: str) -> list[str]:
    """Split the text of a queue into its prompts, each of any number of lines."""
    prompts: list[list[str]] = [[]]
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.strip() == BETWEEN:
            prompts.append([])
        else:
            prompts[-1].append(line)
    return [prompt for lines in prompts if (prompt := "\n".join(lines).strip("\n")).strip()]


def read_schedule(form: Mapping[str, str]) -> dict[str, Any]:
    """Read the schedule of a form."""
    return {
        "interval": form.get("interval", "manual"),
        "cron": form.get("cron", "").strip(),
        "at": form.get("at", "").strip(),
        "enabled": not form.get("paused"),
    }
