"""What was learned lately: by whom, on which page, and only what one may read."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.errors import Forbidden, Invalid
from looseleaf.errors.pages import AgentMissing
from looseleaf.memory.scope import Where
from looseleaf.operations import agents, daily, memory
from looseleaf.operations.recent import RecentChange, list_recent
from tests.conftest import Clock

ADA, BOB = Where("ada"), Where("bob")


def lines(workspace: Workspace, since: str = "yesterday") -> list[tuple[str, ...]]:
    """Return the lines of each recent change, as the operator sees them."""
    return [change.lines for change in list_recent(workspace.context, since=since).changes]


def learn(workspace: Workspace, fact: str, where: Where = ADA) -> None:
    """Append a fact to the MEMORY.md of an agent."""
    memory.update_memory(workspace.context, "Facts", fact, mode="append", where=where)


def test_changes_of_all_pages_and_agents_come_newest_first(
    workspace: Workspace, clock: Clock
) -> None:
    """Each with its page, its actor and the lines it added; templates are nothing learned."""
    agents.create_agent(workspace.context, "bob")
    context = workspace.acting(actor="eve", reason="she told me")
    memory.update_memory(context, "Facts", "- one\n- two", mode="append", where=ADA)
    clock.now += 60
    memory.append_page(workspace.context, "plans/garden.md", "- seeds", where=BOB)
    clock.now += 60
    memory.append_page(workspace.context, "RULES.md", "- Ask first", where=Where(layer="shared"))
    clock.now += 60
    about_me = Where("ada", layer="principal")
    memory.append_page(workspace.context, "USER_MEMORY.md", "- likes tea", where=about_me)
    clock.now += 60
    daily.write_day(workspace.context, "- met", mode="append", where=ADA)
    found = list_recent(workspace.context)
    shown = [(change.agent, change.layer, change.file, change.lines) for change in found.changes]
    assert shown[1:] == [
        ("ada", "principal", "USER_MEMORY.md", ("- likes tea",)),
        ("", "shared", "RULES.md", ("- Ask first",)),
        ("bob", "agent", "plans/garden.md", ("- seeds",)),
        ("ada", "agent", "MEMORY.md", ("- one", "- two")),
    ]
    assert shown[0][3] == ("- met",)
    first: RecentChange = found.changes[-1]
    assert (first.actor, first.actor_kind, first.reason) == ("eve", "person", "she told me")
    assert not found.has_more


def test_a_line_that_is_gone_is_not_listed(workspace: Workspace, clock: Clock) -> None:
    """A correction takes the old fact out; a line counts for the change that added it last."""
    learn(workspace, "- Deploys are on Friday")
    clock.now += 60
    memory.update_memory(
        workspace.context, "Facts", "- Deploys are on Monday", mode="set", where=ADA
    )
    assert lines(workspace) == [("- Deploys are on Monday",)]
    learn(workspace, "- Deploys are on Friday")
    assert lines(workspace) == [("- Deploys are on Friday",), ("- Deploys are on Monday",)]


def test_since_is_a_word_a_length_a_day_or_a_time(workspace: Workspace, clock: Clock) -> None:
    """Days are UTC; yesterday is from its first second on, and the default."""
    clock.now = clock.now // 86_400 * 86_400 + 3_600  # one o'clock
    learn(workspace, "- today")
    clock.now -= 2 * 3_600
    learn(workspace, "- yesterday")
    clock.now -= 86_400
    learn(workspace, "- before")
    clock.now += 86_400 + 2 * 3_600
    assert lines(workspace, since="today") == [("- today",)]
    assert lines(workspace) == lines(workspace, since="yesterday")
    assert set(lines(workspace)) == {("- today",), ("- yesterday",)}
    assert len(lines(workspace, since="2d")) == 3
    assert len(lines(workspace, since="2001-01-01")) == 3
    assert len(lines(workspace, since="2001-01-01T00:00Z")) == 3
    for wrong in ("now-ish", "2026-02-31", "99999999999d"):
        with pytest.raises(Invalid, match="is no time"):
            list_recent(workspace.context, since=wrong)


def test_a_limit_says_that_there_is_more(workspace: Workspace, clock: Clock) -> None:
    """And the longest lists and lines are cut, with their number."""
    for number in range(4):
        learn(workspace, f"- fact {number}")
        clock.now += 60
    found = list_recent(workspace.context, limit=3)
    assert [change.lines[0] for change in found.changes] == ["- fact 3", "- fact 2", "- fact 1"]
    assert found.has_more
    learn(workspace, "\n".join(f"- line {number}" for number in range(40)) + "\n- " + "x" * 900)
    (change,) = list_recent(workspace.context, limit=1).changes
    assert (change.line_count, len(change.lines)) == (41, 10)
    clock.now += 60
    memory.append_page(workspace.context, "long.md", "- " + "x" * 900, where=ADA)
    (change,) = list_recent(workspace.context, limit=1).changes
    assert len(change.lines[0]) == 300


def test_each_principal_sees_what_it_may_read(workspace: Workspace) -> None:
    """An agent its own pages; a person those of its agents; a named agent of others is missing."""
    agents.create_agent(workspace.context, "bob", owner=2)
    learn(workspace, "- of ada")
    learn(workspace, "- of bob", BOB)
    ada = Principal(kind="token", user_id=1, name="ada", agent_id=1, role="admin")
    bobs_owner = Principal(kind="session", user_id=2, name="two", role="admin")
    nobody = Principal(kind="session", user_id=3, name="three", role="admin")
    for principal, expected in ((ada, {"- of ada"}), (bobs_owner, {"- of bob"}), (nobody, set())):
        context = workspace.acting(principal=principal, surface="test")
        seen = {line for change in list_recent(context).changes for line in change.lines}
        assert seen == expected, principal.name
    context = workspace.acting(principal=nobody, surface="test")
    with pytest.raises(AgentMissing):
        list_recent(context, where=ADA)
    with pytest.raises(Forbidden):
        list_recent(context, where=Where(user=1))


def test_a_policy_that_binds_access_hides_pages(workspace: Workspace) -> None:
    """Of a denied page neither lines nor the name."""
    learn(workspace, "- public")
    memory.append_page(workspace.context, "secret.md", "- hidden", where=ADA)
    policy = {"mode": "deny", "deny": ["secret.md"], "binds": "access"}
    agents.configure_agent(workspace.context, "ada", config={"memory_policy": policy})
    ada = Principal(kind="token", user_id=1, name="ada", agent_id=1, role="admin")
    context = workspace.acting(principal=ada, surface="test")
    assert "secret" not in str(list_recent(context))
    assert "- public" in str(list_recent(context))
