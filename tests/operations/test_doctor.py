"""The doctor finds what is wrong, says what to do, and changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from looseleaf import Change, Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.page_checks import Finding
from looseleaf.operations.doctor import check_workspace
from tests.stores.mounts import mount_disk


def faults(workspace: Workspace, *, verify: bool = True) -> list[Finding]:
    """Return what is not ok."""
    return [
        item for item in check_workspace(workspace.context, verify=verify) if item.status != "ok"
    ]


def files(root: str) -> dict[str, int]:
    """Return every file of a folder with its time."""
    return {str(path): path.stat().st_mtime_ns for path in Path(root).rglob("*") if path.is_file()}


def test_a_sound_workspace_has_no_faults(workspace: Workspace) -> None:
    """And is as it was, afterwards."""
    before = files(workspace.root)
    assert faults(workspace) == []
    assert files(workspace.root) == before
    checks = {item.check for item in check_workspace(workspace.context, verify=True)}
    assert checks >= {"python", "locks", "file system", "permissions", "leftovers", "agents"}
    assert "pages" in checks


def test_what_others_may_read_is_named(workspace: Workspace) -> None:
    """With the command that ends it."""
    Path(workspace.root, "agents/ada/SOUL.md").chmod(0o644)
    (found,) = faults(workspace, verify=False)
    assert (found.check, found.status) == ("permissions", "warning")
    assert "agents/ada/SOUL.md" in found.detail
    assert "chmod" in found.advice


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_for_root_the_owner_is_that_of_the_workspace(workspace: Workspace) -> None:
    """Root may look after a service's workspace; a file that the service cannot use is named."""
    for path in (Path(workspace.root), *Path(workspace.root).rglob("*")):
        os.chown(path, 4711, 4711)
    assert faults(workspace, verify=False) == []
    os.chown(Path(workspace.root, "agents/ada/SOUL.md"), 0, 0)
    (finding,) = faults(workspace, verify=False)
    assert "agents/ada/SOUL.md" in finding.detail
    assert "4711" in finding.advice


def test_a_folder_that_no_agent_can_have_is_named(workspace: Workspace) -> None:
    """A folder copied from elsewhere would else be left out without a word."""
    Path(workspace.root, "agents/Ada Two").mkdir(mode=0o700)
    (finding,) = faults(workspace, verify=False)
    assert (finding.check, finding.status) == ("agents", "warning")
    assert "agents/Ada Two" in finding.detail
    assert "Rename" in finding.advice


def test_a_damaged_record_is_a_fault(workspace: Workspace) -> None:
    """Others are still checked."""
    workspace.agents.create("bob")
    workspace.agents.create("eve")
    Path(workspace.root, "agents/bob/agent.json").write_text("{")
    record = Path(workspace.root, "agents/eve/agent.json")
    config = json.loads(record.read_text()) | {"config": {"memory_policy": {"mode": "x"}}}
    record.write_text(json.dumps(config))
    found = faults(workspace, verify=False)
    assert [item.detail.partition(":")[0] for item in found] == ["bob", "eve"]
    assert {item.status for item in found} == {"fault"}


def test_the_pages_that_a_deleted_agent_leaves_are_no_fault(workspace: Workspace) -> None:
    """They wait for it to be restored; a record that is damaged is another matter."""
    invoke(workspace.context, "looseleaf/create-agent", {"slug": "bob"})
    invoke(workspace.context, "looseleaf/delete-agent", {"agent": "bob"})
    assert Path(workspace.root, "agents/bob/MEMORY.md").exists()
    assert faults(workspace) == []
    Path(workspace.root, "agents/bob/agent.json").write_text("{")
    assert "agents" in [item.check for item in faults(workspace, verify=False)]


@pytest.mark.parametrize(
    ("before", "after"),
    [('"active",', '"active"<'), ("active", "actiwe"), ('"created": "2', '"created": "r')],
)
def test_a_flipped_bit_in_a_record_is_a_fault(
    workspace: Workspace, before: str, after: str
) -> None:
    """Also one that does not keep the agent from being found."""
    record = Path(workspace.root, "agents/ada/agent.json")
    record.write_text(record.read_text().replace(before, after))
    assert "agents" in {item.check for item in faults(workspace, verify=False)}


