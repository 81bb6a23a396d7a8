"""Who comes in: every kind of credential, its end, and what a session must show."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest

from looseleaf.access import authentication
from looseleaf.access.authentication import LINK_SECONDS, SESSION_SECONDS
from looseleaf.web.http import authentication as http_authentication
from looseleaf.web.http.authentication import MOST, MOST_OF_ADDRESS
from tests.web.fixtures import API, PAGE, Site

MEMORY = f"{PAGE}/MEMORY.md"


def basic(site: Site, login: str, password: str) -> httpx2.Response:
    return site.client.get(MEMORY, auth=(login, password))


def test_nobody_reads_without_a_credential(site: Site) -> None:
    """It is 401 with the way to authenticate, whatever is shown instead."""
    wrong = [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer nonsense"},
        {"authorization": "Bearer llt_0_0"},
        {"authorization": "Basic !!!"},
        {"authorization": "Basic YWRtaW4="},
        {"authorization": "Digest x"},
        {"cookie": "looseleaf_session_80=nonsense"},
    ]
    for headers in wrong:
        answer = site.client.get(MEMORY, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.json()["code"] == "unauthenticated"
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_in_the_query_is_no_credential(site: Site, token: str) -> None:
    """Addresses end up in logs."""
    assert site.client.get(MEMORY, params={"token": token}).status_code == 401


def test_a_token_means_its_own_agent(site: Site) -> None:
    """With two agents, each token reads and writes its own, and does not see the other."""
    site.run("looseleaf/create-agent", slug="bob")
    ada, bob = site.token(agent="ada"), site.token(agent="bob")
    site.ask("PUT", MEMORY, ada, content=b"of ada")
    site.ask("PUT", MEMORY, bob, content=b"of bob")
    assert site.ask("GET", MEMORY, ada).json()["data"]["content"] == "of ada"
    assert site.ask("GET", MEMORY, bob).json()["data"]["content"] == "of bob"
    for name in ("agent", "agent_id", "agent_slug"):
        other = site.ask("GET", MEMORY, ada, params={name: "bob" if name != "agent_id" else "2"})
        assert other.json()["code"] == "agent_missing"
    assert [item["slug"] for item in site.ask("GET", f"{API}/agents", ada).json()["data"]] == [
        "ada"
    ]


def test_a_token_ends_when_it_expires(site: Site) -> None:
    """Even one that was used a moment ago."""
    token = site.token(agent="ada", expires_in=60)
    assert site.ask("GET", MEMORY, token).status_code == 200
    site.clock.ahead = 61
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, token).status_code == 401


def test_a_token_ends_at_once_when_it_is_revoked(site: Site) -> None:
    """Also one that the server knows by heart; only reading the same page may last a moment."""
    made = site.run("looseleaf/create-token", agent="ada")
    assert site.ask("GET", MEMORY, made["token"]).status_code == 200
    site.run("looseleaf/revoke-token", id=made["id"])
    assert site.ask("PUT", MEMORY, made["token"], content=b"x").status_code == 401
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, made["token"]).status_code == 401


def test_a_role_that_is_taken_away_is_gone(site: Site) -> None:
    """A page that was read a moment ago can no longer be read."""
    site.user("eve")
    site.run("looseleaf/grant-role", agent="ada", user="eve", role="viewer")
    token = site.token(user="eve")
    assert site.ask("GET", MEMORY, token).status_code == 200
    site.run("looseleaf/revoke-role", agent="ada", user="eve")
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, token).status_code == 404


def test_a_page_is_read_anew_every_time(site: Site, token: str) -> None:
    """However it was changed: through the server, by hand, or deleted."""
    page = Path(site.workspace.root, "agents/ada/fast.md")
    address = f"{PAGE}/fast.md"
    for turn in range(5):
        site.ask("PUT", address, token, content=b"by rest %d" % turn)
        assert site.ask("GET", address, token).json()["data"]["content"] == f"by rest {turn}"
        page.write_bytes(b"by hand %d" % turn)
        assert site.ask("GET", address, token).json()["data"]["content"] == f"by hand {turn}"
    page.unlink()
    assert site.ask("GET", address, token).status_code == 404


def test_a_disabled_user_is_out_at_once(site: Site) -> None:
    """With all that they could show; only reading the same page may last a moment."""
    site.user("eve", capabilities=["manage_agents"])
    token = site.token(user="eve")
    assert site.ask("GET", MEMORY, token, params={"agent": "ada"}).status_code == 200
    site.run("looseleaf/update-user", user="eve", status="disabled")
    assert site.ask("GET", f"{API}/agents", token).status_code == 401
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, token, params={"agent": "ada"}).status_code == 401


def test_an_application_password_signs_in_by_basic(site: Site) -> None:
    """With or without its gaps, for that login only, until it is revoked."""
    site.user("eve", capabilities=["manage_agents"])
    made = site.run("looseleaf/create-application-password", user="eve", label="script")
    password = made["token"]
    assert basic(site, "eve", password).status_code == 200
    assert basic(site, "eve", password.replace(" ", "")).status_code == 200
    assert basic(site, "admin", password).status_code == 401
    assert basic(site, "eve", "wrong").status_code == 401
    site.run("looseleaf/revoke-token", id=made["id"])
    assert basic(site, "eve", password).status_code == 401


def test_a_login_link_works_once(site: Site) -> None:
    """It begins a session in a cookie that no script and no other site can use."""
    link = site.run("looseleaf/create-login-link")["token"]
    with httpx2.Client(base_url=site.base, trust_env=False) as browser:
        answer = browser.post("/login", json={"link": f" {site.base}/login#{link}\n"})
        assert answer.status_code == 200
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/" in cookie
        assert cookie.startswith(f"looseleaf_session_{site.port}=")
        assert f"Max-Age={24 * 3600}" in cookie
        assert browser.get(MEMORY).status_code == 200
        assert browser.get("/session").json()["data"]["user"] == "admin"
    assert site.client.post("/login", json={"link": link}).status_code == 401


def test_a_login_link_expires(site: Site) -> None:
    """After an hour."""
    link = site.run("looseleaf/create-login-link")["token"]
    site.clock.ahead = LINK_SECONDS + 1
    assert site.client.post("/login", json={"link": link}).status_code == 401


def test_a_password_signs_in(site: Site) -> None:
    """For people who have chosen one."""
    site.user("eve", password="correct horse battery")
    wrong = {"login": "eve", "password": "wrong horse battery"}
    assert site.client.post("/login", json=wrong).status_code == 401
    right = {"login": "eve", "password": "correct horse battery"}
    assert site.client.post("/login", json=right).status_code == 200


def test_signing_in_needs_one_of_two_ways(site: Site) -> None:
    """Anything else is 400."""
    for given in ({}, {"link": 1}, {"login": "a"}, {"link": "a", "login": "b", "password": "c"}):
        assert site.client.post("/login", json=given).status_code == 400


def test_a_session_ends(site: Site) -> None:
    """By signing out, and by itself after a day."""
    browser, csrf = site.sign_in()
    assert browser.get("/session").status_code == 200
    name = f"looseleaf_session_{site.port}"
    kept = f"{name}={browser.cookies[name]}"
    assert browser.post("/logout", headers={"x-csrf-token": csrf}).status_code == 200
    assert site.client.get("/session", headers={"cookie": kept}).status_code == 401
    browser, _ = site.sign_in()
    site.clock.ahead = SESSION_SECONDS + 1
    assert browser.get("/session").status_code == 401


def test_a_change_by_session_needs_the_csrf_token(site: Site) -> None:
    """Reading does not; a token needs none."""
    browser, csrf = site.sign_in()
    assert browser.get(MEMORY).status_code == 200
    for headers in ({}, {"x-csrf-token": "wrong"}, {"x-csrf-token": csrf[:-1]}):
        answer = browser.put(MEMORY, content=b"x", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    for name in ("x-csrf-token", "x-wp-nonce"):
        assert browser.put(MEMORY, content=b"x", headers={name: csrf}).status_code == 200
    assert browser.get("/session").json()["data"]["csrf"] == csrf


def test_a_person_makes_a_token_and_a_token_does_not(site: Site, token: str) -> None:
    """The token is shown once."""
    browser, csrf = site.sign_in()
    headers = {"x-csrf-token": csrf}
    made = browser.post(f"{API}/agents/ada/tokens", json={"label": "bot"}, headers=headers)
    assert made.status_code == 201
    assert site.ask("GET", MEMORY, made.json()["data"]["token"]).status_code == 200
    listed = browser.get(f"{API}/agents/ada/tokens").json()["data"]
    assert [item["token"] for item in listed] == ["", ""]
    assert site.ask("POST", f"{API}/agents/ada/tokens", token, json={}).status_code == 403
    ended = browser.delete(f"{API}/tokens/{made.json()['data']['id']}", headers=headers)
    assert ended.status_code == 200
    site.wait_for_decisions()
    assert site.ask("GET", MEMORY, made.json()["data"]["token"]).status_code == 401


def test_a_wrong_token_is_slowed_down_and_locks_out_nobody_else(site: Site, token: str) -> None:
    """429 with the time to wait; others behind the same address come in by token and password."""
    for _ in range(MOST):
        assert site.ask("GET", MEMORY, "wrong").status_code == 401
    refused = site.ask("GET", MEMORY, "wrong")
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert site.ask("GET", MEMORY, token).status_code == 200
    assert basic(site, "admin", "x").status_code == 401
    site.user("bert", password="a long password")
    given = {"login": "bert", "password": "a long password"}
    assert site.client.post("/login", json=given).status_code == 200


def test_wrong_passwords_are_slowed_down_and_the_right_one_passes(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By login and address; a wrong application password is refused, the right one never is."""
    monkeypatch.setattr(http_authentication, "SLOW_SECONDS", 0.2)
    site.user("bert", password="a long password")
    site.run("looseleaf/grant-role", user="bert", agent="ada", role="viewer")
    made = site.run("looseleaf/create-application-password", user="bert", label="phone")
    for login in ("bert", "nobody"):
        answers = [basic(site, login, "x") for _ in range(MOST + 1)]
        assert [item.status_code for item in answers] == [401] * MOST + [429]
        assert answers[-1].json()["code"] == "too_many_failures"
    assert basic(site, "bert", made["token"]).status_code == 200
    given = {"login": "bert", "password": "wrong"}
    assert [site.client.post("/login", json=given).status_code for _ in range(3)] == [401] * 3
    given["password"] = "a long password"
    assert site.client.post("/login", json=given).status_code == 200


