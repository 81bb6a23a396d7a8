"""The registry of pages: their layer, order, modes, budgets, and who may change them."""

from __future__ import annotations

from looseleaf.errors import InvalidName, InvalidSetting, Refused
from looseleaf.errors.pages import NameTaken
from looseleaf.files.folders import casefold_name
from looseleaf.memory.scope import LAYERS, check_filename
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from typing import Any, Self, TypeVar

    from looseleaf.memory.scope import Layer

    Derived = TypeVar("Derived")


EVERY_MODE = "all"
BYTE_BUDGET = 8192
_NOT_BLANK = bytes(sorted({*range(256)} - {*b" \t\n\r\v\f"}))  # bytes.split() splits at the rest
OWNER = "looseleaf"

_WORD = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
# No page lies in the private folders of git or Looseleaf.
_PRIVATE_FOLDERS = (".git", ".looseleaf")


@value(kw_only=True)
class RegisteredFile:
    """A page that is known by name, and its rules."""

    filename: str
    priority: int = 50
    layer: Layer = "agent"
    protected: bool = False
    editable: bool | str = True  # or the capability or role that is required
    modes: tuple[str, ...] = (EVERY_MODE,)  # none: registered, never injected
    composable: bool = False
    convention_path: str = ""  # where a copy is kept for others, inside a project's folder
    label: str = ""
    description: str = ""
    word_budget: int = 0  # 0 is no budget
    byte_budget: int = BYTE_BUDGET
    pinned: tuple[str, ...] = ()  # sections whose lines prompts leave out last
    owner: str = ""

    @property
    def is_copy(self) -> bool:
        """Whether the page is a generated copy of other pages, which is in no prompt."""
        return self.composable and not self.modes

    def is_injected_in(self, mode: str) -> bool:
        """Return whether requests in this mode get the page, before any policy."""
        return EVERY_MODE in self.modes or mode in self.modes


