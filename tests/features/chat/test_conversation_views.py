"""Conversations: streamed, stopped, read like a chat, renamed, exported, deleted."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from looseleaf.models.model import ToolCall
from tests.features.chat.conftest import Reply, Script
from tests.web.admin.accessibility import LOOKS, find_faults
from tests.web.admin.fixtures import LONG, OpenTab
from tests.web.admin.hostile import EVERYTHING, HOSTILE
from tests.web.fixtures import Opens, Site

CHAT = "/admin/agents/ada/chat"
REMEMBER = ToolCall(
    "c1", "agent_memory", '{"action": "append", "section": "Facts", "content": "- likes tea"}'
)


# A model that goes on for half a minute, and looks after each pause whether it is to stop.
PAUSES = (lambda: time.sleep(0.05),) * 600


@pytest.fixture
def talks(opens: Opens) -> Site:
    """Serve a workspace in which the echo model answers."""
    return opens(default_model="echo")


def scripted(opens: Opens, *replies: Reply) -> Site:
    """Serve a workspace in which a scripted model answers."""
    site = opens(default_model="script:m")
    script = Script(*replies)
    site.workspace.models().register("script", lambda _name: script)
    return site


def sessions(site: Site) -> list[dict[str, Any]]:
    return list(site.run("datamachine/list-chat-sessions", agent="ada")["sessions"])


def converse(site: Site, message: str) -> str:
    """Have a conversation over REST as the administrator; return the address of its page."""
    browser, csrf = site.sign_in()
    body = {"message": message, "agent": "ada"}
    answer = browser.post("/datamachine/v1/chat", json=body, headers={"x-csrf-token": csrf})
    assert answer.status_code == 200, answer.text
    return f"{CHAT}/{answer.json()['data']['session_id']}"


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_conversation_is_had(talks: Site, open_tab: OpenTab, *, has_scripts: bool) -> None:
    """By keyboard with the echo model; without JavaScript the form waits for the answer."""
    page = open_tab(talks, java_script_enabled=has_scripts).open(CHAT)
    for message in ("Hello **there**", "And again"):
        page.locator("#message").focus()
        page.keyboard.type(message)
        if has_scripts:
            page.keyboard.press("Control+Enter")
        else:
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
        page.locator("#conversation .message.agent", has_text=message.strip("*")[-5:]).wait_for()
    assert page.locator("#conversation .message").count() == 4
    assert page.locator("#conversation .person strong", has_text="there").count() == 1
    assert sessions(talks)[0]["message_count"] == 4
    assert sessions(talks)[0]["unread_count"] == 0


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_memory_write_leads_to_its_revision(
    opens: Opens, open_tab: OpenTab, *, has_scripts: bool
) -> None:
    """The tool call stands inline, in words; the version says which conversation made it."""
    site = scripted(opens, ("Let me note that.", REMEMBER), "Noted.")
    page = open_tab(site, java_script_enabled=has_scripts).open(CHAT)
    page.get_by_label("Say something").fill("I like tea")
    page.get_by_role("button", name="Send").click()
    link = page.locator("#conversation").get_by_role("link", name="Wrote MEMORY.md")
    link.wait_for()
    assert "Used agent_memory to append" in page.locator("#conversation").inner_text()
    assert '{"' not in page.content().replace("'models={\"", "")
    address = page.url.partition("#")[0]
    link.click()
    page.wait_for_url("**/history/agent/MEMORY.md?revision=*")
    assert "- likes tea" in page.locator("#version").inner_text()
    page.get_by_role("link", name="a conversation").first.click()
    page.wait_for_url(address)


def test_an_answer_is_shown_while_it_comes_and_stopped(opens: Opens, open_tab: OpenTab) -> None:
    """What was said until then stays, and the page says that it was stopped."""
    site = scripted(opens, ("First words", *PAUSES, " and the rest"))
    page = open_tab(site).open(CHAT)
    page.get_by_label("Say something").fill("Tell me")
    page.get_by_role("button", name="Send").click()
    page.locator("#live .agent", has_text="First words").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("#conversation .ending", has_text="Stopped.").wait_for()
    assert "the rest" not in page.locator("#conversation").inner_text()


def test_a_running_answer_is_stopped_by_a_form(opens: Opens) -> None:
    """If another window, or a browser without scripts, asks for it."""
    began = threading.Event()
    site = scripted(opens, ("First", began.set, *PAUSES, " rest"))
    asking = threading.Thread(target=converse, args=(site, "Tell me"))
    asking.start()
    assert began.wait(LONG / 1000)
    browser, csrf = site.sign_in()
    address = f"{CHAT}/{sessions(site)[0]['session_id']}"
    assert "is answering" in browser.get(address).text
    answer = browser.post(address, data={"csrf": csrf, "action": "stop"})
    asking.join()
    assert answer.status_code == 303
    assert "Stopped." in browser.get(address).text


def test_what_goes_wrong_is_a_sentence(opens: Opens, open_tab: OpenTab) -> None:
    """Above the field, which keeps what was typed; without a model, how to name one."""
    site = opens()
    for has_scripts in (True, False):
        page = open_tab(site, java_script_enabled=has_scripts).open(CHAT)
        assert "No model answers for Ada yet" in page.locator("main").inner_text()
        page.get_by_label("Say something").fill("Anyone?")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("alert").filter(has_text="No model is named for ada").wait_for()
        assert page.get_by_label("Say something").input_value() == "Anyone?"
    assert not sessions(site)


def test_a_conversation_is_renamed_exported_and_deleted(talks: Site, open_tab: OpenTab) -> None:
    """Without JavaScript; deleting is asked for once more."""
    address = converse(talks, "About the zebra")
    page = open_tab(talks, java_script_enabled=False).open(address)
    page.get_by_label("Title").fill("Zebras")
    page.get_by_role("button", name="Rename").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Zebras"
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as Markdown").click()
    assert download.value.suggested_filename.endswith(".md")
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("# Zebras\n")
    assert "About the zebra" in text
    page.get_by_text("Delete …").click()
    page.get_by_role("button", name="Delete the conversation").click()
    page.get_by_role("button", name="Delete it").click()
    page.wait_for_url(f"**{CHAT}")
    assert "The conversation is deleted." in page.locator(".note.good").inner_text()
    assert not sessions(talks)


def test_a_title_that_cannot_be_is_refused(talks: Site) -> None:
    """And the old one stays."""
    address = converse(talks, "About the zebra")
    browser, csrf = talks.sign_in()
    form = {"csrf": csrf, "action": "rename", "title": " "}
    assert browser.post(address, data=form).status_code == 400
    assert sessions(talks)[0]["title"] == "About the zebra"


def test_conversations_are_found_and_listed(talks: Site) -> None:
    """The search leads to the conversation; an address without its agent does, too."""
    address = converse(talks, "About the zebra")
    session = address.rpartition("/")[2]
    browser, _csrf = talks.sign_in()
    assert f'href="/admin/conversations/{session}"' in browser.get("/admin/search?q=zebra").text
    answer = browser.get(f"/admin/conversations/{session}")
    assert (answer.status_code, answer.headers["location"]) == (303, address)
    assert "About the zebra" in browser.get(CHAT).text
    assert browser.get(f"{CHAT}/nowhere").status_code == 404


def test_another_s_conversation_is_not_shown(talks: Site) -> None:
    """Not read, not exported, not deleted: the operations decide."""
    address = converse(talks, "About the zebra")
    talks.user("vera")
    talks.run("looseleaf/grant-role", user="vera", agent="ada", role="operator")
    browser, csrf = talks.sign_in("vera")
    for path in (CHAT, address, f"{address}/export"):
        assert "zebra" not in browser.get(path).text
    assert browser.get(address).status_code == 403
    form = {"csrf": csrf, "action": "delete"}
    assert browser.post(address, data=form).status_code == 403
    assert len(sessions(talks)) == 1


def test_hostile_words_are_text(opens: Opens, open_tab: OpenTab) -> None:
    """In titles, messages, arguments, results and while they stream."""
    content = ToolCall("c1", HOSTILE[0], '{"action": "<img src=x onerror=alert(1)>"}')
    site = scripted(opens, (EVERYTHING, content), EVERYTHING)
    tab = open_tab(site)
    page = tab.open(CHAT)
    page.get_by_label("Say something").fill(EVERYTHING)
    page.get_by_role("button", name="Send").click()
    page.locator("#conversation .message.agent").first.wait_for()
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.locator("main img, main script, main iframe, main base").count() == 0
    tab.open(CHAT)
    assert page.locator("main img, main script, main iframe").count() == 0


def test_the_places_of_an_agent_are_reached_by_keys(talks: Site, open_tab: OpenTab) -> None:
    """As the help sheet says."""
    page = open_tab(talks).open("/admin/agents/ada/pages")
    for key, place in (("s", "prompt"), ("j", "journal"), ("c", "chat"), ("p", "pages")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/admin/agents/ada/{place}")


@pytest.mark.parametrize("look", LOOKS)
def test_a_conversation_can_be_used_by_everyone(opens: Opens, open_tab: OpenTab, look: str) -> None:
    """Names, contrast and width, with tool calls open."""
    site = scripted(opens, ("Let me note that.", REMEMBER), "Noted.")
    page = open_tab(site, **LOOKS[look]).open(converse(site, "I like tea"))
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert find_faults(page) == []
