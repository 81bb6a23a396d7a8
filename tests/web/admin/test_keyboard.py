"""Everything once by keyboard: a fact, an edit, a conversation, a policy, a token, a search."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Opens

MOST_STOPS = 120  # of the Tab key on one page


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element of that name has the focus; no element catches the focus."""
    stops = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(NAME_OF_FOCUS))
        if stops[-1] == name:
            return
    raise AssertionError(f"Tab never reaches {name!r}: {stops}")


# The name of the element that has the focus, as its label or text says it.
NAME_OF_FOCUS = """() => {
  const focus = document.activeElement;
  const label = focus.labels?.length ? focus.labels[0].textContent : "";
  const name = focus.getAttribute("aria-label") || label || focus.textContent;
  return (name || "").replace(/\\s+/g, " ").trim();
}"""


def test_a_day_of_work_without_a_mouse(opens: Opens, open_tab: OpenTab) -> None:
    """Each page is reached, filled in and sent by keys alone."""
    page = open_tab(opens(default_model="echo")).open("/admin")
    tab_to(page, "Take the first step")
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/start")
    tab_to(page, "Fact")
    page.keyboard.type("We never deploy on Fridays.")
    page.keyboard.press("Enter")
    page.locator(".excerpt mark").wait_for()
    edit_by_keys(page)
    configure_by_keys(page)
    talk_by_keys(page)


def edit_by_keys(page: Page) -> None:
    """Open the page by shortcuts, write a line, save, and restore the version before it."""
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/agents/ada/pages")
    tab_to(page, "MEMORY.md")
    page.keyboard.press("Enter")
    page.wait_for_url("**/pages/agent/MEMORY.md")
    page.keyboard.press("e")
    page.wait_for_url("**/edit/agent/MEMORY.md")
    tab_to(page, "Text of MEMORY.md, in Markdown")
    page.keyboard.press("Control+End")
    page.keyboard.type("- Zebra")
    page.keyboard.press("Control+s")
    page.locator(".note.good", has_text="Saved MEMORY.md").wait_for()
    page.keyboard.press("h")
    page.wait_for_url("**/history/agent/MEMORY.md")
    tab_to(page, page.locator("#timeline label").first.inner_text())
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Restore this version").wait_for()
    tab_to(page, "Restore this version")
    page.keyboard.press("Enter")
    page.locator(".note.good", has_text="again, as revision").wait_for()
    assert "Zebra" not in page.locator("#text").inner_text()


def configure_by_keys(page: Page) -> None:
    """Deny a page, see the preview change, and save."""
    tab_to(page, "Settings")
    page.keyboard.press("Enter")
    page.wait_for_url("**/agents/ada/settings")
    tab_to(page, "Every page")
    page.keyboard.press("ArrowDown")
    tab_to(page, "MEMORY.md")
    page.keyboard.press("Space")
    page.locator("#preview .removed", has_text="MEMORY.md").wait_for()
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    page.locator(".note.good", has_text="follows these settings").wait_for()


def talk_by_keys(page: Page) -> None:
    """Send a message, read the answer, and find it by the search."""
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/agents/ada/chat")
    tab_to(page, "Say something to Ada")
    page.keyboard.type("The okapi is in the archive")
    page.keyboard.press("Control+Enter")
    page.locator(".message.agent", has_text="okapi").wait_for()
    page.wait_for_url("**/agents/ada/chat/*")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("okapi")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=okapi")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/agents/ada/chat/*")
