"""A folder of Data Machine as pages of every layer."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import datamachine
from looseleaf.features.imports.systems.shared_layout import NOT_IN_PROMPTS
from looseleaf.memory.registry import FileRegistry
from looseleaf.plugins.defaults import register_core_files
from tests.features.imports.sources import DATAMACHINE, compute_fingerprint, write_tree


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """By an agent, by the old folder of one agent, or by the shared pages."""
    assert datamachine.detect(SourceFolder(str(write_tree(tmp_path / "a", DATAMACHINE))))
    old = write_tree(tmp_path / "b", {"agent/SOUL.md": "x\n"})
    assert datamachine.detect(SourceFolder(str(old))) == "agent/SOUL.md"
    shared = write_tree(tmp_path / "c", {"shared/RULES.md": "x\n"})
    assert datamachine.detect(SourceFolder(str(shared))) == "shared/RULES.md"
    other = write_tree(tmp_path / "d", {"agents/readme.md": "x\n"})
    assert datamachine.detect(SourceFolder(str(other))) == ""


def test_the_layers_stay(tmp_path: Path) -> None:
    """Agents and users are those of the source; each page keeps its name and text."""
    write_tree(tmp_path, DATAMACHINE)
    before = compute_fingerprint(tmp_path)
    content = datamachine.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    pages = {(page.layer, page.agent, page.user, page.filename) for page in content.pages}
    assert pages == {
        ("shared", "", 0, "SITE.md"),
        ("shared", "", 0, "RULES.md"),
        ("network", "", 0, "fleet.md"),
        ("agent", "ada", 0, "SOUL.md"),
        ("agent", "ada", 0, "MEMORY.md"),
        ("agent", "ada", 0, "content-strategy.md"),
        ("agent", "ada", 0, "daily/2026/03/16.md"),
        ("agent", "ada", 0, "contexts/forum.md"),
        ("principal", "ada", 1, "USER_MEMORY.md"),
        ("agent", "scout", 0, "SOUL.md"),
        ("user", "", 1, "USER.md"),
    }
    for page in content.pages:
        assert page.text == DATAMACHINE[page.sources[0]]
    assert [entry.source for entry in content.left_out] == ["pipeline-3/flow-4/jobs/"]
    [upload] = content.uploads
    assert (upload.pipeline, upload.flow, upload.name) == (3, 0, "style.md")
    assert upload.content == b"# Style\n"


def test_every_page_that_the_plugin_gives_is_accounted_for(tmp_path: Path) -> None:
    """Those that no prompt gives here say so; all others have their place in prompts here."""
    given = ["shared/SITE.md", "shared/RULES.md", "shared/AGENTS.md", "network/NETWORK.md"]
    given += [f"agents/ada/{name}" for name in ("SOUL.md", "MEMORY.md", "WAKE.md")]
    given += ["users/1/USER.md", "agents/ada/users/1/USER_MEMORY.md"]
    files = {name: f"# {name}\n" for name in given}
    content = datamachine.read(SourceFolder(str(write_tree(tmp_path, files))))
    assert sorted(page.sources[0] for page in content.pages) == sorted(given)
    noted = {page.filename for page in content.pages if page.note == NOT_IN_PROMPTS}
    assert noted == {"AGENTS.md", "NETWORK.md", "WAKE.md"}
    registry = FileRegistry()
    register_core_files(registry)
    for page in content.pages:
        file = registry.get(page.filename)
        in_chat = file is not None and file.is_injected_in("chat") and file.layer == page.layer
        assert in_chat is (page.filename not in noted), page.filename


def test_the_one_agent_of_an_older_site(tmp_path: Path) -> None:
    """Its USER.md is a page about a person, and so of the user layer."""
    files = {"agent/SOUL.md": "s\n", "agent/USER.md": "u\n", "agent/brief.md": "b\n"}
    content = datamachine.read(SourceFolder(str(write_tree(tmp_path, files))))
    assert {(page.layer, page.agent, page.filename) for page in content.pages} == {
        ("agent", "", "SOUL.md"),
        ("user", "", "USER.md"),
        ("agent", "", "brief.md"),
    }


def test_other_files_are_left_out_with_the_reason(tmp_path: Path) -> None:
    """Records, files that are no pages, and folders of no layer."""
    files = {
        "agents/ada/SOUL.md": "s\n",
        "agents/ada/agent.json": "{}\n",
        "agents/ada/photo.png": "x\n",
        "users/nobody/USER.md": "x\n",
        "cache/x.md": "x\n",
        "notes.md": "x\n",
    }
    content = datamachine.read(SourceFolder(str(write_tree(tmp_path, files))))
    assert [page.filename for page in content.pages] == ["SOUL.md"]
    reasons = {entry.source: entry.reason for entry in content.left_out}
    assert set(reasons) == {
        "agents/ada/agent.json",
        "agents/ada/photo.png",
        "users/nobody/",
        "cache/",
        "notes.md",
    }
    assert "it is no page" in reasons["agents/ada/photo.png"]
