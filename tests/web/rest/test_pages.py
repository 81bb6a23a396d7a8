"""One page over REST: bytes in and out, versions in headers, every way to be refused."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.web.fixtures import API, PAGE, Opens, Site

MEMORY = f"{PAGE}/MEMORY.md"
TEXT = {"accept": "text/markdown"}

BYTES = {
    "plain": b"# Memory\n\n- one\n",
    "CRLF": b"# Memory\r\n\r\n- one\r\n",
    "no final newline": b"- one",
    "four-byte UTF-8": "- 😀 𝔘𝔫𝔦𝔠𝔬𝔡𝔢\n".encode(),
    "byte order mark": b"\xef\xbb\xbf# Memory\n",
    "NUL and control characters": b"a\x00b\x1b[31m\x7f\n",
    "HTML": b"a && b < c > d <script>alert(1)</script>\n",
    "trailing blanks": b"  \n\n\n",
    "JSON": b'{"content": "not this"}',
}


def version(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()}"'


@pytest.mark.parametrize("content", BYTES.values(), ids=BYTES)
def test_a_page_comes_back_byte_for_byte(site: Site, token: str, content: bytes) -> None:
    """What was put raw or as JSON lies on disk and comes back exactly, raw and as JSON."""
    for given in ({"content": content}, {"json": {"content": content.decode()}}):
        site.ask("PUT", MEMORY, token, content=b"something else")
        put = site.ask("PUT", MEMORY, token, **given)
        assert put.status_code == 200, put.text
        assert put.headers["etag"] == version(content)
        on_disk = Path(site.workspace.root, "agents/ada/MEMORY.md").read_bytes()
        assert on_disk == content
        raw = site.ask("GET", MEMORY, token, headers=TEXT)
        assert raw.content == content
        assert raw.headers["content-type"] == "text/markdown; charset=utf-8"
        told = site.ask("GET", MEMORY, token).json()["data"]
        assert told["content"].encode() == content
        assert told["hash"] == put.json()["data"]["hash"]


def test_a_page_in_a_folder_is_created_read_and_deleted(site: Site, token: str) -> None:
    """Names with slashes are addresses like any other."""
    address = f"{PAGE}/contexts/music news.md"
    assert site.ask("GET", address, token).status_code == 404
    assert site.ask("PUT", address, token, content=b"x").status_code == 200
    assert site.ask("PUT", address, token, content=b"y").status_code == 200
    assert site.ask("GET", address, token, headers=TEXT).content == b"y"
    assert site.ask("DELETE", address, token).status_code == 200
    assert site.ask("DELETE", address, token).json()["code"] == "page_missing"


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH"])
def test_three_methods_replace_a_page(site: Site, token: str, method: str) -> None:
    """As in the original plugin."""
    assert site.ask(method, MEMORY, token, json={"content": "new"}).status_code == 200
    assert site.ask("GET", MEMORY, token, headers=TEXT).content == b"new"


@pytest.mark.parametrize(
    "given",
    [
        {"json": {}},
        {"json": {"content": None}},
        {"json": {"content": 5}},
        {"json": {"content": ["a"]}},
        {"json": "text"},
        {"json": []},
        {"content": b"", "headers": {"content-type": "application/json"}},
        {"content": b"{", "headers": {"content-type": "application/json"}},
        {"content": b"[" * 100_000, "headers": {"content-type": "application/json"}},
        {"content": b'{"content":"\xff"}', "headers": {"content-type": "application/json"}},
        {
            "content": b'{"content":"a","content":"b"}',
            "headers": {"content-type": "text/json+json"},
        },
        {"content": b'{"content":"\\ud800"}', "headers": {"content-type": "application/json"}},
        {"content": b""},
        {"content": b"\xff\xfe"},
        {"json": {"content": "x", "nonsense": 1}},
    ],
)
def test_a_missing_or_wrong_content_is_400_and_changes_nothing(
    site: Site, token: str, given: dict[str, object]
) -> None:
    """No request makes an empty page by mistake."""
    before = site.ask("GET", MEMORY, token).json()["data"]["hash"]
    assert site.ask("PUT", MEMORY, token, **given).status_code == 400
    assert site.ask("GET", MEMORY, token).json()["data"]["hash"] == before


def test_a_page_is_cleared_by_an_empty_content_in_json(site: Site, token: str) -> None:
    """Core pages cannot be deleted, but emptied on purpose; the text stays in the history."""
    assert site.ask("DELETE", MEMORY, token).json()["code"] == "protected"
    assert site.ask("PUT", MEMORY, token, json={"content": "- fact\n" * 100}).status_code == 200
    hint = site.ask("PUT", MEMORY, token, content=b"", headers=TEXT).json()["message"]
    assert '{"content": ""}' in hint
    assert site.ask("PUT", MEMORY, token, json={"content": ""}).status_code == 200
    assert site.ask("GET", MEMORY, token, headers=TEXT).content == b""
    history = site.ask("GET", f"{API}/history", token, params={"file": "MEMORY.md"})
    assert len(history.json()["data"]) == 3


def test_json_cannot_hold_bytes_that_are_not_text(site: Site, token: str) -> None:
    """The raw page can still be had."""
    Path(site.workspace.root, "agents/ada/odd.md").write_bytes(b"\xff\x00")
    assert site.ask("GET", f"{PAGE}/odd.md", token).status_code == 406
    assert site.ask("GET", f"{PAGE}/odd.md", token, headers=TEXT).content == b"\xff\x00"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("text/markdown", "text/markdown; charset=utf-8"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("text/plain;q=0.5, application/json", "application/json"),
        ("text/plain, application/json;q=0.5", "text/plain; charset=utf-8"),
        ("text/markdown, */*", "text/markdown; charset=utf-8"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("text/markdown;q=x", "application/json"),
    ],
)
def test_accept_chooses_text_or_json(site: Site, token: str, accept: str, kind: str) -> None:
    """Text only if it is asked for by name."""
    found = site.ask("GET", MEMORY, token, headers={"accept": accept})
    assert found.headers["content-type"] == kind
    assert found.headers["vary"] == "accept"


def test_versions_in_headers(site: Site, token: str) -> None:
    """If-Match and If-None-Match do what RFC 9110 says, on every method."""
    address, one, two = f"{PAGE}/v.md", version(b"one"), version(b"two")

    def put(content: bytes, **headers: str) -> int:
        told = {name.replace("_", "-"): text for name, text in headers.items()}
        return site.ask("PUT", address, token, content=content, headers=told).status_code

    assert put(b"one", if_match=one) == 412
    assert put(b"one", if_match="*") == 412
    assert put(b"one", if_none_match="*") == 200
    assert put(b"two", if_none_match="*") == 412
    assert put(b"two", if_match=two) == 412
    assert put(b"two", if_match='"absent"') == 412
    assert put(b"two", if_match="no quotes") == 400
    assert put(b"two", if_none_match=one) == 412
    assert put(b"two", if_match=f"{two}, {one}") == 200
    assert put(b"one", if_match=f"W/{two}") == 200
    assert put(b"two", if_match="*") == 200
    assert put(b"one", if_none_match=one) == 200
    assert put(b"one", if_match=one) == 200, "the same bytes again"

    def get(**headers: str) -> int:
        told = {name.replace("_", "-"): text for name, text in headers.items()}
        return site.ask("GET", address, token, headers=told).status_code

    assert get(if_none_match=one) == 304
    assert get(if_none_match=f"W/{one}") == 304
    assert get(if_none_match="*") == 304
    assert get(if_none_match=two) == 200
    assert get(if_match=one) == 200
    assert get(if_match=two) == 412
    assert site.ask("HEAD", address, token).headers["etag"] == one

    def delete(if_match: str) -> int:
        return site.ask("DELETE", address, token, headers={"if-match": if_match}).status_code

    assert delete(two) == 412
    assert delete(one) == 200
    assert delete(one) == 412


def test_a_conflict_tells_both_versions(site: Site, token: str) -> None:
    """By header it is 412, by argument 409; whoever lost can read again."""
    site.ask("PUT", MEMORY, token, content=b"mine")
    mine, old = version(b"mine").strip('"'), "0" * 64
    headers = {"if-match": f'"{old}"'}
    by_header = site.ask("PUT", MEMORY, token, content=b"x", headers=headers)
    assert by_header.status_code == 412
    assert by_header.json()["data"] == {"status": 412, "expected": old, "actual": mine}
    by_argument = site.ask("PUT", MEMORY, token, json={"content": "x", "if_match": old})
    assert by_argument.status_code == 409
    told = {"status": 409, "filename": "MEMORY.md", "expected": old, "actual": mine}
    assert told.items() <= by_argument.json()["data"].items()


def test_a_setting_makes_versions_mandatory(opens: Opens) -> None:
    """Then nothing replaces or deletes a page blindly; adding to it is still allowed."""
    site = opens(require_if_match=True, daily_memory_enabled=True)
    token = site.token()
    day = f"{PAGE}/daily/2026/04/17"
    assert site.ask("PUT", MEMORY, token, content=b"x").status_code == 428
    assert site.ask("DELETE", f"{PAGE}/x.md", token).status_code == 428
    assert site.ask("PUT", day, token, content=b"x").status_code == 428
    added = {"date": "2026-04-17", "content": "x"}
    assert site.ask("POST", f"{PAGE}/daily/append", token, json=added).status_code == 200
    run = "/wp-abilities/v1/abilities/datamachine/write-agent-file/run"
    given = {"file": "MEMORY.md", "content": "x"}
    assert site.ask("POST", run, token, json=given).status_code == 428
    current = site.ask("GET", MEMORY, token).headers["etag"]
    headers = {"if-match": current}
    assert site.ask("PUT", MEMORY, token, content=b"x", headers=headers).status_code == 200
    section = {"section": "Facts", "content": "- one"}
    assert site.ask("PUT", f"{API}/section", token, json=section).status_code == 428
    headers = {"if-match": site.ask("GET", MEMORY, token).headers["etag"]}
    put = site.ask("PUT", f"{API}/section", token, json=section, headers=headers)
    assert put.status_code == 200
    assert site.ask("POST", f"{API}/section", token, json=section).status_code == 200


def test_days_of_the_journal(opens: Opens) -> None:
    """Listed, read, replaced, added to, searched and deleted, each with its version."""
    site = opens(daily_memory_enabled=True)
    token, day = site.token(), f"{PAGE}/daily/2026/04/17"
    assert site.ask("GET", day, token).status_code == 404
    assert site.ask("PUT", day, token, content=b"# Day\r\n").status_code == 200
    assert site.ask("GET", day, token, headers=TEXT).content == b"# Day\r\n"
    added = {"date": "2026-04-17", "content": "- more"}
    assert site.ask("POST", f"{PAGE}/daily/append", token, json=added).is_success
    found = site.ask("GET", day, token)
    assert found.json()["data"]["content"] == "# Day\r\n- more\r\n"
    assert found.json()["data"]["date"] == "2026-04-17"
    assert site.ask("GET", f"{PAGE}/daily", token).json()["data"] == {"2026/04": ["17"]}
    search = site.ask("GET", f"{PAGE}/daily/search", token, params={"query": "MORE"})
    assert search.json()["data"]["total"] == 1
    again = {"content": "# Day\r\n- more\r\n", "mode": "append"}
    put = site.ask("PUT", day, token, json=again)
    assert "/files/agent/daily/append adds" in put.json()["warning"]
    assert site.ask("GET", day, token, headers=TEXT).text == again["content"]
    headers = {"if-match": found.headers["etag"]}
    assert site.ask("PATCH", day, token, content=b"new", headers=headers).status_code == 200
    assert site.ask("DELETE", day, token, headers=headers).status_code == 412
    assert site.ask("DELETE", day, token).status_code == 200
    for wrong in ("2026/13/01", "2026/02/30", "26/1/1", "x/y/z"):
        assert site.ask("GET", f"{PAGE}/daily/{wrong}", token).json()["code"] == "invalid_date"


def test_the_journal_is_closed_until_it_is_switched_on(site: Site, token: str) -> None:
    """Reading is always allowed; writing says how to switch it on."""
    day = f"{PAGE}/daily/2026/04/17"
    for address in (day, f"{day}.md"):
        refused = site.ask("PUT", address, token, content=b"x")
        assert refused.status_code == 403
        assert refused.json()["code"] == "daily_memory_disabled"
    assert site.ask("GET", f"{PAGE}/daily", token).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd.md",
        "..%2f..%2fshared%2fRULES.md",
        "%2e%2e/x.md",
        "/etc/x.md",
        "a//b.md",
        "a\\b.md",
        "x.md%00",
        "%ff.md",
        "CON.md",
        ".hidden.md",
        "x.exe",
        "x.md ",
        "a/.looseleaf/x.md",
        "%252e%252e/x.md",
        "e\u0301.md",
        "x" * 300 + ".md",
    ],
)
def test_no_name_leads_outside(site: Site, token: str, name: str) -> None:
    """A name that no page can have is refused on every method, and nothing is made."""
    before = sorted(Path(site.workspace.root).rglob("*.md"))
    for method in ("GET", "PUT", "DELETE"):
        content = {"content": b"x"} if method == "PUT" else {}
        answer = site.ask(method, f"{PAGE}/{name}", token, **content)
        assert answer.status_code in (400, 404, 405), (method, answer.text)
    assert sorted(Path(site.workspace.root).rglob("*.md")) == before


def test_a_reason_is_kept_in_the_history(site: Site, token: str) -> None:
    """Who, through what and why are those of the request."""
    headers = {"x-looseleaf-reason": "a%20new%20fact"}
    site.ask("PUT", MEMORY, token, content=b"x", headers=headers)
    last = site.ask("GET", f"{API}/history", token, params={"file": "MEMORY.md"}).json()["data"][-1]
    assert (last["actor"], last["surface"], last["reason"]) == ("ada", "rest", "a new fact")


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")
def test_the_curl_commands_of_the_seeds_work_as_written(
    site: Site, token: str, tmp_path: Path
) -> None:
    """Read MEMORY.md, then update it from a file, with the very lines of the documents."""
    text = b"# Agent Memory\n\n## State\n- done\n"
    (tmp_path / "MEMORY.md").write_bytes(text)
    read = (
        "curl -s https://example.com/wp-json/datamachine/v1/files/agent/MEMORY.md "
        '-H "Authorization: Bearer $TOKEN"'
    )
    update = (
        "curl -X PUT https://example.com/wp-json/datamachine/v1/files/agent/MEMORY.md "
        '-H "Authorization: Bearer $TOKEN" -H "Content-Type: text/plain" '
        "--data-binary @MEMORY.md"
    )

    def typed(line: str) -> str:
        line = line.replace("https://example.com", site.base)
        done = subprocess.run(
            ["sh", "-c", line],
            env={"TOKEN": token, "PATH": "/usr/bin:/bin", "no_proxy": "*"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert '"success":true' in typed(read)
    assert '"success":true' in typed(update)
    assert Path(site.workspace.root, "agents/ada/MEMORY.md").read_bytes() == text
    assert "## State" in typed(read)


@pytest.mark.parametrize("text", ["²", "٣", "9" * 400])
def test_digits_of_other_scripts_are_no_numbers(site: Site, token: str, text: str) -> None:
    """Wherever a number may stand, they are refused and break nothing."""
    names = ("agent", "agent_id", "user_id", "position", "as_of")
    for name in names:
        assert site.ask("GET", MEMORY, token, params={name: text}).status_code in (400, 404), name
    assert site.ask("DELETE", f"{API}/agents/{text}", token).status_code in (403, 404)


def test_the_list_says_who_may_edit_a_page(site: Site, token: str) -> None:
    """An operator may not rewrite the identity; what editing takes is a role or a capability."""
    pages = {page["filename"]: page for page in site.ask("GET", PAGE, token).json()["data"]}
    requirements = {name: page["editable_by"] for name, page in pages.items()}
    assert requirements["SOUL.md"] == "admin"
    assert requirements["RULES.md"] == "manage_options"
    assert requirements["SITE.md"] == requirements["MEMORY.md"] == ""
    for name in ("SOUL.md", "RULES.md", "SITE.md", "MEMORY.md"):
        put = site.ask("PUT", f"{PAGE}/{name}", token, content=b"# A page of some length\n")
        assert pages[name]["editable"] is (put.status_code == 200), name


def test_the_list_has_the_order_of_prompts_and_sums_up_the_journal(opens: Opens) -> None:
    """As the original's: core pages first, then the others by layer, and the days as one entry."""
    site = opens(daily_memory_enabled=True)
    token = site.token()
    for name in ("aaa.md", "zzz.md"):
        assert site.ask("PUT", f"{PAGE}/{name}", token, content=b"x").status_code == 200
    site.run("datamachine/write-agent-file", file="team.md", content="x", layer="shared")
    core = ["SITE.md", "RULES.md", "SOUL.md", "USER.md", "MEMORY.md"]
    names = [*core, "team.md", "aaa.md", "zzz.md"]
    answer = site.ask("GET", PAGE, token).json()
    assert [entry["filename"] for entry in answer["data"]] == names
    for date in ("2026-03-16", "2026-03-18", "2026-04-01"):
        site.run("datamachine/daily-memory-write", content="- x", date=date)
    summary = {
        "filename": "daily",
        "type": "daily_summary",
        "month_count": 2,
        "day_count": 3,
        "months": {"2026/04": ["01"], "2026/03": ["16", "18"]},
    }
    answer = site.ask("GET", PAGE, token).json()
    assert (answer["data"][-1], answer["total"]) == (summary, len(names) + 1)
    run = "/wp-abilities/v1/abilities/datamachine/list-agent-files/run"
    assert site.ask("POST", run, token, json={}).json()["files"][-1] == summary
    for query in ("?daily=true", "?layer=agent"):
        listed = site.ask("GET", PAGE + query, token).json()["data"]
        assert "daily" not in [entry["filename"] for entry in listed]
    policy = {"tool_policy": {"mode": "deny", "tools": ["daily_memory_list"]}}
    site.workspace.agents.configure("ada", policy)
    listed = site.ask("GET", PAGE, token).json()["data"]
    assert [entry["filename"] for entry in listed] == names


def test_a_day_says_when_it_was_changed(opens: Opens) -> None:
    """As every other page does."""
    site = opens(daily_memory_enabled=True)
    token, day = site.token(), f"{PAGE}/daily/2026/04/17"
    site.ask("PUT", day, token, content=b"- one\n")
    document = site.ask("GET", day, token).json()["data"]
    assert document["updated"] > 0
    assert document["modified"].startswith("20")
