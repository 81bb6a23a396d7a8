"""Every operation declares its result, and what it gives is exactly what the schema says."""

from __future__ import annotations

import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema_rs import Draft202012Validator, meta

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_result_schema, build_type_schema
from looseleaf.catalog.signature import (
    ANYTHING,
    Field,
    Items,
    Plain,
    Record,
    Row,
    Table,
    Union,
    read_result_type,
)
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.remote.context import build_result
from tests.features.imports.sources import OPENCLAW, write_tree

if TYPE_CHECKING:
    from looseleaf.catalog.signature import Type

# Results that are free inside: what people put into an agent's configuration.
FREE = {("AgentRecord", "config"), ("BundleReport", "agent_config")}
FREE |= {(kind, "settings") for kind in ("Step", "StepFile")}
FREE |= {(kind, "tool_policy") for kind in ("PipelineDocument", "PipelineFile")}
FREE |= {
    (kind, field)
    for kind in ("FlowDocument", "FlowFile")
    for field in ("step_settings", "run_artifacts")
}
FREE |= {("StepTypeInfo", "settings_schema")}  # a JSON schema
FREE |= {("RunInfo", "details")}
FREE |= {("RunArtifacts", "run_artifact_egress_policy")}
FREE |= {("PacketInfo", "data"), ("PacketInfo", "metadata")}  # each type has a schema of its own
DAY = {"date": "2026-04-17"}
TASK = {"task_type": "daily_memory_generation"}
PROMPT = {**TASK, "prompt_key": "daily_memory"}
TWICE = "- the same fact stands here\n" * 2
LARGE = "# Memory\n\n" + "".join(f"- fact {number} stands here\n" for number in range(2000))
Call = tuple[str, dict[str, Any]]
# In this order: a later call finds what an earlier one has written. "{name}" is what an earlier
# result has under that name.
WAITING_STEPS = [
    {"type": "ai", "settings": {"prompt": "Hello", "persist_transcripts": True}},
    {"type": "webhook_gate"},
]
CALLS: list[Call] = [
    ("datamachine/write-agent-file", {"file": "plan.md", "content": "# Plan\n\n## Next\n\n- x\n"}),
    ("datamachine/append-agent-file", {"file": "plan.md", "content": "- walk"}),
    ("datamachine/update-agent-memory", {"section": "Facts", "content": "- 1", "mode": "append"}),
    ("datamachine/upload-agent-file", {"file": "up.md", "data": b64encode(b"# Up\n").decode()}),
    ("datamachine/get-agent-memory", {}),
    ("datamachine/get-agent-memory", {"section": "Facts"}),
    ("datamachine/get-agent-file", {"file": "plan.md"}),
    ("datamachine/get-agent-file", {"file": "plan.md", "as_of": "1"}),
    ("datamachine/list-agent-memory-sections", {"file": "plan.md"}),
    ("datamachine/list-agent-files", {"daily": True}),
    ("datamachine/list-injectable-memory-files", {}),
    ("looseleaf/find-pages", {"words": "walk"}),
    ("datamachine/search-agent-memory", {"query": "walk"}),
    ("datamachine/search-agent-memory", {"query": "walk with the plan"}),
    ("looseleaf/list-recent", {"since": "2001-01-01"}),
    ("looseleaf/page-history", {"file": "plan.md"}),
    ("looseleaf/page-diff", {"file": "plan.md", "before": "1"}),
    ("looseleaf/blame-page", {"file": "plan.md"}),
    ("looseleaf/restore-page", {"file": "plan.md", "revision": "1"}),
    ("looseleaf/purge-revision", {"file": "plan.md", "revision": 1}),
    ("looseleaf/prune-history", {}),
    ("looseleaf/pack-history", {"dry_run": True}),
    ("datamachine/delete-agent-memory-section", {"file": "plan.md", "section": "Next"}),
    ("datamachine/clear-agent-file", {"file": "plan.md"}),
    ("looseleaf/move-page", {"file": "plan.md", "to": "plans/plan.md"}),
    ("datamachine/delete-agent-file", {"file": "plans/plan.md"}),
    ("datamachine/daily-memory-write", {"content": "- met", **DAY}),
    ("datamachine/daily-memory-read", DAY),
    ("datamachine/daily-memory-read", {"date": "2001-01-01"}),
    ("datamachine/daily-memory-list", {}),
    ("datamachine/search-daily-memory", {"query": "met"}),
    ("memory_short_term_add", {"content": "- left", **DAY}),
    ("memory_short_term_update", {"old": "- left", "new": "- stayed", **DAY}),
    ("memory_short_term_delete", {"old": "- stayed", **DAY}),
    ("memory_short_term_read", {"max_chars": 3, **DAY}),
    ("datamachine/daily-memory-delete", DAY),
    ("memory_long_term_add", {"content": "- three"}),
    ("memory_long_term_update", {"old": "- three", "new": "- four"}),
    ("memory_long_term_delete", {"old": "- four"}),
    ("memory_long_term_read", {"max_chars": 3}),
    *(
        ("looseleaf/compose-prompt", {"mode": "chat", "format": form})
        for form in ("json", "openai", "anthropic", "text", "hook")
    ),
    ("looseleaf/explain-prompt", {"mode": "chat"}),
    ("looseleaf/check-prompt", {"mode": "chat", "max_bytes": 10, "host": "codex"}),
    ("looseleaf/diff-prompts", {"mode": "chat", "other": {"mode": "pipeline"}}),
    ("looseleaf/diff-prompts", {"mode": "chat"}),
    ("looseleaf/compose-files", {}),
    ("datamachine/scaffold-memory-file", {}),
    ("looseleaf/show-status", {}),
    ("looseleaf/check-workspace", {"verify": True}),
    ("looseleaf/create-agent", {"slug": "eve", "config": {"prompt_budget": {"total": 9000}}}),
    ("looseleaf/list-agents", {}),
    ("looseleaf/list-models", {"agent": "ada"}),
    ("looseleaf/show-agent", {"agent": "eve"}),
    ("looseleaf/configure-agent", {"agent": "eve", "config": {"prompt_budget": None}}),
    (
        "looseleaf/preview-agent-config",
        {"agent": "eve", "config": {"memory_policy": {"mode": "deny", "deny": ["MEMORY.md"]}}},
    ),
    ("looseleaf/summarize-agents", {}),
    ("looseleaf/set-agent-status", {"agent": "eve", "status": "inactive"}),
    ("looseleaf/rename-agent", {"agent": "eve", "slug": "eva"}),
    ("looseleaf/delete-agent", {"agent": "eva", "files": True}),
    ("looseleaf/list-deleted-agents", {}),
    ("looseleaf/restore-agent", {"agent": "eva"}),
    (
        "looseleaf/create-pipeline",
        {"name": "News", "memory_files": ["up.md"], "tool_policy": {"mode": "deny"}},
    ),
    (
        "looseleaf/create-flow",
        {"pipeline": 1, "name": "Morning", "schedule": {"interval": "daily"}},
    ),
    ("looseleaf/update-pipeline", {"pipeline": "news", "steps": []}),
    ("looseleaf/update-flow", {"flow": "morning", "prompt_queue": ["Go"], "queue_mode": "drain"}),
    ("looseleaf/queue-prompt", {"flow": "morning", "prompt": "Again"}),
    ("looseleaf/list-pipelines", {}),
    ("looseleaf/list-step-types", {}),
    ("looseleaf/show-step-type", {"step_type": "input"}),
    ("looseleaf/show-pipeline", {"pipeline": "ada/news"}),
    ("looseleaf/list-pipeline-memory-files", {"pipeline": 1}),
    ("looseleaf/set-pipeline-memory-files", {"pipeline": 1, "remove": ["up.md"]}),
    ("looseleaf/list-flows", {"pipeline": "news"}),
    ("looseleaf/show-flow", {"flow": "news/morning"}),
    ("looseleaf/set-flow-memory-files", {"flow": 1, "add": ["up.md"]}),
    ("looseleaf/list-flow-memory-files", {"flow": 1}),
    ("datamachine/upload-flow-file", {"file": "a.txt", "data": "eA==", "flow": 1}),
    ("datamachine/list-flow-files", {"flow": 1}),
    ("datamachine/delete-flow-file", {"file": "a.txt", "flow": 1}),
    ("looseleaf/export-pipeline", {"pipeline": 1}),
    (
        "looseleaf/import-pipeline",
        {
            "document": {
                "schema_version": 1,
                "slug": "news",
                "name": "News",
                "flows": [{"slug": "m", "name": "M", "schedule": {"interval": "hourly"}}],
            }
        },
    ),
    ("looseleaf/export-pages", {"folder": "{target}"}),
    ("looseleaf/export-block", {"path": "{block}"}),
    ("looseleaf/list-import-sources", {}),
    ("looseleaf/detect-import", {"path": "{source}"}),
    ("looseleaf/preview-import", {"path": "{source}"}),
    ("looseleaf/run-import", {"path": "{source}"}),
    ("looseleaf/preview-bundle", {"agent": "ada", "profile": "backup"}),
    ("looseleaf/export-bundle", {"agent": "ada"}),
    ("looseleaf/inspect-bundle", {"data": "{data}"}),
    ("looseleaf/export-bundle", {"agent": "ada", "slug": "ada"}),
    ("looseleaf/plan-bundle", {"data": "{data}", "slug": "eve"}),
    ("looseleaf/export-bundle", {"agent": "ada"}),
    ("looseleaf/install-bundle", {"data": "{data}", "slug": "eve"}),
    ("looseleaf/export-bundle", {"agent": "eve"}),
    ("looseleaf/upgrade-bundle", {"data": "{data}", "agent": "eve", "dry_run": True}),
    ("looseleaf/list-bundles", {}),
    ("looseleaf/show-bundle", {"agent": "eve"}),
    ("looseleaf/export-bundle", {"agent": "eve"}),
    ("looseleaf/rebase-bundle", {"data": "{data}", "agent": "eve"}),
    ("looseleaf/export-bundle", {"agent": "eve"}),
    ("looseleaf/show-bundle-status", {"data": "{data}", "slug": "eve"}),
    ("looseleaf/list-pending-upgrades", {}),
    ("looseleaf/show-pending-upgrade", {"agent": "eve"}),
    ("looseleaf/approve-upgrade", {"agent": "eve", "keys": ["all"]}),
    ("looseleaf/export-bundle", {"agent": "ada"}),
    ("looseleaf/install-bundle", {"data": "{data}", "slug": "fay"}),
    ("looseleaf/reject-upgrade", {"agent": "fay", "keys": ["all"]}),
    ("looseleaf/delete-agent", {"agent": "fay", "files": True}),
    ("looseleaf/delete-agent", {"agent": "eve", "files": True}),
    ("looseleaf/copy-pipeline", {"pipeline": 1}),
    ("looseleaf/copy-flow", {"flow": 1, "name": "Evening"}),
    ("datamachine/execute-workflow", {"flow": 1, "request": "once"}),
    ("datamachine/get-jobs", {"status": "pending"}),
    ("datamachine/get-job", {"job": 1}),
    ("looseleaf/show-job-packets", {"job": 1}),
    ("looseleaf/pause-job", {"job": 1}),
    ("looseleaf/resume-job", {"job": 1}),
    ("looseleaf/cancel-job", {"job": 1}),
    ("looseleaf/retry-job", {"job": 1}),
    ("looseleaf/cancel-job", {"job": 1}),
    ("looseleaf/delete-job", {"job": 1}),
    ("looseleaf/list-schedules", {}),
    ("looseleaf/run-schedule", {"schedule": "flow:1"}),
    ("looseleaf/pause-schedule", {"schedule": "flow:1"}),
    ("looseleaf/resume-schedule", {"schedule": "flow:1"}),
    ("datamachine/execute-workflow", {"steps": WAITING_STEPS}),
    ("looseleaf/show-gate-address", {"job": "{job_id}"}),
    ("looseleaf/open-gate", {"job": "{job_id}", "body": {"approved": True}}),
    ("datamachine/get-run-artifacts", {"job": "{job_id}"}),
    ("looseleaf/show-job-transcript", {"job": "{job_id}"}),
    ("datamachine/hydrate-job-artifact", {"ref": "{ref}"}),
    ("looseleaf/prune-job-data", {"days": 30}),
    ("looseleaf/delete-flow", {"flow": 1}),
    ("looseleaf/delete-pipeline", {"pipeline": 1}),
    ("looseleaf/create-user", {"login": "bob", "capabilities": ["manage_agents"]}),
    ("looseleaf/list-users", {}),
    ("looseleaf/show-user", {"user": "bob"}),
    ("looseleaf/update-user", {"user": "bob", "name": "Bob"}),
    ("looseleaf/grant-role", {"agent": "ada", "user": "bob", "role": "viewer"}),
    ("looseleaf/list-grants", {"agent": "ada"}),
    ("looseleaf/revoke-role", {"agent": "ada", "user": "bob"}),
    ("looseleaf/create-token", {"user": "bob", "expires_in": 60}),
    ("looseleaf/create-token", {"agent": "ada", "user": "bob"}),
    ("looseleaf/revoke-token", {"id": "{id}"}),
    ("looseleaf/list-tokens", {"user": "bob"}),
    ("looseleaf/create-application-password", {"user": "bob"}),
    ("looseleaf/create-login-link", {"user": "bob"}),
    ("looseleaf/list-settings", {}),
    ("looseleaf/set-setting", {"name": "prompt_total_bytes", "setting": 100_000}),
    ("looseleaf/set-settings", {"settings": {"prompt_total_bytes": None}}),
    ("looseleaf/list-audit", {}),
    ("looseleaf/verify-audit", {}),
    ("looseleaf/create-backup", {}),
    ("looseleaf/verify-backup", {"name": "{name}"}),
    ("looseleaf/list-backups", {}),
    ("looseleaf/commit-pages", {}),
    ("datamachine/send-message", {"message": "Hello, Ada", "agent": "ada"}),
    ("looseleaf/continue-chat", {"session": "{session_id}"}),
    ("looseleaf/cancel-chat", {"session": "{session_id}"}),
    ("datamachine/list-chat-sessions", {}),
    ("datamachine/get-chat-session", {"session": "{session_id}"}),
    ("looseleaf/search-chat-sessions", {"query": "hello"}),
    ("looseleaf/rename-chat-session", {"session": "{session_id}", "title": "A talk"}),
    ("datamachine/mark-session-read", {"session": "{session_id}"}),
    ("datamachine/generate-session-title", {"session": "{session_id}", "force": True}),
    ("looseleaf/export-chat-session", {"session": "{session_id}"}),
    ("looseleaf/export-chat-session", {"session": "{session_id}", "format": "json"}),
    ("looseleaf/finish-chat-session", {"session": "{session_id}"}),
    ("datamachine/delete-chat-session", {"session": "{session_id}"}),
    ("looseleaf/prune-chat-sessions", {}),
    ("datamachine/append-agent-file", {"file": "ada.md", "content": TWICE, "agent": "ada"}),
    ("looseleaf/lint-memory", {"agent": "ada"}),
    ("looseleaf/fix-memory", {"agent": "ada", "file": "ada.md"}),
    ("datamachine/write-agent-file", {"file": "MEMORY.md", "content": LARGE, "agent": "ada"}),
    ("looseleaf/preview-upkeep", {"agent": "ada"}),
    ("datamachine/run-task", {**TASK, "agent": "ada", "task_params": DAY}),
    ("looseleaf/show-upkeep-run", {"agent": "ada"}),
    ("looseleaf/undo-upkeep", {"agent": "ada"}),
    ("datamachine/run-task", TASK),
    ("looseleaf/list-task-runs", {"limit": 2}),
    ("looseleaf/list-system-tasks", {}),
    ("looseleaf/show-system-status", {}),
    ("looseleaf/preview-retention", {}),
    ("looseleaf/run-retention", {"kind": "files"}),
    ("looseleaf/show-retention", {}),
    ("looseleaf/list-task-prompts", {}),
    (
        "looseleaf/set-task-prompt",
        {**PROMPT, "prompt": "Tidy {{memory_content}} ===PERSISTENT=== ===ARCHIVED==="},
    ),
    ("looseleaf/show-task-prompt", PROMPT),
    ("looseleaf/reset-task-prompt", PROMPT),
]