def test_attempts_beyond_the_limit_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each for its part of a minute, one after the other, known login or not."""
    pauses = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    attempts = http_authentication.Attempts()
    monkeypatch.setattr(http_authentication, "asyncio", SimpleNamespace(sleep=pause))
    for login, address in (("bert", "1.1.1.1"), ("nobody", "1.1.1.2")):
        for _ in range(MOST + 2):
            asyncio.run(attempts.take(address, login))
    assert pauses == [60.0 / MOST] * 4


def test_an_address_that_tries_many_logins_is_refused(site: Site) -> None:
    """The wider bound, by address."""
    codes = [basic(site, f"login{n}", "x").status_code for n in range(MOST_OF_ADDRESS + 1)]
    assert codes == [401] * MOST_OF_ADDRESS + [429]


def test_few_passwords_are_hashed_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 24 at the same time never more than two, and all are answered."""
    hashing, most, tried = 0, 0, 0
    lock = threading.Lock()
    real = authentication.is_password

    def watched(password: str, stored: str) -> bool:
        nonlocal hashing, most, tried
        with lock:
            hashing, tried = hashing + 1, tried + 1
            most = max(most, hashing)
        try:
            return bool(real(password, stored))
        finally:
            with lock:
                hashing -= 1

    monkeypatch.setattr(authentication, "is_password", watched)

    def sign_in(_number: int) -> int:
        given = {"login": "admin", "password": "wrong"}
        return site.client.post("/login", json=given, timeout=120).status_code

    monkeypatch.setattr(http_authentication, "SLOW_SECONDS", 0.2)
    with ThreadPoolExecutor(24) as pool:
        codes = Counter(pool.map(sign_in, range(24)))
    assert codes == {401: 24}
    assert (tried, most <= 2) == (24, True)


