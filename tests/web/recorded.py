"""Requests and what the original plugin answered: status, and which fields of which type.

Facts recorded from a running copy of the plugin, typed anew in the shortest form. `fields` names
the fields of an answer, dots going inwards: a text unless `:i` (number), `:b` (true or false), `:l`
(array), `:o` (object) or `:n` (null) follows. An ability's name stands for its run route.
"""

from __future__ import annotations

from typing import Any, NamedTuple

ERROR = "code message data.status:i"
RUN_ERROR = ERROR + " data.success:b data.message"
PAGE = "success:b data.filename data.size:i data.modified data.content"
SAVED = "success:b filename"
DAY = "success:b data.date data.content"
DAY_SAVED = "success:b date message"
MEMORY = "success:b file content"
SECTION = "success:b section content"
UPDATED = "success:b message file_size:i"
FOUND = "success:b query matches:l match_count:i"
SECTIONS = "success:b file sections:l"
TEXT = "text/plain"
THREE = "# Agent Memory\n\n## State\n- migrating\n\n## Lessons Learned\n- Image uploads fail\n"
ODD_HEADERS = "## A\none\n## A\ntwo\n##NoSpace\nx\n ## Indented\ny\n## Trailing   \nz\n## Last"
FULL = THREE + "\n## Empty\n\n### Sub heading\n- sub fact\n\n## Context\n- Audience: musicians\n"


class Pair(NamedTuple):
    """One request, its sender, and the answer of the original."""

    id: str
    sender: str
    call: str  # a method and an address, or the name of an ability
    body: Any
    status: int
    fields: str


class Setup(NamedTuple):
    """An operation of ours that brings about what stood there before the next request."""

    operation: str
    arguments: dict[str, Any]


def _write_page(content: str, file: str = "MEMORY.md", agent: str = "ada") -> Setup:
    arguments = {"file": file, "content": content, "agent": agent, "allow_shrink": True}
    return Setup("datamachine/write-agent-file", arguments)


def _write_day(date: str, content: str, agent: str = "ada") -> Setup:
    arguments = {"date": date, "content": content, "agent": agent, "mode": "write"}
    return Setup("datamachine/daily-memory-write", {**arguments, "allow_shrink": True})


_ENTRY = "success:b data:l data.0.filename data.0.size:i data.0.layer data.0.protected:b"
_LIST = _ENTRY + " data.0.editable:b data.0.modes:l data.0.registered:b"
_FILE_ERROR = ERROR + " data.filename data.ability_error_code"
_DAY_ERROR = RUN_ERROR + " data.date data.ability_error_code"
_SECTION_ERROR = RUN_ERROR + " data.available_sections:l"
_INVALID_DATE = ERROR + " data.params:o"
_AGENT = "success:b data.agent_id:i data.agent_slug data.agent_name data.owner_id:i"
_MATCH = FOUND + " matches.0.section matches.0.line:i matches.0.content matches.0.context"
_DAY_MATCH = FOUND + " matches.0.date matches.0.line:i matches.0.content matches.0.context"
_DAYS_ENTRY = "success:b data:l data.-1.filename data.-1.type data.-1.month_count:i "
_DAYS_ENTRY += "data.-1.day_count:i data.-1.months:o"
_MEMORY_ROUTE = "/datamachine/v1/files/agent/MEMORY.md"
_MESSAGE = "success:b message"
_NEW_AGENT = _AGENT + " data.agent_dir data.site_scope:n data.message"
PLUGIN_PIPELINE = {
    "pipeline_name": "News",
    "steps": [
        {"step_type": "publish", "execution_order": 2},
        {"step_type": "fetch", "execution_order": 0, "label": "Read the feed"},
        {"step_type": "ai", "execution_order": 1, "label": "Write"},
    ],
}
_PIPELINE = "success:b data.pipeline_id:i data.pipeline_name"

