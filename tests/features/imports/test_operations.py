"""Imports as operations: detect, preview, run, run again; who may, and from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.errors import Forbidden
from looseleaf.errors.features import FolderRefused, InvalidImport
from looseleaf.errors.pages import AgentMissing
from looseleaf.features.imports import operations
from looseleaf.operations import history, memory
from tests.features.imports.sources import DATAMACHINE, OPENCLAW, compute_fingerprint, write_tree

ADMINISTRATOR = Principal(
    kind="session", user_id=1, name="admin", capabilities=frozenset(("manage_options",))
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Create a workspace with the agent ada."""
    return Workspace.create(tmp_path / "root", agent="ada")


@pytest.fixture
def openclaw(tmp_path: Path) -> Path:
    """Write a workspace of OpenClaw."""
    return write_tree(tmp_path / "openclaw", OPENCLAW)


@pytest.fixture
def datamachine(tmp_path: Path) -> Path:
    """Write a folder of Data Machine."""
    return write_tree(tmp_path / "datamachine-files", DATAMACHINE)


def pages_below(root: str) -> dict[str, str]:
    """Return every page of a workspace, and the number of its history."""
    return {
        name: text
        for name, text in compute_fingerprint(Path(root)).items()
        if not name.startswith(".looseleaf/") or "/history/" in name
    }


def test_a_source_is_detected(workspace: Workspace, openclaw: Path, datamachine: Path) -> None:
    """The kind, and the files that show it."""
    [system] = operations.detect(workspace.context, str(openclaw))
    assert (system.kind, system.sign) == ("openclaw", "AGENTS.md, SOUL.md, IDENTITY.md")
    assert operations.detect(workspace.context, str(datamachine))[0].kind == "datamachine"


def test_a_preview_writes_nothing(workspace: Workspace, datamachine: Path) -> None:
    """It names the agents that a run would create, and says what a run does."""
    before = compute_fingerprint(Path(workspace.root))
    report = operations.preview(workspace.context, str(datamachine))
    assert compute_fingerprint(Path(workspace.root)) == before
    assert report.is_preview
    assert report.new_agents == ("scout",)
    actions = {(page.owner, page.file): page.action for page in report.pages}
    result = operations.run(workspace.context, str(datamachine))
    assert {(page.owner, page.file): page.action for page in result.pages} == actions
    assert result.left_out == report.left_out


def test_every_page_arrives(workspace: Workspace, datamachine: Path) -> None:
    """On its layer, byte for byte; agents that are missing are created."""
    report = operations.run(workspace.context, str(datamachine))
    root = Path(workspace.root)
    for name, text in DATAMACHINE.items():
        is_page = name.endswith(".md") and not name.startswith("pipeline-")
        if is_page and name != "shared/SITE.md":
            assert (root / name).read_text() == text, name
    assert (root / "agents/scout/agent.json").exists()
    reasons = {entry.source: entry.reason for entry in report.left_out}
    assert reasons["shared/SITE.md"] == "SITE.md is generated here"
    assert report.failed == 0


def test_the_source_is_never_changed(
    workspace: Workspace, openclaw: Path, datamachine: Path
) -> None:
    """Neither a byte nor a time."""
    before = compute_fingerprint(openclaw), compute_fingerprint(datamachine)
    operations.run(workspace.context, str(openclaw))
    operations.run(workspace.context, str(datamachine))
    assert (compute_fingerprint(openclaw), compute_fingerprint(datamachine)) == before


def test_a_second_run_changes_nothing(
    workspace: Workspace, openclaw: Path, datamachine: Path
) -> None:
    """No page, and no revision."""
    operations.run(workspace.context, str(openclaw))
    operations.run(workspace.context, str(datamachine))
    before = pages_below(workspace.root)
    for source, agent in ((openclaw, "ada"), (datamachine, None)):
        report = operations.run(workspace.context, str(source), agent=agent)
        assert {page.action for page in report.pages} == {"unchanged"}
        assert report.changed == 0
    assert pages_below(workspace.root) == before


