"""A running site over REST: a real server with the routes of Data Machine, asked by our client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.allow_list import AllowList, HostRule
from looseleaf.errors.features import InvalidImport, RequestFailed, RequestRefused
from looseleaf.features.imports import operations
from looseleaf.features.imports.systems.datamachine_site import read_site
from looseleaf.features.workflows.operations import flows, pipelines
from looseleaf.http_client import HttpClient
from looseleaf.memory.registry import FileRegistry
from looseleaf.settings import WordPressSite
from looseleaf.values import Secret
from tests.features.bundles.datamachine_site import PAGES, DataMachineSite, serve_site
from tests.features.bundles.datamachine_site import write_settings as write_site_settings
from tests.servers import Server, build_handler, run_server
from tests.web.fixtures import Site, open_site

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
    report = operations.run(workspace.context, address)
    assert (report.kind, report.failed) == ("datamachine-site", 0)
    assert (root / "agents/ada/MEMORY.md").read_text() == PAGE
    assert "- Published" in (root / "agents/ada/daily/2026/03/16.md").read_text()
    assert operations.run(workspace.context, f"{address}/").changed == 0
    assert paper.run("datamachine/get-agent-file", file="MEMORY.md") == before


def test_only_sites_of_the_settings_are_asked(tmp_path: Path) -> None:
    """The error says how to name one."""
    workspace = Workspace.create(tmp_path / "root", agent="ada")
    with pytest.raises(InvalidImport, match="wordpress_sites"):
        operations.run(workspace.context, "https://elsewhere.example.com")


def client_for(port: int) -> HttpClient:
    """Return a client that may ask a server on loopback."""
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
    with run_server(build_handler(body, status=status)) as server:
        site = WordPressSite("paper", server.url, "ines", Secret("pass"))
        client = client_for(server.port)
        with pytest.raises(error):
            read_site(client.send, site, FileRegistry())


def open_case(root: Path, server: Server) -> tuple[str, Workspace]:
    """Create a workspace that knows the site."""
    Workspace.create(root, agent="ada").close()
    address = write_site_settings(root, server)
    return address, Workspace.open(root)


def test_every_agent_that_the_user_may_see_is_read(tmp_path: Path) -> None:
    """Pages and days of each; shared pages once; texts as they are, whatever HTML there is."""
    with serve_site(DataMachineSite()) as server:
        address, workspace = open_case(tmp_path / "root", server)
        preview = operations.preview(workspace.context, address)
        report = operations.run(workspace.context, address)
    assert preview.new_agents == report.new_agents == ("scout",)
    root = tmp_path / "root"
    assert (root / "agents/ada/MEMORY.md").read_text() == PAGES[1]["MEMORY.md"][1]
    assert (root / "agents/scout/SOUL.md").read_text() == PAGES[2]["SOUL.md"][1]
    assert (root / "shared/RULES.md").read_text() == PAGES[2]["RULES.md"][1]
    assert "- Sold" in (root / "agents/scout/daily/2026/03/16.md").read_text()
    methods = {head.split(b" ")[0] for head in server.heads}
    assert methods == {b"GET", b"POST"}  # POST runs two abilities that only read


def test_one_agent_of_a_site(tmp_path: Path) -> None:
    """The others, with their pipelines, are left out with the reason."""
    with serve_site(DataMachineSite()) as server:
        address, workspace = open_case(tmp_path / "root", server)
        report = operations.run(workspace.context, address, source_agent="ada", agent="ada")
    assert report.new_agents == ()
    reasons = {entry.source: entry.reason for entry in report.left_out}
    assert reasons["scout: SOUL.md"] == "it belongs to the agent scout of the source"
    assert reasons["pipeline 5"] == "it belongs to the agent scout of the source"


def test_an_older_site_without_a_list_of_agents(tmp_path: Path) -> None:
    """The user's own agent is read, and the report says so."""
    site = DataMachineSite()
    site.refused = ("/agents", "/pipelines")
    with serve_site(site) as server:
        address, workspace = open_case(tmp_path / "root", server)
        report = operations.run(workspace.context, address)
    assert (
        "only the agent of its user"
        in {e.source: e.reason for e in report.left_out}["other agents"]
    )
    assert [page.file for page in report.pages] == ["MEMORY.md"]


