"""Agents are folders: ids stay, slugs may change, and nobody is taken for another."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from looseleaf import Change, Found, Workspace
from looseleaf.errors import Unavailable
from looseleaf.errors.pages import (
    AgentAmbiguous,
    AgentExists,
    AgentMissing,
    InvalidAgent,
    InvalidPolicy,
    NameTaken,
)
from looseleaf.memory.provenance import Provenance
from looseleaf.operations import agents as operations

BY = Change(provenance=Provenance("ada"))


def record_of(workspace: Workspace, slug: str) -> Path:
    """Return the path of an agent's record."""
    return Path(workspace.root, "agents", slug, "agent.json")


def test_an_agent_is_a_folder_with_a_record_people_can_read(workspace: Workspace) -> None:
    """The record is no page, and the core pages are started."""
    record = operations.create_agent(workspace.context, "bob", name="Bob the Builder", owner=7)
    found = json.loads(record_of(workspace, "bob").read_text())
    assert (found["id"], found["name"], found["owner"]) == (2, "Bob the Builder", 7)
    pages = [entry.filename for entry in workspace.pages.list(record.shelf)]
    assert pages == ["MEMORY.md", "SOUL.md"]
    assert not Path(workspace.root, "users", "7").exists()  # nobody is user 7 yet


def test_an_agent_is_found_by_id_slug_or_default(workspace: Workspace) -> None:
    """Without a name the only active one is meant; with several, the error names them."""
    agents = workspace.agents
    assert agents.resolve().slug == "ada"
    bob = agents.create("bob")
    assert agents.resolve(bob.id) == agents.resolve(str(bob.id)) == agents.resolve("bob")
    with pytest.raises(AgentAmbiguous, match="ada, bob"):
        agents.resolve()
    agents.set_status("ada", "inactive")
    assert agents.resolve().slug == "bob"
    agents.default = "ada"
    assert agents.resolve().slug == "ada"


@pytest.mark.parametrize("unknown", ["carl", "99", 99, "0", "../ada", "Ada", "ada/", "agents/ada"])
def test_an_unknown_agent_is_an_error_that_names_the_candidates(
    workspace: Workspace, unknown: str | int
) -> None:
    """Never the default one, never somebody near."""
    with pytest.raises(AgentMissing, match="Available agents: ada"):
        workspace.agents.resolve(unknown)


@pytest.mark.parametrize(
    "slug", ["", "Ada", "a b", "../x", ".x", "-x", "42", "x" * 65, "é", "x/y", "x\n", "_x"]
)
def test_slugs_are_plain(workspace: Workspace, slug: str) -> None:
    """A slug is never rewritten; it is refused."""
    with pytest.raises(InvalidAgent):
        workspace.agents.create(slug)
    assert workspace.agents.slugs() == ["ada"]


def test_a_slug_is_taken_once(workspace: Workspace) -> None:
    """Creating it again is refused, and so is renaming to it."""
    workspace.agents.create("bob")
    with pytest.raises(AgentExists):
        workspace.agents.create("ada")
    with pytest.raises(AgentExists):
        workspace.agents.rename("bob", "ada")


def test_a_folder_that_differs_by_case_is_in_the_way(workspace: Workspace) -> None:
    """On some file systems it would be the same folder."""
    Path(workspace.root, "agents", "BOB").mkdir()
    with pytest.raises(NameTaken):
        workspace.agents.create("bob")


def test_renaming_moves_the_folder_and_keeps_id_pages_and_history(workspace: Workspace) -> None:
    """An id that another process has looked up before leads to the new folder."""
    before = workspace.agents.resolve("ada")
    scope = before.shelf.page("notes.md")
    workspace.pages.append(scope, "one", change=BY)
    other = Workspace.open(workspace.root)
    assert isinstance(other.pages.read(scope), Found)
    renamed = workspace.agents.rename("ada", "lovelace", name="Lady")
    assert (renamed.id, renamed.slug, renamed.name) == (before.id, "lovelace", "Lady")
    assert not Path(workspace.root, "agents", "ada").exists()
    for item in (workspace, other):
        item.pages.append(scope, "two", change=BY)
    assert workspace.pages.text(scope) == "one\ntwo\ntwo\n"
    assert len(workspace.history.revisions(scope)) == 3
    with pytest.raises(AgentMissing, match="lovelace"):
        other.agents.resolve("ada")


