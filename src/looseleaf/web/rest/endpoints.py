"""The table of endpoints: which address and method means which operation."""

from __future__ import annotations

from looseleaf.values import value

NAMESPACE = "/datamachine/v1"
DAY = f"{NAMESPACE}/files/agent/daily/{{year}}/{{month}}/{{day}}"


@value
class Endpoint:
    """An operation at an address; `{names}` in the path are arguments of the operation."""

    method: str
    path: str  # below the namespace
    operation: str
    status: int = 200
    fixed_arguments: tuple[tuple[str, str], ...] = ()  # arguments that the address implies
    whole_body: str = ""  # the argument that gets the whole JSON body


ENDPOINTS: tuple[Endpoint, ...] = (
    # Pages: those of one page stand in pages.py.
    Endpoint("GET", "/files/agent", "datamachine/list-agent-files"),
    Endpoint("GET", "/files/agent/daily", "datamachine/daily-memory-list"),
    Endpoint("GET", "/files/agent/daily/search", "datamachine/search-daily-memory"),
    Endpoint(
        "POST",
        "/files/agent/daily/append",
        "datamachine/daily-memory-write",
        fixed_arguments=(("mode", "append"),),
    ),
    Endpoint("GET", "/files/injectable", "datamachine/list-injectable-memory-files"),
    Endpoint("POST", "/files/scaffold", "datamachine/scaffold-memory-file"),
    Endpoint("POST", "/files/compose", "looseleaf/compose-files"),
    Endpoint("POST", "/files/append", "datamachine/append-agent-file"),
    Endpoint("POST", "/files/clear", "datamachine/clear-agent-file"),
    # Sections.
    Endpoint("GET", "/sections", "datamachine/list-agent-memory-sections"),
    Endpoint("GET", "/section", "datamachine/get-agent-memory"),
    Endpoint(
        "PUT", "/section", "datamachine/update-agent-memory", fixed_arguments=(("mode", "set"),)
    ),
    Endpoint(
        "POST", "/section", "datamachine/update-agent-memory", fixed_arguments=(("mode", "append"),)
    ),
    Endpoint("DELETE", "/section", "datamachine/delete-agent-memory-section"),
    # Search.
    Endpoint("GET", "/search", "datamachine/search-agent-memory"),
    Endpoint("GET", "/search/pages", "looseleaf/find-pages"),
    # History.
    Endpoint("GET", "/history", "looseleaf/page-history"),
    Endpoint("GET", "/history/diff", "looseleaf/page-diff"),
    Endpoint("POST", "/history/restore", "looseleaf/restore-page"),
    Endpoint("POST", "/history/purge", "looseleaf/purge-revision"),
    Endpoint("POST", "/history/prune", "looseleaf/prune-history"),
    Endpoint("POST", "/history/pack", "looseleaf/pack-history"),
    # Prompts.
    Endpoint("GET", "/prompt", "looseleaf/compose-prompt"),
    Endpoint("GET", "/prompt/explain", "looseleaf/explain-prompt"),
    Endpoint("POST", "/prompt/diff", "looseleaf/diff-prompts"),
    Endpoint("GET", "/prompt/check", "looseleaf/check-prompt"),
    # Conversations; the first two stand in chat.py, since they may stream.
    Endpoint("POST", "/chat", "datamachine/send-message"),
    Endpoint("POST", "/chat/continue", "looseleaf/continue-chat"),
    Endpoint("GET", "/chat/sessions", "datamachine/list-chat-sessions"),
    Endpoint("GET", "/chat/sessions/search", "looseleaf/search-chat-sessions"),
    Endpoint("POST", "/chat/sessions/prune", "looseleaf/prune-chat-sessions"),
    Endpoint("POST", "/chat/sessions/{session}/read", "datamachine/mark-session-read"),
    Endpoint("POST", "/chat/sessions/{session}/title", "datamachine/generate-session-title"),
    Endpoint("POST", "/chat/sessions/{session}/finish", "looseleaf/finish-chat-session"),
    Endpoint("POST", "/chat/sessions/{session}/cancel", "looseleaf/cancel-chat"),
    Endpoint("GET", "/chat/sessions/{session}/export", "looseleaf/export-chat-session"),
    Endpoint("GET", "/chat/{session}", "datamachine/get-chat-session"),
    Endpoint("PATCH", "/chat/{session}", "looseleaf/rename-chat-session"),
    Endpoint("DELETE", "/chat/{session}", "datamachine/delete-chat-session"),
    # Imports.
    Endpoint("GET", "/import/sources", "looseleaf/list-import-sources"),
    Endpoint("POST", "/import/detect", "looseleaf/detect-import"),
    Endpoint("POST", "/import/preview", "looseleaf/preview-import"),
    Endpoint("POST", "/import", "looseleaf/run-import"),
    # Pipelines and flows.
    Endpoint("GET", "/pipelines", "looseleaf/list-pipelines"),
    Endpoint("POST", "/pipelines", "looseleaf/create-pipeline", 201),
    Endpoint("POST", "/pipelines/import", "looseleaf/import-pipeline", 201, whole_body="document"),
    Endpoint("GET", "/pipelines/{pipeline}", "looseleaf/show-pipeline"),
    Endpoint("PATCH", "/pipelines/{pipeline}", "looseleaf/update-pipeline"),
    Endpoint("PUT", "/pipelines/{pipeline}", "looseleaf/update-pipeline"),
    Endpoint("DELETE", "/pipelines/{pipeline}", "looseleaf/delete-pipeline"),
    Endpoint("POST", "/pipelines/{pipeline}/copy", "looseleaf/copy-pipeline", 201),
    Endpoint("GET", "/pipelines/{pipeline}/export", "looseleaf/export-pipeline"),
    Endpoint("GET", "/pipelines/{pipeline}/memory-files", "looseleaf/list-pipeline-memory-files"),
    Endpoint("PUT", "/pipelines/{pipeline}/memory-files", "looseleaf/set-pipeline-memory-files"),
    # Uploaded files; the second stands in web/uploads.py, since it takes a form.
    Endpoint("GET", "/files", "datamachine/list-flow-files"),
    Endpoint("POST", "/files", "datamachine/upload-flow-file"),
    Endpoint("DELETE", "/files/{file}", "datamachine/delete-flow-file"),
    Endpoint("GET", "/flows", "looseleaf/list-flows"),
    Endpoint("POST", "/flows", "looseleaf/create-flow", 201),
    Endpoint("GET", "/flows/{flow}", "looseleaf/show-flow"),
    Endpoint("PATCH", "/flows/{flow}", "looseleaf/update-flow"),
    Endpoint("PUT", "/flows/{flow}", "looseleaf/update-flow"),
    Endpoint("DELETE", "/flows/{flow}", "looseleaf/delete-flow"),
    Endpoint("POST", "/flows/{flow}/copy", "looseleaf/copy-flow", 201),
    Endpoint("POST", "/flows/{flow}/queue", "looseleaf/queue-prompt"),
    Endpoint("GET", "/flows/{flow}/memory-files", "looseleaf/list-flow-memory-files"),
    Endpoint("PUT", "/flows/{flow}/memory-files", "looseleaf/set-flow-memory-files"),
    # Jobs and schedules; the events of a job stand in web/job_events.py.
    Endpoint("POST", "/execute", "datamachine/execute-workflow", 201),
    Endpoint("GET", "/jobs", "datamachine/get-jobs"),
    Endpoint("GET", "/jobs/artifact", "datamachine/hydrate-job-artifact"),
    Endpoint("POST", "/jobs/prune", "looseleaf/prune-job-data"),
    Endpoint("GET", "/jobs/{job}", "datamachine/get-job"),
    Endpoint("DELETE", "/jobs/{job}", "looseleaf/delete-job"),
    Endpoint("GET", "/jobs/{job}/packets", "looseleaf/show-job-packets"),
    Endpoint("GET", "/jobs/{job}/artifacts", "datamachine/get-run-artifacts"),
    Endpoint("GET", "/jobs/{job}/transcript", "looseleaf/show-job-transcript"),
    Endpoint("GET", "/jobs/{job}/gate", "looseleaf/show-gate-address"),
    Endpoint("POST", "/jobs/{job}/gate", "looseleaf/open-gate"),
    Endpoint("POST", "/jobs/{job}/cancel", "looseleaf/cancel-job"),
    Endpoint("POST", "/jobs/{job}/pause", "looseleaf/pause-job"),
    Endpoint("POST", "/jobs/{job}/resume", "looseleaf/resume-job"),
    Endpoint("POST", "/jobs/{job}/retry", "looseleaf/retry-job"),
    Endpoint("GET", "/schedules", "looseleaf/list-schedules"),
    Endpoint("POST", "/schedules/{schedule}/run", "looseleaf/run-schedule"),
    Endpoint("POST", "/schedules/{schedule}/pause", "looseleaf/pause-schedule"),
    Endpoint("POST", "/schedules/{schedule}/resume", "looseleaf/resume-schedule"),
    # Agents.
    Endpoint("GET", "/agents", "looseleaf/list-agents"),
    Endpoint("POST", "/agents", "looseleaf/create-agent", 201),
    Endpoint("GET", "/agents/deleted", "looseleaf/list-deleted-agents"),
    Endpoint("POST", "/agents/deleted/{agent}/restore", "looseleaf/restore-agent"),
    Endpoint("GET", "/agents/me", "looseleaf/show-agent"),
    Endpoint("GET", "/agents/{agent}", "looseleaf/show-agent"),
    Endpoint("PATCH", "/agents/{agent}", "looseleaf/configure-agent"),
    Endpoint("DELETE", "/agents/{agent}", "looseleaf/delete-agent"),
    Endpoint("POST", "/agents/{agent}/rename", "looseleaf/rename-agent"),
    Endpoint("POST", "/agents/{agent}/status", "looseleaf/set-agent-status"),
    Endpoint("GET", "/agents/{agent}/access", "looseleaf/list-grants"),
    Endpoint("POST", "/agents/{agent}/access", "looseleaf/grant-role"),
    Endpoint("DELETE", "/agents/{agent}/access/{user}", "looseleaf/revoke-role"),
    Endpoint("GET", "/agents/{agent}/tokens", "looseleaf/list-tokens"),
    Endpoint("POST", "/agents/{agent}/tokens", "looseleaf/create-token", 201),
    # Bundles; those with a body stand in web/archives.py, since they take and give archives.
    Endpoint("GET", "/agent-bundles", "looseleaf/list-bundles"),
    Endpoint("GET", "/agent-bundles/{agent}", "looseleaf/show-bundle"),
    Endpoint("POST", "/agent-bundles/preview", "looseleaf/preview-bundle"),
    Endpoint("POST", "/agent-bundles/export", "looseleaf/export-bundle"),
    Endpoint("POST", "/agent-bundles/inspect", "looseleaf/inspect-bundle"),
    Endpoint("POST", "/agent-bundles/validate", "looseleaf/inspect-bundle"),
    Endpoint("POST", "/agent-bundles/plan", "looseleaf/plan-bundle"),
    Endpoint("POST", "/agent-bundles/install", "looseleaf/install-bundle"),
    Endpoint("POST", "/agent-bundles/upgrade", "looseleaf/upgrade-bundle"),
    Endpoint("POST", "/agent-bundles/rebase", "looseleaf/rebase-bundle"),
    Endpoint("POST", "/agent-bundles/status", "looseleaf/show-bundle-status"),
    Endpoint("GET", "/agent-bundle-approvals", "looseleaf/list-pending-upgrades"),
    Endpoint("GET", "/agent-bundle-approvals/{agent}", "looseleaf/show-pending-upgrade"),
    Endpoint("POST", "/agent-bundle-approvals/{agent}/approve", "looseleaf/approve-upgrade"),
    Endpoint("POST", "/agent-bundle-approvals/{agent}/reject", "looseleaf/reject-upgrade"),
    # Users and their credentials.
    Endpoint("GET", "/tokens", "looseleaf/list-tokens"),
    Endpoint("POST", "/tokens", "looseleaf/create-token", 201),
    Endpoint("DELETE", "/tokens/{id}", "looseleaf/revoke-token"),
    Endpoint("POST", "/application-passwords", "looseleaf/create-application-password", 201),
    Endpoint("POST", "/login-links", "looseleaf/create-login-link", 201),
    Endpoint("GET", "/users", "looseleaf/list-users"),
    Endpoint("POST", "/users", "looseleaf/create-user", 201),
    Endpoint("GET", "/users/{user}", "looseleaf/show-user"),
    Endpoint("PATCH", "/users/{user}", "looseleaf/update-user"),
    # System tasks.
    Endpoint("GET", "/system/status", "looseleaf/show-system-status"),
    Endpoint("GET", "/system/tasks", "looseleaf/list-system-tasks"),
    Endpoint("GET", "/system/tasks/runs", "looseleaf/list-task-runs"),
    Endpoint("GET", "/system/tasks/prompts", "looseleaf/list-task-prompts"),
    Endpoint("GET", "/system/tasks/prompts/{task_type}/{prompt_key}", "looseleaf/show-task-prompt"),
    Endpoint("PUT", "/system/tasks/prompts/{task_type}/{prompt_key}", "looseleaf/set-task-prompt"),
    Endpoint(
        "DELETE", "/system/tasks/prompts/{task_type}/{prompt_key}", "looseleaf/reset-task-prompt"
    ),
    Endpoint("POST", "/system/tasks/{task_type}/run", "datamachine/run-task"),
    Endpoint("GET", "/lint", "looseleaf/lint-memory"),
    Endpoint("POST", "/lint/fix", "looseleaf/fix-memory"),
    Endpoint("POST", "/upkeep/preview", "looseleaf/preview-upkeep"),
    Endpoint("GET", "/upkeep/run", "looseleaf/show-upkeep-run"),
    Endpoint("POST", "/upkeep/undo", "looseleaf/undo-upkeep"),
    Endpoint("GET", "/retention", "looseleaf/show-retention"),
    Endpoint("POST", "/retention/preview", "looseleaf/preview-retention"),
    Endpoint("POST", "/retention/run", "looseleaf/run-retention"),
    # The workspace.
    Endpoint("GET", "/status", "looseleaf/show-status"),
    Endpoint("GET", "/settings", "looseleaf/list-settings"),
    Endpoint("PATCH", "/settings", "looseleaf/set-settings", whole_body="settings"),
    Endpoint("PUT", "/settings/{name}", "looseleaf/set-setting"),
    Endpoint("GET", "/audit", "looseleaf/list-audit"),
    Endpoint("GET", "/audit/verify", "looseleaf/verify-audit"),
    Endpoint("GET", "/backups", "looseleaf/list-backups"),
    Endpoint("POST", "/backups", "looseleaf/create-backup", 201),
    Endpoint("POST", "/backups/commit", "looseleaf/commit-pages"),
    Endpoint("POST", "/backups/{name}/verify", "looseleaf/verify-backup"),
)
