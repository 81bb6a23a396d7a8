"""The configuration of an agent as a typed value: the one place that reads its JSON.

The JSON itself stays as it was given. Keys that are not named here belong to plugins.
"""

from __future__ import annotations

import json

from looseleaf.errors import Invalid
from looseleaf.errors.pages import InvalidAgent
from looseleaf.memory.policy import parse_memory_policy, parse_tool_policy
from looseleaf.values import built_once, field_names, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from looseleaf.memory.policy import MemoryPolicy, ToolPolicy

    Unit = Literal["bytes", "tokens"]


# How much of a prompt an agent's pages may take up.


UNITS: tuple[Unit, ...] = ("bytes", "tokens")


@value
class Budget:
    """The most that one page, and everything together, may take up; 0 is no limit."""

    page: int = 0
    total: int = 0
    unit: Unit = "bytes"

    @staticmethod
    def normal(page: int, total: int, unit: Unit) -> tuple[int, int, Unit]:
        """Refuse a limit that is no whole number, and an unknown unit."""
        for name, limit in (("page", page), ("total", total)):
            if type(limit) is not int or limit < 0:
                raise Invalid(f"The budget's {name} is a whole number; 0 is no limit.")
        if unit not in UNITS:
            raise Invalid(f"A budget counts {' or '.join(UNITS)}, not {unit!r}.")
        return page, total, unit

    def __bool__(self) -> bool:
        return bool(self.page or self.total)


NO_BUDGET = Budget()


def budget_of(config: Mapping[str, Any] | None) -> Budget:
    """Parse `prompt_budget` of an agent's configuration."""
    if config is None:
        return NO_BUDGET
    if not isinstance(config, dict) or not set(config) <= set(field_names(Budget)):
        raise Invalid("prompt_budget takes page, total and unit.")
    return Budget(**config)


RECENT_DAYS = 3
DEFAULT_MODEL = "default"  # the key of the model that answers in every other mode


@value
class DailyMemoryConfig:
    """Whether prompts have the journal, and how many of its last days."""

    enabled: bool = False
    recent_days: int = RECENT_DAYS


@value
class CompactionConfig:
    """When to sum up a conversation: past `max_messages`, all but about `recent_messages`."""

    enabled: bool = False
    max_messages: int = 40
    recent_messages: int = 12

    @staticmethod
    def normal(
        enabled: bool,  # noqa: FBT001 - the fields of a value
        max_messages: int,
        recent_messages: int,
    ) -> tuple[bool, int, int]:
        """Correct the numbers, so that fewer messages stay than it takes to sum up."""
        limit = max(max_messages, 2)
        return enabled, limit, min(max(recent_messages, 1), limit - 1)


@value
class ChatConfig:
    """How an agent converses: `turn_limit` is None if the workspace's setting counts."""

    journal: bool = False
    turn_limit: int | None = None
    compaction: CompactionConfig = CompactionConfig()


