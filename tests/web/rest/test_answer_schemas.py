"""What the server answers is what its schemas say: every operation, by three ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, meta

from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_result_schema
from looseleaf.web.rest.abilities import ABILITIES, OPERATIONS
from looseleaf.web.rest.answer_schemas import build_endpoint_schema, build_run_schema, name_schemas
from looseleaf.web.rest.plugin_answers import SHAPES
from tests.catalog.test_json_schema import CALLS, prepare_folders, run_until_waiting
from tests.web.fixtures import ENDPOINTS, Opens

# What is for the operator at the command line, and ends what the test stands on.
LOCAL = {"looseleaf/compose-files", "looseleaf/export-pages", "looseleaf/export-block"}


@pytest.mark.parametrize("route", ["run", "operations"])
def test_every_operation_answers_as_its_schema_says(
    opens: Opens, tmp_path: Path, route: str
) -> None:
    """In the plugin's shape, and in our own envelope; the site checks each answer itself."""
    site = opens(
        daily_memory_enabled=True,
        default_model="echo",
        default_agent="ada",
        backup_folder=str(tmp_path / "backups"),
        import_folders=(str(tmp_path),),
    )
    known = prepare_folders(Path(site.workspace.root))
    browser, csrf = site.sign_in()
    asked = set()
    for name, given in CALLS:
        if name in LOCAL or (route == "run" and given.get("date") == "2001-01-01"):
            continue  # the plugin answers a day without a page by 404
        filled = {
            key: known[item[1:-1]] if isinstance(item, str) and item[:1] == "{" else item
            for key, item in given.items()
        }
        if name == "looseleaf/show-gate-address":
            run_until_waiting(site.workspace, filled["job"])
        path = f"{ABILITIES}/{name}/run" if route == "run" else f"{OPERATIONS}/{name}"
        answer = browser.post(path, json=filled, headers={"x-csrf-token": csrf})
        assert answer.status_code == 200, (name, answer.text)
        document = answer.json()
        whole = document.get("data", document) if route == "run" else document["data"]
        shape = (
            build_run_schema(CATALOG[name])
            if route == "run"
            else build_result_schema(CATALOG[name])
        )
        subject = document if route == "run" else whole
        faults = list(Draft202012Validator(shape).iter_errors(subject))
        assert not faults, (name, faults)
        asked.add(name)
        if isinstance(whole, dict):
            known |= whole
    assert asked == set(CATALOG) - LOCAL


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_answer_schema_is_a_schema(name: str) -> None:
    """And says more than that there is an object."""
    for shape in (build_run_schema(CATALOG[name]), build_endpoint_schema(CATALOG[name])):
        meta.validate(shape)
        assert shape["additionalProperties"] is False
        assert "success" in shape["required"]
    assert ("data" in build_run_schema(CATALOG[name])["required"]) == (name not in SHAPES)


def test_the_document_names_the_values_that_several_answers_have(opens: Opens) -> None:
    """Once each; and no answer of an endpoint has data of any kind."""
    found = opens().client.get("/openapi.json").json()
    assert {"AgentRecord", "Saved", "SessionInfo"} <= found["components"]["schemas"].keys()
    for endpoint in ENDPOINTS:
        if not endpoint.operation:
            continue
        described = found["paths"][f"/datamachine/v1{endpoint.path}"][endpoint.method.lower()]
        answer = described["responses"][str(endpoint.status)]["content"]["application/json"]
        assert answer["schema"]["properties"]["data"], endpoint.path


def test_two_values_of_one_name_stay_apart() -> None:
    """A plugin may call its value as we call ours."""
    named: dict[str, Any] = {}
    ours = {"title": "Saved", "type": "object", "required": ["hash"]}
    theirs = {"title": "Saved", "type": "object", "required": ["coins"]}
    assert name_schemas([ours, ours, theirs], named) == [
        {"$ref": "#/components/schemas/Saved"},
        {"$ref": "#/components/schemas/Saved"},
        theirs,
    ]
    assert named == {"Saved": ours}
