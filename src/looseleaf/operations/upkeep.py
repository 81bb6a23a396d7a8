"""Upkeep of MEMORY.md: what a run would do, what a run did line by line, and taking it back."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors.upkeep import TaskRunMissing
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.text.line_diff import diff_lines
from looseleaf.models.model import never
from looseleaf.operations.system_tasks import RunInfo, describe_run
from looseleaf.upkeep.daily_task.compaction import MEMORY, Compactions
from looseleaf.upkeep.daily_task.task import TASK_TYPE, propose
from looseleaf.upkeep.system_tasks.prompts import TaskPrompts
from looseleaf.upkeep.system_tasks.runs import RunLog, check_run, create_run_id
from looseleaf.upkeep.system_tasks.task import MANUAL, TaskRun
from looseleaf.values import value
from looseleaf.workflows.parts import system_tasks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context


@value
class LedgerLine:
    """Lines that left MEMORY.md, and where they are now.

    Fields:
        line: The number of the first of these lines in the page before, from 1.
        lines: How many lines left here, blank ones too.
        section: The headings that the lines stood under.
        to: The page that has the lines now.
    """

    line: int
    lines: int
    section: str
    to: str


@value(kw_only=True)
class UpkeepPreview:
    """What a run would do now; nothing was written.

    Fields:
        agent: The agent.
        status: The status that the run would have.
        reason: The reason of that status.
        date: The day that the run would belong to.
        original_size: The size of MEMORY.md now, in bytes.
        new_size: Its size afterwards.
        archived_size: The size of the lines that would go.
        model: The model that was asked, or "" if none was.
        turns: How often the model was asked.
        refusals: The reasons of answers that were not accepted.
        diff: The change of MEMORY.md, as a unified diff.
        archive: The text that the journal would get.
    """

    agent: str
    status: str
    reason: str
    date: str
    original_size: int
    new_size: int
    archived_size: int
    model: str
    turns: int
    refusals: tuple[str, ...]
    diff: str
    archive: str


@value
class UpkeepRun:
    """A run in full: its outcome, its ledger and its change of MEMORY.md.

    Fields:
        run: The run.
        state: closed, undone, abandoned, or "" if no line moved.
        ledger: The lines that left the page.
        diff: The change of MEMORY.md, as a unified diff.
        archive: The text that the journal got.
        can_undo: Whether the run can still be undone.
    """

    run: RunInfo
    state: str
    ledger: tuple[LedgerLine, ...]
    diff: str
    archive: str
    can_undo: bool


@value
class UpkeepUndo:
    """A run that was taken back: the page and the journal as they were before it."""

    run: str
    agent: str
    file: str
    archive_file: str
    lines: int


@operation(
    "looseleaf/preview-upkeep", permission="settings", categories=("system",), read_only=True
)
def preview(context: Context, *, date: str = "", where: Where = DEFAULT_WHERE) -> UpkeepPreview:
    """Show what the daily-memory task would do to an agent's MEMORY.md, and write nothing.

    Arguments:
        date: The day that the run would belong to, as YYYY-MM-DD in UTC; without it, today.
        agent: The agent, by id or slug; without it, the default agent.
        user: Not used here: the agent decides.
        layer: Not used here: MEMORY.md is a page of the agent.
    """
    context.allow()
    agent = agent_of(context.with_permission("read"), where.agent)
    task = system_tasks_of(context.parts).get(TASK_TYPE)
    params = {"date": date} if date else {}
    check_run(task, params)
    prompts = TaskPrompts(context.settings.root)
    run = TaskRun(
        id=create_run_id(context.clock()),
        parts=context.parts,
        settings=context.settings,
        agent=agent,
        params=params,
        trigger=MANUAL,
        surface=context.surface,
        prompt=lambda key: prompts.text(task, key),
        is_cancelled=never,
    )
    proposal = propose(run)
    outcome, plan = proposal.outcome, proposal.plan
    return UpkeepPreview(
        agent=agent.slug,
        status=outcome.status,
        reason=outcome.reason,
        date=outcome.date,
        original_size=outcome.original_size,
        new_size=outcome.new_size,
        archived_size=outcome.archived_size,
        model=outcome.model,
        turns=outcome.turns,
        refusals=tuple(refusal.reason for refusal in outcome.refusals),
        diff=_diff(proposal.before, plan.text) if plan else "",
        archive=plan.archive if plan else "",
    )


@operation(
    "looseleaf/show-upkeep-run", permission="settings", categories=("system",), read_only=True
)
def show_run(context: Context, run: str = "", *, where: Where = DEFAULT_WHERE) -> UpkeepRun:
    """Show a run of the daily-memory task: why it ended so, and where each line went.

    Arguments:
        run: The id of the run; without it, the last one.
        agent: The agent, by id or slug; without it, the default agent.
        user: Not used here: the agent decides.
        layer: Not used here: MEMORY.md is a page of the agent.
    """
    context.allow()
    agent = agent_of(context.with_permission("read"), where.agent)
    log = RunLog(context.settings.root)
    if run:
        record = log.find(agent.id, run)
    else:
        records = log.list(agent.id, task_type=TASK_TYPE, limit=1)
        if not records:
            raise TaskRunMissing("", agent.slug)
        record = records[0]
    compactions = _open_compactions(context, agent)
    info = describe_run(record)
    if not compactions.has(record.id):
        return UpkeepRun(info, "", (), "", "", can_undo=False)
    compaction = compactions.find(record.id)
    ledger = tuple(
        LedgerLine(entry.line, entry.lines, entry.section, entry.to) for entry in compaction.ledger
    )
    latest = compactions.latest()
    return UpkeepRun(
        info,
        compaction.state,
        ledger,
        _diff(compaction.before, compaction.after),
        compaction.block,
        latest is not None and latest.id == compaction.id,
    )


@operation("looseleaf/undo-upkeep", permission="settings", categories=("system",))
def undo(context: Context, run: str = "", *, where: Where = DEFAULT_WHERE) -> UpkeepUndo:
    """Undo a run: MEMORY.md gets its text again, and the journal loses the archived lines.

    Arguments:
        run: The id of the run; without it, the last one that moved lines.
        agent: The agent, by id or slug; without it, the default agent.
        user: Not used here: the agent decides.
        layer: Not used here: MEMORY.md is a page of the agent.
    """
    context.allow()
    agent = agent_of(context.with_permission("read"), where.agent)
    compactions = _open_compactions(context, agent)
    if not run:
        latest = compactions.latest()
        if latest is None:
            raise TaskRunMissing("", agent.slug)
        run = latest.id
    compaction = compactions.undo(run, context.surface)
    lines = sum(entry.lines for entry in compaction.ledger)
    return UpkeepUndo(run, agent.slug, MEMORY, compaction.day_file, lines)


def _open_compactions(context: Context, agent: AgentRecord) -> Compactions:
    return Compactions(context.settings.root, context.parts.pages, context.parts.history, agent.id)


def _diff(before: str, after: str) -> str:
    names = (f"{MEMORY} before", f"{MEMORY} after")
    return diff_lines(before.split("\n"), after.split("\n"), names).text
