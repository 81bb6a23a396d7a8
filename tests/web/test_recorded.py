"""The requests recorded from the original plugin, sent in order to a real server of ours.

Every answer has the recorded status and fields, or stands on the list of differences with the
decision that explains it. A difference that is not listed fails, and so does one that is gone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from looseleaf.catalog.dispatch import invoke
from looseleaf.web.rest.plugin_answers import SHAPES
from tests.web.fixtures import Opens, Site
from tests.web.recorded import DIFFERENCES, PLUGIN_PIPELINE, RECORDED, Pair, Setup

REST = "/wp-json/datamachine/v1"
RUN = "/wp-json/wp-abilities/v1/abilities/datamachine"
KINDS: dict[str, tuple[type, ...]] = {
    "": (str,),
    "i": (int,),
    "b": (bool,),
    "l": (list,),
    "o": (dict,),
    "n": (type(None),),
}


@pytest.fixture
def people(opens: Opens) -> tuple[Site, dict[str, str]]:
    """Serve a workspace with the users and agents of the recording; return a token for each."""
    site = opens(default_agent="ada")
    for login in ("subscriber", "editor", "second", "stranger"):
        site.user(login, capabilities=["manage_options"] if login == "second" else [])
    for slug in ("writer-bot", "archive-bot"):
        site.run("looseleaf/create-agent", slug=slug, owner=1)
    users = {"admin": 1, "subscriber": "subscriber", "editor": "editor", "stranger": "stranger"}
    tokens = {who: site.token(user=user) for who, user in users.items()}
    tokens |= {"": "", "foreign": "something", "writer-bot": site.token(agent="writer-bot")}
    return site, tokens


def send(site: Site, tokens: dict[str, str], pair: Pair) -> tuple[int, Any]:
    """Send a recorded request; return the status and the JSON of the answer."""
    method, _, path = pair.call.rpartition(" ")
    more: dict[str, Any] = {}
    if not method:
        method, path = "POST", f"{RUN}/{pair.call}/run"
        more["json"] = {} if pair.body is ... else {"input": pair.body}
    else:
        path = path if path.startswith(("/wp-", "/?", "/index.php")) else REST + path
        if isinstance(pair.body, str):
            more = {"content": pair.body.encode(), "headers": {"content-type": "text/plain"}}
        elif pair.body is not None:
            more["json"] = pair.body
    answer = site.ask(method, path, tokens[pair.sender], **more)
    is_json = answer.headers["content-type"].startswith("application/json")
    return answer.status_code, answer.json() if is_json else None


def missing_fields(document: Any, fields: str) -> list[str]:  # noqa: ANN401 - any JSON
    """Name the fields that an answer has not, or has as another type."""
    wrong = []
    for field in fields.split():
        name, _, kind = field.partition(":")
        found = document
        for part in name.split("."):
            inside = found[int(part)] if isinstance(found, list) else found.get(part, ...)
            found = inside
            if found is ...:
                break
        if type(found) not in KINDS[kind]:
            wrong.append(f"{field} is {found!r:.60}")
    return wrong


def test_the_recorded_requests_get_the_recorded_answers(
    people: tuple[Site, dict[str, str]],
) -> None:
    """In order, each with its status and its fields."""
    site, tokens = people
    wrong = []
    for step in RECORDED:
        if isinstance(step, Setup):
            invoke(site.workspace.context, step.operation, step.arguments)
            continue
        status, document = send(site, tokens, step)
        expected, why = DIFFERENCES.get(step.id, (step.status, ""))
        lacks = [] if why else missing_fields(document, step.fields)
        if status != expected or lacks:
            wrong.append(
                f"{step.id} {step.call}: {status}, not {expected}: {lacks} {document!r:.200}"
            )
        elif why and status == step.status and not missing_fields(document, step.fields):
            wrong.append(f"{step.id}: there is no difference any more; take it off the list")
    assert not wrong, "\n".join(wrong)


def test_every_pair_is_sent_once_and_every_difference_is_one_of_them() -> None:
    """So that none is lost, and no reason is stale."""
    ids = [step.id for step in RECORDED if isinstance(step, Pair)]
    assert len(ids) == len(set(ids))
    assert set(DIFFERENCES) <= set(ids)
    assert len(ids) == 119


def test_every_difference_has_its_decision_in_the_docs() -> None:
    """Whoever comes from the plugin finds each of them there, in the same words."""
    page = (Path(__file__).parents[2] / "docs/wordpress.md").read_text(encoding="utf-8")
    missing = sorted({why for _, why in DIFFERENCES.values() if why not in page})
    assert not missing, "\n".join(missing)


def test_steps_of_the_plugin_become_ours(people: tuple[Site, dict[str, str]]) -> None:
    """In the order of their numbers, with the settings that do nothing outside; ours stay ours."""
    site, tokens = people
    created = site.ask("POST", f"{REST}/pipelines", tokens["admin"], json=PLUGIN_PIPELINE)
    steps = [
        {key: step[key] for key in ("type", "label", "settings")}
        for step in created.json()["data"]["steps"]
    ]
    assert steps == [
        {"type": "input", "label": "Read the feed", "settings": {"source": "text"}},
        {"type": "ai", "label": "Write", "settings": {}},
        {"type": "publish", "label": "", "settings": {"target": "file"}},
    ]
    path = f"{REST}/pipelines/{created.json()['data']['pipeline_id']}"
    update = {"steps": [{"step_type": "ai", "label": "Alone"}]}
    updated = site.ask("PATCH", path, tokens["admin"], json=update)
    assert [step["label"] for step in updated.json()["data"]["steps"]] == ["Alone"]
    for step, place in (
        ({"step_type": "none"}, "none"),
        ({"step_type": 1}, "steps[0]"),
        (1, "[0]"),
    ):
        refused = site.ask("PATCH", path, tokens["admin"], json={"steps": [step]})
        assert refused.status_code == 400
        assert place in refused.json()["message"]


def test_every_ability_of_the_plugin_and_of_the_seeds_has_its_shape(site: Site) -> None:
    """An operation of that name cannot be added without one."""
    names = {operation.name for operation in site.workspace.operations().all()}
    plugins = {name for name in names if name.startswith(("datamachine/", "memory_"))}
    assert plugins == set(SHAPES)
