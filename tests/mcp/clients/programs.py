"""Real coding agents: installed from npm into a folder of their own, asked without a terminal.

A scripted model on loopback answers them and keeps what they ask.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.fixtures import _read as read_terminal
from tests.models.scripted import Receive, Reply, Scripted, Send, serve_script
from tests.models.scripted_anthropic import ScriptedAnthropic
from tests.models.scripted_google import ScriptedGoogle
from tests.models.scripted_responses import ScriptedResponses

PACKAGES = (
    "@anthropic-ai/claude-code@2.1.197",
    "@openai/codex@0.166.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
)
LOOSELEAF = Path(sys.executable).parent / "looseleaf"
SECONDS = 300.0  # for one session; a program that waits for a network takes its time
APPEND = "append_agent_memory"


class Missing(Exception):
    """The programs cannot be had here."""


def install_programs() -> Path:
    """Install the programs once for all runs; return the folder of their commands."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise Missing("node and npm are needed to install the coding agents")
    digest = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:8]
    default_folder = Path(tempfile.gettempdir(), f"looseleaf-programs-{digest}")
    folder = Path(os.environ.get("LOOSELEAF_PROGRAMS") or default_folder)
    folder.mkdir(parents=True, exist_ok=True)
    with Path(folder, "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes run beside each other
        if not Path(folder, "complete").exists():
            words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder)]
            result = subprocess.run(
                [*words, *PACKAGES], capture_output=True, text=True, check=False
            )
            if result.returncode:
                raise Missing(f"npm could not install the coding agents: {result.stderr[-300:]}")
            Path(folder, "complete").touch()
    return folder / "node_modules" / ".bin"


@dataclass
class Model:
    """What the scripted model is to do in one session: call tools first, then say something."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    text: str = "All right."
    question_count: int = 0  # of questions with tools

    def choose(self, request: dict[str, Any]) -> Reply:
        """Answer one request; those without tools are for a title or the like."""
        if not request.get("tools"):
            return Reply("A short title")
        self.question_count += 1
        return (
            Reply(calls=self.calls) if self.calls and self.question_count == 1 else Reply(self.text)
        )


class Provider(Scripted):
    """A scripted provider that answers other requests of a program, too, without recording them."""

    model: Model

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer requests that are no conversation with empty lists."""
        if scope["type"] == "http" and scope["method"] != "POST":
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b'{"data": [], "models": []}'})
        else:
            await super().__call__(scope, receive, send)

    async def answer(self, send: Send, request: dict[str, Any], reply: Reply) -> None:
        """Say what the model says to this request, whatever the script has."""
        await super().answer(send, request, self.model.choose(request) if reply.text else reply)


class Completions(Provider):
    """Chat completions, for OpenCode."""


class Messages(Provider, ScriptedAnthropic):
    """Anthropic's Messages, for Claude Code."""


class Responses(Provider, ScriptedResponses):
    """OpenAI's Responses, for Codex."""


class Contents(Provider, ScriptedGoogle):
    """Google's contents, for Gemini CLI."""


@dataclass
class Session:
    """One session: what the program asked the model with tools at hand, and what it printed."""

    words: list[str]
    requests: list[dict[str, Any]]
    output: str
    errors: str
    code: int

    @property
    def first(self) -> dict[str, Any]:
        """The first request of the conversation."""
        assert self.requests, f"exit {self.code}\n{self.output}\n{self.errors}"
        return self.requests[0]


Words = Callable[[str, str], list[str]]


@dataclass(frozen=True)
class Program:
    """A coding agent: how it is asked, how it reaches the model, what a person approves."""

    command: str
    provider: type[Provider]
    words: Words  # of a prompt and the provider's address
    tool: str  # what it calls one of our tools
    variables: Callable[[str], dict[str, str]] = lambda _url: {}
    approve: Callable[[Path, Path, Path], None] = lambda _bin, _home, _project: None

    def tools(self, request: dict[str, Any]) -> set[str]:
        """Name the tools of a request as the program calls them."""
        return set(_list_tool_names(request.get("tools", [])))


