"""Agents from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.fixtures import Run

RECORD = {"id", "slug", "name", "owner", "status", "created", "config"}


def test_an_agent_is_created_with_its_pages(run: Run, root: Path) -> None:
    """Its name comes from the slug unless it is told."""
    assert run("agents", "create", "wiki-writer").text == (
        "Created agent wiki-writer (id 2) in agents/wiki-writer.\n"
    )
    assert (root / "agents" / "wiki-writer" / "SOUL.md").exists()
    document = run(
        "agents", "create", "ada", "--name", "Ada L.", "--owner", "7", "--format=json"
    ).json
    assert document.keys() == RECORD
    assert (document["name"], document["owner"]) == ("Ada L.", 7)
    assert run("agents", "create", "ada").code == 4
    assert run("agents", "create", "Not A Slug").code == 2


def test_agents_are_listed(run: Run, root: Path) -> None:
    """For people and for programs; none is no error."""
    lines = run("agents", "list").text.splitlines()
    assert lines[0].split() == ["ID", "SLUG", "NAME", "OWNER", "STATUS", "CREATED"]
    assert lines[1].split()[:5] == ["1", "main", "Main", "1", "active"]
    assert [
        agent["slug"] for agent in run("agents", "list", "--format", "json").json["agents"]
    ] == ["main"]
    (root / "agents" / "main" / "agent.json").unlink()
    assert "looseleaf agents create SLUG" in run("agents", "list").text


def test_a_configuration_comes_as_json_or_from_a_file(run: Run) -> None:
    """Anything else is refused, and no agent is made."""
    config = {"models": {"default": "a:b"}}
    Path("config.json").write_text(json.dumps(config))
    assert run("agents", "create", "a", "--config", json.dumps(config)).code == 0
    assert run("agents", "create", "b", "--config", "@config.json").code == 0
    assert run("agents", "show", "b", "--format", "json").json["config"] == config
    for wrong in ("{", "[1]", "@none.json", '{"daily_memory": 3}', '{"x": NaN}'):
        assert run("agents", "create", "c", "--config", wrong).code == 2
    assert run("agents", "show", "c").code == 3


def test_show_tells_all_about_an_agent(run: Run) -> None:
    """The default one, or one by slug or id."""
    assert run("agents", "show").text.splitlines()[:2] == ["id        1", "slug      main"]
    run("agents", "configure", "main", 'tone="calm"')
    assert run("agents", "show", "1").text.endswith('config    tone = "calm"\n')
    assert run("agents", "show", "main", "--format", "json").json.keys() == RECORD
    missing = run("agents", "show", "eve")
    assert (missing.code, "Available agents: main" in missing.err) == (3, True)


def test_a_rename_moves_the_folder_and_keeps_the_id(run: Run, root: Path) -> None:
    """And the name, unless another is told."""
    assert run("agents", "rename", "main", "eve").text == "Agent 1 is now eve (Main).\n"
    assert (root / "agents" / "eve" / "MEMORY.md").exists()
    assert (
        run("agents", "rename", "1", "adam", "--name", "Adam").text
        == "Agent 1 is now adam (Adam).\n"
    )
    assert run("agents", "rename", "adam", "X").code == 2
    assert run("agents", "rename", "none", "x").code == 3


def test_configure_sets_and_removes_keys(run: Run) -> None:
    """Several at once; null takes one out; the others stay."""
    assert (
        run("agents", "configure", "main", "a=1", "b=[2]").text == "Configured agent main: a, b.\n"
    )
    document = run("agents", "configure", "main", "a=null", 'c="x=y"', "--format", "json").json
    assert document["config"] == {"b": [2], "c": "x=y"}


@pytest.mark.parametrize(
    "setting", ["a", "=1", "a=calm", "a=", "a={", "a=Infinity", "memory_policy=3"]
)
def test_a_setting_that_is_no_json_is_refused(setting: str, run: Run) -> None:
    """With a hint if quotes are missing."""
    answer = run("agents", "configure", "main", setting)
    assert answer.code == 2
    assert ("""'a="calm"'""" in answer.err) is (setting == "a=calm")
    assert run("agents", "show", "--format", "json").json["config"] == {}


@pytest.mark.parametrize(
    ("verb", "status"),
    [("deactivate", "inactive"), ("archive", "archived"), ("activate", "active")],
)
def test_an_agent_can_be_switched_off_and_on(verb: str, status: str, run: Run) -> None:
    """Its pages stay."""
    assert run("agents", verb, "main").text == f"Agent main is {status}.\n"
    assert run("agents", "show", "main", "--format", "json").json["status"] == status
    assert run("memory", "read", "--agent", "main").code == 0
    assert run("agents", verb, "none").code == 3


def test_delete_asks_and_keeps_pages_unless_told(run: Run, root: Path) -> None:
    """Without a terminal only --yes is a yes."""
    run("agents", "create", "ada")
    assert run("agents", "delete", "ada").code == 2
    assert run("agents", "delete", "ada", "--yes").text == (
        "Deleted agent ada. Its folder agents/ada is still there.\n"
    )
    assert (root / "agents" / "ada" / "SOUL.md").exists()
    run("agents", "create", "ada")
    assert (
        run("agents", "delete", "ada", "--files", "--yes").text
        == "Deleted agent ada and 2 pages.\n"
    )
    assert not (root / "agents" / "ada").exists()
    run("agents", "create", "bob")
    document = run("agents", "delete", "bob", "--files", "--yes", "--format", "json").json
    assert document == {"slug": "bob", "pages": 2, "folder_left": False}


def test_delete_asks_at_a_terminal(on_terminal: Run, root: Path) -> None:
    """With what will go."""
    answer = on_terminal("agents", "delete", "main", "--files", prompt=b"[y/N]", keys=b"n\n")
    assert answer.text.startswith("Delete agent main (id 1) and all its pages? [y/N]: n\n")
    assert answer.text.endswith("looseleaf: Nothing was done.\n")
    assert answer.code == 1
    assert (root / "agents" / "main" / "agent.json").exists()
