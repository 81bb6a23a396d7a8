"""The form of a configuration: what it shows it also sends, and what it does not know it keeps."""

from __future__ import annotations

import pytest

from looseleaf.agents.config import AgentConfig
from looseleaf.errors import Invalid
from looseleaf.web.admin.views.agents import build_config, describe_config, describe_form
from tests.web.fixtures import Site

FORM = {
    "model:chat": "echo",
    "daily": "yes",
    "recent-days": "7",
    "memory-mode": "deny",
    "page:SOUL.md": "yes",
    "other-pages": "notes/*\r\n\r\n old.md ",
    "binds": "yes",
    "tool-mode": "allow",
    "tool:agent_memory": "yes",
    "category:memory": "yes",
    "outside-tools": "browser",
}
CONFIG = {
    "models": {"chat": "echo"},
    "daily_memory": {"enabled": True, "recent_days": 7},
    "memory_policy": {"mode": "deny", "deny": ["SOUL.md", "notes/*", "old.md"], "binds": "access"},
    "tool_policy": {
        "mode": "allow",
        "tools": ["agent_memory"],
        "categories": ["memory"],
        "outside_tools": ["browser"],
    },
}


def test_a_form_becomes_a_configuration() -> None:
    """Every field of it."""
    assert build_config(FORM, AgentConfig("ada", {})) == CONFIG


def test_an_empty_form_takes_everything_out() -> None:
    """None takes a key out of a configuration."""
    config = build_config(
        {"memory-mode": "default", "tool-mode": "default"}, AgentConfig("ada", {})
    )
    assert config == {
        "models": None,
        "daily_memory": {"enabled": False, "recent_days": 3},
        "memory_policy": None,
        "tool_policy": None,
    }


def test_what_was_sent_is_what_is_shown(shown_site: Site) -> None:
    """The fields of the form are those of the configuration that it makes."""
    context, pages = shown_site.workspace.context, ["SOUL.md", "MEMORY.md"]
    sent = describe_form(context, FORM, pages)
    saved = describe_config(context, AgentConfig("ada", CONFIG), pages)
    assert sent == saved


@pytest.mark.parametrize("days", ["x", "-1", "99999"])
def test_days_are_a_small_number(days: str) -> None:
    """Said in the words of the form."""
    with pytest.raises(Invalid, match="whole number"):
        build_config({**FORM, "recent-days": days}, AgentConfig("ada", {}))