def test_every_operation_is_called_here() -> None:
    """A new operation asks for a line above."""
    assert {name for name, _ in CALLS} == set(CATALOG)


def run_until_waiting(workspace: Workspace, job_id: int) -> None:
    """Run jobs until one of them has come to its gate."""
    runtime = jobs_of(workspace)
    runtime.start_worker()
    deadline = time.monotonic() + 60
    try:
        while runtime.jobs.find(job_id).status != "waiting":
            assert time.monotonic() < deadline, runtime.jobs.find(job_id).status_text
            time.sleep(0.02)
    finally:
        runtime.close()


def prepare_folders(root: Path) -> dict[str, Any]:
    """Make the repository and the folders that the calls above need, and name the folders."""
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    source = write_tree(root.parent / f"{root.name}-source", OPENCLAW)
    target = root.parent / f"{root.name}-target"
    return {"source": str(source), "target": str(target), "block": f"{target}/CLAUDE.md"}


def test_what_operations_give_is_what_their_schemas_say(tmp_path: Path) -> None:
    """Each on a real workspace; and a program elsewhere makes the same of the JSON."""
    Workspace.create(tmp_path, agent="ada")
    with open(tmp_path / "looseleaf.toml", "a", encoding="utf-8") as settings:
        settings.write('daily_memory_enabled = true\ndefault_model = "echo"\nagents_md = true\n')
        settings.write('backup_folder = "backups"\n')
        settings.write('[mode_models]\nsystem = "echo"\n[providers.near]\n')
        settings.write('base_url = "http://127.0.0.1:9/v1"\n')
    known = prepare_folders(tmp_path)
    workspace = Workspace.open(tmp_path)
    context = workspace.context
    for name, given in CALLS:
        filled = {
            key: known[item[1:-1]] if isinstance(item, str) and item[:1] == "{" else item
            for key, item in given.items()
        }
        if name == "looseleaf/show-gate-address":
            run_until_waiting(workspace, filled["job"])
        result = invoke(context, name, filled)
        faults = list(Draft202012Validator(build_result_schema(CATALOG[name])).iter_errors(result))
        assert not faults, (name, faults)
        if isinstance(result, dict):
            known |= result
        build_result(CATALOG[name].run, result)