def test_a_new_agent_in_an_old_folder_is_not_the_old_agent(workspace: Workspace) -> None:
    """Whoever knows the old id never reads the newcomer's pages."""
    old = workspace.agents.resolve("ada")
    scope = old.shelf.page("notes.md")
    workspace.pages.append(scope, "hers", change=BY)
    other = Workspace.open(workspace.root)
    other.pages.read(scope)
    workspace.agents.rename("ada", "lovelace")
    new = workspace.agents.create("ada")
    workspace.pages.append(new.shelf.page("notes.md"), "not hers", change=BY)
    other.agents.records()
    assert other.pages.text(scope) == "hers\n"
    assert other.pages.text(new.shelf.page("notes.md")) == "not hers\n"


def test_ids_are_never_given_out_again(workspace: Workspace) -> None:
    """Not after a deletion, and not when the register is lost."""
    bob = operations.create_agent(workspace.context, "bob")
    operations.delete_agent(workspace.context, "bob", files=True)
    assert workspace.agents.create("carl").id == bob.id + 1
    shutil.rmtree(os.path.join(workspace.root, ".looseleaf", "agents"))
    assert workspace.agents.create("dora").id == bob.id + 2
    assert workspace.agents.resolve(bob.id + 1).slug == "carl"


def test_deleting_with_files_keeps_what_they_said(workspace: Workspace) -> None:
    """The folder goes with them, and comes back with them."""
    bob = operations.create_agent(workspace.context, "bob")
    scope = bob.shelf.page("contexts/editor.md")
    workspace.pages.append(scope, "kept", change=BY)
    removed = operations.delete_agent(workspace.context, bob.id, files=True)
    assert (removed.pages, removed.folder_left) == (3, False)
    assert not Path(workspace.root, "agents", "bob").exists()
    with pytest.raises(AgentMissing, match="looseleaf agents restore bob"):
        workspace.agents.resolve("bob")
    assert [agent.slug for agent in operations.list_deleted_agents(workspace.context)] == ["bob"]
    assert operations.restore_agent(workspace.context, "bob") == bob
    assert workspace.pages.text(scope) == "kept\n"
    assert [revision.number for revision in workspace.history.revisions(scope)] == [1]
    assert operations.list_deleted_agents(workspace.context) == []


def test_deleting_without_files_leaves_the_folder_to_its_owner(workspace: Workspace) -> None:
    """Only the record goes; creating the agent again takes the pages over as they are."""
    bob = operations.create_agent(workspace.context, "bob")
    soul = bob.shelf.page("SOUL.md")
    workspace.pages.write(soul, "me", change=BY)
    operations.delete_agent(workspace.context, "bob")
    assert Path(workspace.root, "agents", "bob", "SOUL.md").read_text() == "me"
    again = operations.create_agent(workspace.context, "bob")
    assert again.id != bob.id
    assert workspace.pages.text(again.shelf.page("SOUL.md")) == "me"


def test_a_configuration_that_cannot_be_followed_is_refused(workspace: Workspace) -> None:
    """Nothing of it is kept."""
    agents = workspace.agents
    agents.configure("ada", {"daily_memory": {"enabled": True, "recent_days": 5}, "x": 1})
    for wrong, error in (
        ({"memory_policy": {"mode": "nonsense"}}, InvalidPolicy),
        ({"tool_policy": {"mode": "deny", "tools": "x"}}, InvalidPolicy),
        ({"daily_memory": {"enabled": "yes"}}, InvalidAgent),
        ({"daily_memory": 3}, InvalidAgent),
        ({"models": ["x"]}, InvalidAgent),
        ({"y": {1, 2}}, InvalidAgent),
    ):
        with pytest.raises(error):
            agents.configure("ada", wrong)
    assert agents.resolve("ada").config == {
        "daily_memory": {"enabled": True, "recent_days": 5},
        "x": 1,
    }
    assert agents.configure("ada", {"x": None}).config.keys() == {"daily_memory"}
    with pytest.raises(InvalidAgent, match="active, inactive, archived"):
        agents.set_status("ada", "asleep")


def test_a_damaged_record_is_said_not_hidden(workspace: Workspace) -> None:
    """The agent does not silently vanish or become another."""
    record_of(workspace, "ada").write_text('{"id": "one"}')
    with pytest.raises(Unavailable, match=r"agent\.json is damaged"):
        workspace.agents.resolve("ada")


