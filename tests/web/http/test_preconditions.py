"""If-Match and If-None-Match: kept by every changing request, or the request is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.web.app import HANDLERS
from looseleaf.web.rest.abilities import ABILITIES, OPERATIONS
from tests.web.fixtures import API, ENDPOINTS, Opens, Site

STALE = f'"{"0" * 64}"'
TODAY = "2026-04-17"
CHANGING = sorted(name for name, operation in CATALOG.items() if not operation.read_only)
VERSIONED = sorted(name for name in CHANGING if CATALOG[name].changes_page)
WHOLE = "# Memory\n\n## State\n\n- one\n"
# Arguments with which each operation that changes one page, pipeline or flow would change it.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "datamachine/update-agent-memory": {"section": "State", "content": "two", "mode": "set"},
    "datamachine/delete-agent-memory-section": {"section": "State"},
    "datamachine/write-agent-file": {"file": "MEMORY.md", "content": "two"},
    "datamachine/upload-agent-file": {"file": "MEMORY.md", "data": "dHdv"},
    "datamachine/append-agent-file": {"file": "MEMORY.md", "content": "two"},
    "datamachine/clear-agent-file": {"file": "MEMORY.md"},
    "datamachine/delete-agent-file": {"file": "notes.md"},
    "datamachine/daily-memory-write": {"content": "two", "date": TODAY},
    "datamachine/daily-memory-delete": {"date": TODAY},
    "looseleaf/update-pipeline": {"pipeline": "news", "name": "two"},
    "looseleaf/delete-pipeline": {"pipeline": "news"},
    "looseleaf/set-pipeline-memory-files": {"pipeline": "news", "add": ["notes.md"]},
    "looseleaf/update-flow": {"flow": "morning", "name": "two"},
    "looseleaf/delete-flow": {"flow": "morning"},
    "looseleaf/set-flow-memory-files": {"flow": "morning", "add": ["notes.md"]},
    "looseleaf/move-page": {"file": "notes.md", "to": "moved.md"},
    "looseleaf/restore-page": {"file": "MEMORY.md", "revision": "1"},
    "memory_long_term_add": {"content": "two"},
    "memory_long_term_update": {"old": "- one", "new": "two"},
    "memory_long_term_delete": {"old": "- one"},
    "memory_short_term_add": {"content": "two", "date": TODAY},
    "memory_short_term_update": {"old": "- one", "new": "two", "date": TODAY},
    "memory_short_term_delete": {"old": "- one", "date": TODAY},
}
FREE = {  # they lose nothing, or name the exact text that they replace
    "datamachine/append-agent-file",
    "datamachine/daily-memory-write",  # it appends unless told otherwise
    *(name for name in ARGUMENTS if name.startswith("memory_")),
}
# What stands in the addresses of the table; what is there is named, so that it could change.
PLACES = {
    "session": "none", "agent": "ada", "user": "1", "id": "none", "name": "url",
    "pipeline": "news", "flow": "morning", "file": "brief.txt", "job": "1", "schedule": "none",
    "task_type": "none", "prompt_key": "none",
}  # fmt: skip


def fill(site: Site) -> None:
    """Write one page of each kind that a request may change, a pipeline with a file, and a flow."""
    for given in (
        {"file": "MEMORY.md", "content": "older"},
        {"file": "MEMORY.md", "content": WHOLE},
        {"file": "notes.md", "content": WHOLE},
        {"file": f"daily/{TODAY.replace('-', '/')}.md", "content": WHOLE},
    ):
        site.run("datamachine/write-agent-file", **given)
    for pipeline in site.run("looseleaf/list-pipelines"):
        site.run("looseleaf/delete-pipeline", pipeline=pipeline["id"])
    site.run("looseleaf/create-pipeline", name="News", agent="ada")
    site.run("looseleaf/create-flow", pipeline="news", name="Morning")
    site.run("datamachine/upload-flow-file", pipeline="news", file="brief.txt", data="b25l")


def versions(site: Site) -> dict[str, Any]:
    """Return the bytes of every page, and every record, pipeline, flow, file and job there is."""
    root = site.workspace.root
    store = site.workspace.store
    shelf = site.workspace.agents.resolve("ada").shelf
    folder = store.folder(shelf)
    found: dict[str, Any] = {
        name: site.run(name)
        for name in ("looseleaf/list-pipelines", "looseleaf/list-flows", "datamachine/get-jobs")
    }
    found["files"] = site.run("datamachine/list-flow-files", pipeline="news")
    for entry in store.list_subtree(shelf, ""):
        with open(f"{folder}/{entry.filename}", "rb") as page:
            found[entry.filename] = page.read()
    with open(f"{root}/agents/ada/agent.json", "rb") as record:
        found["agent.json"] = record.read()
    return found


def page_of(name: str) -> str:
    """Name the page that the arguments of an operation mean."""
    given = ARGUMENTS[name]
    if "date" in given:
        return f"daily/{TODAY.replace('-', '/')}.md"
    return str(given.get("file", "MEMORY.md"))


def tag(site: Site, name: str) -> str:
    """Return the entity tag of the page, pipeline or flow that an operation would change."""
    for noun in ("pipeline", "flow"):
        if noun in ARGUMENTS[name]:
            shown = site.run(f"looseleaf/show-{noun}", **{noun: ARGUMENTS[name][noun]})
            return f'"{shown["hash"]}"'
    return f'"{site.run("datamachine/get-agent-file", file=page_of(name))["hash"]}"'


@pytest.fixture
def administrator(opens: Opens) -> tuple[Site, str]:
    """Serve pages, a pipeline and a flow, and return a token that may do everything."""
    site = opens(daily_memory_enabled=True)
    fill(site)
    site.user("root", capabilities=["manage_options"])
    return site, site.token(user="root")


def test_every_operation_that_changes_one_version_is_tried_here() -> None:
    """One that is new must be added above, or it would not be held to its promise."""
    assert sorted(ARGUMENTS) == VERSIONED


def test_no_operation_changes_anything_for_a_stale_version(
    administrator: tuple[Site, str],
) -> None:
    """It compares (412), or it refuses a condition that it could not keep (400)."""
    site, token = administrator
    before = versions(site)
    for name in CHANGING:
        status = 412 if name in VERSIONED else 400
        for headers in ({"if-match": STALE}, {"if-none-match": "*"}):
            given = {"input": ARGUMENTS.get(name, {})}
            for address in (ability(name), f"{OPERATIONS}/{name}"):
                answer = site.ask("POST", address, token, json=given, headers=headers)
                assert (address, answer.status_code) == (address, status), answer.text
                assert versions(site) == before, name


def test_no_address_changes_anything_for_a_stale_version(administrator: tuple[Site, str]) -> None:
    """Every address of the table, with arguments that would change something."""
    site, token = administrator
    before = versions(site)
    for endpoint in ENDPOINTS:
        if (
            endpoint.method == "GET"
            or not endpoint.operation
            or CATALOG[endpoint.operation].read_only
        ):
            continue
        path = endpoint.path.format(**PLACES)
        taken = set(endpoint.fixed_arguments)
        taken |= set(re.findall(r"\{(\w+)\}", endpoint.path))
        arguments = ARGUMENTS.get(endpoint.operation, {})
        given = {name: text for name, text in arguments.items() if name not in taken}
        sent: dict[str, Any] = {"params" if endpoint.method == "DELETE" else "json": given}
        answer = site.ask(endpoint.method, API + path, token, headers={"if-match": STALE}, **sent)
        status = 412 if endpoint.operation in VERSIONED else 400
        assert (path, answer.status_code) == (path, status), answer.text
        assert versions(site) == before, path


def test_no_address_of_its_own_forgets_the_version(administrator: tuple[Site, str]) -> None:
    """Pages, days, webhooks, sign-in and MCP, which stand in no table."""
    site, token = administrator
    before = versions(site)
    own = [
        (method, re.sub(r"\{file:\w+\}", "notes.md", path))
        for path, methods in HANDLERS.items()
        for method in methods
        if method != "GET" and "{name:path}" not in path
    ]
    own += [(one.method, API + one.path) for one in ENDPOINTS if not one.operation]
    assert len(own) > 8
    for method, path in [*own, ("POST", "/mcp")]:
        address = path.format(year="2026", month="04", day="17", job="1", step="s", secret="none")
        sent = {"json": {"content": "two"}, "headers": {"if-match": STALE}}
        answer = site.ask(method, address, token, **sent)
        status = 412 if f"{API}/files/agent/" in path else 400
        assert (method, path, answer.status_code) == (method, path, status), answer.text
        assert versions(site) == before, path


def test_a_form_with_a_file_does_not_forget_the_version(administrator: tuple[Site, str]) -> None:
    """A stored file has no version, so the condition is refused and nothing is stored."""
    site, token = administrator
    before = versions(site)
    form: dict[str, Any] = {"files": {"file": ("two.txt", b"two")}, "data": {"pipeline": "news"}}
    for headers in ({"if-match": STALE}, {"if-none-match": "*"}):
        answer = site.ask("POST", f"{API}/files", token, headers=headers, **form)
        assert answer.status_code == 400, answer.text
        assert answer.json()["code"] == "precondition_unsupported"
        assert versions(site) == before
    assert site.ask("POST", f"{API}/files", token, **form).status_code == 200
    assert versions(site) != before


def test_the_right_version_is_accepted_everywhere(administrator: tuple[Site, str]) -> None:
    """By header; what is changed was the version that it names."""
    site, token = administrator
    for name in VERSIONED:
        fill(site)
        headers = {"if-match": tag(site, name)}
        answer = site.ask("POST", ability(name), token, json=ARGUMENTS[name], headers=headers)
        assert (name, answer.status_code) == (name, 200), answer.text


def test_a_replacement_must_name_its_version_where_the_settings_ask(
    administrator: tuple[Site, str],
) -> None:
    """428 without one, done with one; what only adds is free."""
    site, token = administrator
    require_versions(site)
    for name in VERSIONED:
        fill(site)
        given, headers = ARGUMENTS[name], {"if-match": tag(site, name)}
        before = versions(site)
        bare = site.ask("POST", ability(name), token, json=given)
        if name in FREE:
            assert (name, bare.status_code) == (name, 200), bare.text
            continue
        assert (name, bare.status_code) == (name, 428), bare.text
        assert bare.json()["code"] == "precondition_required"
        assert versions(site) == before
        answer = site.ask("POST", ability(name), token, json=given, headers=headers)
        assert (name, answer.status_code) == (name, 200), answer.text


def test_a_header_in_several_lines_is_one_list(administrator: tuple[Site, str]) -> None:
    """HTTP allows both forms, and a proxy may turn one into the other."""
    site, token = administrator
    fill(site)
    path = f"{API}/files/agent/MEMORY.md?agent=ada"
    current = site.ask("GET", path, token).headers["etag"]

    def ask(method: str, name: str, *tags: str) -> int:
        body = {"content": "# Memory\n\n- two\n"} if method == "PUT" else None
        headers = [(name, tag) for tag in tags]
        return int(site.ask(method, path, token, headers=headers, json=body).status_code)

    before = versions(site)
    assert ask("GET", "If-None-Match", STALE, current) == 304
    assert ask("GET", "If-Match", STALE, current) == 200
    assert ask("PUT", "If-None-Match", STALE, current) == 412
    assert ask("PUT", "If-Match", current, "no tag") == 400
    assert versions(site) == before
    assert ask("PUT", "If-Match", STALE, current) == 200


def require_versions(site: Site) -> None:
    given = {"name": "require_if_match", "setting": True}
    invoke(site.workspace.context, "looseleaf/set-setting", given)


def ability(name: str) -> str:
    return f"{ABILITIES}/{name}/run"


def test_a_version_is_asked_for_over_mcp_too(administrator: tuple[Site, str]) -> None:
    """A model's replacement names the hash that it read; its appends and reads are free."""
    site, _ = administrator
    require_versions(site)
    token = site.token()
    headers = {"accept": "application/json, text/event-stream"}

    def call(tool: str, **given: Any) -> str:  # noqa: ANN401 - any JSON
        message = {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": given},
        }  # fmt: skip
        hello = {
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }  # fmt: skip
        begun = site.ask("POST", "/mcp", token, json=hello, headers=headers)
        session = {**headers, "mcp-session-id": begun.headers["mcp-session-id"]}
        return site.ask("POST", "/mcp", token, json=message, headers=session).text

    known = site.run("datamachine/get-agent-file", file="MEMORY.md")["hash"]
    assert "precondition_required" in call("update_agent_memory", section="State", content="x")
    assert "conflict" in call(
        "update_agent_memory", section="State", content="x", if_match="0" * 64
    )
    assert "- one" in call("get_agent_memory")
    assert "revision" in call("update_agent_memory", section="State", content="x", if_match=known)
    assert "revision" in call("append_agent_memory", section="State", content="more")
