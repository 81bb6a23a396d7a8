"""Pages and sections from the command line, in every shape it takes."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.cli.fixtures import Answer, Run

SAVED = {"file", "section", "hash", "bytes", "revision", "previous", "changed", "warnings"}


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_read_prints_the_page_the_section_or_the_section_of_a_page(run: Run, page: Path) -> None:
    """One name is told by its ending; no name is MEMORY.md."""
    assert run("memory", "read").out == page.read_bytes()
    assert run("memory", "read", "MEMORY.md").out == page.read_bytes()
    assert run("memory", "read", "Lessons").out == b"- two"
    assert run("memory", "read", "MEMORY.md", "Lessons").out == b"- two"
    assert run("memory", "read", "State", "--position", "3").out == b"- three"


def test_read_gives_a_program_all_there_is_to_know(run: Run, page: Path) -> None:
    """The hash is the page's, for --if-match."""
    document = run("memory", "read", "Lessons", "--format", "json").json
    assert document.pop("updated").endswith("Z")
    assert document == {
        "file": "MEMORY.md",
        "layer": "agent",
        "section": "Lessons",
        "position": None,
        "as_of": None,
        "content": "- two",
        "hash": sha(page),
        "bytes": page.stat().st_size,
    }


def test_read_as_of_says_what_it_said(run: Run, page: Path) -> None:
    """By revision or by time."""
    before = page.read_bytes()
    run("memory", "write", "MEMORY.md", "--page", "new")
    revisions = run("memory", "history", "MEMORY.md", "--format", "json").json["revisions"]
    assert run("memory", "read", "--as-of", str(revisions[1]["number"])).out == before
    document = run("memory", "read", "--as-of", revisions[0]["time"], "--format", "json").json
    assert (document["content"], document["updated"]) == ("new", None)


def test_sections_are_listed_with_their_place(run: Run, page: Path) -> None:
    """For people, for programs, and for a page without any."""
    assert run("memory", "sections").text.splitlines()[:2] == [
        "POSITION  NAME     LINE  BYTES",
        "       1  State       3      5",
    ]
    document = run("memory", "sections", "--file", "MEMORY.md", "--format", "json").json
    assert document["sections"][1] == {"position": 2, "name": "Lessons", "line": 7, "bytes": 5}
    page.write_text("plain")
    assert run("memory", "sections", "MEMORY.md").text == "MEMORY.md has no sections.\n"
    assert run("memory", "sections", "a.md", "--file", "b.md").code == 2


@pytest.mark.parametrize(
    ("words", "stdin", "section"),
    [
        (["New", "- fact"], b"", "New"),
        (["MEMORY.md", "New", "- fact"], b"", "New"),
        (["New", "-"], b"- fact\n", "New"),
        (["New", "--from-file", "fact.txt"], b"", "New"),
        (["New", "--from-file", "-"], b"- fact", "New"),
        (["MEMORY.md", "New", "--from-file=fact.txt"], b"", "New"),
        (["--mode", "append", "New", "- fact"], b"", "New"),
        (["Lessons", "- fact"], b"", "Lessons"),
        (["--position", "2", "- fact"], b"", "Lessons"),
        (["MEMORY.md", "--position", "2", "- fact"], b"", "Lessons"),
        (["Lessons", "--position", "2", "--", "- fact"], b"", "Lessons"),
    ],
)
def test_write_sets_one_section(
    words: list[str], stdin: bytes, section: str, run: Run, page: Path
) -> None:
    """Of MEMORY.md or of another page, from an argument, a file or standard input."""
    Path("fact.txt").write_text("- fact\n")
    answer = run("memory", "write", *words, stdin=stdin)
    assert (answer.code, answer.err) == (0, "")
    assert run("memory", "read", section).out == b"- fact"
    assert run("memory", "read", "State", "--position", "1").out == b"- one"
    assert page.read_text().endswith("\n")


@pytest.mark.parametrize(
    "content", ["- New fact", "---", "-5", "-x", "--5", "-", "-- what --", "-h"]
)
def test_content_that_begins_with_a_dash_is_content(content: str, run: Run, page: Path) -> None:
    """Without any quoting tricks; only - alone means standard input."""
    assert page.exists()
    answer = run("memory", "write", "Dash", content, stdin=b"from stdin")
    assert answer.code == 0
    wanted = "from stdin" if content == "-" else content
    assert run("memory", "read", "Dash").text == wanted