def _list_tool_names(tools: list[dict[str, Any]], before: str = "") -> Iterator[str]:
    for tool in tools:
        inner = tool.get("tools") or tool.get("functionDeclarations") or []
        name = tool.get("name") or tool.get("function", {}).get("name") or ""
        if inner:
            yield from _list_tool_names(inner, f"{name}__" if name else "")
        elif name:
            yield before + name


def run_session(
    program: Program, bin_folder: Path, home: Path, prompt: str, model: Model, folder: Path
) -> Session:
    """Ask a program something in a folder and wait until it has done."""
    provider = program.provider()
    provider.model = model
    with serve_script(provider) as server:
        words = program.words(prompt, server.url)
        command = [str(bin_folder / words[0]), *words[1:]]
        variables = {**build_environment(home), **program.variables(server.url)}
        with _run_process(command, variables, folder) as process:
            output, errors = process.communicate(timeout=SECONDS)
    requests = [request for request in server.requests if request.get("tools")]
    return Session(words, requests, output, errors, process.returncode)


def build_environment(home: Path) -> dict[str, str]:
    """Return the environment of a program: of ours, only the PATH."""
    (home / "project").mkdir(parents=True, exist_ok=True)
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}


@contextmanager
def _run_process(words: list[str], variables: dict[str, str], folder: Path) -> Iterator[Any]:
    process = subprocess.Popen(
        words,
        env=variables,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # and what it has started
        process.wait()


def _build_claude_command(prompt: str, _url: str) -> list[str]:
    return ["claude", "-p", prompt, "--allowedTools", "mcp__looseleaf"]


def _build_claude_variables(url: str) -> dict[str, str]:
    off = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted", **off}


def _build_codex_command(prompt: str, url: str) -> list[str]:
    provider = f'{{name="scripted", base_url="{url}", env_key="KEY", wire_api="responses"}}'
    settings = {
        "model": '"scripted"',
        "model_provider": '"scripted"',
        "model_providers.scripted": provider,
        "analytics.enabled": "false",
        "check_for_update_on_startup": "false",
        "features.daemon_auto_start": "false",  # it would outlive the session
    }
    options = [word for name, text in settings.items() for word in ("-c", f"{name}={text}")]
    return ["codex", "exec", "--skip-git-repo-check", *options, prompt]


def _approve_codex_hook(bin_folder: Path, home: Path, project: Path) -> None:
    """Choose "Trust all and continue" on the screen that Codex shows at its start."""
    config = home / ".codex" / "config.toml"
    trust_lines = f'\n[projects."{project}"]\ntrust_level = "trusted"\n'
    config.write_text(config.read_text() + trust_lines)
    words = [str(bin_folder / "codex"), *_build_codex_command("", "http://127.0.0.1:9/v1")[3:-1]]
    screen = b""
    for _ in range(3):  # it ends if a key comes before it has read what came earlier
        screen = _press_on_screen(words, home, b"trusting", b"2\r", lambda: _is_trusted(config))
        if _is_trusted(config):
            return
    raise AssertionError(screen[-2000:].decode("utf-8", "replace"))


def _is_trusted(config: Path) -> bool:
    return "trusted_hash" in config.read_text()


def _press_on_screen(
    words: list[str], home: Path, text: bytes, keys: bytes, is_done: Callable[[], bool]
) -> bytes:
    """Run a program on a terminal; some time after it shows a text, press keys as a person does."""
    terminal, far_end = pty.openpty()
    fcntl.ioctl(far_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    variables = {**build_environment(home), "TERM": "xterm-256color", "KEY": "scripted"}
    process = subprocess.Popen(
        words, stdin=far_end, stdout=far_end, stderr=far_end, env=variables, cwd=home / "project",
        start_new_session=True,
    )  # fmt: skip
    os.close(far_end)
    screen, next_press, end = b"", 0.0, time.monotonic() + 60
    try:
        while not is_done() and time.monotonic() < end:
            part = read_terminal(terminal)
            if part is None:
                break
            screen += part
            if b"\x1b[6n" in part:
                os.write(terminal, b"\x1b[1;1R")  # where the cursor is
            if text in part:
                next_press = time.monotonic() + 2
            if next_press and time.monotonic() > next_press:
                next_press = time.monotonic() + 5
                os.write(terminal, keys)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(terminal)
    return screen


def _build_gemini_command(prompt: str, _url: str) -> list[str]:
    return ["gemini", "-m", "gemini-2.5-pro", "-p", prompt]


def _build_gemini_variables(url: str) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted"}


def _approve_gemini_folder(_bin: Path, home: Path, project: Path) -> None:
    """Write what the program writes when a person trusts a folder, and how it signs in."""
    trust_file = home / ".gemini" / "trustedFolders.json"
    trust_file.write_text(json.dumps({str(project.parent): "TRUST_FOLDER"}))
    file = home / ".gemini" / "settings.json"
    off = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}
    login = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    file.write_text(json.dumps({**json.loads(file.read_text()), **off, **login}, indent=2))


def _build_opencode_command(prompt: str, _url: str) -> list[str]:
    return ["opencode", "run", prompt]


def _build_opencode_variables(url: str) -> dict[str, str]:
    options = {"baseURL": url, "apiKey": "scripted"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options}
    provider |= {"models": {"scripted": {"name": "scripted"}}}
    config = {"provider": {"scripted": provider}, "model": "scripted/scripted"}
    off = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    off |= {"OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_SHARE": "1"}
    # It wants to fetch the library of plugins, which ours does not use.
    off |= {"npm_config_offline": "true", "npm_config_fetch_retries": "0"}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), **off}


