"""Settings of an agent: a policy is tried before it is saved; its name, status and end."""

from __future__ import annotations

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

SETTINGS = "/admin/agents/ada/settings"


def has_memory(site: Site) -> bool:
    """Return whether MEMORY.md stands in the prompt now."""
    prompt = site.run("looseleaf/compose-prompt", mode="chat", agent="ada", format="text")
    return "Lessons Learned" in prompt["text"]


def test_a_policy_is_previewed_while_it_is_chosen(admin_site: Site, open_tab: OpenTab) -> None:
    """Nothing is saved by the preview; saving does what it showed."""
    page = open_tab(admin_site).open(SETTINGS)
    page.get_by_label("Every page except these").check()
    page.get_by_label("MEMORY.md", exact=True).check()
    preview = page.locator("#preview .removed", has_text="MEMORY.md")
    preview.wait_for()
    assert "denied by this agent's policy" in preview.inner_text()
    assert has_memory(admin_site)
    page.get_by_role("button", name="Save").click()
    page.locator(".note.good", has_text="follows these settings").wait_for()
    assert not has_memory(admin_site)


def test_a_policy_is_previewed_and_saved_without_scripts(
    admin_site: Site, open_tab: OpenTab
) -> None:
    """By a button; the form keeps what was chosen."""
    page = open_tab(admin_site, java_script_enabled=False).open(SETTINGS)
    page.get_by_label("Only these pages").check()
    page.get_by_label("SOUL.md", exact=True).check()
    page.get_by_role("button", name="Preview").click()
    assert "MEMORY.md" in page.locator("#preview .removed").all_inner_texts()[-1]
    assert page.get_by_label("SOUL.md", exact=True).is_checked()
    page.get_by_role("button", name="Save").click()
    config = admin_site.run("looseleaf/show-agent", agent="ada")["config"]
    assert config["memory_policy"] == {"mode": "allow_only", "allow_only": ["SOUL.md"]}


def test_models_and_daily_memory_are_set_and_taken_out(admin_site: Site, open_tab: OpenTab) -> None:
    """An empty field leaves the choice to the workspace."""
    page = open_tab(admin_site, java_script_enabled=False).open(SETTINGS)
    page.get_by_label("In conversations").fill("echo")
    page.get_by_label("Give the last days of its journal").check()
    page.get_by_label("Days", exact=True).fill("5")
    page.get_by_role("button", name="Save").click()
    config = admin_site.run("looseleaf/show-agent", agent="ada")["config"]
    assert config["models"] == {"chat": "echo"}
    assert config["daily_memory"] == {"enabled": True, "recent_days": 5}
    page.get_by_label("In conversations").fill("")
    page.get_by_role("button", name="Save").click()
    assert "models" not in admin_site.run("looseleaf/show-agent", agent="ada")["config"]


def test_settings_that_cannot_be_are_refused_with_what_was_typed(admin_site: Site) -> None:
    """The reason stands above the form."""
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "action": "save", "memory-mode": "default", "recent-days": "many"}
    answer = browser.post(SETTINGS, data=form)
    assert answer.status_code == 400
    assert "a whole number" in answer.text


def test_an_agent_is_renamed_archived_and_deleted(admin_site: Site, open_tab: OpenTab) -> None:
    """Its pages come along; deleting asks for its slug; it can be brought back."""
    page = open_tab(admin_site, java_script_enabled=False).open(SETTINGS)
    page.get_by_label("Name for people").fill("Ada Lovelace")
    page.get_by_label("Slug: names").fill("lovelace")
    page.get_by_role("button", name="Rename").click()
    assert page.url.endswith("/admin/agents/lovelace/settings")
    page.get_by_role("button", name="Archive").click()
    assert "Ada Lovelace is archived" in page.locator(".note.good").inner_text()
    page.get_by_text("Delete Ada Lovelace …").click()
    page.get_by_role("button", name="Delete Ada Lovelace").click()
    assert "Nothing was deleted" in page.get_by_role("alert").inner_text()
    page.get_by_label("Type lovelace").fill("lovelace")
    page.get_by_role("button", name="Delete Ada Lovelace").click()
    assert page.url.endswith("/admin")
    page.get_by_role("link", name="Deleted agents").click()
    page.get_by_role("row", name="Ada Lovelace").get_by_role("button", name="Restore").click()
    assert page.url.endswith("/admin/agents/lovelace/pages")
    assert page.get_by_role("link", name="MEMORY.md", exact=True).is_visible()


@pytest.mark.parametrize("action", ["save", "rename", "archived", "delete"])
def test_a_viewer_changes_nothing(admin_site: Site, action: str) -> None:
    """The fields are locked, and the operations refuse all the same."""
    admin_site.user("vera")
    admin_site.run("looseleaf/grant-role", agent="ada", user="vera", role="viewer")
    browser, csrf = admin_site.sign_in("vera")
    text = browser.get(SETTINGS).text
    assert '<fieldset class="plain" disabled>' in text
    assert "Its settings are changed by its admins" in text
    form = {"csrf": csrf, "action": action, "memory-mode": "default", "slug": "x", "confirm": "ada"}
    assert browser.post(SETTINGS, data=form).status_code == 403