def test_an_agent_that_the_site_does_not_show(tmp_path: Path) -> None:
    """It is named, and the others are imported."""
    site = DataMachineSite()
    site.refused = ("/files/agent?agent_id=1",)
    with serve_site(site) as server:
        address, workspace = open_case(tmp_path / "root", server)
        report = operations.run(workspace.context, address)
    assert "agent ada" in {entry.source for entry in report.left_out}
    assert {page.owner for page in report.pages} == {"scout", ""}


def test_a_text_that_only_html_is_given_for(tmp_path: Path) -> None:
    """It is taken, with a remark."""
    site = DataMachineSite()
    with serve_site(site) as server:
        address, workspace = open_case(tmp_path / "root", server)
        site.refused = ("/wp-json/wp-abilities/v1/abilities/datamachine/get-agent-memory",)
        report = operations.run(workspace.context, address, source_agent="ada")
    [page] = [page for page in report.pages if page.owner == "ada"]
    assert "as HTML" in page.note


def test_pipelines_of_another_looseleaf(paper: Site, tmp_path: Path) -> None:
    """They arrive with their flows, the same as they were, and paused."""
    fields = {"type": "ai", "settings": {"prompt": "Write."}}
    created = paper.run("looseleaf/create-pipeline", name="Digest", steps=[fields])
    paper.run(
        "looseleaf/create-flow", pipeline=created["id"], name="Noon", schedule={"interval": "daily"}
    )
    root = tmp_path / "root"
    Workspace.create(root, agent="ada").close()
    address = write_settings(root, paper)
    workspace = Workspace.open(root)
    report = operations.run(workspace.context, address)
    assert [(part.action, part.name) for part in report.workflows] == [
        ("create", "digest"),
        ("create", "digest/noon"),
    ]
    stored = pipelines.show_pipeline(workspace.context, "digest")
    assert stored.steps[0].settings == {"prompt": "Write."}
    assert not flows.list_flows(workspace.context)[0].schedule.enabled
    again = operations.run(workspace.context, address)
    assert {part.action for part in again.workflows} == {"unchanged"}


def test_uploaded_files_are_named_as_left_out(tmp_path: Path) -> None:
    """Each of a pipeline and of a flow; a site that does not list them is said once."""
    site = DataMachineSite()
    with serve_site(site) as server:
        address, workspace = open_case(tmp_path / "root", server)
        report = operations.preview(workspace.context, address)
        reasons = {entry.source: entry.reason for entry in report.left_out}
        for name in (
            "pipeline 5: context file style.md",
            "pipeline 5, flow 7: flow file covers.pdf",
        ):
            assert "datamachine-files folder" in reasons[name]
        site.refused = ("/files?",)
        refused = operations.preview(workspace.context, address)
    sources = [entry.source for entry in refused.left_out]
    assert sources.count("uploaded files of pipelines and flows") == 1
    assert "pipeline 5, flow 7: flow file covers.pdf" not in sources


def test_uploaded_files_of_another_looseleaf_are_named(paper: Site, tmp_path: Path) -> None:
    """The context files of its pipelines, and the files of its flows."""
    pipeline = paper.run("looseleaf/create-pipeline", name="Digest")["id"]
    flow = paper.run("looseleaf/create-flow", pipeline=pipeline, name="Noon")["id"]
    data = "VGFwZXMu"
    paper.run("datamachine/upload-flow-file", file="style.md", data=data, pipeline=pipeline)
    paper.run("datamachine/upload-flow-file", file="covers.txt", data=data, flow=flow)
    root = tmp_path / "root"
    Workspace.create(root, agent="ada").close()
    address = write_settings(root, paper)
    report = operations.preview(Workspace.open(root).context, address)
    sources = {entry.source for entry in report.left_out}
    assert f"pipeline {pipeline}: context file style.md" in sources
    assert f"pipeline {pipeline}, flow {flow}: flow file covers.txt" in sources
