"""The accessibility checker of the tests: axe-core, from the wheel that brings its script."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 820}},
    "dark": {"viewport": {"width": 1280, "height": 820}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}
# Every rule of axe, those that are only good practice too; what it could not decide is left out.
# What passed stays in the browser: it is most of the answer, and costs as much as the check.
RUN = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
WIDTH = "Math.max(0, document.documentElement.scrollWidth - innerWidth)"


@cache
def checker() -> str:
    """Read the script of axe-core."""
    try:
        return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        message = "The tests need axe-core: run `python3 dev.py test`, which brings .venv up."
        raise AssertionError(message) from None


def find_faults(page: Page) -> list[str]:
    """Return what keeps people from using a page, and whether it is wider than the window."""
    page.evaluate(checker())
    faults = [
        f"{fault['id']} ({fault['impact']}): {fault['nodes'][0]['html'][:200]}"
        for fault in page.evaluate(RUN)
    ]
    width = page.evaluate(WIDTH)
    return [*faults, *([f"{width} pixels wider than the window"] if width > 1 else [])]