def test_a_changed_source_brings_what_is_new(workspace: Workspace, openclaw: Path) -> None:
    """What the agent learned here meanwhile stays, in the page and in the journal."""
    context = workspace.context
    operations.run(context, str(openclaw))
    memory.update_memory(context, "Trees", "- Learned here", mode="append")
    (openclaw / "MEMORY.md").write_text(OPENCLAW["MEMORY.md"] + "- Row 4 is quinces\n")
    (openclaw / "memory/2026-03-03.md").write_text("# 2026-03-03\n\n- Rain\n")
    report = operations.run(context, str(openclaw))
    actions = {page.file: page.action for page in report.pages if page.action != "unchanged"}
    assert actions == {"MEMORY.md": "merge", "daily/2026/03/03.md": "create"}
    text = (Path(workspace.root) / "agents/ada/MEMORY.md").read_text()
    lines = ("- Row 3 is Conference pears", "- Learned here", "- Row 4 is quinces")
    assert [text.count(line) for line in lines] == [1, 1, 1]
    assert operations.run(context, str(openclaw)).changed == 0


def test_a_page_that_was_deleted_here_stays_deleted(workspace: Workspace, openclaw: Path) -> None:
    """The report says why."""
    context = workspace.context
    operations.run(context, str(openclaw))
    memory.delete_page(context, "TOOLS.md")
    report = operations.run(context, str(openclaw))
    assert "deleted here" in {entry.source: entry.reason for entry in report.left_out}["TOOLS.md"]
    assert not (Path(workspace.root) / "agents/ada/TOOLS.md").exists()


def test_changes_carry_their_provenance(workspace: Workspace, openclaw: Path) -> None:
    """The history says that a page was imported, from which file, and keeps the text before."""
    context = workspace.context
    operations.run(context, str(openclaw))
    revisions = history.list_revisions(context, "SOUL.md")
    latest = max(revisions, key=lambda revision: revision.number)
    assert (latest.origin, latest.actor_kind) == ("import", "import")
    assert latest.reason == "imported from OpenClaw: SOUL.md"
    assert min(revisions, key=lambda revision: revision.number).operation == "scaffold"


def test_one_agent_of_several(workspace: Workspace, datamachine: Path) -> None:
    """Two agents never end up in one by mistake; one of them is chosen by its name."""
    context = workspace.context
    with pytest.raises(InvalidImport, match="ada, scout"):
        operations.run(context, str(datamachine), agent="ada")
    with pytest.raises(InvalidImport, match="Agents of the source: ada, scout"):
        operations.run(context, str(datamachine), source_agent="nobody")
    report = operations.run(context, str(datamachine), agent="ada", source_agent="scout")
    assert report.new_agents == ()
    text = (Path(workspace.root) / "agents/ada/SOUL.md").read_text()
    assert text == DATAMACHINE["agents/scout/SOUL.md"]
    assert "agents/ada/SOUL.md" in {entry.source for entry in report.left_out}


def test_pages_of_several_users_are_chosen(workspace: Workspace, datamachine: Path) -> None:
    """User 7 of another site is not user 7 here."""
    write_tree(datamachine, {"users/7/USER.md": "# User\n\n- Name: Rui\n"})
    report = operations.run(workspace.context, str(datamachine))
    reasons = {entry.source: entry.reason for entry in report.left_out}
    assert "--source-user 7" in reasons["users/7/USER.md"]
    assert "--source-user 1" in reasons["users/1/USER.md"]
    operations.run(workspace.context, str(datamachine), source_user=7)
    assert "Rui" in (Path(workspace.root) / "users/1/USER.md").read_text()


def test_hostile_files_are_named_and_not_followed(workspace: Workspace, openclaw: Path) -> None:
    """Links, other encodings and names that no page can have."""
    outside = openclaw.parent / "secret.md"
    outside.write_text("a secret\n")
    (openclaw / "leak.md").symlink_to(outside)
    (openclaw / "latin.md").write_bytes(b"caf\xe9\n")
    (openclaw / "what?.md").write_text("x\n")
    (openclaw / "empty.md").write_text("\n")
    report = operations.run(workspace.context, str(openclaw))
    reasons = {entry.source: entry.reason for entry in report.left_out}
    assert "link" in reasons["leak.md"]
    assert "UTF-8" in reasons["latin.md"]
    assert "not allowed" in reasons["what?.md"]
    assert reasons["empty.md"] == "it is empty"
    for file in Path(workspace.root).rglob("*"):
        assert not file.is_file() or b"a secret" not in file.read_bytes()


