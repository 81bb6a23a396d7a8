"""The chain: every directive in its order, the budgets, and the same bytes for the same pages."""

from __future__ import annotations

from looseleaf.errors import Invalid, LooseleafError, Unavailable, Unsafe
from looseleaf.errors.operations import DirectiveFailed
from looseleaf.prompt.assembly import BETWEEN, MISSED, Assembly, Piece
from looseleaf.prompt.directive import Directives, DirectiveView, Filters, PromptParts
from looseleaf.prompt.outputs import (
    OWN_PAGE,
    Data,
    File,
    LeftOut,
    Text,
    render_output,
    resolve_tokenizer,
)
from looseleaf.prompt.reports import Overrun
from looseleaf.times import DAY_SECONDS
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from looseleaf.agents.config import Budget
    from looseleaf.memory.policy import PolicyDecision
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Found, Missing
    from looseleaf.prompt.directive import Directive, Sources
    from looseleaf.prompt.outputs import Tokenizer
    from looseleaf.prompt.request import Request, Tool
    from looseleaf.settings import Settings

    Reads = list[tuple[Scope, Found | Missing]]


# Budgets: of the agent's own pages the lines that fit are given; others are left out whole.


_NO_LIMIT = 1 << 62


def fit_pieces(
    pieces: Iterable[Piece], budget: Budget, count_tokens: Callable[[str], int]
) -> list[Piece]:
    """Allot room to the pieces by importance, in their order; notices are not counted."""

    def size_of(text: str) -> int:
        return len(text.encode()) if budget.unit == "bytes" else count_tokens(text)

    result = list(pieces)
    between = size_of(BETWEEN) if budget.unit == "bytes" else 0
    places = rank_places(result)
    own_places = [place for place in places if rank_of(result[place]) == OWN_PAGE]
    used_size = 0

    def keep_whole(places: Iterable[int]) -> None:
        nonlocal used_size
        for place in places:
            size = size_of(result[place].text)
            reason = _describe_excess(result[place], size, used_size, budget)
            if reason:
                result[place] = leave_out(result[place], reason)
            else:
                used_size += size + between

    keep_whole(place for place in places if rank_of(result[place]) < OWN_PAGE)
    room = budget.total - used_size + between if budget.total else _NO_LIMIT
    most = budget.page or _NO_LIMIT
    for place, part in share_room(result, own_places, room, size_of, between=between, most=most):
        if part is None:
            size = size_of(result[place].text)
            reason = _describe_excess(result[place], size, used_size, budget)
            reason = reason or f"it takes {size} {budget.unit}, and not a line of it fits"
            result[place] = leave_out(result[place], reason)
        else:
            result[place] = part
            used_size += size_of(part.text) + between
    keep_whole(place for place in places if rank_of(result[place]) > OWN_PAGE)
    return result


