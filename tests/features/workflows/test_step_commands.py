"""`looseleaf steps …`, and every setting of every type of step by `--set`."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.operations.steps import list_step_types
from looseleaf.features.workflows.step_commands import find_schemas, set_steps
from looseleaf.schema_fields import COMMA
from tests.cli.fixtures import Run
from tests.features.workflows.steps.samples import list_schema_fields, make_value

EXAMPLE = Path(__file__).parents[2] / "plugins" / "example"


@pytest.fixture
def root_with_plugin(command_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Add the example plugin, whose step has settings, to the workspace."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    file = command_root / "looseleaf.toml"
    file.write_text(f'plugins = ["looseleaf_example"]\n{file.read_text()}')
    return command_root


def test_every_setting_of_every_type_is_set_and_reads_back_equal(root_with_plugin: Path) -> None:
    """The registry says what there is, so that a new setting or a plugin's step is tested, too."""
    with Workspace.open(root_with_plugin) as workspace:
        context = workspace.context
        types = list_step_types(context)
        assert {"input", "publish", "count-words"} <= {step_type.name for step_type in types}
        schemas = find_schemas(context)
        for step_type in types:
            for field in list_schema_fields(step_type):
                for number in range(2):
                    value = make_value(field, number)
                    pair = f"1.{field.name}={field.format(value, separator=COMMA)}"
                    (step,) = set_steps(schemas, [Step(type=step_type.name)], [pair])
                    assert field.read(step.settings) == value, (step_type.name, field.name)
                    (step,) = set_steps(schemas, [step], [], [f"1.{field.name}"])
                    assert step.settings == {}


def test_every_setting_is_described(root_with_plugin: Path) -> None:
    """A setting without a title or a help cannot be filled in by someone who has no docs."""
    with Workspace.open(root_with_plugin) as workspace:
        for step_type in list_step_types(workspace.context):
            for setting in step_type.settings:
                place = (step_type.name, setting.name)
                assert setting.title, place
                assert setting.help.endswith("."), place
                assert set(setting.condition) <= {entry.name for entry in step_type.settings}


def test_steps_show_prints_each_setting_as_it_is_typed(run: Run, root_with_plugin: Path) -> None:
    """With its choices, its default, its limits and what this workspace offers."""
    with (root_with_plugin / "looseleaf.toml").open("a") as file:
        file.write('\n[publish_folders]\nposts = "/srv/posts"\n')
    listed = run("steps", "list").text
    assert "count-words" in listed
    shown = run("steps", "show", "input").text
    assert "source=text|files|feed|json|packet\n" in shown
    assert "(default: 10; 1 to 50; with source=files or feed or json)" in shown
    assert "fields.id=TEXT\n" in shown
    assert "here: posts" in run("steps", "show", "publish").text
    assert "It takes other settings, too" in run("steps", "show", "count-words").text
    document = run("steps", "show", "input", "--format", "json").json
    assert document["settings"][0]["choices"] == ["text", "files", "feed", "json", "packet"]
    assert "the types are: " in run("steps", "show", "inputs").err