PROGRAMS = {
    "claude-code": Program(
        "claude",
        Messages,
        _build_claude_command,
        f"mcp__looseleaf__{APPEND}",
        _build_claude_variables,
    ),
    "codex": Program(
        "codex",
        Responses,
        _build_codex_command,
        f"mcp__looseleaf__{APPEND}",
        lambda _url: {"KEY": "scripted"},
        _approve_codex_hook,
    ),
    "gemini": Program(
        "gemini",
        Contents,
        _build_gemini_command,
        f"mcp_looseleaf_{APPEND}",
        _build_gemini_variables,
        _approve_gemini_folder,
    ),
    "opencode": Program(
        "opencode",
        Completions,
        _build_opencode_command,
        f"looseleaf_{APPEND}",
        _build_opencode_variables,
    ),
}


@dataclass
class Connection:
    """A program in a home of its own, connected to a workspace of its own."""

    client: str
    bin_folder: Path
    folder: Path
    install_output: str = ""
    sessions: list[Session] = field(default_factory=list)

    @property
    def program(self) -> Program:
        """How the program is asked."""
        return PROGRAMS[self.client]

    @property
    def home(self) -> Path:
        """The home folder of the person, with a project in it."""
        return self.folder / "home"

    def looseleaf(self, *words: str, project: str = "") -> str:
        """Run our own command as the person whose home it is, in a project."""
        root = {"LOOSELEAF_ROOT": str(self.folder / "memory")}
        result = subprocess.run(
            [str(LOOSELEAF), *words],
            env={**build_environment(self.home), **root},
            cwd=self.home / project if project else None,
            capture_output=True,
            text=True,
            check=True,
        )
        return result.stdout

    def connect(self, fact: str, *, approve: bool = True) -> None:
        """Make the workspace, put a fact into it, install the server and the hook, approve."""
        self.looseleaf("init", str(self.folder / "memory"), "--agent", "ada")
        self.looseleaf("memory", "append", "Lessons Learned", f"- {fact}")
        self.install_output = self.looseleaf("mcp", "install", "--client", self.client, "--yes")
        if approve:
            self.program.approve(self.bin_folder, self.home, self.home / "project")

    def ask(
        self,
        prompt: str,
        *calls: tuple[str, dict[str, Any]],
        text: str = "All right.",
        project: str = "project",
    ) -> str:
        """Have one session in a project; return the text of its first request."""
        model = Model(calls, text)
        folder = self.home / project
        folder.mkdir(exist_ok=True)
        session = run_session(self.program, self.bin_folder, self.home, prompt, model, folder)
        self.sessions.append(session)
        return json.dumps(session.first, ensure_ascii=False)
