"""A source of an import as the body of a request: raw bytes with the name in the query, or JSON."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from tests.features.imports.archives import build_zip
from tests.features.imports.sources import OPENCLAW
from tests.web.fixtures import API, Site


def test_an_archive_is_sent_as_it_is(site: Site) -> None:
    """Preview, import and a second import over REST."""
    browser, csrf = site.sign_in()
    content = build_zip(OPENCLAW)
    headers = {"content-type": "application/zip", "x-csrf-token": csrf}
    address = f"{API}/import/preview?path=pip.zip"
    answer = browser.post(address, content=content, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["kind"] == "openclaw"
    page = Path(site.workspace.root) / "agents/ada/TOOLS.md"
    assert not page.exists()
    answer = browser.post(f"{API}/import?path=pip.zip", content=content, headers=headers)
    assert answer.json()["data"]["changed"] == 10
    assert page.read_text() == OPENCLAW["TOOLS.md"]


def test_an_archive_in_json(site: Site) -> None:
    """The same with base64; detection says what it is."""
    browser, csrf = site.sign_in()
    data = b64encode(build_zip(OPENCLAW)).decode()
    body = {"path": "pip.zip", "data": data}
    headers = {"x-csrf-token": csrf}
    found = browser.post(f"{API}/import/detect", json=body, headers=headers).json()["data"]
    assert [system["kind"] for system in found] == ["openclaw"]
    answer = browser.post(f"{API}/import", json=body, headers=headers)
    assert answer.json()["data"]["changed"] == 10


def test_a_broken_archive_is_refused(site: Site) -> None:
    """With status 400 and the code of an archive; without a name, the argument is missing."""
    browser, csrf = site.sign_in()
    headers = {"content-type": "application/zip", "x-csrf-token": csrf}
    answer = browser.post(f"{API}/import?path=a.zip", content=b"PK no", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_archive")
    answer = browser.post(f"{API}/import", content=b"PK no", headers=headers)
    assert answer.status_code == 400
