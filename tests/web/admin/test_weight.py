"""A page and all it loads stay below 150 KB, and a thousand agents make no page larger."""

from __future__ import annotations

import re

import pytest

from looseleaf.web.admin.site import read_static_files
from tests.web.admin.pages import ADDRESSES
from tests.web.fixtures import Opens, Site

MOST_BYTES = 150_000
MOST_HTML = 40_000


@pytest.mark.parametrize("path", ADDRESSES.values())
def test_a_page_is_light(shown_site: Site, path: str) -> None:
    """With every script and style, as they are sent."""
    browser, _csrf = shown_site.sign_in()
    answer = browser.get(path)
    names = set(re.findall(r"/static/[0-9a-f]+/([\w.-]+)", answer.text))
    assert {"admin.css", "frame.js"} <= names
    everything = len(answer.content) + sum(
        len(file.gzip_content) for file in read_static_files().values()
    )
    assert everything < MOST_BYTES
    assert len(answer.content) < MOST_HTML


def test_many_agents_make_no_page_larger(opens: Opens) -> None:
    """The side shows a dozen of them."""
    site = opens()
    for number in range(100):
        site.workspace.agents.create(f"agent-{number:03}")
    browser, _csrf = site.sign_in()
    for path in ("/admin", "/admin/agents/ada/pages"):
        answer = browser.get(path)
        assert answer.status_code == 200
        assert len(answer.content) < MOST_HTML
