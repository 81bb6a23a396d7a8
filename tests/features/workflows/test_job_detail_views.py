"""What a job left: packets in words, transcripts, artifacts as files; secrets in none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from looseleaf.errors import Invalid
from looseleaf.features.workflows.job_views import read_transcript
from looseleaf.features.workflows.parts import jobs_of
from tests.web.admin.pages import NEWS, wait_until
from tests.web.fixtures import Opens, Site

JOB = "/admin/agents/ada/jobs/1"
SECRET = "sk-0123456789abcdefghijklmnop"


@pytest.fixture
def press(opens: Opens) -> Iterator[Site]:
    """Serve a workspace in which a job asked a model and wrote to memory."""
    site = opens(default_model="echo", pipeline_transcripts=True)
    text = f"The key is {SECRET}, the album is blue."
    steps = [
        {"type": "input", "label": "Mail", "settings": {"source": "text", "text": text}},
        {"type": "ai", "label": "Write"},
        {"type": "memory_update", "settings": {**NEWS, "template": "- blue"}},
    ]
    site.run("datamachine/execute-workflow", agent="ada", steps=steps)
    runtime = jobs_of(site.workspace)
    runtime.start_worker()
    wait_until(lambda: runtime.jobs.find(1).is_final)
    assert runtime.jobs.find(1).status == "completed", runtime.jobs.find(1)
    yield site
    runtime.close()


def test_packets_are_read_as_text_without_secrets(press: Site) -> None:
    """Names and values, never JSON."""
    browser, _csrf = press.sign_in()
    text = browser.get(JOB).text
    assert "Answer of the model" in text
    assert "the album is blue." in text
    assert SECRET not in text
    assert "<dt>content</dt><dd>The key is [redacted], the album is blue.</dd>" in text


def test_a_transcript_is_read_like_a_conversation(press: Site) -> None:
    """And kept as a file; neither has the secret."""
    browser, _csrf = press.sign_in()
    links = re.findall(r'href="([^"]+/transcript\?step=[^"]+)"', browser.get(JOB).text)
    assert len(links) == 1
    page = browser.get(links[0])
    assert page.status_code == 200
    assert "The model" in page.text
    assert "the album is blue." in page.text
    assert SECRET not in page.text
    file = re.search(r'href="([^"]+/artifact\?ref=[^"]+)" download', page.text)
    assert file is not None
    download = browser.get(file[1])
    assert download.headers["content-disposition"].startswith("attachment")
    assert download.json()["total"] >= 2
    assert SECRET not in download.text


def test_a_page_that_was_written_is_an_artifact(press: Site) -> None:
    """As Markdown; a reference that the job has not is refused."""
    browser, _csrf = press.sign_in()
    ref = "datamachine://jobs/1/artifacts/agent_memory/MEMORY.md"
    download = browser.get(f"{JOB}/artifact", params={"ref": ref})
    assert download.headers["content-disposition"].endswith("agent_memory-MEMORY.md")
    assert "- blue" in download.text
    missing = browser.get(f"{JOB}/artifact", params={"ref": f"{ref}x"})
    assert missing.status_code == 404
    assert browser.get(f"{JOB}/artifact", params={"ref": "../../etc"}).status_code == 400
    assert browser.get(f"{JOB}/transcript?step=none").status_code == 404


def test_artifacts_are_for_those_who_may_see_the_agent(press: Site) -> None:
    """By whatever address."""
    press.user("stranger")
    browser, _csrf = press.sign_in("stranger")
    ref = "datamachine://jobs/1/artifacts/agent_memory/MEMORY.md"
    assert browser.get(f"{JOB}/artifact", params={"ref": ref}).status_code == 404
    assert browser.get(f"{JOB}/transcript?step=ai").status_code == 404


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"messages": 3}', '{"messages": [3]}'])
def test_a_transcript_of_another_form_is_said_so(content: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(Invalid, match="transcript"):
        read_transcript(content)
