"""Uploads over REST: the seeds' routes, a form that is streamed, and every way to be refused."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.parts import definitions_of
from looseleaf.values import replace
from looseleaf.web.http.bodies import BodyBudget
from looseleaf.web.uploads import MOST_UPLOADS
from tests.features.workflows.test_webhook_endpoints import wait_until
from tests.web.fixtures import API, Opens, Site
from tests.web.test_limits import head

FILES = f"{API}/files"


@pytest.fixture
def press(opens: Opens) -> tuple[Site, str]:
    """Serve a workspace with a pipeline, its step input and a flow; with a token for everything."""
    site = opens(max_upload_bytes=100_000, max_uploads=2)
    site.run("looseleaf/create-pipeline", agent="ada", name="News")
    site.run("looseleaf/create-flow", pipeline=1, name="Morning")
    pipelines = definitions_of(site.workspace).pipelines
    pipelines.change(1, lambda item: replace(item, steps=(Step("input", "input"),)))
    token: str = site.run("looseleaf/create-token", user=1)["token"]
    return site, token


def test_flow_files_as_the_seeds_write_them(press: tuple[Site, str]) -> None:
    """List, upload by a form, delete, all by `flow_step_id`."""
    site, token = press
    form = {"files": {"file": ("notes.txt", b"one\n")}, "data": {"flow_step_id": "input_1"}}
    made = site.ask("POST", FILES, token, **form)
    assert made.status_code == 200, made.text
    (file,) = made.json()["data"]["files"]
    path = "pipeline-1/flow-1/flow-1-files/notes.txt"
    assert (file["filename"], file["path"], file["size"]) == ("notes.txt", path, 4)
    assert Path(site.workspace.root, path).read_bytes() == b"one\n"
    listed = site.ask("GET", f"{FILES}?flow_step_id=input_1", token)
    assert listed.json()["data"] == [file]
    again = {**form, "files": {"file": ("notes.txt", b"two")}}
    assert site.ask("POST", FILES, token, **again).json()["data"]["files"][0]["size"] == 3
    gone = site.ask("DELETE", f"{FILES}/notes.txt?flow_step_id=input_1", token)
    assert gone.json()["data"]["message"] == "notes.txt deleted."
    missing = site.ask("DELETE", f"{FILES}/notes.txt?flow_step_id=input_1", token)
    assert (missing.status_code, missing.json()["code"]) == (404, "file_missing")


def test_context_files_go_by_pipeline_id(press: tuple[Site, str]) -> None:
    """As a form, or as JSON in base64."""
    site, token = press
    form = {"files": {"file": ("style.md", b"Short.")}, "data": {"pipeline_id": "1"}}
    assert site.ask("POST", FILES, token, **form).status_code == 200
    body = {"file": "b.txt", "data": "eA==", "pipeline_id": 1}
    assert site.ask("POST", FILES, token, json=body).status_code == 200
    listed = site.ask("GET", f"{FILES}?pipeline_id=1", token).json()["data"]
    assert [item["filename"] for item in listed] == ["b.txt", "style.md"]


@pytest.mark.parametrize(
    ("name", "content", "fields", "status", "code"),
    [
        ("a.txt", b"x", {}, 400, "invalid_argument"),
        ("a.txt", b"x", {"flow_step_id": "input_1", "pipeline_id": "1"}, 400, "invalid_argument"),
        ("a.txt", b"x", {"flow_step_id": "gone_1"}, 404, "flow_not_found"),
        ("a.txt", b"x", {"pipeline_id": "9"}, 404, "pipeline_not_found"),
        ("a.txt", b"x", {"pipeline_id": "1", "extra": "1"}, 400, "invalid_argument"),
        ("a.exe", b"x", {"pipeline_id": "1"}, 400, "invalid_upload"),
        ("../a.txt", b"x", {"pipeline_id": "1"}, 400, "invalid_name"),
        ("a.txt", b"x" * 100_001, {"pipeline_id": "1"}, 413, "upload_too_large"),
        ("a.txt", b"x" * 400_000, {"pipeline_id": "1"}, 413, "too_large"),
        ("a.txt", b"x", {"pipeline_id": "1" * 5000}, 400, "invalid_form"),
    ],
)
def test_an_upload_that_cannot_be_is_refused(
    press: tuple[Site, str],
    name: str,
    content: bytes,
    fields: dict[str, str],
    status: int,
    code: str,
) -> None:
    """One clear error, and no file."""
    site, token = press
    answer = site.ask("POST", FILES, token, files={"file": (name, content)}, data=fields)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert site.ask("GET", f"{FILES}?pipeline_id=1", token).json()["data"] == []


def test_a_form_without_a_file_or_with_two_is_refused(press: tuple[Site, str]) -> None:
    """And one that is none."""
    site, token = press
    other = {"other": ("a.txt", b"x")}
    none = site.ask("POST", FILES, token, files=other, data={"pipeline_id": "1"})
    assert (none.status_code, none.json()["code"]) == (400, "missing_file")
    both = [("file", ("a.txt", b"x")), ("file", ("b.txt", b"x"))]
    two = site.ask("POST", FILES, token, files=both)
    assert (two.status_code, two.json()["code"]) == (400, "invalid_form")
    headers = {"content-type": "multipart/form-data"}
    broken = site.ask("POST", FILES, token, content=b"x", headers=headers)
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid_form")


def test_a_folder_is_full_at_its_bound(press: tuple[Site, str]) -> None:
    """A file of the same name is replaced still."""
    site, token = press
    codes = [
        site.ask(
            "POST", FILES, token, files={"file": (name, b"x")}, data={"pipeline_id": "1"}
        ).status_code
        for name in ("a.txt", "b.txt", "c.txt", "a.txt")
    ]
    assert codes == [200, 200, 400, 200]


def test_an_agent_reads_files_and_uploads_none(press: tuple[Site, str]) -> None:
    """Unless its token says so."""
    site, _ = press
    token = site.token()
    assert site.ask("GET", f"{FILES}?pipeline_id=1", token).status_code == 200
    form = {"files": {"file": ("a.txt", b"x")}, "data": {"pipeline_id": "1"}}
    refused = site.ask("POST", FILES, token, **form)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_a_form_does_not_bring_a_prompt_back(press: tuple[Site, str]) -> None:
    """A page as a prompt shows it is recognized in a form as in JSON."""
    site, token = press
    text = "\n".join(site.workspace.compose("chat", "ada").messages)
    form = {"files": {"file": ("a.txt", text.encode())}, "data": {"pipeline_id": "1"}}
    answer = site.ask("POST", FILES, token, **form)
    assert (answer.status_code, answer.json()["code"]) == (403, "assembled_text")
    assert site.ask("GET", f"{FILES}?pipeline_id=1", token).json()["data"] == []


def upload_budget(site: Site) -> BodyBudget:
    """Return the budget of the server, from the innermost of its applications."""
    app: Any = site.server.config.loaded_app
    while not hasattr(app, "state"):
        app = app.app
    budget: BodyBudget = app.state.upload_budget
    return budget


def test_an_upload_that_nothing_allows_is_not_read(site: Site, token: str) -> None:
    """An agent without the capability is refused before its file arrives."""
    lines = (
        f"authorization: Bearer {token}",
        "content-type: multipart/form-data; boundary=b",
        "content-length: 90000",
    )
    with socket.create_connection(("127.0.0.1", site.port), timeout=30) as connection:
        connection.sendall(head("POST", FILES, *lines))
        assert connection.recv(100).startswith(b"HTTP/1.1 403 ")


def test_uploads_on_their_way_are_bounded(opens: Opens) -> None:
    """Those of one sender wait unread for each other, and another sender's comes in."""
    site = opens(max_upload_bytes=100_000, request_seconds=60.0)
    site.run("looseleaf/create-pipeline", agent="ada", name="News")
    form = {"files": {"file": ("a.txt", b"x")}, "data": {"pipeline_id": "1"}}
    lines = (
        f"authorization: Bearer {site.token(user=1)}",
        "content-type: multipart/form-data; boundary=b",
        "content-length: 90000",
    )
    slow = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(MOST_UPLOADS)]
    try:
        for item in slow:
            item.sendall(head("POST", FILES, *lines) + b"--b\r\n")
        budget = upload_budget(site)
        wait_until(lambda: budget.reserved_bytes == budget.limit // 2)
        token = site.token(user=site.user("eve", capabilities=["manage_options"]))
        assert site.ask("POST", FILES, token, **form).status_code == 200
        assert budget.reserved_bytes == budget.limit // 2
    finally:
        for item in slow:
            item.close()
