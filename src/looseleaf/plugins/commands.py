"""The commands of the command line, by name: each with the module that has it, and its summary.

A table of texts: listing the commands imports none of them, and running one imports that one.
"""

from __future__ import annotations

from looseleaf.errors import InvalidName, Refused
from looseleaf.memory.registry import OWNER, NamedRegistry
from looseleaf.values import value


@value
class RegisteredCommand:
    """A command or a group of commands, as it is listed before its module is imported."""

    name: str  # as it is typed: "jobs", or "memory lint" for a command of a group
    target: str  # module:attribute, a command or group of click; or the name of an operation
    summary: str
    priority: int = 50
    owner: str = OWNER


class Commands(NamedRegistry):
    """The commands of one workspace, by name."""

    noun, hook = "command", "register_commands"

    def register(
        self, name: str, target: str, summary: str, *, priority: int = 50, owner: str = ""
    ) -> RegisteredCommand:
        """Add a command, or refuse one whose name is taken.

        The help lists commands by priority, then in the order of their registration.
        """
        self._refuse_if_frozen(name)
        if not is_command_name(name):
            raise InvalidName(name, "a command has words of lower-case letters, digits and -")
        if name in self._entries:
            raise InvalidName(name, f"{self._entries[name].owner} has a command of that name")
        module, colon, attribute = target.partition(":")
        if not (module and attribute.isidentifier() if colon else "/" in target):
            raise InvalidName(
                target, "the target of a command is module:attribute, or an operation's name"
            )
        entry = RegisteredCommand(name, target, summary, priority, owner or OWNER)
        self._entries[name] = entry
        return entry

    def deregister(self, name: str) -> bool:
        """Refuse: what a person types must not vanish or mean something else."""
        raise Refused(f"The command {name} cannot be removed by a plugin.")

    def find(self, name: str) -> RegisteredCommand | None:
        """Find a command by the words that name it."""
        entry: RegisteredCommand | None = self._entries.get(name)
        return entry

    def all(self) -> tuple[RegisteredCommand, ...]:
        """List every command, by priority."""
        return tuple(sorted(self._entries.values(), key=lambda entry: entry.priority))


def is_command_name(name: str) -> bool:
    """Return whether a text has the form of a command's name, such as "memory lint"."""
    words = name.split(" ")
    return name.isascii() and all(
        word.replace("-", "").isalnum() and word == word.lower() and word[0] != "-"
        for word in words
    )


# The commands of the core's nouns, and those that start a server or set up a workspace.


_COMMANDS = "looseleaf.cli.commands"
# Name, target, summary, priority; features have numbers between these.
_TABLE = (
    ("init", "workspace:init", "Turn a folder into a workspace.", 5),
    ("status", "workspace:status", "Show the workspace, agent, server and version in use.", 5),
    ("remember", "memory:remember", "Write a fact into MEMORY.md.", 6),
    ("search", "search:search_shortcut", "Find a text in pages, or the pages about some words.", 6),
    ("recent", "recent:recent_shortcut", "List what was learned lately, newest first.", 6),
    ("memory", "memory:memory_group", "Read, change and search an agent's memory.", 10),
    ("prompt", "prompt:prompt_group", "The prompt of an agent, and the rules behind it.", 10),
    ("memory prune", "pages:prune_history", "Drop versions that retention does not keep.", 52),
    ("memory pack", "pages:pack_history", "Put old versions into compressed files.", 56),
    ("agents", "agents:agents_group", "The agents of the workspace.", 20),
    ("models", "agents:models_group", "The models that providers offer.", 30),
    ("plugins", "workspace:plugins_group", "The plugins of the workspace.", 30),
    ("users", "accounts:users_group", "The people who may act here.", 30),
    ("grants", "accounts:grants_group", "The roles of users on agents.", 30),
    ("tokens", "accounts:tokens_group", "The credentials of agents and programs.", 30),
    ("settings", "workspace:settings_group", "The settings and their sources.", 30),
    ("audit", "accounts:audit_group", "The record of who did what.", 30),
    (
        "serve",
        "serve:serve",
        "Run the server: admin site, REST and MCP.",
        40,
    ),
    ("mcp", "serve:mcp_group", "Memory for programs that speak MCP.", 42),
    ("tools", "prompt:tools_group", "The tools that models may use.", 42),
    ("doctor", "workspace:doctor", "Check the workspace, and say what to do.", 46),
    (
        "completion",
        "workspace:completion",
        "Print the script that completes commands in a shell.",
        46,
    ),
)


def register_core_commands(commands: Commands) -> None:
    """Register the commands that every workspace has without any feature."""
    for name, target, summary, priority in _TABLE:
        commands.register(name, f"{_COMMANDS}.{target}", summary, priority=priority)
