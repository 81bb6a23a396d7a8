"""Blame: who wrote each line, however the page was changed since."""

from __future__ import annotations

from functools import partial
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Change, Provenance, Workspace
from looseleaf.access.principals import LOCAL_ADMINISTRATOR, act_through
from looseleaf.catalog.dispatch import invoke as run_json
from looseleaf.errors.pages import RevisionMissing
from looseleaf.memory.blame import LineOwners, blame_lines, split_lines
from looseleaf.memory.scope import Scope
from looseleaf.memory.store import Retention, name_version
from looseleaf.stores.disk.history import line_owners
from tests.conftest import Clock

ADA = Scope("agent", 0, 1, "notes.md")


def change(actor: str, operation: str = "write", moved_from: str = "") -> Change:
    """Return a change by an actor, of whom the test asks later."""
    return Change(operation, Provenance(actor, "agent"), moved_from=moved_from)


def write(workspace: Workspace, actor: str, *lines: str, operation: str = "write") -> None:
    """Write the page with these lines."""
    text = "".join(f"{line}\n" for line in lines)
    outcome = workspace.pages.write(ADA, text, change=change(actor, operation))
    assert outcome is not None


def actors(workspace: Workspace, number: int | None = None) -> list[tuple[str, str]]:
    """Return each line of the page with its writer."""
    lines = blame_lines(workspace.history, ADA, number)
    return [(line.text, line.revision.actor) for line in lines]


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "move", "indent", "swap ends"]),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=25,
)


@given(edits=EDITS)
def test_each_line_keeps_the_revision_that_brought_it(edits: list[tuple[str, int, int]]) -> None:
    """Lines that are inserted, removed, moved and indented, against a list that does the same."""
    owners, names = LineOwners(), count(1)
    page: list[tuple[str, int]] = []  # each line, and the revision that brought it
    for revision, (edit, first, second) in enumerate(edits, 1):
        if edit == "insert":
            new = [(f"- fact {next(names)}", revision) for _ in range(second % 3 + 1)]
            page[first % (len(page) + 1) : 0] = new
        elif page and edit == "delete":
            del page[first % len(page)]
        elif page and edit == "move":
            page.insert(second % len(page), page.pop(first % len(page)))
        elif page and edit == "indent":
            text, owner = page[first % len(page)]
            page[first % len(page)] = (f"  {text}", owner)
        elif page:
            page[0], page[-1] = page[-1], page[0]
        content = "".join(f"{text}\n" for text, _ in page).encode()
        owners.follow(revision, content)
        assert split_lines(content) == [text for text, _ in page]
        assert owners.owners == [owner for _, owner in page]


def test_a_line_that_is_written_again_belongs_to_its_new_writer(workspace: Workspace) -> None:
    """Only a restore gives a line back to who wrote it first."""
    write(workspace, "ada", "- one", "- two")
    write(workspace, "bob", "- one")
    write(workspace, "eve", "- one", "- two")
    assert actors(workspace) == [("- one", "ada"), ("- two", "eve")]
    write(workspace, "bob", "- one")
    write(workspace, "bob", "- one", "- two", operation="restore")
    assert actors(workspace) == [("- one", "ada"), ("- two", "eve")]
    assert actors(workspace, 1) == [("- one", "ada"), ("- two", "ada")]


def test_an_edit_outside_is_named_before_it_is_logged(workspace: Workspace) -> None:
    """The lines of an editor belong to nobody that Looseleaf knows."""
    write(workspace, "ada", "- one")
    path = workspace.store.path(ADA)
    with open(path, "a", encoding="utf-8") as file:
        file.write("- two\n")
    (first, second) = blame_lines(workspace.history, ADA)
    assert first.revision.actor == "ada"
    assert (second.revision.actor_kind, second.revision.number) == ("outside", 2)


def test_pruned_and_purged_versions_leave_the_names_of_their_writers(
    workspace: Workspace, clock: Clock
) -> None:
    """A line can name its writer for as long as it stands, and a purge takes no name."""
    lines: list[str] = []
    for number in range(90):
        lines.append(f"- fact {number}")
        write(workspace, f"writer {number}", *lines)
    expected = [(f"- fact {number}", f"writer {number}") for number in range(90)]
    assert actors(workspace) == expected
    clock.advance(days=3)
    write(workspace, "last", *lines, "- end")
    clock.advance(days=3)
    assert workspace.history.prune(ADA.shelf, Retention(days=1, versions=3, grace_days=0)) > 80
    expected.append(("- end", "last"))
    assert actors(workspace) == expected
    (oldest, *_) = workspace.history.revisions(ADA)
    assert actors(workspace, oldest.number) == expected[: len(actors(workspace, oldest.number))]
    write(workspace, "after", *lines[1:], "- end")
    workspace.history.purge(ADA, 91, change=change("purger"))
    assert actors(workspace) == expected[1:]
    with pytest.raises(RevisionMissing):
        workspace.history.blame(ADA, 1)


def test_without_its_note_every_kept_version_is_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note that is lost or damaged costs time, and no writer whose version is kept."""
    for number in range(70):  # past the first pruning, which takes the texts out of the log
        write(workspace, f"writer {number % 7}", *(f"- {line}" for line in range(number + 1)))
    expected = actors(workspace)
    monkeypatch.setattr(line_owners, "OWNERS", "no such note")
    assert actors(workspace) == expected


def test_lines_that_move_to_another_page_keep_their_writer(workspace: Workspace) -> None:
    """The upkeep carries lines to the journal; it does not become their source."""
    write(workspace, "ada", "- from the web", "- mine")
    before = workspace.pages.require(ADA).hash
    day = ADA.shelf.page("daily/2026/04/17.md")
    moved_from = name_version(ADA.filename, before)
    archive = change("looseleaf", "archive", moved_from=moved_from)
    workspace.pages.append(day, "### Archive\n\n  - from the web\n", change=archive)
    write(workspace, "looseleaf", "- mine", operation="compact")
    lines = blame_lines(workspace.history, day)
    assert [(line.text, line.revision.actor, line.file, line.moved_by) for line in lines] == [
        ("### Archive", "looseleaf", day.filename, 0),
        ("", "looseleaf", day.filename, 0),
        ("  - from the web", "ada", ADA.filename, 1),
    ]


def test_a_page_that_the_reader_may_not_know_is_no_source(workspace: Workspace) -> None:
    """The writer of a moved line is then who moved it, and the rest of the page is told."""
    invoke = partial(run_json, workspace.context)
    invoke("datamachine/write-agent-file", {"file": "private.md", "content": "- a line\n"})
    page = workspace.agents.resolve("ada").shelf.page("open.md")
    version = workspace.pages.require(page.shelf.page("private.md")).hash
    moving = change("looseleaf", "archive", name_version("private.md", version))
    workspace.pages.write(page, "- a line\n", change=moving)
    (line,) = blame_lines(workspace.history, page)
    assert (line.file, line.moved_by) == ("private.md", 1)
    policy = {"mode": "deny", "deny": ["private.md"], "binds": "access"}
    config = {"agent": "ada", "config": {"memory_policy": policy}}
    invoke("looseleaf/configure-agent", config)
    principal = act_through(LOCAL_ADMINISTRATOR, 1, user=1, name="ada")
    bound = workspace.acting(principal=principal, surface="test")
    (told,) = run_json(bound, "looseleaf/blame-page", {"file": "open.md"})["lines"]
    assert (told["file"], told["actor"], told["moved_by"]) == ("open.md", "looseleaf", 0)
