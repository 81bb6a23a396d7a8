"""The files of docs/examples that install and run Looseleaf do what they say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from configparser import RawConfigParser
from pathlib import Path

import pytest

from tests.installing import ROOT, build_environment, build_wheel, run, workshop
from tests.web.test_server import Process

__all__ = ["workshop"]  # a fixture

UNIT = ROOT / "docs" / "examples" / "looseleaf.service"
CONTAINER = ROOT / "docs" / "examples" / "Containerfile"
COMMAND = "/opt/looseleaf/bin/looseleaf"
LOOSELEAF = [sys.executable, "-m", "looseleaf"]


def unit() -> RawConfigParser:
    """Read the unit as the table it is."""
    parser = RawConfigParser(strict=True, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser


def steps() -> list[tuple[str, str]]:
    """Return the instructions of the container file."""
    text = CONTAINER.read_text(encoding="utf-8")
    return re.findall(r"^([A-Z]+) (.*)$", text, re.MULTILINE)


def step(name: str) -> str:
    """Return the one instruction of a name."""
    (value,) = [value for item, value in steps() if item == name]
    return value


def container_extras() -> str:
    """Return the extras that the container file installs."""
    (extras,) = re.findall(r"/looseleaf\[([\w,]+)\]", CONTAINER.read_text(encoding="utf-8"))
    return str(extras)


def words_of(setting: str, root: Path) -> list[str]:
    """Return the words of a command of the unit, for another folder."""
    command, *words = shlex.split(unit()["Service"][setting])
    assert command == COMMAND
    return [str(root) if word == "/var/lib/looseleaf" else word for word in words]


def serves_and_stops(root: Path, words: list[str]) -> str:
    """Start a server on loopback, stop it as a service manager does; return what it said."""
    assert words[0] == "serve"
    instead = {"8765": "0", "0.0.0.0": "127.0.0.1"}
    server = Process(root, *(instead.get(word, word) for word in words[1:]))
    try:
        server.ready()
    finally:
        code = server.stop()
    assert code == 0, server.text
    return server.text


def test_the_unit_starts_a_server(tmp_path: Path) -> None:
    """Its commands run as they are written, twice, and end well when they are told to."""
    for _ in range(2):
        prepared = run(*LOOSELEAF, *words_of("ExecStartPre", tmp_path))
        assert prepared.returncode == 0, prepared.stderr
    assert str(tmp_path) in serves_and_stops(tmp_path, words_of("ExecStart", tmp_path))


@pytest.mark.parametrize("reader", ["systemctl enable --now", "podman run -d"])
def test_the_documented_command_signs_a_person_in(reader: str, tmp_path: Path) -> None:
    """A service prints no link, so the line after its start says how to get a code."""
    lines = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").splitlines()
    (start,) = [number for number, line in enumerate(lines) if line.startswith(reader)]
    words = shlex.split(lines[start + 1], comments=True)
    at = words.index("tokens")
    root = tmp_path / "memory"
    assert run(*LOOSELEAF, "init", root).returncode == 0
    said = serves_and_stops(root, ["serve", "--port", "0"])
    assert "login#" not in said
    (printed,) = [line for line in said.splitlines() if "looseleaf tokens login" in line]
    for line in ([*words[at : at + 2], "--root", str(root)], shlex.split(printed)[1:]):
        done = run(*LOOSELEAF, *line)
        assert "lll_" in done.stdout, done.stderr


def test_the_unit_may_write_its_workspace_alone() -> None:
    """The folder that it serves is the one that systemd makes for it."""
    service = unit()["Service"]
    assert f"--root /var/lib/{service['StateDirectory']} " in service["ExecStart"]
    assert service["ProtectSystem"] == "strict"
    assert service["DynamicUser"] == "yes"


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    """Every setting is one that systemd knows."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze")
    copy = tmp_path / "looseleaf.service"
    copy.write_text(UNIT.read_text(encoding="utf-8").replace(COMMAND, "/bin/true"))
    done = run("systemd-analyze", "verify", "--man=no", copy)
    complaints = [line for line in done.stderr.splitlines() if "looseleaf.service" in line]
    assert not complaints, done.stderr