def parts(declared: Type) -> Iterator[tuple[Record | None, Field | None, Type]]:
    """Yield a type and every type in it, with the field of the record that has it."""
    yield None, None, declared
    match declared:
        case Record():
            for field in declared.fields:
                for record, inner, part in parts(field.type):
                    yield record or declared, inner or field, part
        case Items(of, _) | Table(of):
            yield from parts(of)
        case Row(several) | Union(several):
            for item in several:
                yield from parts(item)


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_no_result_is_a_dictionary_of_anything(name: str) -> None:
    """Neither the result nor a part of it, but for the few that people fill themselves."""
    for record, field, part in parts(read_result_type(CATALOG[name].run)):
        if part == Plain(ANYTHING):
            assert record is not None, name
            assert field is not None
            assert (record.kind.__name__, field.name) in FREE


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_a_result_schema_is_a_schema(name: str) -> None:
    """Complete in itself; a record says all of its fields and takes no other."""
    meta.validate(build_result_schema(CATALOG[name]))
    for _, _, part in parts(read_result_type(CATALOG[name].run)):
        if isinstance(part, Record):
            shape = build_type_schema(part)
            assert shape["additionalProperties"] is False
            assert set(shape["required"]) <= shape["properties"].keys()


def test_records_of_one_name_are_one_record() -> None:
    """The OpenAPI document names them by it."""
    kinds = {
        part.kind
        for operation in CATALOG.values()
        for _, _, part in parts(read_result_type(operation.run))
        if isinstance(part, Record)
    }
    assert len({kind.__name__ for kind in kinds}) == len(kinds)
