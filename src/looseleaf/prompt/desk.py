"""What a directive works with: the request, the day, and pages under the agent's policy."""

from __future__ import annotations

import time

from looseleaf.errors import Invalid, Locked, NotText, Unavailable, Unsafe
from looseleaf.memory.comments import is_unwritten, without_comments
from looseleaf.memory.pages import decoded
from looseleaf.memory.policy import memory_policy, resolve_names, resolve_registered
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Missing
from looseleaf.prompt.blocks import block
from looseleaf.prompt.outputs import GENERATED_PAGE, OTHER_PAGE, OWN_PAGE, LeftOut, Source, Text
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.errors import LooseleafError
    from looseleaf.memory.history import Revision
    from looseleaf.memory.registry import FileRegistry, RegisteredFile
    from looseleaf.memory.scope import Layer
    from looseleaf.memory.store import Found
    from looseleaf.prompt.filters import Filters
    from looseleaf.prompt.request import Request
    from looseleaf.prompt.sources import Sources

_ATTEMPTS = 5


@value
class About:
    """What is known of a page when its content is filtered."""

    file: str
    layer: Layer
    mode: str
    agent: str
    registered: RegisteredFile | None
    changed: float


@value
class Furniture:
    """What every desk of a workspace shares."""

    registry: FileRegistry
    sources: Sources
    content_filters: Filters
    file_filters: Filters
    scoped_file_filters: Filters
    site: dict[str, str] | None  # None: nothing is said of it
    site_filters: Filters
    keep_comments: bool = False


