"""Generated pages follow what they are made from, and are not written without need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf import Where, Workspace
from looseleaf.catalog.context import Context
from looseleaf.catalog.operation import CATALOG
from looseleaf.features.bundles import install_operations, operations
from looseleaf.memory.scope import DEFAULT_WHERE, Shelf
from looseleaf.operations import agents
from looseleaf.operations.composed import compose, compose_page_text
from looseleaf.operations.memory import append_page
from tests.conftest import Clock

SITE = Shelf("shared").page("SITE.md")


def site(workspace: Workspace) -> str:
    """Return SITE.md as it lies on disk."""
    return Path(workspace.root, "shared/SITE.md").read_text()


def site_revisions(workspace: Workspace) -> int:
    """Count the versions of SITE.md."""
    return len(workspace.history.revisions(SITE))


def is_current(workspace: Workspace) -> bool:
    """Return whether SITE.md is as it would be made now."""
    file = workspace.registry.get("SITE.md")
    assert file is not None
    return site(workspace) == compose_page_text(workspace.context, file, DEFAULT_WHERE)


def install_copy(context: Context) -> None:
    """Install a second agent from the bundle of the first."""
    install_operations.install_bundle(
        context, operations.export_bundle(context, "ada").data, slug="bob"
    )


def upgrade_name(context: Context) -> None:
    """Bring the name of an agent back to that of its bundle."""
    archive = operations.export_bundle(context, "ada")
    agents.rename_agent(context, "ada", "ada", name="Lady Lovelace")
    install_operations.upgrade_bundle(context, archive.data, agent="ada", approve=("agent:name",))


def leave_name(context: Context) -> None:
    """Upgrade an agent that has another name than its bundle, so that the name waits."""
    archive = operations.export_bundle(context, "ada")
    agents.rename_agent(context, "ada", "ada", name="Lady Lovelace")
    install_operations.upgrade_bundle(context, archive.data, agent="ada")


def approve_name(context: Context) -> None:
    """Approve a name that waits."""
    leave_name(context)
    install_operations.approve(context, "ada", keys=("agent:name",))


def reject_name(context: Context) -> None:
    """Reject a name that waits: that of this workspace stays."""
    leave_name(context)
    install_operations.reject(context, "ada", keys=("agent:name",))


# What each operation that changes agents is called with.
CHANGES: dict[str, Callable[[Context], object]] = {
    "looseleaf/create-agent": lambda context: agents.create_agent(context, "bob"),
    "looseleaf/rename-agent": lambda context: agents.rename_agent(context, "ada", "eve"),
    "looseleaf/configure-agent": lambda context: agents.configure_agent(context, "ada", {"x": 1}),
    "looseleaf/set-agent-status": lambda context: agents.set_agent_status(
        context, "ada", "archived"
    ),
    "looseleaf/restore-agent": lambda context: agents.restore_agent(context, "old"),
    "looseleaf/delete-agent": lambda context: agents.delete_agent(context, "ada", files=True),
    "looseleaf/install-bundle": install_copy,
    "looseleaf/upgrade-bundle": upgrade_name,
    "looseleaf/approve-upgrade": approve_name,
    "looseleaf/reject-upgrade": reject_name,
}
UNSEEN = (
    "looseleaf/configure-agent",
    "looseleaf/set-agent-status",
    "looseleaf/upgrade-bundle",
    "looseleaf/approve-upgrade",
)


def test_every_operation_that_changes_agents_is_tried() -> None:
    """A new one is added here, and to its rule."""
    changing = {
        operation.name
        for operation in CATALOG.values()
        if operation.permission == "agents" and not operation.read_only
    }
    assert changing <= CHANGES.keys()


@pytest.mark.parametrize("name", CHANGES)
def test_site_follows_every_change_of_agents(workspace: Workspace, name: str) -> None:
    """At once, on disk."""
    agents.create_agent(workspace.context, "old")
    agents.delete_agent(workspace.context, "old", files=True)
    before = site(workspace)
    CHANGES[name](workspace.context)
    assert is_current(workspace)
    assert (site(workspace) != before) is (name not in UNSEEN)
    latest = workspace.history.latest(SITE)
    assert latest is not None
    assert (latest.operation, latest.actor) == ("compose", "looseleaf")
    assert (latest.actor_kind, latest.origin) == ("task", "system")


def test_site_follows_shared_pages(workspace: Workspace) -> None:
    """Written and deleted."""
    scope = Shelf("shared").page("brand.md")
    workspace.pages.write(scope, "x", change=workspace.context.change("write"))
    assert "- brand.md" in site(workspace)
    workspace.pages.delete(scope, change=workspace.context.change("delete"))
    assert "- brand.md" not in site(workspace)


def test_nothing_is_written_where_nothing_changed(workspace: Workspace) -> None:
    """No version for each prompt, nor for each change of a page that is not listed."""
    count = site_revisions(workspace)
    for _ in range(3):
        workspace.compose("chat", "ada")
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    workspace.pages.write(scope, "x", change=workspace.context.change("write"))
    workspace.compose("chat", "ada")
    assert site_revisions(workspace) == count


def test_a_prompt_finds_what_was_changed_outside(workspace: Workspace) -> None:
    """A folder that is gone, a page from an editor; also after the folders were at rest."""
    agents.create_agent(workspace.context, "bob")
    old = 1_000_000_000
    for folder in ("agents", "shared"):
        os.utime(Path(workspace.root, folder), (old, old))
    assert "- bob: Bob" in workspace.compose("chat", "ada").text
    shutil.rmtree(Path(workspace.root, "agents/bob"))
    Path(workspace.root, "shared/brand.md").write_text("x")
    text = workspace.compose("chat", "ada").text
    assert "- bob" not in text
    assert "- brand.md" in text
    assert is_current(workspace)


def test_a_record_changed_by_the_library_shows_in_the_next_prompt(workspace: Workspace) -> None:
    """No folder changes if only a name does."""
    old = 1_000_000_000
    for folder in ("agents", "shared"):
        os.utime(Path(workspace.root, folder), (old, old))
    workspace.compose("chat", "ada")
    workspace.agents.rename("ada", "ada", name="Ada Lovelace")
    assert "- ada: Ada Lovelace" in workspace.compose("chat", "ada").text


def test_a_page_of_ones_own_is_never_replaced(workspace: Workspace) -> None:
    """One that does not say that it is generated, such as the original plugin's."""
    Path(workspace.root, "shared/SITE.md").write_text("# Our site\n")
    agents.create_agent(workspace.context, "bob")
    workspace.compose("chat", "ada")
    assert site(workspace) == "# Our site\n"


