"""A plugin in a package of its own, built and installed as anyone's, and used by real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.conftest import EXAMPLE

SCRIPT = """
import json, sys
from looseleaf import Change, Scope, Workspace

workspace = Workspace.create(sys.argv[1], name="House", agent="editor")
import looseleaf_example
looseleaf_example.HEARD.clear()
guide = workspace.pages.append(
    Scope("shared", 0, 0, "style-guide.md"), "Be brief.", change=Change()
)
prompt = workspace.compose("chat")
print(json.dumps({
    "module": looseleaf_example.__file__,
    "prompt": prompt.text,
    "model": workspace.model_for("editor", "chat"),
    "heard": looseleaf_example.HEARD,
}))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the example from its own folder, and install it into a new one on the path."""
    folder = tmp_path_factory.mktemp("site")
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", *offline]
    subprocess.run([*command, "--target", str(folder), str(EXAMPLE)], check=True)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LOOSELEAF_")}
    return {**kept, "PYTHONPATH": str(folder), "LOOSELEAF_ACTOR": "tester"}


@pytest.fixture
def told(environment: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """Use the plugin in a process of its own."""
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "memory")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def looseleaf(environment: dict[str, str], root: Path, *words: str) -> str:
    command = [sys.executable, "-m", "looseleaf", *words, "--root", str(root)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_an_installed_package_extends_every_part(
    told: dict[str, Any], environment: dict[str, str], tmp_path: Path
) -> None:
    """Its directive speaks, its page is injected, its store is used, its listeners are told."""
    assert Path(told["module"]).is_relative_to(environment["PYTHONPATH"])
    assert "editor, the deadline is at five." in told["prompt"]
    assert "# How House writes\nBe brief.\n" in told["prompt"]
    assert '"edition": "evening"' in told["prompt"]
    assert told["model"] == "acme:editor"
    assert told["heard"] == ["append style-guide.md", "editor in chat"]
    assert (tmp_path / "memory" / "vault" / "users" / "1" / "USER.md").exists()
    assert not (tmp_path / "memory" / "users").exists()


def test_the_command_line_has_what_the_package_adds(
    told: dict[str, Any], environment: dict[str, str], tmp_path: Path
) -> None:
    """Reads come from the store it picked, and the list of plugins says what it is."""
    assert told
    root = tmp_path / "memory"
    assert looseleaf(environment, root, "memory", "read", "USER.md").startswith("# User\n")
    assert "example    1.2.3    installed with looseleaf_example" in looseleaf(
        environment, root, "plugins", "list"
    )
    [_, plugin] = json.loads(looseleaf(environment, root, "plugins", "list", "--format", "json"))[
        "plugins"
    ]
    assert (plugin["name"], plugin["version"], plugin["module"]) == (
        "example",
        "1.2.3",
        "looseleaf_example",
    )
    assert plugin["registered"] == {
        "files": ["style-guide.md"],
        "composed sections": ["SITE.md: style"],
        "starters": ["style-guide"],
        "directives": ["deadline"],
        "content filters": ["numbers"],
        "file filters": ["letters"],
        "scoped file filters": ["drafts"],
        "site context": ["edition"],
        "operations": ["example/count-words"],
        "schedules": ["count-style"],
        "system tasks": ["count_memory_words"],
        "steps": ["count-words"],
        "settings": ["deadline_hour", "editions"],
    }
    assert len(plugin["hooks"]) == 23


def test_a_package_can_be_switched_off(
    told: dict[str, Any], environment: dict[str, str], tmp_path: Path
) -> None:
    """Then nothing of it is imported; the list still shows that it is installed."""
    assert told
    root = tmp_path / "memory"
    (root / "looseleaf.toml").write_text('plugins_off = ["example"]\n')
    assert "with looseleaf_example, switched off" in looseleaf(environment, root, "plugins", "list")
    assert "style-guide.md: " not in looseleaf(environment, root, "plugins", "list")
