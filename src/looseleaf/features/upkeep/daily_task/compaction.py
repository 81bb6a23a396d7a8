"""One compaction as an act that survives a crash: archive first, then the page, then the record.

The record is written before anything else and has all that is needed to complete the act or to
take it back. Wherever the process is killed, every line is in the page, in the journal, or for a
moment in both; the next run finds the record and completes the act.
"""

from __future__ import annotations

from looseleaf.errors import Conflicted, Refused
from looseleaf.errors.features import TaskRunMissing
from looseleaf.features.workflows.system_tasks import UpkeepRecords
from looseleaf.memory.day import day_of
from looseleaf.memory.pages import decode_text
from looseleaf.memory.provenance import FROM_SYSTEM, JOB, TASK, Activity, Provenance
from looseleaf.memory.scope import Scope
from looseleaf.memory.section_merge import compare_sections, merge_sections
from looseleaf.memory.sections import end_line
from looseleaf.memory.store import Change, Conflict, Missing, hash_content, name_version
from looseleaf.memory.units import count_lines
from looseleaf.values import as_dict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from looseleaf.features.upkeep.daily_task.plan import CompactionPlan
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages

    State = Literal["open", "closed", "undo", "undone", "abandoned"]

ACTOR = "looseleaf"
MEMORY = "MEMORY.md"
MOST_RECORDS = 100


@value
class LedgerEntry:
    """Lines that left the page, and the page that has them now."""

    line: int
    lines: int
    section: str
    to: str


@value(kw_only=True)
class Compaction:
    """The record of one compaction.

    Fields:
        id: The id of the run.
        agent_id: The agent whose page it is.
        state: open until both pages are written; closed; undo while it is taken back; undone;
            abandoned if nothing was done, or was taken back because the page had changed.
        day_file: The page of the journal that gets the lines.
        before: The page before, whole.
        after: The page afterwards, whole.
        block: The text that the journal gets, with a mark that no other text has.
        ledger: The lines that leave the page.
        surface: The surface by which the run was started.
        time: When the act began, in seconds since 1970.
        undo_from: The version of the page when it is taken back; "" if that is the page afterwards.
        undo_text: The page that an undo writes if it was changed since: with both changes.
    """

    id: str
    agent_id: int
    state: State
    day_file: str
    before: str
    after: str
    block: str
    ledger: tuple[LedgerEntry, ...]
    surface: str
    time: float
    undo_from: str = ""
    undo_text: str = ""

    @property
    def before_hash(self) -> str:
        """The version of the page before."""
        return hash_content(self.before.encode())

    @property
    def after_hash(self) -> str:
        """The version of the page afterwards."""
        return hash_content(self.after.encode())


def mark_of(run: str) -> str:
    """Write the comment that marks the block of a run in the journal."""
    return f"<!-- looseleaf upkeep {run} -->"


def format_block(run: str, title: str, archive: str) -> str:
    """Write the lines of an archive as a section of a day."""
    return f"\n### {title}\n{mark_of(run)}\n\n{end_line(archive)}"


