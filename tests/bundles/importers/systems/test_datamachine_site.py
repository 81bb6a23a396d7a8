"""A running site over REST: a real server with the routes of Data Machine, asked by our client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.bundles.importers.systems.datamachine_site import read_site
from looseleaf.errors import InvalidImport, RequestFailed, RequestRefused
from looseleaf.http_client.allow_list import AllowList, HostRule
from looseleaf.http_client.client import HttpClient
from looseleaf.operations import imports
from looseleaf.setting_tables import WordPressSite
from looseleaf.values import Secret
from tests.http_client.servers import answer, running
from tests.web.conftest import Site, open_site

PAGE = "# Agent Memory\n\n## State\n\n- The calendar moves on Friday\n"


@pytest.fixture
def paper(tmp_path: Path) -> Iterator[Site]:
    """Serve a workspace with a page and a day, as a site of Data Machine does."""
    site = open_site(tmp_path / "paper", daily_memory_enabled=True)
    site.run("datamachine/write-agent-file", file="MEMORY.md", content=PAGE)
    site.run("datamachine/write-agent-file", file="notes/plan.md", content="# Plan\n")
    site.run("datamachine/daily-memory-write", date="2026-03-16", content="- Published")
    yield site
    site.stop()


def write_settings(root: Path, site: Site) -> str:
    """Name a site in the settings of a workspace, with a password of its first user."""
    password = site.run("looseleaf/create-application-password", user=1, label="import")["token"]
    login = site.run("looseleaf/show-user", user=1)["login"]
    (root / "looseleaf.toml").write_text(
        f'outgoing_private_hosts = ["127.0.0.1:{site.port}"]\n[wordpress_sites.paper]\n'
        f'url = "{site.base}"\nuser = "{login}"\npassword = "{password}"\n'
    )
    return site.base


def test_a_site_is_imported(paper: Site, tmp_path: Path) -> None:
    """Pages and days arrive; a second import changes nothing; the site stays as it was."""
    root = tmp_path / "root"
    Workspace.create(root, agent="ada").close()
    address = write_settings(root, paper)
    workspace = Workspace.open(root)
    before = paper.run("datamachine/get-agent-file", file="MEMORY.md")
    report = imports.run(workspace.context, address)
    assert (report.kind, report.failed) == ("datamachine-site", 0)
    assert (root / "agents/ada/MEMORY.md").read_text() == PAGE
    assert "- Published" in (root / "agents/ada/daily/2026/03/16.md").read_text()
    assert imports.run(workspace.context, f"{address}/").changed == 0
    assert paper.run("datamachine/get-agent-file", file="MEMORY.md") == before


def test_only_sites_of_the_settings_are_asked(tmp_path: Path) -> None:
    """The error says how to name one."""
    workspace = Workspace.create(tmp_path / "root", agent="ada")
    with pytest.raises(InvalidImport, match="wordpress_sites"):
        imports.run(workspace.context, "https://elsewhere.example.com")


def client_for(port: int) -> HttpClient:
    """Give a client that may ask a server on loopback."""
    return HttpClient(AllowList((), (HostRule("127.0.0.1", port),)))


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"[]", "200 OK", RequestFailed),
        (b"<html>", "200 OK", RequestFailed),
        (b'{"data": {}}', "200 OK", RequestFailed),
        (b'{"code": "rest_forbidden"}', "401 Unauthorized", RequestRefused),
        (b"{}", "503 Service Unavailable", RequestFailed),
    ],
)
def test_other_answers_are_one_clear_error(body: bytes, status: str, error: Any) -> None:  # noqa: ANN401
    """A site that is no Data Machine, a wrong password, a server that is down."""
    with running(answer(body, status=status)) as server:
        site = WordPressSite("paper", server.url, "ines", Secret("pass"))
        client = client_for(server.port)
        with pytest.raises(error):
            read_site(client.send, site)
