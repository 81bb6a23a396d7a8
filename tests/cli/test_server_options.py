"""The same commands on a server: the same bytes, the same errors, and a token nobody sees."""

from __future__ import annotations

import http.server
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.cli import main
from tests.cli.fixtures import COMMAND, Answer, Stdin
from tests.cli.walk import LEAVES
from tests.features.imports.archives import build_zip
from tests.features.imports.sources import OPENCLAW

DAY = "2026-04-17"
FAR = "http://203.0.113.7"  # of the addresses that nobody has


class Served(NamedTuple):
    """A server in a process of its own, and tokens to show it."""

    root: Path
    url: str
    tokens: dict[str, str]


Typed = Callable[..., Answer]


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment in which nothing is set up yet."""
    kept = {name: text for name, text in os.environ.items() if "LOOSELEAF" not in name}
    return kept | {"HOME": str(home), "XDG_DATA_HOME": str(home), "LOOSELEAF_ACTOR": "tester"}


def make(root: Path) -> dict[str, str]:
    """Create a workspace with something of everything, and a token of each role."""
    workspace = Workspace.create(root, name="House", agent="ada", surface="cli")
    context = workspace.acting(actor="tester")

    def run(operation: str, **given: Any) -> Any:  # noqa: ANN401 - whatever JSON can say
        return invoke(context, operation, given)

    run("looseleaf/create-agent", slug="bob", name="Bob", config={"tone": {"calm": True}})
    run("datamachine/write-agent-file", file="MEMORY.md", content="# M\r\n\n## State\n\n- ü\n",
        agent="ada")  # fmt: skip
    run("datamachine/write-agent-file", file="notes.md", content="- a\n- b", agent="ada")
    run("datamachine/write-agent-file", file="notes.md", content="- a\n- c", agent="ada")
    run("datamachine/daily-memory-write", content="- moved the shop", date=DAY, agent="ada")
    (root / "agents" / "ada" / "bytes.md").write_bytes(b"\xef\xbb\xbf# \xff\x00\r\nend")
    run("looseleaf/create-user", login="eve", capabilities=["chat"])
    run("looseleaf/grant-role", agent="ada", user="eve", role="viewer")
    run("looseleaf/set-setting", name="daily_memory_enabled", setting=True)
    roles = ("viewer", "operator", "admin")
    tokens = {
        role: run("looseleaf/create-token", agent="ada", role=role)["token"] for role in roles
    }
    tokens["all"] = run("looseleaf/create-token", user=1, label="all")["token"]
    # It is copied next. To copy a file that SQLite has open takes this process's locks away, and
    # whoever then closes it elsewhere removes a log that is still being read here.
    workspace.close()
    return tokens


def start_server(root: Path, home: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server on a free port; return its process and its address."""
    command = [*COMMAND, "serve", "--root", str(root), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=clean_environment(home)
    )
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"at (http://[^ ]+)", line)
        if found:
            return process, found.group(1)
    raise AssertionError("the server did not start")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a workspace with something of everything; `here` is a copy of it that nobody serves."""
    folder = tmp_path_factory.mktemp("remote")
    tokens = make(folder / "there")
    shutil.copytree(folder / "there", folder / "here")
    process, url = start_server(folder / "there", folder / "home")
    yield Served(folder / "there", url, tokens)
    process.terminate()
    process.wait(timeout=20)
    assert process.stdout is not None
    process.stdout.close()


@pytest.fixture
def typed(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Typed:
    """Type a command, in an environment of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: bytes = b"", **variables: str) -> Answer:
        for name in [name for name in os.environ if "LOOSELEAF" in name]:
            monkeypatch.delenv(name)
        for name, text in (clean_environment(tmp_path / "home") | variables).items():
            monkeypatch.setenv(name, text)
        monkeypatch.setattr(sys, "stdin", Stdin(stdin))
        capsysbinary.readouterr()
        code = main(list(words))
        out, err = capsysbinary.readouterr()
        return Answer(code, out, err.decode())

    return run


