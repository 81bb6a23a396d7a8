"""The preview of a configuration: what its policies would take out of the prompt."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.errors import Forbidden, Invalid
from looseleaf.operations.agents import configure_agent, preview_config
from looseleaf.operations.prompt import explain_prompt
from looseleaf.operations.users import create_user, grant_role
from tests.operations.test_accounts import person

DENY = {"memory_policy": {"mode": "deny", "deny": ["MEMORY.md"]}}


def test_a_policy_is_tried_without_being_set(workspace: Workspace) -> None:
    """The page that it denies is said to be removed, and the agent stays as it is."""
    context = workspace.context
    before = explain_prompt(context, "chat")
    preview = preview_config(context, "ada", DENY)
    (removed,) = [
        difference for difference in preview.prompt.differences if difference.kind == "removed"
    ]
    assert (removed.name, removed.rule) == ("MEMORY.md", ("injected", "policy_deny"))
    assert preview.prompt.bytes[0] == before.bytes > preview.prompt.bytes[1]
    assert not workspace.agents.resolve("ada").config
    assert explain_prompt(context, "chat") == before


def test_the_preview_is_what_the_policy_does(workspace: Workspace) -> None:
    """Once it is set, the prompt has the size that was shown."""
    preview = preview_config(workspace.context, "ada", DENY)
    configure_agent(workspace.context, "ada", DENY)
    assert explain_prompt(workspace.context, "chat").bytes == preview.prompt.bytes[1]
    back = preview_config(workspace.context, "ada", {"memory_policy": None})
    assert [
        difference.name for difference in back.prompt.differences if difference.kind == "added"
    ] == ["MEMORY.md"]


def test_tools_are_compared(workspace: Workspace) -> None:
    """Those of a conversation."""
    policy = {"tool_policy": {"mode": "deny", "tools": ["agent_memory"]}}
    preview = preview_config(workspace.context, "ada", policy)
    assert {tool.name: tool.kind for tool in preview.tools}["agent_memory"] == "removed"


@pytest.mark.parametrize(
    "config",
    [
        {"memory_policy": {"mode": "perhaps"}},
        {"tool_policy": {"mode": "deny", "tools": ["agent_memroy"]}},
        {"models": "gpt"},
    ],
)
def test_what_could_not_be_set_is_refused(workspace: Workspace, config: dict[str, object]) -> None:
    """With the error of the setting itself."""
    with pytest.raises(Invalid) as preview:
        preview_config(workspace.context, "ada", config)
    with pytest.raises(Invalid) as setting:
        configure_agent(workspace.context, "ada", config)
    assert str(preview.value) == str(setting.value)


def test_a_policy_is_tried_by_those_who_may_set_it(workspace: Workspace) -> None:
    """A viewer may read the prompt, and may not try another policy on it."""
    create_user(workspace.context, "eve")
    grant_role(workspace.context, "ada", "eve", "viewer")
    with pytest.raises(Forbidden):
        preview_config(person(workspace, 2), "ada", DENY)
    grant_role(workspace.context, "ada", "eve", "admin")
    assert not preview_config(person(workspace, 2), "ada", DENY).prompt.same
