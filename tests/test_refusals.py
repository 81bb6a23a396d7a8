"""The way out that a refusal names is there on the surface that refused: each is tried as written.

A client reads the message of a refusal and does what it says, over REST, over MCP, in a chat and at
the command line. The operations are found by their arguments, and the errors by their texts, so
that a new guard or a new advice is tried, too.
"""

from __future__ import annotations

import inspect
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from looseleaf import Workspace
from looseleaf.catalog.model_tools import run_tool
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.operation_tools import list_operation_tools, tools_of
from looseleaf.catalog.prompt_assembly import build_request
from looseleaf.catalog.tool_access import MODEL_TOOLS
from looseleaf.cli import main
from looseleaf.mcp import methods
from looseleaf.mcp.stdio import local_context_of
from looseleaf.operations import daily, memory
from looseleaf.values import replace
from tests.test_errors import ERRORS
from tests.web.fixtures import Opens, Site

DAY = "2026-04-17"
PAGE = "# Agent Memory\n\n## Big\n\n" + "- a fact that took a year to learn\n" * 200
TWINS = f"{PAGE}\n## Twin\n\n- one\n\n## Twin\n\n- two\n"
PLACEHOLDER = "- one\n[rest of file unchanged]"
MARK = 'fence="0123456789ab">'
BLOCK = f'<page file="MEMORY.md" layer="agent" {MARK}\n- old\n</page {MARK}\n- new'
Arguments = dict[str, Any]


class Reply(NamedTuple):
    """What a surface answers: a result, or the message of an error."""

    is_done: bool
    text: str


Ask = Callable[[str, Arguments], Reply | None]  # None if the surface does not have the operation


def over_rest(site: Site) -> Ask:
    """Ask at the run route of an ability, with the token of the agent."""
    token = site.token()

    def ask(name: str, arguments: Arguments) -> Reply:
        path = f"/wp-abilities/v1/abilities/{name}/run"
        answer = site.ask("POST", path, token, json={"input": arguments})
        return Reply(answer.status_code == 200, json.dumps(answer.json(), ensure_ascii=False))

    return ask


def over_mcp(site: Site) -> Ask:
    """Call the tool of an operation, as a client over stdio does."""
    workspace = site.workspace
    features = methods.Features(list_operation_tools(workspace.context))
    context = local_context_of(workspace, workspace.agents.resolve("ada").id, 1)("client")

    def ask(name: str, arguments: Arguments) -> Reply | None:
        tools = [tool for tool in tools_of(CATALOG[name]) if fixes(tool.fixed_arguments, arguments)]
        if not tools:
            return None
        implied = tools[0].implied_arguments
        given = {key: arguments[key] for key in arguments.keys() - implied.keys()}
        answer = methods.run_tool(features, context, {"name": tools[0].name, "arguments": given})
        text = json.dumps(answer["structuredContent"], ensure_ascii=False)
        return Reply(not answer["isError"], text)

    return ask


def in_chat(site: Site) -> Ask:
    """Call the tool with actions that every conversation has."""
    context = replace(site.workspace.context, surface="rest")

    def ask(name: str, arguments: Arguments) -> Reply | None:
        for tool in MODEL_TOOLS.values():
            for action_name, action in tool.actions.items():
                if action.operation == name and fixes(action.fixed_arguments, arguments):
                    given = {
                        key: arguments[key]
                        for key in arguments.keys() - action.fixed_arguments.keys()
                    }
                    request = build_request(context, "chat")
                    answer = run_tool(context, request, tool.name, {"action": action_name, **given})
                    return Reply(answer["success"], json.dumps(answer, ensure_ascii=False))
        return None

    return ask


def in_the_admin_site(site: Site) -> Ask:
    """Fill in the form of the editor, as a browser sends it, with the box that it offers."""
    browser, csrf = site.sign_in()

    def ask(name: str, arguments: Arguments) -> Reply | None:
        if name != "datamachine/write-agent-file" or not arguments["file"].endswith(".md"):
            return None  # the only form whose text can be refused
        address = f"/admin/agents/ada/edit/agent/{arguments['file']}"
        shown = browser.get(address)
        version = re.search(r'name="version" value="(\w+)"', shown.text)
        assert version, shown.text
        form = {"csrf": csrf, "version": version[1], "action": "save"}
        form |= {"content": arguments["content"]}
        if arguments.get("allow_shrink"):
            form |= {"allow_shrink": "yes"}
        answer = browser.post(address, data=form)
        if BOX in answer.text:
            return Reply(is_done=False, text="repeat it with allow_shrink")
        return Reply(answer.status_code == 303, answer.text)

    return ask


