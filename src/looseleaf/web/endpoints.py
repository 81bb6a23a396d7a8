"""The table of endpoints: which address and method means which operation."""

from __future__ import annotations

from looseleaf.values import value

NAMESPACE = "/datamachine/v1"


@value
class Endpoint:
    """An operation at an address; `{names}` in the path are arguments of it."""

    method: str
    path: str  # below the namespace
    operation: str
    status: int = 200
    fixed: tuple[tuple[str, str], ...] = ()  # arguments that the address stands for
    whole_body: str = ""  # the argument that the whole JSON body is


ENDPOINTS: tuple[Endpoint, ...] = (
    # Pages: those of one page stand in pages.py.
    Endpoint("GET", "/files/agent", "datamachine/list-agent-files"),
    Endpoint("GET", "/files/agent/daily", "datamachine/daily-memory-list"),
    Endpoint("GET", "/files/agent/daily/search", "datamachine/search-daily-memory"),
    Endpoint(
        "POST",
        "/files/agent/daily/append",
        "datamachine/daily-memory-write",
        fixed=(("mode", "append"),),
    ),
    Endpoint("GET", "/files/injectable", "datamachine/list-injectable-memory-files"),
    Endpoint("POST", "/files/scaffold", "datamachine/scaffold-memory-file"),
    Endpoint("POST", "/files/compose", "looseleaf/compose-files"),
    Endpoint("POST", "/files/append", "datamachine/append-agent-file"),
    Endpoint("POST", "/files/clear", "datamachine/clear-agent-file"),
    # Sections.
    Endpoint("GET", "/sections", "datamachine/list-agent-memory-sections"),
    Endpoint("GET", "/section", "datamachine/get-agent-memory"),
    Endpoint("PUT", "/section", "datamachine/update-agent-memory", fixed=(("mode", "set"),)),
    Endpoint("POST", "/section", "datamachine/update-agent-memory", fixed=(("mode", "append"),)),
    Endpoint("DELETE", "/section", "datamachine/delete-agent-memory-section"),
    # Finding.
    Endpoint("GET", "/search", "datamachine/search-agent-memory"),
    Endpoint("GET", "/search/pages", "looseleaf/find-pages"),
    # History.
    Endpoint("GET", "/history", "looseleaf/page-history"),
    Endpoint("GET", "/history/diff", "looseleaf/page-diff"),
    Endpoint("POST", "/history/restore", "looseleaf/restore-page"),
    Endpoint("POST", "/history/purge", "looseleaf/purge-revision"),
    Endpoint("POST", "/history/prune", "looseleaf/prune-history"),
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
    # Users and what they show.
    Endpoint("GET", "/tokens", "looseleaf/list-tokens"),
    Endpoint("POST", "/tokens", "looseleaf/create-token", 201),
    Endpoint("DELETE", "/tokens/{id}", "looseleaf/revoke-token"),
    Endpoint("POST", "/application-passwords", "looseleaf/create-application-password", 201),
    Endpoint("POST", "/login-links", "looseleaf/create-login-link", 201),
    Endpoint("GET", "/users", "looseleaf/list-users"),
    Endpoint("POST", "/users", "looseleaf/create-user", 201),
    Endpoint("GET", "/users/{user}", "looseleaf/show-user"),
    Endpoint("PATCH", "/users/{user}", "looseleaf/update-user"),
    # The workspace.
    Endpoint("GET", "/status", "looseleaf/show-status"),
    Endpoint("GET", "/settings", "looseleaf/list-settings"),
    Endpoint("PATCH", "/settings", "looseleaf/set-settings", whole_body="settings"),
    Endpoint("PUT", "/settings/{name}", "looseleaf/set-setting"),
    Endpoint("GET", "/audit", "looseleaf/list-audit"),
    Endpoint("GET", "/audit/verify", "looseleaf/verify-audit"),
)
