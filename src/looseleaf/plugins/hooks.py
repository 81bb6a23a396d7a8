"""The implementations of each hook, and the three ways to call a hook.

Nothing here imports pluggy: a workspace without plugins (most of them) calls the built-in
implementations in the same way and order without it.
"""

from __future__ import annotations

from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.memory.registry import OWNER
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol, TypeVar, overload

    from looseleaf.settings import Settings

    class Freezable(Protocol):
        """A registry that can be frozen."""

        def freeze(self) -> None:
            """Finish start-up."""

    Function = TypeVar("Function", bound=Callable[..., Any])
    Registry = TypeVar("Registry", bound=Freezable)
else:

    def overload(function: object) -> object:
        """Replace `typing.overload`, which only a type checker reads."""
        return function


MARK = "looseleaf_impl"
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "a store": lambda answer: hasattr(answer, "capabilities") and hasattr(answer, "edit"),
    "a name": lambda answer: isinstance(answer, str) and bool(answer.strip()),
}
_PLUGGY_OPTIONS = {"wrapper": False, "hookwrapper": False, "optionalhook": False, "specname": None}


@overload
def hookimpl(function: Function, /) -> Function: ...


@overload
def hookimpl(  # noqa: F811 - an overload
    *, tryfirst: bool = False, trylast: bool = False
) -> Callable[[Function], Function]: ...


def hookimpl(  # noqa: F811 - the implementation of the overloads
    function: Function | None = None, /, *, tryfirst: bool = False, trylast: bool = False
) -> Function | Callable[[Function], Function]:
    """Mark a function of a plugin as its implementation of the hook that has the same name.

    It leaves the mark of `pluggy.HookimplMarker("looseleaf")`, without importing pluggy.
    """

    def mark(target: Function) -> Function:
        setattr(target, MARK, {**_PLUGGY_OPTIONS, "tryfirst": tryfirst, "trylast": trylast})
        return target

    return mark if function is None else mark(function)


@value(kw_only=True)
class Plugin:
    """A plugin as it is listed: its origin, its hooks and its entries."""

    name: str
    origin: str  # built in, installed or settings
    module: str
    package: str = ""
    version: str = ""
    enabled: bool = True
    hooks: tuple[str, ...] = ()
    registered: Mapping[str, tuple[str, ...]] = FrozenDict()


@value
class Implementation:
    """One plugin's function for a hook, and the names of its arguments."""

    plugin: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]

    def call(self, arguments: Mapping[str, object]) -> Any:  # noqa: ANN401 - the result of any hook
        """Call the function with those arguments that it takes."""
        return self.function(*[arguments[name] for name in self.arguments])


class OwnedRegistry:
    """A registry for one plugin: every entry gets the plugin as its owner."""

    def __init__(self, registry: Any, owner: str) -> None:  # noqa: ANN401 - any of the registries
        self._registry, self._owner = registry, owner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the registry has it
        return getattr(self._registry, name)

    def __contains__(self, name: object) -> bool:
        return name in self._registry

    def register(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as the registry has it
        """Register an entry with the plugin as its owner."""
        return self._registry.register(*arguments, **{**options, "owner": self._owner})


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
        self._filled: dict[str, Any] = {}  # registries by hook

    def fill(self, hook: str, **noun: Registry) -> Registry:
        """Have every plugin fill a registry, and freeze it; a failure stops the start."""
        [(name, registry)] = noun.items()
        for implementation in self.implementations.get(hook, ()):
            view: object = (
                registry
                if implementation.plugin == OWNER
                else OwnedRegistry(registry, implementation.plugin)
            )
            try:
                implementation.call({name: view, "settings": self.settings})
            except Exception as error:
                raise broken_plugin(
                    implementation.plugin, f"its {hook} failed with {_describe_error(error)}"
                ) from error
        registry.freeze()
        return registry

    def registry_for(self, hook: str, **noun: Callable[[], Registry]) -> Registry:
        """Return the registry that a hook fills, once; `noun` says what the hook calls it."""
        if hook not in self._filled:
            [(name, build)] = noun.items()
            self._filled[hook] = self.fill(hook, **{name: build()})
        return self._filled[hook]  # type: ignore[no-any-return]

    def pick(self, hook: str, expected_kind: str, **arguments: object) -> Any:  # noqa: ANN401 - as the hook says
        """Call one plugin after the other; the first result that is not None counts.

        A failure goes to the caller: the next plugin might silently choose another store.
        """
        for implementation in self.implementations.get(hook, ()):
            try:
                answer = implementation.call({**arguments, "settings": self.settings})
            except LooseleafError:
                raise
            except Exception as error:
                raise Unavailable(
                    f"{hook} of the plugin {implementation.plugin}", _describe_error(error)
                ) from error
            if answer is not None:
                if not _CHECKS[expected_kind](answer):
                    raise broken_plugin(
                        implementation.plugin, f"its {hook} gave {answer!r}, not {expected_kind}"
                    )
                return answer
        return None

    def listeners(self, hook: str, noun: str) -> list[tuple[str, Callable[[Any], None]]]:
        """Return each plugin's function for an event, by the name of the plugin."""

        def build_listener(implementation: Implementation) -> Callable[[Any], None]:
            return lambda event: implementation.call({noun: event, "settings": self.settings})

        return [
            (implementation.plugin, build_listener(implementation))
            for implementation in self.implementations.get(hook, ())
        ]

    def guarded_listeners(
        self, hook: str, noun: str, report: Callable[[str, Exception], None]
    ) -> list[Callable[[Any], None]]:
        """Return the same functions, but report their failures: the event cannot be undone."""

        def guard(plugin: str, listener: Callable[[Any], None]) -> Callable[[Any], None]:
            def call_listener(event: Any) -> None:  # noqa: ANN401 - any event
                try:
                    listener(event)
                except Exception as error:  # noqa: BLE001 - a listener cannot undo the event
                    report(f"The plugin {plugin} failed in {hook}", error)

            return call_listener

        return [guard(plugin, listener) for plugin, listener in self.listeners(hook, noun)]

    def has_only_defaults(self, hook: str) -> bool:
        """Return whether only the built-in plugin implements a hook."""
        return all(
            implementation.plugin == OWNER for implementation in self.implementations.get(hook, ())
        )


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".")


@value
class InstalledPlugin:
    """An entry point: the plugin's name, its module or object, and its package."""

    name: str
    target: str
    package: str
    version: str


def describe_defaults(defaults: object) -> Plugin:
    """Describe the built-in plugin."""
    return Plugin(
        name=OWNER,
        origin="built in",
        module=type(defaults).__module__,
        hooks=tuple(find_implementations(defaults)),
    )


def describe_disabled(plugin: InstalledPlugin) -> Plugin:
    """Describe an installed plugin that is switched off."""
    return Plugin(
        name=plugin.name,
        origin="installed",
        module=plugin.target,
        package=plugin.package,
        version=plugin.version,
        enabled=False,
    )


def find_implementations(defaults: object) -> dict[str, tuple[Implementation, ...]]:
    """Return the hook implementations that pluggy would find in the built-in plugin."""
    implementations: dict[str, tuple[Implementation, ...]] = {}
    for name, function in vars(type(defaults)).items():
        if hasattr(function, MARK):
            code = function.__code__
            arguments = code.co_varnames[1 : code.co_argcount]
            implementations[name] = (Implementation(OWNER, getattr(defaults, name), arguments),)
    return implementations


def broken_plugin(*arguments: str) -> LooseleafError:
    """Return the error of a plugin that fails, or gives what it must not."""
    from looseleaf.errors.operations import BrokenPlugin

    return BrokenPlugin(*arguments)