BOX = '<input type="checkbox" name="allow_shrink" value="yes">'


def fixes(fixed: Any, arguments: Arguments) -> bool:  # noqa: ANN401 - a mapping of texts
    """Return whether a tool is the one for these arguments."""
    return all(arguments.get(key, "append") == text for key, text in fixed.items())


OPTIONS = ("position", "if_match")
COMMANDS: dict[str, Callable[[Arguments], list[str]]] = {
    "datamachine/append-agent-file": lambda a: ["append", a["file"], a["content"], "--page"],
    "datamachine/clear-agent-file": lambda a: ["clear", a["file"]],
    "datamachine/daily-memory-delete": lambda a: ["daily", "delete", a["date"]],
    "datamachine/daily-memory-write": lambda a: [
        "daily", "write" if a.get("mode") == "write" else "append", a["date"], a["content"],
    ],
    "datamachine/delete-agent-file": lambda a: ["delete", a["file"], "--page"],
    "datamachine/delete-agent-memory-section": lambda a: ["delete", "MEMORY.md", a["section"]],
    "looseleaf/move-page": lambda a: ["move", a["file"], a["to"]],
    "datamachine/get-agent-memory": lambda a: [
        "read", a.get("file", "MEMORY.md"), *([a["section"]] if "section" in a else []),
        "--format", "json",
    ],
    "datamachine/update-agent-memory": lambda a: [
        "write" if a["mode"] == "set" else "append", "MEMORY.md", a["section"], a["content"],
    ],
    "datamachine/write-agent-file": lambda a: ["write", a["file"], a["content"], "--page"],
}  # fmt: skip


def at_the_command_line(site: Site, capture: pytest.CaptureFixture[str]) -> Ask:
    """Type the command of an operation."""

    def ask(name: str, arguments: Arguments) -> Reply | None:
        if name not in COMMANDS:
            return None
        words = ["memory", *COMMANDS[name](arguments)]
        for option in OPTIONS:
            if option in arguments:
                words += [f"--{option.replace('_', '-')}", str(arguments[option])]
        words += ["--allow-shrink"] if arguments.get("allow_shrink") else []
        capture.readouterr()
        code = main(["--root", str(site.workspace.root), *words])
        out, err = capture.readouterr()
        return Reply(code == 0, out + err)

    return ask


Step = Callable[[Arguments, re.Match[str], Ask], Arguments]


def without_last_line(arguments: Arguments, _found: re.Match[str], _ask: Ask) -> Arguments:
    """Send the text without the line that was refused."""
    return {**arguments, "content": arguments["content"].rpartition("\n")[0]}


def with_version(arguments: Arguments, _found: re.Match[str], ask: Ask) -> Arguments:
    """Read the page on the same surface, and name its version."""
    journal = {"file": f"daily/{DAY.replace('-', '/')}.md"} if "date" in arguments else MEMORY
    page = ask("datamachine/get-agent-memory", {"file": arguments.get("file", journal["file"])})
    assert page is not None
    version = re.search(r"\b[0-9a-f]{64}\b", page.text)
    assert version, page
    return {**arguments, "if_match": version[0]}


ADVICES: dict[str, Step] = {
    "repeat it with allow_shrink": lambda a, _found, _ask: {**a, "allow_shrink": True},
    "Leave that line out": without_last_line,
    r"at positions (\d+)": lambda a, found, _ask: {**a, "position": int(found[1])},
    "Read it again|the argument if_match with the hash": with_version,
    r"Write to '(\w+)'": lambda a, found, _ask: {**a, "section": found[1]},
    r"Use ([\w.]+\.md)": lambda a, found, _ask: {**a, "file": found[1]},
    "without those lines": lambda a, _found, _ask: {**a, "content": "- new"},
    "Write it as YYYY-MM-DD": lambda a, _found, _ask: {**a, "date": DAY},
}


def heed(message: str, name: str, arguments: Arguments, ask: Ask) -> tuple[str, Arguments]:
    """Do what the message of a refusal says; return the call that it leads to."""
    if "Clear its content instead" in message:
        return "datamachine/clear-agent-file", {"file": arguments["file"]}
    for advice, follow in ADVICES.items():
        if found := re.search(advice, message):
            return name, follow(arguments, found, ask)
    raise AssertionError(f"no way out of {name} is named: {message}")