class Compactions:
    """The compactions of one agent: done under a lock, recorded, recovered and taken back."""

    def __init__(self, root: str, pages: MemoryPages, history: History, agent_id: int) -> None:
        self.records = UpkeepRecords(root, "compactions", f"agent-{agent_id}")
        self.pages, self.history, self.agent_id = pages, history, agent_id
        self.page = Scope("agent", 0, agent_id, MEMORY)

    def commit(self, compaction: Compaction) -> bool:
        """Move the lines; return False, without a change, if the page was edited meanwhile."""
        with self.records.lock():
            self._recover()
            page = self.pages.read(self.page)
            if isinstance(page, Missing) or page.hash != compaction.before_hash:
                return False
            self._save(compaction)
            self._append_block(compaction)
            is_done = self._rewrite(compaction, compaction.before_hash, compaction.after, "compact")
            if not is_done:
                self._remove_block(compaction)
            self._save(replace(compaction, state="closed" if is_done else "abandoned"))
            self._prune()
            return is_done

    def recover(self) -> None:
        """Complete or take back the compactions that a crash left half done."""
        if any(record.state in ("open", "undo") for record in self._list_newest(10)):
            with self.records.lock():
                self._recover()

    def undo(self, run: str, surface: str) -> Compaction:
        """Put the lines back into the page and take them out of the journal, together.

        If the page was changed since, those changes are merged with the undo.
        """
        with self.records.lock():
            self._recover()
            compaction = self.find(run)
            if compaction.state != "closed":
                raise Refused(f"The run {run} cannot be undone: it is {compaction.state}.")
            page = self.pages.read(self.page)
            undo = replace(compaction, state="undo", surface=surface)
            if isinstance(page, Missing) or page.hash != compaction.after_hash:
                text = "" if isinstance(page, Missing) else decode_text(MEMORY, page.content)
                merged = _merge_undo(compaction, text)
                if isinstance(page, Missing) or merged is None:
                    raise Refused(
                        f"The run {run} cannot be undone: {MEMORY} was changed in the same places "
                        "since. Take the lines from the journal instead: "
                        f"{compaction.day_file} has them."
                    )
                undo = replace(undo, undo_from=page.hash, undo_text=merged)
            if not self._has_block(compaction):
                raise Refused(
                    f"The run {run} cannot be undone: {compaction.day_file} no longer has its "
                    "lines as they were archived. Restore the page from its history instead."
                )
            self._save(undo)
            self._complete_undo(undo)
            return self.find(run)

    def find(self, run: str) -> Compaction:
        """Find the record of a run, or raise `TaskRunMissing`."""
        record = self.records.read(run) if run in self.records.names() else None
        if record is None:
            raise TaskRunMissing(run, "this agent")
        return _parse(record)

    def is_closed(self, run: str) -> bool:
        """Return whether a run moved its lines and is complete."""
        return self.has(run) and self.find(run).state == "closed"

    def has(self, run: str) -> bool:
        """Return whether a run moved lines."""
        return run in self.records.names()

    def latest(self) -> Compaction | None:
        """Find the newest compaction that can be undone."""
        for record in self._list_newest(MOST_RECORDS):
            if record.state == "closed":
                return record
        return None

    def list_unfinished(self) -> list[Compaction]:
        """List the compactions that a crash left half done."""
        return [record for record in self._list_newest(10) if record.state in ("open", "undo")]

    def _list_newest(self, count: int) -> list[Compaction]:
        names = self.records.names()[-count:]
        records = [self.records.read(name) for name in reversed(names)]
        return [_parse(record) for record in records if record is not None]

    def _recover(self) -> None:
        for record in reversed(self.list_unfinished()):
            if record.state == "undo":
                self._complete_undo(record)
            else:
                self._complete(record)

    def _complete(self, record: Compaction) -> None:
        """Finish an act that was begun: rewrite the page, or take the block back."""
        is_archived = self._has_block(record)
        page = self.pages.read(self.page)
        actual = "" if isinstance(page, Missing) else page.hash
        is_done = actual == record.after_hash or self._has_been(record.after_hash, record.time)
        if is_archived and not is_done and actual == record.before_hash:
            is_done = self._rewrite(record, record.before_hash, record.after, "compact")
        if is_archived and not is_done:
            self._remove_block(record)
        self._save(replace(record, state="closed" if is_done else "abandoned"))

    def _complete_undo(self, record: Compaction) -> None:
        """Restore the page, then remove the lines from the journal."""
        page = self.pages.read(self.page)
        actual = "" if isinstance(page, Missing) else page.hash
        before, text = record.undo_from or record.after_hash, record.undo_text or record.before
        is_restored = actual == hash_content(text.encode())
        if actual == before:
            is_restored = self._rewrite(record, before, text, "undo compact")
        if not is_restored:
            # The page was edited meanwhile, so that only the journal still has these lines.
            self._save(replace(record, state="closed", undo_from="", undo_text=""))
            raise Conflicted(MEMORY, before, actual)
        self._remove_block(record)
        self._save(replace(record, state="undone"))

    def _has_been(self, version: str, since: float) -> bool:
        """Return whether the page has had this version at some time since `since`."""
        return any(
            revision.hash == version and revision.time >= since
            for revision in self.history.revisions(self.page)
        )

    def _rewrite(self, record: Compaction, version: str, text: str, operation: str) -> bool:
        change = self._build_change(record, operation)
        outcome = self.pages.write(self.page, text, change=change, if_match=version)
        return not isinstance(outcome, Conflict)

    def _has_block(self, record: Compaction) -> bool:
        page = self.pages.read(self.page.shelf.page(record.day_file))
        if isinstance(page, Missing):
            return False
        return record.block in decode_text(record.day_file, page.content)

    def _append_block(self, record: Compaction) -> None:
        scope = self.page.shelf.page(record.day_file)

        def add(text: str) -> str:
            if record.block in text:
                return text
            head = text or ("" if self.pages.exists(scope) else _first_line_of(record.day_file))
            return (end_line(head) if head else "") + record.block

        change = self._build_change(record, "archive")
        moved_from = name_version(MEMORY, record.before_hash)
        self.pages.edit(scope, add, change=replace(change, moved_from=moved_from))

    def _remove_block(self, record: Compaction) -> None:
        scope = self.page.shelf.page(record.day_file)
        page = self.pages.read(scope)
        if isinstance(page, Missing):
            return
        text = decode_text(record.day_file, page.content)
        change = self._build_change(record, "undo archive")
        if text == _first_line_of(record.day_file) + record.block:
            self.pages.delete(scope, change=change, if_match=page.hash)
            return
        self.pages.edit(scope, lambda page: page.replace(record.block, "", 1), change=change)

    def _build_change(self, record: Compaction, operation: str) -> Change:
        provenance = Provenance(
            ACTOR,
            TASK,
            record.surface,
            Activity(JOB, record.id),
            FROM_SYSTEM,
            f"upkeep run {record.id}",
        )
        return Change(operation, provenance, allow_shrink=True)

    def _save(self, record: Compaction) -> None:
        self.records.write(record.id, _as_json(record))

    def _prune(self) -> None:
        for name in self.records.names()[:-MOST_RECORDS]:
            self.records.remove(name)


