"""Typed forms of steps: every setting of every type, a plugin's too; a whole flow in a browser."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from looseleaf.features.workflows.access import TOOL_POLICY_SETTINGS
from looseleaf.features.workflows.artifacts import EGRESS_SETTINGS
from looseleaf.features.workflows.operations.steps import StepTypeInfo, list_step_types
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.schema_fields import list_fields
from looseleaf.settings import WordPressSite
from tests.features.workflows.steps.samples import list_schema_fields, make_value
from tests.web.admin.fixtures import OpenTab
from tests.web.admin.pages import wait_until
from tests.web.fixtures import Opens, Site

EXAMPLE = Path(__file__).parents[2] / "plugins" / "example"
PIPELINES = "/admin/agents/ada/pipelines"
_INPUT = re.compile(r'<input [^>]*?name="([^"]+)"[^>]*?>')
_AREA = re.compile(r'<textarea [^>]*?name="([^"]+)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)
_SELECT = re.compile(r'<select [^>]*?name="([^"]+)"[^>]*>(.*?)</select>', re.DOTALL)


@pytest.fixture
def house(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Serve a workspace with the example plugin, a folder and a site to publish to."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    return opens(
        plugins=("looseleaf_example",),
        default_model="echo",
        publish_folders=(("posts", "/srv/posts"),),
        wordpress_sites=(WordPressSite("blog", "https://blog.example.com", "bot"),),
    )


def read_form(page: str, form: str) -> dict[str, str]:
    """Return the fields of a form as a browser would send them, untouched."""
    text = page.partition(f'id="{form}"')[2].partition("</form>")[0]
    fields = {}
    for tag in _INPUT.finditer(text):
        if "checkbox" not in tag[0] or " checked" in tag[0]:
            found = re.search(r'value="([^"]*)"', tag[0])
            fields[tag[1]] = unescape(found[1]) if found else ""
    for name, content in _AREA.findall(text):
        fields[name] = unescape(content).replace("\n", "\r\n")
    for name, options in _SELECT.findall(text):
        chosen = re.search(r'value="([^"]*)" selected', options)
        first = re.search(r'value="([^"]*)"', options)
        option = chosen or first
        fields[name] = unescape(option[1]) if option else ""
    return fields


def list_types(site: Site) -> list[StepTypeInfo]:
    """List the types of steps of a site."""
    return list_step_types(site.workspace.context)


def put_before(step_type: StepTypeInfo) -> list[dict[str, Any]]:
    """Return a step that feeds one of this type, if it takes something."""
    text = {"source": "text", "text": "x"}
    return [{"type": "input", "settings": text}] if step_type.takes else []


def test_every_setting_of_every_type_is_set_by_its_form(house: Site) -> None:
    """The registry says what there is; what the form does not touch stays as it is."""
    browser, csrf = house.sign_in()
    for step_type in list_types(house):
        fields, covered = list_schema_fields(step_type), set()
        for number in range(
            max([2, *(len(field.choices) for field in fields if field.is_required)])
        ):
            row = put_before(step_type)
            made = house.run(
                "looseleaf/create-pipeline", agent="ada", name=step_type.name, steps=row
            )
            address = f"{PIPELINES}/{made['id']}"
            page = browser.post(
                address, data={**read_form(browser.get(address).text, "steps-form"),
                "csrf": csrf, "action": f"steps:add:{step_type.name}"},
            ).text  # fmt: skip
            form = read_form(page, "steps-form") | {"csrf": csrf, "action": "steps"}
            expected: dict[str, Any] = {}
            for field in fields:
                if not field.counts(expected, fields):
                    continue  # such as the name of a file beside a post: it may be refused
                covered.add(field.name)
                value = make_value(field, number)
                key = f"s{len(row)}.set.{field.name}"
                assert key in form, (step_type.name, field.name)
                form[key] = field.format(value).replace("\n", "\r\n")
                expected = field.put(expected, value)
            answer = browser.post(address, data=form)
            assert answer.status_code in {200, 303}, (
                step_type.name,
                form,
                answer.text.partition("alert")[2][:300],
            )
            stored = house.run("looseleaf/show-pipeline", pipeline=made["id"])
            assert stored["steps"][-1]["settings"] == expected, step_type.name
            untouched = read_form(browser.get(address).text, "steps-form")
            browser.post(address, data={**untouched, "csrf": csrf, "action": "steps"})
            again = house.run("looseleaf/show-pipeline", pipeline=made["id"])
            assert again["hash"] == stored["hash"], step_type.name
        assert covered == {field.name for field in fields}, step_type.name


def test_each_policy_is_set_by_its_form(house: Site) -> None:
    """The tools of a pipeline, and what may leave a flow."""
    house.run("looseleaf/create-pipeline", agent="ada", name="News")
    house.run("looseleaf/create-flow", pipeline=1, name="Morning")
    browser, csrf = house.sign_in()
    policy = {"policy.set.mode": "deny", "policy.set.tools": "agent_memory\r\ncreate_agent"}
    assert {f"policy.set.{field.name}" for field in list_fields(TOOL_POLICY_SETTINGS)} <= set(
        re.findall(r'name="([^"]+)"', browser.get(f"{PIPELINES}/1").text)
    )
    browser.post(f"{PIPELINES}/1", data={"csrf": csrf, "action": "policy", **policy})
    stored = house.run("looseleaf/show-pipeline", pipeline=1)
    assert stored["tool_policy"] == {"mode": "deny", "tools": ["agent_memory", "create_agent"]}
    flow = "/admin/agents/ada/flows/1"
    page = browser.get(flow).text
    for field in list_fields(EGRESS_SETTINGS):
        assert f"egress.set.{field.name}" in page
    boxes = {
        "egress.set.daily_memory.egress:choices": "yes",
        "egress.set.daily_memory.egress:artifact": "yes",
        "egress.set.daily_memory.egress:pr-body": "yes",
        "egress.set.daily_memory.bundle_relative_path": "memory/days",
    }
    browser.post(flow, data={"csrf": csrf, "action": "egress", **boxes})
    expected = {"egress": ["artifact", "pr-body"], "bundle_relative_path": "memory/days"}
    assert house.run("looseleaf/show-flow", flow=1)["run_artifacts"] == {"daily_memory": expected}
    del boxes["egress.set.daily_memory.egress:pr-body"]
    browser.post(flow, data={"csrf": csrf, "action": "egress", **boxes})
    after = house.run("looseleaf/show-flow", flow=1)["run_artifacts"]
    assert after["daily_memory"]["egress"] == ["artifact"]


def test_problems_stand_beside_their_fields_and_nothing_is_saved(house: Site) -> None:
    """With what was typed; and in the view as JSON, too."""
    made = house.run("looseleaf/create-pipeline", agent="ada", name="News")
    browser, csrf = house.sign_in()
    form = {"csrf": csrf, "action": "steps", "s0.type": "input", "s0.set.source": "feed"}
    wrong = {**form, "s0.set.max_items": "many", "s0.set.url": "https://news.example/feed"}
    answer = browser.post(f"{PIPELINES}/1", data=wrong)
    assert answer.status_code == 400
    place = answer.text.partition('name="s0.set.max_items"')[2]
    assert 'value="many"' in place[:80]
    assert "It must be a whole number, such as 10." in place.partition("</div>")[0]
    assert 'value="https://news.example/feed"' in answer.text
    as_json = {**form, "s0.json": '{"source": "feed",'}
    answer = browser.post(f"{PIPELINES}/1?view=json", data=as_json)
    assert answer.status_code == 400
    assert "It is not JSON" in answer.text
    assert house.run("looseleaf/show-pipeline", pipeline=1)["hash"] == made["hash"]


def test_settings_as_json_round_trip(house: Site) -> None:
    """The expert's view shows what the fields show, settings without a field too."""
    settings = {"unit": "lines", "ignore": ["a"], "more": {"deep": [1, None, "ü"]}}
    steps = [
        {"type": "input", "settings": {"source": "text", "text": "one\ntwo"}},
        {"type": "count-words", "settings": settings},
    ]
    made = house.run("looseleaf/create-pipeline", agent="ada", name="News", steps=steps)
    browser, csrf = house.sign_in()
    for view in ("", "?view=json"):
        form = read_form(browser.get(f"{PIPELINES}/1{view}").text, "steps-form")
        if view:
            assert json.loads(form["s1.json"]) == settings
        browser.post(f"{PIPELINES}/1{view}", data={**form, "csrf": csrf, "action": "steps"})
        assert house.run("looseleaf/show-pipeline", pipeline=1)["hash"] == made["hash"]