RECORDED: tuple[Pair | Setup, ...] = (
    Pair("R001", "", "GET /files/agent", None, 401, ERROR),
    Pair("R003", "foreign", "GET /files/agent/MEMORY.md", None, 401, ERROR),
    Pair("R005", "admin", "GET /files/agent", None, 200, _LIST),
    Pair("R007", "admin", "GET /files/agent/WAKE.md", None, 404, _FILE_ERROR),
    Pair("R009", "admin", "GET /files/agent/missing.md", None, 404, _FILE_ERROR),
    _write_page(THREE),
    Pair("R011", "admin", "GET /files/agent/MEMORY.md", None, 200, PAGE),
    _write_page(THREE + "\n## JSON\n- via json\n"),
    Pair("R013", "admin", "GET /files/agent/MEMORY.md", None, 200, PAGE),
    _write_page(THREE, "notes.md"),
    Pair("R015", "admin", "GET /files/agent/notes.md", None, 200, PAGE),
    _write_page("hello world\nline2", "notes.md"),
    Pair("R017", "admin", "GET /files/agent/notes.md", None, 200, PAGE),
    _write_page("fromquery", "notes.md"),
    Pair("R019", "admin", "GET /files/agent/notes.md", None, 200, PAGE),
    Pair("R021", "admin", "PUT /files/agent/notes.md", {"other": 1}, 200, SAVED),
    Pair("R023", "admin", "PUT /files/agent/notes.md", {"content": 42}, 200, SAVED),
    Pair("R025", "admin", "PUT /files/agent/MEMORY.md", "", 400, ERROR),
    Pair("R027", "admin", "PUT /files/agent/notes.md", "", 200, SAVED),
    Pair("R029", "admin", "PUT /files/agent/SITE.md", "x", 403, ERROR),
    Pair(
        "R031",
        "admin",
        "PUT /files/agent/RULES.md",
        "# Site Rules\n\n- No secrets in it\n",
        200,
        SAVED,
    ),
    Pair("R033", "editor", "PUT /files/agent/RULES.md", "# hacked", 403, ERROR),
    Pair("R035", "admin", "POST /files/agent/strategy.md", "# Strategy\n\n- Daily\n", 200, SAVED),
    _write_page("# Strategy\n\n- Hourly\n", "strategy.md"),
    Pair("R037", "admin", "GET /files/agent/strategy.md", None, 200, PAGE),
    Setup("datamachine/delete-agent-file", {"file": "strategy.md"}),
    Pair("R039", "admin", "DELETE /files/agent/strategy.md", None, 404, _FILE_ERROR),
    Pair("R041", "admin", "DELETE /files/agent/MEMORY.md", None, 403, ERROR),
    Pair("R043", "admin", "DELETE /files/agent/SITE.md", None, 403, ERROR),
    Pair("R045", "admin", "DELETE /files/agent/WAKE.md", None, 403, ERROR),
    Pair(
        "R081", "", "GET /wp-content/uploads/datamachine-files/agents/ada/MEMORY.md", None, 200, ""
    ),
    Pair("R083", "subscriber", "GET /files/agent/MEMORY.md", None, 404, ERROR),
    Setup("looseleaf/create-agent", {"slug": "sub", "owner": 2}),
    _write_page("# sub memory\n", agent="sub"),
    Pair("R085", "subscriber", "GET /files/agent/MEMORY.md", None, 200, PAGE),
    Pair("R087", "subscriber", "GET /files/agent/MEMORY.md?agent_id=1", None, 200, PAGE),
    Pair("R089", "admin", "GET /files/agent/MEMORY.md", None, 200, PAGE),
    Pair("R091", "admin", "GET /files/agent/MEMORY.md?user_id=9999", None, 404, ERROR),
    Pair("R093", "admin", "GET /files/agent/MEMORY.md?agent_id=999", None, 200, PAGE),
    Pair(
        "R095",
        "admin",
        "POST /agents",
        {"agent_slug": "writer-bot", "agent_name": "Writer Bot"},
        409,
        ERROR + " data.agent_slug data.ability_error_code",
    ),
    Pair("R097", "admin", "GET /files/agent/MEMORY.md?agent_id=2", None, 200, PAGE),
    _write_page("# writer memory\n", agent="writer-bot"),
    Pair("R099", "admin", "GET /files/agent/MEMORY.md?agent_id=2", None, 200, PAGE),
    Pair("R101", "admin", "PUT /files/agent/USER_MEMORY.md?agent_id=2", "# private\n", 200, SAVED),
    Pair("R103", "admin", "PUT /files/agent/USER_MEMORY.md", "# private\n", 500, ""),
    Pair(
        "R105", "writer-bot", "GET /agents/me", None, 200, _AGENT + " data.site_url data.site_name"
    ),
    Pair("R107", "writer-bot", "GET /files/agent/MEMORY.md?agent_id=2", None, 200, PAGE),
    Pair("R109", "admin", "GET /files/agent/daily/2026/03/16", None, 404, _DAY_ERROR),
    Pair(
        "R111",
        "admin",
        "DELETE /files/agent/daily/2026/03/16",
        None,
        403,
        ERROR + " data.ability_error_code",
    ),
    Setup("looseleaf/set-setting", {"name": "daily_memory_enabled", "setting": True}),
    Pair(
        "R113",
        "admin",
        "PUT /files/agent/daily/2026/03/16",
        "# 2026-03-16\n\n- Deployed v0.41.0\n",
        200,
        DAY_SAVED,
    ),
    Pair(
        "R115",
        "admin",
        "PUT /files/agent/daily/2026/03/17",
        {"content": "# via json\n", "mode": "append"},
        200,
        DAY_SAVED,
    ),
    _write_day("2026-03-17", "second\n"),
    Pair("R117", "admin", "GET /files/agent/daily/2026/03/17", None, 200, DAY),
    Pair("R119", "admin", "GET /files/agent/daily", None, 200, PAGE),
    Pair("R121", "admin", "PUT /files/agent/daily/2026/13/01", "x", 400, _INVALID_DATE),
    Pair("R123", "admin", "PUT /files/agent/daily/2026/01/32", "x", 400, _INVALID_DATE),
    Pair("R125", "admin", "GET /files/agent/daily/2026/02/31", None, 200, DAY),
    Pair("R127", "admin", "GET /files/agent/daily/26/03/16", None, 404, ERROR),
    Pair("R129", "admin", "GET /files/agent/daily/2026-03-16", None, 404, ERROR),
    Pair("R131", "admin", "PUT /files/agent/daily/2099/01/01", "future\n", 200, DAY_SAVED),
    _write_day("2026-03-18", ""),
    Pair("R133", "admin", "GET /files/agent/daily/2026/03/18", None, 200, DAY),
    _write_day("2026-03-19", "if a < b && <script>x</script>\n"),
    Pair("R135", "admin", "GET /files/agent/daily/2026/03/19", None, 200, DAY),
    Pair("R137", "subscriber", "GET /files/agent/daily/2026/03/16?user_id=1", None, 403, ERROR),
    Pair("R139", "subscriber", "GET /files/agent/daily/2026/03/16", None, 404, _DAY_ERROR),
    Setup("datamachine/daily-memory-delete", {"date": "2026-03-17"}),
    Pair("R141", "admin", "DELETE /files/agent/daily/2026/03/17", None, 404, _DAY_ERROR),
    _write_page("# emptied\n"),
    Pair("R143", "admin", "get-agent-memory", {"section": "State"}, 404, _SECTION_ERROR),
    Pair("R145", "subscriber", "search-daily-memory", {"query": "deployed"}, 403, ERROR),
    Pair("R147", "admin", "list-agent-memory-sections", ..., 400, ERROR),
    Pair(
        "R149", "admin", "update-agent-memory", {"section": "State", "content": "- x"}, 400, ERROR
    ),
    Pair("R151", "admin", "get-agent-memory", {}, 200, MEMORY),
    Pair("R153", "writer-bot", "get-agent-memory", {}, 200, MEMORY),
    _write_day("2026-02-24", "x", "writer-bot"),
    Pair("R155", "writer-bot", "daily-memory-list", {}, 200, "success:b months:o months.2026/02:l"),
    Pair(
        "A001",
        "admin",
        "write-agent-file",
        {"filename": "MEMORY.md", "content": FULL},
        200,
        SAVED + " layer",
    ),
    Pair("A003", "admin", "get-agent-memory", ..., 400, ERROR),
    Pair("A005", "admin", "list-agent-memory-sections", ..., 400, ERROR),
    Pair("A007", "admin", "get-agent-memory", {"section": "lessons learned"}, 404, _SECTION_ERROR),
    Pair("A009", "admin", "get-agent-memory", {"section": "Empty"}, 200, SECTION),
    Pair("A011", "admin", "get-agent-memory", {"section": "Nope"}, 404, _SECTION_ERROR),
    Pair("A013", "admin", "get-agent-memory", {"file": "../../../wp-config.php"}, 404, RUN_ERROR),
    Pair(
        "A015",
        "admin",
        "update-agent-memory",
        {"section": "Lessons Learned", "content": "- New fact", "mode": "append"},
        200,
        UPDATED,
    ),
    Pair(
        "A017",
        "admin",
        "update-agent-memory",
        {"section": "State", "content": "- Replaced\n\n\n", "mode": "set"},
        200,
        UPDATED,
    ),
    Pair(
        "A019",
        "admin",
        "update-agent-memory",
        {"section": "Brand New", "content": "- first", "mode": "append"},
        200,
        UPDATED,
    ),
    Pair("A021", "admin", "get-agent-memory", {}, 200, MEMORY),
    Pair("A023", "admin", "get-agent-memory", {}, 200, MEMORY),
    Pair("A025", "admin", "list-agent-memory-sections", {}, 200, SECTIONS),
    Pair("A027", "admin", "get-agent-memory", {"section": "Brand New"}, 200, SECTION),
    Pair(
        "A029",
        "admin",
        "update-agent-memory",
        {"section": "", "content": "x", "mode": "set"},
        200,
        UPDATED,
    ),
    Pair("A031", "admin", "list-agent-memory-sections", {}, 200, SECTIONS),
    Pair("A033", "admin", "update-agent-memory", {"section": "State", "content": "x"}, 400, ERROR),
    Pair(
        "A035",
        "admin",
        "update-agent-memory",
        {"file": "SITE.md", "section": "X", "content": "x", "mode": "set"},
        403,
        ERROR + " data.file",
    ),
    _write_page("# brand-new-file.md\n\n## X\nx\n", "brand-new-file.md"),
    Pair("A037", "admin", "get-agent-memory", {"file": "brand-new-file.md"}, 200, MEMORY),
    _write_page("# contexts/editor.md\n\n## X\nx\n", "contexts/editor.md"),
    Pair("A039", "admin", "get-agent-memory", {"file": "contexts/editor.md"}, 200, MEMORY),
    Pair("A041", "admin", "search-agent-memory", {"query": "IMAGE"}, 200, _MATCH),
    _write_page(FULL + "\n## Big\n" + "- fact\n" * 1400),
    Pair("A043", "admin", "search-agent-memory", {"query": "fact"}, 200, _MATCH),
    Pair(
        "A045",
        "admin",
        "write-agent-file",
        {
            "filename": "MEMORY.md",
            "content": ODD_HEADERS,
            "allow_shrink": True,
        },
        200,
        SAVED + " layer",
    ),
    Pair("A047", "admin", "get-agent-memory", {"section": "A"}, 200, SECTION),
    Pair("A049", "admin", "get-agent-memory", {"section": "Last"}, 404, _SECTION_ERROR),
    Pair("A051", "admin", "get-agent-memory", {}, 200, MEMORY),
    _write_page("## A\r\nx\r\n## B\r\ny\r\n"),
    Pair("A053", "admin", "list-agent-memory-sections", {}, 200, SECTIONS),
    Pair(
        "A055",
        "admin",
        "write-agent-file",
        {"filename": "MEMORY.md", "content": "# T\n\n'''md\n## Fenced\n'''\n\n## Real\nx\n"},
        200,
        SAVED + " layer",
    ),
    Pair("A057", "stranger", "get-agent-memory", {}, 403, ERROR),
    Pair("A059", "admin", "write-self-memory", {"section": "Ops", "content": "x"}, 403, ERROR),
    _write_day("2026-04-01", "# Daily Memory: 2026-04-01\n\n- Deployed v0.41.0 to production\n"),
    Pair(
        "A061",
        "admin",
        "daily-memory-write",
        {"date": "2026-04-01", "content": "- Second é note\n", "mode": "append"},
        200,
        "success:b message",
    ),
    Pair(
        "A063",
        "admin",
        "daily-memory-write",
        {"date": "2026-04-02", "content": "whole", "mode": "write"},
        200,
        "success:b message",
    ),
    Pair(
        "A065", "admin", "daily-memory-read", {"date": "2026-04-03"}, 404, RUN_ERROR + " data.date"
    ),
    Pair(
        "A067", "admin", "daily-memory-read", {"date": "2026-99-99"}, 404, RUN_ERROR + " data.date"
    ),
    Pair("A069", "admin", "daily-memory-read", {}, 404, RUN_ERROR),
    Pair("A071", "admin", "daily-memory-write", {"content": "x", "mode": "replace"}, 400, ERROR),
    Pair("A073", "admin", "search-daily-memory", {"query": "DEPLOYED"}, 200, _DAY_MATCH),
    Pair(
        "A075",
        "admin",
        "search-daily-memory",
        {"query": "deployed", "from": "2026-03-17", "to": "2026-04-30"},
        200,
        _DAY_MATCH,
    ),
    Pair(
        "A077", "admin", "search-daily-memory", {"query": "deployed", "from": "garbage"}, 200, FOUND
    ),
    Pair("A079", "admin", "search-daily-memory", {}, 400, ERROR),
    _write_day("2026-04-05", "hit\n" * 60),
    Pair("A081", "admin", "search-daily-memory", {"query": "hit"}, 200, _DAY_MATCH),
    Setup("datamachine/daily-memory-delete", {"date": "2026-04-05"}),
    Pair(
        "A083",
        "admin",
        "daily-memory-delete",
        {"date": "2026-04-05"},
        404,
        RUN_ERROR + " data.date",
    ),
    Pair(
        "A085",
        "admin",
        "daily-memory-read",
        {"date": "2026-04-01", "agent_slug": "writer-bot"},
        200,
        "success:b date content",
    ),
    Pair("A087", "admin", "get-agent-memory", {"agent_id": 2}, 200, MEMORY),
    Pair(
        "A089",
        "admin",
        "delete-agent-file",
        {"filename": "MEMORY.md"},
        403,
        ERROR + " data.filename",
    ),
    Pair(
        "A091",
        "admin",
        "get-agent-file",
        {"filename": "contexts/editor.md"},
        404,
        ERROR + " data.filename",
    ),
    Pair(
        "A093",
        "admin",
        "write-agent-file",
        {"filename": "team.md", "content": "# team", "layer": "shared"},
        200,
        SAVED + " layer",
    ),
    Pair("A095", "admin", "delete-agent-file", {"filename": "team.md"}, 200, "success:b message"),
    # What was found by clients beyond the recording, in the plugin's own words.
    Pair("C001", "admin", "GET /files/agent", None, 200, _DAYS_ENTRY),
    Pair("C002", "admin", "GET /?rest_route=" + _MEMORY_ROUTE, None, 200, PAGE),
    Pair("C003", "admin", "GET /index.php?rest_route=" + _MEMORY_ROUTE, None, 200, PAGE),
    Pair("C004", "admin", "POST /agents", {"agent_slug": "new-bot"}, 201, _NEW_AGENT),
    Pair("C005", "admin", "PATCH /settings", {"daily_memory_enabled": True}, 200, _MESSAGE),
    Pair("C006", "admin", "POST /pipelines", PLUGIN_PIPELINE, 201, _PIPELINE),
    Pair("C007", "admin", "GET /pipelines/1/flows", None, 200, "success:b data:o"),
    Pair("C008", "admin", "GET /pipelines/999/flows", None, 404, ERROR),
    Pair("C009", "admin", "get-agent-memory", {"section": ""}, 200, MEMORY),
    Pair("C010", "admin", "list-agent-files", {}, 200, "success:b files:l files.-1.months:o"),
)

