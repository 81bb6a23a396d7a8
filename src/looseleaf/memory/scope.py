"""The identity of a page: layers, scopes, shelves, and the one validator of names."""

from __future__ import annotations

from looseleaf.errors import InvalidName
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Layer = Literal["shared", "agent", "user", "network", "principal"]

LAYERS: tuple[Layer, ...] = ("shared", "agent", "user", "network", "principal")
PAGE_SUFFIXES = (".md", ".markdown", ".txt")
# Derived names (staging, history) are the page's name with a short prefix and must fit 255 bytes.
MAX_NAME_BYTES = 200
MAX_DEPTH = 12

_FORBIDDEN = frozenset('\\:*?"<>|')
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"]
)
# Characters that are allowed by themselves: most names have no others, and skip a check.
_PLAIN = frozenset(map(chr, range(32, 127))) - _FORBIDDEN - {"%"}
_DAY_DEPTH = 3  # folders above the page of a day: the journal's, the year's and the month's
_HEX = frozenset("0123456789abcdefABCDEF")
_KNOWN_GOOD: set[str] = set()
_REMEMBER = 4096


def check_filename(name: str) -> str:
    """Return the name if a page can have it, else raise `InvalidName`; never rewrite it."""
    if not isinstance(name, str):
        raise InvalidName(name, "it must be text")
    if name in _KNOWN_GOOD:
        return name
    _check_path(name)
    if not name.lower().endswith(PAGE_SUFFIXES):
        raise InvalidName(name, f"a page ends in {', '.join(PAGE_SUFFIXES)}")
    if name.count("/") == _DAY_DEPTH:
        from looseleaf.memory.day import check_day

        check_day(name)
    if len(_KNOWN_GOOD) < _REMEMBER:
        _KNOWN_GOOD.add(name)
    return name


def check_folder(name: str) -> str:
    """Return the name of a folder of pages if it is valid, else raise `InvalidName`."""
    if not isinstance(name, str):
        raise InvalidName(name, "it must be text")
    _check_path(name)
    return name


def _check_path(name: str) -> None:
    if not name:
        raise InvalidName(name, "it is empty")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise InvalidName(name, "it is not valid Unicode") from None
    if size > MAX_NAME_BYTES:
        raise InvalidName(name, f"it is longer than {MAX_NAME_BYTES} bytes")
    if name.startswith("/"):
        raise InvalidName(name, "it must be relative")
    if not _PLAIN.issuperset(name):
        _check_characters(name)
        import unicodedata

        if unicodedata.normalize("NFC", name) != name:
            raise InvalidName(name, "it must be in Unicode form NFC")
    segments = name.split("/")
    if len(segments) > MAX_DEPTH:
        raise InvalidName(name, f"it is more than {MAX_DEPTH} folders deep")
    for segment in segments:
        _check_segment(name, segment)


def _check_characters(name: str) -> None:
    from looseleaf.memory.hidden_characters import find_invisible

    for character in name:
        if character in _FORBIDDEN:
            raise InvalidName(name, f"{character!r} is not allowed")
    invisible_character = find_invisible(name)
    if invisible_character:
        raise InvalidName(
            name, f"control and invisible characters are not allowed ({invisible_character})"
        )
    for after in name.split("%")[1:]:
        if len(after) > 1 and _HEX.issuperset(after[:2]):
            raise InvalidName(name, "it is percent-encoded")


def _check_segment(name: str, segment: str) -> None:
    if segment.isalnum() and segment.lower() not in _DEVICES:
        return
    if not segment:
        raise InvalidName(name, "it has an empty part")
    if segment.startswith("."):
        raise InvalidName(name, "no part may start with a dot")
    if segment[-1] in ". " or segment[0] == " ":
        raise InvalidName(name, "no part may begin with a space or end with a dot or a space")
    stem = segment.partition(".")[0]
    if stem.strip().lower() in _DEVICES:
        raise InvalidName(name, f"{stem} is a device on some systems")
    before, tilde, after = stem.rpartition("~")
    if tilde and before and after.isdigit():
        raise InvalidName(name, "it looks like a short alias of another name")


