"""A pipeline of Data Machine as files of a bundle, whatever JSON the site gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidBundle
from looseleaf.features.bundles.bundle import (
    format_flow,
    format_pipeline,
    parse_flow,
    parse_pipeline,
)
from looseleaf.features.bundles.datamachine import PipelineReader, SourceSite, read_id
from looseleaf.features.bundles.source_tree import NotImported
from looseleaf.memory.registry import FileRegistry
from tests.features.bundles.datamachine_site import STEPS, build_flow, build_pipeline

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def reader() -> tuple[PipelineReader, list[NotImported]]:
    """Return a reader and the list that it notes to."""
    left_out: list[NotImported] = []
    return PipelineReader(SourceSite("paper", FileRegistry()), left_out), left_out


def test_several_system_prompts_stand_together() -> None:
    """A step has its own there; here they stand under their labels, and the report says so."""
    document = build_pipeline()
    second = {"step_type": "ai", "execution_order": 4, "label": "Editor", "system_prompt": "Edit."}
    document["pipeline_config"]["5_editor"] = second
    read, left_out = reader()
    source = read.read_pipeline(document, [], "scout", [])
    assert source is not None
    prompt = source.pipeline.system_prompt
    assert prompt == "## Writer\n\nWrite a review of each record.\n\n## Editor\n\nEdit."
    assert any(entry.source == "pipeline 5: system prompts" for entry in left_out)


def test_a_second_queue_gives_its_first_prompt() -> None:
    """A flow has one queue here."""
    document, second_flow = build_pipeline(), build_flow()
    document["pipeline_config"]["5_b"] = {"step_type": "ai", "execution_order": 4}
    queue = [{"prompt": "First"}, {"prompt": "Second"}]
    second_flow["flow_config"]["5_b_7"] = {"step_type": "ai", "prompt_queue": queue}
    read, left_out = reader()
    source = read.read_pipeline(document, [second_flow], "scout", [])
    assert source is not None
    flow = source.flows[0]
    assert [entry.prompt for entry in flow.prompt_queue] == ["Review the new records."]
    assert flow.step_settings["5_b"] == {"prompt": "First"}
    assert any("one queue" in entry.reason for entry in left_out)


def test_slugs_that_are_taken_get_a_number() -> None:
    """Two pipelines of one name stay two."""
    read, _ = reader()
    source = read.read_pipeline(
        build_pipeline(), [build_flow(), {**build_flow(), "flow_id": 8}], "", ["weekly-review"]
    )
    assert source is not None
    assert source.pipeline.slug == "weekly-review-2"
    assert [flow.slug for flow in source.flows] == ["monday", "monday-2"]


@given(st.dictionaries(st.sampled_from([*STEPS.values(), "memory_files", "x"]), JSON), JSON, JSON)
def test_any_json_is_read(config: dict[str, Any], flow_config: Any, scheduling: Any) -> None:  # noqa: ANN401
    """Odd answers give files that a bundle could have, or notes; never an error of the program."""
    document = {"pipeline_id": 5, "pipeline_name": "x", "pipeline_config": config}
    fields = {"flow_id": 7, "flow_config": flow_config, "scheduling_config": scheduling}
    read, _ = reader()
    source = read.read_pipeline(document, [fields, scheduling], "", [])
    assert source is not None
    slug = source.pipeline.slug
    try:
        parse_pipeline(f"pipelines/{slug}.json", format_pipeline(source.pipeline, slug))
        for flow in source.flows:
            file = format_flow(flow, flow.slug, source.pipeline, slug)
            parse_flow(f"flows/{flow.slug}.json", file)
    except InvalidBundle:
        pass  # the import leaves it out, with this reason


def test_ids() -> None:
    """A number above 0, as JSON or as text."""
    assert [read_id(item) for item in (3, "3", 0, -1, "", "x", True, None, 3.0, "٣")] == [
        *(3, 3),
        *[0] * 8,
    ]