def test_the_container_file_copies_what_is_there() -> None:
    """Each source is in the checkout, and each extra is one of the package."""
    sources = [word for name, value in steps() if name == "COPY" for word in value.split()[:-1]]
    assert sources
    assert not [source for source in sources if not (ROOT / source).exists()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(container_extras().split(",")) <= set(project["optional-dependencies"])


def test_what_is_installed_for_a_server_runs_its_schedules() -> None:
    """Upkeep, retention and backups run at night in every server, whatever else is installed."""
    lines = [
        line
        for page in ("README.md", "docs/install.md")
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
    ]
    extras = [extra for line in lines for extra in re.findall(r"'\.\[([\w,]+)\]'", line)]
    assert len(extras) > 4
    assert {extra for extra in extras if "server" in extra} == {"server"}
    assert container_extras() == "server,postgres"


def test_the_container_starts_a_server(tmp_path: Path) -> None:
    """Its command runs as it is written, once the settings say by which names it is called."""
    assert json.loads(step("ENTRYPOINT")) == ["looseleaf"]
    words: list[str] = json.loads(step("CMD"))
    root = tmp_path / "memory"
    assert step("ENV") == "LOOSELEAF_ROOT=/memory"
    chosen = {"LOOSELEAF_ROOT": str(root), "PATH": "/usr/bin:/bin"}
    assert (
        subprocess.run(
            [*LOOSELEAF, "init"], env=chosen, check=False, capture_output=True
        ).returncode
        == 0
    )
    refused = subprocess.run(
        [*LOOSELEAF, *words], env=chosen, check=False, capture_output=True, text=True
    )
    assert "allowed_hosts" in refused.stderr
    with (root / "looseleaf.toml").open("a") as file:
        file.write('allowed_hosts = ["localhost"]\n')
    assert str(root) in serves_and_stops(root, words)


@pytest.mark.slow
def test_the_container_s_steps_install_it(workshop: Path, tmp_path: Path) -> None:
    """What the file copies is enough to install the extras that it names."""
    context = tmp_path / "looseleaf"
    context.mkdir()
    for name, value in steps():
        if name == "COPY":
            for source in value.split()[:-1]:
                kept = ROOT / source
                (shutil.copytree if kept.is_dir() else shutil.copy)(kept, context / kept.name)
    programs = build_environment(workshop, "container", f"{context}[{container_extras()}]")
    done = run(programs / "looseleaf", "init", tmp_path / "memory")
    assert done.returncode == 0, done.stderr
    help_text = run(programs / "python", "-c", "import looseleaf.web.server, psycopg")
    assert help_text.returncode == 0, help_text.stderr


@pytest.mark.slow
def test_the_base_wheel_works_alone(workshop: Path, tmp_path: Path) -> None:
    """Without extras it remembers, gives prompts and serves MCP; `serve` says what to type."""
    programs = build_environment(workshop, "base", build_wheel(workshop))
    looseleaf, root = programs / "looseleaf", tmp_path / "memory"
    for line in (
        f"init {root} --agent ada",
        f"memory append Facts fact --root {root}",
        f"memory read --root {root}",
        f"prompt show --root {root}",
        f"chat --model echo --message hello --root {root}",
    ):
        done = run(looseleaf, *line.split())
        assert done.returncode == 0, done.stderr
    asked = run(looseleaf, "serve", "--root", root)
    assert asked.returncode == 7
    assert "looseleaf[server]" in asked.stderr
    assert run(programs / "python", "-c", "import mcp").returncode == 1
    client = {"name": "test", "version": "1"}
    asks = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asks}
    served = subprocess.run(
        [str(looseleaf), "mcp", "--root", str(root)],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(served.stdout)["result"]["serverInfo"]["name"] == "looseleaf"
