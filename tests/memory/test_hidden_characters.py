"""Characters that nobody sees are refused in names, and joints of scripts and emoji are not."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.errors import Invalid
from looseleaf.memory.hidden_characters import find_invisible
from looseleaf.memory.scope import check_filename
from looseleaf.operations.agents import create_agent, rename_agent
from looseleaf.operations.tokens import create_token
from looseleaf.operations.users import create_user, update_user

HIDDEN = (
    "\u200b", "\u200e", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u2060", "\u180e", "\u3164",
    "\u115f", "\u2800", "\u034f", "\ufe0f", "\U000e0100", "\U000e0041", "\x07", "\u00a0", "\u2028",
)  # fmt: skip


@pytest.mark.parametrize("sign", HIDDEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_no_name_has_an_invisible_character(workspace: Workspace, sign: str) -> None:
    """Pages, agents, users, logins and labels: every way to give a name refuses it."""
    context, name = workspace.context, f"ad{sign}min"
    attempts = (
        lambda: check_filename(f"{name}.md"),
        lambda: create_agent(context, "bob", name=name),
        lambda: rename_agent(context, "ada", "ada", name=name),
        lambda: create_user(context, name),
        lambda: create_user(context, "eve", name=name),
        lambda: update_user(context, 1, name=name),
        lambda: create_token(context, agent="ada", label=name),
    )
    assert find_invisible(name) == find_invisible(name, allow_joiners=True) == f"U+{ord(sign):04X}"
    for attempt in attempts:
        with pytest.raises(Invalid):
            attempt()
    assert workspace.agents.slugs() == ["ada"]


@pytest.mark.parametrize(
    "name", ["Ada", "Zoë", "می\u200cخواهم", "👩\u200d💻", "❤\ufe0f", "क्\u200dष"]
)
def test_what_a_script_or_an_emoji_needs_is_no_secret(workspace: Workspace, name: str) -> None:
    """A joiner between what it joins is part of how a name is written."""
    assert not find_invisible(name, allow_joiners=True)
    assert rename_agent(workspace.context, "ada", "ada", name=name).name == name
