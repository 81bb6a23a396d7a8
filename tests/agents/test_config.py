"""An agent's configuration is read in one place, typed, and its JSON stays as it was given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.agents.config import (
    AgentConfig,
    Budget,
    ChatConfig,
    CompactionConfig,
    DailyMemoryConfig,
    merge_config,
)
from looseleaf.errors import Invalid
from looseleaf.errors.pages import InvalidAgent
from looseleaf.memory.policy import parse_memory_policy, parse_tool_policy


def test_nothing_said_is_the_default() -> None:
    """Every key has one."""
    config = AgentConfig("ada", {})
    assert config.memory_policy == parse_memory_policy(None)
    assert config.tool_policy == parse_tool_policy(None)
    assert (config.binds_access, config.has_tool_policy) == (False, False)
    assert (config.prompt_budget, config.pinned_sections) == (None, None)
    assert config.daily_memory == DailyMemoryConfig(enabled=False, recent_days=3)
    assert config.chat == ChatConfig(journal=False, turn_limit=None, compaction=CompactionConfig())
    assert config.model_for("chat") is None
    config.check()


def test_every_key_is_typed() -> None:
    """As it is written in the JSON."""
    config = AgentConfig(
        "ada",
        {
            "memory_policy": {"mode": "deny", "deny": ["SOUL.md"], "binds": "access"},
            "tool_policy": {"mode": "deny", "tools": ["memory_search"]},
            "prompt_budget": {"total": 9, "unit": "tokens"},
            "pinned_sections": ["State"],
            "daily_memory": {"enabled": True, "recent_days": 5},
            "models": {"chat": "echo:a", "default": "echo:b"},
            "chat": {"journal": True, "turn_limit": 2, "compaction": {"enabled": True}},
            "acme": {"anything": [1]},
        },
    )
    config.check()
    assert config.binds_access
    assert config.has_tool_policy
    assert config.prompt_budget == Budget(total=9, unit="tokens")
    assert config.pinned_sections == ("State",)
    assert config.daily_memory == DailyMemoryConfig(enabled=True, recent_days=5)
    assert (config.model_for("chat"), config.model_for("system")) == ("echo:a", "echo:b")
    assert config.chat == ChatConfig(
        journal=True, turn_limit=2, compaction=CompactionConfig(enabled=True)
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory_policy": {"mode": "sometimes"}},
        {"tool_policy": {"mode": "sometimes"}},
        {"prompt_budget": {"most": 1}},
        {"pinned_sections": "State"},
        {"pinned_sections": [" "]},
        {"daily_memory": []},
        {"daily_memory": {"enabled": 1}},
        {"daily_memory": {"days": 1}},
        {"models": {"chat": 1}},
        {"models": ["echo:a"]},
        {"chat": {"turn_limit": 0}},
        {"chat": {"compaction": {"enabled": "yes"}}},
        {"chat": {"other": 1}},
        {"acme": {1, 2}},
    ],
)
def test_what_could_not_be_followed_is_refused(wrong: dict[str, Any]) -> None:
    """By the check of the whole, whichever key it is."""
    with pytest.raises(Invalid):
        AgentConfig("ada", wrong).check()


def test_one_wrong_key_stops_no_other() -> None:
    """A record that someone edited by hand is read key by key."""
    config = AgentConfig("ada", {"models": 7, "daily_memory": {"enabled": True}})
    assert config.daily_memory.enabled
    with pytest.raises(InvalidAgent, match="models maps a mode"):
        _ = config.models


def test_unknown_keys_survive_a_change() -> None:
    """They belong to plugins."""
    merged = merge_config("ada", {"acme": 1, "models": {"chat": "echo:a"}}, {"models": None})
    assert merged == {"acme": 1}


def test_the_json_of_a_record_keeps_its_bytes(workspace: Workspace) -> None:
    """Reading it as a typed value changes neither order nor keys."""
    given = {"zeta": {"b": 1, "a": None}, "chat": {"journal": False}, "alpha": "é"}
    workspace.agents.configure("ada", given)
    record = workspace.agents.resolve("ada")
    assert not record.configuration.chat.journal
    text = Path(workspace.root, "agents/ada/agent.json").read_text(encoding="utf-8")
    assert json.dumps(given, ensure_ascii=False) == json.dumps(
        json.loads(text)["config"], ensure_ascii=False
    )
    workspace.agents.rename("ada", "eve")
    again = Path(workspace.root, "agents/eve/agent.json").read_text(encoding="utf-8")
    assert again == text.replace('"ada"', '"eve"')
