"""Abilities: every operation by its name, with its schema, as WordPress would offer it."""

from __future__ import annotations

import json
import re

import pytest

from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import SYNONYMS, build_input_schema, parse_arguments
from looseleaf.errors import InvalidArgument
from looseleaf.web.rest.abilities import OPERATIONS
from looseleaf.web.rest.calls import build_accepted_schema, from_query, kinds_of
from tests.web.fixtures import API, ENDPOINTS, PAGE, Site

RUN = "/wp-abilities/v1/abilities"
FORM = {"content-type": "application/x-www-form-urlencoded"}


def test_every_operation_is_listed_with_its_schema(site: Site, token: str) -> None:
    """The list is the catalog."""
    params = {"per_page": 1000}
    found = site.ask("GET", RUN, token, params=params)
    assert {item["name"] for item in found.json()} == set(CATALOG)
    assert found.headers["x-wp-total"] == str(len(CATALOG))
    ours = site.ask("GET", OPERATIONS, token, params=params).json()["data"]
    assert ours == found.json()
    for item in found.json():
        accepted = build_accepted_schema(CATALOG[item["name"]])
        assert item["input_schema"] == json.loads(json.dumps(accepted))
        assert item["output_schema"]["type"] == "object"
        assert item["label"]
        assert item["category"] == CATALOG[item["name"]].categories[0]
        assert site.ask("GET", f"{RUN}/{item['name']}", token).json() == item
        assert site.ask("GET", f"{OPERATIONS}/{item['name']}", token).json()["data"] == item


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_the_published_arguments_are_those_that_are_taken(name: str) -> None:
    """No name is taken that the schema does not list, and none is listed that is not taken."""
    operation = CATALOG[name]
    published = set(build_accepted_schema(operation)["properties"])
    taken = set()
    every = {item for known in CATALOG.values() for item in build_input_schema(known)["properties"]}
    for argument in {*every, *SYNONYMS, *published}:
        try:
            parse_arguments(operation, {argument: object()})
        except InvalidArgument as error:
            if error.name != argument or " takes " not in str(error):
                taken.add(argument)
    assert published == taken


def test_our_own_route_gives_the_whole_result(site: Site, token: str) -> None:
    """In our envelope, if the run route answers as the original plugin does."""
    asked = {"file": "MEMORY.md"}
    name = "datamachine/list-agent-memory-sections"
    flat = site.ask("POST", f"{RUN}/{name}/run", token, json=asked).json()
    whole = site.ask("POST", f"{OPERATIONS}/{name}", token, json=asked).json()
    assert flat["sections"] == [item["name"] for item in whole["data"]]
    assert {"position", "line", "bytes"} <= set(whole["data"][0])


def test_every_operation_can_be_reached(site: Site, token: str) -> None:
    """None is missing from the route; one that changes something is not run by GET."""
    for name, operation in CATALOG.items():
        for address in (f"{RUN}/{name}/run", f"/wp-json{RUN}/{name}/run"):
            answer = site.ask("POST", address, token, json={"nonsense": 1})
            # Whoever may run it on nothing is told so before the arguments are looked at.
            assert answer.json()["code"] in ("invalid_argument", "forbidden"), name
            asked = site.ask("GET", address, token, params={"nonsense": 1})
            wanted = "invalid_argument" if operation.read_only else "method_not_allowed"
            assert asked.json()["code"] == wanted, name


def test_the_abilities_of_the_seeds(site: Site, token: str) -> None:
    """Read a section, append to one, list them, with the arguments of the documents."""

    def run(name: str, **given: object) -> dict[str, object]:
        answer = site.ask("POST", f"{RUN}/datamachine/{name}/run", token, json={"input": given})
        assert answer.status_code == 200, answer.text
        return answer.json()  # type: ignore[no-any-return]

    fact = "- New fact the agent learned"
    run("update-agent-memory", section="Lessons Learned", content=fact, mode="append")
    assert fact in str(run("get-agent-memory", section="Lessons Learned")["content"])
    assert "Lessons Learned" in str(run("list-agent-memory-sections"))


@pytest.mark.parametrize(
    "params",
    [
        {"section": "State"},
        {"input": '{"section": "State"}'},
        {"input[section]": "State"},
    ],
)
def test_what_only_reads_can_be_asked_by_get(
    site: Site, token: str, params: dict[str, str]
) -> None:
    """With the arguments in the address, in any of three ways."""
    address = f"{RUN}/datamachine/get-agent-memory/run"
    found = site.ask("GET", address, token, params=params)
    assert "Memory started" in found.json()["content"]


def test_an_unknown_ability_is_404(site: Site, token: str) -> None:
    """Under any name."""
    for name in ("nothing", "datamachine/nothing", "../x"):
        assert site.ask("POST", f"{RUN}/{name}/run", token, json={}).status_code == 404


def test_arguments_may_come_from_address_query_and_body(site: Site, token: str) -> None:
    """They are one set; none may say what another denies."""
    section = {"section": "Facts", "content": "- one"}
    put = site.ask("PUT", f"{API}/section?agent=ada&file=MEMORY.md", token, json=section)
    assert put.status_code == 200
    denied = site.ask("PUT", f"{API}/section?section=Other", token, json=section)
    assert denied.json()["code"] == "invalid_argument"
    twice = site.ask("GET", f"{API}/section?section=a&section=b", token)
    assert twice.json()["code"] == "invalid_argument"
    found = site.ask("GET", f"{API}/prompt?mode=chat&deny=SOUL.md,USER.md", token)
    assert found.status_code == 200
    assert "Soul" not in [message["name"] for message in found.json()["data"]["messages"]]


