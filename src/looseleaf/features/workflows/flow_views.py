"""A flow with its schedule, memory and queue of prompts; and the list of all schedules."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.errors import Invalid
from looseleaf.features.workflows.artifacts import EGRESS_SETTINGS
from looseleaf.features.workflows.definitions import CRON, MANUAL, ONE_TIME, QUEUE_MODES
from looseleaf.features.workflows.job_views import build_job_address, list_recent_jobs
from looseleaf.features.workflows.pipeline_views import (
    FILE,
    ask_about_file,
    build_file_form,
    build_pipeline_address,
    describe_slice,
    list_memory_choices,
    may_change,
    store_file,
)
from looseleaf.features.workflows.schedules import INTERVALS
from looseleaf.features.workflows.step_views import (
    build_flow_forms,
    build_policy_fields,
    draft_flow,
    read_flow_drafts,
    read_policy,
    refuse_problems,
)
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import parse_time
from looseleaf.values import value
from looseleaf.web.admin.forms import read_selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.features.workflows.documents import FlowDocument
    from looseleaf.features.workflows.operations.jobs import ScheduleInfo
    from looseleaf.plugins.admin_pages import Visit


# Schedules: what runs when, its next times, and the buttons to run, pause and resume it.


MOST = 200  # schedules on the page
ADDRESS = "/admin/schedules"
STATUS_WORDS = {
    "active": "",
    "paused": "paused",
    "disabled": "switched off",
    "manual": "only by hand",
    "over": "over",
    "failing": "cannot start",
}
_TONES = {"failing": "attention"}


@value(kw_only=True)
class ScheduleRow:
    """A schedule as people read it."""

    id: str
    label: str
    link: str  # the page of its flow; "" for a task
    subject: str
    timing: str
    status: str
    tone: str
    times: tuple[str, ...]
    last_run: float
    last_job: int
    problem: str
    may_change: bool
    is_paused: bool
    can_pause: bool


def list_schedules(visit: Visit) -> Document | Redirect:
    """List the schedules of flows and tasks, each with its next three times."""
    schedules: list[ScheduleInfo] = visit.run("looseleaf/list-schedules")
    agents = {agent.slug: agent for agent in visit.run("looseleaf/list-agents")}
    part = visit.cut(schedules, MOST, name="schedules")
    rows = [
        build_row(entry, is_changeable=may_change(visit, agents.get(entry.agent))) for entry in part
    ]
    data = {
        "flows": [row for row in rows if row.link],
        "tasks": [row for row in rows if not row.link],
        "schedules": part,
    }
    return Document("workflows/schedules.html", "Schedules", data)


def change_schedule(visit: Visit) -> Document | Redirect:
    """Run a schedule now, pause it or resume it."""
    schedule, action = visit.form.get("schedule", ""), visit.form.get("action", "")
    if action == "run":
        jobs = visit.run("looseleaf/run-schedule", schedule=schedule)
        if len(jobs) == 1:
            return Redirect(build_job_address(jobs[0]), f"Job {jobs[0].job_id} is started.")
        return Redirect("/admin/jobs", f"{len(jobs)} jobs are started.")
    if action == "pause":
        entry = visit.run("looseleaf/pause-schedule", schedule=schedule)
        return Redirect(ADDRESS, f"{entry.label} is paused: its times pass without a run.")
    if action == "resume":
        entry = visit.run("looseleaf/resume-schedule", schedule=schedule)
        return Redirect(ADDRESS, f"{entry.label} goes on.")
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def find_schedule(visit: Visit, flow: int) -> ScheduleRow | None:
    """Find the schedule of a flow, as its page shows it."""
    schedules: list[ScheduleInfo] = visit.run("looseleaf/list-schedules")
    entry = next((entry for entry in schedules if entry.schedule == f"flow:{flow}"), None)
    return build_row(entry, is_changeable=False) if entry is not None else None


def build_row(entry: ScheduleInfo, *, is_changeable: bool) -> ScheduleRow:
    """Describe a schedule in words."""
    link = ""
    if entry.kind == "flow" and entry.agent:
        link = f"/admin/agents/{quote(entry.agent)}/flows/{quote(entry.schedule.partition(':')[2])}"
    task = entry.task_type.replace("_", " ")
    subject = entry.agent if entry.kind == "flow" else task
    if entry.per_agent:
        subject = f"{task}, for every agent"
    return ScheduleRow(
        id=entry.schedule,
        label=entry.label,
        link=link,
        subject=subject,
        timing=describe_timing(entry.when, entry.zone),
        status=STATUS_WORDS.get(entry.status, entry.status),
        tone=_TONES.get(entry.status, ""),
        times=entry.next_local if entry.status != "paused" else (),
        last_run=parse_time(entry.last_run) if entry.last_run else 0.0,
        last_job=entry.last_job,
        problem=entry.problem,
        may_change=is_changeable,
        is_paused=entry.status == "paused",
        can_pause=entry.status in ("active", "failing", "paused"),
    )


def describe_timing(timing: str, zone: str) -> str:
    """Write the timing of a schedule for people: every_5_minutes becomes every 5 minutes."""
    words = {"qtrdaily": "every 6 hours", "twicedaily": "every 12 hours", "manual": "by hand"}
    is_cron = " " in timing or timing.startswith("@")
    if is_cron:
        return f"{timing} ({zone})"
    return words.get(timing, timing.replace("_", " "))


BETWEEN = "---"  # a line between two prompts of the queue
CHOICES = (MANUAL, *INTERVALS, CRON, ONE_TIME)


def show_flow(visit: Visit) -> Document | Redirect:
    """Show a flow with its forms and the resulting prompt."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    flow: FlowDocument = visit.run("looseleaf/show-flow", flow=visit.parameters["flow"])
    pipeline = visit.run("looseleaf/show-pipeline", pipeline=flow.pipeline_id)
    runs, run_count = list_recent_jobs(visit, flow.id)
    command = f"looseleaf flows files {pipeline.slug}/{flow.slug} --add PATH"
    is_refused = visit.form.get("action") == "steps"
    read = partial(read_flow_drafts, visit) if is_refused else draft_flow
    drafts = read(pipeline.steps, flow.step_settings)
    between = choose_separator(flow.prompt_queue)
    data = {
        "agent": agent,
        "flow": flow,
        "schedule": find_schedule(visit, flow.id),
        "runs": runs,
        "run_count": run_count,
        "pipeline": pipeline,
        "intervals": CHOICES,
        "queue_modes": QUEUE_MODES,
        "queue": f"\n{between}\n".join(flow.prompt_queue),
        "between": between,
        "steps": build_flow_forms(visit, pipeline.steps, drafts, agent.slug),
        "as_json": visit.query.get("view") == "json",
        "egress": build_policy_fields(
            visit, "egress.", EGRESS_SETTINGS, flow.run_artifacts, agent.slug
        ),
        "find": visit.query.get("find", ""),
        "choices": list_memory_choices(visit, agent.slug, flow.memory_files),
        "files": build_file_form(visit, "flow", flow.id, command),
        "slice": describe_slice(visit, flow=flow.id),
        "may_change": may_change(visit, agent),
    }
    return Document("workflows/flow.html", flow.name, data)


