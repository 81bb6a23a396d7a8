"""Steps of Data Machine as steps here: by type, by handler, and what has no equivalent."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf.features.bundles.datamachine import map_flow_step, map_pipeline_step, map_step_type


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            {
                "handler_slugs": ["rss"],
                "handler_configs": {"rss": {"feed_url": "https://a.test/f"}},
            },
            {"source": "feed", "url": "https://a.test/f"},
        ),
        (
            {
                "handler_slug": "wordpress_api",
                "handler_config": {"endpoint_url": "https://a.test/j"},
            },
            {"source": "json", "url": "https://a.test/j"},
        ),
        ({"handler_slugs": ["files"], "handler_configs": []}, {"source": "files"}),
        ({"handler_slugs": ["webhook_payload"]}, {"source": "packet"}),
    ],
)
def test_sources_with_an_equal(step: dict[str, Any], expected: dict[str, Any]) -> None:
    """Both ways in which sites keep the handler of a step."""
    mapped = map_flow_step({"step_type": "fetch", **step}, "paper")
    assert (dict(mapped.settings), mapped.problems) == (expected, ())


@pytest.mark.parametrize(
    "address",
    ["https://ines:s3cretpass@a.test/feed", "https://a.test/f?api_key=Zx81kQpm47TbnE2r"],
)
def test_an_address_with_a_secret_stays_away(address: str) -> None:
    """Its name is in the report, its value is not."""
    config = {"rss": {"feed_url": address}}
    step = {"step_type": "fetch", "handler_slugs": ["rss"], "handler_configs": config}
    mapped = map_flow_step(step, "paper")
    assert mapped.settings == {"source": "feed"}
    assert mapped.problems == ("feed_url holds a secret, which is not imported",)


def test_a_step_without_an_equal_waits_for_a_person() -> None:
    """The pipeline keeps its form, and the report says what the step lacks."""
    fetch = {"step_type": "fetch", "handler_slugs": ["reddit"], "handler_configs": {}}
    assert "reddit" in map_flow_step(fetch, "paper").problems[0]
    upsert = {"step_type": "upsert", "handler_slugs": ["wordpress_update"], "handler_configs": {}}
    mapped = map_flow_step(upsert, "paper")
    assert mapped.settings == {}
    assert "stops the job" in mapped.problems[0]
    assert map_pipeline_step(upsert).settings == {"target": "file"}
    assert map_flow_step({"step_type": "fetch"}, "paper").problems


def test_gates_and_tasks() -> None:
    """Hours become seconds within the limits; the parameters of a task do not come along."""
    gate = {"step_type": "webhook_gate", "handler_config": {"timeout_hours": 2}}
    assert map_flow_step(gate, "paper").settings == {"expires_seconds": 7_200}
    gate["handler_config"] = {"timeout_hours": 10_000}
    assert map_flow_step(gate, "paper").settings == {"expires_seconds": 2_592_000}
    task = {
        "step_type": "system_task",
        "handler_config": {"task_type": "daily_memory", "params": {"key": "x"}},
    }
    mapped = map_flow_step(task, "paper")
    assert mapped.settings == {"task_type": "daily_memory"}
    assert "credentials" in mapped.problems[0]


@pytest.mark.parametrize("step_type", [None, 3, ["ai"], "agent_ping", ""])
def test_other_types(step_type: object) -> None:
    """There is none here."""
    assert map_step_type(step_type) == ""
