"""The commands that can be typed: of the core, of features, of plugins, each found when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import LooseleafError, WorkspaceMissing
from looseleaf.plugins.commands import Commands, is_command_name
from looseleaf.plugins.core_commands import register_core_commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.operation import Operation
    from looseleaf.plugins.commands import RegisteredCommand


class CommandTable:
    """The commands of the core, of features and of plugins, each registered when it is needed.

    A command of the core runs without the features, and one of a feature without the plugins. A
    workspace whose plugins cannot be loaded is reported; its other commands are there.
    """

    def __init__(self, root: str | None, report: Callable[[LooseleafError], None]) -> None:
        self._root, self._report = root, report
        self._commands = Commands()
        register_core_commands(self._commands)
        self._next_steps = [self._add_features, self._add_plugins]

    def find(self, name: str) -> RegisteredCommand | None:
        """Find a command by the words that name it."""
        entry = self._commands.find(name)
        while entry is None and self._next_steps and is_command_name(name):
            self._next_steps.pop(0)()
            entry = self._commands.find(name)
        return entry

    def find_operation(self, name: str) -> Operation:
        """Find an operation of the workspace, one of a plugin too."""
        from looseleaf.workspace import Workspace

        return Workspace.open(self._root, surface="cli").operations().find(name)

    def list_below(self, group: str) -> list[RegisteredCommand]:
        """List the commands of a group; those of the whole command line for ""."""
        while self._next_steps:
            self._next_steps.pop(0)()
        return [entry for entry in self._commands.all() if entry.name.rpartition(" ")[0] == group]

    def _add_features(self) -> None:
        from looseleaf.plugins.features import call_features

        call_features("register_commands", commands=self._commands)

    def _add_plugins(self) -> None:
        from looseleaf.plugins.defaults import Defaults
        from looseleaf.plugins.discovery import open_hooks
        from looseleaf.settings import find_root, load

        try:
            hooks = open_hooks(load(find_root(self._root)), Defaults())
            if not hooks.has_only_defaults("register_commands"):
                self._commands = hooks.fill("register_commands", commands=Commands())
        except WorkspaceMissing:
            return  # there is no workspace yet, and init is a command of the core
        except LooseleafError as problem:
            self._report(problem)