def test_a_record_edited_by_hand_is_believed(workspace: Workspace) -> None:
    """Any JSON layout will do, escapes included."""
    path = record_of(workspace, "ada")
    fields = json.loads(path.read_text()) | {"name": 'A "quoted" \\ name', "config": {"k": [1]}}
    path.write_text(json.dumps(fields, indent=1))
    found = workspace.agents.resolve("ada")
    assert (found.name, found.config) == ('A "quoted" \\ name', {"k": [1]})
    again = workspace.agents.rename("ada", "ada", name="Ünï")
    assert workspace.agents.resolve("ada") == again


def test_a_copied_folder_does_not_pass_for_the_agent(workspace: Workspace) -> None:
    """The copy is refused with what to do; the agent itself stays who it is."""
    scope = workspace.agents.resolve("ada").shelf.page("notes.md")
    workspace.pages.append(scope, "hers", change=BY)
    agents = Path(workspace.root, "agents")
    shutil.copytree(agents / "ada", agents / "copy")
    (agents / "copy" / "notes.md").write_text("not hers")
    other = Workspace.open(workspace.root)
    with pytest.raises(Unavailable, match="Delete that file"):
        other.agents.resolve("copy")
    other.agents.records()
    assert other.pages.text(scope) == "hers\n"
    (agents / "copy" / "agent.json").unlink()
    assert operations.create_agent(other.context, "copy").id == 2


def test_a_linked_folder_is_no_agent(workspace: Workspace, tmp_path: Path) -> None:
    """A link out of the workspace is not followed to somebody's record."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "agent.json").write_bytes(record_of(workspace, "ada").read_bytes())
    os.symlink(outside, os.path.join(workspace.root, "agents", "eve"))
    with pytest.raises(AgentMissing):
        workspace.agents.resolve("eve")


def make(root: str, slug: str) -> int:
    """Create an agent in a process of its own."""
    return Workspace.open(root).agents.create(slug).id


def test_agents_made_at_the_same_time_get_different_ids(workspace: Workspace) -> None:
    """Eight processes, sixteen agents, sixteen ids."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        ids = pool.starmap(make, [(workspace.root, f"bot-{n}") for n in range(16)])
    assert len(set(ids)) == 16
    assert len(workspace.agents.records()) == 17


@pytest.mark.parametrize("reference", ["²", "٣", "9" * 30, "9" * 5000, "-1", "1.0"])
def test_what_only_looks_like_an_id_is_no_agent(workspace: Workspace, reference: str) -> None:
    """Digits of other scripts, and numbers that no agent can have."""
    with pytest.raises(AgentMissing):
        workspace.agents.resolve(reference)


def test_an_open_folder_is_the_agents_by_its_record(workspace: Workspace) -> None:
    """Not by its name: neither another agent's, nor a copy, nor one without a record passes."""
    agents, folders = workspace.agents, Path(workspace.root, "agents")
    ada, bob = agents.resolve("ada"), agents.create("bob")
    shutil.copytree(folders / "ada", folders / "copy")
    (folders / "empty").mkdir()
    agents.slug_of(ada.id)

    def whose(name: str, agent_id: int) -> bool:
        folder = os.open(folders / name, os.O_RDONLY)
        try:
            return agents.is_folder_of(folder, agent_id)
        finally:
            os.close(folder)

    assert whose("ada", ada.id)
    assert not any(whose(name, ada.id) for name in ("bob", "copy", "empty"))
    assert not whose("ada", bob.id)
    assert not whose("ada", 99)
    (folders / "ada").rename(folders / "moved")
    assert whose("moved", ada.id)
    record_of(workspace, "moved").unlink()
    assert not whose("moved", ada.id)


def test_who_holds_an_agents_folder_is_told_when_it_moves(workspace: Workspace) -> None:
    """After a rename and a removal, not after what leaves the folder where it is."""
    agents, told = workspace.agents, []
    agents.on_move(lambda: told.append(agents.slugs()))
    agents.create("bob")
    agents.rename("bob", "bob", name="Robert")
    agents.configure("bob", {"colour": "blue"})
    assert told == []
    agents.rename("bob", "carl")
    assert told == [["ada", "carl"]]
    agents.remove("carl")
    assert told == [["ada", "carl"], ["ada"]]
