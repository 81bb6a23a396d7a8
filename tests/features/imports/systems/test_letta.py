"""The memory folder of a Letta agent as pages."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import letta
from tests.features.imports.sources import LETTA, compute_fingerprint, write_tree


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """By its blocks, from the folder of the agent, too."""
    write_tree(tmp_path / "agent/memory", LETTA)
    sign = "system/human.md, system/persona.md"
    assert letta.detect(SourceFolder(str(tmp_path / "agent/memory"))) == sign
    assert letta.detect(SourceFolder(str(tmp_path / "agent"))).startswith("memory/system/")
    plain = write_tree(tmp_path / "plain", {"system/notes.md": "x\n"})
    assert letta.detect(SourceFolder(str(plain))) == ""


def test_blocks_become_core_pages(tmp_path: Path) -> None:
    """persona and human have pages of their own; every other block is a section of MEMORY.md."""
    write_tree(tmp_path, LETTA)
    before = compute_fingerprint(tmp_path)
    content = letta.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    pages = {page.filename: page for page in content.pages}
    assert pages["SOUL.md"].text == "<!-- Who I am -->\n\nI am Lark, and I sing.\n"
    assert pages["USER.md"].text == (
        "<!-- The human -->\n\nInes likes mornings.\n\n"
        "## human/schedule\n<!-- Times -->\n\n- Market on Saturday\n"
    )
    assert pages["USER.md"].layer == "user"
    assert pages["MEMORY.md"].text == (
        "# Memory\n\n## project/garden\n<!-- The garden -->\n\n- Beds face south\n"
    )
    assert pages["reference/birds.md"].text == LETTA["reference/birds.md"]
    assert [entry.source for entry in content.left_out] == ["skills/"]


def test_the_folder_of_an_agent_has_more_than_memory(tmp_path: Path) -> None:
    """Worktrees beside the memory are named, and not read."""
    files = {f"memory/{name}": text for name, text in LETTA.items()}
    files["memory-worktrees/reflection-1/system/persona.md"] = "draft\n"
    files["settings.json"] = "{}\n"
    content = letta.read(SourceFolder(str(write_tree(tmp_path, files))))
    reasons = {entry.source: entry.reason for entry in content.left_out}
    assert reasons["memory-worktrees/"] == "it is outside the memory folder"
    assert reasons["settings.json"] == "it is outside the memory folder"
    assert "draft" not in "".join(page.text for page in content.pages)


def test_a_home_has_the_memory_of_every_agent(tmp_path: Path) -> None:
    """Agents of a server and of the own backend; what else is there is named, and not read."""
    home = tmp_path / ".letta"
    write_tree(home, {"settings.json": "{}\n", "projects/a/settings.json": "{}\n"})
    assert letta.detect(SourceFolder(str(home))) == "projects/"  # it is not that of Claude Code
    write_tree(home / "agents/agent-1/memory", LETTA)
    local = {"system/persona.md": "---\ndescription: Who\n---\n\nI am Wren.\n"}
    backend = write_tree(home / "lc-local-backend", {"agents/x.json": "{}\n"})
    write_tree(backend / "memfs/agent-local-2/memory", local)
    content = letta.read(SourceFolder(str(home)))
    souls = {page.agent: page.text for page in content.pages if page.filename == "SOUL.md"}
    assert souls == {
        "agent-1": "<!-- Who I am -->\n\nI am Lark, and I sing.\n",
        "agent-local-2": "<!-- Who -->\n\nI am Wren.\n",
    }
    assert {page.agent for page in content.pages} == set(souls)
    reasons = {entry.source: entry.reason for entry in content.left_out}
    outside = {"settings.json", "projects/", "lc-local-backend/agents/"}
    assert {source for source, reason in reasons.items() if "outside" in reason} == outside
    for inner, agents in (("lc-local-backend", 1), ("lc-local-backend/memfs", 1), ("agents", 1)):
        folder = SourceFolder(str(home / inner))
        assert letta.detect(folder), inner
        assert len({page.agent for page in letta.read(folder).pages}) == agents
    assert letta.detect(SourceFolder(str(backend / "memfs/agent-local-2"))) == (
        "memory/system/persona.md"
    )


def test_blocks_in_folders_alone_are_recognized(tmp_path: Path) -> None:
    """An agent that sorts its memory may leave no block directly in `system`."""
    write_tree(tmp_path, {"system/human/prefs/code.md": "Short functions.\n"})
    folder = SourceFolder(str(tmp_path))
    assert letta.detect(folder) == "system/human/prefs/code.md"
    [page] = letta.read(folder).pages
    assert (page.layer, page.text) == ("user", "# User\n\n## human/prefs/code\nShort functions.\n")


def test_a_block_that_cannot_be_a_section_has_a_page_of_its_own(tmp_path: Path) -> None:
    """A comment that never ends would swallow it; the other blocks come all the same."""
    blocks = {
        "system/human.md": "<!-- a note\n",
        "system/human/deep.md": "Ines sings.\n",
        "system/project.md": "- Beds face south\n",
    }
    pages = {
        page.filename: page
        for page in letta.read(SourceFolder(str(write_tree(tmp_path, blocks)))).pages
    }
    assert pages["system/human/deep.md"].text == "Ines sings.\n"
    assert pages["system/human/deep.md"].layer == "user"
    assert pages["system/human/deep.md"].note.startswith("it is no section of USER.md: ")
    assert pages["USER.md"].text == "<!-- a note\n"
    assert pages["MEMORY.md"].text.endswith("## project\n- Beds face south\n")
