"""Pipelines of an agent: the row of steps, the memory they select, their flows and files."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.access.principals import find_requirement
from looseleaf.errors import Invalid
from looseleaf.features.workflows.access import TOOL_POLICY_SETTINGS
from looseleaf.features.workflows.endpoints import store_upload
from looseleaf.features.workflows.parts import step_types_of
from looseleaf.features.workflows.step_views import (
    StepDraft,
    build_policy_fields,
    build_step_forms,
    draft_steps,
    move,
    read_drafts,
    read_policy,
    refuse_problems,
)
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value
from looseleaf.web.admin.forms import read_selection
from looseleaf.web.admin.templating import format_count
from looseleaf.web.admin.wording import INJECTED, describe_rule, name_candidate

if TYPE_CHECKING:
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.features.workflows.documents import FlowDocument, PipelineDocument
    from looseleaf.plugins.admin_pages import ListPart, Visit


# Uploaded files of pipelines and flows: the list, the limits, and a file of a form.


MOST = 200  # files, pipelines, flows or choices in one list
MOST_FLOWS = 20  # of one pipeline in the list of all


@value
class FileForm:
    """The files of a pipeline or flow, and what its form takes."""

    kind: str  # pipeline or flow
    id: int
    files: ListPart  # of `WorkflowFile`
    most_bytes: int
    types: tuple[str, ...]
    command: str  # that uploads a file at the command line


def build_file_form(visit: Visit, kind: str, identifier: int, command: str) -> FileForm:
    """List the files of a pipeline or flow, with the limits of the settings."""
    files = visit.run("datamachine/list-flow-files", **{kind: identifier})
    settings = visit.context.settings
    return FileForm(
        kind,
        identifier,
        visit.cut(files, MOST, name="files"),
        settings.max_upload_bytes,
        settings.upload_types,
        command,
    )


def store_file(visit: Visit, kind: str, identifier: int) -> str:
    """Store the file of a form, read in parts, and return the notice about it."""
    if visit.file is None or not visit.file.name:
        raise Invalid("Choose a file first.")
    file = store_upload(
        visit.context, {"file": visit.file.name, kind: identifier}, visit.file.content
    )
    return f"{file.filename} is uploaded: {file.size:,} bytes."


STEPS = "steps"  # the action of the form of steps; behind a colon, what else than saving it does
FILE = "file:"  # before the name of a page: a checkbox of the memory picker
WORKFLOW_DIRECTIVES = (
    "pipeline-memory-files",
    "flow-memory-files",
    "pipeline-system-prompt",
    "pipeline-context-files",
)


def list_pipelines(visit: Visit) -> Document | Redirect:
    """List the pipelines of an agent, each with its steps and flows."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    pipelines = visit.run("looseleaf/list-pipelines", agent=agent.slug)
    flows = visit.run("looseleaf/list-flows", agent=agent.slug)
    by_pipeline: dict[int, list[FlowDocument]] = {pipeline.id: [] for pipeline in pipelines}
    for flow in flows:
        by_pipeline.setdefault(flow.pipeline_id, []).append(flow)
    data = {
        "agent": agent,
        "pipelines": visit.cut(pipelines, MOST, name="pipelines"),
        "flows": {
            number: visit.cut(entries, MOST_FLOWS, name=f"flows-{number}")
            for number, entries in by_pipeline.items()
        },
        "may_change": may_change(visit, agent),
    }
    return Document("workflows/pipelines.html", "Workflows", data)


def create_pipeline(visit: Visit) -> Document | Redirect:
    """Create a pipeline, and redirect to its page."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    name = visit.form.get("name", "").strip()
    pipeline = visit.run("looseleaf/create-pipeline", name=name, agent=agent.slug)
    notice = f"{pipeline.name} is created. Add its first step."
    return Redirect(build_pipeline_address(agent.slug, pipeline.id), notice)


def show_pipeline(visit: Visit) -> Document | Redirect:
    """Show a pipeline: steps, memory, files and flows, and the resulting prompt."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    pipeline: PipelineDocument = visit.run(
        "looseleaf/show-pipeline", pipeline=visit.parameters["pipeline"]
    )
    is_refused = visit.form.get("action", "").startswith(STEPS)
    drafts = read_drafts(visit, pipeline.steps) if is_refused else draft_steps(pipeline.steps)
    return build_document(visit, agent, pipeline, drafts)