def test_what_looks_like_an_option_is_content_after_two_dashes(run: Run, page: Path) -> None:
    """And an error before them, even if content is expected."""
    before = page.read_bytes()
    assert run("memory", "append", "Lessons", "--agnet").code == 2
    assert page.read_bytes() == before
    assert run("memory", "append", "Lessons", "--", "--agnet").code == 0
    assert run("memory", "read", "Lessons").text == "- two\n--agnet"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["write", "MEMORY.md", "text"], "Which section of MEMORY.md?"),
        (["write", "MEMORY.md", "--from-file", "fact.txt"], "Which section of MEMORY.md?"),
        (["write", "State"], "The content is missing"),
        (["write"], "Missing content"),
        (["write", "State", "Lessons", "text"], "'State' is not a page"),
        (["write", "a.md", "b", "c", "d"], "Too many arguments"),
        (["write", "State", "text", "--from-file", "fact.txt"], "The content is given twice"),
        (["write", "a.md", "b", "text", "--from-file", "fact.txt"], "The content is given twice"),
        (["write", "State", "-", "--from-file", "fact.txt"], "cannot both be the content"),
        (["write", "State", "--from-file", "none.txt"], "'none.txt' cannot be read: No such file"),
        (["write", "State", "--from-file", "."], "'.' cannot be read: Is a directory"),
        (["write", "State", "text", "--mode", "append", "--if-match", "x"], "replaces nothing"),
        (["write", "State", "--page", "text"], "--page means a whole page"),
        (["write", "a.md", "b", "--page", "text"], "--page means a whole page"),
        (["write", "a.md", "--page", "--position", "1", "text"], "--page means a whole page"),
        (["write", "State", "text", "--mode", "prepend"], "'prepend' is not one of"),
        (["append", "text"], "or looseleaf remember text"),
        (["append", "State", "Lessons", "text"], "'State' is not a page"),
        (["append", "a.md", "--if-match", "x", "text"], "No such option '--if-match'"),
        (["delete"], "Which section?"),
        (["delete", "MEMORY.md"], "add --page for all of it"),
        (["delete", "State", "Lessons"], "'State' is not a page"),
        (["clear"], "Missing argument"),
    ],
)
def test_a_wrong_shape_is_refused_with_a_reason(
    words: list[str], said: str, run: Run, page: Path
) -> None:
    """And nothing is written."""
    Path("fact.txt").write_text("- fact\n")
    before = page.read_bytes()
    answer = run("memory", *words, stdin=b"stdin")
    assert answer.code == 2
    assert said in answer.err
    assert page.read_bytes() == before


def test_a_whole_page_is_written_exactly(run: Run, root: Path) -> None:
    """To the byte: no newline is added and none is changed."""
    for content in (b"no end", b"a\r\nb\r\n", "ü\u202e\x1b".encode()):
        assert run("memory", "write", "notes.md", "--page", "-", stdin=content).code == 0
        assert (root / "agents" / "main" / "notes.md").read_bytes() == content


def test_if_match_guards_a_whole_page(run: Run, page: Path) -> None:
    """Only the version one has read is replaced, cleared or deleted; absent means none."""
    assert run("memory", "write", "n.md", "--page", "1", "--if-match", "absent").code == 0
    assert run("memory", "write", "n.md", "--page", "2", "--if-match", "absent").code == 5
    old = sha(page)
    assert run("memory", "write", "MEMORY.md", "--page", "2", "--if-match", old).code == 0
    answer = run("memory", "clear", "MEMORY.md", "--if-match", old, "--format", "json")
    assert answer.code == 5
    error = answer._replace(out=answer.err.encode()).json["error"]
    assert (error["expected"], error["actual"]) == (old, sha(page))
    assert run("memory", "delete", "n.md", "--page", "--if-match", old).code == 5


def test_a_change_is_told_in_one_calm_line(run: Run, page: Path) -> None:
    """What was done, where, and what the page is now."""
    assert run("memory", "append", "Lessons", "- more").text == (
        f'Appended to "Lessons" in MEMORY.md (revision 3, {page.stat().st_size} bytes).\n'
    )
    assert run("memory", "write", "Lessons", "- two").text.startswith(
        'Set "Lessons" in MEMORY.md ('
    )
    assert run("memory", "write", "Lessons", "- two").text.startswith(
        "MEMORY.md says so already; nothing changed ("
    )
    assert run("memory", "delete", "--position", "3").text.startswith(
        "Deleted section 3 in MEMORY.md ("
    )
    assert run("memory", "clear", "MEMORY.md").text == "Cleared MEMORY.md (revision 6, 0 bytes).\n"
    assert (
        run("memory", "write", "n.md", "--page", "x").text == "Wrote n.md (revision 1, 1 byte).\n"
    )
    assert run("memory", "delete", "n.md", "--page").text == (
        "Deleted n.md (revision 2; its text stays in the history).\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["write", "S", "x"],
        ["write", "n.md", "--page", "x"],
        ["append", "S", "x"],
        ["append", "n.md", "x"],
        ["delete", "Lessons"],
        ["clear", "MEMORY.md"],
    ],
)
def test_a_change_tells_a_program_the_same_keys(words: list[str], run: Run, page: Path) -> None:
    """Whatever the change was."""
    assert page.exists()
    document = run("memory", *words, "--format", "json").json
    assert document.keys() == SAVED
    assert document["changed"] is True