class FileRegistry:
    """The registered files of one workspace, by name, as `casefold_name` compares names."""

    def __init__(self) -> None:
        self._files: dict[str, RegisteredFile] = {}
        self._is_frozen = False

    def register(  # noqa: PLR0913 - each is a field of the value; only two are positional
        self,
        filename: str,
        priority: int = 50,
        *,
        layer: Layer = "agent",
        protected: bool = False,
        editable: bool | str = True,
        modes: Iterable[str] = (EVERY_MODE,),
        composable: bool = False,
        convention_path: str = "",
        label: str = "",
        description: str = "",
        word_budget: int = 0,
        byte_budget: int = BYTE_BUDGET,
        pinned: Iterable[str] = (),
        owner: str = "",
    ) -> RegisteredFile:
        """Add a file, or replace the one of the same name; by default, every mode injects it."""
        self._refuse_if_frozen(filename)
        file = RegisteredFile(
            filename=check_filename(filename),
            priority=_check_number(filename, "priority", priority),
            layer=_check_layer(layer),
            protected=protected,
            editable=False if composable else _check_editable(filename, editable=editable),
            modes=_check_modes(filename, modes),
            composable=composable,
            convention_path=_check_convention_path(filename, convention_path),
            label=label or _format_label(filename),
            description=description,
            word_budget=_check_budget(filename, "word_budget", word_budget),
            byte_budget=_check_budget(filename, "byte_budget", byte_budget),
            pinned=_check_pinned(filename, pinned),
            owner=owner,
        )
        self._refuse_if_taken(file)
        self._files[casefold_name(filename)] = file
        return file

    def deregister(self, filename: str) -> bool:
        """Remove a file; return whether it was there."""
        self._refuse_if_frozen(filename)
        return self._files.pop(casefold_name(filename), None) is not None

    def freeze(self) -> None:
        """End the registration: from now on the files stay the same."""
        self._is_frozen = True

    def get(self, filename: str) -> RegisteredFile | None:
        """Find the file with this name, whatever its case or Unicode form."""
        return self._files.get(casefold_name(filename))

    def files(self) -> tuple[RegisteredFile, ...]:
        """Return every file, by priority, then by name."""
        return tuple(sorted(self._files.values(), key=_build_sort_key))

    def for_mode(self, mode: str) -> tuple[RegisteredFile, ...]:
        """Return the files of requests in this mode, in order; a request must name its mode."""
        check_mode(mode)
        return tuple(file for file in self.files() if file.is_injected_in(mode))

    def by_layer(self, layer: Layer) -> tuple[RegisteredFile, ...]:
        """Return the files of one layer, in order."""
        _check_layer(layer)
        return tuple(file for file in self.files() if file.layer == layer)

    def layer_of(self, filename: str) -> Layer:
        """Return the layer of a page; a page that is not registered is the agent's own."""
        file = self.get(filename)
        return file.layer if file else "agent"

    def size_warnings(self, filename: str, content: bytes) -> tuple[str, ...]:
        """Warn about a page over its budgets; such a page is never refused."""
        return _build_size_warnings(filename, self.get(filename), content)

    def save_warnings(self, filename: str, layer: Layer, content: bytes) -> tuple[str, ...]:
        """Warn about a page over its budgets, or that no prompt gives and no search finds.

        An agent's own pages are found by its searches, whether or not they are registered.
        """
        file = self.get(filename)
        warnings = _build_size_warnings(filename, file, content)
        if file is not None and file.layer == layer:
            return warnings
        if file is not None:
            place = f"it belongs to the layer {file.layer}, so leave out the layer"
        elif layer != "agent":
            filenames = (
                ", ".join(entry.filename for entry in self.by_layer(layer) if entry.modes) or "none"
            )
            place = f"nobody has registered it (registered there: {filenames})"
        else:
            return warnings
        return (*warnings, f"No prompt gives {filename} on the layer {layer}: {place}.")

    def is_protected(self, filename: str) -> bool:
        """Return whether a page can be cleared but not deleted."""
        file = self.get(filename)
        return file is not None and file.protected

    def is_editable(self, filename: str, *, capabilities: Container[str] = ()) -> bool:
        """Return whether someone with these capabilities may change a page by hand."""
        file = self.get(filename)
        if file is None:
            return True
        if isinstance(file.editable, str):
            return file.editable in capabilities
        return file.editable

    def _refuse_if_frozen(self, filename: str) -> None:
        if self._is_frozen:
            raise Refused(
                f"{filename} comes too late: files are registered and deregistered while the "
                "workspace opens, for example in a plugin's register_files."
            )

    def _refuse_if_taken(self, new: RegisteredFile) -> None:
        twin = self.get(new.filename)
        if twin is not None and twin.filename != new.filename:
            raise NameTaken(new.filename, twin.filename)
        path = casefold_name(new.convention_path)
        for old in self._files.values() if path else ():
            if old.filename != new.filename and casefold_name(old.convention_path) == path:
                raise _build_error(new.filename, "convention_path", f"{old.filename} is kept there")


def _build_size_warnings(
    filename: str, file: RegisteredFile | None, content: bytes
) -> tuple[str, ...]:
    limit = file.byte_budget if file else BYTE_BUDGET
    warnings = []
    if limit and len(content) > limit:
        warnings.append(
            f"{filename} has {len(content)} bytes, more than {limit}: condense it, move what "
            "happened to the daily journal, or split it into pages."
        )
    budget = file.word_budget if file else 0
    # Few blanks cannot separate many words; counting blanks takes a tenth of the time.
    if budget and len(content.translate(None, _NOT_BLANK)) >= budget:
        words = len(content.split())
        if words > budget:
            warnings.append(f"{filename} has {words} words, more than {budget}: prune it.")
    return tuple(warnings)


def check_mode(mode: str) -> str:
    """Return a mode if a request can be in it, else raise `InvalidName`."""
    if mode == EVERY_MODE:
        raise InvalidName(mode, "it stands for every mode; a request is in one")
    return check_word(mode, "mode")


def check_word(word: str, noun: str) -> str:
    """Return the name of a mode or section if it is valid, else raise `InvalidName`."""
    if not isinstance(word, str):
        raise InvalidName(word, f"a {noun} must be text")
    if not word or not _WORD.issuperset(word):
        raise InvalidName(word, f"a {noun} has lower-case letters, digits, - and _")
    return word


