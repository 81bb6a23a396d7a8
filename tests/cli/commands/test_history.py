"""What pages were, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures import Run

REVISION = {
    "number", "time", "operation", "actor", "surface", "reason", "hash", "bytes", "kept", "purged",
    "actor_kind", "origin", "activity", "activity_id", "moved_from", "recovered",
}  # fmt: skip


@pytest.fixture
def told(run: Run, root: Path) -> Path:
    """Return a page that was written three times."""
    for text in ("one\n", "two\n", "three\n"):
        run("memory", "write", "n.md", "--page", text, "--reason", f"say {text.strip()}")
    return root / "agents" / "main" / "n.md"


def test_history_is_newest_first(run: Run, told: Path) -> None:
    """For people and for programs alike."""
    assert told.exists()
    lines = run("memory", "history", "n.md").text.splitlines()
    assert lines[0].split() == [
        "REVISION",
        "TIME",
        "CHANGE",
        "BYTES",
        "BY",
        "THROUGH",
        "FROM",
        "WHY",
    ]
    assert lines[1].split()[0] == "3"
    assert lines[1].endswith("write       6  tester  cli      user  say three")
    revisions = run("memory", "history", "n.md", "--format", "json").json["revisions"]
    assert [revision["number"] for revision in revisions] == [3, 2, 1]
    assert all(revision.keys() == REVISION for revision in revisions)
    assert run("memory", "history", "none.md").code == 3


def test_an_outside_edit_is_in_the_history(run: Run, told: Path) -> None:
    """Though no command made it."""
    told.write_text("by hand\n")
    assert "outside" in run("memory", "history", "n.md").text.splitlines()[1]
    assert "(outside)" in run("memory", "history", "n.md").text.splitlines()[1]


def test_the_origin_of_a_text_is_stated(run: Run, told: Path) -> None:
    """Before the command or after it; only the words that a person may say."""
    assert told.exists()
    assert run("memory", "append", "n.md", "--page", "four", "--origin", "tool").code == 0
    assert run("--origin", "import", "memory", "append", "n.md", "--page", "five").code == 0
    assert run("memory", "append", "n.md", "--page", "six", "--origin", "system").code == 2
    rows = run("memory", "history", "n.md").text.splitlines()[1:4]
    assert [row.split()[-1] for row in rows[:2]] == ["import", "tool"]
    newest = run("memory", "history", "n.md", "--format", "json").json["revisions"][0]
    assert (newest["actor_kind"], newest["origin"], newest["activity"]) == ("person", "import", "")


def test_diff_compares_versions(run: Run, told: Path) -> None:
    """The last change by default, else any two revisions or times."""
    assert told.exists()
    assert "-two\n+three\n" in run("memory", "diff", "n.md").text
    assert "-one\n+three\n" in run("memory", "diff", "n.md", "1").text
    assert "-one\n+two\n" in run("memory", "diff", "n.md", "1", "2").text
    assert (
        run("memory", "diff", "n.md", "3", "3").text == "Revisions 3 and 3 of n.md say the same.\n"
    )
    document = run("memory", "diff", "n.md", "--format", "json").json
    assert (document["before"], document["after"]) == (2, 3)
    assert document["diff"].startswith("--- n.md revision 2\n+++ n.md revision 3\n")
    assert run("memory", "diff", "n.md", "9").code == 3


def test_restore_makes_an_old_version_the_newest(run: Run, told: Path) -> None:
    """So nothing is lost."""
    answer = run("memory", "restore", "n.md", "1")
    assert answer.text == "Restored n.md as of revision 1 (revision 4, 4 bytes).\n"
    assert told.read_text() == "one\n"
    document = run("memory", "restore", "n.md", "2", "--format", "json").json
    assert (document["file"], document["revision"]) == ("n.md", 5)
    assert run("memory", "restore", "n.md", "99").code == 3
    assert run("memory", "restore", "n.md").code == 2


def test_a_deleted_page_can_be_restored(run: Run, told: Path) -> None:
    """Its text stayed in the history."""
    run("memory", "delete", "n.md", "--page")
    assert run("memory", "restore", "n.md", "3").code == 0
    assert told.read_text() == "three\n"


def test_purge_removes_one_version_for_good(run: Run, told: Path) -> None:
    """With a reason and a yes; the history says that it happened."""
    assert told.exists()
    words = ("memory", "purge", "n.md", "2")
    assert "--reason" in run(*words, "--yes").err
    refused = run(*words, "--reason", "secret")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert run("memory", "read", "n.md", "--as-of", "2").text == "two\n"
    assert run(*words, "--reason", "secret", "--yes").text == "Purged revision 2 of n.md.\n"
    assert run("memory", "read", "n.md", "--as-of", "2").code == 3
    assert "purged by tester" in run("memory", "history", "n.md").text
    document = run("memory", "purge", "n.md", "1", "--reason=x", "--yes", "--format", "json").json
    assert document == {"file": "n.md", "revision": 1, "purged": True}
    assert run("memory", "purge", "n.md", "3", "--reason=x", "--yes").code == 3


@pytest.mark.parametrize(("keys", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1), (b"\x03", 130)])
def test_purge_asks_at_a_terminal(
    keys: bytes, code: int, run: Run, told: Path, on_terminal: Run
) -> None:
    """Only a yes is a yes."""
    assert told.exists()
    words = ("memory", "purge", "n.md", "2", "--reason", "secret")
    answer = on_terminal(*words, prompt=b"[y/N]", keys=keys)
    assert answer.code == code
    assert "Remove revision 2 of n.md for good?" in answer.text
    assert (run("memory", "read", "n.md", "--as-of", "2").code == 0) is (code != 0)


def test_prune_drops_what_need_not_be_kept(run: Run, told: Path) -> None:
    """And says how much that was."""
    assert told.exists()
    assert run("memory", "prune").text == "There was nothing to drop.\n"
    document = run("memory", "prune", "--days", "0", "--format", "json").json
    assert document["dropped"] >= 2
    assert run("memory", "read", "n.md").text == "three\n"


def test_pack_puts_old_versions_into_one_file(run: Run, told: Path) -> None:
    """A dry run says the same figures and writes nothing; every version stays readable."""
    assert told.exists()
    assert run("memory", "pack").text == "There was nothing to pack.\n"
    for number in range(40):
        assert run("memory", "write", "n.md", f"version {number}\n" * 30, "--page").code == 0
    estimate = run("memory", "pack", "--dry-run", "--format", "json").json
    assert (estimate["pages"], estimate["dry_run"]) == (1, True)
    sizes = f"{estimate['file_bytes']:,} bytes of files into {estimate['pack_bytes']:,} bytes"
    versions = f"{estimate['versions']} versions of 1 page"
    assert run("memory", "pack", "--dry-run").text == f"Would pack {versions}, {sizes}.\n"
    assert run("memory", "pack").text == f"Packed {versions}, {sizes}.\n"
    assert run("memory", "read", "n.md", "--as-of", "2").text == "two\n"
    assert run("memory", "diff", "n.md", "1", "2").code == 0


def test_pack_names_the_pages_that_it_cannot_pack(run: Run, root: Path, told: Path) -> None:
    """On standard error, with exit code 1."""
    assert told.exists()
    [log] = root.glob(".looseleaf/history/*/n.md/log")
    log.write_bytes(b'{"damaged":1}\n' + log.read_bytes())
    answer = run("memory", "pack")
    assert (answer.code, "n.md" in answer.err) == (1, True)