MEMORY = {"file": "MEMORY.md"}
# Every operation with such an argument is tried; a new one needs a call here.
SHRINKS: dict[str, Arguments] = {
    "datamachine/daily-memory-write": {"date": DAY, "content": PLACEHOLDER, "mode": "write"},
    "datamachine/delete-agent-memory-section": {"section": "Big"},
    "datamachine/update-agent-memory": {"section": "Big", "content": "gone", "mode": "set"},
    "datamachine/upload-agent-file": {**MEMORY, "data": b64encode(b"gone").decode()},
    "datamachine/write-agent-file": {**MEMORY, "content": "gone"},
}
VERSIONS: dict[str, Arguments] = {
    **{name: {**given, "allow_shrink": True} for name, given in SHRINKS.items()},
    "datamachine/clear-agent-file": MEMORY,
    "datamachine/daily-memory-delete": {"date": DAY},
    "datamachine/delete-agent-file": {"file": "notes.md"},
    "looseleaf/move-page": {"file": "notes.md", "to": "moved.md"},
    "looseleaf/restore-page": {**MEMORY, "revision": "1"},
}
ADDITIONS: dict[str, Arguments] = {
    "datamachine/append-agent-file": {**MEMORY, "content": PLACEHOLDER},
    "datamachine/daily-memory-write": {"date": DAY, "content": PLACEHOLDER, "mode": "append"},
    "datamachine/update-agent-memory": {
        "section": "Big", "content": PLACEHOLDER, "mode": "append",
    },
    "memory_long_term_add": {"content": PLACEHOLDER},
    "memory_short_term_add": {"content": PLACEHOLDER, "date": DAY},
}  # fmt: skip
POSITIONS: dict[str, Arguments] = {
    "datamachine/delete-agent-memory-section": {"section": "Twin"},
    "datamachine/get-agent-memory": {"section": "Twin"},
    "datamachine/update-agent-memory": {"section": "Twin", "content": "x", "mode": "append"},
}
OTHERS: tuple[tuple[str, Arguments], ...] = (
    ("datamachine/delete-agent-file", MEMORY),
    ("datamachine/update-agent-memory", {"section": "big", "content": "x", "mode": "append"}),
    ("datamachine/write-agent-file", {"file": "Notes.md", "content": "x"}),
    ("datamachine/append-agent-file", {**MEMORY, "content": BLOCK}),
    ("datamachine/daily-memory-write", {"date": "17.4.", "content": "x", "mode": "append"}),
)


def with_argument(name: str) -> set[str]:
    """Name the operations that change or read one page and take an argument."""
    return {
        operation
        for operation, declared in CATALOG.items()
        if name in declared.run.__annotations__ and "memory" in declared.categories
    }


def test_every_guarded_operation_is_tried() -> None:
    """Those that name a version, confirm a loss, or choose among sections."""
    assert with_argument("allow_shrink") == set(SHRINKS)
    assert with_argument("if_match") == set(VERSIONS)
    assert with_argument("position") == set(POSITIONS)


def list_calls() -> Iterator[tuple[str, Arguments]]:
    """Yield the calls that are refused."""
    yield from SHRINKS.items()
    yield from ADDITIONS.items()
    yield from POSITIONS.items()
    for name, arguments in VERSIONS.items():
        yield name, {**arguments, "if_match": "0" * 64}
    yield from OTHERS


def reset(workspace: Workspace) -> None:
    """Bring about the pages that the calls expect."""
    context = replace(workspace.context, surface="cli")
    memory.write_page(context, "MEMORY.md", TWINS, allow_shrink=True)
    memory.write_page(context, "notes.md", "- note\n")
    daily.write_day(context, "- before\n", DAY, mode="write")


@pytest.fixture
def site(opens: Opens) -> Site:
    """Serve a workspace whose journal is open."""
    return opens(daily_memory_enabled=True)


