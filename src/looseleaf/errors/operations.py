"""Errors of operations, tools, directives and plugins."""

from __future__ import annotations

from looseleaf.errors import LooseleafError, NotFound, Refused, _InvalidThing


class BrokenDirective(_InvalidThing):
    """A directive that could not keep its contract."""

    code = "broken_directive"
    template = "The directive {name!r} breaks its contract: {why}."


class BrokenPlugin(_InvalidThing):
    """A plugin that cannot be imported, misses its hooks, or failed in one."""

    code = "broken_plugin"
    template = (
        "The plugin {name} cannot be used: {why}. To go on without it, take it out of plugins in "
        "looseleaf.toml, or put it into plugins_off."
    )


class InvalidOperation(_InvalidThing):
    """An operation that no surface could offer."""

    code = "invalid_operation"
    template = "Invalid operation {name!r}: {why}."


class OperationMissing(NotFound):
    """No operation has that name."""

    code = "operation_missing"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"There is no operation {name!r}.")


class ToolMissing(NotFound):
    """No tool has that name; `available` names those there are."""

    code = "tool_missing"

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name, self.available = name, available
        super().__init__(f"There is no tool {name!r}. Available tools: {', '.join(available)}.")


class ToolDenied(Refused):
    """The agent may not use this tool; `rule` names what decided."""

    code = "tool_denied"

    def __init__(self, name: str, rule: str) -> None:
        self.name, self.rule = name, rule
        super().__init__(
            f"The tool {name} is not for this agent ({rule}). Its tool_policy, or the request, "
            "would have to allow it."
        )


class DirectiveFailed(LooseleafError):
    """A directive that must not be missing failed, so there is no prompt."""

    code = "directive_failed"

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        super().__init__(f"The directive {name} failed: {type(error).__name__}: {error}")
