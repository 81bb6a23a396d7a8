"""What the steps of a job may use, with the rights of the job's agent and no others."""

from __future__ import annotations

from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.page_access import bind_pages
from looseleaf.catalog.prompt_assembly import build_request
from looseleaf.catalog.resolution import scope_of
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.catalog.tools.model_rights import confine_to_agent
from looseleaf.errors import Unavailable
from looseleaf.errors.workflows import InvalidStep
from looseleaf.job_runtime.job_rights import require_job_rights
from looseleaf.job_runtime.pipeline_turn import run_pipeline_turn
from looseleaf.memory.provenance import JOB, Activity
from looseleaf.memory.scope import Where
from looseleaf.operations.system_tasks import describe_run
from looseleaf.upkeep.system_tasks.prompts import TaskPrompts
from looseleaf.upkeep.system_tasks.runs import RunRequest, derive_run_id, run_task
from looseleaf.upkeep.system_tasks.task import MANUAL, SCHEDULE
from looseleaf.values import replace
from looseleaf.workflows.artifacts.masking import SecretMask, list_secrets
from looseleaf.workflows.artifacts.transcript import (
    build_tool_trace,
    build_transcript,
    format_json,
)
from looseleaf.workflows.parts import definitions_of, resources_of, system_tasks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.provenance import Origin
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Change
    from looseleaf.models.model import Message
    from looseleaf.setting_tables import WordPressSite
    from looseleaf.settings import Settings
    from looseleaf.workflows.artifacts.artifact import ArtifactFile
    from looseleaf.workflows.job import Job
    from looseleaf.workflows.step_parts import (
        EffectIntents,
        JobFiles,
        OutgoingRequests,
        ProcessedItems,
        PublishFolders,
        TurnResult,
    )
    from looseleaf.workflows.step_run import StepRun

SURFACE = "pipeline"


