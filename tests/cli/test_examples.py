"""Every example in a help text works as printed, in a workspace that has what it names.

The examples come from the registry of commands, so that a new one is typed, too: each in a copy of
one prepared folder, after the commands that make what it names (`BEFORE`). A quick run types the
first example of each command.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.cli import main
from looseleaf.cli.command_line import Command
from looseleaf.cli.derived_commands import DerivedCommand
from looseleaf.memory.scope import Where
from looseleaf.operations import daily, memory
from tests.cli.fixtures import Answer, Stdin
from tests.cli.walk import LEAVES

EXAMPLES = [(found, example) for _, found in LEAVES for example in found.examples]
UNTIL_STOPPED = "it runs until it is stopped; tests of its own start and stop it"
# Examples that are not typed here, each with the reason.
NOT_TYPED = {
    "looseleaf serve": UNTIL_STOPPED,
    "looseleaf serve --port 9000 --workers 2": UNTIL_STOPPED,
    "looseleaf mcp serve --agent ada": UNTIL_STOPPED,
    "looseleaf mcp serve --tools full": UNTIL_STOPPED,
    "looseleaf work": UNTIL_STOPPED,
    "looseleaf upkeep undo --agent ada": "a compaction takes a model that keeps its rules",
}
LONG_AGO = 1_776_000_000.0  # before the days that examples name
OPENCLAW = ("AGENTS", "IDENTITY", "MEMORY", "SOUL", "TOOLS", "USER")
FILES = {
    "work/safety.md": "- Ask first\n",
    "work/notes.md": "# Notes\n",
    "work/day.md": "# A day\n",
    "work/password.txt": "a long enough password\n",
    "work/notes.txt": "new\n",
    "work/old.txt": "old\n",
    "work/style-guide.pdf": "%PDF-1.4\n",
    "work/wp-content/uploads/datamachine-files/shared/SITE.md": "# Site\n",
    "work/wp-content/uploads/datamachine-files/agents/old/MEMORY.md": "# Memory\n",
    "home/project/CLAUDE.md": "# Project\n",
    "home/code/shop/README.md": "# Shop\n",
    **{f"home/.openclaw/workspace/{name}.md": f"# {name}\n\n- one\n" for name in OPENCLAW},
}
SETTINGS = """\
default_agent = "ada"
default_model = "echo"
pipeline_transcripts = true
daily_memory_enabled = true
backup_folder = "../backups"
"""
SCENE = """
agents create bob
agents create shop
memory write notes.md --page "# Notes"
memory append notes.md "a line"
memory write style.md --page "# Style"
memory daily append "- today"
system prompt-get daily_memory_generation daily_memory > prompt.md
system run daily_memory_generation
pipelines create "Daily Music News" --step 'input={"source": "text", "text": "a"}' --step ai:Draft
pipelines create "Album Reviews" --step 'input={"source": "text", "text": "a review"}'
pipelines create Third --step ai
flows create daily-music-news Morning --schedule daily
flows create daily-music-news "Morning edition"
flows create album-reviews Monthly --schedule monthly
flows files morning --add old.txt
pipelines export daily-music-news > news.json
chat talk Hello
jobs run morning-edition
backup create
! cp -r ../backups ../mnt/backups
"""
EVE = ["users create eve"]
EXPORTED = ["bundles export ada.zip --agent ada", "bundles export ada-bundle --agent ada"]
WAITING_JOB = ["jobs run morning-edition --detach"]
GATE = ["jobs run --step webhook_gate"]
GIT = ["! git init -q ../memory"]
INSTALLED = [
    "bundles export ada-1.zip --agent ada",
    'memory write SOUL.md Rules "- theirs" --agent ada',
    "flows update morning --schedule hourly",
    "bundles export ada.zip --agent ada",
    "agents rename ada origin",
    "bundles install ada-1.zip",
    'memory write SOUL.md Context "- mine" --agent ada',
]
PENDING = [*INSTALLED, "bundles upgrade ada.zip"]
# The commands that make what examples name, by how these begin; the longest beginning counts.
BEFORE = {
    "agents create ada": ["agents rename ada origin"],
    "agents restore": ["agents delete ada --yes", "agents delete bob --yes"],
    "backup commit": GIT,
    "bundles": EXPORTED,
    "bundles export": [],
    "bundles install": [*EXPORTED, "agents rename ada origin"],
    "bundles install ada.zip --slug": EXPORTED,
    "bundles approve": PENDING,
    "bundles pending": PENDING,
    "bundles rebase": INSTALLED,
    "bundles reject": PENDING,
    "bundles show": INSTALLED,
    "bundles status": [*EXPORTED, "agents rename ada origin", "bundles install ada.zip"],
    "bundles upgrade": INSTALLED,
    "grants": EVE,
    "grants take": [*EVE, "grants give ada eve operator"],
    "jobs cancel": WAITING_JOB,
    "jobs gate": GATE,
    "jobs open-gate": GATE,
    "jobs pause": WAITING_JOB,
    "jobs resume": [*WAITING_JOB, "jobs pause 7"],
    "jobs retry": [*WAITING_JOB, "jobs cancel 7"],
    "restore": ["! cp -r ../backups backups", "! cp ../backups/*.tar ."],
    "tokens": EVE,
    "tokens revoke": [*EVE, "tokens create --user eve --can chat"],
    "users show": EVE,
    "users update": EVE,
}
# Ids and names of files that examples have and that nobody can choose: each with the command that
# tells it, and where it stands there.
NAMES = {
    r"3f0c…": ("chat list --format json", r'"(?:session_)?id": "([0-9a-f]{8})'),
    r"1f0a9c2b7d3e4f50": ("tokens list --format json", r'"id": "([0-9a-f]{16})"'),
    r"looseleaf-20260417T093000Z\.tar": ("backup list --format json", r"(looseleaf-\w+\.tar)"),
    r"(?<=[ /])7\b": ("jobs list --format json", r'"(?:job_id|id)": (\d+)'),
}


class Shell:
    """A shell for one command at a time: it knows <, >, | and ~, and answers questions with yes."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("LOOSELEAF_ROOT", str(folder / "memory"))
        patch.chdir(folder / "work")

    def run(self, line: str) -> Answer:
        """Run a command line, with the names of this workspace in place of those it has."""
        if line.startswith("! "):
            subprocess.run(line[2:], shell=True, check=True)
            return Answer(0, b"", "")
        for name, (told_by, pattern) in NAMES.items():
            if re.search(name, line):
                told = re.search(pattern, self.run(told_by).text)
                assert told, (line, told_by)
                line = re.sub(name, told[1], line)
        before, _, line = line.rpartition(" | ")
        line, _, target = line.partition(" > ")
        line, _, source = line.partition(" < ")
        content = Path(source).read_bytes() if source else b"a commit\n" if before else b""
        line = line.replace("/mnt/disk", str(self._folder / "mnt"))
        words = [os.path.expanduser(word) for word in shlex.split(line.removeprefix("looseleaf "))]
        answer = self._type(words, Stdin(content))
        if "This needs a yes" in answer.err:
            answer = self._type(words, Stdin(b"y\n" * 9, terminal=True))
        if target:
            Path(target).write_bytes(answer.out)
        return answer

    def _type(self, words: list[str], stdin: Stdin) -> Answer:
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with self._patch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main(words)
        out.flush()
        return Answer(code, out.buffer.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepare the folder: home, workspace, backups and files beside them."""
    folder = tmp_path_factory.mktemp("examples") / "scene"
    for name in ("home", "memory", "work", "mnt", "backups"):
        (folder / name).mkdir(parents=True, mode=0o700)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with Workspace.create(folder / "memory", agent="ada", clock=lambda: LONG_AGO) as workspace:
        ada = Where("ada")
        page = "# Memory\n\n## State\n\n- a deploy\n\n## Lessons Learned\n\n- one\n"
        memory.write_page(workspace.context, "MEMORY.md", page, where=ada, allow_shrink=True)
        for number in range(5):
            memory.append_page(workspace.context, "MEMORY.md", f"- fact {number}", where=ada)
        daily.write_day(workspace.context, "- met", mode="append", date="2026-04-17", where=ada)
    settings = folder / "memory" / "looseleaf.toml"
    settings.write_text(SETTINGS + settings.read_text())
    with pytest.MonkeyPatch.context() as patch:
        shell = Shell(folder, patch)
        for line in SCENE.strip().splitlines():
            answer = shell.run(line)
            assert answer.code == 0, (line, answer)
    return folder


@pytest.mark.parametrize(
    ("found", "example"),
    [
        pytest.param(
            found,
            example,
            id=example,
            marks=() if example == found.examples[0] else pytest.mark.slow,
        )
        for found, example in EXAMPLES
    ],
)
def test_an_example_works_as_printed(
    found: Command,
    example: str,
    scene: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the exit code of success, and no warning that something was wrong with it."""
    if example in NOT_TYPED:
        pytest.skip(NOT_TYPED[example])
    for name in [name for name in os.environ if name.startswith("LOOSELEAF_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)
    command = example.rpartition("looseleaf ")[2] if " | " in example else example[10:]
    beginnings = [name for name in BEFORE if command.startswith(name)]
    before = BEFORE[max(beginnings, key=len)] if beginnings else []
    folder = scene
    if before or not (isinstance(found, DerivedCommand) and found.operation.read_only):
        folder = tmp_path / "copy"
        shutil.copytree(scene, folder, symlinks=True)
    shell = Shell(folder, monkeypatch)
    for line in before:
        prepared = shell.run(line)
        assert prepared.code == 0, (line, prepared)
    answer = shell.run(example)
    assert answer.code == 0, answer


def test_every_preparation_is_for_an_example() -> None:
    """None is left behind when an example goes, and no reason either."""
    commands = [example.removeprefix("looseleaf ") for _, example in EXAMPLES]
    assert all(any(command.startswith(name) for command in commands) for name in BEFORE)
    assert set(NOT_TYPED) <= {example for _, example in EXAMPLES}