def test_a_deleted_page_tells_a_program_its_last_hash(run: Run, root: Path) -> None:
    """So that it can be found again."""
    run("memory", "write", "n.md", "--page", "x")
    last = sha(root / "agents" / "main" / "n.md")
    document = run("memory", "delete", "n.md", "--page", "--format", "json").json
    assert document == {"file": "n.md", "previous": last, "revision": 2}


def test_append_to_a_page_adds_a_line_at_its_end(run: Run, root: Path) -> None:
    """A page that is not there is made; --page says the same aloud."""
    run("memory", "append", "log.md", "- one")
    run("memory", "append", "log.md", "--page", "- two")
    run("memory", "write", "log.md", "--page", "--mode", "append", "- three")
    run("memory", "append", "log.md", "-", stdin=b"- four\n")
    run("memory", "append", "log.md", "Section", "- five")
    assert (root / "agents" / "main" / "log.md").read_text() == (
        "- one\n- two\n- three\n- four\n\n## Section\n- five\n"
    )


def test_who_and_why_go_into_the_history(run: Run, page: Path) -> None:
    """Before or after the command; the operator's name is the default."""
    assert page.exists()
    run("--actor", "eve", "memory", "--reason", "- because", "append", "Lessons", "x")
    run("memory", "append", "Lessons", "y")
    newest, before, *_ = run("memory", "history", "MEMORY.md", "--format", "json").json["revisions"]
    assert (before["actor"], before["reason"], before["surface"]) == ("eve", "- because", "cli")
    assert (newest["actor"], newest["reason"], newest["surface"]) == ("tester", "", "cli")


def test_a_large_page_is_written_with_a_warning(run: Run, root: Path) -> None:
    """On standard error for people, in the document for programs."""
    big = b"x" * 9000
    answer = run("memory", "write", "big.md", "--page", "-", stdin=big)
    assert (answer.code, answer.text.count("\n")) == (0, 1)
    assert answer.err.startswith("looseleaf: warning: big.md has 9000 bytes, more than 8192")
    answer = run("memory", "append", "big.md", "y", "--format", "json")
    assert (answer.err, len(answer.json["warnings"])) == ("", 1)
    assert (root / "agents" / "main" / "big.md").stat().st_size == 9003


def test_whose_page_is_told_by_options(run: Run, root: Path) -> None:
    """An agent by slug or id, a user, a layer."""
    run("agents", "create", "ada")
    run("memory", "write", "SOUL.md", "Name", "Ada", "--agent", "ada")
    seven = run("users", "create", "seven", "--format", "json").json["id"]
    run("memory", "write", "USER.md", "Name", "Seven", "--user", str(seven))
    run("memory", "write", "notes.md", "--page", "all", "--layer", "shared")
    assert "Ada" in (root / "agents" / "ada" / "SOUL.md").read_text()
    assert run("memory", "read", "SOUL.md", "Name", "--agent", "2").text == "Ada"
    assert "Seven" in (root / "users" / str(seven) / "USER.md").read_text()
    assert (root / "shared" / "notes.md").read_text() == "all"
    ambiguous = run("memory", "read")
    assert (ambiguous.code, ambiguous.out) == (3, b"")
    assert "Which agent? Name one of: ada, main (--agent" in ambiguous.err


def test_an_empty_pipe_replaces_nothing(run: Run, page: Path) -> None:
    """The program before the pipe may have failed; on purpose it takes a flag, or a typed text."""
    before = page.read_bytes()
    for words in (["MEMORY.md", "--page", "-"], ["State", "-"], ["new.md", "--page", "-"]):
        answer = run("memory", "write", *words, stdin=b"")
        assert answer.code == 2
        assert "Standard input is empty" in answer.err
    assert page.read_bytes() == before
    for words in (["-", "--allow-shrink"], [""]):
        page.write_bytes(before)
        assert run("memory", "write", "MEMORY.md", "--page", *words, stdin=b"").code == 0
        assert page.read_bytes() == b""


