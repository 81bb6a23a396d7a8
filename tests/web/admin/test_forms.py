"""Forms lose nothing that is typed, undo nothing of others, and ask before what is for good."""

from __future__ import annotations

import re
from html import unescape

import pytest
from playwright.sync_api import Page

from looseleaf.web.admin.opened_forms import OPENED, list_forms
from tests.web.admin.fixtures import OpenTab
from tests.web.admin.pages import ADDRESSES, fill, find_target
from tests.web.fixtures import Opens, Site

SETTINGS = ADDRESSES["agent-settings"]
REMOVED = "a choice that is taken away"


def read_forms(text: str) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    """Return each form that changes something: its HTML, all its fields, and its visible ones."""
    found = []
    for form in list_forms(text):
        hidden = {item.name: item.content for item in form.controls if item.kind == "hidden"}
        found.append((form.html, hidden | form.fields, form.fields))
    return found


def find_settings(text: str) -> dict[str, str]:
    """Return the fields of the form of an agent's settings."""
    return next(fields for _html, fields, _shown in read_forms(text) if "recent-days" in fields)


def read_audit_end(site: Site) -> int:
    """Return the number of the newest entry of the audit."""
    return int(site.run("looseleaf/list-audit", limit=1)[0]["number"])


def type_something(html: str) -> dict[str, str]:
    """Return what a person may change in a form: a text, or else a choice."""
    controls = [
        item for item in list_forms(html)[0].controls if item.kind not in ("hidden", "button")
    ]
    texts = [item.name for item in controls if item.kind not in ("checkbox", "radio")]
    if texts:
        return {texts[0]: "Typed in an older tab"}
    off = [item.name for item in controls if not item.is_on]
    return {off[0]: "yes"} if off else {controls[0].name: REMOVED}


def test_every_form_names_the_version_it_was_opened_with(shown_site: Site) -> None:
    """An older tab's form is refused with both texts, and nothing is changed; on every page."""
    browser, _csrf = shown_site.sign_in()
    count = 0
    for name, path in ADDRESSES.items():
        for html, fields, shown in read_forms(browser.get(path).text):
            if not shown or "data-own-version" in html:
                assert "version" in fields or not shown, name
                continue
            assert re.fullmatch(r"[0-9a-f]{12}\.[0-9a-f]{16}", fields[OPENED]), name
            if "multipart" in html:
                continue
            edit = type_something(html)
            button = re.search(r'<button[^>]*name="action" value="([^"]*)"', html)
            action = {"action": button[1]} if button else {}
            typed = {**fields, **action, **edit}
            typed = {key: text for key, text in typed.items() if text != REMOVED}
            typed[OPENED] = f"{fields[OPENED][:13]}{'0' * 16}"  # the form showed something else
            before = read_audit_end(shown_site)
            answer = browser.post(find_target(html, path), data=typed)
            assert answer.status_code == 409, (name, fields)
            assert "changed elsewhere since you opened" in answer.text
            assert 'data-label="Yours:"' in answer.text, name
            assert all(text in answer.text for text in edit.values() if text != REMOVED), name
            assert read_audit_end(shown_site) == before, name
            again = [form for form in read_forms(answer.text) if form[1].get(OPENED)]
            assert fields[OPENED] in [form[1][OPENED] for form in again], name
            count += 1
    assert count > 15


def test_an_older_tab_does_not_undo_a_newer_one(admin_site: Site) -> None:
    """The settings of an agent that another tab saved stay, until both were shown."""
    browser, _csrf = admin_site.sign_in()
    older = find_settings(browser.get(SETTINGS).text)
    newer = {**older, "daily": "yes", "model:chat": "echo:new", "action": "save"}
    assert browser.post(SETTINGS, data=newer).status_code == 303
    answer = browser.post(SETTINGS, data={**older, "recent-days": "5", "action": "save"})
    assert answer.status_code == 409
    rows = re.findall(
        r'<td data-label="Now:">(.*?)</td><td data-label="Yours:">(.*?)</td>', answer.text
    )
    assert set(rows) == {("echo:new", "empty"), ("yes", "no"), ("3", "5")}
    config = admin_site.run("looseleaf/show-agent", agent="ada")["config"]
    assert config["daily_memory"]["enabled"]
    again = find_settings(answer.text)
    assert again["recent-days"] == "5"
    assert "daily" not in again
    assert browser.post(SETTINGS, data={**again, "action": "save"}).status_code == 303
    config = admin_site.run("looseleaf/show-agent", agent="ada")["config"]
    assert config["daily_memory"] == {"enabled": False, "recent_days": 5}


def test_a_form_of_an_object_that_changed_in_another_part_is_saved(admin_site: Site) -> None:
    """Only what the form shows counts: the task of a pipeline, whose memory was changed."""
    browser, _csrf = admin_site.sign_in()
    path = ADDRESSES["pipeline"]
    task = next(form[1] for form in read_forms(browser.get(path).text) if "prompt" in form[1])
    admin_site.run("looseleaf/update-pipeline", pipeline=1, memory_files=[])
    answer = browser.post(path, data={**task, "name": "Evening news", "action": "details"})
    assert answer.status_code == 303, answer.text
    pipeline = admin_site.run("looseleaf/show-pipeline", pipeline=1)
    assert (pipeline["name"], pipeline["memory_files"]) == ("Evening news", [])