@pytest.fixture
def ask(typed: Typed, served: Served) -> Typed:
    """Type a command that the server answers; the token must never be seen."""

    def asked(*words: str, role: str = "all", stdin: bytes = b"") -> Answer:
        token = served.tokens[role]
        answer = typed(*words, stdin=stdin, LOOSELEAF_REMOTE=served.url, LOOSELEAF_TOKEN=token)
        assert token.encode() not in answer.out
        assert token not in answer.err
        return answer

    return asked


READS = (
    "memory read --agent ada",
    "memory read --agent ada --raw",
    "memory read State --agent ada",
    "memory read MEMORY.md --position 1 --agent ada --format json",
    "memory read --agent ada --format json",
    "memory read notes.md --as-of 1 --agent ada",
    "memory read bytes.md --agent ada",
    "memory read bytes.md --raw --agent 1 --layer agent",
    "memory read bytes.md --agent ada --format json",
    "memory read USER.md --user 1 --format json",
    "memory sections --agent ada",
    "memory sections SOUL.md --agent ada --format json",
    "memory search shop --agent ada --format json",
    "memory search - --agent ada --context 1 --limit 2",
    "memory search shop --agent ada --as-of 2999-01-01",
    "memory search --words 'shop moved' --agent ada",
    "memory search shop --agent ada --copies",
    "memory files --agent ada",
    "memory files check --daily --agent ada --layer agent",
    "memory list --agent ada",
    "memory log notes.md --agent ada",
    "memory blame notes.md --agent ada",
    "memory blame notes.md --agent ada --format json --as-of 1",
    "memory recent --agent ada",
    "recent --agent ada --format json",
    "search shop --agent ada",
    "steps list",
    "steps show input --format json",
    "settings get port",
    "memory history notes.md --agent ada",
    "memory history notes.md --agent ada --format json",
    "memory diff notes.md --agent ada",
    "memory diff notes.md 1 2 --agent ada --format json",
    "memory daily list --agent ada",
    "memory daily list --user 1 --format json",
    f"memory daily read {DAY} --agent ada",
    f"memory daily read {DAY} --agent ada --format json --as-of 1",
    "memory daily search MOVED --agent ada --from 2026-01-01 --to 2026-12-31",
    "prompt show --agent ada",
    "prompt show --agent ada --format json --deny SOUL.md",
    "prompt show --agent ada --format anthropic --allow-only MEMORY.md",
    "prompt show --agent ada --hook session-start",
    "prompt explain --agent ada",
    "prompt explain --agent ada --format json --mode pipeline",
    "prompt diff --agent ada --to-agent bob",
    "prompt diff --agent ada --to-mode system --format json",
    "prompt check --agent ada --max-bytes 10",
    "prompt check --agent ada --format json",
    "agents list",
    "agents show bob",
    "agents show bob --format json",
    "users list",
    "users list --format json",
    "users show eve",
    "grants list ada",
    "grants list ada --format json",
    "tokens list --agent ada",
    "tokens list --user 1 --ended --format json",
    "settings list",
    "settings list --format json",
    "pipelines list",
    "pipelines list --format json",
    "flows list",
    "memory lint --agent ada",
    "memory lint --agent ada --format json",
    "upkeep log --agent ada",
    "upkeep preview --agent ada",
    "system runs --limit 3",
    "system prompts",
    "system prompt-get daily_memory_generation daily_memory",
    "retention show",
    "retention preview",
    "retention preview audit --format json",
    "bundles list --format json",
    "models list --agent ada",
    "audit list",
    "audit list --limit 2 --before 4 --format json",
    "audit verify",
    "audit verify --format json",
)


# What a server says otherwise on purpose: how its index knows of changes, and a folder of its own.
_OTHERWISE = re.compile(
    rb'every change seen [^\n"]*|[0-9]+ files? (read|checked) at [^\n"]*'
    rb'|(?<=project_folder)[^\n]*|(?<="project_folder",)\s*"setting": "[^"]*"'
)


def comparable(answer: Answer) -> Answer:
    """Return an answer without what a server says otherwise on purpose."""
    return answer._replace(out=_OTHERWISE.sub(b"-", answer.out))