def build_document(
    visit: Visit,
    agent: AgentRecord,
    pipeline: PipelineDocument,
    drafts: list[StepDraft],
    *,
    is_unsaved: bool = False,
) -> Document:
    """Build the page of a pipeline with its steps, as they are stored or stand in the form."""
    command = f"looseleaf pipelines files {pipeline.slug} --add PATH"
    data = {
        "agent": agent,
        "pipeline": pipeline,
        "steps": build_step_forms(visit, drafts, agent.slug),
        "is_unsaved": is_unsaved,
        "as_json": visit.query.get("view") == "json",
        "types": step_types_of(visit.context.parts).all(),
        "policy": build_policy_fields(
            visit, "policy.", TOOL_POLICY_SETTINGS, pipeline.tool_policy, agent.slug
        ),
        "find": visit.query.get("find", ""),
        "choices": list_memory_choices(visit, agent.slug, pipeline.memory_files),
        "flows": visit.cut(
            visit.run("looseleaf/list-flows", pipeline=pipeline.id), MOST, name="flows"
        ),
        "files": build_file_form(visit, "pipeline", pipeline.id, command),
        "slice": describe_slice(visit, pipeline=pipeline.id),
        "may_change": may_change(visit, agent),
    }
    return Document("workflows/pipeline.html", pipeline.name, data)


