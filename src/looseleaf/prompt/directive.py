"""Directives: the contributors to a prompt, what each sees, and the filters of plugins."""

from __future__ import annotations

from looseleaf.errors import Invalid, Locked, Unavailable, Unsafe
from looseleaf.errors.operations import BrokenDirective
from looseleaf.errors.pages import NotText
from looseleaf.memory.comments import is_unwritten, without_comments
from looseleaf.memory.history import pick_revision
from looseleaf.memory.pages import decode_text
from looseleaf.memory.policy import resolve_names, resolve_registered
from looseleaf.memory.registry import EVERY_MODE, NamedRegistry, check_word
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Missing
from looseleaf.prompt.outputs import (
    GENERATED_PAGE,
    OTHER_PAGE,
    OWN_PAGE,
    LeftOut,
    Source,
    Text,
    format_block,
)
from looseleaf.times import DAY_SECONDS, format_date
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, Protocol, TypeAlias

    from looseleaf.agents.record import AgentRecord
    from looseleaf.errors import LooseleafError
    from looseleaf.memory.history import History, PastPages, Revision
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.policy import PolicyDecision
    from looseleaf.memory.registry import FileRegistry, RegisteredFile
    from looseleaf.memory.scope import Layer
    from looseleaf.memory.store import Found
    from looseleaf.prompt.outputs import Data, File
    from looseleaf.prompt.request import Request, Tool

    Make: TypeAlias = "Callable[[DirectiveView], Iterable[Text | Data | File | LeftOut]]"

    Varies = Literal["content", "day", "call"]

    OnError = Literal["stop", "skip"]
else:
    Protocol = object


VARIES: tuple[Varies, ...] = ("content", "day", "call")
ON_ERROR: tuple[OnError, ...] = ("stop", "skip")


@value(kw_only=True)
class Directive:
    """One contributor to a prompt.

    `varies` says when its output may change: when the request or a page it read from the view
    changes (`content`), with the date too (`day`), or at any time (`call`). A directive that varies
    less is run less often, and may stand in the stable prefix. `on_error` says what its failure
    means: no prompt at all (`stop`), or a prompt without it (`skip`).
    """

    name: str
    priority: int
    make: Make
    modes: tuple[str, ...] = (EVERY_MODE,)
    varies: Varies = "call"
    on_error: OnError = "stop"
    description: str = ""
    owner: str = ""

    def speaks_in(self, mode: str) -> bool:
        """Return whether it contributes to requests in this mode."""
        return EVERY_MODE in self.modes or mode in self.modes


class Directives(NamedRegistry):
    """The directives of one workspace."""

    noun, hook = "directive", "register_directives"

    def register(
        self,
        name: str,
        priority: int,
        make: Make,
        *,
        modes: Iterable[str] = (EVERY_MODE,),
        varies: Varies = "call",
        on_error: OnError = "stop",
        description: str = "",
        owner: str = "",
    ) -> Directive:
        """Add a directive, or refuse one that could not keep its contract."""
        self._refuse_if_frozen(name)
        check_word(name, "directive's name")
        if name in self._entries:
            registrant = self._entries[name].owner or "someone"
            raise BrokenDirective(name, f"{registrant} has one of that name; deregister it first")
        directive = Directive(
            name=name,
            priority=_check_priority(name, priority),
            make=_check_callable(name, make),
            modes=_check_modes(name, modes),
            varies=_check_choice(name, "varies", varies, VARIES),  # type: ignore[arg-type]
            on_error=_check_choice(name, "on_error", on_error, ON_ERROR),  # type: ignore[arg-type]
            description=description or (make.__doc__ or "").strip().partition("\n")[0],
            owner=owner,
        )
        self._entries[name] = directive
        return directive

    def all(self) -> tuple[Directive, ...]:
        """Return every directive by priority, then by name, whatever the order of registration."""
        return self._by_priority()


def _check_priority(name: str, priority: int) -> int:
    if type(priority) is not int:
        raise BrokenDirective(name, f"its priority {priority!r} is not a whole number")
    return priority


def _check_callable(name: str, make: Make) -> Make:
    if not callable(make):
        raise BrokenDirective(name, f"{make!r} cannot be called")
    # Most are plain functions, which are checked without the half start that `inspect` costs.
    code = getattr(make, "__code__", None) if type(make).__name__ == "function" else None
    if code is not None and (code.co_argcount, code.co_kwonlyargcount) == (1, 0):
        return make
    import inspect

    try:
        inspect.signature(make).bind(None)
    except TypeError:
        raise BrokenDirective(name, "it must take one argument, the view") from None
    except ValueError:
        pass  # some callables made in C have no signature; they fail when they are called
    return make