@pytest.mark.parametrize("line", READS)
def test_a_reading_command_prints_the_same_bytes(
    line: str, typed: Typed, ask: Typed, served: Served
) -> None:
    """Whether the workspace is opened here or a server is asked that has it open."""
    words = shlex.split(line)
    there = ask(*words)
    here = typed(*words, "--root", str(served.root))
    assert comparable(there) == comparable(here)


ERRORS = (
    "memory read none.md --agent ada",
    "memory read Nope --agent ada",
    "memory read ../up.md --agent ada",
    "memory read State",
    "memory read --agent nobody",
    "memory read --agent ada --as-of 99",
    "memory read --agent ada --as-of yesterday",
    "memory read bytes.md Section --agent ada",
    "memory append Not-a-page Section x --agent ada",
    "memory write SITE.md --page x",
    "memory delete MEMORY.md --page --agent ada",
    "memory write notes.md --page x --if-match absent --agent ada",
    "memory clear MEMORY.md --if-match 00 --agent ada",
    "memory delete Nope --agent ada",
    "memory restore notes.md 99 --agent ada",
    "memory purge notes.md 99 --reason x --yes --agent ada",
    "memory purge notes.md 1 --yes --agent ada",
    "memory daily read 2026-02-30 --agent ada",
    "memory daily read 2001-01-01 --agent ada",
    "memory daily append x y z --agent ada",
    "memory search '' --agent ada",
    "prompt show --agent ada --mode ''",
    "prompt show --agent ada --as-of 3",
    "agents show nobody",
    "agents create 'Not A Slug'",
    "agents create ada",
    "agents configure ada memory_policy=3",
    "users show nobody",
    "users create eve",
    "users update 1 --can-nothing",
    "grants take ada nobody",
    "grants take ada 1",
    "pipelines show none",
    "pipelines export none",
    "pipelines update none --name x",
    "system prompt-get nothing at-all",
    "audit list --limit 0",
    "--bogus memory read",
    "memory read --bogus",
)


@pytest.mark.parametrize("shape", ["table", "json"])
@pytest.mark.parametrize("line", ERRORS)
def test_an_error_is_the_same(
    line: str, shape: str, typed: Typed, ask: Typed, served: Served
) -> None:
    """Its exit code, its message, and as JSON all that it knows."""
    words = [*shlex.split(line), "--format", shape]
    there = ask(*words)
    assert there.code not in (0, 1)
    assert there == typed(*words, "--root", str(served.root))


