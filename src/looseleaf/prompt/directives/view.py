"""The view of a directive: the request, the day, and pages under the agent's policy."""

from __future__ import annotations

from looseleaf.errors import Invalid, Locked, Unavailable, Unsafe
from looseleaf.errors.pages import NotText
from looseleaf.memory.pages import decode_text
from looseleaf.memory.policy import resolve_names, resolve_registered
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Missing
from looseleaf.memory.text.comments import is_unwritten, without_comments
from looseleaf.prompt.blocks import format_block
from looseleaf.prompt.directives.outputs import (
    GENERATED_PAGE,
    OTHER_PAGE,
    OWN_PAGE,
    LeftOut,
    Source,
    Text,
)
from looseleaf.times import DAY_SECONDS, format_date
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.errors import LooseleafError
    from looseleaf.memory.history import Revision
    from looseleaf.memory.policy import PolicyDecision
    from looseleaf.memory.registry import FileRegistry, RegisteredFile
    from looseleaf.memory.scope import Layer
    from looseleaf.memory.store import Found
    from looseleaf.prompt.directives.page_sources import Sources
    from looseleaf.prompt.filters import Filters
    from looseleaf.prompt.request import Request, Tool

_ATTEMPTS = 5


@value
class PageFacts:
    """The facts about a page that a content filter gets."""

    file: str
    layer: Layer
    mode: str
    agent: str
    registered: RegisteredFile | None
    changed: float


@value(kw_only=True)
class PromptParts:
    """The parts of a workspace that all views share."""

    registry: FileRegistry
    sources: Sources
    content_filters: Filters
    file_filters: Filters
    scoped_file_filters: Filters
    site: dict[str, str] | None  # None: the prompt does not mention it
    site_filters: Filters
    decide_tools: Callable[[Request], Iterable[tuple[Tool, PolicyDecision]]]
    keep_comments: bool = False


