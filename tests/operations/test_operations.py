"""Operations: one typed function each, the same for every surface."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from looseleaf import Change, Workspace, settings
from looseleaf.access.principals import PERMISSIONS
from looseleaf.catalog.context import Context
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.errors import Conflicted, Invalid, InvalidName, NotFound, Refused
from looseleaf.errors.pages import PageMissing, Protected, RevisionMissing, SectionTaken
from looseleaf.memory.history import PastPages, parse_moment
from looseleaf.memory.scope import Where
from looseleaf.memory.search import substring
from looseleaf.memory.store import Retention
from looseleaf.operations import agents, composed, daily, files, history, memory, search, users
from looseleaf.times import format_time
from looseleaf.values import replace
from tests.conftest import Clock

SEEDS = {
    "datamachine/get-agent-memory",
    "datamachine/update-agent-memory",
    "datamachine/list-agent-memory-sections",
    "datamachine/search-agent-memory",
    "datamachine/daily-memory-read",
    "datamachine/daily-memory-write",
    "datamachine/daily-memory-list",
    "datamachine/search-daily-memory",
    "datamachine/daily-memory-delete",
    "datamachine/list-agent-files",
    "datamachine/write-agent-file",
    "datamachine/delete-agent-file",
    "datamachine/scaffold-memory-file",
    "datamachine/list-injectable-memory-files",
    "datamachine/get-agent-file",
    "datamachine/upload-agent-file",
    *(
        f"memory_{t}_term_{v}"
        for t in ("long", "short")
        for v in ("read", "add", "update", "delete")
    ),
}


@pytest.fixture
def context(workspace: Workspace) -> Context:
    """Act as someone with a name, so that the history can be asked who it was."""
    return workspace.acting(actor="eve", surface="test", reason="a test")


def test_the_abilities_of_the_seeds_are_in_the_catalog() -> None:
    """By the names agents already know; each module has registered its own."""
    assert not SEEDS - CATALOG.keys()


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_an_operation_is_typed_described_and_permitted(name: str) -> None:
    """Its signature is its schema: every parameter has a type, and a sentence says what it does."""
    entry = CATALOG[name]
    signature = inspect.signature(entry.run)
    assert next(iter(signature.parameters)) == "context"
    assert all(p.annotation is not p.empty for p in signature.parameters.values())
    assert signature.return_annotation is not signature.empty
    assert entry.summary.endswith(".")
    assert entry.permission in PERMISSIONS
    assert not (entry.read_only and entry.destructive)


def test_two_operations_cannot_share_a_name() -> None:
    """The second is refused when it is defined."""
    with pytest.raises(ValueError, match="two operations"):
        operation("looseleaf/list-agents", permission="read", categories=("agents",))(lambda: None)


def test_a_page_is_found_where_the_registry_puts_it(context: Context) -> None:
    """USER.md is the user's, RULES.md everyone's, anything else the agent's."""
    assert memory.read_memory(context, "USER.md").layer == "user"
    assert memory.read_memory(context, "RULES.md").layer == "shared"
    memory.append_page(context, "contexts/editor.md", "x")
    assert memory.read_memory(context, "contexts/editor.md").layer == "agent"
    with pytest.raises(PageMissing, match="shared"):
        memory.read_memory(context, "contexts/editor.md", where=Where(layer="shared"))
    with pytest.raises(InvalidName, match="a layer is one of"):
        memory.read_memory(context, "x.md", where=Where(layer="secret"))


def test_another_users_page_is_another_page(context: Context) -> None:
    """The user told, the agent's owner, the default one, in this order."""
    eve = users.create_user(context, "eve").id
    agents.create_agent(context, "bob", owner=eve)
    memory.write_page(context, "USER.md", "seven", where=Where(user=eve))
    assert memory.read_memory(context, "USER.md", where=Where(agent="bob")).content == "seven"
    assert memory.read_memory(context, "USER.md", where=Where(agent="ada")).content != "seven"


def test_sections_are_set_appended_listed_and_deleted(context: Context) -> None:
    """By the names of Data Machine."""
    memory.update_memory(context, "Facts", "- one", mode="set")
    memory.update_memory(context, "Facts", "- two", mode="append")
    assert memory.read_memory(context, section="Facts").content == "- one\n- two"
    assert "Facts" in [section.name for section in memory.list_sections(context)]
    memory.delete_section(context, "Facts")
    assert "Facts" not in [section.name for section in memory.list_sections(context)]
    with pytest.raises(Invalid, match="set or append"):
        memory.update_memory(context, "Facts", "x", mode="replace")  # type: ignore[arg-type]