def change_flow(visit: Visit) -> Document | Redirect:  # noqa: PLR0911 - one for each form
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
        visit.run(
            "looseleaf/update-flow",
            **update,
            memory_files=read_selection(form, FILE, flow.memory_files),
        )
        return Redirect(address, "The memory is saved. The prompt beside it shows the result.")
    if action == "queue":
        prompts = split_prompts(form.get("queue", ""), form.get("between") or BETWEEN)
        mode = form.get("queue_mode") or None
        visit.run("looseleaf/update-flow", **update, prompt_queue=prompts, queue_mode=mode)
        return Redirect(address, "The queue is saved.")
    if action == "steps":
        pipeline = visit.run("looseleaf/show-pipeline", pipeline=flow.pipeline_id)
        drafts = read_flow_drafts(visit, pipeline.steps, flow.step_settings)
        refuse_problems(drafts)
        settings = {draft.id: draft.settings for draft in drafts if draft.settings}
        visit.run("looseleaf/update-flow", **update, step_settings=settings)
        view = "?view=json" if visit.query.get("view") == "json" else ""
        return Redirect(f"{address}{view}", "The settings are saved.")
    if action == "egress":
        policy = read_policy(visit, "egress.", EGRESS_SETTINGS, flow.run_artifacts)
        visit.run("looseleaf/update-flow", **update, run_artifacts=policy)
        return Redirect(address, "The choice is saved.")
    if action == "upload":
        return Redirect(f"{address}#files", store_file(visit, "flow", flow.id))
    if action == "delete-file":
        name = form.get("name", "")
        ask_about_file(visit, name)
        visit.run("datamachine/delete-flow-file", flow=flow.id, file=name)
        return Redirect(address, f"{name} is deleted.")
    if action == "delete":
        consequence = (
            "Its schedule, its queue of prompts and its files are deleted for good. Its jobs and "
            "the pages that they wrote stay."
        )
        visit.ask(f"Delete the flow {flow.name}?", consequence)
        visit.run("looseleaf/delete-flow", **update)
        return Redirect(
            build_pipeline_address(agent.slug, flow.pipeline_id), f"{flow.name} is deleted."
        )
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def choose_separator(prompts: Iterable[str]) -> str:
    """Return the line between the prompts of a queue: of more dashes than any line of them."""
    lines = [line.strip() for prompt in prompts for line in prompt.split("\n")]
    longest = max((len(line) for line in lines if line and not line.strip("-")), default=0)
    return "-" * max(len(BETWEEN), longest + 1)


def split_prompts(text: str, between: str = BETWEEN) -> list[str]:
    """Split the text of a queue into its prompts, each of any number of lines."""
    prompts: list[list[str]] = [[]]
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.strip() == between:
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