def test_lists_come_in_parts(site: Site, token: str) -> None:
    """With the number of all, and what the original plugin calls things."""
    for number in range(5):
        site.ask("PUT", f"{PAGE}/page-{number}.md", token, content=b"x")
    whole = site.ask("GET", PAGE, token)
    names = [item["filename"] for item in whole.json()["data"]]
    assert {"size", "modified"} <= set(whole.json()["data"][0])
    parts: list[str] = []
    for page in (1, 2, 3, 4, 5, 6):
        part = site.ask("GET", PAGE, token, params={"page": page, "per_page": 2})
        assert part.headers["x-wp-total"] == str(len(names)) == str(part.json()["total"])
        parts += [item["filename"] for item in part.json()["data"]]
    assert parts == names
    for wrong in ({"page": 0}, {"per_page": 0}, {"per_page": 1001}, {"page": "x"}, {"page": "-1"}):
        assert site.ask("GET", PAGE, token, params=wrong).status_code == 400


def test_history_over_rest(site: Site, token: str) -> None:
    """What a page was, how it differs, and back again."""
    for text in (b"one\n", b"two\n"):
        site.ask("PUT", f"{PAGE}/notes.md", token, content=text)
    told = {"file": "notes.md"}
    assert len(site.ask("GET", f"{API}/history", token, params=told).json()["data"]) == 2
    diff = site.ask("GET", f"{API}/history/diff", token, params=told).json()["data"]
    assert "-one" in diff["text"]
    old = site.ask("GET", f"{PAGE}/notes.md", token, params={"as_of": "1"})
    assert old.json()["data"]["content"] == "one\n"
    restored = site.ask("POST", f"{API}/history/restore", token, json={**told, "revision": "1"})
    assert restored.status_code == 200
    assert site.ask("GET", f"{PAGE}/notes.md", token).json()["data"]["content"] == "one\n"


def test_agents_users_grants_and_settings_over_rest(site: Site) -> None:
    """An administrator makes a user, gives them a role, and looks at what was done."""
    browser, csrf = site.sign_in()
    headers = {"x-csrf-token": csrf}

    def do(method: str, path: str, **given: object) -> dict[str, object]:
        answer = browser.request(method, f"{API}{path}", headers=headers, json=given or None)
        assert answer.is_success, (path, answer.text)
        return answer.json()  # type: ignore[no-any-return]

    do("POST", "/users", login="eve")
    made = do("POST", "/agents", agent_slug="bob", agent_name="Bob")["data"]
    assert (made["agent_slug"], made["agent_name"]) == ("bob", "Bob")  # type: ignore[index]
    do("POST", "/agents/bob/access", user="eve", role="operator")
    assert len(do("GET", "/agents/bob/access")["data"]) == 2  # type: ignore[arg-type]
    do("PATCH", "/agents/bob", config={"daily_memory": {"enabled": True}})
    do("POST", "/agents/bob/rename", slug="robert")
    do("POST", "/agents/robert/status", status="inactive")
    do("DELETE", "/agents/robert/access/eve")
    do("DELETE", "/agents/robert?files=true")
    do("PATCH", "/users/eve", status="disabled")
    do("PUT", "/settings/require_if_match", setting=True)
    do("PATCH", "/settings", daily_memory_enabled=True, require_if_match=False)
    wrong = {"daily_memory_enabled": False, "nonsense": 1}
    refused = browser.request("PATCH", f"{API}/settings", headers=headers, json=wrong)
    assert refused.status_code == 400
    settings = {item["name"]: item["setting"] for item in do("GET", "/settings")["data"]}  # type: ignore[attr-defined]
    assert settings["daily_memory_enabled"] is True  # all or none
    assert settings["require_if_match"] is False
    assert do("GET", "/settings")["success"] is True
    assert do("GET", "/audit?limit=3")["total"] == 3
    assert do("GET", "/audit/verify")["data"]["fault"] == ""  # type: ignore[index]


def test_a_form_is_415_for_every_operation(site: Site) -> None:
    """And JSON that curl calls a form, because of `-d` alone, is read as JSON."""
    admin = site.token(user=1)
    for name in sorted(CATALOG):
        address = f"{RUN}/{name}/run"
        refused = site.ask("POST", address, admin, content=b"section=State", headers=FORM)
        assert refused.status_code == 415, name
        assert "application/json" in refused.json()["message"]
        read = site.ask("POST", address, admin, content=b'{"nonsense": 1}', headers=FORM)
        assert read.json()["code"] == "invalid_argument", name


def test_a_form_is_415_at_every_address(site: Site) -> None:
    """The routes of pages and files have tests of their own."""
    admin = site.token(user=1)
    for endpoint in ENDPOINTS:
        address = API + re.sub(r"\{\w+(:\w+)?\}", "1", endpoint.path)
        if endpoint.operation and endpoint.method in {"PATCH", "POST", "PUT"}:
            answer = site.ask(endpoint.method, address, admin, content=b"content=x", headers=FORM)
            assert answer.status_code == 415, address


def test_a_text_of_digits_in_an_address_stays_a_text(site: Site) -> None:
    """Even if the name of the argument ends in _id, as that of a step does."""
    for name, operation in CATALOG.items():
        for argument, (types, _) in kinds_of(operation).items():
            if "string" in types and "integer" not in types:
                assert from_query(operation, [(argument, "12")]) == {argument: "12"}, name
    answer = site.ask("GET", f"{API}/files", site.token(user=1), params={"flow_step_id": "1"})
    assert answer.json()["code"] == "flow_not_found", answer.text