CHANGES = (
    "memory append State '- more' --agent ada",
    "memory append State '---' --agent ada --format json",
    "memory append State --agent ada -- --force",
    "memory append State - --agent ada < - piped in",
    "memory append new.md 'a line' --agent ada",
    "memory move new.md moved.md --agent ada",
    "remember 'Tea is green' --agent ada",
    "memory write Facts '- one' --agent ada",
    "memory write State x --position 1 --mode append --agent ada",
    "memory write notes.md --page - --agent ada < # N\r\n\N{BYTE ORDER MARK}ü\n",
    "memory write notes.md --page - --agent ada < # N\r\n\N{BYTE ORDER MARK}ü\n",
    "memory write other.md --page '' --if-match absent --agent ada",
    "memory write SOUL.md Rules --from-file PATH --agent ada --reason 'für später'",
    "memory read SOUL.md --agent ada",
    "memory delete Facts --agent ada",
    "memory restore notes.md 1 --agent ada",
    "memory read notes.md --agent ada",
    "memory purge notes.md 2 --reason 'a secret' --yes --agent ada --format json",
    "memory delete notes.md --page --agent ada",
    "memory clear MEMORY.md --agent ada --format json",
    "memory prune --versions 1",
    "memory pack --dry-run",
    "memory pack --format json",
    f"memory daily append {DAY} '- later' --agent ada",
    f"memory daily write {DAY} '# Day' --agent ada --format json",
    f"memory daily delete {DAY} --agent ada",
    "memory daily list --agent ada",
    """agents create eve --name "Eve" --config '{"a": [1, {"b": null}]}' --format json""",
    "agents configure eve 'tone=\"calm\"' a=null",
    "agents show eve --format json",
    "agents rename eve iva",
    "agents deactivate iva --format json",
    "agents archive iva",
    "agents activate iva",
    "agents delete iva --files --yes",
    "agents list --deleted",
    "agents restore iva",
    "agents delete iva --files --yes",
    "users create kim --can chat --can view_logs --format json",
    "users update kim --name Kim --status disabled",
    "users update kim --password-stdin < a long enough password\n",
    "grants give ada kim operator",
    "grants take ada kim --format json",
    "pipelines create News --agent ada --prompt 'Be brief.' --memory-file style.md --format json",
    "pipelines update news --prompt 'Be short.'",
    "pipelines memory-files news --add tone.md",
    "pipelines copy news --name Again",
    "pipelines files news --add PATH",
    "pipelines delete again --yes",
    "flows create news Morning --schedule daily --prompt Begin",
    "flows update morning --paused",
    "flows queue morning 'Go on'",
    "flows memory-files morning --add more.md",
    "flows copy morning --name Evening",
    "flows files morning --add PATH",
    "flows files morning",
    "flows delete evening --yes",
    "pipelines export news",
    (
        "system prompt-set daily_memory_generation daily_memory "
        "'x {{memory_content}} ===PERSISTENT=== ===ARCHIVED==='"
    ),
    "system prompt-reset daily_memory_generation daily_memory",
    "settings set prompt_page_bytes 4000",
    "settings unset prompt_page_bytes --format json",
    "retention run --yes",
    "bundles export PATH-bundle.zip --agent bob --force",
    "bundles inspect PATH-bundle.zip",
    "bundles plan PATH-bundle.zip --slug cleo",
    "bundles install PATH-bundle.zip --slug cleo",
    "bundles show cleo",
    "bundles list",
    "memory write SOUL.md --page x --agent cleo --allow-shrink",
    "bundles upgrade PATH-bundle.zip --agent cleo",
    "bundles validate PATH-bundle.zip",
    "bundles status PATH-bundle.zip --slug cleo",
    "bundles rebase PATH-bundle.zip --agent cleo",
    "bundles pending",
    "bundles pending cleo",
    "bundles approve cleo --merge memory:SOUL.md",
    "bundles upgrade PATH-bundle.zip --agent cleo",
    "bundles reject cleo all",
    "agents delete cleo --files --yes",
)
# The second in which a command ran: two commands in a row may see the clock pass it.
_TIME = re.compile(rb'(?<="created": )[0-9.]+|(?<="updated": )[0-9.]+|(?<="time": )[0-9.]+')
_INSTANT = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?")


def test_a_changing_command_does_the_same(
    typed: Typed, ask: Typed, served: Served, tmp_path: Path
) -> None:
    """On two workspaces that were the same, what is printed is, and the pages are afterwards."""
    (tmp_path / "given.md").write_bytes("- never\r\n- ü".encode())
    here = served.root.parent / "here"
    for line in CHANGES:
        written, _, stdin = line.partition(" < ")
        words = shlex.split(written.replace("PATH", str(tmp_path / "given.md")))
        there = ask(*words, stdin=stdin.encode())
        # Options that stand last may stand behind --, so the place comes first.
        require_local = typed("--root", str(here), *words, stdin=stdin.encode())
        assert (there.code, there.err) == (0, require_local.err), line
        assert "warning" in require_local.err or not require_local.err, line
        assert _without_times(there.out) == _without_times(require_local.out), line
    assert _pages(here) == _pages(served.root)


def _without_times(output: bytes) -> bytes:
    return _TIME.sub(b"-", _INSTANT.sub(b"-", output))


