"""`user_id` selects that user's agent and pages; another user's needs manage_agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from looseleaf import cli
from looseleaf.errors.operations import UserMissing
from looseleaf.memory.scope import Where
from looseleaf.operations import daily
from tests.web.fixtures import API, PAGE, Opens, Site

DAY = f"{PAGE}/daily/2026/03/16"
RUN = "/wp-abilities/v1/abilities/datamachine"
TEXT = {"content-type": "text/plain"}
NOBODY = 99


class SharedSite(NamedTuple):
    """A site with two people, each with an agent of their own."""

    site: Site
    eve: int
    admin_token: str
    eve_token: str


@pytest.fixture
def shared_site(opens: Opens) -> SharedSite:
    """Serve a workspace of the administrator (agent ada) and of eve (agent eva)."""
    site = opens(daily_memory_enabled=True, default_agent="ada")
    site.run("looseleaf/list-users")
    boss = site.user("boss", capabilities=["manage_options"])
    eve = site.user("eve")
    site.run("looseleaf/create-agent", slug="eva", owner=eve)
    tokens = [site.token(user=user) for user in (boss, eve)]
    return SharedSite(site, eve, *tokens)


def journal(site: Site, agent: str) -> dict[str, str]:
    """Return the days of an agent's journal as they lie on the disk."""
    folder = Path(site.workspace.root) / "agents" / agent / "daily"
    return {page.name: page.read_text() for page in folder.rglob("*.md")}


def test_a_day_of_another_user_is_written_and_deleted_in_their_journal(
    shared_site: SharedSite,
) -> None:
    """And the journal of the one who asks stays as it is."""
    site, token = shared_site.site, shared_site.admin_token
    mine = {"agent": "ada", "date": "2026-03-16", "content": "mine"}
    site.run("datamachine/daily-memory-write", **mine)
    put = site.ask("PUT", f"{DAY}?user_id={shared_site.eve}", token, content="hers\n", headers=TEXT)
    assert put.status_code == 200, put.text
    assert journal(site, "eva") == {"16.md": "hers\n"}
    assert "mine" in journal(site, "ada")["16.md"]
    read = site.ask("GET", f"{DAY}?user_id={shared_site.eve}", token).json()["data"]
    assert read["content"] == "hers\n"
    gone = site.ask("DELETE", f"{DAY}?user_id={shared_site.eve}", token)
    assert gone.status_code == 200
    assert not journal(site, "eva")
    assert "mine" in journal(site, "ada")["16.md"]


def test_pages_of_another_users_agent_are_theirs(shared_site: SharedSite) -> None:
    """At the page's own address, in the list, at the abilities, by their own id too."""
    site = shared_site.site
    site.run("datamachine/write-agent-file", file="MEMORY.md", content="hers", agent="eva")
    for token in (shared_site.admin_token, shared_site.eve_token):
        params = {"user_id": shared_site.eve}
        page = site.ask("GET", f"{PAGE}/MEMORY.md", token, params=params).json()["data"]
        assert page["content"] == "hers"
        assert site.ask("GET", PAGE, token, params=params).status_code == 200
        body = {"input": {"user_id": shared_site.eve}}
        assert "hers" in site.ask("POST", f"{RUN}/get-agent-memory/run", token, json=body).text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{PAGE}/MEMORY.md"),
        ("GET", f"{PAGE}/RULES.md"),
        ("GET", f"{PAGE}/USER.md"),
        ("GET", PAGE),
        ("GET", DAY),
        ("PUT", DAY),
        ("DELETE", DAY),
        ("GET", f"{PAGE}/daily"),
        ("GET", f"{API}/search?query=x"),
        ("GET", f"{API}/prompt?mode=chat"),
        ("GET", f"{API}/history?file=MEMORY.md"),
        ("POST", f"{RUN}/get-agent-memory/run"),
    ],
)
def test_another_user_needs_manage_agents_and_must_exist(
    shared_site: SharedSite, method: str, path: str
) -> None:
    """A subscriber is refused, whether or not the user exists; an administrator is told."""
    site = shared_site.site

    def status(token: str, user: int) -> int:
        body = {"content": "x", "headers": TEXT} if method == "PUT" else {}
        return site.ask(
            method, f"{path}{'&' if '?' in path else '?'}user_id={user}", token, **body
        ).status_code

    assert status(shared_site.eve_token, 1) == 403
    assert status(shared_site.eve_token, NOBODY) == 403
    assert status(shared_site.admin_token, NOBODY) == 404
    assert not os.path.exists(f"{site.workspace.root}/users/{NOBODY}")


