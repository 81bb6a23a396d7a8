"""The matrix over HTTP: real credentials try every operation, by the table of the operations.

What each may do stands in tests/operations/test_matrix.py, by hand and apart from the code; here
the same is asked of a server, by sessions and by a token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import httpx2
import pytest

from looseleaf.catalog.operation import CATALOG
from tests.conftest import FULL
from tests.operations.test_matrix import (
    ABOUT,
    AGENTS,
    ALLOWED,
    EVERYONE,
    NOBODY,
    OTHER,
    OWNER,
    SPOILS,
    World,
    arguments,
)
from tests.web.fixtures import Opens, Site

RUN = "/wp-abilities/v1/abilities"
# Refusals of permission; what else may be wrong comes after it.
REFUSED = {"forbidden", "agent_missing", "credential_missing"}
REFUSED |= {"pipeline_not_found", "flow_not_found", "job_not_found", "schedule_not_found"}
CAPABILITIES = {
    "chatter": "chat",
    "setter": "manage_settings",
    "auditor": "view_logs",
    "manager": "manage_agents",
    "everything": "manage_options",
}
GRANTED = ("viewer", "operator", "admin")
SELDOM = 1 if FULL else 4  # one attempt of so many is made; the other matrix makes all of them

Ask = Callable[[str, dict[str, object]], httpx2.Response]


class People:
    """A server, with everyone of the table signed in."""

    def __init__(self, site: Site) -> None:
        self.site = site
        for who in ("owner", "other", "stranger"):
            site.user(f"the-{who}")
        record = Path(site.workspace.root, "agents/ada/agent.json")
        record.write_text(record.read_text().replace('"owner": 1', f'"owner": {OWNER}'))
        site.run("looseleaf/create-agent", slug="bobs", owner=OTHER)
        for role in GRANTED:
            site.user(f"the-{role}")
            site.run("looseleaf/grant-role", agent="ada", user=f"the-{role}", role=role)
        site.user("the-builder", capabilities=["manage_flows"])
        site.run("looseleaf/grant-role", agent="ada", user="the-builder", role="operator")
        for slug in ("ada", "bobs"):
            site.run("looseleaf/create-pipeline", agent=slug, name="News")
            schedule = {"interval": "daily"}
            site.run(
                "looseleaf/create-flow", pipeline=f"{slug}/news", name="Morning", schedule=schedule
            )
            site.run("datamachine/execute-workflow", flow=f"{slug}/news/morning")
        for who, capability in CAPABILITIES.items():
            site.user(f"the-{who}", capabilities=[capability])
        tokens = {slug: site.run("looseleaf/create-token", agent=slug) for slug in ("ada", "bobs")}
        world = {slug: item["id"] for slug, item in tokens.items()}
        self.world = World(site.workspace, world)
        self.asking: dict[str, Ask] = {
            who: self.by_session(f"the-{who}") for who in sorted(EVERYONE - AGENTS - {"reading"})
        }
        writer = site.run("looseleaf/create-token", agent="ada", capabilities=["write_user_pages"])
        self.asking["writer"] = self.by_token(writer["token"])
        self.asking["token"] = self.by_token(tokens["ada"]["token"])

    def by_session(self, login: str) -> Ask:
        """Sign in as a user, and ask as a page of ours would."""
        browser, csrf = self.site.sign_in(login)

        def ask(name: str, given: dict[str, object]) -> httpx2.Response:
            headers = {"x-csrf-token": csrf}
            return browser.post(f"{RUN}/{name}/run", json={"input": given}, headers=headers)

        return ask

    def by_token(self, token: str) -> Ask:
        """Ask as a program would."""
        return lambda name, given: self.site.ask("POST", f"{RUN}/{name}/run", token, json=given)

    def pages(self) -> dict[str, bytes]:
        """Return every page of the workspace."""
        root = Path(self.site.workspace.root)
        found = [path for path in root.rglob("*.md") if ".looseleaf" not in path.parts]
        return {str(path): path.read_bytes() for path in found}


@pytest.fixture
def people(opens: Opens) -> People:
    """Serve a workspace, with everyone signed in."""
    return People(opens(daily_memory_enabled=True))


def expected(name: str, target: str, who: str) -> bool:
    return who in ALLOWED[CATALOG[name].permission].get(target, NOBODY)


def test_over_http_nobody_gets_further_than_allowed(people: People, seed: int) -> None:
    """Whoever may not is refused and changes nothing; whoever may is not refused; no one gets 5xx.

    What would change the rights of others is tried only by those who may not.
    """
    tried = 0
    turn = count(seed)
    for name, targets in sorted(ABOUT.items(), key=lambda row: not CATALOG[row[0]].read_only):
        for target in targets:
            before = people.pages()
            tried += try_all(people, name, target, turn, allowed=False)
            assert people.pages() == before, f"all were refused, and {name} changed {target}"
            if CATALOG[name].permission not in SPOILS or CATALOG[name].read_only:
                tried += try_all(people, name, target, turn, allowed=True)
    assert tried > 1000 // SELDOM


def try_all(people: People, name: str, target: str, turn: Iterator[int], *, allowed: bool) -> int:
    """Let those who may, or may not, run an operation try it, by turns; return how many did."""
    permission = CATALOG[name].permission
    given = arguments(name, target, people.world)
    tried = 0
    for who, ask in people.asking.items():
        # The owner of this token has no capability, unlike the one of the table.
        unlike = who == "token" and permission in ("chat", "list_tokens", "tokens")
        if unlike or expected(name, target, who) is not allowed or next(turn) % SELDOM:
            continue
        answer = ask(name, given)
        tried += 1
        refused = answer.json().get("code") in REFUSED
        row = f"{who}: {name} on {target}: {answer.status_code} {answer.text[:200]}"
        assert answer.status_code < 500, row
        assert refused is not allowed, row
        assert not refused or answer.status_code in (403, 404), row
    return tried


def test_nobody_runs_anything_without_a_credential(people: People) -> None:
    """Every operation, every target: 401."""
    for name, targets in ABOUT.items():
        for target in targets:
            given = arguments(name, target, people.world)
            answer = people.site.client.post(f"{RUN}/{name}/run", json=given)
            assert answer.status_code == 401, name