def _pages(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*.md") if ".looseleaf" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_the_history_tells_who_and_why(ask: Typed, typed: Typed, served: Served) -> None:
    """The token's user, through REST, with the reason that was given."""
    words = ("memory", "append", "why.md", "x", "--agent", "bob", "--reason", "für\nspäter")
    assert ask(*words, "--origin", "tool").code == 0
    listed = typed("memory", "history", "why.md", "--agent", "bob", "--format", "json",
                   "--root", str(served.root)).json["revisions"]  # fmt: skip
    assert [(item["actor"], item["surface"], item["reason"]) for item in listed] == [
        ("admin", "rest", "für\nspäter")
    ]
    assert [(item["origin"], item["activity"]) for item in listed] == [("tool", "request")]


ROLES = (
    ("viewer", "memory read", 0),
    ("viewer", "memory append Roles x", 4),
    ("operator", "memory append Roles x", 0),
    ("operator", "memory append SOUL.md Rules x", 4),
    ("admin", "memory append SOUL.md Rules x", 0),
    ("admin", "memory append RULES.md Rules x", 4),
    ("admin", "memory read --agent bob", 3),
    ("admin", "users list", 4),
    ("all", "memory append RULES.md Rules x", 0),
    ("all", "tokens create --agent ada", 4),
    ("all", "tokens revoke 00", 3),
    ("all", "tokens login", 0),
    ("all", "import elsewhere", 4),
    ("all", "memory export elsewhere", 4),
    ("all", "memory publish CLAUDE.md", 4),
    ("all", "jobs list", 0),
    ("all", "jobs run none", 3),
    ("all", "flows show none", 3),
    ("all", "pipelines show none", 3),
    ("all", "pipelines import -", 2),
    ("all", "jobs show 99", 3),
    ("all", "jobs packets 99", 3),
    ("all", "jobs watch 99", 3),
    ("all", "jobs cancel 99", 3),
    ("all", "jobs pause 99", 3),
    ("all", "jobs resume 99", 3),
    ("all", "jobs retry 99", 3),
    ("all", "jobs delete 99 --yes", 3),
    ("all", "jobs artifacts 99", 3),
    ("all", "jobs artifact-content datamachine://jobs/99/artifacts/transcript", 3),
    ("all", "jobs transcript 99", 3),
    ("all", "jobs gate 99", 3),
    ("all", "jobs open-gate 99", 3),
    ("all", "jobs prune --yes", 0),
    ("all", "schedules list", 0),
    ("all", "schedules run none", 3),
    ("all", "schedules pause none", 3),
    ("all", "schedules resume none", 3),
    ("all", "system status", 0),
    ("all", "system tasks", 0),
    ("all", "upkeep show --agent bob none", 3),
    ("all", "upkeep undo --yes --agent bob none", 3),
    ("all", "upkeep run --agent ada", 0),
    ("all", "system run daily_memory_generation --agent ada", 0),
    ("viewer", "system run daily_memory_generation --agent ada", 4),
    ("all", "backup create", 2),  # the settings of that server name no folder
    ("all", "backup list", 0),
    ("all", "backup verify x.tar", 2),
    ("all", "backup commit", 4),  # and its workspace is in no repository
    ("admin", "backup create", 4),
    ("all", "chat list --agent ada", 0),
    ("all", "chat search hello --agent ada", 0),
    ("all", "chat show 00000000-0000-4000-8000-000000000000", 3),
)


@pytest.mark.parametrize(("role", "line", "code"), ROLES)
def test_a_token_reaches_as_far_as_its_role(role: str, line: str, code: int, ask: Typed) -> None:
    """The server decides, and the exit code says so."""
    assert ask(*line.split(), role=role).code == code


LOCAL = {
    "init": "init x",
    "serve": "serve --port 0",
    "work": "work",
    "completion": "completion bash",
    "restore": "restore x.tar y",
    "doctor": "doctor",
    "mcp serve": "mcp serve",
    "mcp uninstall": "mcp uninstall --client codex",
    "mcp status": "mcp status",
    "mcp project": "mcp project",
    "memory paths": "memory paths --format json",
    "memory compose": "memory compose --list",
    "plugins list": "plugins list",
    "tools export": "tools export",
}


@pytest.mark.parametrize("path", LOCAL)
def test_what_can_only_be_local_says_so(path: str, typed: Typed) -> None:
    """In one sentence, with the exit code of wrong usage."""
    answer = typed(*LOCAL[path].split(), "--remote", "http://127.0.0.1:1", "--token", "x")
    assert (answer.code, answer.out) == (2, b"")
    assert "is for a workspace on this machine, not for a server" in answer.err
    assert answer.err.count("\n") <= 6  # a document, or one line


def test_every_other_command_was_tried() -> None:
    """A new command is tried on a server, or says that it can only be local."""
    lines = [*READS, *CHANGES, *(line for _, line, _ in ROLES)]
    tried = {path for path, _ in LEAVES for line in lines if line.startswith(" ".join(path) + " ")
             or line == " ".join(path)}  # fmt: skip
    rest = {" ".join(path) for path, _ in LEAVES if path not in tried}
    # Those of chat are all tried through a server in test_chat.py, and status in test_status.py;
    # tokens make no credentials; an editor is tried in test_memory.py, and an installation for a
    # server in tests/mcp/clients.
    not_tried = {item for item in rest if item.startswith("chat ")}
    not_tried |= {"tokens password", "status", "memory edit", "mcp install"}
    assert rest == {*LOCAL, *not_tried}


def test_a_variable_does_not_stop_what_needs_no_workspace(typed: Typed, tmp_path: Path) -> None:
    """Someone who works with a server may still make a folder, or a script for the shell."""
    variables = {"LOOSELEAF_REMOTE": "http://127.0.0.1:1", "LOOSELEAF_TOKEN": "x"}
    assert typed("completion", "bash", **variables).code == 0
    assert typed("init", str(tmp_path / "new"), **variables).code == 0
    told = typed("memory", "read", "--root", str(tmp_path / "new"), **variables)
    assert (told.code, told.out[:8]) == (0, b"# Agent ")


def test_a_token_can_come_from_a_file_or_from_standard_input(
    typed: Typed, served: Served, tmp_path: Path
) -> None:
    """From one place only, and standard input is one thing only."""
    token = served.tokens["viewer"]
    file = tmp_path / "token"
    file.write_text(token + "\n")
    where = ("--remote", served.url)
    from_file = typed("memory", "read", *where, "--token-file", str(file))
    assert (from_file.code, from_file.err) == (0, "")
    piped = typed("memory", "read", *where, "--token-file", "-", stdin=f"{token}\n".encode())
    given = typed("--token", token, *where, "memory", "read")
    assert from_file == piped == given
    both = ("--token-file", "-", *where)
    assert typed("memory", "append", "State", "-", *both, stdin=b"x").code == 2
    assert typed("memory", "read", "--token", "x", "--token-file", "y", *where).code == 2
    assert typed("memory", "read", "--token-file", "nowhere", *where).code == 2
    assert typed("memory", "read", "--token", "x", "--root", str(served.root)).code == 2


def test_a_wrong_an_expired_and_no_token_are_refused(typed: Typed, served: Served) -> None:
    """It is not said which, and never repeated."""
    made = typed("tokens", "create", "--agent", "ada", "--expires", "1s", "--root",
                 str(served.root))  # fmt: skip
    expired = made.text.splitlines()[-1]
    time.sleep(1.1)
    for token in ("ll_wrong", expired, "not a token", "tökn", "x\r\ny"):
        answer = typed("memory", "read", "--remote", served.url, "--token", token)
        assert (answer.code, answer.out) == (4, b"")
        assert token not in answer.err
        assert "You are not signed in" in answer.err or "The token is invalid" in answer.err
    none = typed("memory", "read", "--remote", served.url)
    assert none.code == 4
    assert "LOOSELEAF_TOKEN" in none.err


ADDRESSES = (
    ("memory.example.com", "https://"),
    ("", "https://"),
    ("ftp://127.0.0.1", "https://"),
    ("http://", "have a host"),
    ("http://127.0.0.1:port", "not an address"),
    ("http://ada:hunter2@127.0.0.1", "a password"),
    ("http://127.0.0.1/?token=hunter2", "must not have ?"),
    (FAR, "--insecure"),
    ("http://localhost.example.com", "--insecure"),
)


@pytest.mark.parametrize(("url", "why"), ADDRESSES)
def test_an_address_that_is_none_or_not_safe_is_refused(url: str, why: str, typed: Typed) -> None:
    """Before anything is sent, and without repeating it."""
    answer = typed("memory", "read", "--remote", url, "--token", "x")
    assert (answer.code, answer.out) == (2, b"")
    assert why in answer.err
    assert "hunter2" not in answer.err


def test_plain_http_to_another_machine_needs_a_word(typed: Typed) -> None:
    """Then it is tried."""
    answer = typed("--insecure", "memory", "read", "--remote", FAR, "--token", "x",
                   LOOSELEAF_TIMEOUT="0.3")  # fmt: skip
    assert answer.code == 6
    assert f"The server {FAR} is not available" in answer.err


def test_options_that_make_no_sense_together_are_refused(typed: Typed, tmp_path: Path) -> None:
    """Two places, or a name that only the token can say."""
    where = ("--remote", "http://127.0.0.1:1", "--token", "x")
    assert "two workspaces" in typed("memory", "read", *where, "--root", str(tmp_path)).err
    assert "--actor" in typed("memory", "append", "S", "x", *where, "--actor", "ada").err
    strange = typed("memory", "read", *where, LOOSELEAF_TIMEOUT="soon")
    assert (strange.code, "LOOSELEAF_TIMEOUT" in strange.err) == (2, True)


def test_no_server_is_an_answer_that_says_what_to_do(typed: Typed) -> None:
    """As JSON, too."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    words = ("memory", "read", "--remote", f"http://127.0.0.1:{port}", "--token", "x")
    answer = typed(*words)
    assert (answer.code, answer.out) == (6, b"")
    assert "looseleaf serve" in answer.err
    assert json.loads(typed(*words, "--format", "json").err)["error"]["code"] == "unavailable"


def test_a_server_that_hangs_is_given_up(typed: Typed) -> None:
    """After the time that is set; whether a change was made is not known, and that is said."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        answer = typed("memory", "append", "State", "x", "--remote", url, "--token", "x",
                       LOOSELEAF_TIMEOUT="0.3")  # fmt: skip
    assert answer.code == 6
    assert "within 0.3 seconds; if this was a change" in answer.err


