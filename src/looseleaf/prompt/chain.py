"""The chain: every directive in its order, and the same bytes for the same pages."""

from __future__ import annotations

from looseleaf.errors import DirectiveFailed, Invalid, LooseleafError, Unavailable, Unsafe
from looseleaf.prompt.assembly import MISSED, Assembly, Piece
from looseleaf.prompt.budget import fitted, notice
from looseleaf.prompt.desk import Desk
from looseleaf.prompt.outputs import Data, File, LeftOut, Text, rendered
from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.scope import Scope
    from looseleaf.memory.store import Found, Missing
    from looseleaf.prompt.desk import Furniture
    from looseleaf.prompt.directive import Directive, Directives
    from looseleaf.prompt.request import Request
    from looseleaf.prompt.sources import Sources
    from looseleaf.prompt.tokens import Tokenizer

    Reads = list[tuple[Scope, Found | Missing]]

DAY = 86_400
_REMEMBERED = 256


class Made:
    """What one directive gave, and the pages it read for that."""

    __slots__ = ("day", "is_whole", "pieces", "reads")

    def __init__(
        self, pieces: list[Piece], reads: Reads, day: int, *, is_whole: bool = True
    ) -> None:
        self.pieces, self.reads, self.day, self.is_whole = pieces, reads, day, is_whole


class Remembered:
    """The last assembly of a request, whose parts live on as long as their pages do."""

    __slots__ = ("assembly", "made", "request")

    def __init__(self, request: Request, made: list[Made], assembly: Assembly) -> None:
        # The request is kept so that the identities in its key are not given to something else.
        self.request, self.made, self.assembly = request, made, assembly


class Chain:
    """The directives of a workspace, ready to compose; from now on none can be added."""

    def __init__(
        self,
        directives: Directives,
        furniture: Furniture,
        *,
        clock: Callable[[], float],
        tokenizer: Tokenizer,
    ) -> None:
        directives.freeze()
        self.directives = directives.all()
        self.furniture = furniture
        self.clock = clock
        self.tokenizer = tokenizer
        self._remembered: dict[tuple[object, ...], Remembered] = {}
        self._listeners: list[Callable[[Assembly], None]] = []

    def on_compose(self, listener: Callable[[Assembly], None]) -> None:
        """Tell someone about every prompt of pages as they are; they answer for their failures."""
        self._listeners.append(listener)

    def compose(self, request: Request) -> Assembly:
        """Assemble a prompt of the pages as they are now."""
        assembly = self._composed(request)
        for listener in self._listeners:
            listener(assembly)
        return assembly

    def _composed(self, request: Request) -> Assembly:
        """Assemble a prompt anew, as far as that is needed.

        What a directive gave before is given again while the request, the pages it read and, if it
        says so, the day are the same; each page is looked at every time.
        """
        now = self.clock()
        key = _key(request)
        kept = self._remembered.get(key)
        made, new = [], False
        for place, directive in enumerate(self.directives):
            before = kept.made[place] if kept is not None else None
            if before is not None and self._holds(directive, before, now):
                made.append(before)
            else:
                made.append(self._make(directive, request, now, self.furniture))
                new = True
        if kept is not None and not new:
            return kept.assembly
        assembly = self._assembled(request, made, now)
        if len(self._remembered) >= _REMEMBERED:
            self._remembered.clear()
        self._remembered[key] = Remembered(request, made, assembly)
        return assembly

    def compose_past(self, request: Request, sources: Sources, now: float) -> Assembly:
        """Assemble a prompt of pages as they were, under the rules as they are."""
        furniture = changed(self.furniture, sources=sources)
        made = [self._make(directive, request, now, furniture) for directive in self.directives]
        return self._assembled(request, made, now)

    def _holds(self, directive: Directive, made: Made, now: float) -> bool:
        if directive.varies != "content" and (
            directive.varies == "call" or made.day != int(now // DAY)
        ):
            return False
        if not made.reads:
            return made.is_whole
        read = self.furniture.sources.read
        try:
            for scope, before in made.reads:
                page = read(scope)
                # A page that is not there is a new answer each time, so it compares by value.
                if page is not before and page != before:
                    return False
        except (Unavailable, Unsafe):
            return False  # the directive says what to do about it
        return made.is_whole

    def _make(
        self, directive: Directive, request: Request, now: float, furniture: Furniture
    ) -> Made:
        if not directive.speaks_in(request.mode):
            left_out = LeftOut(directive.name, "mode")
            return Made([Piece(directive, left_out)], [], int(now // DAY))
        desk = Desk(request, now, furniture)
        try:
            pieces = [Piece(directive, item, _shown(item)) for item in directive.make(desk)]
        except Exception as error:
            # Looseleaf's own refusals (a policy that cannot be followed, a store that cannot
            # answer) are never a reason to go on with less.
            if directive.on_error == "stop" or isinstance(error, LooseleafError):
                raise _failed(directive, error) from error
            failed = LeftOut(directive.name, "failed", detail=f"{type(error).__name__}: {error}")
            pieces = [Piece(directive, failed)]
        if not pieces:
            pieces = [Piece(directive, LeftOut(directive.name, "nothing"))]
        return Made(pieces, desk.reads, int(now // DAY), is_whole=desk.failure is None)

    def _assembled(self, request: Request, made: list[Made], now: float) -> Assembly:
        pieces = _once([piece for one in made for piece in one.pieces])
        if request.budget:
            pieces = fitted(pieces, request.budget, self.tokenizer.count)
        return Assembly(request, tuple(pieces), now)


def _key(request: Request) -> tuple[object, ...]:
    """Tell requests apart without comparing what is in them; all of it is immutable."""
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


def _shown(item: Text | Data | File | LeftOut) -> str:
    if isinstance(item, LeftOut):
        # What should be here and is not is said aloud; the model may ask for it.
        return notice(item) if item.rule in MISSED else ""
    if not isinstance(item, Text | Data | File):
        raise Invalid(f"It gave {type(item).__name__}, which is no output.")
    return rendered(item)


def _once(pieces: list[Piece]) -> list[Piece]:
    """Give each page once, where it comes first."""
    given: set[tuple[str, str]] = set()
    kept = []
    for piece in pieces:
        source = piece.item.source if isinstance(piece.item, Text) else None
        if source is None:
            kept.append(piece)
        elif (place := (source.layer, source.file)) not in given:
            given.add(place)
            kept.append(piece)
        else:
            kept.append(Piece(piece.directive, LeftOut(source.file, "repeated", source.layer)))
    return kept


def _failed(directive: Directive, error: Exception) -> LooseleafError:
    if isinstance(error, LooseleafError):
        return error
    return DirectiveFailed(directive.name, error)