def test_a_conflict_is_an_error_with_both_hashes(context: Context) -> None:
    """Nothing was written."""
    saved = memory.write_page(context, "notes.md", "one")
    memory.write_page(context, "notes.md", "two", if_match=saved.hash)
    with pytest.raises(Conflicted) as caught:
        memory.write_page(context, "notes.md", "three", if_match=saved.hash)
    assert caught.value.expected == saved.hash
    assert memory.read_memory(context, "notes.md").page.hash == caught.value.actual


def test_pages_are_cleared_and_deleted_by_the_rules(context: Context) -> None:
    """Core pages stay, others go, and both leave their text behind."""
    memory.clear_page(context, "MEMORY.md")
    with pytest.raises(Protected):
        memory.delete_page(context, "MEMORY.md")
    memory.append_page(context, "notes.md", "x")
    memory.delete_page(context, "notes.md")
    assert [revision.operation for revision in history.list_revisions(context, "notes.md")] == [
        "append",
        "delete",
    ]


def test_history_says_who_when_how_and_why(context: Context, clock: Clock) -> None:
    """Oldest first."""
    memory.append_page(context, "notes.md", "x")
    clock.advance(seconds=5)
    memory.append_page(replace(context, actor="bob", reason="more"), "notes.md", "y")
    first, second = history.list_revisions(context, "notes.md")
    assert (first.number, first.actor, first.surface, first.reason) == (1, "eve", "test", "a test")
    assert (second.actor, second.reason, second.time - first.time) == ("bob", "more", 5.0)


def test_a_page_is_read_as_it_was(context: Context, clock: Clock) -> None:
    """By revision, by time and by day; before it was there it is missing."""
    clock.now = 1_777_334_400.0  # 2026-04-28 00:00 UTC
    memory.write_page(context, "notes.md", "one")
    clock.advance(days=2)
    memory.write_page(context, "notes.md", "two")
    for moment in ("1", "2026-04-28", "2026-04-28T00:00:00Z", "2026-04-29T23:59+00:00"):
        assert memory.read_memory(context, "notes.md", as_of=moment).content == "one"
    assert memory.read_memory(context, "notes.md", as_of="2026-04-30").content == "two"
    with pytest.raises(PageMissing, match="2026-04-27"):
        memory.read_memory(context, "notes.md", as_of="2026-04-27")
    with pytest.raises(RevisionMissing):
        memory.read_memory(context, "notes.md", as_of="9")
    with pytest.raises(Invalid, match="neither a revision number nor a time"):
        memory.read_memory(context, "notes.md", as_of="yesterday")


def test_a_moment_without_a_zone_is_utc() -> None:
    """As every time here."""
    assert parse_moment("2026-04-28T10:00") == parse_moment("2026-04-28T12:00+02:00")


def test_diff_shows_the_last_change_or_any_two(context: Context) -> None:
    """Lines in unified form, with the numbers of the revisions."""
    for text in ("a\nb\n", "a\nc\n", "d\nc\n"):
        memory.write_page(context, "notes.md", text)
    last = history.diff(context, "notes.md")
    assert (last.before, last.after) == (2, 3)
    assert "-a\n+d" in last.text
    assert "-b\n+c" in history.diff(context, "notes.md", "1", "2").text
    assert history.diff(context, "notes.md", "2", "2").text == ""


def test_restore_is_itself_a_revision(context: Context) -> None:
    """A deleted page comes back, byte for byte."""
    memory.write_page(context, "notes.md", "one\r\n")
    memory.delete_page(context, "notes.md")
    history.restore(context, "notes.md", "1")
    assert memory.read_memory(context, "notes.md").raw == b"one\r\n"
    assert [revision.operation for revision in history.list_revisions(context, "notes.md")][
        -1
    ] == "restore"
    with pytest.raises(PageMissing):
        history.restore(context, "notes.md", "2")


def test_purge_removes_the_content_and_says_so(context: Context, workspace: Workspace) -> None:
    """No file of the workspace holds the secret any more."""
    memory.write_page(context, "notes.md", "the secret word xyzzy")
    memory.write_page(context, "notes.md", "nothing")
    history.purge(context, "notes.md", 1)
    with pytest.raises(RevisionMissing, match="purged by eve"):
        memory.read_memory(context, "notes.md", as_of="1")
    for folder, _, names in os.walk(workspace.root):
        for name in names:
            assert b"xyzzy" not in Path(folder, name).read_bytes()
    with pytest.raises(RevisionMissing, match="what the page says now"):
        history.purge(context, "notes.md", 2)


