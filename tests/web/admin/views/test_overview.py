"""The list of agents, also when there are a thousand."""

from __future__ import annotations

from pathlib import Path

from tests.web.fixtures import Opens, Site


def test_the_list_is_filtered(admin_site: Site) -> None:
    """By a part of the name or slug."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get("/admin?filter=wiki").text
    table = text.partition("<tbody>")[2].partition("</tbody>")[0]
    assert "wiki-builder" in table
    assert "night-editor" not in table
    assert "No agent has" in browser.get("/admin?filter=nobody").text


def test_many_agents_come_in_parts(opens: Opens) -> None:
    """Fifty in a part, a dozen at the side, each of them once."""
    site = opens()
    for number in range(60):
        site.run("looseleaf/create-agent", slug=f"agent-{number:03}")
    browser, _csrf = site.sign_in()
    first = browser.get("/admin").text
    assert first.count("data-entry") == 50
    assert "All 61 agents" in first
    second = browser.get("/admin?after=agent-048").text
    assert second.count("data-entry") == 11
    assert "agent-059" in second


def test_only_agents_that_one_may_see_are_listed(admin_site: Site) -> None:
    """At the side, too."""
    admin_site.user("vera")
    browser, _csrf = admin_site.sign_in("vera")
    text = browser.get("/admin").text
    assert "No agents yet" in text
    assert "ada" not in text.partition("<tbody>")[2]
    assert browser.get("/admin/agents/ada/pages").status_code == 404


def test_a_fresh_workspace_leads_to_the_first_steps(site: Site) -> None:
    """Until the agent was told something."""
    browser, _csrf = site.sign_in()
    assert "Take the first step" in browser.get("/admin").text
    site.run("memory_long_term_add", content="- A fact", agent="ada")
    assert "Take the first step" not in browser.get("/admin").text


def test_a_workspace_without_a_name_is_called_by_its_folder(opens: Opens) -> None:
    """The first page that a new person sees names the place."""
    site = opens(name="")
    browser, _csrf = site.sign_in()
    folder = Path(site.workspace.settings.root).name
    text = browser.get("/admin").text
    assert f"Welcome to {folder}" in text
    assert f"1 agent in {folder}" in text