def share_room(
    pieces: Sequence[Piece],
    places: Iterable[int],
    room: int,
    count: Callable[[str], int],
    *,
    between: int,
    most: int = _NO_LIMIT,
) -> Iterator[tuple[int, Piece | None]]:
    """Fit pages: short ones whole, of long ones the same room each; None if not a line fits."""
    sizes = {place: count(pieces[place].text) for place in places}
    by_size = sorted(sizes, key=sizes.__getitem__)
    for number, place in enumerate(by_size):
        share = min(room // (len(by_size) - number) - between, most)
        if sizes[place] <= share:
            room -= sizes[place] + between
            yield place, pieces[place]
            continue
        # Most prompts fit, and cutting takes modules that they do not need.
        from looseleaf.prompt.excerpts import cut_page

        part = cut_page(pieces[place], share, count)
        if part is not None:
            room -= count(part.text) + between
        yield place, part


def rank_places(pieces: list[Piece]) -> list[int]:
    """Return the places of the injected pieces, the most important first.

    The words of directives (the task, the tools) come before pages. Of pages, those of the agent
    and its person (SOUL, USER, MEMORY) come first, and generated ones last.
    """
    places = [place for place, piece in enumerate(pieces) if piece.injected]
    return sorted(places, key=lambda place: rank_of(pieces[place]))


def rank_of(piece: Piece) -> int:
    """Return the rank of a piece if room is short; the words of directives have 0."""
    source = piece.item.source if isinstance(piece.item, Text) else None
    return source.rank if source is not None else 0


def _describe_excess(piece: Piece, size: int, used_size: int, budget: Budget) -> str:
    page = isinstance(piece.item, Text) and piece.item.source is not None
    if budget.page and page and size > budget.page:
        return f"it takes {size} {budget.unit}, and a page may take {budget.page}"
    if budget.total and used_size + size > budget.total:
        rest = max(0, budget.total - used_size)
        return f"it takes {size} {budget.unit}, and of {budget.total} there are {rest} left"
    return ""


def leave_out(piece: Piece, reason: str) -> Piece:
    """Replace a piece by a notice that it does not fit."""
    source = piece.item.source if isinstance(piece.item, Text) else None
    size = len(piece.text.encode())
    left_out = LeftOut(piece.name, "over_budget", piece.layer, size, reason, source)
    return Piece(piece.directive, left_out, format_notice(left_out))


def format_notice(left_out: LeftOut) -> str:
    """State in the prompt which page is not in it, and why: the model may ask for it."""
    act = "was left out" if left_out.rule == "over_budget" else "could not be given"
    return f"[{left_out.name} {act}: {left_out.detail}]"


def find_overruns(
    assembly: Assembly,
    budgets: Iterable[Budget],
    count_tokens: Callable[[str], int],
    registry: FileRegistry,
) -> list[Overrun]:
    """List the pages over their own or the prompt's budget, and the whole prompt if it is."""
    overruns = []
    for piece in assembly.pieces:
        source = piece.item.source if isinstance(piece.item, Text) else None
        if source is not None:
            overruns += _find_page_overruns(piece, registry)
    for budget in budgets:
        in_bytes = budget.unit == "bytes"
        for piece in assembly.pieces:
            size = len(piece.text.encode()) if in_bytes else count_tokens(piece.text)
            if budget.page and piece.injected and piece.layer and size > budget.page:
                overruns.append(Overrun(piece.name, piece.layer, size, budget.page, budget.unit))
        total_size = len(assembly.text.encode()) if in_bytes else count_tokens(assembly.text)
        if budget.total and total_size > budget.total:
            overruns.append(Overrun("", "", total_size, budget.total, budget.unit))
    return overruns


def _find_page_overruns(piece: Piece, registry: FileRegistry) -> list[Overrun]:
    """Compare a page, without its label, with the budgets it is registered with."""
    file = registry.get(piece.name)
    if file is None or not isinstance(piece.item, Text) or piece.item.source is None:
        return []
    text = piece.text.partition("\n")[2].rpartition("\n")[0]
    sizes = (
        (len(text.encode()), file.byte_budget, "bytes"),
        (len(text.split()), file.word_budget, "words"),
    )
    return [
        Overrun(piece.name, piece.layer, size, limit, unit)
        for size, limit, unit in sizes
        if limit and size > limit
    ]


_MOST_CACHED = 256


class DirectiveResult:
    """The pieces of one directive, and the pages it read for them."""

    __slots__ = ("day", "is_whole", "pieces", "reads")

    def __init__(
        self, pieces: list[Piece], reads: Reads, day: int, *, is_whole: bool = True
    ) -> None:
        self.pieces, self.reads, self.day, self.is_whole = pieces, reads, day, is_whole


class CachedAssembly:
    """The last assembly of a request, used again as long as its pages are the same.

    `variable` has the places of directives whose result can change while the request does not.
    """

    __slots__ = ("assembly", "request", "results", "variable")

    def __init__(
        self,
        request: Request,
        results: list[DirectiveResult],
        assembly: Assembly,
        variable: tuple[int, ...],
    ) -> None:
        # The request is kept so that no other object gets the identities in its key.
        self.request, self.results, self.assembly = request, results, assembly
        self.variable = variable


class Chain:
    """The directives of a workspace, ready to compose; from now on none can be added."""

    def __init__(
        self,
        directives: Directives,
        parts: PromptParts,
        *,
        clock: Callable[[], float],
        tokenizer: Tokenizer,
    ) -> None:
        directives.freeze()
        self.directives = directives.all()
        self.parts = parts
        self.clock = clock
        self.tokenizer = tokenizer
        self._cache: dict[tuple[object, ...], CachedAssembly] = {}
        self._listeners: list[Callable[[Assembly], None]] = []

    def on_compose(self, listener: Callable[[Assembly], None]) -> None:
        """Call a listener for every prompt that a model is given; it handles its own failures."""
        self._listeners.append(listener)

    def compose(self, request: Request) -> Assembly:
        """Assemble a prompt for a model of the pages as they are now, and announce it."""
        assembly = self.preview(request)
        self.announce(assembly)
        return assembly

    def announce(self, assembly: Assembly) -> None:
        """Notify the listeners of a prompt that a model is given."""
        for listener in self._listeners:
            listener(assembly)

    def preview(self, request: Request) -> Assembly:
        """Assemble the same prompt for a person or a check, and announce nothing.

        Only the changed parts are assembled anew: the earlier result of a directive is used again
        while the request, the pages it read and, if it varies by day, the day are the same. Each
        page is looked at every time.
        """
        now = self.clock()
        key = _build_key(request)
        last = self._cache.get(key)
        if last is None:
            results = [
                self._make(directive, request, now, self.parts) for directive in self.directives
            ]
        else:
            new_results = self._renew(last, request, now)
            if not new_results:
                return last.assembly
            results = [new_results.get(place, part) for place, part in enumerate(last.results)]
        assembly = self._assemble(request, results, now)
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        places = self._find_variable_places(results)
        self._cache[key] = CachedAssembly(request, results, assembly, places)
        return assembly

    def _renew(
        self, last: CachedAssembly, request: Request, now: float
    ) -> dict[int, DirectiveResult]:
        """Run again the directives whose results no longer hold; return the new ones by place."""
        results = {}
        for place in last.variable:
            directive = self.directives[place]
            if not self._holds(directive, last.results[place], now):
                results[place] = self._make(directive, request, now, self.parts)
        return results

    def _find_variable_places(self, results: list[DirectiveResult]) -> tuple[int, ...]:
        """Find the places of results that depend on more than the request."""
        return tuple(
            place
            for place, (directive, result) in enumerate(zip(self.directives, results, strict=True))
            if result.reads or not result.is_whole or directive.varies != "content"
        )

    def compose_past(self, request: Request, sources: Sources, now: float) -> Assembly:
        """Assemble a prompt of pages as they were, under the rules as they are."""
        parts = replace(self.parts, sources=sources)
        results = [self._make(directive, request, now, parts) for directive in self.directives]
        return self._assemble(request, results, now)

    def _holds(self, directive: Directive, result: DirectiveResult, now: float) -> bool:
        if directive.varies != "content" and (
            directive.varies == "call" or result.day != int(now // DAY_SECONDS)
        ):
            return False
        if not result.reads:
            return result.is_whole
        read_page = self.parts.sources.read
        try:
            for scope, before in result.reads:
                page = read_page(scope)
                # A missing page is a new value each time, so it is compared by value.
                if page is not before and page != before:
                    return False
        except (Unavailable, Unsafe):
            return False  # the directive decides what a failure means
        return result.is_whole

    def _make(
        self, directive: Directive, request: Request, now: float, parts: PromptParts
    ) -> DirectiveResult:
        if not directive.speaks_in(request.mode):
            left_out = LeftOut(directive.name, "mode")
            return DirectiveResult([Piece(directive, left_out)], [], int(now // DAY_SECONDS))
        view = DirectiveView(request, now, parts)
        try:
            pieces = [Piece(directive, item, _render_item(item)) for item in directive.make(view)]
        except Exception as error:
            # Looseleaf's own refusals (a policy that cannot be followed, a store that cannot
            # answer) always stop the prompt.
            if directive.on_error == "stop" or isinstance(error, LooseleafError):
                raise _build_error(directive, error) from error
            left_out = LeftOut(directive.name, "failed", detail=f"{type(error).__name__}: {error}")
            pieces = [Piece(directive, left_out)]
        if not pieces:
            pieces = [Piece(directive, LeftOut(directive.name, "nothing"))]
        return DirectiveResult(
            pieces, view.reads, int(now // DAY_SECONDS), is_whole=view.failure is None
        )

    def _assemble(self, request: Request, results: list[DirectiveResult], now: float) -> Assembly:
        pieces = _drop_repeats([piece for result in results for piece in result.pieces])
        if request.budget:
            pieces = fit_pieces(pieces, request.budget, self.tokenizer.count)
        return Assembly(request, tuple(pieces), now)


def _build_key(request: Request) -> tuple[object, ...]:
    """Build a key that tells requests apart without comparing their parts, which are immutable."""
    return (
        id(request.agent),
        request.mode,
        request.user,
        request.deny,
        request.allow_only,
        id(request.tools),
        request.tool_deny,
        request.tool_allow_only,
        id(request.pipeline),
        id(request.flow),
        request.budget.page,
        request.budget.total,
        request.budget.unit,
        request.provider,
    )


def _render_item(item: Text | Data | File | LeftOut) -> str:
    if isinstance(item, LeftOut):
        # A page that should be here and is not gets a notice; the model may ask for it.
        return format_notice(item) if item.rule in MISSED else ""
    if not isinstance(item, Text | Data | File):
        raise Invalid(f"It gave {type(item).__name__}, which is no output.")
    return render_output(item)


def _drop_repeats(pieces: list[Piece]) -> list[Piece]:
    """Return each page once, where it comes first."""
    places: set[tuple[str, str]] = set()
    result = []
    for piece in pieces:
        source = piece.item.source if isinstance(piece.item, Text) else None
        if source is None:
            result.append(piece)
        elif (place := (source.layer, source.file)) not in places:
            places.add(place)
            result.append(piece)
        else:
            result.append(Piece(piece.directive, LeftOut(source.file, "repeated", source.layer)))
    return result


def _build_error(directive: Directive, error: Exception) -> LooseleafError:
    if isinstance(error, LooseleafError):
        return error
    return DirectiveFailed(directive.name, error)


# Building the chain of a workspace, with registries that plugins fill.


SITE = ("name", "url", "language", "timezone")


def open_chain(
    settings: Settings,
    registry: FileRegistry,
    sources: Sources,
    *,
    fill: Callable[..., Any],
    decide_tools: Callable[[Request], Iterable[tuple[Tool, PolicyDecision]]],
    clock: Callable[[], float],
) -> Chain:
    """Build a chain; `fill` returns a registry that a hook has filled.

    `decide_tools` decides about the tools that a request brings.
    """
    directives: Directives = fill("register_directives", directives=Directives())
    content: Filters = fill(
        "register_content_filters", filters=Filters("content filter", "register_content_filters")
    )
    files: Filters = fill(
        "register_file_filters", filters=Filters("file filter", "register_file_filters")
    )
    scoped_files: Filters = fill(
        "register_scoped_file_filters",
        filters=Filters("scoped file filter", "register_scoped_file_filters"),
    )
    context: Filters = fill(
        "register_site_context", filters=Filters("site context", "register_site_context")
    )
    site = {name: text for name in SITE if (text := getattr(settings, name))}
    site_facts = site if settings.site_context else None
    return Chain(
        directives,
        PromptParts(
            registry=registry,
            sources=sources,
            content_filters=content,
            file_filters=files,
            scoped_file_filters=scoped_files,
            site=site_facts,
            site_filters=context,
            decide_tools=decide_tools,
            keep_comments=settings.prompt_comments,
            pinned_sections=settings.pinned_sections,
        ),
        clock=clock,
        tokenizer=resolve_tokenizer(settings.tokenizer, settings.tokenizer_folder),
    )
