"""The commands of the core's nouns, and those that start a server or set up a workspace."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.plugins.commands import Commands

_COMMANDS = "looseleaf.cli.commands"
# Name, target, summary, priority; features have numbers between these.
_TABLE = (
    ("init", "workspace:init", "Turn a folder into a workspace.", 5),
    ("status", "workspace:status", "Show the workspace, agent, server and version in use.", 5),
    ("memory", "memory:memory_group", "Read, change and search an agent's memory.", 10),
    ("prompt", "prompt:prompt_group", "The prompt of an agent, and the rules behind it.", 10),
    ("memory prune", "pages:prune_history", "Drop versions that retention does not keep.", 52),
    ("memory pack", "pages:pack_history", "Put old versions into compressed files.", 56),
    ("agents", "agents:agents_group", "The agents of the workspace.", 20),
    ("plugins", "workspace:plugins_group", "The plugins of the workspace.", 30),
    ("users", "accounts:users_group", "The people who may act here.", 30),
    ("grants", "accounts:grants_group", "The roles of users on agents.", 30),
    ("tokens", "accounts:tokens_group", "The credentials of agents and programs.", 30),
    ("settings", "workspace:settings_group", "The settings and their sources.", 30),
    ("audit", "accounts:audit_group", "The record of who did what.", 30),
    (
        "serve",
        "serve:serve",
        "Run the server: the admin site for people, REST and MCP for programs.",
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
