"""Draw every page of the admin site, for the docs: `python3 dev.py pictures`."""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from looseleaf import Workspace
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.models.model import ToolCall
from tests.features.chat.conftest import Script
from tests.web.admin.fixtures import ARGUMENTS, find_chromium
from tests.web.admin.pages import ADDRESSES, NEWS, fill, fill_journal, run_jobs
from tests.web.fixtures import Clock, Site

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"
WELCOME = "welcome"  # the first page of a fresh workspace
QUALITY = 55  # of WebP: text stays sharp, and a picture is a quarter of its PNG
JOURNAL_DAYS = 300
REMEMBER = ToolCall(
    "c1",
    "agent_memory",
    '{"action": "append", "section": "Lessons Learned", "content": "- No deploys on Fridays"}',
)
LOOKS = {
    "light": ("light", 1280, 820),
    "dark": ("dark", 1280, 820),
    "phone": ("light", 390, 844),
}


def show_conflict(page: Page, site: Site) -> None:
    """Edit a page that is changed elsewhere meanwhile."""
    page.goto(site.base + ADDRESSES["edit"])
    field = page.get_by_label("Text of MEMORY.md")
    field.fill(field.input_value().replace("ID 14", "ID 14\n- Alt texts are in English"))
    site.run(
        "datamachine/update-agent-memory",
        file="MEMORY.md",
        agent="ada",
        section="Lessons Learned",
        content="- Deploys take four minutes",
        mode="append",
    )
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Save the merged page").wait_for()


def show_first_fact(page: Page, site: Site) -> None:
    """Take the first two steps of a first visit."""
    page.goto(site.base + ADDRESSES["start"])
    page.get_by_label("Fact").fill("We never deploy on Fridays.")
    page.get_by_role("button", name="Remember it").click()
    page.locator(".excerpt mark").wait_for()


def show_policy(page: Page, site: Site) -> None:
    """Deny a page, and see what that takes out of the prompt before it is saved."""
    page.goto(site.base + ADDRESSES["agent-settings"])
    page.get_by_label("Every page except these").check()
    page.get_by_label("SITE.md", exact=True).check()
    page.locator("#preview .removed", has_text="SITE.md").wait_for()
    page.locator("#memory-title").scroll_into_view_if_needed()


def show_conversation(page: Page, site: Site) -> None:
    """Hold a conversation in which the agent writes to its memory."""
    answers = (("I will keep that in mind.", REMEMBER), "Noted: **no deploys on Fridays**.")
    script = Script(*answers, "Not today: you never deploy on Fridays. Monday morning is free.")
    site.workspace.models().register("studio", lambda _name: script)
    config = {"models": {"chat": "studio:model"}}
    site.run("looseleaf/configure-agent", agent="ada", config=config)
    page.goto(site.base + ADDRESSES["chat"])
    page.locator("#message").fill("Remember that we never deploy on Fridays.")
    page.locator("#send").click()
    page.wait_for_url("**/chat/*")
    page.locator("#message").fill("The fix is ready, and it is Friday noon. Shall we?")
    page.locator("#send").click()
    page.locator("#conversation .message.agent", has_text="Monday").wait_for()


def show_gate(page: Page, site: Site) -> None:
    """Follow a job to the gate at which it waits."""
    steps = [
        {"type": "input", "label": "Draft", "settings": {"source": "text", "text": "A review."}},
        {"type": "webhook_gate", "label": "Approval"},
        {"type": "memory_update", "label": "Remember", "settings": NEWS},
    ]
    arguments = {"agent": "ada", "steps": steps, "label": "Review with approval"}
    job = site.run("datamachine/execute-workflow", **arguments)["job_id"]
    page.goto(f"{site.base}{ADDRESSES['agent-jobs']}/{job}")
    runtime = jobs_of(site.workspace)
    runtime.start_worker()
    page.locator(".gate .copy").wait_for()
    runtime.close()


def show_sign_in(page: Page, site: Site) -> None:
    """Show the sign-in page."""
    page.context.clear_cookies()
    page.goto(f"{site.base}/login")


SCENES: dict[str, Callable[[Page, Site], None]] = {
    "first-fact": show_first_fact,
    "conflict": show_conflict,
    "policy": show_policy,
    "conversation": show_conversation,
    "job-waiting": show_gate,
    "sign-in": show_sign_in,
}


def sign_in(page: Page, site: Site) -> None:
    """Open a login link."""
    page.context.clear_cookies()
    page.goto("about:blank")
    page.goto(f"{site.base}/login#{site.run('looseleaf/create-login-link')['token']}")
    page.wait_for_url("**/admin")


def draw_picture(page: Page, path: Path) -> None:
    """Save what the window shows as WebP, which only the protocol of the browser offers."""
    session = page.context.new_cdp_session(page)
    options = {"format": "webp", "quality": QUALITY}
    picture = session.send("Page.captureScreenshot", options)
    session.detach()
    path.write_bytes(base64.b64decode(picture["data"]))


def draw_pictures(browser: Browser, site: Site, look: str, folder: Path, names: set[str]) -> int:
    """Render the pages and scenes of these names, in one look; return their number."""
    scheme, width, height = LOOKS[look]
    context = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
    )
    page = context.new_page()
    sign_in(page, site)
    if WELCOME in names:
        draw_picture(page, folder / f"{WELCOME}-{look}.webp")
    fill(site)
    run_jobs(site)
    site.run("looseleaf/set-settings", settings={"daily_memory_enabled": True})
    fill_journal(site, days=JOURNAL_DAYS)
    sign_in(page, site)  # more than a day has passed, and the session with it
    for name, path in ADDRESSES.items():
        if name in names:
            page.goto(site.base + path)
            draw_picture(page, folder / f"{name}-{look}.webp")
    for name, scene in SCENES.items():
        if name in names:
            scene(page, site)
            draw_picture(page, folder / f"{name}-{look}.webp")
    context.close()
    return len(names)


def main(arguments: list[str]) -> int:
    """Render the pictures that are named, or all, each look over a workspace of its own.

    An argument with a slash is the folder for them; each other one is the name of a page or scene.
    """
    folders = [argument for argument in arguments if "/" in argument]
    names = {argument for argument in arguments if "/" not in argument}
    every_name = {WELCOME, *ADDRESSES, *SCENES}
    if unknown_names := names - every_name:
        known_names = ", ".join(sorted(every_name))
        print(f"No page is called {', '.join(sorted(unknown_names))}: {known_names}.")  # noqa: T201
        return 2
    chosen_names, count = names or every_name, 0
    folder = Path(folders[0]) if folders else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for look in LOOKS:
            with tempfile.TemporaryDirectory() as root:
                clock = Clock()
                Workspace.create(f"{root}/memory", name="studio", agent="ada").close()
                with open(f"{root}/memory/looseleaf.toml", "a", encoding="utf-8") as settings:
                    settings.write('default_model = "echo"\n')
                site = Site(Workspace.open(f"{root}/memory", clock=clock), clock)
                site.start()
                count += draw_pictures(browser, site, look, folder, chosen_names)
                site.stop()
        browser.close()
    print(f"Drew {count} pictures into {folder}.")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