def _build_sort_key(file: RegisteredFile) -> tuple[int, str]:
    return file.priority, casefold_name(file.filename)


def _format_label(filename: str) -> str:
    stem = filename.rpartition("/")[2].rpartition(".")[0]
    words = stem.replace("-", " ").replace("_", " ").split()
    return " ".join(word[0].upper() + word[1:] for word in words)


def _build_error(filename: str, field: str, reason: str) -> InvalidSetting:
    return InvalidSetting(f"{field} of {filename}", reason)


def _check_number(filename: str, field: str, number: int) -> int:
    if type(number) is not int:
        raise _build_error(filename, field, f"{number!r} is not a whole number")
    return number


def _check_budget(filename: str, field: str, number: int) -> int:
    if _check_number(filename, field, number) < 0:
        raise _build_error(filename, field, "it cannot be negative; 0 is no budget")
    return number


def _check_layer(layer: Layer) -> Layer:
    if layer not in LAYERS:
        raise InvalidName(layer, f"a layer is one of {', '.join(LAYERS)}")
    return layer


def _check_editable(filename: str, *, editable: bool | str) -> bool | str:
    # Anything else would count as true, and let everyone edit the page by mistake.
    if editable == "" or not isinstance(editable, bool | str):
        raise _build_error(
            filename, "editable", f"{editable!r} is neither yes, no nor a capability"
        )
    return editable


def _check_modes(filename: str, modes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(modes, str):
        raise _build_error(filename, "modes", f"it is a list; write [{modes!r}]")
    return tuple(check_word(mode, "mode") for mode in modes)


def _check_pinned(filename: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise _build_error(filename, "pinned", f"it is a list; write [{names!r}]")
    sections = tuple(names)
    if any(type(name) is not str or not name.strip() for name in sections):
        raise _build_error(filename, "pinned", "it takes the names of sections")
    return sections


def _check_convention_path(filename: str, path: str) -> str:
    # Unlike the name of a page, the path may have parts that start with a dot: .github, .cursor.
    if not isinstance(path, str):
        raise _build_error(filename, "convention_path", f"{path!r} is not text")
    if path and any(not part or part in (".", "..") for part in path.split("/")):
        raise _build_error(
            filename, "convention_path", f"{path!r} must lead down from a project's root"
        )
    if not path.isprintable() or "\\" in path or ":" in path:
        raise _build_error(
            filename, "convention_path", f"{path!r} has characters a path should not have"
        )
    if any(casefold_name(part) in _PRIVATE_FOLDERS for part in path.split("/")):
        raise _build_error(filename, "convention_path", f"{path!r} leads into a private folder")
    return path


# Registries by name, which are filled while a workspace opens, and never after.


class NamedRegistry:
    """A registry by name: the `noun` of its entries, and the `hook` that fills it."""

    noun = "entry"
    hook = ""

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}
        self._derived: dict[Callable[[Any], Any], Any] = {}
        self._is_frozen = False

    def deregister(self, name: str) -> bool:
        """Remove an entry; return whether it was there."""
        self._refuse_if_frozen(name)
        return self._entries.pop(name, None) is not None

    def freeze(self) -> None:
        """End the registration: from now on the entries stay the same."""
        self._is_frozen = True

    def derive(self, build: Callable[[Self], Derived]) -> Derived:
        """Return what a function builds from the entries: once, from when they stay the same."""
        if not self._is_frozen:
            return build(self)
        if build not in self._derived:
            self._derived[build] = build(self)
        derived: Derived = self._derived[build]
        return derived

    def _by_priority(self) -> tuple[Any, ...]:
        """Return the entries by priority, then by name, whatever the order of registration."""
        return self.derive(NamedRegistry._sort_by_priority)

    def _sort_by_priority(self) -> tuple[Any, ...]:
        return tuple(sorted(self._entries.values(), key=lambda entry: (entry.priority, entry.name)))

    def _refuse_if_frozen(self, name: str) -> None:
        if self._is_frozen:
            raise Refused(
                f"The {self.noun} {name} comes too late: register it while the workspace opens, in "
                f"a plugin's {self.hook}."
            )
