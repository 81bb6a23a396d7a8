"""One way in: the hot way and click give the same answer, and every end has its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from looseleaf import __version__
from looseleaf.cli import fast_read
from looseleaf.cli.command_line import run as through_click
from tests.cli.fixtures import COMMAND, Run
from tests.cli.walk import EVERY

# What a plain read may import besides Looseleaf: all of it built in or small.
ALLOWED = {"__future__", "_operator", "errno", "fcntl", "itertools"}
ALLOWED |= {"gc", "math", "operator", "unicodedata"}
FORBIDDEN = {"argparse", "click", "dataclasses", "hashlib", "json", "logging", "pathlib", "re"}
FORBIDDEN |= {"datetime", "importlib.metadata", "pluggy", "sqlite3", "tomllib", "typing"}
# What changes pages or knows their history; reading a page needs none of it.
CHANGING = {
    "locked_page",
    "page_changes",
    "discard",
    "splice",
    "history.revisions",
    "history.notes",
}

NAMES = ["State", "Lessons", "State"]
SAME = (
    "memory read",
    "memory read MEMORY.md",
    "memory read memory.MD",
    "memory read Lessons",
    "memory read MEMORY.md Lessons",
    "memory read --raw",
    "memory read --raw=yes",
    "memory read State",
    "memory read State --position 3",
    "memory read --position=1",
    "memory read --position 9",
    "memory read --position 0",
    "memory read --position -1",
    "memory read --position ٣",
    "memory read --position x",
    "memory read --position",
    "memory read Nope",
    "memory read nope.md",
    "memory read ../up.md",
    "memory read Not-a-page Section",
    "memory read a b c",
    "memory read -5",
    "memory read -- --raw",
    "memory read -h",
    "memory read --help",
    "memory read --agent main",
    "memory read --agent=1",
    "memory read --agent nobody",
    "memory read --agent= ",
    "memory read --agent",
    "memory read --agnet main",
    "memory read USER.md --user 1",
    "memory read USER.md --user 7",
    "memory read USER.md --user x",
    "memory read RULES.md --layer shared",
    "memory read MEMORY.md --layer shared",
    "memory read --layer bogus",
    "memory read --as-of 1",
    "memory read --as-of 99",
    "memory read --as-of yesterday",
    "memory read --as-of 2000-01-01",
    "memory read --root /nowhere",
    "--root /nowhere memory read",
    "memory --agent main read --agent nobody",
    "memory read --format table",
    "memory read --format json",
    "memory read --format yaml",
    "memory read --actor ada",
)


@pytest.mark.parametrize("line", SAME)
def test_the_hot_way_and_click_give_the_same_answer(line: str, run: Run, page: Path) -> None:
    """The same bytes, the same message, the same exit code."""
    assert page.exists()
    words = line.split(" ")
    assert run(*words) == run(*words, way=through_click)


def test_plain_reads_take_the_hot_way(page: Path) -> None:
    """And what is not plain does not."""
    assert page.exists()
    plain = ["", "MEMORY.md", "x.md Y", "--agent main", "--as-of 1", "--raw --user=1 --layer agent"]
    assert [fast_read.read(line.split()) is not None for line in plain] == [True] * len(plain)
    other = ["--help", "-h", "--format json", "--bogus", "a b c", "--position x", "--agent"]
    assert [fast_read.read(line.split()) for line in other] == [None] * len(other)


def test_a_plain_read_imports_next_to_nothing(root: Path) -> None:
    """Every module is on a list; a framework, a parser or a database is not."""
    script = (
        "import sys; before = set(sys.modules); from looseleaf.cli import main; "
        "code = main(['memory', 'read', 'MEMORY.md']); "
        "print('\\n', *sorted(set(sys.modules) - before)); sys.exit(code)"
    )
    bare = [sys.executable, "-c", script]
    done = subprocess.run(bare, cwd=root, capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.splitlines()[-1].split() if "looseleaf" not in name}
    assert not loaded & FORBIDDEN
    assert loaded <= ALLOWED, f"new in a cold start: {loaded - ALLOWED}"
    ours = set(done.stdout.splitlines()[-1].split()) - loaded
    assert not ours & {f"looseleaf.stores.disk.{name}" for name in CHANGING}
    assert "looseleaf.catalog.plugin_settings" not in ours


def test_a_plain_read_refuses_a_setting_that_nobody_knows(root: Path, run: Run) -> None:
    """Also without click."""
    with open(root / "looseleaf.toml", "a", encoding="utf-8") as settings:
        settings.write("\nnonsense = 1\n")
    answer = run("memory", "read")
    reason = "The setting nonsense cannot be used: looseleaf.toml has no such setting."
    assert (answer.code != 0, reason in answer.err) == (True, True)


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["memory", "--help"], ["agents"], ["memory", "daily"]]
)
def test_the_help_of_a_group_imports_no_operation(words: list[str], root: Path) -> None:
    """It is a list of names and summaries."""
    script = (
        "import sys; from looseleaf.cli import main; code = main(sys.argv[1:]); "
        "print(*sorted(name for name in sys.modules if 'looseleaf' in name)); sys.exit(code)"
    )
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not {
        name for name in loaded if name.startswith(("looseleaf.operations", "looseleaf.stores"))
    }


@pytest.mark.parametrize("line", ["--version", "--root x --version", "memory read --version"])
def test_the_version_is_the_package_s(line: str, run: Run) -> None:
    """One line that a program can read, wherever it was asked for."""
    assert run(*line.split()).text == f"looseleaf {__version__}\n"


@pytest.mark.parametrize(
    "words", [[], ["memory"], ["agents"], ["memory", "daily"], ["-h"], ["memory", "-h"]]
)
def test_a_group_alone_shows_its_help(words: list[str], run: Run) -> None:
    """On standard output, and that is no error."""
    answer = run(*words)
    assert (answer.code, answer.err) == (0, "")
    assert answer.text.startswith("Usage: looseleaf")
    assert "Commands:" in answer.text


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("nope", 2, "looseleaf: No such command 'nope'. Try: looseleaf --help\n"),
        ("memory raed", 2, "Did you mean: looseleaf memory read? Try: looseleaf memory --help\n"),
        ("memory append State x --agnet ada", 2, "No such option '--agnet'"),
        ("memory read --as-of now", 2, "'now' is neither"),
        ("memory read none.md", 3, "There is no page none.md in the pages of agent main.\n"),
        ("memory delete State", 3, "Say which one by its position"),
        ("memory delete MEMORY.md --page", 4, "Clear its content instead"),
        ("memory clear MEMORY.md --if-match abc", 5, "has changed: expected version abc"),
        ("--root /nowhere memory files", 3, "Only for a new one: looseleaf init /nowhere"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(
    line: str, code: int, said: str, run: Run, page: Path
) -> None:
    """It says what to do, on standard error, and never shows a traceback."""
    assert page.exists()
    answer = run(*line.split())
    assert (answer.code, answer.out) == (code, b"")
    assert said in answer.err
    assert answer.err.startswith("looseleaf: ")
    assert answer.err.count("\n") == 1


def test_a_page_that_another_process_holds_is_unavailable(run: Run, root: Path) -> None:
    """So is one that cannot be read at all."""
    (root / "agents" / "main" / "agent.json").write_text("{")
    answer = run("memory", "files")
    assert answer.code == 6
    assert "damaged" in answer.err


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        (
            "memory read X --format json",
            3,
            {"code": "section_missing", "name": "X", "available": NAMES},
        ),
        (
            "memory read x.md --format=json",
            3,
            {"code": "page_missing", "file": "x.md", "candidates": []},
        ),
        ("memory read --bogus --format json", 2, {"code": "usage"}),
        ("--format json memory delete SOUL.md --page", 4, {"code": "protected", "file": "SOUL.md"}),
    ],
)
def test_an_error_is_json_where_json_was_asked_for(
    line: str, code: int, error: dict[str, object], run: Run, page: Path
) -> None:
    """On standard error, so that standard output holds the answer or nothing."""
    assert page.exists()
    answer = run(*line.split())
    assert (answer.code, answer.out) == (code, b"")
    found = answer._replace(out=answer.err.encode()).json["error"]
    assert found.pop("message")
    assert found == error


def test_python_m_looseleaf_is_the_same_command(start: Run, page: Path) -> None:
    """For those who have no script on their path."""
    assert start("memory", "read", "Lessons").out == b"- two"
    assert page.exists()


@pytest.mark.parametrize(
    "words",
    [["memory", "read", "big.md"], ["memory", "read", "big.md", "--format", "json"], ["--help"]],
)
def test_a_reader_that_leaves_is_no_error(words: list[str], root: Path) -> None:
    """`| head` gets its line, and nothing is said."""
    (root / "agents" / "main" / "big.md").write_bytes(b"- a line\n" * 100_000)
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *words], stdout=pipe, stderr=pipe) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        assert (running.wait(timeout=30), running.stderr.read()) == (141, b"")


@pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="Linux has a device that is always full"
)
@pytest.mark.parametrize("words", [["memory", "read"], ["memory", "files"], ["--help"]])
def test_output_that_cannot_be_written_is_reported(words: list[str], root: Path) -> None:
    """An answer that did not arrive is not a success."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=root,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 6
    assert done.stderr == "looseleaf: The output is not available: No space left on device.\n"