def _check_modes(name: str, modes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(modes, str):
        raise BrokenDirective(name, f"its modes are a list; write [{modes!r}]")
    mode_names = tuple(check_word(mode, "mode") for mode in modes)
    if not mode_names:
        raise BrokenDirective(name, "it has no mode")
    return mode_names


def _check_choice(name: str, field: str, choice: object, choices: tuple[str, ...]) -> object:
    if choice not in choices:
        raise BrokenDirective(name, f"its {field} is one of {', '.join(choices)}, not {choice!r}")
    return choice


# The view of a directive: the request, the day, and pages under the agent's policy.


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


# Of a core page that has a history and no file.
LOST = "it was here and its file is gone; a person can restore it: looseleaf memory history"


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
    pinned_sections: tuple[str, ...] = ()


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
                return self._explain_missing(scope)
            return self._build_output(scope, page)
        except (Unsafe, Unavailable) as error:
            # The other pages are given all the same, and the prompt names this one.
            if isinstance(error, Locked):
                raise
            self.failure = error
            return LeftOut(name, "unreadable", layer, detail=str(error))

    def _explain_missing(self, scope: Scope) -> LeftOut:
        """Return why a page is not there; a core page, which nobody can delete, was lost."""
        file = self.parts.registry.get(scope.filename)
        if file is None or not file.protected or self.parts.sources.latest(scope) is None:
            return LeftOut(scope.filename, "missing", scope.layer)
        return LeftOut(scope.filename, "unreadable", scope.layer, detail=LOST)

    def _build_output(self, scope: Scope, page: Found) -> Text | LeftOut:
        file = self.parts.registry.get(scope.filename)
        page, source = self._with_source(scope, page, file)
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

    def _with_source(
        self, scope: Scope, page: Found, file: RegisteredFile | None
    ) -> tuple[Found, Source]:
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
        return page, Source(
            file=scope.filename,
            layer=scope.layer,
            bytes=len(page.content),
            agent=self.agent.slug if scope.agent_id else "",
            changed=day,
            by=author,
            rank=_rank_of(file),
            pinned=self._pinned_sections(file),
        )

    def _pinned_sections(self, file: RegisteredFile | None) -> tuple[str, ...]:
        """Return the sections that the agent or the workspace pins, and those of the page."""
        own = self.agent.configuration.pinned_sections if self.agent.config else None
        names = self.parts.pinned_sections if own is None else own
        return (*names, *file.pinned) if file is not None and file.pinned else names


_OWN_LAYERS = ("agent", "user", "principal")


def _rank_of(file: RegisteredFile | None) -> int:
    if file is None:
        return OTHER_PAGE
    if file.composable:
        return GENERATED_PAGE
    return OWN_PAGE if file.protected and file.layer in _OWN_LAYERS else OTHER_PAGE


def _describe_last_change(page: Found, latest: Revision | None) -> tuple[str, str]:
    moment = latest.time if latest is not None and latest.hash else page.updated
    day = format_date(moment)
    if latest is None:
        return day, ""
    if latest.operation == "outside":
        return day, "someone outside Looseleaf"
    return day, f"{latest.actor} via {latest.surface}" if latest.actor else latest.surface


# The sources of a prompt's pages: as they are now, or as they were.


class Sources(Protocol):
    """Pages, and the last change of each."""

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page."""

    def latest(self, scope: Scope) -> Revision | None:
        """Return the change that made the present text of a page, or None if it is not known."""


class PresentSources:
    """Pages as they are."""

    def __init__(self, pages: MemoryPages, history_for: Callable[[Scope], History | None]) -> None:
        self.pages, self.history_for = pages, history_for

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page."""
        return self.pages.read(scope)

    def latest(self, scope: Scope) -> Revision | None:
        """Return the newest change."""
        history = self.history_for(scope)
        return history.latest(scope) if history is not None else None


class PastSources:
    """Pages as they were at a moment."""

    def __init__(self, pages: PastPages) -> None:
        self.pages = pages

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page as it was."""
        return self.pages.read(scope)

    def latest(self, scope: Scope) -> Revision | None:
        """Return the change that was the newest then."""
        return pick_revision(scope.filename, self.pages.history.revisions(scope), self.pages.moment)


# Filters: functions from value to value that plugins add, in a visible list with priorities.


@value
class Filter:
    """One function of a list; its result depends on its arguments alone."""

    name: str
    priority: int
    apply: Callable[..., Any]
    owner: str = ""


class Filters(NamedRegistry):
    """A list of functions that each take a value with its context, and give a value."""

    def __init__(self, noun: str, hook: str) -> None:
        super().__init__()
        self.noun, self.hook = noun, hook

    def register(
        self, name: str, priority: int, apply: Callable[..., Any], *, owner: str = ""
    ) -> Filter:
        """Add a function; those with a lower priority come first."""
        self._refuse_if_frozen(name)
        check_word(name, f"{self.noun}'s name")
        if name in self._entries:
            raise Invalid(f"There are two of the name {name} among the {self.noun}s.")
        if type(priority) is not int or not callable(apply):
            raise Invalid(f"The {self.noun} {name} needs a whole number and a function.")
        new_filter = Filter(name, priority, apply, owner)
        self._entries[name] = new_filter
        return new_filter

    def all(self) -> tuple[Filter, ...]:
        """Return every function, by priority, then by name."""
        return self._by_priority()
