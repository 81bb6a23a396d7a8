"""The page of bundles: an archive is uploaded, its plan shown as a diff, approved and applied."""

from __future__ import annotations

import re
from base64 import b64decode

import httpx2

from looseleaf.features.bundles.views import split_diff
from tests.web.fixtures import Site

BUNDLES = "/admin/bundles"


def archive_of(site: Site) -> bytes:
    """Export ada as an archive."""
    return b64decode(site.run("looseleaf/export-bundle", agent="ada")["data"])


def upload(browser: httpx2.Client, csrf: str, content: bytes, slug: str) -> httpx2.Response:
    """Send an archive as the form of the page does."""
    fields = {"csrf": csrf, "slug": slug, "action": "plan"}
    files = {"file": ("ada.zip", content, "application/zip")}
    return browser.post(BUNDLES, data=fields, files=files)


def hidden_field(text: str, name: str) -> str:
    """Return the value of a hidden field of a page."""
    match = re.search(rf'name="{name}" value="([^"]*)"', text)
    assert match
    return match[1]


def test_a_bundle_is_installed_by_its_plan(site: Site) -> None:
    """Nothing is written before the second form, which carries the archive itself."""
    browser, csrf = site.sign_in()
    assert "No agent came from a bundle yet." in browser.get(BUNDLES).text
    plan = upload(browser, csrf, archive_of(site), "eve").text
    assert "Creates the agent eve." in plan
    assert "eve" not in [agent["slug"] for agent in site.run("looseleaf/list-agents")]
    form = {name: hidden_field(plan, name) for name in ("data", "agent", "act")}
    answer = browser.post(
        BUNDLES, data={"csrf": csrf, "action": "apply", **form}, follow_redirects=True
    )
    assert "Installed eve. Parts applied: " in answer.text
    assert 'href="/admin/agents/eve/bundle"' in answer.text
    assert "Where it came from" in browser.get("/admin/agents/eve/bundle").text


def test_an_edited_soul_is_shown_as_a_diff_and_approved(site: Site) -> None:
    """Unapproved it stays; with the checkbox it follows the bundle."""
    browser, csrf = site.sign_in()
    content = archive_of(site)
    data = site.run("looseleaf/export-bundle", agent="ada")["data"]
    site.run("looseleaf/install-bundle", data=data, slug="eve")
    page = {"file": "SOUL.md", "agent": "eve"}
    site.run("datamachine/write-agent-file", content="# Mine\n", allow_shrink=True, **page)
    plan = upload(browser, csrf, content, "eve").text
    assert "Needs your approval" in plan
    assert "<del># Mine</del>" in plan
    assert "or merge" in plan
    assert "As a merge" in plan
    form = {name: hidden_field(plan, name) for name in ("data", "agent", "act")}
    fields = {"csrf": csrf, "action": "apply", **form}
    answer = browser.post(BUNDLES, data=fields, follow_redirects=True)
    assert "Waits for approval: memory:SOUL.md." in answer.text
    assert site.run("datamachine/get-agent-file", **page)["content"] == "# Mine\n"
    browser.post(BUNDLES, data={**fields, "approve memory:SOUL.md": "on"})
    assert site.run("datamachine/get-agent-file", **page)["content"] != "# Mine\n"


def test_a_part_that_changed_after_the_plan_is_not_overwritten(site: Site) -> None:
    """The approval is for the text that the page showed."""
    browser, csrf = site.sign_in()
    data = site.run("looseleaf/export-bundle", agent="ada")["data"]
    site.run("looseleaf/install-bundle", data=data, slug="eve")
    page = {"file": "SOUL.md", "agent": "eve"}
    site.run("datamachine/write-agent-file", content="# Mine\n", allow_shrink=True, **page)
    plan = upload(browser, csrf, archive_of(site), "eve").text
    names = ("data", "agent", "act", "shown memory:SOUL.md")
    fields = {"csrf": csrf, "action": "apply", "approve memory:SOUL.md": "on"}
    fields |= {name: hidden_field(plan, name) for name in names}
    site.run("datamachine/write-agent-file", content="# Mine, and newer\n", **page)
    answer = browser.post(BUNDLES, data=fields)
    assert answer.status_code == 409
    assert "changed since the upgrade was planned" in answer.text
    assert site.run("datamachine/get-agent-file", **page)["content"] == "# Mine, and newer\n"


def test_what_is_no_bundle_is_refused_on_the_page(site: Site) -> None:
    """With the reason above the form; and the form needs its token and its right."""
    browser, csrf = site.sign_in()
    answer = upload(browser, csrf, b"no archive", "")
    assert answer.status_code == 400
    assert "it is not a zip archive" in answer.text
    # The plan's form sends the archive again, and must not become too large for it.
    large = upload(browser, csrf, b"0" * 14_000_000, "")
    assert "more than 13,333,333 bytes" in large.text
    assert upload(browser, "0" * 64, b"no archive", "").status_code == 403
    site.user("eve", capabilities=["chat"])
    other, other_csrf = site.sign_in("eve")
    assert other.get(BUNDLES).status_code == 403
    assert upload(other, other_csrf, archive_of(site), "").status_code == 403


def test_a_diff_is_split_into_rows() -> None:
    """Signs become kinds, and a header of lines becomes a gap."""
    rows = split_diff("--- current\n+++ bundle\n@@ -1 +1 @@\n same\n-old\n+")
    assert rows == [("gap", ""), ("same", "same"), ("removed", "old"), ("added", " ")]