def test_ctrl_c_ends_without_a_traceback(on_terminal: Run) -> None:
    """With the exit code shells expect."""
    answer = on_terminal("memory", "append", "State", "-", prompt=b"Ctrl-D", keys=b"\x03")
    assert answer.code == 130
    assert "Traceback" not in answer.text


def test_an_interrupt_in_a_pipe_ends_without_a_traceback(root: Path) -> None:
    """If there is no terminal either."""
    running = subprocess.Popen(
        [*COMMAND, "memory", "append", "State", "-"],
        cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    for _ in range(60):
        if running.poll() is None:
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, b"", b"")


def starts(*words: str, times: int) -> float:
    """Return how many starts of Python one of a command takes, by the least processor time of each.

    In turns: other programs do not take the time, but they slow both down while they run.
    """
    ours, bare = [], []
    for _ in range(times):
        ours.append(_spent("-m", "looseleaf", *words))
        bare.append(_spent("-c", "pass"))
    return min(ours) / min(bare)


def _spent(*words: str) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_a_cold_read_takes_at_most_three_starts_of_python(root: Path) -> None:
    """What an agent does most often is cheap."""
    assert root.exists()
    assert starts("memory", "read", "MEMORY.md", times=15) <= 3


@pytest.mark.slow
def test_help_takes_at_most_eight_starts_of_python(root: Path) -> None:
    """For every command there is."""
    assert root.exists()
    for path, _, _ in EVERY:
        taken = starts(*path, "--help", times=5)
        assert taken <= 8, f"{' '.join(path)} --help: {taken:.1f} starts"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "memory read",
            "memory append State x",
            "memory files",
            "status",
            "doctor",
            "agents list",
        ),
        *("agents create bob", "memory daily write x", "prompt show", "settings list", "jobs list"),
        *("backup", "work --drain", "serve --port 0", "memory compose", "chat hello"),
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_no_command_makes_a_workspace_where_a_disk_may_be_missing(
    line: str, run: Run, tmp_path: Path, *, is_there: bool
) -> None:
    """An unmounted disk looks like this; both possibilities are named, and nothing is written."""
    root = tmp_path / "mnt" / "memory"
    (root if is_there else root.parent).mkdir(parents=True)
    answer = run("--root", str(root), *line.split())
    assert answer.code == 3, answer.err
    assert "mount its disk and try again" in answer.err
    assert f"looseleaf init {root}" in answer.err
    assert root.exists() is is_there
    assert not is_there or not list(root.iterdir())
