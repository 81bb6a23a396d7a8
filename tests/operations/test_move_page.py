"""Moving a page: nothing is lost, selections follow, and names with a meaning stay."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Conflicted, InvalidName
from looseleaf.errors.pages import PageExists, PageMissing, Protected
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Conflict, Deleted
from looseleaf.values import replace


def write(workspace: Workspace, file: str, content: str = "A plan.\n") -> str:
    """Write a page of the agent; return its hash."""
    saved = invoke(
        workspace.context, "datamachine/write-agent-file", {"file": file, "content": content}
    )
    return str(saved["hash"])


def move(workspace: Workspace, file: str, to: str, **options: object) -> dict[str, object]:
    """Move a page of the agent."""
    arguments = {"file": file, "to": to, **options}
    return dict(invoke(workspace.context, "looseleaf/move-page", arguments))


def read(workspace: Workspace, file: str) -> str:
    """Read a page of the agent."""
    page = invoke(workspace.context, "datamachine/get-agent-file", {"file": file})
    return str(page["content"])


def test_a_page_is_moved_with_its_text(workspace: Workspace) -> None:
    """Same bytes and writers; the old name keeps its versions, and both name each other."""
    content_hash = write(workspace, "plan.md", "A plan.\r\nTwo lines")
    moved = move(workspace, "plan.md", "plans/2026.md", if_match=content_hash)
    assert (moved["hash"], moved["revision"]) == (content_hash, 1)
    assert read(workspace, "plans/2026.md") == "A plan.\r\nTwo lines"
    with pytest.raises(PageMissing):
        read(workspace, "plan.md")
    old, new = (
        invoke(workspace.context, "looseleaf/page-history", {"file": file})
        for file in ("plan.md", "plans/2026.md")
    )
    assert [one["operation"] for one in old] == ["write", "move"] or old[-1][
        "operation"
    ] == "delete"
    assert old[-1]["reason"] == "moved to plans/2026.md"
    assert (new[0]["operation"], new[0]["reason"]) == ("move", "moved from plan.md")
    assert moved["last_revision"] == 1
    blamed = invoke(workspace.context, "looseleaf/blame-page", {"file": "plans/2026.md"})
    writers = [(line["file"], line["operation"], line["moved_by"]) for line in blamed["lines"]]
    assert writers == [("plan.md", "write", 1)] * 2
    assert invoke(workspace.context, "looseleaf/restore-page", {"file": "plan.md", "revision": "1"})


def test_selections_follow_and_policies_are_named(workspace: Workspace) -> None:
    """A pipeline and a flow select the page by its new name, in its place."""
    for file in ("a.md", "plan.md"):
        write(workspace, file)
    pipeline = {"name": "News", "memory_files": ["plan.md", "a.md"]}
    invoke(workspace.context, "looseleaf/create-pipeline", pipeline)
    flow = {"pipeline": 1, "name": "Daily", "memory_files": ["plan.md"]}
    invoke(workspace.context, "looseleaf/create-flow", flow)
    policy = {"memory_policy": {"mode": "deny", "deny": ["plan.md"]}}
    agent = invoke(workspace.context, "looseleaf/list-agents", {})[0]["slug"]
    invoke(workspace.context, "looseleaf/configure-agent", {"agent": agent, "config": policy})
    moved = move(workspace, "plan.md", "strategy.md")
    assert moved["followed"] == ["the pipeline News", "the flow Daily"]
    assert moved["outdated"] == [f"the memory policy of {agent}"]
    shown = invoke(workspace.context, "looseleaf/show-pipeline", {"pipeline": 1})
    assert shown["memory_files"] == ["strategy.md", "a.md"]
    shown = invoke(workspace.context, "looseleaf/show-flow", {"flow": 1})
    assert shown["memory_files"] == ["strategy.md"]


@pytest.mark.parametrize(
    ("file", "to", "error"),
    [
        ("MEMORY.md", "old.md", Protected),
        ("plan.md", "SOUL.md", Protected),
        ("plan.md", "a.md", PageExists),
        ("plan.md", "plan.md", PageExists),
        ("plan.md", "daily/2026/04/17.md", InvalidName),
        ("plan.md", "../plan.md", InvalidName),
        ("none.md", "new.md", PageMissing),
    ],
)
def test_what_cannot_be_moved_stays(
    workspace: Workspace, file: str, to: str, error: type[Exception]
) -> None:
    """Core pages, days of the journal, names that are taken, and pages that are not there."""
    write(workspace, "plan.md")
    write(workspace, "a.md", "Another.\n")
    with pytest.raises(error):
        move(workspace, file, to)
    assert read(workspace, "plan.md") == "A plan.\n"
    assert read(workspace, "a.md") == "Another.\n"


def test_an_older_version_is_not_moved(workspace: Workspace) -> None:
    """Nor a page that is changed while it is moved: the change stays, under the old name."""
    old_hash = write(workspace, "plan.md")
    write(workspace, "plan.md", "A new plan.\n")
    with pytest.raises(Conflicted):
        move(workspace, "plan.md", "plans.md", if_match=old_hash)
    with pytest.raises(PageMissing):
        read(workspace, "plans.md")
    pages = workspace.context.pages
    delete, is_first = pages.delete, [True]

    def delete_late(scope: Scope, **options: Any) -> Deleted | Conflict:  # noqa: ANN401
        if is_first.pop() if is_first else False:
            write(workspace, "plan.md", "Changed meanwhile.\n")
        return delete(scope, **options)

    context = replace(workspace.context, pages=pages)
    pages.delete = delete_late  # type: ignore[method-assign]
    with pytest.raises(Conflicted):
        invoke(context, "looseleaf/move-page", {"file": "plan.md", "to": "plans.md"})
    assert read(workspace, "plan.md") == "Changed meanwhile.\n"
    with pytest.raises(PageMissing):
        read(workspace, "plans.md")
