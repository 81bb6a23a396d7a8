"""Keep generated pages up to date with their sources: agents, settings and other pages."""

from __future__ import annotations

import os
import shlex
import stat
import time
from _thread import allocate_lock

from looseleaf.errors import InUse, LooseleafError
from looseleaf.errors.pages import AgentAmbiguous, AgentMissing
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, is_settled, open_folder, read_all
from looseleaf.memory.composed import ComposeContext, ListItem, is_generated
from looseleaf.memory.day import is_in_journal
from looseleaf.memory.managed_block import find_block, put_block
from looseleaf.memory.pages import decode_text
from looseleaf.memory.policy import decide
from looseleaf.memory.provenance import FROM_SYSTEM, TASK, Provenance
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Change, Found, Missing, has_paths
from looseleaf.times import format_date
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.agents.record import AgentList, AgentRecord
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.pages import Changed, MemoryPages
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.memory.scope import Layer, Scope
    from looseleaf.settings import Settings

    # Finds the page of a filename, for an agent by its id, on a layer; None is the page's own.
    FindPage = Callable[[str, int | None, Layer | None], Scope]


# The text of a generated page, made from settings, agents and other pages.


@value
class TextSources:
    """The sources of generated pages, and the function that finds a page of an agent."""

    settings: Settings
    agents: AgentList
    pages: MemoryPages
    sections: Callable[[], ComposedSections]
    clock: Callable[[], float]
    find_page: FindPage


def find_page_agent(
    file: RegisteredFile, find: Callable[[], AgentRecord], *, is_named: bool = False
) -> AgentRecord | None:
    """Find the agent that a generated page is about, or None if it is about the workspace."""
    try:
        return find()
    except (AgentAmbiguous, AgentMissing):
        if file.convention_path or is_named:
            raise
        return None


def generate_text(sources: TextSources, file: RegisteredFile, agent: AgentRecord | None) -> str:
    """Generate the text of a page as it should be now, or "" if every section is empty."""
    settings = sources.settings
    folder = project_folder_of(settings, file) if file.convention_path else settings.root
    return sources.sections().generate(file.filename, build_context(sources, agent, folder))


def project_folder_of(settings: Settings, file: RegisteredFile) -> str:
    """Return the folder that the paths on a generated page start from."""
    folder = settings.project_folder if file.convention_path else "."
    return os.path.realpath(os.path.join(settings.root, folder))


def build_context(sources: TextSources, agent: AgentRecord | None, folder: str) -> ComposeContext:
    """Build the context of generated sections; their paths start from a folder."""

    def find_scope(filename: str) -> Scope | None:
        # A generated page can be part of a prompt, so the agent's policy holds here, too.
        if agent is None or not decide(filename, policy=agent.configuration.memory_policy).allowed:
            return None
        return sources.find_page(filename, agent.id, None)

    def read_page(filename: str) -> str | None:
        page_scope = find_scope(filename)
        page = sources.pages.read(page_scope) if page_scope is not None else None
        return decode_text(filename, page.content) if isinstance(page, Found) else None

    def find_path(filename: str) -> str | None:
        page_scope = find_scope(filename)
        if page_scope is None or not sources.pages.exists(page_scope):
            return None
        store = sources.pages.store_for(page_scope)
        return (
            os.path.relpath(store.path(page_scope), os.path.realpath(folder))
            if has_paths(store)
            else None
        )

    def list_pages(layer: Layer) -> Sequence[ListItem]:
        registry = sources.pages.registry
        return [
            ListItem(
                entry.filename, file.description if (file := registry.get(entry.filename)) else ""
            )
            for entry in sources.pages.list(Shelf(layer))
        ]

    settings = sources.settings
    return ComposeContext(
        agent_slug=agent.slug if agent else "",
        agent_name=agent.name if agent else "",
        workspace_name=settings.name,
        workspace_url=settings.url,
        language=settings.language,
        timezone=settings.timezone,
        date=format_date(sources.clock()),
        command=_format_command(settings, folder),
        workspaces=(ListItem(settings.display_name, settings.url),),
        include="imports" if settings.agents_md_include == "imports" else "inline",
        agents=tuple(ListItem(record.slug, record.name) for record in sources.agents.records()),
        pages=list_pages,
        read=read_page,
        path=find_path,
    )


def _format_command(settings: Settings, folder: str) -> str:
    """Format the command as it must be typed in the folder of the generated page."""
    root = settings.root if settings.root == folder else os.path.realpath(settings.root)
    if root == folder or os.path.commonpath([root, folder]) == root:
        return "looseleaf"
    return f"looseleaf --root {shlex.quote(os.path.relpath(root, folder))}"


# The copy of a generated page in a project, where other tools look; the rest of the file stays.


FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ATTEMPTS = 20


def update_copy(folder: str, path: str, before: str, make: Callable[[], str]) -> None:
    """Update the copy in a project, if it is the copy of the page as it was."""
    *folders, name = path.split("/")
    with OsErrorContext(path):
        try:
            root = os.open(os.path.join(folder, *folders), FOLDER)
        except FileNotFoundError:
            return
        try:
            current_text, _mode = _read_file(root, name)
        finally:
            os.close(root)
    if current_text is not None and find_block(current_text) == before:
        write_copy(folder, path, make())


def write_copy(folder: str, path: str, text: str) -> None:
    """Write the copy of a page into a project; the text of people around the copy stays."""
    *folders, name = path.split("/")
    with OsErrorContext(path):
        root = os.open(folder, FOLDER)
        try:
            target_folder = open_folder(root, folders, create=0o755)
        finally:
            os.close(root)
        try:
            for _ in range(_ATTEMPTS):
                current_text, mode = _read_file(target_folder, name)
                new_text = put_block(current_text, text)
                if new_text == current_text or _replace_unchanged(
                    target_folder, name, new_text, current_text, mode
                ):
                    return
        finally:
            os.close(target_folder)
    raise InUse(path, "another program keeps changing it; try again")


def _replace_unchanged(
    folder: int, name: str, text: str, current_text: str | None, mode: int
) -> bool:
    """Replace a file that may be a human's own, unless it has changed since it was read."""

    def is_unchanged() -> bool:
        return _read_file(folder, name)[0] == current_text

    return atomic.replace(folder, name, text.encode(), mode=mode, condition=is_unchanged)


def _read_file(folder: int, name: str) -> tuple[str | None, int]:
    try:
        fd = os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        return None, 0o600
    try:
        return decode_text(name, read_all(fd)), stat.S_IMODE(os.fstat(fd).st_mode)
    finally:
        os.close(fd)


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
