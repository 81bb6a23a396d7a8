"""The backups on the admin site: their age, one more now, and a look at every byte."""

from __future__ import annotations

from pathlib import Path

from looseleaf.times import DAY_SECONDS
from tests.web.fixtures import Opens, Site

BACKUPS = "/admin/backups"


def test_a_backup_is_made_and_verified(opens: Opens, tmp_path: Path) -> None:
    """By two buttons; the list shows its age."""
    site = opens(backup_folder=str(tmp_path / "backups"))
    browser, csrf = site.sign_in()
    assert "There is no whole backup of this workspace yet." in browser.get(BACKUPS).text
    form = {"csrf": csrf, "action": "create"}
    answer = browser.post(BACKUPS, data=form, follow_redirects=True)
    (archive,) = (tmp_path / "backups").iterdir()
    assert f"Wrote {archive.name}: " in answer.text
    assert "The last backup: " in answer.text
    verified = browser.get(BACKUPS, params={"verify": archive.name}).text
    assert f"{archive.name} is whole: " in verified
    site.clock.ahead += 3 * DAY_SECONDS
    browser, csrf = site.sign_in()  # the session has ended meanwhile
    assert "The last backup is old: 3 days ago." in browser.get(BACKUPS).text
    archive.write_bytes(archive.read_bytes()[:-600])
    text = browser.get(BACKUPS, params={"verify": archive.name}).text
    assert "not whole" in text
    assert 'class="note bad" role="alert"' in text


def test_without_a_folder_there_is_advice(site: Site) -> None:
    """And no button that could not do anything."""
    browser, _csrf = site.sign_in()
    text = browser.get(BACKUPS).text
    assert "No folder for backups is set." in text
    assert "Back up now" not in text


def test_backups_need_their_right(opens: Opens, tmp_path: Path) -> None:
    """Eve may change settings, and no more."""
    site = opens(backup_folder=str(tmp_path / "backups"))
    site.user("eve", capabilities=["manage_settings"])
    browser, csrf = site.sign_in("eve")
    assert browser.get(BACKUPS).status_code == 403
    form = {"csrf": csrf, "action": "create"}
    assert browser.post(BACKUPS, data=form).status_code == 403
    assert not (tmp_path / "backups").exists()