Replies = Callable[..., tuple[str, list[str]]]


@pytest.fixture
def replies() -> Iterator[Replies]:
    """Start servers that give one answer to everything, and keep what they were sent."""
    running: list[http.server.HTTPServer] = []

    def start(status: int, body: bytes = b"", **headers: str) -> tuple[str, list[str]]:
        sent: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent.append(f"{self.path}\n{self.headers}")
                self.rfile.read(int(self.headers["content-length"]))
                if status:
                    self.send_response(status)
                    for name, text in headers.items():
                        self.send_header(name, text)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_given: object) -> None:
                """Print nothing."""

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}", sent

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def test_a_redirect_is_not_followed(typed: Typed, replies: Replies) -> None:
    """Neither to another host nor to the same: the token goes nowhere else."""
    other, seen = replies(200, b'{"success": true, "data": null}')
    url, sent = replies(307, location=f"{other}/elsewhere?x=1")
    answer = typed("memory", "read", "--remote", url, "--token", "secret-word")
    assert (answer.code, answer.out, seen) == (6, b"", [])
    assert "it redirects us to http://127.0.0.1" in answer.err
    assert "secret-word" not in answer.err
    assert "secret-word" in sent[0]


STRANGE = (
    (200, b"<html>", 6),
    (200, b"[]", 6),
    (200, b'{"success": true}', 6),
    (200, b'{"success": true, "data": {"file": 3}}', 6),
    (200, b'{"success": true, "data": [1]}', 6),
    (404, b"not here", 6),
    (404, b'{"code": "no_route", "message": "There is nothing."}', 6),
    (502, b"Bad Gateway", 6),
    (500, b'{"code": "internal_error", "message": "Wrong."}', 1),
    (0, b"", 6),
)