def test_prune_keeps_the_newest_and_what_is_young(context: Context, clock: Clock) -> None:
    """Age counts from the moment a version was replaced."""
    for text in ("one", "two", "three"):
        memory.write_page(context, "notes.md", text)
        for _ in range(12):
            clock.advance(days=5)
            memory.write_page(context, f"diary/{clock.now:.0f}.md", text)
    assert history.prune(context) == 1
    assert [revision.number for revision in history.list_revisions(context, "notes.md")] == [2, 3]
    clock.advance(days=900)  # with nothing to show for it, which counts as a week
    assert history.prune(context) == 0
    for _ in range(18):
        clock.advance(days=5)
        memory.write_page(context, f"diary/{clock.now:.0f}.md", "later")
    assert history.prune(context) >= 1
    assert [revision.number for revision in history.list_revisions(context, "notes.md")] == [3]
    with pytest.raises(RevisionMissing, match="no longer kept"):
        memory.read_memory(context, "notes.md", as_of="1999-01-01")


def test_prune_reaches_users_who_own_no_agent(context: Context, clock: Clock) -> None:
    """Their pages have a history like all others."""
    where = Where(user=7)
    Path(context.settings.root, "users/7").mkdir()
    Path(context.settings.root, "users/7/USER.md").write_text("zero")
    for text in ("one", "two"):
        memory.write_page(context, "USER.md", text, where=where)
        clock.advance(days=200)
    history.prune(context, days=0)
    assert [
        revision.number for revision in history.list_revisions(context, "USER.md", where=where)
    ] == [3]


def test_search_looks_at_one_page_or_all_of_an_agents(context: Context) -> None:
    """The journal is part of what an agent knows; other agents are not."""
    agents.create_agent(context, "bob")
    memory.update_memory(context, "Facts", "- the Needle", mode="set", where=Where(agent="ada"))
    daily.write_day(context, "needle too", "2026-04-28", where=Where(agent="ada"))
    memory.update_memory(context, "Facts", "- bob's needle", mode="set", where=Where(agent="bob"))
    found = search.search(context, "NEEDLE", where=Where(agent="ada"))
    assert [(item.filename, item.section) for item in found.matches] == [
        ("MEMORY.md", "Facts"),
        ("daily/2026/04/28.md", ""),
    ]
    result = search.search(
        context, "needle", file="MEMORY.md", section="Facts", where=Where(agent="ada")
    )
    assert result.total == 1
    hits = search.find(context, "needle facts", where=Where(agent="ada"))
    assert hits.pages[0].filename == "MEMORY.md"


def test_search_as_of_a_time_finds_what_was_there_then(context: Context, clock: Clock) -> None:
    """Also on pages that are gone."""
    memory.write_page(context, "old.md", "the needle")
    moment = "2096-10-02T07:06:41Z"
    clock.advance(days=2)
    memory.delete_page(context, "old.md")
    memory.write_page(context, "new.md", "another needle")
    assert [item.filename for item in search.search(context, "needle").matches] == ["new.md"]
    then = search.search(context, "needle", as_of=moment)
    assert [item.filename for item in then.matches] == ["old.md"]
    assert search.find(context, "needle", as_of=moment).pages[0].filename == "old.md"
    with pytest.raises(Invalid, match="give a time"):
        search.search(context, "needle", as_of="3")


def test_search_as_of_a_time_names_the_pages_it_could_not_see(
    workspace: Workspace, context: Context, clock: Clock
) -> None:
    """Versions that were pruned or purged hide their pages, and no other page."""
    for name in ("pruned.md", "purged.md", "kept.md"):
        memory.write_page(context, name, f"the needle of {name}\n")
    moment = format_time(clock.now)
    shelf = workspace.agents.resolve("ada").shelf
    clock.advance(days=3)
    for name in ("pruned.md", "purged.md"):
        memory.write_page(context, name, "nothing\n")
    clock.advance(days=3)
    memory.write_page(context, "pruned.md", "still nothing\n")
    workspace.history.purge(shelf.page("purged.md"), 1, change=Change())
    for _ in range(30):
        clock.advance(days=1)
        memory.write_page(context, "daily.md", format_time(clock.now))
    workspace.history.prune(shelf, Retention(days=20, versions=200))
    results = search.search(context, "needle", as_of=moment)
    assert [match.filename for match in results.matches] == ["kept.md"]
    # Nothing tells whether the last one was there at all.
    assert results.unseen == ("daily.md", "pruned.md", "purged.md")
    assert results.unseen_total == 3
    assert "3 pages were not searched" in results.notice
    found = search.find(context, "needle", as_of=moment)
    assert [page.filename for page in found.pages] == ["kept.md"]
    assert (found.unseen, found.unseen_total) == (results.unseen, 3)
    with pytest.raises(RevisionMissing):
        search.search(context, "needle", file="pruned.md", as_of=moment)
    assert search.search(context, "needle").unseen == ()


