"""Directives: the contributors to a prompt, with their order and modes."""

from __future__ import annotations

import inspect

from looseleaf.errors.operations import BrokenDirective
from looseleaf.memory.named_registry import NamedRegistry
from looseleaf.memory.registry import EVERY_MODE, check_word
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    from looseleaf.prompt.directives.outputs import Data, File, LeftOut, Text
    from looseleaf.prompt.directives.view import DirectiveView

    Make = Callable[[DirectiveView], Iterable[Text | Data | File | LeftOut]]
    Varies = Literal["content", "day", "call"]
    OnError = Literal["stop", "skip"]

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
            description=description or (inspect.getdoc(make) or "").partition("\n")[0],
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