STEPS = [
    {"type": "input", "label": "Take", "settings": {"source": "text", "text": "one"}},
    {"type": "ai", "label": "Write", "settings": {"prompt": "Write it."}},
]


def read_rows(text: str) -> list[tuple[str, str, str]]:
    """Return what a refused form shows: each field, what the page has now, and what was typed."""
    found = re.findall(
        r'<tr><td>(.*?)</td><td data-label="Now:">(.*?)</td><td data-label="Yours:">(.*?)</td>',
        text,
    )
    return [tuple(map(unescape, row)) for row in found]  # type: ignore[misc]


def test_the_form_of_steps_keeps_the_version_it_was_opened_with(house: Site) -> None:
    """After a step was added and a save was refused, too: another's change is shown first."""
    made = house.run("looseleaf/create-pipeline", agent="ada", name="News", steps=STEPS)
    address = f"{PIPELINES}/{made['id']}"
    browser, csrf = house.sign_in()
    form = read_form(browser.get(address).text, "steps-form") | {"csrf": csrf}
    added = browser.post(address, data={**form, "action": "steps:add:input"})
    assert added.status_code == 200
    form = read_form(added.text, "steps-form") | {"csrf": csrf, "s1.label": "Mine"}
    wrong = {**form, "s2.set.source": "feed", "s2.set.max_items": "many", "action": "steps"}
    refused = browser.post(address, data=wrong)
    assert refused.status_code == 400
    form = read_form(refused.text, "steps-form") | {"csrf": csrf, "s2.set.source": "text"}
    form |= {"s2.set.max_items": "", "s2.set.text": "two", "action": "steps"}
    theirs = [made["steps"][0], made["steps"][1] | {"settings": {"prompt": "Theirs."}}]
    theirs = [{key: step[key] for key in ("id", "type", "label", "settings")} for step in theirs]
    newer = house.run("looseleaf/update-pipeline", pipeline=made["id"], steps=theirs)
    for action in ("steps:up:1", "steps"):
        answer = browser.post(address, data={**form, "action": action})
        assert answer.status_code == 409, action
        assert "changed elsewhere since you opened" in answer.text
        rows = read_rows(answer.text)
        assert ("2. Mine: Name of step 2", "Write", "Mine") in rows
        assert ("2. Mine: Prompt", "Theirs.", "Write it.") in rows
        assert ("Order", "empty", "3. Input") in rows
        assert house.run("looseleaf/show-pipeline", pipeline=made["id"])["hash"] == newer["hash"]
    form = read_form(answer.text, "steps-form") | {"csrf": csrf, "action": "steps"}
    assert (form["s1.label"], form["s1.set.prompt"]) == ("Mine", "Write it.")
    assert browser.post(address, data=form).status_code == 303
    steps = house.run("looseleaf/show-pipeline", pipeline=made["id"])["steps"]
    assert [step["settings"].get("text") for step in steps] == ["one", None, "two"]