def test_search_as_of_a_time_that_is_not_past_asks_the_index(
    context: Context, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the history is read: the pages are what they are."""
    memory.write_page(context, "notes.md", "a needle\n")
    moment = format_time(clock.now + 1)
    # Whatever reads pages of the past fails from here on.
    monkeypatch.setattr(substring, "VisiblePages", type(None))
    assert search.find(context, "needle", as_of=moment) == search.find(context, "needle")
    assert search.search(context, "needle", as_of=moment).matches[0].filename == "notes.md"


def test_the_past_cannot_be_changed(workspace: Workspace, clock: Clock) -> None:
    """It is read and listed like any store."""
    past = PastPages(workspace.store, workspace.history, clock.now)
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    assert past.exists(scope)
    assert [entry.filename for entry in past.list_layer(scope.shelf)] == ["MEMORY.md", "SOUL.md"]
    for change in (past.write, past.edit, past.delete):
        with pytest.raises(Refused):
            change(scope)


def test_the_journal_is_read_written_listed_and_searched(context: Context) -> None:
    """A missing day is a value."""
    assert not daily.read_day(context, "2026-04-28").exists
    daily.write_day(context, "- one", "2026-04-28")
    daily.write_day(context, "whole", "2026-04-29", mode="write")
    assert daily.read_day(context, "2026-04-28").content == "# 2026-04-28\n\n- one\n"
    assert daily.list_days(context) == {"2026/04": ["28", "29"]}
    assert daily.search_days(context, "one", since="2026-04-28").total == 1
    daily.delete_day(context, "2026-04-28")
    assert daily.read_day(context, "2026-04-28", as_of="1").content.endswith("- one\n")
    with pytest.raises(Invalid, match="append or write"):
        daily.write_day(context, "x", mode="replace")  # type: ignore[arg-type]


def test_files_and_paths_tell_what_an_agent_reads(context: Context, clock: Clock) -> None:
    """In the order of a prompt, with the rules each page lives by."""
    listed = {file.file: file for file in files.list_files(context)}
    assert listed["SITE.md"].editable is False
    assert listed["RULES.md"].editable == "manage_options"
    assert listed["MEMORY.md"].protected
    daily.write_day(context, "x", "2026-04-28")
    assert "daily/2026/04/28.md" not in {file.file for file in files.list_files(context)}
    assert "daily/2026/04/28.md" in {file.file for file in files.list_files(context, daily=True)}
    assert clock.now > 0
    paths = files.list_paths(context)
    assert [item.file for item in paths] == [
        "SITE.md",
        "RULES.md",
        "SOUL.md",
        "USER.md",
        "USER_MEMORY.md",
        "MEMORY.md",
    ]
    assert all(os.path.isfile(item.path) is item.exists for item in paths)
    assert [item.file for item in paths if not item.exists] == ["USER_MEMORY.md"]


def agents_md(workspace: Workspace, **chosen: object) -> Context:
    """Open the workspace with AGENTS.md composed into its parent folder."""
    with_agents = replace(workspace.settings, agents_md=True, project_folder="..", **chosen)
    return Workspace(with_agents, clock=workspace.clock).context


def test_composing_puts_an_agents_memory_where_coding_agents_look(workspace: Workspace) -> None:
    """A human's own text around the managed block stays, and so does the file's mode."""
    target = Path(workspace.root).parent / "AGENTS.md"
    target.write_text("# Mine\n")
    target.chmod(0o644)
    context = agents_md(workspace)
    memory.update_memory(context, "Lessons Learned", "- composed fact", mode="set")
    made = {item.file: item for item in composed.compose(context)}
    assert made["AGENTS.md"].projected == str(target)
    text = target.read_text()
    assert text.startswith("# Mine\n")
    assert "- composed fact" in text
    assert "looseleaf --root workspace memory read" in text
    assert target.stat().st_mode & 0o777 == 0o644
    memory.update_memory(context, "Lessons Learned", "- second fact", mode="append")
    composed.compose(context, "AGENTS.md")
    assert target.read_text().count("# Mine") == 1
    assert "- second fact" in target.read_text()


def test_agents_md_can_import_instead_of_copying(workspace: Workspace) -> None:
    """The paths lead from the composed file to the pages."""
    context = agents_md(workspace, agents_md_include="imports")
    composed.compose(context, "AGENTS.md")
    text = (Path(workspace.root).parent / "AGENTS.md").read_text()
    assert "@workspace/agents/ada/MEMORY.md" in text
    assert (Path(workspace.root).parent / "workspace/agents/ada/MEMORY.md").is_file()


def test_the_agents_policy_holds_in_composed_files(workspace: Workspace) -> None:
    """A page it denies is not copied by this way either."""
    context = agents_md(workspace)
    memory.write_page(context, "USER.md", "private matters")
    policy = {"mode": "deny", "deny": ["USER.md"]}
    agents.configure_agent(context, "ada", {"memory_policy": policy})
    composed.compose(context, "AGENTS.md")
    assert "private matters" not in (Path(workspace.root).parent / "AGENTS.md").read_text()


def test_what_is_not_generated_cannot_be_composed(context: Context) -> None:
    """The error names what can."""
    with pytest.raises(NotFound, match=r"Generated pages: SITE\.md"):
        composed.compose(context, "MEMORY.md")


def test_an_existing_folder_becomes_a_workspace_untouched(tmp_path: Path, clock: Clock) -> None:
    """The layout of Data Machine is taken over: agents get records, pages keep their bytes."""
    soul = tmp_path / "agents" / "chubes-bot" / "SOUL.md"
    day = tmp_path / "agents" / "chubes-bot" / "daily" / "2026" / "02" / "15.md"
    for path in (soul, day):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"mine {path.name}")
    workspace = Workspace.create(tmp_path, clock=clock)
    assert [record.slug for record in workspace.agents.records()] == ["chubes-bot"]
    assert soul.read_text() == "mine SOUL.md"
    assert workspace.daily().list_all() == {"2026/02": ["15"]}
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    Workspace.create(tmp_path, clock=clock)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_opening_finds_the_workspace_from_a_folder_inside(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git does."""
    monkeypatch.delenv("LOOSELEAF_ROOT", raising=False)
    monkeypatch.chdir(Path(workspace.root, "agents", "ada"))
    assert Workspace.open().root == workspace.root
    assert settings.find_root() == workspace.root


def test_a_page_that_nothing_gives_is_written_with_a_warning(workspace: Workspace) -> None:
    """Where neither a prompt nor a search would find it; by every operation that writes a page."""
    fact = {"section": "Facts", "content": "- one"}
    writes: list[tuple[str, dict[str, object]]] = [
        ("datamachine/update-agent-memory", {**fact, "mode": "append"}),
        ("datamachine/write-agent-file", {"file": "MEMORY.md", "content": "- two"}),
        ("datamachine/append-agent-file", {"file": "MEMORY.md", "content": "- three"}),
        ("memory_long_term_add", {"content": "- four"}),
    ]
    for name, arguments in writes:
        saved = invoke(workspace.context, name, {**arguments, "layer": "user"})
        assert saved["changed"], name
        assert "belongs to the layer agent" in saved["warnings"][0], name
        assert invoke(workspace.context, name, arguments)["warnings"] == [], name
    note = {"file": "note.md", "content": "x"}
    own = invoke(workspace.context, "datamachine/write-agent-file", note)
    assert own["warnings"] == []  # the agent's own searches find it
    shared = invoke(workspace.context, "datamachine/write-agent-file", {**note, "layer": "shared"})
    assert "registered there: SITE.md, RULES.md" in shared["warnings"][0]


@pytest.mark.parametrize("mode", ["set", "append"])
def test_a_section_that_differs_only_in_case_is_refused(workspace: Workspace, mode: str) -> None:
    """The error names the section there is, and nothing is written."""
    name = "datamachine/update-agent-memory"
    invoke(workspace.context, name, {"section": "Straße", "content": "- one", "mode": mode})
    before = invoke(workspace.context, "datamachine/get-agent-memory")["hash"]
    for other in ("straße", "STRASSE", "## straße"):
        with pytest.raises(SectionTaken, match="'Straße'") as refused:
            invoke(workspace.context, name, {"section": other, "content": "- two", "mode": mode})
        assert refused.value.code == "section_taken"
    assert invoke(workspace.context, "datamachine/get-agent-memory")["hash"] == before
