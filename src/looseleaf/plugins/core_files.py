"""The pages that every workspace has."""

from __future__ import annotations

from looseleaf.memory.registry import OWNER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.registry import FileRegistry


def register_core_files(
    registry: FileRegistry, *, network: bool = False, agents_md: bool = False
) -> None:
    """Register the pages that every workspace has, as a plugin registers its own."""
    # A table is easier to read than a column.
    # fmt: off
    if network:
        registry.register(
            "NETWORK.md", 5, layer="network", protected=True, composable=True, owner=OWNER,
            label="Network", description="What is true of all workspaces here; generated.",
        )
    if agents_md:
        # It holds the pages that prompts already have, so in a prompt it would double them.
        registry.register(
            "AGENTS.md", 5, protected=True, composable=True, modes=(), owner=OWNER,
            convention_path="AGENTS.md", label="Coding agents",
            description="One agent's memory for coding agents in a project; generated.",
        )
    registry.register(
        "SITE.md", 5, layer="shared", protected=True, composable=True, owner=OWNER,
        label="Site", description="What this workspace is; generated.",
    )
    registry.register(
        "RULES.md", 7, layer="shared", protected=True, editable="manage_options", owner=OWNER,
        label="Rules", description="What every agent here must and must not do.",
    )
    registry.register(
        "SOUL.md", 10, protected=True, editable="admin", word_budget=500, owner=OWNER,
        label="Identity", description="Who the agent is, how it speaks, what rules it follows.",
    )
    registry.register(
        "USER.md", 20, layer="user", protected=True, word_budget=300, owner=OWNER,
        label="User", description="Who the human is: background, preferences, working patterns.",
    )
    registry.register(
        "MEMORY.md", 30, protected=True, word_budget=2000, owner=OWNER,
        label="Memory", description="What the agent has learned: facts, decisions, lessons.",
    )
    # fmt: on
