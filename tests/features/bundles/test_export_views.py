"""The export page of an agent: a preview of all that leaves, and the archive itself."""

from __future__ import annotations

import io
import zipfile

from tests.web.fixtures import Site

PAGE = "/admin/agents/ada/bundle"


def test_an_agent_is_previewed_and_downloaded(site: Site) -> None:
    """The archive holds exactly the files that the page has shown."""
    browser, _csrf = site.sign_in()
    for profile, has_memory in (("share", False), ("backup", True)):
        text = browser.get(PAGE, params={"profile": profile}).text
        assert ("memory/agent/MEMORY.md" in text) is has_memory
        answer = browser.get(f"{PAGE}/download", params={"profile": profile})
        assert answer.headers["content-type"] == "application/zip"
        names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
        assert all(name in text for name in names)


def test_a_secret_is_named_and_stops_the_download(site: Site) -> None:
    """By file and line, without its value; a checkbox lets it leave."""
    secret = "hunter2" + "hunter2"
    page = {"file": "MEMORY.md", "content": f"# M\n\nDB_PASSWORD={secret}\n", "agent": "ada"}
    site.run("datamachine/write-agent-file", **page, allow_shrink=True)
    browser, _csrf = site.sign_in()
    text = browser.get(PAGE, params={"profile": "backup"}).text
    assert "Nothing is exported, since" in text
    assert secret not in text
    address = f"{PAGE}/download"
    refusal = browser.get(address, params={"profile": "backup"})
    assert refusal.status_code == 403
    assert secret not in refusal.text
    allowed = browser.get(address, params={"profile": "backup", "allow_secrets": "yes"})
    assert allowed.status_code == 200
