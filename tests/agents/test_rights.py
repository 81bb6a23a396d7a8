"""Ids, tokens and roles: what belonged to a deleted agent never falls to another one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import WorkspaceUnavailable
from looseleaf.errors.operations import Unauthenticated
from looseleaf.errors.pages import AgentExists, AgentMissing, InvalidAgent
from looseleaf.operations import agents
from looseleaf.operations.tokens import create_token
from looseleaf.operations.users import create_user, grant_role, list_grants

WAYS = ("operation", "operation with files", "library", "folder", "moved")


def delete(workspace: Workspace, way: str) -> None:
    """Delete bob, by the operation, by the library, or by hand."""
    folder = Path(workspace.root, "agents/bob")
    if way.startswith("operation"):
        agents.delete_agent(workspace.context, "bob", files="files" in way)
    elif way == "library":
        workspace.agents.remove("bob")
    elif way == "folder":
        shutil.rmtree(folder)
    else:
        folder.rename(Path(workspace.root, "bob"))


@pytest.fixture
def token(workspace: Workspace) -> str:
    """Make bob, a token of his, and a user with a role on him; show the token once."""
    context = workspace.context
    agents.create_agent(context, "bob")
    create_user(context, "eve")
    grant_role(context, "bob", "eve", "viewer")
    text = create_token(context, agent="bob").token
    assert workspace.authentication().bearer(text).agent_id == 2
    return text


@pytest.mark.parametrize("lost", ["nothing", ".looseleaf", "agents/register.json"])
@pytest.mark.parametrize("way", WAYS)
def test_a_newcomer_inherits_nothing(workspace: Workspace, token: str, way: str, lost: str) -> None:
    """However bob was deleted, and whatever was lost since, the next bob has another id."""
    delete(workspace, way)
    # A folder that is gone may come back, as with a disk; its token is not wrong until then.
    is_away = way in ("folder", "moved")
    with pytest.raises(WorkspaceUnavailable if is_away else Unauthenticated):
        workspace.authentication().bearer(token)  # at once, though it was seen a moment ago
    database = Path(workspace.root, ".looseleaf/looseleaf.db")
    if lost == ".looseleaf":
        workspace.close()
        kept = database.read_bytes()
        shutil.rmtree(database.parent)
        database.parent.mkdir()
        database.write_bytes(kept)
    elif lost != "nothing":
        Path(workspace.root, lost).unlink()
    again = Workspace.open(workspace.root)
    bob = agents.create_agent(again.context, "bob")
    assert bob.id == 3
    with pytest.raises(Unauthenticated):
        again.authentication().bearer(token)
    assert [grant.user_id for grant in list_grants(again.context, "bob")] == [1]


@pytest.mark.parametrize("way", ["operation", "operation with files", "library"])
def test_a_restored_agent_has_its_pages_and_no_rights(
    workspace: Workspace, token: str, way: str
) -> None:
    """Its id, pages and history come back; tokens and roles were ended with it."""
    context = workspace.context
    scope = workspace.agents.resolve("bob").shelf.page("MEMORY.md")
    text = workspace.pages.text(scope)
    delete(workspace, way)
    with pytest.raises(AgentMissing):
        agents.restore_agent(context, "ada")
    record = agents.restore_agent(context, "bob")
    assert (record.id, workspace.pages.text(scope)) == (2, text)
    assert [revision.operation for revision in workspace.history.revisions(scope)] == ["scaffold"]
    with pytest.raises(Unauthenticated):
        workspace.authentication().bearer(token)
    assert [grant.user_id for grant in list_grants(context, "bob")] == [1]
    assert agents.list_deleted_agents(context) == []


def test_a_deleted_agent_comes_back_under_another_slug(workspace: Workspace) -> None:
    """If its own belongs to another agent now; two of a slug are told apart by their ids."""
    context = workspace.context
    for _ in range(2):
        agents.create_agent(context, "bob")
        agents.delete_agent(context, "bob", files=True)
    with pytest.raises(InvalidAgent, match="ids: 2, 3"):
        agents.restore_agent(context, "bob")
    assert agents.restore_agent(context, 3).slug == "bob"
    with pytest.raises(AgentExists):
        agents.restore_agent(context, 2)
    assert agents.restore_agent(context, 2, slug="robert").slug == "robert"
    assert [item.slug for item in workspace.agents.records()] == ["ada", "bob", "robert"]


def test_a_register_that_is_damaged_is_said_not_replaced(workspace: Workspace) -> None:
    """Who was deleted would be forgotten, and their ids be given again."""
    register = Path(workspace.root, "agents/register.json")
    register.write_text("{")
    with pytest.raises(Exception, match=r"register\.json is damaged"):
        workspace.agents.create("bob")
    assert workspace.agents.resolve("ada").id == 1
    assert register.read_text() == "{"