class DirectiveView:
    """The view of a directive, which shows no page of another agent or user, and no denied one."""

    def __init__(self, request: Request, now: float, parts: PromptParts) -> None:
        self.request = request
        self.now = now
        self.parts = parts
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
        """Return today's date in UTC, or an earlier one."""
        return format_date(self.now - back * DAY_SECONDS)

    def registered_pages(self) -> Iterable[Text | LeftOut]:
        """Return the registered pages of this mode, each a text or the rule that left it out."""
        request, registry = self.request, self.parts.registry
        decisions = resolve_registered(
            registry.files(),
            mode=request.mode,
            policy=request.agent.configuration.memory_policy,
            deny=request.deny,
            allow_only=request.allow_only,
        )
        allowed_files = self._filter_files(
            tuple(file for file, decision in decisions if decision.allowed)
        )
        allowed_names = {file.filename for file in allowed_files}
        for file, decision in decisions:
            if not decision.allowed:
                yield LeftOut(file.filename, decision.rule, file.layer)  # type: ignore[arg-type]
            elif file.filename not in allowed_names:
                yield LeftOut(file.filename, "filtered", file.layer)
            else:
                yield self._read_page(file.filename, file.layer)
        # If no page at all can be read, the store is at fault, and no prompt is given.
        if self.failure and all(isinstance(page, Missing) for _, page in self.reads):
            raise self.failure

    def pages(self, names: Iterable[str]) -> Iterable[Text | LeftOut]:
        """Return some pages by name, each a text or the rule that left it out."""
        request, registry = self.request, self.parts.registry
        decisions = resolve_names(
            tuple(names),
            policy=request.agent.configuration.memory_policy,
            deny=request.deny,
            allow_only=request.allow_only,
        )
        allowed_names = self._filter_names(
            tuple(name for name, decision in decisions if decision.allowed)
        )
        for name, decision in decisions:
            layer = registry.layer_of(name)
            if not decision.allowed:
                yield LeftOut(name, decision.rule, layer)  # type: ignore[arg-type]
            elif name not in allowed_names:
                yield LeftOut(name, "filtered", layer)
            else:
                yield self._read_page(name, layer)

    def tools(self) -> Iterable[tuple[Tool, PolicyDecision]]:
        """Return the tools that the request brings, each with the decision about it."""
        return self.parts.decide_tools(self.request) if self.request.tools else ()

    def _filter_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        remaining_names = names
        for name_filter in self.parts.scoped_file_filters.all() if names else ():
            remaining_names = tuple(name_filter.apply(remaining_names, self.request))
            if not set(remaining_names) <= set(names):
                raise Invalid(
                    f"The scoped file filter {name_filter.name} may only take pages away."
                )
        return remaining_names

    def _filter_files(self, files: tuple[RegisteredFile, ...]) -> tuple[RegisteredFile, ...]:
        remaining_files = files
        for file_filter in self.parts.file_filters.all():
            remaining_files = tuple(file_filter.apply(remaining_files, self.request))
            # A filter that could add pages would undo the denials of an agent's policy.
            if not set(remaining_files) <= set(files):
                raise Invalid(f"The file filter {file_filter.name} may only take files away.")
        return remaining_files

    def _read_page(self, name: str, layer: Layer) -> Text | LeftOut:
        scope = Scope(layer, self.request.user, self.request.agent.id, name)
        try:
            page = self.parts.sources.read(scope)
            self.reads.append((scope, page))
            if isinstance(page, Missing):
                return LeftOut(name, "missing", layer)
            return self._build_output(scope, page)
        except (Unsafe, Unavailable) as error:
            # The other pages are given all the same, and the prompt names this one.
            if isinstance(error, Locked):
                raise
            self.failure = error
            return LeftOut(name, "unreadable", layer, detail=str(error))

    def _build_output(self, scope: Scope, page: Found) -> Text | LeftOut:
        file = self.parts.registry.get(scope.filename)
        page, source = self._with_source(scope, page, _rank_of(file))
        try:
            text = decode_text(scope.filename, page.content)
        except NotText as error:
            return LeftOut(scope.filename, "not_text", scope.layer, len(page.content), str(error))
        page_info = PageFacts(
            scope.filename, scope.layer, self.mode, self.agent.slug, file, page.updated
        )
        filtered_text = text
        for content_filter in self.parts.content_filters.all():
            filtered_text = content_filter.apply(filtered_text, page_info)
            if not isinstance(filtered_text, str):
                raise Invalid(
                    f"The content filter {content_filter.name} gave no text for {scope.filename}."
                )
        if not filtered_text.strip():
            return LeftOut(scope.filename, "empty", scope.layer, len(page.content), source=source)
        return self._render_page(page, source, text, filtered_text)

    def _render_page(
        self, page: Found, source: Source, text: str, filtered_text: str
    ) -> Text | LeftOut:
        """Return a page as the model reads it: without notes for people, unless they are kept."""
        plain = without_comments(filtered_text)
        is_starter = is_unwritten(plain)
        if self.parts.keep_comments:
            plain, source = (
                filtered_text,
                replace(source, rank=GENERATED_PAGE) if is_starter else source,
            )
        elif plain is not filtered_text:
            comment_bytes = len(filtered_text.encode()) - len(plain.encode())
            source = replace(source, comments=comment_bytes)
        if is_starter and not self.parts.keep_comments:
            return LeftOut(source.file, "starter", source.layer, len(page.content), source=source)
        mark = page.hash if plain == text else ""
        return Text(format_block(source, plain, hash=mark), source)

    def _with_source(self, scope: Scope, page: Found, rank: int) -> tuple[Found, Source]:
        """Find the author of the text that was read, also while someone is writing."""
        sources = self.parts.sources
        latest = sources.latest(scope)
        for _ in range(_ATTEMPTS):
            if latest is None or latest.hash == page.hash:
                break
            newer_page = sources.read(scope)
            if isinstance(newer_page, Missing):
                break
            page = newer_page
            self.reads[-1] = (scope, page)
            latest = sources.latest(scope)
        else:
            latest = None
        day, author = _describe_last_change(page, latest)
        size = len(page.content)
        return page, Source(
            file=scope.filename, layer=scope.layer, bytes=size, changed=day, by=author, rank=rank
        )


def _rank_of(file: RegisteredFile | None) -> int:
    if file is None:
        return OTHER_PAGE
    if file.composable:
        return GENERATED_PAGE
    return OWN_PAGE if file.protected and file.layer in ("agent", "user") else OTHER_PAGE


def _describe_last_change(page: Found, latest: Revision | None) -> tuple[str, str]:
    moment = latest.time if latest is not None and latest.hash else page.updated
    day = format_date(moment)
    if latest is None:
        return day, ""
    if latest.operation == "outside":
        return day, "someone outside Looseleaf"
    return day, f"{latest.actor} via {latest.surface}" if latest.actor else latest.surface
