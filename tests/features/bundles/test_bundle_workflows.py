"""A bundle as Data Machine writes one is installed, and what has no equivalent is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.features.bundles.datamachine import NOT_TAKEN
from tests.features.bundles.agents_of import encode, files_of

AGENT = {
    "slug": "wiki-bot",
    "label": "Wiki Bot",
    "description": "Writes the wiki.",
    "agent_config": {
        "memory_policy": {"mode": "deny", "deny": ["MEMORY.md", "USER.md"]},
        "mode_models": {"chat": {"provider": "openai", "model": "gpt-5"}},
    },
    "site_scope": 1,
    "skills": ["skills/a/SKILL.md"],
}
INCLUDED = {
    "memory": ["USER.md", "agent/MEMORY.md", "agent/SOUL.md", "agent/daily/2026/04/01.md"],
    "pipelines": ["news"],
    "flows": ["morning"],
    "auth_refs": ["rss.json"],
    "handler_auth": "refs",
}
MANIFEST = {
    "schema_version": 1,
    "bundle_slug": "wiki",
    "bundle_version": "1.2.0",
    "source_ref": "",
    "source_revision": "",
    "exported_at": "2026-05-01T00:00:00+00:00",
    "exported_by": "data-machine/0.175.11",
    "agent": AGENT,
    "included": INCLUDED,
}
PIPELINE = {
    "schema_version": 1,
    "slug": "news",
    "name": "News",
    "steps": [
        {"step_position": 0, "step_type": "fetch", "step_config": {"label": "Get"}},
        {"step_position": 1, "step_type": "ai", "step_config": {"system_prompt": "You write."}},
        {"step_position": 2, "step_type": "publish", "step_config": []},
        {"step_position": 3, "step_type": "", "step_config": ["brand.md", "SOUL.md"]},
    ],
}
FLOW = {
    "schema_version": 1,
    "slug": "morning",
    "name": "Morning",
    "pipeline_slug": "news",
    "schedule": "daily",
    "max_items": [],
    "steps": [
        {
            "step_position": 0,
            "step_type": "fetch",
            "handler_slugs": ["rss"],
            "handler_configs": {"rss": {"feed_url": "https://example.org/feed", "filter": "x"}},
        },
        {
            "step_position": 1,
            "step_type": "ai",
            "handler_configs": [],
            "enabled_tools": [],
            "prompt_queue": [{"prompt": "Go on.", "added_at": "2026-05-01"}],
            "queue_mode": "loop",
        },
        {
            "step_position": 2,
            "step_type": "publish",
            "handler_slugs": ["wordpress_publish"],
            "handler_configs": {"wordpress_publish": {"post_status": "draft"}},
        },
    ],
}


def write(document: dict[str, Any]) -> bytes:
    """Write JSON as PHP does."""
    return json.dumps(document, indent=4).encode() + b"\n"


@pytest.fixture
def files() -> dict[str, bytes]:
    """Return the files of the bundle."""
    return {
        "manifest.json": write(MANIFEST),
        "memory/USER.md": b"# Human\n",
        "memory/agent/SOUL.md": b"# Wiki\r\n",
        "memory/agent/MEMORY.md": b"# Known\n",
        "memory/agent/daily/2026/04/01.md": b"# 2026-04-01\n\nStarted.\n",
        "pipelines/news.json": write(PIPELINE),
        "flows/morning.json": write(FLOW),
        "auth-refs/rss.json": b"{}\n",
        "skills/a/SKILL.md": b"# Skill\n",
        "evals/one.md": b"Is it true?\n",
    }


def test_a_bundle_of_data_machine_is_installed(files: dict[str, bytes], tmp_path: Path) -> None:
    """Steps, prompts, queue, memory files and schedule have equals.

    A pipeline that publishes waits with all that belongs to it; the schedule waits longer.
    """
    with Workspace.create(tmp_path, agent="main") as workspace:
        context = workspace.context
        result = invoke(context, "looseleaf/install-bundle", {"data": encode(files)})
        waiting = ["pipeline:news", "flow:morning", "schedule:morning", "queue:morning"]
        assert [key.replace("seed_queue", "queue") for key in result["waiting"]] == waiting
        assert invoke(context, "looseleaf/list-pipelines", {}) == []
        keys = {"agent": "wiki-bot", "keys": ["pipeline:news", "flow:morning"]}
        decision = invoke(context, "looseleaf/approve-upgrade", keys)
        assert decision["waiting"] == ["schedule:morning"]
        pipeline = invoke(context, "looseleaf/show-pipeline", {"pipeline": "news"})
        types = [(step["id"], step["type"]) for step in pipeline["steps"]]
        assert types == [("step-0", "input"), ("step-1", "ai"), ("step-2", "publish")]
        assert pipeline["system_prompt"] == "You write."
        assert pipeline["memory_files"] == ["brand.md"]
        flow = invoke(context, "looseleaf/show-flow", {"flow": "morning"})
        assert flow["step_settings"] == {
            "step-0": {"source": "feed", "url": "https://example.org/feed"},
            "step-2": {"target": "wordpress", "site": "bundle", "status": "draft"},
        }
        assert (flow["prompt_queue"], flow["queue_mode"]) == (["Go on."], "loop")
        assert flow["schedule"]["interval"] == "daily"
        assert flow["schedule"]["enabled"] is False


def test_nothing_of_it_is_lost_without_a_word(files: dict[str, bytes], tmp_path: Path) -> None:
    """An export has its pages and kept fields, names what was not taken, and goes on unchanged."""
    arguments = {"agent": "wiki-bot", "profile": "backup"}
    with Workspace.create(tmp_path / "first", agent="main") as workspace:
        approve = ["pipeline:news", "flow:morning"]
        install = {"data": encode(files), "approve": approve}
        waiting = invoke(workspace.context, "looseleaf/install-bundle", install)["waiting"]
        assert waiting == ["schedule:morning"]
        first = invoke(workspace.context, "looseleaf/export-bundle", arguments)
        again = {"data": encode(files), "agent": "wiki-bot"}
        counts = invoke(workspace.context, "looseleaf/upgrade-bundle", again)["counts"]
        assert (counts["auto_apply"], counts["needs_approval"]) == (0, 1)  # the schedule waits on
    exported = files_of(first["data"])
    workflows = {"pipelines/news.json", "flows/morning.json", "manifest.json"}
    assert {path for path in files if exported[path] != files[path]} == workflows
    assert json.loads(exported["manifest.json"])["agent"] == AGENT
    notes = json.loads(exported[NOT_TAKEN])["not_taken"]
    core = "memory file SOUL.md: it is a core page here, which every prompt has already"
    assert notes == [
        f"pipelines/news.json: {core}",
        "flows/morning.json: step 1 (Get): settings of its handler rss without an equal: filter",
    ]
    with Workspace.create(tmp_path / "second", agent="main") as workspace:
        elsewhere = {"data": first["data"], "approve": approve}
        invoke(workspace.context, "looseleaf/install-bundle", elsewhere)
        second = invoke(workspace.context, "looseleaf/export-bundle", arguments)
    assert second["hash"] == first["hash"]
