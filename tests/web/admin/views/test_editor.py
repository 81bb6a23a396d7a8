"""Editing without fear: saved by version, merged by section, previewed, also without scripts."""

from __future__ import annotations

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

EDIT = "/admin/agents/ada/edit/agent/MEMORY.md"
READ = "/admin/agents/ada/pages/agent/MEMORY.md"


def memory(site: Site) -> str:
    return str(site.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["content"])


def append(site: Site, section: str, line: str) -> None:
    arguments = {"file": "MEMORY.md", "agent": "ada", "mode": "append"}
    site.run("datamachine/update-agent-memory", section=section, content=line, **arguments)


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_page_is_edited_and_saved(
    admin_site: Site, open_tab: OpenTab, *, has_scripts: bool
) -> None:
    """Byte for byte as typed, with the line ends of the page, as the one signed in."""
    page = open_tab(admin_site, java_script_enabled=has_scripts).open(EDIT)
    field = page.get_by_label("Text of MEMORY.md")
    assert field.input_value() == memory(admin_site)
    text = memory(admin_site) + "- Typed here\n"
    field.fill(text)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{READ}")
    assert memory(admin_site) == text
    assert "Saved MEMORY.md" in page.locator(".note.good").inner_text()
    revision = admin_site.run("looseleaf/page-history", file="MEMORY.md", agent="ada")[-1]
    assert (revision["actor"], revision["surface"]) == ("admin", "admin")


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_conflict_shows_both_and_keeps_both(
    admin_site: Site, open_tab: OpenTab, *, has_scripts: bool
) -> None:
    """Nothing is written until the merged page is saved; then no line of either side is lost."""
    page = open_tab(admin_site, java_script_enabled=has_scripts).open(EDIT)
    field = page.get_by_label("Text of MEMORY.md")
    field.fill(field.input_value().replace("ID 14", "ID 14\n- Mine"))
    append(admin_site, "Lessons Learned", "- Theirs")
    append(admin_site, "State", "- Theirs, too")
    before = memory(admin_site)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="was changed while you were editing").wait_for()
    assert memory(admin_site) == before
    assert page.get_by_text("both changed it").count() == 1
    assert page.get_by_text("only the page changed").count() == 1
    page.get_by_role("button", name="Save the merged page").click()
    page.wait_for_url(f"**{READ}")
    text = memory(admin_site)
    assert "- Mine\n" in text
    assert "- Theirs\n" in text
    assert "- Theirs, too\n" in text


def test_one_side_of_a_conflict_can_be_chosen(admin_site: Site, open_tab: OpenTab) -> None:
    """By section."""
    page = open_tab(admin_site, java_script_enabled=False).open(EDIT)
    field = page.get_by_label("Text of MEMORY.md")
    field.fill(field.input_value().replace("ID 14", "ID 15"))
    append(admin_site, "Lessons Learned", "- Theirs")
    page.get_by_role("button", name="Save").click()
    page.get_by_label("The page now").check()
    page.get_by_role("button", name="Save the merged page").click()
    page.wait_for_url(f"**{READ}")
    assert "ID 14\n- Theirs" in memory(admin_site)
    assert "ID 15" not in memory(admin_site)


def test_a_preview_follows_what_is_typed(admin_site: Site, open_tab: OpenTab) -> None:
    """With the outline, the size, and a change elsewhere announced; Ctrl+S saves."""
    page = open_tab(admin_site).open(EDIT)
    page.get_by_label("Text of MEMORY.md").fill("## One\n- **bold** words\n\n## Two\n")
    page.locator("#preview strong", has_text="bold").wait_for()
    assert page.locator("#outline a").all_inner_texts() == ["One", "Two"]
    assert "32 of 8,192 bytes" in page.locator("#gauge-text").inner_text()
    append(admin_site, "State", "- From elsewhere")
    page.locator("#elsewhere", has_text="changed MEMORY.md").wait_for()
    page.keyboard.press("Control+s")
    page.get_by_role("heading", name="was changed while you were editing").wait_for()


def test_a_preview_needs_no_script(admin_site: Site, open_tab: OpenTab) -> None:
    """A button shows it, and what was typed stays."""
    page = open_tab(admin_site, java_script_enabled=False).open(EDIT)
    page.get_by_label("Text of MEMORY.md").fill("## One\n- **bold** words\n")
    page.get_by_role("button", name="Preview").click()
    assert page.locator("#preview strong").inner_text() == "bold"
    assert page.get_by_label("Text of MEMORY.md").input_value() == "## One\n- **bold** words\n"


def test_a_loss_is_asked_for(admin_site: Site, open_tab: OpenTab) -> None:
    """A core page that would lose most of its text is kept until someone says so."""
    append(admin_site, "State", "- a long line of memory\n" * 200)
    page = open_tab(admin_site, java_script_enabled=False).open(EDIT)
    page.get_by_label("Text of MEMORY.md").fill("x")
    page.get_by_role("button", name="Save").click()
    assert page.get_by_role("alert").count() == 1
    page.get_by_label("Save it all the same").check()
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**{READ}")
    assert memory(admin_site) == "x"


def test_a_new_page_is_written(admin_site: Site, open_tab: OpenTab) -> None:
    """From the list of pages."""
    page = open_tab(admin_site, java_script_enabled=False).open("/admin/agents/ada/pages")
    page.get_by_label("New page").fill("style")
    page.get_by_role("button", name="Write it").click()
    page.get_by_label("Text of style.md").fill("Be brief.\n")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/pages/agent/style.md")
    assert page.locator("article").inner_text().strip() == "Be brief."


def test_line_ends_of_a_page_are_kept(admin_site: Site) -> None:
    """Browsers send CR LF for every line; a page that has LF keeps LF."""
    browser, csrf = admin_site.sign_in()
    version = admin_site.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["hash"]
    form = {"csrf": csrf, "version": version, "action": "save", "content": "a\r\n" * 200}
    assert browser.post(EDIT, data=form).status_code == 303
    assert memory(admin_site) == "a\n" * 200


def test_a_form_without_its_token_is_refused(admin_site: Site) -> None:
    """Nothing is written; another site's page cannot know the token."""
    browser, csrf = admin_site.sign_in()
    before = memory(admin_site)
    form = {"version": "", "action": "save", "content": "x"}
    assert browser.post(EDIT, data=form).status_code == 403
    assert browser.post(EDIT, data={**form, "csrf": "0" * 64}).status_code == 403
    foreign = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    assert browser.post(EDIT, data={**form, "csrf": csrf}, headers=foreign).status_code == 403
    assert memory(admin_site) == before


def test_a_viewer_reads_why_a_page_cannot_be_edited(admin_site: Site) -> None:
    """And a form that is sent all the same is refused by the operation."""
    user = admin_site.user("vera")
    admin_site.run("looseleaf/grant-role", user="vera", agent="ada", role="viewer")
    browser, csrf = admin_site.sign_in("vera")
    assert user
    answer = browser.get(READ)
    assert "You may read this page, not change it." in answer.text
    form = {"csrf": csrf, "version": "", "action": "save", "content": "x"}
    assert browser.post(EDIT, data=form).status_code == 403


def test_a_generated_page_says_why(admin_site: Site) -> None:
    """It would be overwritten."""
    browser, _csrf = admin_site.sign_in()
    answer = browser.get("/admin/agents/ada/edit/shared/SITE.md")
    assert "An edit would be overwritten" in answer.text
    assert "<textarea" not in answer.text