def test_a_refused_form_has_what_was_typed(shown_site: Site) -> None:
    """Also choices that the view does not know of: an unchecked box stays unchecked."""
    browser, _csrf = shown_site.sign_in()
    path = ADDRESSES["access"]
    form = next(form[1] for form in read_forms(browser.get(path).text) if "label" in form[1])
    assert form.pop("can-chat") == "yes"
    typed = {**form, "label": "x" * 5000, "days": "30", "role": "viewer", "action": "create"}
    answer = browser.post(path, data=typed)
    assert answer.status_code == 400, answer.text
    again = next(form[1] for form in read_forms(answer.text) if "label" in form[1])
    assert again == {**form, "label": "x" * 5000, "days": "30", "role": "viewer"}


def find_dangers(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the fields of every form with a button of danger, and its HTML."""
    found = []
    for html, fields, _shown in read_forms(text):
        for name, content in re.findall(
            r'<button[^>]*class="[^"]*danger[^"]*" name="(\w+)" value="([^"]*)"', html
        ):
            found.append((html, {**fields, name: content}))
    return found


def test_nothing_is_deleted_by_one_click(shown_site: Site) -> None:
    """Every button of danger, on every page, leads to a question; nothing is changed by it."""
    browser, _csrf = shown_site.sign_in()
    asked = set()
    for name, path in ADDRESSES.items():
        for target, fields in find_dangers(browser.get(path).text):
            before = read_audit_end(shown_site)
            answer = browser.post(find_target(target, path), data=fields)
            if "confirm" in fields:
                assert "type ada to confirm" in answer.text
                continue
            assert answer.status_code == 200, name
            assert read_audit_end(shown_site) == before
            if fields.get("action", "").startswith("steps:"):
                continue  # taken out of the form, and nothing is saved yet
            assert "data-sure" in answer.text, name
            assert "Do you want this for good?" not in answer.text  # the view has better words
            asked.add(re.sub(r"<.*?>", "", answer.text.partition("<h1>")[2].partition("</h1>")[0]))
    assert len(asked) >= 6, asked


def test_a_sure_person_deletes(admin_site: Site) -> None:
    """The question has the fields of the form; its button does what was asked for."""
    browser, _csrf = admin_site.sign_in()
    path = ADDRESSES["pipeline"]
    target, fields = next(
        danger for danger in find_dangers(browser.get(path).text) if danger[1]["action"] == "delete"
    )
    question = browser.post(find_target(target, path), data=fields)
    assert "Delete the pipeline Daily Music News?" in question.text
    assert "1 flow and 1 file" in question.text
    html = next(html for html, *_ in read_forms(question.text) if "data-sure" in html)
    sure = {
        name: unescape(text)
        for name, text in re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', html)
    }
    assert browser.post(path, data=sure).status_code == 303
    assert admin_site.run("looseleaf/list-pipelines", agent="ada") == []


TYPED = "- Zebra is the code name\n"


def type_a_line(page: Page) -> None:
    """Add a line in the editor."""
    field = page.get_by_label("Text of MEMORY.md")
    field.fill(field.input_value() + TYPED)


def test_the_text_of_an_ended_session_is_saved_after_the_sign_in(
    admin_site: Site, open_tab: OpenTab
) -> None:
    """Without another press of the button."""
    page = open_tab(admin_site).open(ADDRESSES["edit"])
    type_a_line(page)
    page.context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/login?next=*")
    link = admin_site.run("looseleaf/create-login-link")["token"]
    page.get_by_label("One-time link").fill(link)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".note.good", has_text="Saved MEMORY.md").wait_for()
    assert (
        TYPED
        in admin_site.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["content"]
    )


def test_no_connection_keeps_the_text(admin_site: Site, open_tab: OpenTab) -> None:
    """On the page, and in a tab that is loaded again."""
    page = open_tab(admin_site).open(ADDRESSES["edit"])
    type_a_line(page)
    page.context.set_offline(offline=True)
    page.get_by_role("button", name="Save").click()
    page.locator(".draft", has_text="no connection").wait_for()
    assert TYPED in page.get_by_label("Text of MEMORY.md").input_value()
    page.context.set_offline(offline=False)
    page.goto(f"{admin_site.base}/admin")
    page.goto(f"{admin_site.base}{ADDRESSES['edit']}")
    page.get_by_role("button", name="Put it back").click()
    page.get_by_role("button", name="Save").click()
    page.locator(".note.good", has_text="Saved MEMORY.md").wait_for()
    page.goto(f"{admin_site.base}{ADDRESSES['edit']}")
    page.get_by_role("heading", name="MEMORY.md").wait_for()
    assert not page.locator(".draft").count()


@pytest.mark.parametrize("scripts", [True, False])
def test_another_sign_in_in_another_tab_loses_nothing(
    admin_site: Site, open_tab: OpenTab, *, scripts: bool
) -> None:
    """With scripts, the form is saved; without, it is shown again with what was typed."""
    page = open_tab(admin_site, java_script_enabled=scripts).open(SETTINGS)
    page.get_by_label("In conversations").fill("echo:typed")
    client, _csrf = admin_site.sign_in()
    page.context.add_cookies(
        [
            {"name": item.name, "value": item.value or "", "url": admin_site.base}
            for item in client.cookies.jar
        ]
    )
    page.get_by_role("button", name="Save").click()
    if not scripts:
        page.locator(".note.bad", has_text="signed in anew").wait_for()
        page.get_by_role("button", name="Save").click()
    page.locator(".note.good", has_text="follows these settings").wait_for()
    config = admin_site.run("looseleaf/show-agent", agent="ada")["config"]
    assert config["models"] == {"chat": "echo:typed"}


def test_forms_of_a_site_with_something_on_every_page(opens: Opens) -> None:
    """The parser of forms reads what a browser would send."""
    site = opens()
    fill(site)
    browser, _csrf = site.sign_in()
    form = find_settings(browser.get(SETTINGS).text)
    assert (form["recent-days"], form["memory-mode"]) == ("3", "default")
    assert "daily" not in form
