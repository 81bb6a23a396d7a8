"""Every hook works, for a plugin of someone else's as for ours."""

from __future__ import annotations

import ast
import inspect
import json
import re
import threading
from pathlib import Path
from types import ModuleType

import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from looseleaf import Change, Scope, Shelf, Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.page_checks import Checks
from looseleaf.cli import main
from looseleaf.errors import Invalid, InvalidName, InvalidSetting, Refused, Unavailable
from looseleaf.errors.operations import OperationMissing
from looseleaf.errors.pages import InvalidPolicy
from looseleaf.features.workflows.parts import step_types_of, system_tasks_of, task_schedules_of
from looseleaf.features.workflows.system_tasks import RunRequest, run_task
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.scope import Where
from looseleaf.operations import history, search
from looseleaf.operations.doctor import check_workspace
from looseleaf.operations.tokens import create_token
from looseleaf.plugins.admin_pages import AdminPages, Document, Visit
from looseleaf.plugins.commands import Commands
from looseleaf.plugins.endpoints import Endpoints
from looseleaf.plugins.loader import SPECS
from looseleaf.prompt.request import PipelinePart
from looseleaf.web.admin.views.operation import change_setting
from looseleaf.web.admin.views.operation import list_settings as show_settings
from looseleaf.web.app import build_application
from looseleaf.web.rest.endpoints import list_endpoints
from looseleaf.web.server import AfterFirstAnswer
from tests.plugins.conftest import Open

DOCS = Path(__file__).parent.parent.parent / "docs" / "hooks.md"
SHARED = Shelf("shared")
USER = Scope("user", 1, 0, "USER.md")
BY = Change(provenance=Provenance("test"))


def arguments(hook: str) -> str:
    return ", ".join(inspect.signature(SPECS[hook]).parameters)


def test_hook_register_settings(example: ModuleType, opened: Open) -> None:
    """The setting has its default, the value of the file, or the one that was set while running."""
    line = f'plugins = ["{example.__name__}"]'
    assert opened(line).setting("deadline_hour") == 17
    workspace = opened(line, "deadline_hour = 18", 'editions = ["morning", "evening"]')
    assert workspace.setting("editions") == ("morning", "evening")
    assert workspace.context.parts.setting("deadline_hour") == 18
    invoke(workspace.context, "looseleaf/set-setting", {"name": "deadline_hour", "setting": 20})
    assert workspace.setting("deadline_hour") == 20
    listed = {info["name"]: info for info in invoke(workspace.context, "looseleaf/list-settings")}
    assert listed["deadline_hour"] == {
        "name": "deadline_hour",
        "setting": 20,
        "source": "database",
        "runtime": True,
        "restart_needed": False,
        "owner": example.__name__,
        "summary": "The hour at which the paper is finished.",
    }
    assert listed["editions"]["setting"] == ["morning", "evening"]
    assert (listed["editions"]["source"], listed["editions"]["runtime"]) == ("file", False)
    for name, setting in (("deadline_hour", 24), ("deadline_hour", "5"), ("editions", None)):
        with pytest.raises(InvalidSetting):
            invoke(workspace.context, "looseleaf/set-setting", {"name": name, "setting": setting})
    arguments = {"name": "deadline_hour", "setting": None}
    assert invoke(workspace.context, "looseleaf/set-setting", arguments)["setting"] == 18


def test_a_setting_of_a_plugin_is_changed_in_its_form(example_workspace: Workspace) -> None:
    """On the page of the settings, by its kind and its rule."""

    def change(text: str) -> None:
        form = {"name": "deadline_hour", "kind": "decimal", "setting": text}
        change_setting(Visit(context=example_workspace.context, parameters={}, query={}, form=form))

    change(" 21 ")
    assert example_workspace.setting("deadline_hour") == 21
    for wrong in ("x", "", "24", "1.5", "nan"):
        with pytest.raises(Invalid):
            change(wrong)
    page = show_settings(Visit(context=example_workspace.context, parameters={}, query={}, form={}))
    assert isinstance(page, Document)
    assert "deadline_hour" in {info.name for info in page.data["running"]}


