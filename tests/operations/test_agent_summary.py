"""Agents at a glance: who is over budget, what changed last, and by whom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors.pages import AgentMissing
from looseleaf.memory.scope import Where
from looseleaf.operations.agents import create_agent, summarize_agents
from looseleaf.operations.memory import write_page
from looseleaf.operations.users import create_user, grant_role
from looseleaf.times import format_date
from tests.conftest import Clock
from tests.operations.test_accounts import person


def test_a_page_over_its_budget_is_named(workspace: Workspace) -> None:
    """With its size, and the last change of the agent with its author."""
    create_agent(workspace.context, "bob")
    text = "- a fact\n" * 1000
    context = workspace.acting(actor="eve")
    write_page(context, "MEMORY.md", text, where=Where("ada"))
    ada, bob = summarize_agents(workspace.context)
    assert ada.over_budget == ("MEMORY.md",)
    assert (ada.memory_bytes, ada.memory_budget) == (len(text), 8192)
    assert (ada.changed_page, ada.changed_by) == ("MEMORY.md", "eve")
    assert bob.over_budget == ()
    assert summarize_agents(workspace.context, authors=False)[0].changed_by == ""


def test_a_change_in_a_folder_is_the_last_change(workspace: Workspace, clock: Clock) -> None:
    """And so is one of today's journal; a deleted folder is none."""
    write_page(workspace.context, "MEMORY.md", "- old\n", where=Where("ada"))
    for file in ("projects/garden.md", f"daily/{format_date(clock()).replace('-', '/')}.md"):
        write_page(workspace.acting(actor="eve"), file, "- new\n", where=Where("ada"))
        path = Path(workspace.root, "agents", "ada", file)
        os.utime(path, (clock() + 100, clock() + 100))
        (ada,) = summarize_agents(workspace.context)
        assert (ada.changed_page, ada.changed_by) == (file, "eve")
        path.unlink()


def test_only_agents_that_one_may_see_are_summarized(workspace: Workspace) -> None:
    """One that is named and not seen is missing."""
    create_agent(workspace.context, "bob")
    create_user(workspace.context, "eve")
    grant_role(workspace.context, "bob", "eve", "viewer")
    eve = person(workspace, 2)
    assert [agent.slug for agent in summarize_agents(eve)] == ["bob"]
    with pytest.raises(AgentMissing):
        summarize_agents(eve, ("ada",))