@value
class AgentConfig:
    """The configuration of one agent; each key is read, and checked, when it is first asked for."""

    agent: str
    json: Mapping[str, Any]

    @property
    def description(self) -> str:
        """What the agent is for, in a few words, or "" if nothing is said."""
        description = self.json.get("description")
        return description if isinstance(description, str) else ""

    @built_once
    def memory_policy(self) -> MemoryPolicy:
        """Which pages the agent is given, or may reach."""
        return parse_memory_policy(self.json.get("memory_policy"))

    @property
    def binds_access(self) -> bool:
        """Whether the memory policy binds more than what prompts contain."""
        policy = self.json.get("memory_policy") or {}
        return policy.get("binds") not in (None, "injection")

    @built_once
    def tool_policy(self) -> ToolPolicy:
        """Which tools the agent may use."""
        return parse_tool_policy(self.json.get("tool_policy"))

    @property
    def has_tool_policy(self) -> bool:
        """Whether anything is said about tools."""
        return bool(self.json.get("tool_policy"))

    @built_once
    def prompt_budget(self) -> Budget | None:
        """How much of a prompt the pages may take up, or None if the workspace's setting counts."""
        budget = self.json.get("prompt_budget")
        return None if budget is None else budget_of(budget)

    @built_once
    def pinned_sections(self) -> tuple[str, ...] | None:
        """Which sections prompts leave out last, or None if the workspace's setting counts."""
        names = self.json.get("pinned_sections")
        if names is None:
            return None
        if not isinstance(names, list | tuple) or not all(
            isinstance(name, str) and name.strip() for name in names
        ):
            raise InvalidAgent(self.agent, "pinned_sections is a list of names of sections")
        return tuple(names)

    @built_once
    def daily_memory(self) -> DailyMemoryConfig:
        """Whether prompts have the journal."""
        daily: object = self.json.get("daily_memory", {})
        if not isinstance(daily, dict) or not daily.keys() <= {"enabled", "recent_days"}:
            raise InvalidAgent(self.agent, "daily_memory takes enabled and recent_days")
        kinds = {name: type(setting) for name, setting in daily.items()}
        if kinds.get("enabled", bool) is not bool or kinds.get("recent_days", int) is not int:
            reason = "daily_memory.enabled is true or false, recent_days a number"
            raise InvalidAgent(self.agent, reason)
        return DailyMemoryConfig(**daily)

    @built_once
    def models(self) -> Mapping[str, str]:
        """The models by mode."""
        models: object = self.json.get("models", {})
        if not isinstance(models, dict) or not all(
            isinstance(name, str) for name in models.values()
        ):
            raise InvalidAgent(self.agent, 'models maps a mode, or "default", to provider:model')
        return models

    def model_for(self, mode: str) -> str | None:
        """Choose the model that answers in a mode, or None if the agent names none."""
        return self.models.get(mode) or self.models.get(DEFAULT_MODEL)

    @built_once
    def chat(self) -> ChatConfig:
        """How the agent converses."""
        chat = self.json.get("chat", {})
        if not _is_chat(chat):
            raise InvalidAgent(
                self.agent,
                "chat takes journal (true or false), turn_limit (from 1) and compaction (enabled, "
                "max_messages and recent_messages)",
            )
        return ChatConfig(**{**chat, "compaction": CompactionConfig(**chat.get("compaction", {}))})

    def check(self) -> None:
        """Raise if a part of the configuration is invalid."""
        _ = (self.memory_policy, self.tool_policy, self.prompt_budget, self.pinned_sections)
        _ = (self.daily_memory, self.models, self.chat)
        try:
            json.dumps(self.json)
        except (TypeError, ValueError) as error:
            raise InvalidAgent(self.agent, f"its configuration is not JSON ({error})") from error


def check_config(agent: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a valid configuration, or raise."""
    AgentConfig(agent, config).check()
    return dict(config)


def merge_config(agent: str, config: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Set keys of a configuration; a key set to None is taken out, every other key stays."""
    new_config = {**config, **keys}
    return check_config(
        agent, {key: setting for key, setting in new_config.items() if setting is not None}
    )


def _is_chat(chat: object) -> bool:
    """Return whether this is a valid chat configuration."""
    if not isinstance(chat, dict) or not chat.keys() <= {"journal", "turn_limit", "compaction"}:
        return False
    rule = chat.get("compaction", {})
    if not isinstance(rule, dict):
        return False
    flags = (chat.get("journal", False), rule.get("enabled", False))
    numbers = (
        chat.get("turn_limit", 1),
        rule.get("max_messages", 1),
        rule.get("recent_messages", 1),
    )
    return (
        rule.keys() <= {"enabled", "max_messages", "recent_messages"}
        and all(type(entry) is bool for entry in flags)
        and all(type(entry) is int and entry > 0 for entry in numbers)
    )