@pytest.mark.parametrize(("status", "body", "code"), STRANGE)
def test_what_is_no_server_of_ours_is_told(
    status: int, body: bytes, code: int, typed: Typed, replies: Replies
) -> None:
    """Whatever it says, the answer is one line and no traceback."""
    url, _ = replies(status, body)
    answer = typed("memory", "read", "--remote", url, "--token", "x")
    assert (answer.code, answer.out) == (code, b"")
    assert answer.err.startswith("looseleaf: ")
    assert answer.err.count("\n") == 1


def test_an_unknown_error_keeps_its_code_and_message(typed: Typed, replies: Replies) -> None:
    """A newer server may have errors that this version does not know."""
    told = {"code": "too_blue", "message": "It is too blue.", "data": {"status": 409, "hue": [1]}}
    url, _ = replies(409, json.dumps(told).encode())
    answer = typed("memory", "read", "--remote", url, "--token", "x", "--format", "json")
    assert answer.code == 5
    error = json.loads(answer.err)["error"]
    assert error == {"code": "too_blue", "message": "It is too blue.", "hue": [1]}


@pytest.mark.skipif(not shutil.which("openssl"), reason="nothing here can make a certificate")
def test_a_certificate_that_nobody_vouches_for_is_refused(typed: Typed, tmp_path: Path) -> None:
    """There is no way around it, --insecure included."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
         certificate, "-days", "1", "-subj", "/CN=localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://localhost:{listening.getsockname()[1]}"

        def greet() -> None:
            taken, _ = listening.accept()
            with taken, pytest.raises(ssl.SSLError, match=r"CA|ALERT|EOF"):
                context.wrap_socket(taken, server_side=True).close()

        thread = threading.Thread(target=greet)
        thread.start()
        answer = typed("memory", "read", "--insecure", "--remote", url, "--token", "x")
        thread.join()
    assert answer.code == 6
    assert "CERTIFICATE_VERIFY_FAILED" in answer.err


def test_agents_are_completed_from_the_server(served: Served, tmp_path: Path) -> None:
    """As they are from a folder; a server that is not there offers nothing."""
    variables = {
        **clean_environment(tmp_path),
        "_LOOSELEAF_COMPLETE": "bash_complete",
        "COMP_WORDS": "looseleaf agents show ",
        "COMP_CWORD": "3",
        "LOOSELEAF_REMOTE": served.url,
        "LOOSELEAF_TOKEN": served.tokens["all"],
    }
    for url, offered in ((served.url, ["plain,ada", "plain,bob"]), ("http://127.0.0.1:1", [])):
        done = subprocess.run(
            COMMAND, env=variables | {"LOOSELEAF_REMOTE": url}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.stdout.split() == offered


def test_the_http_library_is_imported_only_to_ask_a_server(tmp_path: Path) -> None:
    """A command here pays nothing for it."""
    Workspace.create(tmp_path / "memory")
    script = (
        "import sys; from looseleaf.cli import main; main(sys.argv[1:]); "
        "sys.exit(bool({'httpx2', 'looseleaf.remote'} & set(sys.modules)))"
    )
    for words in (["memory", "append", "State", "x"], ["agents", "list"], ["memory", "--help"]):
        bare = [sys.executable, "-c", script, *words]
        subprocess.run(bare, cwd=tmp_path / "memory", capture_output=True, check=True)


def test_an_archive_of_this_machine_is_imported_there(
    ask: Typed, served: Served, tmp_path: Path
) -> None:
    """The file is uploaded, with its name; a folder of this machine is refused with the advice."""
    archive = tmp_path / "pip.zip"
    archive.write_bytes(build_zip(OPENCLAW))
    answer = ask("import", str(archive), "--detect")
    assert answer.out.decode() == "openclaw: OpenClaw, by AGENTS.md, SOUL.md, IDENTITY.md\n"
    answer = ask("import", str(archive), "--agent", "ada")
    assert answer.code == 0, answer.err
    assert (served.root / "agents/ada/TOOLS.md").read_text() == OPENCLAW["TOOLS.md"]
    answer = ask("import", str(tmp_path))
    assert answer.code == 4
    assert "zip archive" in answer.err