class Desk:
    """A directive's view: it cannot reach a page of another agent or user, nor a denied one."""

    def __init__(self, request: Request, now: float, furniture: Furniture) -> None:
        self.request = request
        self.now = now
        self.furniture = furniture
        self.reads: list[tuple[Scope, Found | Missing]] = []
        self.failure: LooseleafError | None = None  # of the last page that could not be read

    @property
    def agent(self) -> AgentRecord:
        """The agent whose prompt it is."""
        return self.request.agent

    @property
    def mode(self) -> str:
        """The mode of the request."""
        return self.request.mode

    def day(self, back: int = 0) -> str:
        """Give today's date in UTC, or an earlier one."""
        return time.strftime("%Y-%m-%d", time.gmtime(self.now - back * 86_400))

    def registered(self) -> Iterable[Text | LeftOut]:
        """Give the registered pages of this mode, each a text or the rule that left it out."""
        request, registry = self.request, self.furniture.registry
        resolved = resolve_registered(
            registry.files(),
            mode=request.mode,
            policy=memory_policy(request.agent.config.get("memory_policy")),
            deny=request.deny,
            allow_only=request.allow_only,
        )
        kept = self._filtered(tuple(file for file, decision in resolved if decision.allowed))
        for file, decision in resolved:
            if not decision.allowed:
                yield LeftOut(file.filename, decision.rule, file.layer)  # type: ignore[arg-type]
            elif file not in kept:
                yield LeftOut(file.filename, "filtered", file.layer)
            else:
                yield self._page(file.filename, file.layer)
        # Where not one page can be read, the store is at fault, and no prompt is better.
        if self.failure and all(isinstance(found, Missing) for _, found in self.reads):
            raise self.failure

    def pages(self, names: Iterable[str]) -> Iterable[Text | LeftOut]:
        """Give some pages by name, each a text or the rule that left it out."""
        request, registry = self.request, self.furniture.registry
        resolved = resolve_names(
            tuple(names),
            policy=memory_policy(request.agent.config.get("memory_policy")),
            deny=request.deny,
            allow_only=request.allow_only,
        )
        kept = self._filtered_names(tuple(name for name, decision in resolved if decision.allowed))
        for name, decision in resolved:
            layer = registry.layer_of(name)
            if not decision.allowed:
                yield LeftOut(name, decision.rule, layer)  # type: ignore[arg-type]
            elif name not in kept:
                yield LeftOut(name, "filtered", layer)
            else:
                yield self._page(name, layer)

    def _filtered_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        kept = names
        for one in self.furniture.scoped_file_filters.all() if names else ():
            kept = tuple(one.apply(kept, self.request))
            if not set(kept) <= set(names):
                raise Invalid(f"The scoped file filter {one.name} may only take pages away.")
        return kept

    def _filtered(self, files: tuple[RegisteredFile, ...]) -> tuple[RegisteredFile, ...]:
        kept = files
        for one in self.furniture.file_filters.all():
            kept = tuple(one.apply(kept, self.request))
            # A filter that could add would undo what an agent's policy denies.
            if not set(kept) <= set(files):
                raise Invalid(f"The file filter {one.name} may only take files away.")
        return kept

    def _page(self, name: str, layer: Layer) -> Text | LeftOut:
        scope = Scope(layer, self.request.user, self.request.agent.id, name)
        try:
            found = self.furniture.sources.read(scope)
            self.reads.append((scope, found))
            if isinstance(found, Missing):
                return LeftOut(name, "missing", layer)
            return self._made(scope, found)
        except (Unsafe, Unavailable) as error:
            # One page that cannot be read is no reason to give none; the prompt says so aloud.
            if isinstance(error, Locked):
                raise
            self.failure = error
            return LeftOut(name, "unreadable", layer, detail=str(error))

    def _made(self, scope: Scope, page: Found) -> Text | LeftOut:
        page, source = self._with_source(scope, page)
        try:
            text = decoded(scope.filename, page.content)
        except NotText as error:
            return LeftOut(scope.filename, "not_text", scope.layer, len(page.content), str(error))
        registered = self.furniture.registry.get(scope.filename)
        about = About(
            scope.filename, scope.layer, self.mode, self.agent.slug, registered, page.updated
        )
        filtered = text
        for one in self.furniture.content_filters.all():
            filtered = one.apply(filtered, about)
            if not isinstance(filtered, str):
                raise Invalid(f"The content filter {one.name} gave no text for {scope.filename}.")
        if not filtered.strip():
            return LeftOut(scope.filename, "empty", scope.layer, len(page.content), source=source)
        return self._shown(page, changed(source, rank=_rank(registered)), text, filtered)

    def _shown(self, page: Found, source: Source, text: str, filtered: str) -> Text | LeftOut:
        """Give a page as the model reads it: without notes for people, unless they are kept."""
        plain = without_comments(filtered)
        is_starter = is_unwritten(plain)
        if self.furniture.keep_comments:
            plain, source = filtered, changed(source, rank=GENERATED_PAGE) if is_starter else source
        elif plain is not filtered:
            saved = len(filtered.encode()) - len(plain.encode())
            source = changed(source, comments=saved)
        if is_starter and not self.furniture.keep_comments:
            return LeftOut(source.file, "starter", source.layer, len(page.content), source=source)
        mark = page.hash if plain == text else ""
        return Text(block(source, plain, hash=mark), source)

    def _with_source(self, scope: Scope, page: Found) -> tuple[Found, Source]:
        """Find out who wrote what was read, also while someone is writing."""
        sources = self.furniture.sources
        latest = sources.latest(scope)
        for _ in range(_ATTEMPTS):
            if latest is None or latest.hash == page.hash:
                break
            again = sources.read(scope)
            if isinstance(again, Missing):
                break
            page = again
            self.reads[-1] = (scope, page)
            latest = sources.latest(scope)
        else:
            latest = None
        source = Source(scope.filename, scope.layer, len(page.content), *_changed(page, latest))
        return page, source


def _rank(file: RegisteredFile | None) -> int:
    if file is None:
        return OTHER_PAGE
    if file.composable:
        return GENERATED_PAGE
    return OWN_PAGE if file.protected and file.layer in ("agent", "user") else OTHER_PAGE


def _changed(page: Found, latest: Revision | None) -> tuple[str, str]:
    moment = latest.time if latest is not None and latest.hash else page.updated
    day = time.strftime("%Y-%m-%d", time.gmtime(moment))
    if latest is None:
        return day, ""
    if latest.operation == "outside":
        return day, "someone outside Looseleaf"
    return day, f"{latest.actor} via {latest.surface}" if latest.actor else latest.surface