@pytest.mark.parametrize("surface", ["rest", "mcp", "chat", "cli"])
def test_the_way_out_of_a_refusal_works_where_it_is_named(
    site: Site, surface: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The call is refused, and the one that the message leads to is done."""
    asks = {
        "rest": lambda: over_rest(site),
        "mcp": lambda: over_mcp(site),
        "chat": lambda: in_chat(site),
        "cli": lambda: at_the_command_line(site, capsys),
    }
    ask = asks[surface]()
    tried = 0
    for name, arguments in list_calls():
        reset(site.workspace)
        refusal = ask(name, arguments)
        if refusal is None or (surface == "cli" and arguments.get("content") == BLOCK):
            continue  # not there, or allowed to people
        assert not refusal.is_done, (name, refusal)
        next_name, next_arguments = heed(refusal.text, name, arguments, ask)
        reply = ask(next_name, next_arguments)
        assert reply is not None, f"{refusal.text} leads to {next_name}, which is not there"
        assert reply.is_done, (refusal.text, next_name, next_arguments, reply.text)
        tried += 1
    assert tried > (6 if surface == "chat" else 12)


def test_the_admin_site_offers_what_its_refusals_name(site: Site) -> None:
    """A box beside the text that was typed, and a name that is taken leads to the page."""
    ask = in_the_admin_site(site)
    tried = 0
    for name, arguments in list_calls():
        reset(site.workspace)
        if "if_match" in arguments or name != "datamachine/write-agent-file":
            continue
        refusal = ask(name, arguments)
        assert refusal is not None
        assert not refusal.is_done, (arguments, refusal)
        reply = ask(*heed(refusal.text, name, arguments, ask))
        assert reply is not None
        assert reply.is_done, reply.text
        tried += 1
    assert tried == 2


@pytest.mark.parametrize("surface", ["rest", "mcp", "chat"])
def test_a_version_that_must_be_named_can_be_named(opens: Opens, surface: str) -> None:
    """With `require_if_match`, on every surface that holds to it."""
    site = opens(daily_memory_enabled=True, require_if_match=True)
    ask = {"rest": over_rest, "mcp": over_mcp, "chat": in_chat}[surface](site)
    for name, arguments in VERSIONS.items():
        reset(site.workspace)
        refusal = ask(name, arguments)
        if refusal is not None:
            assert not refusal.is_done, name
            reply = ask(*heed(refusal.text, name, arguments, ask))
            assert reply is not None
            assert reply.is_done, (name, reply.text)


ADVICE = re.compile(
    r"(?:[.:;] |\"|f\")(?:Ask|Change|Choose|Clear|Close|Give|Install|Leave|Make|Name|Read|Repeat|"
    r"Restore|Run|Save|Say|Send|Set|Show|Split|Switch|Take|Upgrade|Use|Wait|Write)\b"
    r"|looseleaf [a-z]+ "
)
TRIED = {
    "AssembledText", "Conflicted", "InvalidDate", "NameTaken", "Protected", "SectionAmbiguous",
    "SectionTaken", "VersionRequired",
}  # fmt: skip
_OPERATOR = "what the operator of the machine does, whichever surface shows it"
_OTHER_VALUE = "the same call with another value, which every surface takes"
UNTRIED = {
    "AgentAmbiguous": _OTHER_VALUE,
    "AgentMissing": _OPERATOR,
    "BundleMismatch": _OTHER_VALUE,
    "DailyMemoryOff": _OPERATOR,
    "DatabaseTaken": _OPERATOR,
    "ExtraMissing": _OPERATOR,
    "FlowMissing": _OTHER_VALUE,
    "FolderTaken": _OPERATOR,
    "LoginLinkInvalid": _OPERATOR,
    "ModelMissing": _OPERATOR,
    "NotEditable": _OPERATOR,
    "NotText": _OTHER_VALUE,
    "PageExists": _OTHER_VALUE,
    "PipelineMissing": _OTHER_VALUE,
    "PreconditionUnsupported": "a header, which only REST has",
    "ScheduleMissing": _OTHER_VALUE,
    "SecretsFound": _OTHER_VALUE,
    "SessionAmbiguous": _OTHER_VALUE,
    "SessionBusy": _OTHER_VALUE,
    "SlugTaken": _OTHER_VALUE,
    "TaskRunMissing": _OTHER_VALUE,
    "TooLarge": _OTHER_VALUE,
    "UnclosedBlock": "a change of the page, which every surface has",
    "UpgradeOutdated": _OTHER_VALUE,
    "WorkspaceMissing": _OPERATOR,
}


def test_every_error_that_advises_is_tried() -> None:
    """Or it stands here with the reason; an advice that is new is found by its words."""
    advising = {
        error.__name__
        for error in ERRORS
        if ADVICE.search(inspect.getsource(error).split('"""', 2)[2])
    }
    assert advising == TRIED | set(UNTRIED)