def test_an_agent_that_is_gone_is_missed(workspace: Workspace) -> None:
    """One that was deleted is not."""
    workspace.agents.create("bob")
    workspace.agents.create("eve")
    invoke(workspace.context, "looseleaf/delete-agent", {"agent": "eve"})
    assert faults(workspace, verify=False) == []
    shutil.rmtree(Path(workspace.root, "agents/bob"))
    (found,) = faults(workspace, verify=False)
    assert (found.check, found.status) == ("agents", "fault")
    assert "bob was there and is gone" in found.detail


def test_a_page_that_is_gone_is_missed(workspace: Workspace) -> None:
    """A core page; and a history that is gone, of any page."""
    scope = workspace.agents.resolve("ada").shelf.page("n.md")
    workspace.pages.write(scope, "one\n", change=workspace.context.change("write"))
    shutil.rmtree(Path(workspace.root, ".looseleaf/history/agent-1/n.md"))
    Path(workspace.root, "agents/ada/SOUL.md").unlink()
    details = [item.detail for item in faults(workspace) if item.check == "pages"]
    assert any("n.md in the pages of agent ada: its history is missing" in item for item in details)
    assert any("SOUL.md in the pages of agent ada: the page is missing" in item for item in details)


def test_verifying_reads_every_version(workspace: Workspace) -> None:
    """A version whose bytes are not what was written is a fault, and so is a damaged log."""
    scope = workspace.agents.resolve("ada").shelf.page("n.md")
    for text in ("one\n", "two\n", "three\n"):
        workspace.pages.write(scope, text, change=workspace.context.change("write"))
    folder = Path(workspace.root, ".looseleaf/history/agent-1/n.md")
    log = folder / "log"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.pop("redo", None)
        line.pop("sum")
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert faults(workspace) == []
    (folder / "1").write_text("eno\n")
    assert faults(workspace, verify=False) == []
    found = faults(workspace)
    assert {item.check for item in found} == {"pages"}
    assert "revision 1" in found[0].detail
    log.write_text("damaged\n")
    assert "damaged" in faults(workspace)[0].detail


def test_a_damaged_index_is_to_be_deleted(workspace: Workspace) -> None:
    """It is made anew."""
    index = Path(workspace.root, ".looseleaf/index/agent-1.sqlite")
    index.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(index)) as made:
        made.execute("CREATE TABLE pages (name TEXT)")
        made.executemany("INSERT INTO pages VALUES (?)", [("n" * 500,)] * 100)
        made.commit()
    index.chmod(0o600)
    assert faults(workspace, verify=False) == []
    content = bytearray(index.read_bytes())
    content[8_192:12_288] = b"\xff" * 4_096
    index.write_bytes(content)
    (found,) = faults(workspace, verify=False)
    assert (found.check, found.status) == ("index", "fault")
    assert "Delete" in found.advice


def test_unfinished_writes_are_named(workspace: Workspace) -> None:
    """Until the next write clears them."""
    left = Path(workspace.root, ".looseleaf/staging/agent-1:n.md")
    left.touch(mode=0o600)
    (found,) = faults(workspace, verify=False)
    assert (found.check, found.status) == ("leftovers", "warning")


def test_a_disk_that_takes_no_writes_is_a_fault(tmp_path: Path) -> None:
    """Found by a trial, not by the first write that matters."""
    with mount_disk(tmp_path / "small") as small:
        workspace = Workspace.create(small / "root", agent="ada")
        with (small / "filling").open("wb", buffering=0) as filling, suppress(OSError):
            while True:  # until the disk is full
                filling.write(b"x" * 4_096)
        found = [item for item in faults(workspace, verify=False) if item.status == "fault"]
        assert [item.check for item in found] == ["file system"]
        assert "a trial write failed" in found[0].detail
        assert not list(Path(workspace.root, ".looseleaf").glob("doctor-*"))
        workspace.close()