def change_pipeline(visit: Visit) -> Document | Redirect:  # noqa: PLR0911 - one for each form
    """Submit one of the forms of a pipeline's page."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    pipeline: PipelineDocument = visit.run(
        "looseleaf/show-pipeline", pipeline=visit.parameters["pipeline"]
    )
    form, address = visit.form, build_pipeline_address(agent.slug, pipeline.id)
    action, version = form.get("action", ""), form.get("version") or None
    update = {"pipeline": pipeline.id, "if_match": version}
    if action == "details":
        fields = {"name": form.get("name", "").strip(), "system_prompt": form.get("prompt", "")}
        visit.run("looseleaf/update-pipeline", **update, **fields)
        return Redirect(address, "The pipeline is saved.")
    if action.startswith(STEPS):
        return change_steps(visit, agent, pipeline)
    if action == "policy":
        policy = read_policy(visit, "policy.", TOOL_POLICY_SETTINGS, pipeline.tool_policy)
        visit.run("looseleaf/update-pipeline", **update, tool_policy=policy)
        return Redirect(address, "The tools are saved.")
    if action == "try":
        job = visit.run("datamachine/execute-workflow", pipeline=pipeline.id)
        job_page = f"/admin/agents/{quote(agent.slug)}/jobs/{job.job_id}"
        return Redirect(job_page, f"Job {job.job_id} tries {pipeline.name} once.")
    if action == "memory":
        visit.run(
            "looseleaf/update-pipeline",
            **update,
            memory_files=read_selection(form, FILE, pipeline.memory_files),
        )
        return Redirect(address, "The memory is saved. The prompt beside it shows the result.")
    if action == "upload":
        return Redirect(f"{address}#files", store_file(visit, "pipeline", pipeline.id))
    if action == "delete-file":
        name = form.get("name", "")
        ask_about_file(visit, name)
        visit.run("datamachine/delete-flow-file", pipeline=pipeline.id, file=name)
        return Redirect(address, f"{name} is deleted.")
    if action == "create-flow":
        name = form.get("flow", "").strip()
        flow = visit.run("looseleaf/create-flow", pipeline=pipeline.id, name=name)
        flow_page = f"/admin/agents/{quote(agent.slug)}/flows/{flow.id}"
        return Redirect(flow_page, f"{flow.name} is created. Choose when it runs.")
    if action == "delete":
        _ask_about_pipeline(visit, pipeline)
        visit.run("looseleaf/delete-pipeline", **update)
        notice = f"{pipeline.name} is deleted with its flows and files."
        return Redirect(f"/admin/agents/{quote(agent.slug)}/pipelines", notice)
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def change_steps(
    visit: Visit, agent: AgentRecord, pipeline: PipelineDocument
) -> Document | Redirect:
    """Save the steps of the form, or show the form again with a step added, moved or taken out."""
    form, drafts = visit.form, read_drafts(visit, pipeline.steps)
    act, _, place = form["action"].removeprefix(STEPS).removeprefix(":").partition(":")
    if not act:
        refuse_problems(drafts)
        steps = [
            {"id": draft.id, "type": draft.type, "label": draft.label, "settings": draft.settings}
            for draft in drafts
        ]
        version = form.get("version") or None
        visit.run("looseleaf/update-pipeline", pipeline=pipeline.id, if_match=version, steps=steps)
        view = "?view=json" if visit.query.get("view") == "json" else ""
        return Redirect(
            f"{build_pipeline_address(agent.slug, pipeline.id)}{view}", "The steps are saved."
        )
    if act == "add":
        drafts.append(StepDraft(id="", type=step_types_of(visit.context.parts).get(place).name))
    else:
        drafts = move(drafts, act, int(place) if place.isdecimal() and len(place) < 4 else -1)
    return build_document(visit, agent, pipeline, drafts, is_unsaved=True)


def _ask_about_pipeline(visit: Visit, pipeline: PipelineDocument) -> None:
    flows = len(visit.run("looseleaf/list-flows", pipeline=pipeline.id))
    files = len(visit.run("datamachine/list-flow-files", pipeline=pipeline.id))
    consequence = (
        f"{format_count(flows, 'flow')} and {format_count(files, 'file')} of it are deleted for "
        "good, with its steps and its task. Its jobs and the pages that they wrote stay."
    )
    visit.ask(f"Delete the pipeline {pipeline.name}?", consequence)


def ask_about_file(visit: Visit, name: str) -> None:
    """Ask before an uploaded file is deleted."""
    visit.ask(f"Delete the file {name}?", "There is no copy of it here.")


def build_pipeline_address(agent: str, pipeline: int) -> str:
    """Return the address of the page of a pipeline."""
    return f"/admin/agents/{quote(agent)}/pipelines/{pipeline}"


def may_change(visit: Visit, agent: AgentRecord | None) -> bool:
    """Return whether the signed-in person may change workflows; the operations decide.

    Without an agent, workflows of the workspace are meant.
    """
    shelf, owner = (agent.shelf, agent.owner) if agent else (None, 0)
    return find_requirement(visit.context.principal, "flows", shelf, owner=owner) is None


def list_memory_choices(visit: Visit, agent: str, selection: tuple[str, ...]) -> ListPart:
    """List the pages that can be selected, each with whether it is selected; no core files.

    Those that are selected come first, in their order.
    """
    pages = visit.run("datamachine/list-agent-files", agent=agent)
    names = [page.file for page in pages if page.layer == "agent" and not page.registered]
    others = sorted(name for name in names if name not in selection)
    words = visit.query.get("find", "").strip().casefold()
    choices = [(name, True) for name in selection] + [(name, False) for name in others]
    matches = [choice for choice in choices if words in choice[0].casefold()]
    return visit.cut(matches, MOST, name="pages", total=len(choices))


def describe_slice(visit: Visit, **workflow: int) -> dict[str, Any]:
    """Describe the prompt of a workflow: the parts that the workflow adds, each with its rule."""
    explanation = visit.run("looseleaf/explain-prompt", mode="pipeline", **workflow)
    parts = [
        {
            "name": name_candidate(candidate),
            "is_given": candidate.rule == INJECTED,
            "reason": "" if candidate.rule == INJECTED else describe_rule(candidate.rule),
            "bytes": candidate.bytes,
        }
        for candidate in explanation.candidates
        if candidate.directive in WORKFLOW_DIRECTIVES and candidate.rule != "nothing"
    ]
    return {"parts": parts, "bytes": explanation.bytes, "tokens": explanation.tokens}
