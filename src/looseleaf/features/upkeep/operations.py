"""Upkeep of MEMORY.md: preview, run, report and undo; retention; and lint."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, require_outcome, scope_of, shelf_of
from looseleaf.errors import Forbidden, InvalidArgument, LooseleafError, Unavailable
from looseleaf.errors.features import TaskMissing, TaskRunMissing
from looseleaf.features.upkeep.daily_task.compaction import MEMORY, Compactions
from looseleaf.features.upkeep.daily_task.task import TASK_TYPE, propose
from looseleaf.features.upkeep.lint import JOURNAL, LINT_RULES, LintPage, apply_edits, lint_pages
from looseleaf.features.upkeep.retention import PREFIX, RULES, RUN, apply_rule
from looseleaf.features.workflows.operations.system_tasks import (
    RunInfo,
    describe_run,
    find_settings,
    run_once,
)
from looseleaf.features.workflows.parts import system_tasks_of
from looseleaf.features.workflows.system_tasks import (
    MANUAL,
    SCHEDULE,
    RunLog,
    RunRequest,
    TaskPrompts,
    TaskRun,
    check_run,
    create_run_id,
)
from looseleaf.memory.day import Day, is_in_journal, parse_date
from looseleaf.memory.deadline import check_deadline
from looseleaf.memory.differences import diff_edit, diff_lines
from looseleaf.memory.pages import MAIN, decode_text
from looseleaf.memory.provenance import JOB
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.sections import end_line, end_paragraph
from looseleaf.memory.store import Missing, hash_content, name_version
from looseleaf.models.model import never
from looseleaf.times import format_date, format_time
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.features.upkeep.lint import LintProblem, Move, PageEdit
    from looseleaf.features.upkeep.retention import RetentionRule
    from looseleaf.memory.scope import Layer, Scope, Shelf
    from looseleaf.memory.store import PageEntry


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


@value
class RefusalInfo:
    """Why an answer of a model was not accepted.

    Fields:
        turn: Which answer it was, from 1.
        gate: The condition that it failed, in one word.
        reason: Why, in one sentence.
        sample: Lines or names that are concerned, one on each line; "" if there are none.
    """

    turn: int
    gate: str
    reason: str
    sample: str


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
        refusals: The answers that were not accepted.
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
    refusals: tuple[RefusalInfo, ...]
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
        can_undo: Whether the run moved lines and was not undone.
    """

    run: RunInfo
    state: str
    ledger: tuple[LedgerLine, ...]
    diff: str
    archive: str
    can_undo: bool


@value
class UpkeepUndo:
    """A run that was taken back.

    Fields:
        run: The run.
        agent: The agent.
        file: The page that has its lines again.
        archive_file: The page of the journal that has them no longer.
        lines: How many lines are back.
        merged: Whether the page was changed since the run; these changes stay.
    """

    run: str
    agent: str
    file: str
    archive_file: str
    lines: int
    merged: bool


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
        settings=find_settings(context),
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
        refusals=tuple(
            RefusalInfo(refusal.turn, refusal.gate, refusal.reason, refusal.sample)
            for refusal in outcome.refusals
        ),
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
    return UpkeepRun(
        info,
        compaction.state,
        ledger,
        _diff(compaction.before, compaction.after),
        compaction.block,
        can_undo=compaction.state == "closed",
    )