def test_a_page_that_cannot_be_made_stops_nothing(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is reported, and the agent is there."""

    def fail(_context: object) -> str:
        raise ValueError("no")

    workspace.registries.composed_sections()._is_frozen = False
    workspace.registries.composed_sections().register("SITE.md", "broken", 90, fail)
    agents.create_agent(workspace.context, "bob")
    assert workspace.agents.resolve("bob").slug == "bob"
    assert "SITE.md could not be brought up to date" in capsys.readouterr().err
    assert "Ada" in workspace.compose("chat", "ada").text


@pytest.fixture
def projected(tmp_path: Path, clock: Clock) -> Workspace:
    """Open a workspace inside a project whose AGENTS.md has text of its own."""
    (tmp_path / "AGENTS.md").write_text("# Rules of this repository\n\nRun the tests.\n")
    root = tmp_path / "memory"
    Workspace.create(root, agent="ada", clock=clock).close()
    with (root / "looseleaf.toml").open("a") as file:
        file.write('agents_md = true\nproject_folder = ".."\n')
    workspace = Workspace.open(root, clock=clock)
    compose(workspace.context, "AGENTS.md", where=Where("ada"))
    return workspace


def copy_of(workspace: Workspace) -> str:
    """Return the project's AGENTS.md."""
    return Path(workspace.root, "../AGENTS.md").read_text()


@pytest.mark.parametrize("file", ["MEMORY.md", "SOUL.md", "USER.md"])
def test_agents_md_and_its_copy_follow_their_pages(projected: Workspace, file: str) -> None:
    """With every write; what people wrote around the block stays."""
    append_page(projected.context, file, "- Tea at four.\n", where=Where("ada"))
    page = Path(projected.root, "agents/ada/AGENTS.md").read_text()
    assert "- Tea at four." in page
    assert page in copy_of(projected)
    assert copy_of(projected).startswith("# Rules of this repository\n\nRun the tests.\n")


def test_agents_md_follows_a_policy_and_an_edit_outside(projected: Workspace) -> None:
    """A denied page leaves it at once; an edit on disk is found by the next prompt."""
    Path(projected.root, "agents/ada/MEMORY.md").write_text("- By hand.\n")
    projected.compose("chat", "ada")
    assert "- By hand." in copy_of(projected)
    policy = {"mode": "deny", "deny": ["MEMORY.md"]}
    agents.configure_agent(projected.context, "ada", {"memory_policy": policy})
    assert "- By hand." not in copy_of(projected)


def test_a_copy_that_is_not_of_this_page_stays(projected: Workspace) -> None:
    """Someone's edit in the block, another agent's copy, or none at all."""
    target = Path(projected.root, "../AGENTS.md")
    edited = copy_of(projected).replace("Keep facts", "Collect facts")
    target.write_text(edited)
    append_page(projected.context, "MEMORY.md", "- Tea.\n", where=Where("ada"))
    assert target.read_text() == edited
    target.unlink()
    append_page(projected.context, "MEMORY.md", "- Coffee.\n", where=Where("ada"))
    assert not target.exists()
    assert "- Coffee." in Path(projected.root, "agents/ada/AGENTS.md").read_text()


def test_a_journal_entry_makes_no_page_anew(projected: Workspace) -> None:
    """It is in none of them."""
    scope = projected.agents.resolve("ada").shelf.page("AGENTS.md")
    count = len(projected.history.revisions(scope))
    projected.daily("ada").append(None, "- noted", change=projected.context.change("append"))
    assert len(projected.history.revisions(scope)) == count
