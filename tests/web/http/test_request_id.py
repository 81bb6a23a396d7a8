"""Every request has an id, which its answer, the history and the audit show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.fixtures import API, PAGE, Site

APPEND = {"file": "notes.md", "content": "- tea"}


def last_change(site: Site) -> dict[str, Any]:
    """Return the newest change of notes.md."""
    changes: list[dict[str, Any]] = site.run("looseleaf/page-history", file="notes.md")
    return changes[-1]


def last_event(site: Site) -> dict[str, Any]:
    """Return the newest event of the audit."""
    event: dict[str, Any] = site.run("looseleaf/list-audit", limit=1)[0]["event"]
    return event


def test_an_id_of_the_client_is_kept(site: Site, token: str) -> None:
    """In the answer, in the history and in the audit."""
    answer = site.ask(
        "POST", f"{API}/files/append", token, json=APPEND, headers={"x-request-id": "trace-17"}
    )
    assert (answer.status_code, answer.headers["x-request-id"]) == (200, "trace-17")
    for record in (last_change(site), last_event(site)):
        assert (record["activity"], record["activity_id"]) == ("request", "trace-17")
        assert (record["actor_kind"], record["origin"], record["surface"]) == (
            "agent",
            "agent",
            "rest",
        )


@pytest.mark.parametrize("header", [None, "", "two words", "x" * 201, "caf\xe9"])
def test_any_other_request_is_given_one(site: Site, token: str, header: str | None) -> None:
    """A malformed id is not taken, and no error either."""
    headers = {} if header is None else {"x-request-id": header.encode("latin-1")}
    ids = []
    for line in ("- tea", "- milk"):
        append = {**APPEND, "content": line}
        answer = site.ask("POST", f"{API}/files/append", token, json=append, headers=headers)
        assert answer.status_code == 200
        ids.append(answer.headers["x-request-id"])
        assert last_change(site)["activity_id"] == ids[-1]
    assert len(set(ids)) == 2
    assert header not in ids


def test_every_answer_has_one(site: Site, token: str) -> None:
    """A page, an error, a refusal of the guard, and what no credential opens."""
    answers = [
        site.ask("GET", f"{PAGE}/MEMORY.md", token),
        site.ask("GET", f"{PAGE}/none.md", token),
        site.ask("GET", "/health"),
        site.ask("GET", f"{PAGE}/MEMORY.md"),
        site.ask("GET", f"{PAGE}/MEMORY.md", token, headers={"host": "evil.example"}),
    ]
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == len(answers)


def test_a_refusal_in_the_audit_has_it(site: Site, token: str) -> None:
    """Who was refused can be found by the id that they were answered."""
    answer = site.ask("PUT", f"{PAGE}/SOUL.md", token, json={"content": "x"})
    assert answer.status_code == 403
    event = last_event(site)
    assert (event["outcome"], event["activity_id"]) == ("refused", answer.headers["x-request-id"])


def test_a_header_states_the_origin(site: Site, token: str) -> None:
    """As far as the one who asks may state it; a person may say more than an agent."""
    asks: dict[str, Any] = {"token": token, "json": APPEND}
    answer = site.ask("POST", f"{API}/files/append", **asks, headers={"x-looseleaf-origin": "tool"})
    assert answer.status_code == 200
    assert last_change(site)["origin"] == "tool"
    for forged in ("system", "import", "person"):
        headers = {"x-looseleaf-origin": forged}
        refused = site.ask("POST", f"{API}/files/append", **asks, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_argument")
    browser, csrf = site.sign_in()
    headers = {"x-csrf-token": csrf, "x-looseleaf-origin": "import"}
    append = {**APPEND, "content": "- milk"}
    said = browser.post(f"{API}/files/append", json=append, headers=headers)
    assert said.status_code == 200
    last = last_change(site)
    assert (last["actor_kind"], last["origin"]) == ("person", "import")


def test_signing_in_and_out_is_a_persons_request(site: Site) -> None:
    """Both events name the surface and the request."""
    browser, csrf = site.sign_in()
    signed_in = last_event(site)
    answer = browser.post("/logout", headers={"x-csrf-token": csrf})
    signed_out = last_event(site)
    assert (signed_in["action"], signed_out["action"]) == ("sign in", "sign out")
    assert signed_in["actor"] == signed_out["actor"] == "admin"
    for event in (signed_in, signed_out):
        assert (event["actor_kind"], event["surface"], event["activity"]) == (
            "person",
            "rest",
            "request",
        )
    assert signed_out["activity_id"] == answer.headers["x-request-id"]