@pytest.mark.parametrize(
    ("path", "damage"),
    [
        ("agents/ada/agent.json", b"{"),
        ("agents/register.json", b"{"),
        (".looseleaf/history/agent-1/.pages", b"\xffSOUL.m`\n"),
        (".looseleaf/history/agent-1/MEMORY.md/log", b'{"revision":"\xff'),
        (".looseleaf/audit-end", b"\xff"),
    ],
)
def test_one_damaged_file_stops_no_other_check(
    workspace: Workspace, path: str, damage: bytes
) -> None:
    """What cannot be read is a fault, and the doctor goes on to the end."""
    invoke(workspace.context, "looseleaf/create-user", {"login": "eve"})
    invoke(
        workspace.context, "datamachine/append-agent-file", {"file": "MEMORY.md", "content": "a"}
    )
    names = {finding.check for finding in check_workspace(workspace.context, verify=True)}
    with open(f"{workspace.root}/{path}", "wb") as file:
        file.write(damage + b"\n")
    findings = check_workspace(workspace.context, verify=True)
    assert names - {finding.check for finding in findings} <= {"hooks"}
    assert any(item.status == "fault" for item in findings)


def test_a_database_that_is_gone_is_missed(workspace: Workspace) -> None:
    """The end of its audit is noted outside it, so its loss is not taken for a beginning."""
    invoke(workspace.context, "looseleaf/create-user", {"login": "eve"})
    workspace.close()
    assert faults(Workspace.open(workspace.root), verify=False) == []
    for file in Path(workspace.root, ".looseleaf").glob("looseleaf.db*"):
        file.unlink()
    (fault,) = faults(Workspace.open(workspace.root), verify=False)
    assert (fault.check, fault.status) == ("accounts", "fault")


@pytest.mark.parametrize("with_files", [True, False])
def test_histories_of_deleted_agents_are_verified(workspace: Workspace, with_files: bool) -> None:  # noqa: FBT001
    """They can be restored; so can their pages, wherever the deletion has put them."""
    page = workspace.agents.create("bob").shelf.page("notes.md")
    for number in range(3):
        workspace.pages.write(page, f"version {number}\n", change=Change())
    workspace.agents.remove("bob", files=with_files)
    assert faults(workspace) == []
    root = Path(workspace.root)
    version = root / ".looseleaf/history/agent-2/notes.md/1"
    present = root / (".looseleaf/deleted/2-bob" if with_files else "agents/bob") / "notes.md"
    for path, detail in ((version, "revision 1: its file is damaged"), (present, "one bit of it")):
        before = path.read_bytes()
        path.write_bytes(bytes([before[0] ^ 1]) + before[1:])
        assert any(detail in item.detail for item in faults(workspace))
        path.write_bytes(before)


def test_the_folder_of_a_deleted_agent_may_have_another_one(workspace: Workspace) -> None:
    """The history of the first one is verified all the same, and not compared with the other."""
    page = workspace.agents.create("bob").shelf.page("notes.md")
    for number in range(3):
        workspace.pages.write(page, f"version {number}\n", change=Change())
    workspace.agents.remove("bob", files=False)
    record = json.loads(Path(workspace.root, ".looseleaf/deleted/2-bob/agent.json").read_text())
    other = Path(workspace.root, "agents/bob")
    (other / "agent.json").write_text(json.dumps({**record, "id": 3}))
    (other / "notes.md").write_text("of another agent\n")
    assert not [item for item in faults(workspace) if item.check == "pages"]
    Path(workspace.root, ".looseleaf/history/agent-2/notes.md/1").write_bytes(b"x")
    assert [item for item in faults(workspace) if item.check == "pages"]


def test_many_pages_that_a_hook_leaves_out_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finding stays readable; prompt check names all of them."""
    (tmp_path / "many_pages.py").write_text(
        "from looseleaf import hookimpl\n\n\n@hookimpl\ndef register_files(files):\n"
        "    for number in range(40):\n"
        "        files.register(f'page-{number:02}.md', 40 + number, layer='shared')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    root = tmp_path / "memory"
    Workspace.create(root)
    with (root / "looseleaf.toml").open("a") as file:
        file.write('plugins = ["many_pages"]\n')
    for number in range(40):
        page = root / "shared" / f"page-{number:02}.md"
        page.write_text("# Page\n\n" + "many words\n" * 100)
        page.chmod(0o600)
    with Workspace.open(root) as workspace:
        details = [found.detail for found in faults(workspace, verify=False)]
    (detail,) = [detail for detail in details if "a hook may print" in detail]
    assert "more" in detail
    assert len(detail) < 300