def _normalize_ids(layer: Layer, user_id: int, agent_id: int) -> tuple[Layer, int, int]:
    if layer == "agent":
        return layer, 0, _check_id("agent", agent_id)
    if layer == "user":
        return layer, _check_id("user", user_id), 0
    if layer in ("shared", "network"):
        return layer, 0, 0
    if layer == "principal":
        return layer, _check_id("user", user_id), _check_id("agent", agent_id)
    raise InvalidName(layer, f"a layer is one of {', '.join(LAYERS)}")


def _check_id(kind: str, number: int) -> int:
    if type(number) is not int or number <= 0:
        raise InvalidName(number, f"the {kind} layer needs the id of {kind}, a positive number")
    return number


def is_of_principal(filename: str) -> bool:
    """Return whether a name below an agent's folder is that of a page about one person."""
    if filename[:6].lower() != _PEOPLE:  # as a file system sees it that ignores case
        return False
    number, slash, _ = filename[6:].partition("/")
    return bool(slash) and number.isascii() and number.isdigit()


_PEOPLE = "users/"


@value
class Shelf:
    """Where a set of pages stands: one agent's, one user's, the shared or the network's.

    On the layer `principal` stands what one agent knows about one user.
    """

    layer: Layer
    user_id: int = 0
    agent_id: int = 0

    @staticmethod
    def normal(layer: Layer, user_id: int, agent_id: int) -> tuple[Layer, int, int]:
        """Drop the ids that mean nothing in this layer, so that one page has one identity."""
        return _normalize_ids(layer, user_id, agent_id)

    @property
    def name(self) -> str:
        """A short name that is unique among shelves: shared, agent-3, user-1, principal-3-1."""
        return _format_shelf_name(self)

    def page(self, filename: str) -> Scope:
        """Return the scope of a page on this shelf."""
        return Scope(self.layer, self.user_id, self.agent_id, filename)


@value
class Scope:
    """The identity of one page: (layer, user_id, agent_id, filename)."""

    layer: Layer
    user_id: int
    agent_id: int
    filename: str

    @staticmethod
    def normal(
        layer: Layer, user_id: int, agent_id: int, filename: str
    ) -> tuple[Layer, int, int, str]:
        """Check the filename and drop the ids that mean nothing in this layer."""
        identity = _normalize_ids(layer, user_id, agent_id)
        check_filename(filename)
        if layer == "agent" and is_of_principal(filename):
            reason = "it is a page about one person, on the layer principal"
            raise InvalidName(filename, reason)
        return (*identity, filename)

    @property
    def shelf(self) -> Shelf:
        """The shelf that the page stands on."""
        return Shelf(self.layer, self.user_id, self.agent_id)

    @property
    def shelf_name(self) -> str:
        """The name of its shelf."""
        return _format_shelf_name(self)

    @property
    def key(self) -> str:
        """The identity as one string, for logs and database keys."""
        return f"{self.layer}:{self.user_id}:{self.agent_id}:{self.filename}"


def _format_shelf_name(place: Shelf | Scope) -> str:
    if place.layer == "principal":
        return f"principal-{place.agent_id}-{place.user_id}"
    identity = place.agent_id or place.user_id
    return f"{place.layer}-{identity}" if identity else place.layer


@value
class Where:
    """The owner of a page, as a caller names it: an agent by id or slug, a user, a layer.

    Fields:
        agent: The agent whose page is meant, by id or slug; without it, the token's or the default
            agent.
        user: The user whose page or agent is meant, by id; without it, the user who acts.
        layer: The owner of the page: shared, agent, user, network or principal; without it, the
            layer where a page of this name belongs.
    """

    agent: str | int | None = None
    user: int | None = None
    layer: str | None = None


DEFAULT_WHERE = Where()
