"""Retention: how long data is kept, what is past its retention, and removing it."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.errors import Unavailable
from looseleaf.errors.upkeep import TaskMissing
from looseleaf.memory.provenance import JOB
from looseleaf.operations.system_tasks import run_once
from looseleaf.times import format_time
from looseleaf.upkeep.retention.tasks import PREFIX, RULES, RUN, apply_rule
from looseleaf.upkeep.system_tasks.runs import RunLog, RunRequest
from looseleaf.upkeep.system_tasks.task import MANUAL, SCHEDULE
from looseleaf.values import value
from looseleaf.workflows.parts import system_tasks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from looseleaf.catalog.context import Context
    from looseleaf.upkeep.retention.tasks import RetentionRule

_LOOKED_AT = 30  # newest runs of a task that are searched for removals, among dry runs
_MOST_RUNS = 7


@value
class RetentionRun:
    """One run that removed data, or found none to remove.

    Fields:
        end: The time of its end, in UTC.
        trigger: What started the run: schedule or manual.
        status: removed, nothing or failed.
        report: The counts in words, or the reason of a failure.
    """

    end: str
    trigger: str
    status: str
    report: str


@value(kw_only=True)
class RetentionInfo:
    """One kind of data, how long it is kept, and when some of it was last removed.

    Fields:
        task_type: The system task that removes it.
        label: The name for people.
        description: What goes and when, in one sentence.
        settings: The settings that say how long it is kept, with their values.
        enabled: Whether the task runs by itself.
        trigger: What starts the task, for people.
        runs: The newest runs, newest first; dry runs are left out.
    """

    task_type: str
    label: str
    description: str
    settings: Mapping[str, float]
    enabled: bool
    trigger: str
    runs: tuple[RetentionRun, ...]


@value(kw_only=True)
class RetentionReport:
    """The data of one kind that was removed, or would be.

    Fields:
        task_type: The system task.
        label: The name for people.
        status: removed, nothing or failed; counted for a preview.
        report: The counts in words, or the reason of a failure.
        counts: The counts by kind.
        is_failure: Whether the task could not do its work.
        enabled: Whether the task runs by itself.
    """

    task_type: str
    label: str
    status: str
    report: str
    counts: Mapping[str, int]
    is_failure: bool
    enabled: bool


@operation(
    "looseleaf/show-retention", permission="operate", categories=("retention",), read_only=True
)
def show_retention(context: Context) -> list[RetentionInfo]:
    """Show how long each kind of data is kept, and when some of it was last removed."""
    context.allow()
    log = RunLog(context.settings.root)
    return [_describe_rule(context, rule, log) for rule in RULES]


@operation(
    "looseleaf/preview-retention", permission="operate", categories=("retention",), read_only=True
)
def preview_retention(context: Context, *, kind: str = "") -> list[RetentionReport]:
    """Count what is past its retention, and remove nothing.

    Arguments:
        kind: The only kind of data that is counted, such as chat_sessions; without it, all.
    """
    context.allow()
    return [_preview_rule(context, rule) for rule in _find_rules(kind)]


@operation(RUN, permission="operate", categories=("retention",), destructive=True)
def run_retention(context: Context, *, kind: str = "") -> list[RetentionReport]:
    """Remove what is past its retention; agents' files and the journal are never removed.

    Arguments:
        kind: The only kind of data that is removed, such as chat_sessions; without it, every kind
            whose task is on.
    """
    context.allow()
    rules = [rule for rule in _find_rules(kind) if kind or _is_enabled(context, rule)]
    reports = [_run_rule(context, rule) for rule in rules]
    reasons = [f"{report.label}: {report.report}" for report in reports if report.is_failure]
    if reasons and context.activity.kind == JOB:
        # The nightly job fails with its runs; what could be removed is removed.
        raise Unavailable("Retention", "; ".join(reasons))
    return reports


def _find_rules(kind: str) -> tuple[RetentionRule, ...]:
    """Return the rules that are meant; a kind may be named with or without its prefix."""
    task_type = f"{PREFIX}{kind.removeprefix(PREFIX)}"
    rules = tuple(rule for rule in RULES if not kind or rule.task_type == task_type)
    if not rules:
        raise TaskMissing(kind, tuple(rule.task_type.removeprefix(PREFIX) for rule in RULES))
    return rules


def _is_enabled(context: Context, rule: RetentionRule) -> bool:
    return system_tasks_of(context.parts).get(rule.task_type).is_enabled(context.settings)


def _describe_rule(context: Context, rule: RetentionRule, log: RunLog) -> RetentionInfo:
    task = system_tasks_of(context.parts).get(rule.task_type)
    return RetentionInfo(
        task_type=rule.task_type,
        label=rule.label,
        description=rule.description,
        settings={name: getattr(context.settings, name) for name in rule.settings},
        enabled=task.is_enabled(context.settings),
        trigger=task.trigger,
        runs=tuple(_list_runs(log, rule))[:_MOST_RUNS],
    )


def _list_runs(log: RunLog, rule: RetentionRule) -> Iterator[RetentionRun]:
    for run in log.list(0, task_type=rule.task_type, limit=_LOOKED_AT):
        if not run.details.get("dry_run"):
            yield RetentionRun(format_time(run.end), run.trigger, run.status, run.reason)


def _preview_rule(context: Context, rule: RetentionRule) -> RetentionReport:
    result = apply_rule(rule, context.parts, context.settings, dry_run=True)
    return RetentionReport(
        task_type=rule.task_type,
        label=rule.label,
        status=result.status,
        report=result.reason,
        counts=result.details["counts"],
        is_failure=False,
        enabled=_is_enabled(context, rule),
    )


def _run_rule(context: Context, rule: RetentionRule) -> RetentionReport:
    task = system_tasks_of(context.parts).get(rule.task_type)
    trigger = SCHEDULE if context.activity.kind == JOB else MANUAL
    run = run_once(context, task, None, RunRequest(trigger=trigger, surface=context.surface))
    return RetentionReport(
        task_type=rule.task_type,
        label=rule.label,
        status=run.status,
        report=run.reason,
        counts=run.details.get("counts", {}),
        is_failure=run.is_failure,
        enabled=task.is_enabled(context.settings),
    )