@operation("looseleaf/undo-upkeep", permission="settings", categories=("system",))
def undo(context: Context, run: str = "", *, where: Where = DEFAULT_WHERE) -> UpkeepUndo:
    """Undo a run: MEMORY.md gets its lines again, and the journal loses them.

    What was changed in MEMORY.md since the run stays.

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
    return UpkeepUndo(
        run=run,
        agent=agent.slug,
        file=MEMORY,
        archive_file=compaction.day_file,
        lines=sum(entry.lines for entry in compaction.ledger),
        merged=bool(compaction.undo_text),
    )


def _open_compactions(context: Context, agent: AgentRecord) -> Compactions:
    return Compactions(context.settings.root, context.parts.pages, context.parts.history, agent.id)


def _diff(before: str, after: str) -> str:
    names = (f"{MEMORY} before", f"{MEMORY} after")
    return diff_lines(before.split("\n"), after.split("\n"), names).text


# Retention: how long data is kept, what is past its retention, and removing it.


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


# Lint: problems in an agent's pages, found without a model, each with the edit that mends it.


_LAYERS: tuple[Layer, ...] = ("agent", "user", "shared")
MOST_FINDINGS = 100  # of one rule in one page that are listed; a fix mends all of them
_ROUNDS = 5  # edits that touch the same lines are applied one after the other
_MOST_PAGE_BYTES = 1_000_000


@value(kw_only=True)
class LintFinding:
    """A problem in a page, and the edit that mends it.

    Fields:
        id: The id of the finding; the same while the page says the same.
        rule: The rule that found it.
        file: The page.
        layer: The layer of the page.
        line: The line, from 1; 0 for the whole page.
        text: The line.
        message: What is the matter, in one sentence.
        advice: What the edit does, or what a person should do.
        fixable: Whether there is an edit.
        diff: The edit, as a unified diff of the page.
    """

    id: str
    rule: str
    file: str
    layer: str
    line: int
    text: str
    message: str
    advice: str
    fixable: bool
    diff: str


@value
class LintFix:
    """A page that was mended: which findings, and where moved text went."""

    file: str
    layer: str
    findings: tuple[str, ...]
    moved_to: tuple[str, ...]
    hash: str


@operation(
    "looseleaf/lint-memory", permission="read", categories=("memory", "lint"), read_only=True
)
def lint_memory(
    context: Context, *, file: str = "", rule: str = "", where: Where = DEFAULT_WHERE
) -> list[LintFinding]:
    """Find problems in an agent's pages without a model, each with a proposed edit.

    Arguments:
        file: The only page to look at; without it, all pages of the agent, its user and the
            workspace, but not the journal.
        rule: The only rule to follow, such as duplicate_line; without it, all rules.
        agent: The agent whose pages are looked at, by id or slug; without it, the token's or the
            default agent.
        user: The user whose pages are looked at, too, by id; without it, the user who acts.
        layer: The only layer that is looked at: shared, agent or user; without it, all of them.
    """
    _check_rule(rule)
    findings: list[LintFinding] = []
    # By place and rule: how many there are, and where the last of those that are listed stands.
    counts: dict[tuple[str, str, str], tuple[int, int]] = {}
    for page, problem in _find(context, where, file=file, rule=rule):
        key = (page.layer, page.file, problem.rule)
        count, last = counts.get(key, (0, 0))
        if count < MOST_FINDINGS:
            last = len(findings)
            findings.append(_describe(page, problem))
        counts[key] = (count + 1, last)
    for count, last in counts.values():
        if count > MOST_FINDINGS:
            findings[last] = _note_more(findings[last], count - MOST_FINDINGS)
    return findings


@operation("looseleaf/fix-memory", permission="write", categories=("memory", "lint"))
def fix_memory(
    context: Context,
    *,
    file: str = "",
    rule: str = "",
    findings: tuple[str, ...] = (),
    where: Where = DEFAULT_WHERE,
) -> list[LintFix]:
    """Apply the proposed edits of lint; text that leaves a page goes to the journal or its page.

    Arguments:
        file: The only page to mend; without it, all pages that lint looks at.
        rule: The only rule whose findings are mended; without it, all rules.
        findings: The ids of the findings to mend; without any, all that have an edit.
        agent: The agent whose pages are mended, by id or slug; without it, the token's or the
            default agent.
        user: The user whose pages are mended, too, by id; without it, the user who acts.
        layer: The only layer that is mended: shared, agent or user; without it, all of them.
    """
    _check_rule(rule)
    place = Where(where.agent, where.user, where.layer or "agent")
    scope_of(context, file or MAIN, place)  # refuses a principal who may not write there
    reader = context.with_permission("read")
    chosen_ids = frozenset(findings)
    fixes: list[LintFix] = []
    for _round in range(_ROUNDS):
        by_page: dict[tuple[str, str], tuple[LintPage, list[LintProblem]]] = {}
        for page, problem in _find(reader, where, file=file, rule=rule):
            is_chosen = not chosen_ids or _identify(page, problem) in chosen_ids
            if problem.edit is not None and is_chosen:
                by_page.setdefault((page.layer, page.file), (page, []))[1].append(problem)
        round_fixes = [
            _mend(context, where, page, problems)
            for page, problems in by_page.values()
            if where.layer is not None or _may_write(context, where, page)
        ]
        if not round_fixes:
            break
        fixes += round_fixes
    return fixes


def _may_write(context: Context, where: Where, page: LintPage) -> bool:
    """Return whether the principal may change a page."""
    try:
        scope_of(context, page.file, Where(where.agent, where.user, page.layer))
    except Forbidden:
        return False
    return True


def _check_rule(rule: str) -> None:
    if rule and rule not in LINT_RULES:
        raise InvalidArgument("rule", f"{rule!r} is no rule; the rules are {', '.join(LINT_RULES)}")


def _find(
    context: Context, where: Where, *, file: str, rule: str
) -> Iterable[tuple[LintPage, LintProblem]]:
    now = context.clock()
    # Only the operator of this machine learns whether a file exists on it.
    path_exists = os.path.exists if context.principal.is_local else None
    for layer in _LAYERS:
        if where.layer not in (None, layer):
            continue
        shelf = shelf_of(context, Where(where.agent, where.user, layer), layer)
        entries = [entry for entry in context.pages.list(shelf) if _is_linted(entry)]
        files = frozenset(entry.filename for entry in entries)
        for entry in entries:
            if file not in ("", entry.filename):
                continue
            check_deadline()
            page = _read_page(context, shelf, entry)
            problems = lint_pages(
                [page] if page is not None else [],
                context.pages.registry,
                now,
                files=files,
                path_exists=path_exists,
            )
            for step, problem in enumerate(problems):
                check_deadline(step)
                if page is not None and rule in ("", problem.rule):
                    yield page, problem


def _is_linted(entry: PageEntry) -> bool:
    return not is_in_journal(entry.filename) and entry.bytes <= _MOST_PAGE_BYTES


def _read_page(context: Context, shelf: Shelf, entry: PageEntry) -> LintPage | None:
    """Read a page, or return None if it cannot be read: the doctor names such pages."""
    try:
        page = context.pages.read(shelf.page(entry.filename))
        if isinstance(page, Missing):
            return None
        text = decode_text(entry.filename, page.content)
    except LooseleafError:
        return None
    return LintPage(entry.filename, shelf.layer, text, page.updated or entry.updated)


def _mend(
    context: Context, where: Where, page: LintPage, problems: Iterable[LintProblem]
) -> LintFix:
    """Write what moves to other pages first, then the page, if it still is what was read."""
    result = apply_edits(page.lines, problems)
    scope = scope_of(context, page.file, Where(where.agent, where.user, page.layer))
    version = hash_content(page.text.encode())
    targets = [_move(context, where, page, move) for move in result.moves]
    rules = ", ".join(sorted({problem.rule for problem in result.problems}))
    change = context.change("lint", if_match=version, allow_shrink=True, reason=f"lint: {rules}")
    page_after = require_outcome(page.file, context.pages.write(scope, result.text, change=change))
    ids = tuple(_identify(page, problem) for problem in result.problems)
    return LintFix(page.file, page.layer, ids, tuple(dict.fromkeys(targets)), page_after.hash)


def _move(context: Context, where: Where, page: LintPage, move: Move) -> str:
    """Append text to the page it moves to, once, however often a fix is tried again."""
    target, text = move.target, move.text
    if target == JOURNAL:
        day = _read_today(context)
        target, text = day.filename, f"### Moved from {page.file}\n\n{move.text}"
    scope = _resolve_target(context, where, target)

    def add(present: str) -> str:
        head = present or (day.title if move.target == JOURNAL else "")
        is_there = move.text.strip("\n") in present
        return present if is_there and present else f"{end_paragraph(head)}{end_line(text)}"

    change = context.change("lint", reason=f"moved from {page.file}")
    moved_from = name_version(page.file, hash_content(page.text.encode()))
    context.pages.edit(scope, add, change=replace(change, moved_from=moved_from))
    return target


def _resolve_target(context: Context, where: Where, file: str) -> Scope:
    return scope_of(context, file, Where(where.agent, where.user, "agent"))


def _read_today(context: Context) -> Day:
    day = parse_date(format_date(context.clock()))
    if day is None:
        raise InvalidArgument("date", "the clock of this machine is not set")
    return day


def _identify(page: LintPage, problem: LintProblem) -> str:
    text = page.lines[problem.line - 1] if problem.line else ""
    return hash_content(f"{problem.rule}\n{page.layer}\n{page.file}\n{text}".encode())[:12]


def _describe(page: LintPage, problem: LintProblem) -> LintFinding:
    text = page.lines[problem.line - 1].rstrip() if problem.line else ""
    return LintFinding(
        id=_identify(page, problem),
        rule=problem.rule,
        file=page.file,
        layer=page.layer,
        line=problem.line,
        text=text,
        message=problem.message,
        advice=problem.advice,
        fixable=problem.edit is not None,
        diff=_format_diff(page, problem.edit) if problem.edit is not None else "",
    )


def _format_diff(page: LintPage, edit: PageEdit) -> str:
    edits = [
        (change.start, change.end, [line.rstrip("\n") for line in change.lines])
        for change in edit.changes
    ]
    return diff_edit(page.bare_lines, edits, (page.file, page.file))


def _note_more(finding: LintFinding, count: int) -> LintFinding:
    """Say in the last finding that is listed how many of its rule are not."""
    more = f"{count:,} more findings of this rule in this page are not listed"
    return replace(finding, message=f"{finding.message}; {more}")