def test_files_that_become_one_page_are_put_together(
    workspace: Workspace, openclaw: Path, datamachine: Path
) -> None:
    """Preview and run say so, no text is lost, and a second run changes nothing."""
    write_tree(openclaw, {"operating-instructions.md": "# Instructions\n\n- Be kind\n"})
    write_tree(datamachine, {"agent/SOUL.md": "# Soul\n\nI was the only agent.\n"})
    text = (Path(workspace.root) / "looseleaf.toml").read_text()
    (Path(workspace.root) / "looseleaf.toml").write_text(f'default_agent = "ada"\n{text}')
    workspace = Workspace.open(workspace.root)
    for source, file, lines in (
        (openclaw, "operating-instructions.md", ("Read SOUL.md before", "- Be kind")),
        (datamachine, "SOUL.md", ("the voice of a music paper", "I was the only agent.")),
    ):
        preview = operations.preview(workspace.context, str(source))
        report = operations.run(workspace.context, str(source))
        assert [(page.owner, page.file, page.action) for page in preview.pages] == [
            (page.owner, page.file, page.action) for page in report.pages
        ]
        [page] = [page for page in report.pages if (page.owner, page.file) == ("ada", file)]
        assert len(page.sources) == 2
        text = (Path(workspace.root) / "agents/ada" / file).read_text()
        assert all(line in text for line in lines)
        assert operations.run(workspace.context, str(source)).changed == 0


def test_new_agents_do_not_hide_the_default_one(workspace: Workspace, datamachine: Path) -> None:
    """The only agent gets the pages of a source's unnamed agent, as the preview says."""
    write_tree(datamachine, {"agent/old.md": "# Old\n"})
    report = operations.run(workspace.context, str(datamachine))
    assert [page.owner for page in report.pages if page.file == "old.md"] == ["ada"]


def test_names_that_differ_only_in_case(workspace: Workspace, openclaw: Path) -> None:
    """The first is imported, the others are named, by the preview as by the run."""
    memory.write_page(workspace.context, "Plan.md", "ours\n")
    for name in ("tools.md", "plan.md", "Dir/a.md", "dir/b.md"):
        (openclaw / name).parent.mkdir(exist_ok=True)
        (openclaw / name).write_text("other\n")
    preview = operations.preview(workspace.context, str(openclaw))
    report = operations.run(workspace.context, str(openclaw))
    assert (preview.pages, preview.left_out) == (report.pages, report.left_out)
    assert report.failed == 0
    twins = {entry.source: entry.reason for entry in report.left_out if "only by" in entry.reason}
    assert set(twins) == {"tools.md", "plan.md", "dir/b.md"}
    assert "TOOLS.md" in twins["tools.md"]
    assert (Path(workspace.root) / "agents/ada/TOOLS.md").read_text() == OPENCLAW["TOOLS.md"]


def test_a_name_of_a_mac_is_composed(workspace: Workspace, openclaw: Path) -> None:
    """Its file system gives é as two characters, and a page has one."""
    (openclaw / "cafe\u0301.md").write_text("open\n")
    operations.run(workspace.context, str(openclaw))
    assert (Path(workspace.root) / "agents/ada/caf\u00e9.md").read_text() == "open\n"


def test_a_new_agent_is_previewed_as_it_becomes(workspace: Workspace, tmp_path: Path) -> None:
    """Pages that are empty, generated or twins are left out already by the preview."""
    files = {
        "agents/finch/SOUL.md": "# Soul\n\nI am Finch.\n",
        "agents/finch/empty.md": " \n",
        "agents/finch/Notes.md": "a\n",
        "agents/finch/notes.md": "b\n",
    }
    source = str(write_tree(tmp_path / "source", files))
    preview = operations.preview(workspace.context, source)
    report = operations.run(workspace.context, source)
    assert (preview.pages, preview.left_out) == (report.pages, report.left_out)
    assert {page.file: page.action for page in report.pages} == {
        "Notes.md": "create",
        "SOUL.md": "replace",
    }


def test_an_empty_path_is_refused(workspace: Workspace) -> None:
    """It is not taken for the folder in which the program runs."""
    with pytest.raises(InvalidImport, match="path is empty"):
        operations.run(workspace.context, " ")