def test_steps_that_another_adds_are_not_taken_out(house: Site) -> None:
    """An older tab's save shows them first; a form with nothing else than they have is saved."""
    made = house.run("looseleaf/create-pipeline", agent="ada", name="News", steps=STEPS)
    address = f"{PIPELINES}/{made['id']}"
    browser, csrf = house.sign_in()
    older = read_form(browser.get(address).text, "steps-form") | {"csrf": csrf, "action": "steps"}
    rows = [{key: step[key] for key in ("id", *STEPS[0])} for step in made["steps"]]
    house.run("looseleaf/update-pipeline", pipeline=made["id"], steps=[*rows, {"type": "ai"}])
    answer = browser.post(address, data=older)
    assert answer.status_code == 409
    assert read_rows(answer.text) == [("Order", "3. AI", "empty")]
    assert len(house.run("looseleaf/show-pipeline", pipeline=made["id"])["steps"]) == 3
    house.run("looseleaf/update-pipeline", pipeline=made["id"], steps=rows, memory_files=[])
    assert browser.post(address, data=older).status_code == 303


def test_settings_of_a_flow_stay_with_their_steps(house: Site) -> None:
    """The steps change places while the form is open: both orders are shown, and nothing moves."""
    made = house.run("looseleaf/create-pipeline", agent="ada", name="News", steps=[STEPS[1]] * 2)
    house.run("looseleaf/create-flow", pipeline=made["id"], name="Morning")
    flow = "/admin/agents/ada/flows/1"
    browser, csrf = house.sign_in()
    form = read_form(browser.get(flow).text, "settings-form") | {"csrf": csrf, "action": "steps"}
    form["s0.set.prompt"] = "For the first one."
    first, second = ({key: step[key] for key in ("id", *STEPS[0])} for step in made["steps"])
    second["label"] = "Second"
    house.run("looseleaf/update-pipeline", pipeline=made["id"], steps=[second, first])
    answer = browser.post(flow, data=form)
    assert answer.status_code == 409
    assert ("2. Write: Prompt", "empty", "For the first one.") in read_rows(answer.text)
    again = read_form(answer.text, "settings-form") | {"csrf": csrf, "action": "steps"}
    assert again["s1.set.prompt"] == "For the first one."
    assert browser.post(flow, data=again).status_code == 303
    settings = house.run("looseleaf/show-flow", flow=1)["step_settings"]
    assert settings == {first["id"]: {"prompt": "For the first one."}}