def _merge_undo(compaction: Compaction, present: str) -> str | None:
    """Return the page with the lines of a compaction and all that was changed since.

    None if a line would be missing that either side has.
    """
    parts = compare_sections(compaction.after, present, compaction.before)
    merged = merge_sections(parts, {})
    lines, after = count_lines(merged), count_lines(compaction.after)
    for version in (compaction.before, present):
        if set(count_lines(version) - after) - set(lines):
            return None
    return merged


def build_compaction(
    run: str, agent_id: int, plan: CompactionPlan, *, before: str, day_file: str, title: str
) -> Compaction:
    """Build the record of a plan."""
    ledger = tuple(
        LedgerEntry(removal.line, removal.lines, removal.section, day_file)
        for removal in plan.removals
    )
    block = format_block(run, title, plan.archive)
    return Compaction(
        id=run,
        agent_id=agent_id,
        state="open",
        day_file=day_file,
        before=before,
        after=plan.text,
        block=block,
        ledger=ledger,
        surface="library",
        time=0.0,
    )


def _first_line_of(day_file: str) -> str:
    day = day_of(day_file)
    return day.title if day is not None else ""


def _as_json(record: Compaction) -> dict[str, Any]:
    return {**as_dict(record), "ledger": [as_dict(entry) for entry in record.ledger]}


def _parse(record: dict[str, Any]) -> Compaction:
    ledger = tuple(LedgerEntry(**entry) for entry in record["ledger"])
    return Compaction(**{**record, "ledger": ledger})