def test_reasons_are_those_of_the_system(workspace: Workspace, openclaw: Path) -> None:
    """Other importers look at the folder first, and leave no mark in the report."""
    report = operations.preview(workspace.context, str(openclaw))
    reasons = {entry.source: entry.reason for entry in report.left_out}
    assert reasons["memory/.dreams/"] == "it holds the state of a program"


def test_sources_are_listed(workspace: Workspace, openclaw: Path, datamachine: Path) -> None:
    """The folders of the setting, and those directly in them, with the system of each."""
    listing = operations.list_sources(workspace.context)
    assert "openclaw" in {system.kind for system in listing.systems}
    assert listing.sources == ()
    settings_file = Path(workspace.root) / "looseleaf.toml"
    folders = write_tree(openclaw.parent / "in", {"a.txt": "x\n"})
    openclaw.rename(folders / "claw")
    datamachine.rename(folders / "files")
    settings_file.write_text(f'import_folders = ["{folders}", "/nowhere"]\n')
    workspace.close()
    listing = operations.list_sources(Workspace.open(workspace.root).context)
    assert {(Path(source.path).name, source.kind) for source in listing.sources} == {
        ("claw", "openclaw"),
        ("files", "datamachine"),
    }


def test_a_folder_of_no_known_system(workspace: Workspace, tmp_path: Path) -> None:
    """The error names the systems; an unknown system is an error, too."""
    source = write_tree(tmp_path / "other", {"readme.txt": "x\n"})
    assert operations.detect(workspace.context, str(source)) == []
    with pytest.raises(InvalidImport, match="openclaw"):
        operations.run(workspace.context, str(source))
    with pytest.raises(InvalidImport, match="no importer 'mystery'"):
        operations.run(workspace.context, str(source), kind="mystery")


def test_an_agent_that_is_named_must_exist(workspace: Workspace, openclaw: Path) -> None:
    """A slip of the pen creates no agent."""
    with pytest.raises(AgentMissing, match="ada"):
        operations.run(workspace.context, str(openclaw), agent="adda")


def test_the_workspace_is_no_source(workspace: Workspace) -> None:
    """Neither itself, nor a folder in it, nor one around it."""
    root = Path(workspace.root)
    for path in (root, root / "agents", root.parent):
        with pytest.raises(InvalidImport, match="one folder"):
            operations.run(workspace.context, str(path))


def test_only_administrators_import_and_only_from_allowed_folders(
    workspace: Workspace, openclaw: Path
) -> None:
    """Over a network, an import reads only what the operator has opened to it."""
    someone = workspace.acting(principal=Principal(kind="session", user_id=5, name="someone"))
    with pytest.raises(Forbidden):
        operations.preview(someone, str(openclaw))
    administrator = workspace.acting(principal=ADMINISTRATOR)
    for path in (openclaw, openclaw.parent / "nowhere"):
        with pytest.raises(FolderRefused, match="import_folders"):
            operations.preview(administrator, str(path))
    settings_file = Path(workspace.root) / "looseleaf.toml"
    settings_file.write_text(f'import_folders = ["{openclaw}"]\n')
    workspace.close()
    allowed = Workspace.open(workspace.root).acting(principal=ADMINISTRATOR)
    assert operations.preview(allowed, str(openclaw)).changed == 10
    with pytest.raises(FolderRefused):
        operations.preview(allowed, f"{openclaw}/../other")


def test_a_source_that_was_cut_does_not_take_a_core_page_along(
    workspace: Workspace, openclaw: Path
) -> None:
    """A second import of a page that nobody changed here replaces it, and loses no memory so."""
    source = openclaw / "MEMORY.md"
    source.write_text("# Memory\n\n" + "- a fact that took a year to learn\n" * 50)
    operations.run(workspace.context, str(openclaw))
    text = memory.read_memory(workspace.context, "MEMORY.md").content
    for cut in ("# Memory\n", "# Memory\n\n- one\n\n[rest of file unchanged]\n"):
        source.write_text(cut)
        for act in (operations.preview, operations.run):
            report = act(workspace.context, str(openclaw))
            [page] = [page for page in report.pages if page.file == "MEMORY.md"]
            assert page.action == "failed"
            assert "write the page itself" in page.reason
        assert memory.read_memory(workspace.context, "MEMORY.md").content == text
