"""A real Chromium before a real server, watched for dialogs, errors and foreign requests."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    sync_playwright,
)
from playwright.sync_api import Error as BrowserError

from tests.web.admin.pages import fill, run_jobs
from tests.web.fixtures import Opens, Site, open_site

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
LONG = 30_000  # milliseconds: a slow machine with other tests on it


def find_chromium() -> str:
    """Return the path of the system's Chromium, or "" if there is none."""
    names = (os.environ.get("LOOSELEAF_CHROMIUM", ""), *NAMES)
    return next((path for name in names if name and (path := shutil.which(name))), "")


@pytest.fixture(scope="session")
def started_chromium() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop | None]]:
    """Start Chromium once for all tests of a process; yield it, and the event loop it needs."""
    path = find_chromium()
    if not path:
        pytest.fail(
            "The tests of the admin site need Chromium. Install it (Debian: sudo apt install "
            "chromium; macOS: brew install --cask chromium), or name one in LOOSELEAF_CHROMIUM."
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture
def chromium(
    started_chromium: tuple[Browser, asyncio.AbstractEventLoop | None],
) -> Iterator[Browser]:
    """Lend Chromium to a test.

    Playwright holds an event loop in the thread of the tests until it is stopped, and would let no
    other test of the process run one of its own. So its loop is the thread's only meanwhile.
    """
    browser, loop = started_chromium
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


class Tab:
    """A page in a browser, and what happened on it that should not happen."""

    def __init__(self, context: BrowserContext, site: Site) -> None:
        self.site, self.page = site, context.new_page()
        self.page.set_default_timeout(LONG)
        self.faults: list[str] = []
        self.page.on("dialog", self._note_dialog)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("console", self._note_console)
        context.on("request", self._note_request)

    def open(self, path: str) -> Page:
        """Go to an address of the site."""
        self.page.goto(self.site.base + path)
        return self.page

    def _note_dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note_console(self, message: ConsoleMessage) -> None:
        # A status that is an answer, such as 409, is no fault of the page.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(f"console: {message.text}")

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.site.base, "data:")):
            self.faults.append(f"request: {request.url}")


OpenTab = Callable[..., Tab]


@pytest.fixture(scope="session")
def filled_root(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Make a workspace that has something on every page; return its folder and its time."""
    root = tmp_path_factory.mktemp("filled") / "memory"
    site = open_site(root)
    fill(site)
    site.stop()
    site.workspace.close()  # so that no file of its database vanishes while it is copied
    return root, site.clock()


@pytest.fixture
def admin_site(opens: Opens, filled_root: tuple[Path, float], tmp_path: Path) -> Site:
    """Serve a copy of that workspace, at the time at which it was left."""
    root, now = filled_root
    shutil.copytree(root, tmp_path / "memory-0")
    site = opens()
    site.clock.ahead = now - time.time()
    return site


@pytest.fixture(scope="session")
def shown_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve one such workspace for all tests of a process that only look at it."""
    site = open_site(tmp_path_factory.mktemp("shown") / "memory", default_model="echo")
    fill(site)
    run_jobs(site)
    yield site
    site.stop()


@pytest.fixture
def open_tab(chromium: Browser) -> Iterator[OpenTab]:
    """Open a tab in a browser of its own, signed in unless told otherwise."""
    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    def open_signed_in(site: Site, *, user: str | None = None, **options: Any) -> Tab:  # noqa: ANN401
        client, _csrf = site.sign_in(user)
        context = chromium.new_context(**options)
        context.add_cookies(
            [
                {
                    "name": cookie.name,
                    "value": cookie.value or "",
                    "url": site.base,
                    "sameSite": "Strict",
                }
                for cookie in client.cookies.jar
            ]
        )
        contexts.append(context)
        tabs.append(Tab(context, site))
        return tabs[-1]

    yield open_signed_in
    for context in contexts:
        try:
            context.close()
        except BrowserError:
            continue  # the browser has gone; the test says why
    assert not [fault for tab in tabs for fault in tab.faults]