def test_a_pipeline_is_made_and_changed_without_json(run: Run, root_with_plugin: Path) -> None:
    """A setting that is not named stays; a list has commas; a text may come from a file."""
    (root_with_plugin / "prompt.txt").write_text("Write, with commas,\nand lines.")
    created = run(
        "pipelines", "create", "News", "--step", "input:Feed", "--step", "ai", "--step",
        "memory_update", "--set", "input.source=json", "--set", "input.url=https://a.example/x=y",
        "--set", "input.fields.id=guid", "--set", "ai.prompt=@prompt.txt", "--set",
        "ai.enabled_tools=agent_memory, agent_daily_memory", "--set", "memory_update.target=daily",
        "--set", "tool_policy.mode=deny", "--set", "tool_policy.tools=create_agent",
    )  # fmt: skip
    assert created.code == 0, created.err
    document = run("pipelines", "show", "news", "--format", "json").json
    assert [step["settings"] for step in document["steps"]] == [
        {"source": "json", "url": "https://a.example/x=y", "fields": {"id": "guid"}},
        {
            "prompt": "Write, with commas,\nand lines.",
            "enabled_tools": ["agent_memory", "agent_daily_memory"],
        },
        {"target": "daily"},
    ]
    assert document["tool_policy"] == {"mode": "deny", "tools": ["create_agent"]}
    changes = ("--set", "2.max_turns=3", "--unset", "input.fields.id", "--unset", "tool_policy")
    assert run("pipelines", "update", "news", *changes).code == 0
    after = run("pipelines", "show", "news", "--format", "json").json
    assert after["steps"][0]["settings"] == {"source": "json", "url": "https://a.example/x=y"}
    assert after["steps"][1]["settings"]["max_turns"] == 3
    assert after["tool_policy"] == {}
    assert [step["id"] for step in after["steps"]] == [step["id"] for step in document["steps"]]


def test_a_flow_overrides_one_setting_and_keeps_the_others(
    run: Run, root_with_plugin: Path
) -> None:
    """By key or, for experts, a step's settings as JSON; the egress policy by key, too."""
    assert root_with_plugin.exists()
    run(
        "pipelines", "create", "News", "--step", "input", "--step", "ai",
        "--set", "input.source=feed", "--set", "input.url=https://a.example/feed",
    )  # fmt: skip
    made = run(
        "flows", "create", "news", "Morning", "--set", "input.max_items=3",
        "--set", 'ai={"prompt": "Begin."}', "--set", "run_artifacts.daily_memory.egress=artifact",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert run("flows", "update", "morning", "--set", "input.skip_processed=no").code == 0
    flow = run("flows", "show", "morning", "--format", "json").json
    assert flow["step_settings"] == {
        "input": {"max_items": 3, "skip_processed": False},
        "ai": {"prompt": "Begin."},
    }
    assert flow["run_artifacts"] == {"daily_memory": {"egress": ["artifact"]}}
    assert run("flows", "update", "morning", "--unset", "input", "--unset", "ai.prompt").code == 0
    assert run("flows", "show", "morning", "--format", "json").json["step_settings"] == {}


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("input.max_items=many", "--set input.max_items: it must be a whole number, such as 10."),
        ("input.max_items=51", "--set input.max_items: it must be at most 50."),
        ("input.max=5", "--set input.max: it is not known; the settings are: source, text"),
        ("feed.url=x", "There is no step 'feed'; the steps are: input."),
        ("input.url", "--set input.url has no value: write STEP.NAME=VALUE."),
        ("input=[]", "--set input takes a JSON object"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_name(
    run: Run, command_root: Path, pair: str, problem: str
) -> None:
    """And nothing is made."""
    assert command_root.exists()
    refusal = run("pipelines", "create", "News", "--step", "input", "--set", pair)
    assert refusal.code == 2
    assert problem in refusal.err
    assert "no pipelines" in run("pipelines", "list").text


def test_a_pipeline_is_tried_without_a_flow(run: Run, command_root: Path) -> None:
    """Its steps run once; steps without a pipeline are given by --set, too."""
    assert command_root.exists()
    steps = (
        "--step", "input", "--step", "memory_update", "--set", "input.source=text",
        "--set", "input.text=A new album is out.", "--set", "memory_update.target=section",
        "--set", "memory_update.section=News",
    )  # fmt: skip
    assert run("pipelines", "create", "News", *steps).code == 0
    tried = run("jobs", "run", "--pipeline", "news", "--format", "json")
    assert tried.json["status"] == "completed", tried.err
    assert (tried.json["pipeline_id"], tried.json["flow_id"]) == (1, 0)
    assert "A new album is out." in run("memory", "read").text
    assert run("jobs", "run", *steps, "--detach").code == 0
    assert run("jobs", "run", "--pipeline", "news", *steps).code == 2
    assert run("jobs", "run", "--pipeline", "news", "--set", "input.text=x").code == 2