def test_a_whole_workflow_without_json(house: Site, open_tab: OpenTab) -> None:
    """Three steps by fields and keys alone, moved, tried, and the results seen."""
    page = open_tab(house).open(PIPELINES)
    page.get_by_label("New pipeline").fill("Album news")
    page.get_by_role("button", name="Create it").click()
    steps = page.locator("fieldset.step:has(input[name$='.type'])")
    page.get_by_role("button", name="AI", exact=True).press("Enter")
    steps.nth(0).wait_for()
    page.get_by_role("button", name="Input", exact=True).press("Enter")
    steps.nth(1).wait_for()
    assert "Not saved yet" in page.locator("#unsaved").inner_text()
    page.get_by_role("button", name=re.compile("Earlier.*step 2")).press("Enter")
    first = steps.nth(0)
    first.get_by_label("Source").wait_for()
    assert first.get_by_label("Address", exact=True).is_visible() is False
    first.get_by_label("Source").select_option("feed")
    assert first.get_by_label("Address", exact=True).is_visible()
    first.get_by_label("Source").select_option("text")
    first.get_by_label("Text", exact=True).fill("Blue came out in 1971.")
    page.get_by_role("button", name="Memory update").press("Enter")
    steps.nth(2).wait_for()
    assert steps.nth(0).get_by_label("Text", exact=True).input_value() == "Blue came out in 1971."
    steps.nth(1).get_by_label("Prompt").fill("Write one line about it.")
    steps.nth(2).get_by_label("Place").select_option("section")
    steps.nth(2).get_by_label("Section", exact=True).fill("Albums")
    page.get_by_role("button", name="Save the steps").last.click()
    assert "The steps are saved" in page.locator(".note.good").inner_text()
    stored = house.run("looseleaf/show-pipeline", pipeline=1)["steps"]
    assert [step["type"] for step in stored] == ["input", "ai", "memory_update"]
    page.get_by_role("button", name="Try it").click()
    page.locator(".note.good", has_text="tries Album news once").wait_for()
    jobs = jobs_of(house.workspace)
    wait_until(lambda: house.run("datamachine/get-jobs")["total"] == 1)  # the form is sent
    jobs.start_worker()
    wait_until(lambda: jobs.jobs.find(1).is_final)
    jobs.close()
    page.reload()
    assert jobs.jobs.find(1).status == "completed"
    assert "Write one line about it." in page.content()
    content = house.run("datamachine/get-agent-file", file="MEMORY.md", agent="ada")["content"]
    assert "## Albums" in content
