"""`looseleaf tools export`: declarations for providers."""

from __future__ import annotations

from tests.cli.fixtures import Run


def test_every_tool_is_printed_as_a_provider_takes_it(run: Run) -> None:
    """One JSON document with the list that a request carries."""
    plain = run("tools", "export").json["tools"]
    names = [tool["name"] for tool in plain]
    assert names[:2] == ["agent_memory", "agent_daily_memory"]
    openai = run("tools", "export", "--format", "openai").json["tools"]
    assert [tool["function"]["name"] for tool in openai] == names
    anthropic = run("tools", "export", "--format", "anthropic").json["tools"]
    assert [tool["input_schema"] for tool in anthropic] == [tool["parameters"] for tool in plain]


def test_an_agents_policy_decides_what_is_printed_for_it(run: Run) -> None:
    """By name or category."""
    policy = '{"mode": "allow", "tools": ["agent_memory"]}'
    run("agents", "configure", "main", f"tool_policy={policy}")
    tools = run("tools", "export", "--agent", "main").json["tools"]
    assert [tool["name"] for tool in tools] == ["agent_memory"]
    assert run("tools", "export", "--agent", "nobody").code == 3