def test_one_section_is_changed_only_as_the_version_that_was_read(run: Run, page: Path) -> None:
    """`--if-match` guards the page, whichever part of it is replaced."""
    before = page.read_bytes()
    for words in (["write", "State", "x"], ["delete", "State"]):
        assert run("memory", *words, "--if-match", "0" * 64).code == 5
    assert page.read_bytes() == before


def test_standard_input_that_is_no_text_is_refused(run: Run, page: Path) -> None:
    """And so is a file; the page stays as it was."""
    before = page.read_bytes()
    Path("latin.txt").write_bytes("Grüße".encode("latin-1"))
    assert "Standard input is not UTF-8" in run("memory", "write", "S", "-", stdin=b"\xff").err
    assert "latin.txt is not UTF-8" in run("memory", "write", "S", "--from-file", "latin.txt").err
    assert run("memory", "write", "S", "a\udcffb").code == 2
    assert page.read_bytes() == before


def test_content_is_read_only_when_the_rest_is_right(run: Run, page: Path) -> None:
    """Nobody types a text for a command that cannot take it."""
    assert page.exists()
    answer = run("memory", "write", "a", "b", "-", stdin=b"long text")
    assert "'a' is not a page" in answer.err


def test_typing_on_a_terminal_is_announced(on_terminal: Run, page: Path) -> None:
    """With how to end it."""
    words = ("memory", "append", "Lessons", "-")
    answer = on_terminal(*words, prompt=b"Ctrl-D", keys=b"- typed\n\x04")
    assert answer.text.startswith("Reading from the terminal; end with Ctrl-D")
    assert "- typed" in page.read_text()


@pytest.mark.parametrize("name", ["SITE.md"])
def test_a_generated_page_is_not_edited(name: str, run: Run) -> None:
    """It says how it is changed instead."""
    answer = run("memory", "append", name, "x")
    assert answer.code == 4
    assert f"looseleaf memory compose {name}" in answer.err


def test_a_fact_is_remembered_as_a_line_of_its_own(run: Run, page: Path) -> None:
    """With or without quotes and a bullet, from standard input, in a section that is named."""
    assert run("remember", "The", "shop", "runs", "PHP").code == 0
    assert run("remember", "- with a bullet").code == 0
    assert run("remember", "-", stdin=b"from a pipe\n").code == 0
    assert run("remember", "a lesson", "--section", "Lessons").code == 0
    text = page.read_text()
    assert text.endswith("## Facts\n- The shop runs PHP\n- with a bullet\n- from a pipe\n")
    assert "- two\n- a lesson\n" in text
    assert run("remember", " ").code == 2
    assert page.read_text() == text


def edit(run: Run, monkeypatch: pytest.MonkeyPatch, script: str, *words: str) -> Answer:
    """Edit a page with an editor that runs a script of the shell; its file is "$1"."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh -c {shlex.quote(script)} editor")
    return run("memory", "edit", *words)


def test_a_page_is_edited_in_the_editor(
    run: Run, page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A page or a new one; nothing is written without a change, and no copy stays behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    answer = edit(run, monkeypatch, 'sed -i.bak s/one/ONE/ "$1"')
    assert answer.text.startswith("Wrote MEMORY.md (revision ")
    assert "- ONE" in page.read_text()
    before = page.read_bytes()
    assert edit(run, monkeypatch, "true").text == "Nothing was changed.\n"
    emptied = edit(run, monkeypatch, ': > "$1"')
    assert "to empty a page: looseleaf memory clear" in emptied.text
    assert page.read_bytes() == before
    assert edit(run, monkeypatch, 'echo new > "$1"', "fresh.md").code == 0
    assert run("memory", "read", "fresh.md").text == "new\n"
    assert not list(tmp_path.glob("looseleaf-*"))


def test_an_edit_of_a_page_that_changed_meanwhile_is_kept_and_not_written(
    run: Run, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of the editor is in a file that the message names; the page has the other change."""
    script = f'echo mine >> "$1"; echo "- theirs" >> {shlex.quote(str(page))}'
    answer = edit(run, monkeypatch, script)
    assert answer.code == 5
    copy = Path(answer.err.partition("Your text is in ")[2].splitlines()[0])
    assert "mine" in copy.read_text()
    assert "mine" not in page.read_text()
    assert page.read_text().endswith("- theirs\n")
    shutil.rmtree(copy.parent)


def test_an_editor_that_fails_changes_nothing(
    run: Run, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is kept all the same."""
    before = page.read_bytes()
    answer = edit(run, monkeypatch, 'echo mine >> "$1"; exit 1')
    assert (answer.code, page.read_bytes()) == (1, before)
    copy = Path(answer.err.partition("Your text is in ")[2].splitlines()[0])
    assert "mine" in copy.read_text()
    shutil.rmtree(copy.parent)