def test_the_command_line_lists_and_sets_a_setting_of_a_plugin(
    example_workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the plugin that has it."""
    words = [f"--root={example_workspace.settings.root}", "settings"]
    assert main([*words, "set", "deadline_hour", "19"]) == 0
    assert capfd.readouterr().out == "deadline_hour = 19 (database)\n"
    assert main([*words, "list"]) == 0
    owned = "deadline_hour (looseleaf_example), editions (looseleaf_example)"
    assert f"\nSettings of plugins: {owned}.\n" in capfd.readouterr().out
    assert main([*words, "set", "nonsense", "19"]) != 0
    assert "require_if_match, deadline_hour." in capfd.readouterr().err


def test_hook_register_files(example_workspace: Workspace) -> None:
    """The page is known, owned by the plugin, and in the prompt."""
    registered = example_workspace.registry.get("style-guide.md")
    assert registered is not None
    assert (registered.owner, registered.layer) == ("looseleaf_example", "shared")
    example_workspace.pages.write(SHARED.page("style-guide.md"), "Be brief.\n", change=BY)
    assert "Be brief." in example_workspace.compose("chat").text
    with pytest.raises(Refused, match="too late"):
        example_workspace.registry.register("late.md")


def test_hook_register_composed_sections(example_workspace: Workspace) -> None:
    """The section stands in the generated page, between ours."""
    text = example_workspace.pages.text(SHARED.page("SITE.md"))
    assert "## Style\n\nHouse writes by style-guide.md." in text
    assert text.index("## Identity") < text.index("## Style") < text.index("## Agents")


def test_hook_register_starters(example_workspace: Workspace) -> None:
    """A page of the plugin's is started by it, ours by us."""
    assert example_workspace.pages.text(SHARED.page("style-guide.md")) == "# How House writes\n"
    assert "# Rules of House" in example_workspace.pages.text(SHARED.page("RULES.md"))


def test_hook_register_directives(example_workspace: Workspace) -> None:
    """The directive speaks in its mode, in its place, under the plugin's name."""
    last = example_workspace.compose("chat").pieces[-1]
    assert (last.text, last.directive.owner) == (
        "editor, the deadline is at five.",
        "looseleaf_example",
    )
    assert "deadline is" not in example_workspace.compose("pipeline").text


def test_hook_register_content_filters(example_workspace: Workspace) -> None:
    """The text of a page is changed on its way into a prompt, and not on disk."""
    page = SHARED.page("RULES.md")
    example_workspace.pages.write(page, "Call 555-0100.\n", change=BY)
    assert "Call ….\n" in example_workspace.compose("chat").text
    assert "Call 555-0100.\n" in example_workspace.compose("pipeline").text
    assert example_workspace.pages.text(page) == "Call 555-0100.\n"


def test_hook_register_file_filters(example_workspace: Workspace) -> None:
    """A registered page is left out, and the prompt can say by which rule."""
    [left_out] = [
        piece
        for piece in example_workspace.compose("letters").pieces
        if piece.name == "SITE.md" and not piece.injected
    ]
    assert getattr(left_out.item, "rule", "") == "filtered"
    assert "SITE.md" in example_workspace.compose("chat").text


def test_hook_register_scoped_file_filters(example_workspace: Workspace) -> None:
    """A page that a pipeline asks for by name is left out, and the prompt can say by which rule."""
    shelf = example_workspace.agents.resolve("editor").shelf
    for name in ("drafts/one.md", "plan.md"):
        example_workspace.pages.write(shelf.page(name), f"The text of {name}.\n", change=BY)
    pipeline = PipelinePart(id=1, memory_files=("drafts/one.md", "plan.md"))
    assembly = example_workspace.compose("pipeline", "editor", pipeline=pipeline)
    assert "The text of plan.md." in assembly.text
    [left_out] = [piece for piece in assembly.pieces if piece.name == "drafts/one.md"]
    assert getattr(left_out.item, "rule", "") == "filtered"


def test_hook_register_site_context(example_workspace: Workspace) -> None:
    """What a prompt says of the site has the plugin's word in it."""
    assert '"edition": "evening"' in example_workspace.compose("chat").text


def test_hook_register_operations(example_workspace: Workspace) -> None:
    """The operation is run by name, for those who may, in this workspace alone."""
    assert invoke(example_workspace.context, "example/count-words", {"file": "style-guide.md"}) == 4
    stranger = example_workspace.acting(principal=Principal(kind="session", user_id=7, name="eve"))
    assert invoke(stranger, "example/count-words", {"file": "RULES.md"}) > 0
    with pytest.raises(LookupError):
        invoke(stranger, "example/count-words", {"file": "SOUL.md", "agent": "editor"})
    assert example_workspace.operations().find("example/count-words").owner == "looseleaf_example"


def test_a_tool_policy_can_name_a_plugin_s_tool(
    example_workspace: Workspace, workspace: Workspace
) -> None:
    """It is known where the plugin is, and refused elsewhere."""
    policy = {"tool_policy": {"mode": "deny", "tools": ["example_count_words"]}}
    example_workspace.agents.configure("editor", policy)
    with pytest.raises(InvalidPolicy, match="'example_count_words'"):
        workspace.agents.configure("ada", policy)


def test_an_operation_of_a_plugin_is_its_workspace_s_alone(
    example_workspace: Workspace, workspace: Workspace
) -> None:
    """Another workspace in the same process does not have it."""
    assert "example/count-words" in example_workspace.operations()
    with pytest.raises(OperationMissing):
        invoke(workspace.context, "example/count-words", {"file": "RULES.md"})


def test_hook_register_schedules(example_workspace: Workspace) -> None:
    """The schedule is there, with its operation checked."""
    [schedule] = [
        item
        for item in task_schedules_of(example_workspace).all()
        if item.owner == "looseleaf_example"
    ]
    assert (schedule.name, schedule.task, schedule.when, schedule.owner) == (
        "count-style",
        "example/count-words",
        "30 3 * * *",
        "looseleaf_example",
    )


def test_hook_register_steps(example_workspace: Workspace) -> None:
    """The step is there beside ours, with the packets that it gives."""
    step_type = step_types_of(example_workspace).get("count-words")
    assert (step_type.label, step_type.owner) == ("Count words", "looseleaf_example")
    assert "word-count" in step_types_of(example_workspace).packets
    assert "item" in step_types_of(example_workspace).packets


def test_hook_register_system_tasks(example_workspace: Workspace) -> None:
    """The task runs for an agent, beside ours, and bears the plugin's name."""
    owners = {task.type: task.owner for task in system_tasks_of(example_workspace).all()}
    assert owners.pop("count_memory_words") == "looseleaf_example"
    assert {"daily_memory_generation", "history_packing"} <= owners.keys()
    assert set(owners.values()) == {"looseleaf"}
    [agent] = example_workspace.agents.records()
    record = run_task(
        system_tasks_of(example_workspace).get("count_memory_words"),
        example_workspace,
        example_workspace.settings,
        agent,
        RunRequest(),
        prompt=lambda _key: "",
        is_cancelled=lambda: False,
    )
    assert (record.status, record.details["words"] > 0) == ("counted", True)


def test_hook_register_parts(example_workspace: Workspace) -> None:
    """The part is opened once, when it is first used, and anew after the workspace was closed."""
    words = example_workspace.part("example-words")
    assert words == ["editor"]
    assert example_workspace.part("example-words") is words
    example_workspace.close()
    assert example_workspace.part("example-words") is not words


def test_hook_register_admin_pages(example_workspace: Workspace) -> None:
    """The page is added beside ours, which it may take out, and bears the plugin's name."""
    pages = AdminPages()
    pages.register("agents", "", lambda _visit: Document("agents.html", "Agents", {}))
    filled = example_workspace.registries.fill_admin_pages(pages)
    owners = {page.name: page.owner for page in filled.all()}
    assert owners.pop("words") == "looseleaf_example"
    assert {"agents", "chat", "jobs", "upkeep", "bundles", "import", "backups"} <= owners.keys()
    assert set(owners.values()) == {"looseleaf"}
    [page] = [page for page in filled.labelled("agent") if page.name == "words"]
    visit = Visit(
        context=example_workspace.context, parameters={"agent": "editor"}, query={}, form={}
    )
    assert page.view(visit) == Document(
        "words.html", "Words", {"count": 4, "file": "style-guide.md"}
    )
    with pytest.raises(Refused, match="too late"):
        filled.register("late", "late", page.view)


def test_hook_register_commands(
    example_workspace: Workspace, example: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command is listed beside ours, and runs; none of ours can be replaced."""
    root = f"--root={example_workspace.settings.root}"
    assert main([root, "style"]) == 0
    assert capfd.readouterr().out == "# How House writes\n"
    assert main([root, "--help"]) == 0
    assert "\n  style       Print the style guide.\n" in capfd.readouterr().out
    commands = example_workspace.registries.hooks.fill("register_commands", commands=Commands())
    owners = {entry.name: entry.owner for entry in commands.all()}
    assert {owners.pop("style"), owners.pop("words")} == {example.__name__}
    assert set(owners.values()) == {"looseleaf"}
    for name in ("jobs", "memory lint", "Jobs", "-x"):
        with pytest.raises(InvalidName):
            _copy(commands).register(name, "module:attribute", "Another.")
    with pytest.raises(InvalidName, match="or an operation's name"):
        _copy(commands).register("another", "module", "Another.")


def test_an_operation_of_a_plugin_gets_a_command_by_its_name(
    example_workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its arguments, options and help are those of the operation."""
    words = [f"--root={example_workspace.settings.root}", "words"]
    assert main([*words, "style-guide.md"]) == 0
    assert capfd.readouterr().out == "4\n"
    assert main([*words, "style-guide.md", "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"result": 4}
    assert main([*words, "--help"]) == 0
    answer = capfd.readouterr().out
    assert answer.startswith("Usage: looseleaf words [OPTIONS] FILE\n")
    assert "  Count the words of a page.\n" in answer
    assert "--agent ID|SLUG" in answer
    assert main([*words]) == 2


def test_hook_register_endpoints(example_workspace: Workspace) -> None:
    """The address answers and is described beside ours, none of which can be taken."""
    endpoints = list_endpoints(example_workspace)
    owners = {endpoint.name: endpoint.owner for endpoint in endpoints.all()}
    assert owners.pop("GET /words/{file}") == "looseleaf_example"
    assert {"GET /search", "POST /chat", "GET /jobs/{job}", "GET /backups"} <= owners.keys()
    assert set(owners.values()) == {"looseleaf"}
    application = build_application(example_workspace)
    headers = {"authorization": f"Bearer {create_token(example_workspace.context, user=1).token}"}
    with TestClient(application, base_url="http://127.0.0.1") as client:
        answer = client.get("/datamachine/v1/words/RULES.md", headers=headers)
        assert answer.json()["data"] == len(
            example_workspace.pages.text(SHARED.page("RULES.md")).split()
        )
        described = client.get("/openapi.json").json()["paths"]["/datamachine/v1/words/{file}"]
        assert described["get"]["summary"] == "Count the words of a page."
    empty = Endpoints()
    empty.register("GET", "/words", "example/count-words")
    for method, path in (("GET", "/words"), ("GET", "words"), ("READ", "/pages")):
        with pytest.raises(InvalidName):
            empty.register(method, path, "example/count-words")
    with pytest.raises(Refused, match="neither operation nor handler"):
        empty.register("GET", "/nothing")


def test_hook_register_checks(example_workspace: Workspace) -> None:
    """The doctor reports what the plugin finds, between our checks and those of every page."""
    checks = example_workspace.registry_for("register_checks", checks=Checks)
    owners = {check.name: check.owner for check in checks.all()}
    assert owners.pop("style") == "looseleaf_example"
    assert set(owners.values()) == {"looseleaf"}
    assert list(owners)[-5:] == ["workflows", "jobs", "upkeep", "index", "pages"]
    assert "style" not in {finding.check for finding in check_workspace(example_workspace.context)}
    example_workspace.pages.write(SHARED.page("style-guide.md"), "\n", change=BY)
    [finding] = [one for one in check_workspace(example_workspace.context) if one.check == "style"]
    assert (finding.status, finding.detail) == ("warning", "style-guide.md is empty")
    own = Checks()
    own.register("style", lambda _run: ())
    with pytest.raises(InvalidName, match="a check of that name"):
        own.register("style", lambda _run: ())


def test_hook_on_server_started(example_workspace: Workspace, example: ModuleType) -> None:
    """The plugin is told once, after the first answer."""
    example.HEARD.clear()
    told = threading.Event()

    def announce() -> None:
        example_workspace.registries.announce_server()
        told.set()

    server = AfterFirstAnswer(build_application(example_workspace), announce)

    async def application(scope: Connection, receive: Receive, send: Send) -> None:
        await server(scope, receive, send)

    with TestClient(application) as client:
        assert example.HEARD == []
        for _ in range(2):
            client.get("/health")
        assert told.wait(10)
    assert example.HEARD == ["House is open"]


def _copy(commands: Commands) -> Commands:
    copied = Commands()
    for entry in commands.all():
        copied.register(entry.name, entry.target, entry.summary)
    return copied


def test_a_workspace_whose_plugin_cannot_be_loaded_keeps_its_commands(
    example_workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    """The help lists them, and says what is missing."""
    settings = Path(example_workspace.settings.root) / "looseleaf.toml"
    settings.write_text('plugins = ["no_such_plugin"]\n')
    assert main([f"--root={example_workspace.settings.root}", "nothing"]) == 2
    assert "The commands of plugins are missing" in capfd.readouterr().err


def test_hook_pick_store(example_workspace: Workspace, tmp_path: Path) -> None:
    """Pages of users lie in the vault, all others where they always did."""
    root = tmp_path / "example_workspace"
    example_workspace.pages.write(USER, "Likes tea.\n", change=BY)
    assert (root / "vault" / "users" / "1" / "USER.md").read_text() == "Likes tea.\n"
    assert not (root / "users").exists()
    assert (root / "agents" / "editor" / "SOUL.md").exists()
    assert "Likes tea." in example_workspace.compose("chat").text


def test_a_page_in_a_picked_store_is_found_by_search(example_workspace: Workspace) -> None:
    """Our index does not know it, so its shelf is scanned."""
    example_workspace.pages.write(USER, "Likes tea.\n", change=BY)
    user = Where(user=1, layer="user")
    assert search.search(example_workspace.context, "tea", where=user).total == 1
    assert [
        item.filename for item in search.find(example_workspace.context, "tea", where=user).pages
    ] == ["USER.md"]
    assert search.search(example_workspace.context, "Memory started").total == 1


def test_a_page_in_a_picked_store_has_the_history_of_that_store(
    example_workspace: Workspace,
) -> None:
    """A store that keeps none says so; nobody is shown the history of another page."""
    with pytest.raises(Unavailable, match="keeps none"):
        history.list_revisions(example_workspace.context, "USER.md")
    assert history.list_revisions(example_workspace.context, "SOUL.md")


def test_hook_pick_model(example_workspace: Workspace) -> None:
    """The plugin is asked first, then the agent's configuration, then the settings."""
    example_workspace.agents.configure("editor", {"models": {"default": "acme:large"}})
    assert example_workspace.model_for("editor", "chat") == "acme:editor"
    assert example_workspace.model_for("editor", "pipeline") == "acme:large"


def test_hook_on_memory_changed(example_workspace: Workspace, example: ModuleType) -> None:
    """The plugin is told after the change."""
    example.HEARD.clear()
    example_workspace.pages.append(SHARED.page("RULES.md"), "- Be kind.", change=BY)
    assert example.HEARD == ["append RULES.md"]


def test_hook_on_prompt_composed(example_workspace: Workspace, example: ModuleType) -> None:
    """The plugin is told once of every prompt for a model, also of one that has not changed."""
    example.HEARD.clear()
    assert example_workspace.compose("chat").text == example_workspace.compose("chat").text
    assert example.HEARD == ["editor in chat"] * 2
    example.HEARD.clear()
    given = invoke(
        example_workspace.context, "looseleaf/compose-prompt", {"mode": "chat", "host": "any"}
    )
    assert given["messages"]
    assert example.HEARD == ["editor in chat"]
    example.HEARD.clear()
    for name in ("explain-prompt", "check-prompt", "diff-prompts"):
        assert invoke(example_workspace.context, f"looseleaf/{name}", {"mode": "chat"})
    assert example.HEARD == []


@pytest.mark.parametrize("hook", SPECS)
def test_every_hook_is_tested_and_used(hook: str, example: ModuleType) -> None:
    """A hook needs a test of its own, one sentence, and a plugin that uses it."""
    assert f"test_hook_{hook}" in globals()
    assert len((inspect.getdoc(SPECS[hook]) or "").splitlines()) == 1
    assert hasattr(getattr(example, hook), "looseleaf_impl")


@pytest.mark.parametrize("hook", SPECS)
def test_every_hook_stands_in_the_docs(hook: str) -> None:
    """It has a heading with its exact arguments, and an example that uses it."""
    text = DOCS.read_text(encoding="utf-8")
    heading = f"### {hook}({arguments(hook)})\n"
    assert heading in text
    after = text.partition(heading)[2].partition("\n##")[0]
    code = "\n".join(re.findall(r"```python\n(.*?)```", after, re.DOTALL))
    names = [node.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)]
    assert hook in names


def test_a_hook_has_one_of_three_shapes() -> None:
    """And is given the settings last."""
    assert all(hook.startswith(("register_", "pick_", "on_")) for hook in SPECS)
    assert all(arguments(hook).endswith(", settings") for hook in SPECS)
