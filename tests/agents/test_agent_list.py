"""The contract of the list of agents, kept by the disk's list and by one that has no folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from looseleaf import Where, Workspace
from looseleaf.agents.record import AgentList, AgentRecord, list_readable_agents
from looseleaf.catalog.context import Context
from looseleaf.catalog.generated_pages import GeneratedPages
from looseleaf.catalog.resolution import sources_of
from looseleaf.catalog.services import WorkspaceServices
from looseleaf.errors.pages import (
    AgentAmbiguous,
    AgentExists,
    AgentMissing,
    InvalidAgent,
    InvalidPolicy,
    NameTaken,
)
from looseleaf.memory.pages import MemoryPages
from looseleaf.operations import agents as operations
from looseleaf.operations.doctor import check_workspace
from looseleaf.operations.memory import read_memory, write_page
from looseleaf.stores.disk.agents import DiskAgents
from looseleaf.stores.disk.create import create_folder
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from looseleaf.values import replace
from tests.agents.memory_agents import MemoryAgents
from tests.conftest import Clock


@pytest.fixture(params=["disk", "memory"])
def agents(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AgentList:
    """Return an empty list of agents of each kind."""
    if request.param == "memory":
        return MemoryAgents(clock)
    create_folder(str(tmp_path / "home"), "", journal=False)
    return DiskAgents(str(tmp_path / "home"), clock=clock)


def test_an_agent_is_created_with_its_first_pages_or_not_at_all(agents: AgentList) -> None:
    """A failure while the pages are started leaves no agent."""
    seen: list[AgentRecord] = []
    bob = agents.create("bob", owner=7, config={"mine": [1]}, start=seen.append)
    assert seen == [bob]
    assert (bob.name, bob.owner, bob.status, bob.config) == ("Bob", 7, "active", {"mine": [1]})

    def fail(_record: AgentRecord) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        agents.create("carl", start=fail)
    assert [record.slug for record in agents.records()] == ["bob"]
    assert agents.create("carl").id > bob.id


def test_an_agent_is_found_by_id_slug_or_as_the_only_active_one(agents: AgentList) -> None:
    """With several and no name, the error names them."""
    with pytest.raises(AgentMissing):
        agents.resolve()
    ada = agents.create("ada")
    assert agents.resolve() == agents.resolve("ada") == agents.resolve(ada.id)
    assert agents.resolve(str(ada.id)) == ada
    assert agents.slug_of(ada.id) == "ada"
    agents.create("bob")
    with pytest.raises(AgentAmbiguous, match="ada, bob"):
        agents.resolve()
    agents.set_status("bob", "archived")
    assert agents.resolve().slug == "ada"
    with pytest.raises(AgentMissing, match="ada"):
        agents.resolve("carl")
    with pytest.raises(AgentMissing):
        agents.slug_of(99)


def test_an_id_stays_and_is_never_given_twice(agents: AgentList) -> None:
    """Through a rename, a deletion and a restoration."""
    ada = agents.create("ada")
    assert agents.rename("ada", "eve", name="Eve").id == ada.id
    assert agents.slug_of(ada.id) == "eve"
    assert agents.remove("eve").id == ada.id
    assert [record.id for record in agents.deleted_records()] == [ada.id]
    other = agents.create("eve")
    assert other.id > ada.id
    with pytest.raises(AgentExists):
        agents.restore(ada.id)
    assert agents.restore(ada.id, "ada").id == ada.id
    assert agents.deleted_records() == []
    assert [record.slug for record in agents.records()] == ["ada", "eve"]


def test_an_id_is_higher_than_any_that_is_named_outside(agents: AgentList) -> None:
    """If the list does not know which ids it has given."""
    assert agents.create("ada", highest_id=lambda: 40).id == 41


def test_names_that_cannot_be_are_refused(agents: AgentList) -> None:
    """And nothing is changed."""
    agents.create("ada")
    count = agents.changes
    for slug in ("../x", "Ada", "7", ""):
        with pytest.raises(InvalidAgent):
            agents.create(slug)
    with pytest.raises((AgentExists, NameTaken)):
        agents.create("ada")
    with pytest.raises(InvalidAgent):
        agents.set_status("ada", "asleep")
    assert [record.slug for record in agents.records()] == ["ada"]
    agents.set_status("ada", "inactive")
    assert agents.changes > count


def test_a_configuration_is_merged_and_checked(agents: AgentList) -> None:
    """Keys that nobody knows stay; one set to None goes; a wrong one changes nothing."""
    agents.create("ada", config={"plugin": {"deep": True}, "models": {"chat": "echo:x"}})
    configured = agents.configure("ada", {"models": None, "daily_memory": {"enabled": True}})
    assert configured.config == {"plugin": {"deep": True}, "daily_memory": {"enabled": True}}
    with pytest.raises(InvalidPolicy):
        agents.configure("ada", {"memory_policy": {"mode": "sometimes"}})
    assert agents.resolve("ada").config == configured.config


def test_readable_agents_are_listed_wherever_they_lie(agents: AgentList) -> None:
    """By slug."""
    for slug in ("bob", "ada"):
        agents.create(slug)
    assert [agent.slug for agent in list_readable_agents(agents)] == ["ada", "bob"]


class PartsElsewhere:
    """The parts of a workspace whose agents lie in memory, and its pages by the ids of agents."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self._workspace = workspace
        self.agents = MemoryAgents(workspace.clock)
        store = DiskStore(str(folder), agent_folder=lambda number: f"number-{number}")
        self.pages = MemoryPages(lambda _place: store, workspace.registry, report=workspace.report)
        self.history = DiskHistory(store)
        self.context = replace(
            workspace.context, parts=cast("WorkspaceServices", self), pages=self.pages
        )

    def generated(self) -> GeneratedPages:
        """Return the generated pages, made from these agents."""
        return GeneratedPages(sources_of(self.context), surface="test", report=self.report)

    def report(self, what: str, error: Exception) -> None:
        """Let a test fail that should not report anything."""
        raise AssertionError(what) from error

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a part of the workspace
        return getattr(self._workspace, name)


@pytest.fixture
def elsewhere(workspace: Workspace, tmp_path: Path) -> Context:
    """Return a context whose list of agents lies on no disk."""
    folder = tmp_path / "elsewhere"
    for name in ("agents/number-1", "agents/number-2", "shared", ".looseleaf"):
        (folder / name).mkdir(parents=True)
    return PartsElsewhere(workspace, folder).context


def test_operations_run_over_a_list_that_lies_on_no_disk(elsewhere: Context) -> None:
    """From the first agent to the last: none of them asks for a folder."""
    bob = operations.create_agent(elsewhere, "bob")
    assert [agent.slug for agent in operations.list_agents(elsewhere)] == ["bob"]
    write_page(elsewhere, "notes.md", "Likes tea.\n", where=Where("bob"))
    operations.rename_agent(elsewhere, "bob", "rob")
    assert read_memory(elsewhere, "notes.md", where=Where("rob")).raw == b"Likes tea.\n"
    operations.configure_agent(elsewhere, "rob", {"daily_memory": {"enabled": True}})
    assert operations.show_agent(elsewhere, bob.id).configuration.daily_memory.enabled
    operations.set_agent_status(elsewhere, "rob", "inactive")
    assert not operations.delete_agent(elsewhere, "rob").folder_left
    assert [agent.slug for agent in operations.list_deleted_agents(elsewhere)] == ["rob"]
    assert operations.restore_agent(elsewhere, "rob").id == bob.id
    faults = [item for item in check_workspace(elsewhere) if item.status == "fault"]
    assert not faults
