"""The prompt editor: a text that could not work is refused and stays in the field."""

from __future__ import annotations

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

PROMPTS = "/admin/upkeep/prompts"


def test_a_prompt_is_replaced_and_reset(site: Site, open_tab: OpenTab) -> None:
    """By its form."""
    page = open_tab(site, java_script_enabled=False).open(PROMPTS)
    field = page.get_by_label("Text")
    assert "{{memory_content}}" in field.input_value()
    field.fill("Tidy it up.")
    page.get_by_role("button", name="Save").click()
    assert "lacks {{memory_content}}" in page.locator("main").inner_text()
    assert page.get_by_label("Text").input_value() == "Tidy it up."
    page.get_by_label("Text").fill("{{memory_content}} ===PERSISTENT=== ===ARCHIVED===")
    page.get_by_role("button", name="Save").click()
    assert "replaced" in page.locator(".tag").first.inner_text()
    page.get_by_role("button", name="Back to the built-in text").click()
    assert "built-in" in page.locator(".tag").first.inner_text()