def test_a_setting_made_while_running_holds_at_once(site: Site, token: str) -> None:
    """For principals that the server knows already, too."""
    day = f"{PAGE}/daily/2026/04/17"
    assert site.ask("PUT", day, token, content=b"x").status_code == 403
    browser, csrf = site.sign_in()
    browser.put(
        f"{API}/settings/daily_memory_enabled",
        json={"setting": True},
        headers={"x-csrf-token": csrf},
    ).raise_for_status()
    assert site.ask("PUT", day, token, content=b"x").status_code == 200


@pytest.mark.parametrize("path", ["/docs", "/login", "/openapi.json", "/health"])
def test_what_is_open_to_all(site: Site, path: str) -> None:
    """The pages for people, the description of the API and the state of health."""
    assert site.client.get(path).status_code == 200


def test_metrics_need_a_right(site: Site, token: str) -> None:
    """view_logs, on loopback too: other users of the machine can reach it."""
    assert site.client.get("/metrics").status_code == 401
    assert site.ask("GET", "/metrics", token).status_code == 403
    site.user("eve", capabilities=["view_logs"])
    found = site.ask("GET", "/metrics", site.token(user="eve"))
    assert found.status_code == 200
    assert 'looseleaf_requests_total{process="' in found.text
    assert 'route="/metrics",status="403"' in found.text


def test_requests_are_answered_while_time_passes(site: Site, token: str) -> None:
    """A principal that is remembered is looked up again before long."""
    assert site.ask("GET", MEMORY, token).status_code == 200
    site.clock.ahead = time.time() % 1 + 120
    assert site.ask("GET", MEMORY, token).status_code == 200
