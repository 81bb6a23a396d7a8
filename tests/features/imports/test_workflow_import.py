"""Pipelines and flows of a site: created once, paused, followed while nobody changes them here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.features.imports import operations
from looseleaf.features.imports.ledger import ImportReport
from looseleaf.features.workflows.operations import flows, pipelines
from tests.features.bundles.datamachine_site import (
    STEPS,
    DataMachineSite,
    build_flow,
    build_pipeline,
    serve_site,
    write_settings,
)


class Case:
    """A workspace, a site, and its address in the settings."""

    def __init__(self, root: Path, site: DataMachineSite, address: str) -> None:
        self.root, self.site, self.address = root, site, address
        self.workspace = Workspace.open(root)
        self.context = self.workspace.context

    def run(self) -> ImportReport:
        """Preview and run an import, and hold the run to the preview."""
        preview = operations.preview(self.context, self.address)
        report = operations.run(self.context, self.address)
        assert (preview.workflows, preview.left_out) == (report.workflows, report.left_out)
        assert preview.workflows_changed == report.workflows_changed
        return report

    def actions(self) -> dict[str, str]:
        """Import and return the action for each part."""
        return {part.source: part.action for part in self.run().workflows}


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    """Serve a site, and name it in the settings of a workspace with the agent ada."""
    root, site = tmp_path / "root", DataMachineSite()
    Workspace.create(root, agent="ada").close()
    with serve_site(site) as server:
        case = Case(root, site, write_settings(root, server))
        yield case
        case.workspace.close()


def test_a_pipeline_arrives_with_its_flow(case: Case) -> None:
    """Steps in order, prompts, memory files, handlers without secrets; the schedule is paused."""
    report = case.run()
    assert [(part.action, part.kind, part.owner, part.name) for part in report.workflows] == [
        ("create", "pipeline", "scout", "weekly-review"),
        ("create", "flow", "scout", "weekly-review/monday"),
    ]
    assert report.workflows[1].reason == "its schedule (daily) is paused until it is enabled"
    stored = pipelines.show_pipeline(case.context, "weekly-review")
    assert (stored.name, stored.agent) == ("Weekly review", "scout")
    assert stored.system_prompt == "Write a review of each record."
    assert stored.memory_files == ("strategy.md",)
    assert [step.type for step in stored.steps] == ["input", "ai", "publish"]
    assert stored.steps[1].settings == {
        "disabled_tools": ["web_fetch"],
        "persist_transcripts": True,
    }
    [monday] = flows.list_flows(case.context, pipeline=stored.id)
    assert (monday.schedule.interval, monday.schedule.enabled) == ("daily", False)
    assert (monday.prompt_queue, monday.queue_mode) == (("Review the new records.",), "loop")
    assert monday.memory_files == ("monday.md",)
    assert monday.step_settings == {
        STEPS["fetch"]: {
            "source": "feed",
            "url": "https://records.example.com/feed",
            "max_items": 3,
        },
        STEPS["publish"]: {"target": "wordpress", "site": "paper", "status": "draft"},
    }


def test_everything_without_an_equal_is_named(case: Case) -> None:
    """The step, the handler and the setting; no value of a secret stands in the report."""
    report = case.run()
    reasons = {entry.source: entry.reason for entry in report.left_out}
    assert "agent_ping" in reasons["pipeline 5: step 5_ping"]
    assert "core page" in reasons["pipeline 5: memory file SOUL.md"]
    assert "pipeline 5: memory file ../secret.md" in reasons
    texts = [f"{entry.source} {entry.reason}" for entry in report.left_out]
    assert any("search" in text and "api_key" in text for text in texts)
    assert any("twitter_publish" in text for text in texts)
    assert "pipeline 5, flow 7: step 1 (Feed)" in reasons
    assert any("completion_assertions" in text for text in texts)
    assert "conversations" in reasons["chats"]
    assert "sk-live" not in str(report)
    assert "not to be seen" not in str(report)


def test_a_second_import_changes_nothing(case: Case) -> None:
    """No duplicate, whatever a person has done with schedule and queue meanwhile."""
    case.run()
    flows.update_flow(case.context, "weekly-review/monday", prompt_queue=("Mine",))
    report = case.run()
    assert {part.action for part in report.workflows} == {"unchanged"}
    assert len(pipelines.list_pipelines(case.context)) == 1
    [monday] = flows.list_flows(case.context)
    assert monday.prompt_queue == ("Mine",)


def test_an_import_that_was_killed_is_completed(case: Case) -> None:
    """It has left a pipeline and no ledger; the next import knows it again and adds its flow."""
    case.run()
    flow_id = flows.list_flows(case.context)[0].id
    (case.root / ".looseleaf/upkeep/imports").rename(case.root / "forgotten")
    assert set(case.actions().values()) == {"unchanged"}
    flows.delete_flow(case.context, flow_id)
    (case.root / ".looseleaf/upkeep/imports").rename(case.root / "forgotten again")
    assert case.actions() == {"pipeline 5": "unchanged", "flow 7": "create"}
    assert len(pipelines.list_pipelines(case.context)) == 1


def test_a_change_of_the_source_arrives(case: Case) -> None:
    """If nobody changed the definition here; a new flow is added."""
    case.run()
    changed = build_pipeline()
    changed["pipeline_config"][STEPS["ai"]]["system_prompt"] = "Write two lines."
    second = {**build_flow(), "flow_id": 8, "flow_name": "Friday"}
    case.site.pipelines = {5: (changed, [build_flow(), second])}
    assert case.actions() == {"pipeline 5": "replace", "flow 7": "unchanged", "flow 8": "create"}
    stored = pipelines.show_pipeline(case.context, "weekly-review")
    assert stored.system_prompt == "Write two lines."
    assert case.actions() == {
        "pipeline 5": "unchanged",
        "flow 7": "unchanged",
        "flow 8": "unchanged",
    }


def test_what_was_changed_here_stays(case: Case) -> None:
    """The report says so; a definition that was deleted here does not come back."""
    case.run()
    pipelines.update_pipeline(case.context, "weekly-review", system_prompt="Ours.")
    changed = build_pipeline()
    changed["pipeline_config"][STEPS["ai"]]["system_prompt"] = "Theirs."
    case.site.pipelines = {5: (changed, [build_flow()])}
    reasons = {entry.source: entry.reason for entry in case.run().left_out}
    assert "changed here" in reasons["pipeline 5"]
    assert pipelines.show_pipeline(case.context, "weekly-review").system_prompt == "Ours."
    pipelines.delete_pipeline(case.context, "weekly-review")
    reasons = {entry.source: entry.reason for entry in case.run().left_out}
    assert "deleted here" in reasons["pipeline 5"]
    assert pipelines.list_pipelines(case.context) == []


def test_a_namesake_is_not_touched(case: Case) -> None:
    """A flow of another pipeline with the same slug keeps its own; a pipeline is not replaced."""
    operations.run(case.context, case.address, source_agent="ada")  # creates no pipeline
    case.run()
    pipelines.delete_pipeline(case.context, "weekly-review")
    (case.root / ".looseleaf/upkeep/imports").rename(case.root / "forgotten")
    mine = pipelines.create_pipeline(case.context, "A first one", agent="scout")
    flows.create_flow(case.context, mine.id, "Monday")
    report = case.run()
    assert [part.name for part in report.workflows] == ["weekly-review", "weekly-review/monday-2"]
    pipelines.update_pipeline(case.context, "weekly-review", system_prompt="Ours.")
    (case.root / ".looseleaf/upkeep/imports").rename(case.root / "forgotten again")
    reasons = {entry.source: entry.reason for entry in case.run().left_out}
    assert "another one of this name" in reasons["pipeline 5"]


def test_a_pipeline_that_cannot_be_stored_is_left_out(case: Case) -> None:
    """With the reason; the others arrive."""
    odd = build_pipeline() | {"pipeline_id": 6, "portable_slug": "odd"}
    odd["pipeline_config"] = {"6_a": {"step_type": "publish", "execution_order": 0}}
    case.site.pipelines[6] = (odd, [])
    report = case.run()
    assert "do not fit" in {entry.source: entry.reason for entry in report.left_out}["pipeline 6"]
    assert report.workflows_changed == 2
    assert report.failed == 0


@pytest.mark.parametrize(
    ("scheduling", "expected"),
    [
        ({"interval": "manual"}, ("manual", "", "")),
        ({"interval": "cron", "cron_expression": "0 6 * * 1"}, ("cron", "0 6 * * 1", "")),
        ({"interval": "one_time", "timestamp": 1_800_000_000}, ("one_time", "", "2027-01-15")),
        ({"interval": "every_90_minutes", "interval_seconds": 5_400}, ("5400s", "", "")),
        ({"interval": "whenever"}, ("manual", "", "")),
        ({"interval": ["x"]}, ("manual", "", "")),
    ],
)
def test_schedules(
    case: Case, scheduling: dict[str, object], expected: tuple[str, str, str]
) -> None:
    """Each kind, always paused; one that is not known becomes manual and is named."""
    case.site.pipelines = {5: (build_pipeline(), [build_flow(**scheduling)])}
    report = case.run()
    [monday] = flows.list_flows(case.context)
    assert (monday.schedule.interval, monday.schedule.cron) == expected[:2]
    assert monday.schedule.at.startswith(expected[2])
    assert not monday.schedule.enabled
    is_named = any("becomes manual" in entry.reason for entry in report.left_out)
    assert is_named == (scheduling["interval"] in ("whenever", ["x"]))


def test_a_site_without_a_right_to_pipelines(case: Case) -> None:
    """Its pages are imported, and the report says what is missing."""
    case.site.refused = ("/pipelines",)
    report = case.run()
    assert report.workflows == ()
    assert any(entry.source == "pipelines and flows" for entry in report.left_out)
    assert report.changed > 0