# If we answer otherwise on purpose: our status, and why.
DIFFERENCES: dict[str, tuple[int, str]] = {
    "R021": (400, "a missing content is an error, never an empty page"),
    "R023": (400, "a content that is no text is an error, never an empty page"),
    "R027": (400, "an empty body is an error; a page is emptied by saying so"),
    "R045": (404, "WAKE.md is no core page here, so it is a page that is missing"),
    "R081": (404, "memory is never served without a credential"),
    "R087": (404, "an agent that one may not see is missing; the original lets anyone read it"),
    "R093": (
        404,
        "an unknown agent is an error; the original reads another agent's memory",
    ),
    "R103": (
        200,
        "without an agent, the page is that of the default agent; the original fails with 500",
    ),
    "R119": (200, "the days by month, as its own documents say; the original reads a page 'daily'"),
    "R125": (400, "there is no 31st of February"),
    "R127": (400, "a date that is none is refused with what a date looks like"),
    "R129": (400, "a name that is no page's is refused with the reason"),
    "R145": (
        200,
        "users search the journal of their own agent; the original asks for a capability",
    ),
    "R147": (200, "an ability without arguments runs with its defaults, as its documents show"),
    "A003": (200, "an ability without arguments runs with its defaults, as its documents show"),
    "A005": (200, "an ability without arguments runs with its defaults, as its documents show"),
    "A013": (400, "a name that leaves its folder is refused as a name, not looked for"),
    "A029": (400, "a section needs a name; the original writes one that nothing reaches"),
    "A047": (400, "two sections of one name must be told apart; the original takes the first"),
    "A049": (200, "a header on the last line is a section as any other"),
    "A057": (404, "who has no agent has no memory to read: there is none for them to see"),
    "A059": (404, "agents write by update-agent-memory, and reviews are no part of a write"),
    "A067": (400, "a date that is none is an error of its own, not a missing day"),
    "A077": (400, "a date that is none is an error, not an empty answer"),
    "A085": (404, "agent_slug selects, as the documents say; the original reads another's journal"),
    "A095": (404, "a page of another layer than the agent's is deleted by naming the layer"),
    "A091": (200, "a page in a folder is found; the original drops the slash"),
    "C007": (200, "the flows are a list with its total, as every list here"),
}
