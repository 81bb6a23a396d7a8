"""Backups over REST: into the folder of the settings, for people who may do everything."""

from __future__ import annotations

from pathlib import Path

from tests.web.fixtures import API, Opens

BACKUPS = f"{API}/backups"


def test_a_backup_over_rest(opens: Opens, tmp_path: Path) -> None:
    """Made, listed and verified; a page that was written before is in it."""
    site = opens(backup_folder=str(tmp_path / "backups"))
    token = site.token(user=1, role="admin")
    made = site.ask("POST", BACKUPS, token, json={})
    assert made.status_code == 201, made.text
    name = made.json()["data"]["name"]
    (listed,) = site.ask("GET", BACKUPS, token).json()["data"]
    assert (listed["name"], listed["is_whole"]) == (name, True)
    verdict = site.ask("POST", f"{BACKUPS}/{name}/verify", token, json={}).json()["data"]
    assert (verdict["fault"], verdict["files"]) == ("", made.json()["data"]["files"])
    missing = site.ask("POST", f"{BACKUPS}/gone.tar/verify", token, json={})
    assert (missing.status_code, missing.json()["code"]) == (404, "backup_not_found")


def test_a_request_chooses_no_folder(opens: Opens, tmp_path: Path) -> None:
    """Neither to write to nor to look at."""
    site = opens(backup_folder=str(tmp_path / "backups"))
    token = site.token(user=1, role="admin")
    chosen = {"folder": str(tmp_path / "chosen")}
    assert site.ask("POST", BACKUPS, token, json=chosen).status_code == 400
    assert site.ask("GET", BACKUPS, token, params=chosen).status_code == 400
    assert not (tmp_path / "chosen").exists()


def test_an_agent_makes_no_backup(opens: Opens, tmp_path: Path) -> None:
    """Its token reaches its own pages alone."""
    site = opens(backup_folder=str(tmp_path / "backups"))
    token = site.token()
    for method, path in (("POST", BACKUPS), ("GET", BACKUPS), ("POST", f"{BACKUPS}/commit")):
        assert site.ask(method, path, token).status_code == 403
    assert not (tmp_path / "backups").exists()
