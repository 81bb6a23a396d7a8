"""Bundles over REST: archives as bodies, within limits, and each refusal with its status."""

from __future__ import annotations

import io
import zipfile
from base64 import b64decode

from tests.web.fixtures import API, Site

BUNDLES = f"{API}/agent-bundles"
ARCHIVE = {"content-type": "application/zip"}


def admin(site: Site) -> str:
    """Return a token that may do everything."""
    token: str = site.run("looseleaf/create-token", user=1)["token"]
    return token


def export(site: Site, token: str) -> bytes:
    """Export ada as an archive."""
    accept = {"accept": "application/zip"}
    answer = site.ask("POST", f"{BUNDLES}/export", token, json={"agent": "ada"}, headers=accept)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="ada.zip"'
    return answer.content


def test_an_agent_is_exported_and_installed(site: Site) -> None:
    """The archive is the body, the rest stands in the query; JSON with base64 does the same."""
    token = admin(site)
    content = export(site, token)
    assert "manifest.json" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    for address in ("inspect", "validate"):
        report = site.ask("POST", f"{BUNDLES}/{address}", token, content=content, headers=ARCHIVE)
        assert report.json()["data"]["compatible"] is True
    plan = site.ask("POST", f"{BUNDLES}/plan?slug=eve", token, content=content, headers=ARCHIVE)
    assert plan.json()["data"]["act"] == "install"
    preview = site.ask("POST", f"{BUNDLES}/preview", token, json={"agent": "ada"}).json()["data"]
    install = site.ask(
        "POST", f"{BUNDLES}/install?slug=eve", token, content=content, headers=ARCHIVE
    )
    assert install.status_code == 200, install.text
    assert site.ask("GET", BUNDLES, token).json()["data"][0]["agent"] == "eve"
    assert site.ask("GET", f"{BUNDLES}/eve", token).json()["data"]["bundle_slug"] == "ada"
    body = {"data": site.run("looseleaf/export-bundle", agent="ada")["data"], "agent": "eve"}
    upgrade = site.ask("POST", f"{BUNDLES}/upgrade", token, json=body)
    assert upgrade.json()["data"]["act"] == "upgrade"
    answer = site.ask("POST", f"{BUNDLES}/export", token, json={"agent": "ada"})
    assert answer.json()["data"]["hash"] == preview["hash"]
    assert answer.headers["etag"] == f'"{preview["hash"]}"'


def test_a_refusal_has_its_status(site: Site) -> None:
    """400 for what is no bundle, 409 for a taken slug, 404, 403, and 413 for too many bytes."""
    token = admin(site)
    content = export(site, token)

    def status(address: str, content: bytes, headers: dict[str, str] = ARCHIVE) -> tuple[int, str]:
        answer = site.ask("POST", f"{BUNDLES}/{address}", token, content=content, headers=headers)
        return answer.status_code, answer.json()["code"]

    assert status("install", b"no archive") == (400, "invalid_archive")
    assert status("install", content) == (409, "agent_exists")
    assert status("upgrade?agent=nobody", content) == (404, "agent_missing")
    assert status("upgrade?agent=ada&approve=x", content) == (400, "invalid_argument")
    huge = bytes(site.workspace.settings.max_request_bytes + 1)
    assert status("inspect", huge)[0] == 413
    gone = site.ask("GET", f"{BUNDLES}/ada", token)
    assert (gone.status_code, gone.json()["code"]) == (404, "bundle_not_installed")
    agent = site.run("looseleaf/create-token", agent="ada")["token"]
    refusal = site.ask("POST", f"{BUNDLES}/install", agent, content=content, headers=ARCHIVE)
    assert refusal.status_code == 403


def test_what_waits_is_decided_over_rest(site: Site) -> None:
    """It is listed, shown, refused without keys or when outdated, and applied or rejected."""
    token = admin(site)
    data = site.run("looseleaf/export-bundle", agent="ada")["data"]
    site.run("looseleaf/install-bundle", data=data, slug="eve")
    page = {"file": "SOUL.md", "agent": "eve", "allow_shrink": True}
    site.run("datamachine/write-agent-file", content="# Mine\n", **page)
    content = b64decode(data)
    status = site.ask("POST", f"{BUNDLES}/status?slug=eve", token, content=content, headers=ARCHIVE)
    assert status.json()["data"]["status"] == "current"
    rebase = site.ask(
        "POST", f"{BUNDLES}/rebase?agent=eve", token, content=content, headers=ARCHIVE
    )
    assert rebase.json()["data"]["entries"][0]["state"] == "local"
    site.run("looseleaf/upgrade-bundle", data=data, agent="eve")
    approvals = f"{API}/agent-bundle-approvals"
    (listed,) = site.ask("GET", approvals, token).json()["data"]
    assert listed["agent"] == "eve"
    shown = site.ask("GET", f"{approvals}/eve", token).json()["data"]
    assert "memory:SOUL.md" in [part["key"] for part in shown["parts"]]
    assert site.ask("POST", f"{approvals}/eve/approve", token, json={}).status_code == 400
    assert site.ask("GET", f"{approvals}/ada", token).status_code == 404
    body = {"keys": ["memory:SOUL.md"]}
    site.run("datamachine/write-agent-file", content="# Third\n", **page)
    answer = site.ask("POST", f"{approvals}/eve/approve", token, json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "bundle_upgrade_outdated")
    assert site.ask("POST", f"{approvals}/eve/reject", token, json=body).status_code == 200
    site.run("looseleaf/upgrade-bundle", data=data, agent="eve")
    assert site.ask("POST", f"{approvals}/eve/approve", token, json=body).status_code == 200
    soul = site.run("datamachine/get-agent-file", file="SOUL.md", agent="eve")["content"]
    assert soul == site.run("datamachine/get-agent-file", file="SOUL.md", agent="ada")["content"]


def test_a_secret_stops_an_export_and_is_not_shown(site: Site) -> None:
    """The error names file and line, for JSON and for an archive as the answer."""
    token = admin(site)
    content = "# Ada\n\n**Password:** Zx81kk29Akd02\n"
    page = {"file": "SOUL.md", "agent": "ada", "content": content, "allow_shrink": True}
    site.run("datamachine/write-agent-file", **page)
    for headers in ({}, {"accept": "application/zip"}):
        body: dict[str, object] = {"agent": "ada"}
        answer = site.ask("POST", f"{BUNDLES}/export", token, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "secrets_found")
        assert "memory/agent/SOUL.md:3 (value of a secret)" in answer.json()["message"]
        assert "Zx81" not in answer.text
        body["allow_secrets"] = True
        answer = site.ask("POST", f"{BUNDLES}/export", token, json=body, headers=headers)
        assert answer.status_code == 200
