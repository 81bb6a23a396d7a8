"""Retention in the browser: a dry run with counts, a removal, and its report."""

from __future__ import annotations

import os
from pathlib import Path

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

RETENTION = "/admin/retention"


def put_old_upload(site: Site) -> Path:
    """Put an uploaded file there that was last changed long ago."""
    file = Path(site.workspace.root) / "pipeline-1/flow-1/flow-1-files/old.csv"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    os.utime(file, (1, 1))
    return file


def test_data_is_counted_removed_and_reported(site: Site, open_tab: OpenTab) -> None:
    """Without JavaScript, by forms; the preview removes nothing."""
    file = put_old_upload(site)
    tab = open_tab(site, java_script_enabled=False)
    page = tab.open("/admin/upkeep")
    page.get_by_role("link", name="Retention").click()
    assert "Nothing was removed yet." in page.locator("main").inner_text()
    page.get_by_role("button", name="Preview").click()
    assert "1 in all would be removed" in page.locator(".verdict").inner_text()
    assert file.exists()
    page.get_by_role("button", name="Remove now Files of workflows").click()
    page.get_by_role("button", name="Remove it").click()
    assert "Removed: 1 uploaded file." in page.locator(".note.good").inner_text()
    assert not file.exists()
    assert "a person" in page.locator("section", has_text="Last reports").inner_text()
    page = tab.open(f"{RETENTION}?preview=yes")
    assert "Nothing is past its retention." in page.locator(".verdict").inner_text()


def test_all_of_it_can_be_removed_at_once(site: Site) -> None:
    """A failure is said, and the rest is done."""
    file = put_old_upload(site)
    (Path(site.workspace.root) / ".looseleaf/audit-begin").write_bytes(b"\xff")
    browser, csrf = site.sign_in()
    site.clock.ahead += 400 * 86_400
    browser, csrf = site.sign_in()
    answer = browser.post(RETENTION, data={"csrf": csrf, "kind": "", "frame:sure": "yes"})
    assert answer.status_code == 303
    assert "Not everything was removed. Audit" in browser.get(RETENTION).text
    assert not file.exists()


def test_retention_takes_every_right(admin_site: Site) -> None:
    """To look, to count and to remove."""
    browser, csrf = admin_site.sign_in("eve")
    assert browser.get(RETENTION).status_code == 403
    assert browser.post(RETENTION, data={"csrf": csrf, "kind": ""}).status_code == 403
