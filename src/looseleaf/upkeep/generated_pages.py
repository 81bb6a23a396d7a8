"""Keep generated pages up to date with their sources: agents, settings and other pages."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from looseleaf.errors import LooseleafError
from looseleaf.files.folders import is_settled
from looseleaf.memory.composed import is_generated
from looseleaf.memory.day import is_in_journal
from looseleaf.memory.pages import decode_text
from looseleaf.memory.provenance import FROM_SYSTEM, TASK, Provenance
from looseleaf.memory.store import Change, Missing
from looseleaf.upkeep.generated_text import find_page_agent, generate_text, project_folder_of
from looseleaf.upkeep.project_copy import update_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.pages import Changed
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.upkeep.generated_text import TextSources

_ACTOR = "looseleaf"
_REASON = "what it is made from has changed"
_FOLDERS = ("agents", "shared", "network")


class GeneratedPages:
    """The generated pages of a workspace, brought up to date whenever their sources change.

    A page without the mark of generated pages is a person's own, and stays. A page that cannot be
    generated or written is reported, and the other pages are brought up to date all the same.
    """

    def __init__(
        self, sources: TextSources, *, surface: str, report: Callable[[str, Exception], None]
    ) -> None:
        self.sources, self.surface, self.report = sources, surface, report
        files = [file for file in sources.pages.registry.files() if file.composable]
        self.workspace_files = [file for file in files if file.layer != "agent"]
        self.agent_files = [file for file in files if file.layer == "agent"]
        settings = sources.settings
        self._folders = [f"{settings.root}/{name}" for name in _FOLDERS[: 2 + settings.network]]
        self._stamp: list[int] = []
        self._lock = allocate_lock()

    def follow_agents(self) -> None:
        """Update everything after an agent was created, changed or deleted."""
        self._follow_all()
        if self.agent_files:
            for record in self.sources.agents.records():
                self._follow_agent(record)

    def follow_page(self, event: Changed) -> None:
        """Update the pages that may be generated from a changed page."""
        scope = event.scope
        if event.change.operation == "compose" or is_in_journal(scope.filename):
            return
        if scope.layer in ("shared", "network"):
            self._follow_all()
        elif self.agent_files:
            for record in self.sources.agents.records():
                if record.id == scope.agent_id or record.owner == scope.user_id:
                    self._follow_agent(record)

    def check(self, agent: AgentRecord) -> None:
        """Update, before a prompt is composed, what was changed outside Looseleaf."""
        check_time, stamp = time.time_ns(), self._stamp_now()
        if stamp != self._stamp:
            with self._lock:
                self._follow_all()
                # The stamp from before the update: the next check finds a change made meanwhile.
                has_settled = all(is_settled(mtime, check_time) for mtime in stamp[1:])
                self._stamp = stamp if has_settled else []
        if self.agent_files:
            self._follow_agent(agent)

    def _stamp_now(self) -> list[int]:
        stamp = [self.sources.agents.changes]
        for folder in self._folders:
            try:
                stamp.append(os.stat(folder).st_mtime_ns)
            except OSError:
                stamp.append(0)
        return stamp

    def _follow_all(self) -> None:
        for file in self.workspace_files:
            self._follow(file, None)

    def _follow_agent(self, record: AgentRecord) -> None:
        for file in self.agent_files:
            self._follow(file, record)

    def _follow(self, file: RegisteredFile, record: AgentRecord | None) -> None:
        pages = self.sources.pages
        try:
            scope = self.sources.find_page(file.filename, record.id if record else None, file.layer)
            page = pages.read(scope)
            if isinstance(page, Missing):
                return
            before = decode_text(file.filename, page.content)
            if not is_generated(before) or self._generate_text(file, record) in ("", before):
                return
            # The copy first: after a crash in between, it is recognized by the text of the page.
            if file.convention_path:
                folder = project_folder_of(self.sources.settings, file)
                path = file.convention_path
                update_copy(folder, path, before, lambda: self._generate_text(file, record))

            def make(current: str) -> str:
                # Under the page's lock, so that of two writers the later has the newer sources.
                return self._generate_text(file, record) if is_generated(current) else current

            pages.edit(scope, make, change=_change(self.surface))
        except LooseleafError as error:
            self.report(f"{file.filename} could not be brought up to date", error)

    def _generate_text(self, file: RegisteredFile, record: AgentRecord | None) -> str:
        agents = self.sources.agents
        agent = find_page_agent(
            file,
            lambda: agents.resolve(record.id if record else None),
            is_named=record is not None,
        )
        return generate_text(self.sources, file, agent)


def _change(surface: str) -> Change:
    """Describe a change by the system, which may make the page shorter."""
    provenance = Provenance(_ACTOR, TASK, surface, origin=FROM_SYSTEM, reason=_REASON)
    return Change("compose", provenance, allow_shrink=True)
