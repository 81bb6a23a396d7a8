"""The task `daily_memory_generation`: the lifecycle around one optional call of a model."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.errors.operations import ModelFailed
from looseleaf.features.chat.session import chats_of
from looseleaf.features.upkeep.daily_task.compaction import MEMORY, Compactions, build_compaction
from looseleaf.features.upkeep.daily_task.conversation import (
    KEY,
    PROMPT,
    CompactionOutcome,
    ask_for_plan,
    fill_prompt,
)
from looseleaf.features.upkeep.daily_task.gates import refuse_loss, thresholds_of
from looseleaf.features.upkeep.daily_task.plan import PageParts, plan_overflow
from looseleaf.features.workflows.jobs.run import is_transient
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.features.workflows.system_tasks import (
    DAILY_MEMORY_TYPE,
    SCHEDULE,
    SystemTask,
    TaskResult,
    format_activity,
    list_job_lines,
    list_session_lines,
)
from looseleaf.memory.day import FOLDER, resolve_day
from looseleaf.memory.pages import decode_text
from looseleaf.memory.store import Missing
from looseleaf.memory.units import size_of
from looseleaf.prompt.request import Request
from looseleaf.times import DAY_SECONDS
from looseleaf.values import FrozenDict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.features.upkeep.daily_task.compaction import Compaction
    from looseleaf.features.upkeep.daily_task.conversation import PlanConversation
    from looseleaf.features.upkeep.daily_task.gates import Thresholds
    from looseleaf.features.upkeep.daily_task.plan import CompactionPlan
    from looseleaf.features.workflows.system_tasks import TaskRun

TASK_TYPE = DAILY_MEMORY_TYPE
OVERFLOW_TITLE = "Archived from oversized MEMORY.md"
TITLE = "Archived from MEMORY.md"
# Pages that stay out of the prompt: a model that has them would rewrite MEMORY.md to fit them.
IDENTITY_PAGES = ("SOUL.md", "USER.md", "MEMORY.md", f"{FOLDER}/*")
_MOST_STARTS = 3


@value
class Proposal:
    """The proposal of a run: its outcome so far, and the plan if lines would move."""

    outcome: CompactionOutcome
    plan: CompactionPlan | None = None
    before: str = ""
    title: str = TITLE


def run_daily_memory(run: TaskRun) -> TaskResult:
    """Keep the page of one agent within its budget."""
    outcome = _run(run)
    is_failure = outcome.status == "failed" or (
        outcome.status == "rejected" and outcome.original_size > thresholds_of(run.settings).budget
    )
    return TaskResult(
        outcome.status, outcome.reason, is_failure, outcome.is_retryable, outcome.details()
    )


def _run(run: TaskRun) -> CompactionOutcome:
    if not run.settings.daily_memory_enabled:
        return CompactionOutcome(status="skipped", reason="daily_memory_enabled is off")
    agent = _require_agent(run)
    date = date_of(run)
    compactions = compactions_of(run, agent)
    try:
        compactions.recover()
        if compactions.is_closed(run.id):
            return _resume(compactions.find(run.id), date)
        for _start in range(_MOST_STARTS):
            proposal = propose(run)
            plan = proposal.plan
            if plan is None:
                return proposal.outcome
            day_file = resolve_day(date, run.parts.clock()).filename
            record = build_compaction(
                run.id, agent.id, plan, before=proposal.before, day_file=day_file,
                title=proposal.title,
            )  # fmt: skip
            record = replace(record, surface=run.surface, time=run.parts.clock())
            if compactions.commit(record):
                return replace(proposal.outcome, archive_file=day_file)
        reason = f"{MEMORY} was edited during each of {_MOST_STARTS} attempts; the edits stay"
        return CompactionOutcome(status="failed", reason=reason, date=date, is_retryable=True)
    except LooseleafError as error:
        return CompactionOutcome(
            status="failed", reason=str(error), date=date, is_retryable=is_transient(error)
        )


def _resume(record: Compaction, date: str) -> CompactionOutcome:
    """Return the outcome of a run that had moved its lines before a crash, and is started again."""
    return CompactionOutcome(
        status="compacted",
        reason="completed after an interruption",
        date=date,
        original_size=size_of(record.before),
        new_size=size_of(record.after),
        archived_size=size_of(record.block),
        archived_lines=sum(entry.lines for entry in record.ledger),
        archive_file=record.day_file,
    )


def propose(run: TaskRun) -> Proposal:
    """Find out what a run would do, and write nothing."""
    agent, date = _require_agent(run), date_of(run)
    limits = thresholds_of(run.settings)
    page = run.parts.pages.read(agent.shelf.page(MEMORY))
    text = "" if isinstance(page, Missing) else decode_text(MEMORY, page.content)
    size = size_of(text)
    base = CompactionOutcome(
        status="skipped", reason="", date=date, original_size=size, new_size=size
    )
    overflow = _propose_overflow(text, base, limits)
    if overflow is not None:
        return overflow
    model = run.parts.model_for(agent.id, "system") or ""
    reason = ""
    if not model:
        reason = f"no model is set for agent {agent.id} ({agent.slug}) in system mode"
    elif not text.strip():
        reason = f"{MEMORY} is empty"
    activity = "" if reason else _describe_activity(run, agent, date)
    if not reason and size <= limits.budget and not activity:
        reason = "within budget, and no activity that day"
    if reason:
        return Proposal(replace(base, reason=reason))
    return _propose_compaction(run, agent, replace(base, model=model), text, activity)


def _propose_overflow(text: str, base: CompactionOutcome, limits: Thresholds) -> Proposal | None:
    if not limits.overflow or base.original_size <= limits.overflow:
        return None
    plan = plan_overflow(text, limits.overflow_target, base.date)
    if plan is None:
        return None
    refusal = refuse_loss(text, plan)
    if refusal is not None:
        return Proposal(replace(base, status="failed", reason=refusal.reason))
    reason = f"{base.original_size} bytes are more than {limits.overflow}"
    outcome = _with_plan(replace(base, status="overflow_split", reason=reason), plan)
    return Proposal(outcome, plan, text, OVERFLOW_TITLE)


def _propose_compaction(
    run: TaskRun, agent: AgentRecord, base: CompactionOutcome, text: str, activity: str
) -> Proposal:
    limits = thresholds_of(run.settings)
    variables = {
        "memory_content": text,
        "date": base.date,
        "max_size": limits.budget_text,
        "activity_section": activity,
    }
    request = Request(agent=agent, mode="system", user=agent.owner, deny=IDENTITY_PAGES)
    system = run.parts.chain().compose(request).messages
    try:
        conversation = ask_for_plan(
            run.parts.models().open(base.model),
            system,
            fill_prompt(run.prompt(KEY), variables),
            PageParts(text),
            limits=limits,
            is_cancelled=run.is_cancelled,
        )
    except ModelFailed as error:
        return Proposal(
            replace(base, status="failed", reason=str(error), is_retryable=is_transient(error))
        )
    return _judge(base, text, conversation)


def _judge(base: CompactionOutcome, text: str, conversation: PlanConversation) -> Proposal:
    outcome = replace(
        base,
        turns=conversation.turns,
        refusals=conversation.refusals,
        rejected_answer=conversation.rejected_answer,
        input_tokens=conversation.usage.input_tokens,
        output_tokens=conversation.usage.output_tokens,
    )
    plan = conversation.plan
    if plan is None:
        last = conversation.refusals[-1].reason
        reason = f"no answer in {conversation.turns} turns passed the gates; the last: {last}"
        return Proposal(replace(outcome, status="rejected", reason=reason))
    if not plan.changes_page:
        reason = "the model chose to keep every line"
        return Proposal(replace(outcome, status="unchanged", reason=reason))
    reason = f"{plan.archived_lines} lines went to the journal"
    return Proposal(
        _with_plan(replace(outcome, status="compacted", reason=reason), plan), plan, text
    )


def _with_plan(outcome: CompactionOutcome, plan: CompactionPlan) -> CompactionOutcome:
    return replace(
        outcome,
        new_size=size_of(plan.text),
        archived_size=size_of(plan.archive),
        kept_lines=plan.kept_lines,
        archived_lines=plan.archived_lines,
    )


def date_of(run: TaskRun) -> str:
    """Return the day of a run: that of its parameters, or yesterday on a schedule, or today."""
    now = run.parts.clock()
    default = now - DAY_SECONDS if run.trigger == SCHEDULE else now
    return str(resolve_day(run.params.get("date") or None, default))


def compactions_of(run: TaskRun, agent: AgentRecord) -> Compactions:
    """Return the compactions of an agent."""
    return Compactions(run.settings.root, run.parts.pages, run.parts.history, agent.id)


def _describe_activity(run: TaskRun, agent: AgentRecord, date: str) -> str:
    if not run.parts.has_accounts():
        return ""
    jobs = list_job_lines(jobs_of(run.parts).jobs, agent.id, date)
    sessions = list_session_lines(chats_of(run.parts).sessions, agent.id, date)
    return format_activity(date, jobs, sessions)


def _require_agent(run: TaskRun) -> AgentRecord:
    if run.agent is None:
        raise ValueError(f"{TASK_TYPE} runs for one agent")
    return run.agent


DAILY_MEMORY = SystemTask(
    type=TASK_TYPE,
    label="Daily Memory",
    description=(
        "Keeps MEMORY.md lean: moves what belongs to one day to the journal, line for line."
    ),
    run=run_daily_memory,
    setting="daily_memory_enabled",
    trigger="Daily at midnight UTC",
    supports_run=True,
    params=FrozenDict({"date": "the day of the archive, as YYYY-MM-DD in UTC"}),
    prompts=(PROMPT,),
    attention=("failed", "rejected"),
)
