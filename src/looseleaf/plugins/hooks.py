"""Who implements which hook, and the three ways in which hooks are called.

Nothing here imports pluggy: a workspace without plugins, which is most of them, calls our own
implementations in the same way and order without it.
"""

from __future__ import annotations

from looseleaf.errors import BrokenPlugin, LooseleafError, Unavailable
from looseleaf.memory.registry import OWNER
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol, TypeVar, overload

    from looseleaf.settings import Settings

    class Freezing(Protocol):
        """What every registry can do."""

        def freeze(self) -> None:
            """End start-up."""

    Function = TypeVar("Function", bound=Callable[..., Any])
    Registry = TypeVar("Registry", bound=Freezing)
else:

    def overload(function: object) -> object:
        """Stand in for typing's, which only a type checker reads."""
        return function


MARK = "looseleaf_impl"
_FITS: dict[str, Callable[[Any], bool]] = {
    "a store": lambda answer: hasattr(answer, "capabilities") and hasattr(answer, "edit"),
    "a name": lambda answer: isinstance(answer, str) and bool(answer.strip()),
}
_PLAIN = {"wrapper": False, "hookwrapper": False, "optionalhook": False, "specname": None}


@overload
def hookimpl(function: Function, /) -> Function: ...


@overload
def hookimpl(  # noqa: F811 - an overload
    *, tryfirst: bool = False, trylast: bool = False
) -> Callable[[Function], Function]: ...


def hookimpl(  # noqa: F811 - what the overloads describe
    function: Function | None = None, /, *, tryfirst: bool = False, trylast: bool = False
) -> Function | Callable[[Function], Function]:
    """Mark a function of a plugin as its implementation of the hook that has the same name.

    It leaves the mark of `pluggy.HookimplMarker("looseleaf")`, without importing pluggy.
    """

    def mark(marked: Function) -> Function:
        setattr(marked, MARK, {**_PLAIN, "tryfirst": tryfirst, "trylast": trylast})
        return marked

    return mark if function is None else mark(function)


@value
class Plugin:
    """A plugin as people see it: where it came from, and what it does."""

    name: str
    origin: str  # built in, installed or settings
    module: str
    package: str = ""
    version: str = ""
    enabled: bool = True
    hooks: tuple[str, ...] = ()
    registered: Mapping[str, tuple[str, ...]] = {}


@value
class Implementation:
    """One plugin's function for a hook, and which arguments it takes."""

    plugin: str
    function: Callable[..., Any]
    takes: tuple[str, ...]

    def call(self, given: Mapping[str, object]) -> Any:  # noqa: ANN401 - whatever the hook gives
        """Call it with those of the arguments that it takes."""
        return self.function(*[given[name] for name in self.takes])


class Signed:
    """A registry as one plugin is given it: what the plugin registers carries its name."""

    def __init__(self, registry: Any, owner: str) -> None:  # noqa: ANN401 - any of the registries
        self._registry, self._owner = registry, owner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the registry has it
        return getattr(self._registry, name)

    def __contains__(self, name: object) -> bool:
        return name in self._registry

    def register(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as the registry has it
        """Register something under the plugin's own name."""
        return self._registry.register(*given, **{**named, "owner": self._owner})


class Hooks:
    """The hooks of one workspace; `workspace.py` alone calls them."""

    def __init__(
        self,
        settings: Settings,
        implementations: Mapping[str, tuple[Implementation, ...]],
        plugins: tuple[Plugin, ...],
    ) -> None:
        self.settings = settings
        self.implementations = implementations
        self.plugins = plugins

    def fill(self, hook: str, **noun: Registry) -> Registry:
        """Let every plugin fill a registry, freeze and give it; who fails stops the opening."""
        [(name, registry)] = noun.items()
        for one in self.implementations.get(hook, ()):
            given: object = registry if one.plugin == OWNER else Signed(registry, one.plugin)
            try:
                one.call({name: given, "settings": self.settings})
            except Exception as error:
                raise BrokenPlugin(one.plugin, f"its {hook} failed with {_said(error)}") from error
        registry.freeze()
        return registry

    def pick(self, hook: str, wanted: str, **given: object) -> Any:  # noqa: ANN401 - as the hook says
        """Ask one plugin after the other; the first answer that is not None holds.

        A failure is the caller's: to go on to the next would be to use another store in silence.
        """
        for one in self.implementations.get(hook, ()):
            try:
                answer = one.call({**given, "settings": self.settings})
            except LooseleafError:
                raise
            except Exception as error:
                raise Unavailable(f"{hook} of the plugin {one.plugin}", _said(error)) from error
            if answer is not None:
                if not _FITS[wanted](answer):
                    raise BrokenPlugin(one.plugin, f"its {hook} gave {answer!r}, not {wanted}")
                return answer
        return None

    def listeners(self, hook: str, noun: str) -> list[tuple[str, Callable[[Any], None]]]:
        """Give each plugin's function for what happened, by the name of the plugin."""

        def listener(one: Implementation) -> Callable[[Any], None]:
            return lambda happened: one.call({noun: happened, "settings": self.settings})

        return [(one.plugin, listener(one)) for one in self.implementations.get(hook, ())]

    def guarded(
        self, hook: str, noun: str, report: Callable[[str, Exception], None]
    ) -> list[Callable[[Any], None]]:
        """Give the same functions, their failures reported: what happened has happened."""

        def guard(plugin: str, listener: Callable[[Any], None]) -> Callable[[Any], None]:
            def told(happened: Any) -> None:  # noqa: ANN401 - whatever happened
                try:
                    listener(happened)
                except Exception as error:  # noqa: BLE001 - it cannot be undone by a listener
                    report(f"The plugin {plugin} failed in {hook}", error)

            return told

        return [guard(plugin, listener) for plugin, listener in self.listeners(hook, noun)]

    def is_ours_alone(self, hook: str) -> bool:
        """Say whether no plugin but our own has a say."""
        return all(one.plugin == OWNER for one in self.implementations.get(hook, ()))


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".")
