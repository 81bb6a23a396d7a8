"""Uploads in the admin site: with progress, by a plain form, bounded, and never whole in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Opens, Site

PIPELINE, FLOW = "/admin/agents/ada/pipelines/1", "/admin/agents/ada/flows/1"
MOST_BYTES = 3_000_000


@pytest.fixture
def press(opens: Opens) -> Site:
    """Serve a workspace with a pipeline and a flow, and a limit for uploads."""
    site = opens(max_upload_bytes=MOST_BYTES)
    site.run("looseleaf/create-pipeline", agent="ada", name="News")
    site.run("looseleaf/create-flow", pipeline=1, name="Morning")
    return site


def names(site: Site, **place: int) -> list[str]:
    """List the files of a pipeline or flow."""
    return [file["filename"] for file in site.run("datamachine/list-flow-files", **place)]


@pytest.mark.parametrize(("address", "kind"), [(PIPELINE, "pipeline"), (FLOW, "flow")])
def test_a_file_is_uploaded_without_javascript(
    press: Site, open_tab: OpenTab, tmp_path: Path, address: str, kind: str
) -> None:
    """By an ordinary form; the same name is replaced, and a refused file is explained."""
    page = open_tab(press, java_script_enabled=False).open(address)
    notes = tmp_path / "notes.txt"
    for text in ("one", "longer"):
        notes.write_text(text)
        page.get_by_label("New file").set_input_files(notes)
        page.get_by_role("button", name="Upload", exact=True).click()
        note = page.locator(".note.good").inner_text()
        assert note == f"notes.txt is uploaded: {len(text)} bytes."
    assert page.locator("#file-list td").first.inner_text() == "notes.txt"
    assert names(press, **{kind: 1}) == ["notes.txt"]
    program = tmp_path / "run.exe"
    program.write_text("x")
    page.get_by_label("New file").set_input_files(program)
    page.get_by_role("button", name="Upload", exact=True).click()
    assert "run.exe" in page.locator(".note.bad").inner_text()
    assert names(press, **{kind: 1}) == ["notes.txt"]


def test_files_are_uploaded_with_progress_and_seen_in_the_prompt(
    press: Site, open_tab: OpenTab, tmp_path: Path
) -> None:
    """Several at once, without a new page; the prompt beside them follows."""
    page = open_tab(press).open(PIPELINE)
    page.evaluate("window.isTheSamePage = true")
    page.evaluate(
        """() => { window.told = []; new MutationObserver(() =>
        window.told.push(document.getElementById("upload-status").textContent)
        ).observe(document.getElementById("upload-status"), {childList: true}); }"""
    )
    (tmp_path / "a.txt").write_text("Short sentences.")
    (tmp_path / "b.md").write_text("x" * 2_000_000)
    field = page.get_by_label("New file")
    field.set_input_files([tmp_path / "a.txt", tmp_path / "b.md"])
    page.get_by_role("button", name="Upload", exact=True).press("Enter")
    page.locator("#upload-status", has_text="Uploaded: a.txt, b.md.").wait_for()
    assert [text.split("\n")[0] for text in page.locator("#file-list tr").all_inner_texts()]
    assert names(press, pipeline=1) == ["a.txt", "b.md"]
    assert "a.txt" in page.locator("#slice").inner_text()
    assert page.evaluate("window.isTheSamePage")
    assert any("%" in text for text in page.evaluate("window.told"))
    assert page.locator("#upload-progress").is_hidden()


def test_a_file_over_the_limit_is_refused_before_it_is_sent(
    press: Site, open_tab: OpenTab, tmp_path: Path
) -> None:
    """And those before it are stored."""
    page = open_tab(press).open(PIPELINE)
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").write_bytes(b"x" * (MOST_BYTES + 1))
    field = page.get_by_label("New file")
    field.set_input_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    page.get_by_role("button", name="Upload", exact=True).click()
    page.locator("#upload-status.warn-text", has_text="b.txt is larger").wait_for()
    assert names(press, pipeline=1) == ["a.txt"]


def test_a_form_is_checked_before_anything_is_stored(press: Site) -> None:
    """Its token, its size, its file and the right of the one who is signed in."""
    browser, csrf = press.sign_in()
    file = {"file": ("a.txt", b"x")}
    fields = {"csrf": csrf, "action": "upload"}
    without = browser.post(PIPELINE, files=file, data={"action": "upload"})
    assert without.status_code == 403
    foreign = {"origin": "http://evil.example"}
    assert browser.post(PIPELINE, files=file, data=fields, headers=foreign).status_code == 403
    large = {"file": ("a.txt", b"x" * (MOST_BYTES + 1))}
    refused = browser.post(PIPELINE, files=large, data=fields)
    assert refused.status_code == 413
    assert "Sign out" in refused.text
    empty = browser.post(PIPELINE, files={"file": ("", b"")}, data=fields)
    assert empty.status_code == 400
    other = browser.post("/admin/people", files=file, data=fields)
    assert other.status_code == 415
    press.user("vera")
    press.run("looseleaf/grant-role", agent="ada", user="vera", role="viewer")
    viewer, token = press.sign_in("vera")
    assert viewer.post(PIPELINE, files=file, data={**fields, "csrf": token}).status_code == 403
    assert "Upload" not in viewer.get(PIPELINE).text
    signed_out = press.browser().post(PIPELINE, files=file, data=fields)
    assert signed_out.headers["location"].startswith("/login")
    assert names(press, pipeline=1) == []


def test_an_upload_is_never_whole_in_memory(opens: Opens) -> None:
    """A file of 40 MB adds a fraction of it to what the server holds at once."""
    size = 40_000_000
    site = opens(max_upload_bytes=size)
    site.run("looseleaf/create-pipeline", agent="ada", name="News")
    browser, csrf = site.sign_in()
    limit = {"x": b"x" * size}  # made before the measurement begins, and sent from there
    files, fields = {"file": ("a.txt", limit["x"])}, {"csrf": csrf, "action": "upload"}
    request = browser.build_request("POST", PIPELINE, files=files, data=fields)
    body = request.read()
    tracemalloc.start()
    try:
        answer = browser.post(
            PIPELINE, content=body, headers={"content-type": request.headers["content-type"]}
        )
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.status_code == 303, answer.text
    assert site.run("datamachine/list-flow-files", pipeline=1)[0]["size"] == size
    assert peak < size / 3