def test_a_user_who_does_not_exist_gets_no_pages(shared_site: SharedSite) -> None:
    """Not by the library, not by the command line, not as the owner of an agent."""
    workspace = shared_site.site.workspace
    with pytest.raises(UserMissing):
        daily.write_day(workspace.context, "x", where=Where(user=NOBODY))
    root = ["--root", workspace.root]
    words = ["memory", "write", "USER.md", "Name", "x", "--user", str(NOBODY), *root]
    assert cli.main(words) == 3
    shared_site.site.run("looseleaf/create-agent", slug="orphan", owner=NOBODY)
    with pytest.raises(UserMissing):
        shared_site.site.run(
            "datamachine/write-agent-file", file="USER.md", content="x", agent="orphan"
        )
    assert not os.path.exists(f"{workspace.root}/users/{NOBODY}")


def test_an_agent_may_be_named_twice_if_it_is_the_same(shared_site: SharedSite) -> None:
    """By id and by slug; two different agents are a contradiction."""
    site, token = shared_site.site, shared_site.admin_token
    eva = site.run("looseleaf/show-agent", agent="eva")["id"]
    params = {"agent_id": eva, "agent_slug": "eva"}
    assert site.ask("GET", f"{PAGE}/MEMORY.md", token, params=params).status_code == 200
    other = site.ask("GET", f"{PAGE}/MEMORY.md", token, params={**params, "agent_slug": "ada"})
    assert (other.status_code, other.json()["code"]) == (400, "invalid_argument")


def test_several_agents_of_a_user_must_be_told_apart(shared_site: SharedSite) -> None:
    """The default agent is taken only if it is theirs."""
    site, token = shared_site.site, shared_site.admin_token
    site.run("looseleaf/create-agent", slug="eva-two", owner=shared_site.eve)
    params = {"user_id": shared_site.eve}
    answer = site.ask("GET", f"{PAGE}/MEMORY.md", token, params=params)
    assert (answer.status_code, answer.json()["code"]) == (400, "agent_ambiguous")
    own = site.ask("GET", f"{PAGE}/MEMORY.md", token, params={"user_id": 1})
    assert own.status_code == 200


def test_without_a_default_the_only_agent_one_owns_is_meant(opens: Opens) -> None:
    """Although an administrator sees the agents of all; others must choose."""
    site = opens()
    boss, other = (site.user(name, capabilities=["manage_options"]) for name in ("boss", "other"))
    site.run("looseleaf/create-agent", slug="bossy", owner=boss)
    site.run("datamachine/write-agent-file", file="MEMORY.md", content="the boss's", agent="bossy")
    own = site.ask("GET", f"{PAGE}/MEMORY.md", site.token(user=boss))
    assert own.json()["data"]["content"] == "the boss's"
    token = site.token(user=other)
    answer = site.ask("GET", f"{PAGE}/MEMORY.md", token)
    assert (answer.status_code, answer.json()["code"]) == (400, "agent_ambiguous")
    answer = site.ask("GET", f"{PAGE}/MEMORY.md", token, params={"user_id": other})
    assert answer.status_code == 404
    assert answer.json()["message"].startswith(
        f"User {other} has no active agent. Available agents"
    )
    site.run("looseleaf/create-agent", slug="bossy-two", owner=boss)
    answer = site.ask("GET", f"{PAGE}/MEMORY.md", site.token(user=boss))
    assert (answer.status_code, answer.json()["code"]) == (400, "agent_ambiguous")
