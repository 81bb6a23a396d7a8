"""The schedules of flows and plugins, and the jobs that they start."""

from __future__ import annotations

from looseleaf.agents.agent_list import list_readable_agents
from looseleaf.errors.workflows import FlowMissing, InvalidSchedule
from looseleaf.workflows.execution.plan import Plan, plan_flow_job, plan_task_job
from looseleaf.workflows.parts import definitions_of, task_schedules_of
from looseleaf.workflows.schedules.schedule import FLOW, TASK, ScheduleEntry
from looseleaf.workflows.schedules.timing import compute_stagger, read_timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.catalog.parts import WorkspaceServices
    from looseleaf.settings import Settings
    from looseleaf.upkeep.schedules import TaskSchedule
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.job import Job
    from looseleaf.workflows.job_list import Jobs


class ScheduledJobs:
    """Lists the schedules of flows and plugins, and starts the jobs of a schedule."""

    def __init__(
        self, parts: WorkspaceServices, jobs: Jobs, read_settings: Callable[[], Settings]
    ) -> None:
        self._parts, self._jobs, self._read_settings = parts, jobs, read_settings

    def list_entries(self) -> Iterator[ScheduleEntry]:
        """Return the schedules of all flows and plugins."""
        settings = self._read_settings()
        for schedule in task_schedules_of(self._parts).all():
            yield _describe_task(schedule, settings)
        flows, _ = definitions_of(self._parts).flows.list()
        for flow in flows:
            entry = _describe_flow(flow, settings.timezone)
            if entry is not None:
                yield entry

    def start_jobs(self, entry: ScheduleEntry, due: float, key: str) -> Iterator[Job]:
        """Start the jobs of a schedule; `key` makes a second start find the first jobs."""
        if entry.flow_id:
            yield self._start_flow(entry, key)
            return
        if not entry.per_agent:
            job = plan_task_job(entry.task_type, entry.params, label=entry.label, key=key)
            yield self._jobs.add(job)[0]
            return
        for agent in list_readable_agents(self._parts.agents):
            if agent.status != "active":
                continue
            # Spread out, since the jobs of all agents may ask the same provider.
            wait = compute_stagger(agent.id, entry.timing.seconds or 3_600) if key else 0
            job = plan_task_job(
                entry.task_type,
                entry.params,
                label=entry.label,
                agent_id=agent.id,
                user_id=agent.owner,
                key=f"{key}#{agent.id}" if key else "",
                not_before=due + wait if wait else 0.0,
            )
            yield self._jobs.add(job)[0]

    def _start_flow(self, entry: ScheduleEntry, key: str) -> Job:
        definitions = definitions_of(self._parts)
        flow = definitions.flows.find(entry.flow_id)
        pipeline = definitions.pipelines.find(flow.pipeline_id) if flow else None
        if flow is None or pipeline is None:
            raise FlowMissing(entry.flow_id)
        model = self._parts.model_for(flow.agent_id, "pipeline") or ""
        return self._jobs.add(plan_flow_job(Plan(pipeline, flow), model=model, key=key))[0]


def _describe_task(schedule: TaskSchedule, settings: Settings) -> ScheduleEntry:
    is_enabled = schedule.enabled
    if schedule.setting:
        is_enabled = bool(getattr(settings, schedule.setting))
    is_enabled = is_enabled and schedule.task not in settings.system_tasks_off
    return ScheduleEntry(
        id=f"{TASK}:{schedule.name}",
        label=schedule.label or schedule.name.replace("_", " ").replace("-", " ").capitalize(),
        timing=read_timing(schedule.when),
        zone=schedule.zone or settings.timezone,
        task_type=schedule.task,
        params=schedule.params,
        per_agent=schedule.per_agent,
        is_enabled=is_enabled,
        owner=schedule.owner,
    )


def _describe_flow(flow: Flow, zone: str) -> ScheduleEntry | None:
    """Describe the schedule of a flow, or None if the schedule is invalid."""
    schedule = flow.schedule
    try:
        timing = read_timing(schedule.interval, cron=schedule.cron, at=schedule.at)
    except InvalidSchedule:
        return None
    return ScheduleEntry(
        id=f"{FLOW}:{flow.id}",
        label=flow.name,
        timing=timing,
        zone=zone,
        flow_id=flow.id,
        agent_id=flow.agent_id,
        is_enabled=schedule.enabled,
    )
