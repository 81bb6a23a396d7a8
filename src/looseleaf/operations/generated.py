"""Generated pages follow what they are made from: agents, settings and other pages."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from looseleaf.errors import LooseleafError
from looseleaf.folders import settled
from looseleaf.memory.composed import is_generated
from looseleaf.memory.pages import decoded
from looseleaf.memory.store import Change, Missing
from looseleaf.operations.composed import composed_text, follow_copy
from looseleaf.operations.context import HERE, Where, scope_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.pages import Changed
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.operations.context import Context

_ACTOR = "looseleaf"
_REASON = "what it is made from has changed"
_FOLDERS = ("agents", "shared", "network")


class GeneratedPages:
    """The generated pages of a workspace, brought up to date by whoever changes their sources.

    A page that does not say that it is generated is someone's own, and stays. A page that cannot
    be made or written is reported, and nothing else fails for it.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        files = [file for file in context.pages.registry.files() if file.composable]
        self.of_all = [file for file in files if file.layer != "agent"]
        self.of_agents = [file for file in files if file.layer == "agent"]
        root = os.path.realpath(context.settings.root)
        self._folders = [f"{root}/{one}" for one in _FOLDERS[: 2 + context.settings.network]]
        self._stamp: list[int] = []
        self._lock = allocate_lock()

    def follow_agents(self) -> None:
        """Bring everything up to date after an agent was created, changed or deleted."""
        self._follow_all()
        if self.of_agents:
            for record in self.context.agents.records():
                self._follow_agent(record)

    def follow_page(self, event: Changed) -> None:
        """Bring up to date what may be made from a page that was changed."""
        scope = event.scope
        if event.change.operation == "compose" or scope.filename.startswith("daily/"):
            return
        if scope.layer in ("shared", "network"):
            self._follow_all()
        elif self.of_agents:
            for record in self.context.agents.records():
                if record.id == scope.agent_id or record.owner == scope.user_id:
                    self._follow_agent(record)

    def check(self, agent: AgentRecord) -> None:
        """Look, before a prompt is composed, whether something was changed outside Looseleaf."""
        asked, stamp = time.time_ns(), self._stamp_now()
        if stamp != self._stamp:
            with self._lock:
                self._follow_all()
                # As it was before: what changes meanwhile is found by the next check.
                is_settled = all(settled(changed, asked) for changed in stamp[1:])
                self._stamp = stamp if is_settled else []
        if self.of_agents:
            self._follow_agent(agent)

    def _stamp_now(self) -> list[int]:
        stamp = [self.context.agents.changes]
        for folder in self._folders:
            try:
                stamp.append(os.stat(folder).st_mtime_ns)
            except OSError:
                stamp.append(0)
        return stamp

    def _follow_all(self) -> None:
        for file in self.of_all:
            self._follow(file, HERE)

    def _follow_agent(self, record: AgentRecord) -> None:
        for file in self.of_agents:
            self._follow(file, Where(record.id))

    def _follow(self, file: RegisteredFile, where: Where) -> None:
        context = self.context
        try:
            scope = scope_of(context, file.filename, Where(where.agent, where.user, file.layer))
            page = context.pages.read(scope)
            if isinstance(page, Missing):
                return
            before = decoded(file.filename, page.content)
            if not is_generated(before) or composed_text(context, file, where) in ("", before):
                return
            # The copy first: after a crash in between, it is still known by what the page says.
            follow_copy(context, file, where, before)

            def make(current: str) -> str:
                # Under the page's lock, so that of two writers the later has the newer sources.
                return composed_text(context, file, where) if is_generated(current) else current

            context.pages.edit(scope, make, change=_change(context))
        except LooseleafError as error:
            context.report(f"{file.filename} could not be brought up to date", error)


def _change(context: Context) -> Change:
    """Say that nobody in particular changes the page, and that it may become as short as it is."""
    return Change("compose", _ACTOR, context.surface, _REASON, allow_shrink=True)
