"""Pages go into git with who changed them and why, and nothing of anyone else is touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from looseleaf import Change, Workspace
from looseleaf.errors.features import RepositoryUnusable
from looseleaf.features.imports.export_operations import commit_pages
from looseleaf.features.imports.git import GitFailed, Repository
from looseleaf.memory.provenance import Provenance

BY_EVE = Change("write", Provenance("eve", "person", "cli", reason="the price has changed"))
BY_ADA = Change("append", Provenance("ada", "agent", "chat"))


def git(folder: Path | str, *arguments: str) -> str:
    """Run git as the owner of a repository does."""
    identity = ("-c", "user.name=Owner", "-c", "user.email=owner@example.com")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git see no configuration of the machine and none of its user."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def repository(workspace: Workspace) -> Path:
    """Return a workspace that is a repository, which ignores `.looseleaf`."""
    root = Path(workspace.root)
    git(root, "init", "--quiet", "--initial-branch=main")
    (root / ".gitignore").write_text(".looseleaf/\n")
    return root


def write(workspace: Workspace, name: str, text: str, change: Change = BY_EVE) -> None:
    """Write a page of ada."""
    workspace.pages.write(workspace.agents.resolve("ada").shelf.page(name), text, change=change)


def test_a_commit_says_who_changed_what(workspace: Workspace, repository: Path) -> None:
    """The first one has every page; the next one what changed since, by the history."""
    first = commit_pages(workspace.context)
    assert (first.branch, first.deleted) == ("main", 0)
    files = git(repository, "ls-tree", "-r", "--name-only", "HEAD").split()
    assert {"agents/ada/SOUL.md", "shared/RULES.md", "users/1/USER.md"} < set(files)
    assert not [name for name in files if name.startswith((".", "looseleaf.toml"))]
    write(workspace, "prices.md", "one\n")
    write(workspace, "prices.md", "two\n", BY_ADA)
    second = commit_pages(workspace.context)
    assert (second.added, second.changed, second.deleted) == (1, 0, 0)
    message = git(repository, "log", "-1", "--format=%an%n%B").strip().splitlines()
    assert message == [
        "Looseleaf",
        "Add agents/ada/prices.md by eve, ada",
        "",
        "agents/ada/prices.md: 2 changes (write, append) by eve (person, cli), ada (agent, chat)",
        "  the price has changed",
    ]
    write(workspace, "prices.md", "three\n")
    commit_pages(workspace.context)
    line = git(repository, "log", "-1", "--format=%b").splitlines()[0]
    assert line == "agents/ada/prices.md: 1 change (write) by eve (person, cli)"
    assert git(repository, "status", "--porcelain") == "?? .gitignore\n?? looseleaf.toml\n"


def test_without_a_change_there_is_no_commit(workspace: Workspace, repository: Path) -> None:
    """However often it is asked for."""
    first = commit_pages(workspace.context)
    again = commit_pages(workspace.context)
    assert (again.commit, again.branch) == ("", "main")
    assert git(repository, "rev-parse", "HEAD").strip() == first.commit


def test_pages_that_are_deleted_and_many_are_told(workspace: Workspace, repository: Path) -> None:
    """With the agents that they belong to."""
    bob = workspace.agents.create("bob")
    write(workspace, "old.md", "old\n")
    commit_pages(workspace.context)
    page = workspace.agents.resolve("ada").shelf.page("old.md")
    workspace.pages.delete(page, change=Change("delete", Provenance("eve", "person")))
    workspace.pages.write(bob.shelf.page("new.md"), "new\n", change=BY_ADA)
    result = commit_pages(workspace.context)
    assert (result.added, result.deleted) == (1, 1)
    assert result.subject == "Update 2 pages of ada, bob by eve, ada"
    assert "old.md: 1 change (delete) by eve (person, library)" in git(
        repository, "log", "-1", "--format=%b"
    )


def test_what_the_owner_has_staged_stays_staged(workspace: Workspace, repository: Path) -> None:
    """Other files, staged or not, a page that was staged in part, and the files themselves."""
    write(workspace, "shared-work.md", "committed\n")
    commit_pages(workspace.context)
    for name in ("staged.py", "unstaged.py"):
        (repository / name).write_text("owner's\n")
    git(repository, "add", "staged.py", ".gitignore")
    write(workspace, "shared-work.md", "staged by the owner\n")
    git(repository, "add", "agents/ada/shared-work.md")
    write(workspace, "shared-work.md", "newest\n")
    write(workspace, "other.md", "other\n")
    result = commit_pages(workspace.context)
    assert result.staged == 1
    files = git(repository, "show", "--name-only", "--format=", "HEAD").split()
    assert files == ["agents/ada/other.md", "agents/ada/shared-work.md"]
    assert git(repository, "show", "HEAD:agents/ada/shared-work.md") == "newest\n"
    assert git(repository, "show", ":agents/ada/shared-work.md") == "staged by the owner\n"
    staged = git(repository, "diff", "--cached", "--name-only").split()
    assert staged == [".gitignore", "agents/ada/shared-work.md", "staged.py"]
    assert (repository / "agents/ada/shared-work.md").read_text() == "newest\n"
    assert not list((repository / ".git").glob("looseleaf*"))


def test_a_workspace_inside_a_repository(tmp_path: Path) -> None:
    """A project keeps its memory in a folder; its other files are not committed."""
    project = tmp_path / "project"
    workspace = Workspace.create(project / "memory", agent="ada")
    git(project, "init", "--quiet")
    (project / "main.py").write_text("x\n")
    (project / ".gitignore").write_text("memory/.looseleaf/\n")
    commit_pages(workspace.context)
    files = git(project, "ls-tree", "-r", "--name-only", "HEAD").split()
    assert "memory/agents/ada/SOUL.md" in files
    assert all(name.startswith("memory/") for name in files)
    write(workspace, "MEMORY.md", "# Memory\n\n- all new\n" * 9)
    result = commit_pages(workspace.context)
    assert result.subject == "Update agents/ada/MEMORY.md by eve"
    assert git(project, "status", "--porcelain").split() == [
        *("??", ".gitignore", "??", "main.py", "??", "memory/looseleaf.toml")
    ]


def test_nothing_of_the_repository_runs(workspace: Workspace, repository: Path) -> None:
    """No hook, whatever it says; variables of another repository are not followed."""
    hooks = repository / ".git/hooks"
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {repository}/{name}-ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    other = repository.parent / "other"
    git(repository, "init", "--quiet", str(other))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_DIR", str(other / ".git"))
        patch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
        commit = commit_pages(workspace.context).commit
    assert git(repository, "rev-parse", "HEAD").strip() == commit
    assert not list(repository.glob("*-ran"))
    assert not (other / ".git/index").exists()


def test_unfinished_work_is_left_alone(workspace: Workspace, repository: Path) -> None:
    """A commit in the middle of a merge would become a part of it."""
    commit = commit_pages(workspace.context).commit
    (repository / ".git/MERGE_HEAD").write_text(f"{commit}\n")
    write(workspace, "x.md", "x\n")
    with pytest.raises(RepositoryUnusable, match="a merge is under way"):
        commit_pages(workspace.context)


def test_a_branch_that_moved_meanwhile_is_not_set_back(
    workspace: Workspace, repository: Path
) -> None:
    """Git compares before it moves the branch."""
    head = commit_pages(workspace.context).commit
    tree = git(repository, "rev-parse", "HEAD^{tree}").strip()
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "by the owner")
    moved = git(repository, "rev-parse", "HEAD").strip()
    with pytest.raises(GitFailed):
        Repository(str(repository)).commit(tree, head, "late\n")
    assert git(repository, "rev-parse", "HEAD").strip() == moved


def test_hostile_reasons_stay_in_their_line(workspace: Workspace, repository: Path) -> None:
    """An agent chooses the reason of its change, and not the form of a commit."""
    commit_pages(workspace.context)
    reason = "fine\n\nSigned-off-by: owner\x1b[31m" + "x" * 500
    change = Change("write", Provenance("ada\nevil", "agent", "mcp", reason=reason))
    write(workspace, "x.md", "x\n", change)
    commit_pages(workspace.context)
    body = git(repository, "log", "-1", "--format=%B").rstrip("\n").split("\n")
    assert len(body) == 4
    assert body[0] == "Add agents/ada/x.md by ada evil"
    assert len(body[3]) <= 162
    assert "\x1b" not in "".join(body)


def test_errors_say_what_to_do(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there is no repository, and if there is no git."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(RepositoryUnusable, match=r"no git repository.*git init"):
        commit_pages(workspace.context)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryUnusable, match=r"git cannot be used.*apt install git"):
        commit_pages(workspace.context)
    assert os.path.isdir(workspace.root)


def test_pages_that_are_all_new_are_added(workspace: Workspace, repository: Path) -> None:
    """The list of agents belongs to no agent of its name."""
    subject = commit_pages(workspace.context).subject
    assert subject.startswith("Add ")
    assert "register.json" not in subject
    assert repository.is_dir()


def test_a_subject_is_short_however_many_took_part(workspace: Workspace, repository: Path) -> None:
    """It names the first few owners and actors, and counts the others."""
    commit_pages(workspace.context)
    for number in range(5):
        record = workspace.agents.create(f"helper-{number}")
        change = Change("write", Provenance(f"writer-{number}", "agent"))
        workspace.pages.write(record.shelf.page("notes.md"), "x\n", change=change)
    subject = commit_pages(workspace.context).subject
    assert len(subject) <= 72
    assert subject.startswith("Update 11 pages of helper-0, helper-1, helper-2 and 3 more by ")
    assert repository.is_dir()
