"""Pipelines of an agent: the row of steps, the memory they select, their flows and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.access.principals import find_requirement
from looseleaf.errors import Invalid
from looseleaf.features.workflows.endpoints import store_upload
from looseleaf.features.workflows.parts import step_types_of
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value
from looseleaf.web.admin.forms import read_selection
from looseleaf.web.admin.wording import INJECTED, describe_rule, name_candidate

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    command = f"looseleaf pipelines files {pipeline.slug} --add PATH"
    data = {
        "agent": agent,
        "pipeline": pipeline,
        "settings": {step.id: format_json(step.settings) for step in pipeline.steps},
        "types": step_types_of(visit.context.parts).all(),
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


def change_pipeline(visit: Visit) -> Document | Redirect:
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
    if action == "steps":
        visit.run("looseleaf/update-pipeline", **update, steps=read_steps(pipeline, form))
        return Redirect(address, "The steps are saved.")
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
        visit.run("datamachine/delete-flow-file", pipeline=pipeline.id, file=name)
        return Redirect(address, f"{name} is deleted.")
    if action == "create-flow":
        name = form.get("flow", "").strip()
        flow = visit.run("looseleaf/create-flow", pipeline=pipeline.id, name=name)
        flow_page = f"/admin/agents/{quote(agent.slug)}/flows/{flow.id}"
        return Redirect(flow_page, f"{flow.name} is created. Choose when it runs.")
    if action == "delete":
        visit.run("looseleaf/delete-pipeline", **update)
        notice = f"{pipeline.name} is deleted with its flows and files."
        return Redirect(f"/admin/agents/{quote(agent.slug)}/pipelines", notice)
    raise Invalid("The form does not say what to do. Press one of its buttons.")


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


def read_steps(pipeline: PipelineDocument, form: Mapping[str, str]) -> list[dict[str, Any]]:
    """Read the row of steps of a form: in the order of their numbers, with a new one at the end."""
    rows = []
    for place, step in enumerate(pipeline.steps, 1):
        if form.get(f"remove:{step.id}"):
            continue
        order = form.get(f"order:{step.id}", "").strip()
        fields = {
            "id": step.id,
            "type": step.type,
            "label": form.get(f"label:{step.id}", step.label).strip(),
            "settings": read_json(form.get(f"settings:{step.id}", ""), step.title),
        }
        rows.append((int(order) if order.isdecimal() else place, place, fields))
    steps = [fields for *_, fields in sorted(rows, key=lambda row: row[:2])]
    if form.get("new-type"):
        settings = read_json(form.get("new-settings", ""), "the new step")
        label = form.get("new-label", "").strip()
        steps.append({"type": form["new-type"], "label": label, "settings": settings})
    return steps


def read_json(text: str, place: str) -> dict[str, Any]:
    """Parse the settings of a step, as typed in a form."""
    if not text.strip():
        return {}
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise Invalid(f"The settings of {place} are not JSON: {error}.") from None
    if not isinstance(settings, dict):
        raise Invalid(f'The settings of {place} are a JSON object, such as {{"text": "…"}}.')
    return settings


def format_json(settings: Mapping[str, Any]) -> str:
    """Write settings as people edit them."""
    return json.dumps(settings, ensure_ascii=False, indent=2) if settings else ""


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
