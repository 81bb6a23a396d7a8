"""The models that providers offer: asked on loopback, listed with reasons, and suggested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.operations.agents import list_models
from looseleaf.settings import Provider
from tests.cli.fixtures import Run
from tests.models.scripted import Reply, Scripted, serve_script
from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Opens

SETTINGS = """
[providers.house]
base_url = "{url}"
key = "sk-house-0123456789"
[providers.attic]
base_url = "http://127.0.0.1:9/v1"
[providers.anthropic]
key = "sk-ant-0123456789"
"""


@pytest.fixture
def house() -> Iterator[Scripted]:
    """Serve a provider with three names, one of which no name may be."""
    with serve_script(Scripted(offered=["small", "large", "\n"])) as server:
        yield server


def test_providers_are_asked_for_their_models(tmp_path: Path, house: Scripted) -> None:
    """With the key; one that does not answer, or has no list, stands there with the reason."""
    root = tmp_path / "root"
    Workspace.create(root, agent="ada").close()
    with (root / "looseleaf.toml").open("a") as file:
        file.write(SETTINGS.format(url=house.url))
    with Workspace.open(root) as workspace:
        offers = {offer.provider: offer for offer in list_models(workspace.context)}
        assert list(offers) == ["anthropic", "attic", "echo", "house"]
        assert (offers["house"].models, offers["house"].problem) == (
            ("house:large", "house:small"),
            "",
        )
        assert (house.paths, house.keys) == (["/v1/models"], ["sk-house-0123456789"])
        assert offers["attic"].models == offers["anthropic"].models == ()
        assert "does not answer" in offers["attic"].problem
        assert "gives no list" in offers["anthropic"].problem
        house.offered.clear()
        house.script(Reply(status=403, body="sk-house-0123456789 may not list"))
        [refused] = [offer for offer in list_models(workspace.context) if offer.provider == "house"]
        assert refused.models == ()
        assert "may not list" in refused.problem
        assert "sk-house" not in refused.problem


def test_the_command_prints_names(run: Run, command_root: Path, house: Scripted) -> None:
    """One in a line, as they are set."""
    with (command_root / "looseleaf.toml").open("a") as file:
        file.write(SETTINGS.format(url=house.url))
    lines = run("models", "list").text.splitlines()
    assert {"echo", "house:large", "house:small"} < set(lines)


def test_the_settings_of_an_agent_suggest_models(
    opens: Opens, open_tab: OpenTab, house: Scripted
) -> None:
    """Once a field is entered, and not before; another name may be typed, and is saved."""
    site = opens(providers=(Provider("house", house.url),))
    page = open_tab(site).open("/admin/agents/ada/settings")
    assert page.locator("#models option").count() == 0
    assert house.paths == []
    field = page.get_by_label("In conversations")
    field.focus()
    page.locator("#models option").nth(2).wait_for(state="attached")
    names = page.locator("#models option").evaluate_all("all => all.map(one => one.value)")
    assert names == ["echo", "house:large", "house:small"]
    field.fill("house:typed")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".note.good").wait_for()
    config = site.run("looseleaf/show-agent", agent="ada")["config"]
    assert config["models"] == {"chat": "house:typed"}
