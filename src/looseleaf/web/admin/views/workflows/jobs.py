"""Jobs: the list of runs, and one run with its progress, packets, artifacts and actions."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from looseleaf.errors import Invalid
from looseleaf.errors.workflows import JobMissing
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import parse_time
from looseleaf.values import value
from looseleaf.web.admin.views.workflows import job_details
from looseleaf.web.admin.views.workflows.job_rows import (
    JobRow,
    build_job_address,
    build_job_row,
    build_step_rows,
    link_writes,
)
from looseleaf.web.admin.views.workflows.pipelines import may_change
from looseleaf.workflows.job import ACTIVE, FINAL, SUCCESSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.catalog.workflows.job_documents import JobInfo, JobList
    from looseleaf.plugins.admin_pages import Visit

MOST = 25  # jobs on one page of the list
EVENTS = "/datamachine/v1/jobs"
CHOICES = (
    ("", "All", ()),
    ("active", "Under way", ACTIVE),
    ("failed", "Failed", ("failed", "cancelled")),
    ("done", "Done", SUCCESSES),
)
REQUESTS = {
    "cancel": ("looseleaf/cancel-job", "The job is cancelled. A running step is notified."),
    "pause": ("looseleaf/pause-job", "The job pauses; a running step is finished first."),
    "resume": ("looseleaf/resume-job", "The job goes on."),
    "retry": ("looseleaf/retry-job", "The job runs again from the step that did not end well."),
}


@value
class Act:
    """A button of a job: what it asks for, and its label."""

    name: str
    label: str
    is_main: bool = False


def list_jobs(visit: Visit) -> Document | Redirect:
    """List jobs, newest first: those of an agent, or of every agent that one may see."""
    slug = visit.parameters.get("agent")
    agent = visit.run("looseleaf/show-agent", agent=slug) if slug else None
    show = visit.query.get("show", "")
    statuses = next((choice[2] for choice in CHOICES if choice[0] == show), ())
    flow = job_details.read_number(visit.query.get("flow", "")) or None
    offset = job_details.read_number(visit.query.get("after", ""))
    selection = {
        "agent": agent.slug if agent else None,
        "status": ",".join(statuses),
        "flow": flow,
        "limit": MOST,
        "offset": offset,
    }
    page: JobList = visit.run("datamachine/get-jobs", **selection)
    address = f"/admin/agents/{quote(agent.slug)}/jobs" if agent else "/admin/jobs"
    query = {key: text for key, text in (("show", show), ("flow", flow)) if text}
    following = offset + len(page.jobs)
    data = {
        "agent": agent,
        "rows": [build_job_row(job, visit.context.clock()) for job in page.jobs],
        "total": page.total,
        "address": address,
        "events": _build_events_address(selection),
        "show": show,
        "choices": [choice[:2] for choice in CHOICES],
        "flow": visit.run("looseleaf/show-flow", flow=flow) if flow else None,
        "next": (
            f"{address}?{urlencode({**query, 'after': following})}"
            if following < page.total and page.jobs
            else ""
        ),
        "is_first": not offset,
    }
    return Document("workflows/jobs.html", "Jobs", data)


def _build_events_address(selection: Mapping[str, object]) -> str:
    """Return the address at which the same list sends its changes."""
    query = {name: choice for name, choice in selection.items() if choice}
    return f"{EVENTS}?{urlencode(query)}"


def show_job(visit: Visit) -> Document | Redirect:
    """Show a job; the address of an agent's job is below the agent."""
    job = _find(visit)
    if job.agent and not visit.parameters.get("agent"):
        return Redirect(build_job_address(job))
    agent = visit.run("looseleaf/show-agent", agent=job.agent) if job.agent else None
    row = build_job_row(job, visit.context.clock())
    is_changeable = _may_change(visit, job)
    data = {
        "agent": agent,
        "job": job,
        "row": row,
        "address": build_job_address(job),
        "steps": build_step_rows(job, visit.context.clock()),
        "acts": list_acts(job) if is_changeable else (),
        "may_delete": is_changeable and job.status in FINAL,
        "is_live": job.status not in FINAL,
        "created": parse_time(job.created_at),
        "workflow": job_details.find_workflow(visit, job),
        "gate": job_details.find_gate(visit, job) if is_changeable else "",
        "packets": job_details.list_packets(visit, job),
        "most_packets": job_details.MOST_PACKETS,
        "artifacts": job_details.list_artifacts(visit, job),
        "writes": link_writes(job.writes, job.agent),
        "has_worker_hint": job.status == "pending" and not job.next_attempt_at,
    }
    return Document("workflows/job.html", row.label, data)


def change_job(visit: Visit) -> Document | Redirect:
    """Run an action on a job, by the button that was pressed."""
    job, action = _find(visit), visit.form.get("action", "")
    if action == "delete":
        visit.run("looseleaf/delete-job", job=job.job_id)
        list_address = f"/admin/agents/{quote(job.agent)}/jobs" if job.agent else "/admin/jobs"
        return Redirect(
            list_address, f"Job {job.job_id} is deleted. The pages that it changed stay."
        )
    if action == "run-again":
        new_job = visit.run("datamachine/execute-workflow", flow=job.flow_id)
        return Redirect(build_job_address(new_job), f"Job {new_job.job_id} is started.")
    if action == "open-gate":
        body = {"approved": True, "by": visit.context.principal.name}
        if note := visit.form.get("note", "").strip():
            body["note"] = note
        visit.run("looseleaf/open-gate", job=job.job_id, body=body)
        return Redirect(build_job_address(job), "The gate is open; the job goes on.")
    if action not in REQUESTS:
        raise Invalid("The form does not say what to do. Press one of its buttons.")
    operation, notice = REQUESTS[action]
    visit.run(operation, job=job.job_id)
    return Redirect(build_job_address(job), notice)


def list_acts(job: JobInfo) -> tuple[Act, ...]:
    """List the actions that the status of a job allows."""
    acts = []
    if job.status == "paused":
        acts.append(Act("resume", "Resume", is_main=True))
    if job.status in ("failed", "cancelled"):
        acts.append(Act("retry", "Retry from the failed step", is_main=True))
    if job.status in ("pending", "processing", "waiting"):
        acts.append(Act("pause", "Pause"))
    if job.status in ACTIVE:
        acts.append(Act("cancel", "Cancel"))
    if job.status in SUCCESSES and job.flow_id:
        acts.append(Act("run-again", "Run the flow again"))
    return tuple(acts)


def list_recent_jobs(visit: Visit, flow: int, limit: int = 5) -> tuple[list[JobRow], int]:
    """List the newest jobs of a flow, and count all of them."""
    page: JobList = visit.run("datamachine/get-jobs", flow=flow, limit=limit)
    return [build_job_row(job, visit.context.clock()) for job in page.jobs], page.total


def _find(visit: Visit) -> JobInfo:
    number = job_details.read_number(visit.parameters["job"])
    job: JobInfo = visit.run("datamachine/get-job", job=number)
    if visit.parameters.get("agent") and not job.agent:
        raise JobMissing(number)
    return job


def _may_change(visit: Visit, job: JobInfo) -> bool:
    return may_change(
        visit, visit.run("looseleaf/show-agent", agent=job.agent) if job.agent else None
    )