class JobStepServices:
    """The services of a workspace as the steps of one job see them."""

    def __init__(self, context: Context, job: Job, intents: EffectIntents) -> None:
        self._context, self._job = context, job
        self.intents = intents
        self._agent_context = act_in_job(context, job)
        self._resources = resources_of(context.parts)
        self.mask = SecretMask(list_secrets(context.settings))

    @property
    def pages(self) -> MemoryPages:
        """The pages that the agent may reach."""
        return self._agent_context.pages

    @property
    def history(self) -> History:
        """The history of these pages."""
        return self._agent_context.history

    @property
    def requests(self) -> OutgoingRequests:
        """Outgoing requests, to the hosts of the allow-list and to the sites of the settings."""
        return self._resources.http_client()

    @property
    def processed_items(self) -> ProcessedItems:
        """The items that were processed before."""
        return self._resources.processed_items()

    @property
    def files(self) -> JobFiles:
        """The files of flows and jobs."""
        return self._resources.files

    @property
    def publish_folders(self) -> PublishFolders:
        """The folders that may be published to."""
        return self._resources.publish_folders

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""
        return self._context.clock()

    def find_site(self, name: str) -> WordPressSite:
        """Return a site of the settings, or raise `InvalidStep`."""
        sites = {site.name: site for site in self._context.settings.wordpress_sites}
        if name not in sites:
            names = ", ".join(sorted(sites)) or "none"
            reason = f"the setting wordpress_sites of looseleaf.toml names: {names}"
            raise InvalidStep("publish", f"there is no site {name!r}; {reason}")
        return sites[name]

    def page_scope(self, run: StepRun, file: str, permission: str) -> Scope:
        """Return the page of a name, or raise if the agent may not make this change."""
        if not self._job.agent_id:
            raise InvalidStep(run.step.id, "the job has no agent whose memory it could change")
        return scope_of(
            self._agent_context.with_permission(permission), file, Where(self._job.agent_id)
        )

    def change(self, run: StepRun, operation: str, *, origin: Origin) -> Change:
        """Return a change by the agent, made in this job."""
        reason = f"{run.pipeline.name}: {run.step.title}" if run.pipeline.name else run.step.title
        return self._agent_context.change(operation, reason=reason, origin=origin)

    def take_prompt(self, run: StepRun) -> str | None:
        """Pop the flow's next queued prompt, idempotently per job step; return None if empty."""
        if not run.flow.id:
            return None
        return definitions_of(self._context.parts).flows.take_prompt(run.flow.id, run.effect_key)

    def run_turn(self, run: StepRun, messages: tuple[Message, ...]) -> TurnResult:
        """Have the agent's model answer messages in pipeline mode, with its tools."""
        return run_pipeline_turn(self._context, run, messages)

    def keep_transcript(self, run: StepRun, result: TurnResult) -> tuple[ArtifactFile, ...]:
        """Keep the tool trace, and the transcript if that is wanted."""
        files = self.files
        artifacts = []
        if result.tools:
            trace = format_json(build_tool_trace(result.tools, self.mask))
            artifacts.append(files.write_artifact(self._job.id, f"tool-trace/{run.step.id}", trace))
        if wants_transcript(run.settings, self._context.settings):
            transcript = format_json(build_transcript(result.transcript, self.mask))
            artifacts.append(
                files.write_artifact(self._job.id, f"transcript/{run.step.id}", transcript)
            )
        return tuple(artifacts)

    def run_task(self, run: StepRun, task_type: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run a system task for the job's agent and return its runs.

        Looseleaf's own jobs also run operations that a plugin has scheduled, and tasks of the whole
        workspace. Any other job is written by someone who may have no more than the rights of its
        agent, and runs tasks of that agent alone.
        """
        activity = Activity(JOB, run.effect_key)
        context = replace(self._context, surface=SURFACE, activity=activity)
        job, is_own_job = self._job, self._job.source == "system"
        if is_own_job and task_type in context.parts.operations():
            return {"result": invoke(context, task_type, dict(params))}
        task = system_tasks_of(context.parts).get(task_type)
        if not is_own_job and not task.per_agent:
            raise InvalidStep(run.step.id, f"{task_type} is a task of the whole workspace")
        agent = context.parts.agents.resolve(job.agent_id) if job.agent_id else None
        trigger = SCHEDULE if job.idempotency_key.startswith("task:") else MANUAL
        request = RunRequest(params, trigger, SURFACE, derive_run_id(job.created_at, job.id))
        prompts = TaskPrompts(context.settings.root)
        record = run_task(
            task,
            context.parts,
            context.settings,
            agent,
            request,
            prompt=lambda key: prompts.text(task, key),
            is_cancelled=run.is_cancelled,
        )
        if record.is_failure and record.is_retryable:
            raise Unavailable(f"The task {task_type}", f"{record.reason}; try again later")
        return {"runs": [to_json_value(describe_run(record))]}


def act_in_job(context: Context, job: Job) -> Context:
    """Return a context in which the agent of a job acts, unattended and under its policies.

    It has the rights that the user of the job has on the agent at this time, and no more than an
    operator's.
    """
    if not job.agent_id:
        return replace(context, surface=SURFACE)
    person = require_job_rights(context, job)
    place = Where(job.agent_id, job.user_id or None)
    request = build_request(context.with_permission("read"), SURFACE, where=place)
    agent_context = replace(
        context,
        actor=request.agent.slug,
        surface=SURFACE,
        reason="",
        activity=Activity(JOB, f"job-{job.id}"),
    )
    return bind_pages(confine_to_agent(agent_context, request, person=person))


def wants_transcript(settings: Mapping[str, Any], defaults: Settings) -> bool:
    """Return whether a transcript is kept: the flow decides, then the pipeline, then the settings.

    Only true and false decide; anything else leaves the decision to the next one.
    """
    choice = settings.get("persist_transcripts")
    return choice if isinstance(choice, bool) else defaults.pipeline_transcripts
