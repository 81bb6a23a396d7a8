"""The endpoints of the core: which address and method means which operation."""

from __future__ import annotations

from looseleaf.plugins.endpoints import Endpoints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.services import WorkspaceServices

NAMESPACE = "/datamachine/v1"
DAY = f"{NAMESPACE}/files/agent/daily/{{year}}/{{month}}/{{day}}"


def list_endpoints(parts: WorkspaceServices) -> Endpoints:
    """Return the endpoints of a workspace: those of the core, of features and of plugins."""
    return parts.registry_for("register_endpoints", endpoints=build_core_endpoints)


def build_core_endpoints() -> Endpoints:
    """Build the table of the core's endpoints, which the hook then fills."""
    endpoints = Endpoints()
    _register_pages(endpoints)
    _register_agents(endpoints)
    _register_workspace(endpoints)
    return endpoints


def _register_pages(endpoints: Endpoints) -> None:
    register = endpoints.register
    # Pages: those of one page stand in pages.py.
    register("GET", "/files/agent", "datamachine/list-agent-files")
    register("GET", "/files/agent/daily", "datamachine/daily-memory-list")
    register("GET", "/files/agent/daily/search", "datamachine/search-daily-memory")
    register(
        "POST",
        "/files/agent/daily/append",
        "datamachine/daily-memory-write",
        fixed_arguments={"mode": "append"},
    )
    register("GET", "/files/injectable", "datamachine/list-injectable-memory-files")
    register("POST", "/files/scaffold", "datamachine/scaffold-memory-file")
    register("POST", "/files/compose", "looseleaf/compose-files")
    register("POST", "/files/append", "datamachine/append-agent-file")
    register("POST", "/files/clear", "datamachine/clear-agent-file")
    # Sections.
    register("GET", "/sections", "datamachine/list-agent-memory-sections")
    register("GET", "/section", "datamachine/get-agent-memory")
    register("PUT", "/section", "datamachine/update-agent-memory", fixed_arguments={"mode": "set"})
    register(
        "POST", "/section", "datamachine/update-agent-memory", fixed_arguments={"mode": "append"}
    )
    register("DELETE", "/section", "datamachine/delete-agent-memory-section")
    # Search.
    register("GET", "/search", "datamachine/search-agent-memory")
    register("GET", "/search/pages", "looseleaf/find-pages")
    # History.
    register("GET", "/recent", "looseleaf/list-recent")
    register("GET", "/history", "looseleaf/page-history")
    register("GET", "/history/diff", "looseleaf/page-diff")
    register("GET", "/history/blame", "looseleaf/blame-page")
    register("POST", "/history/restore", "looseleaf/restore-page")
    register("POST", "/history/purge", "looseleaf/purge-revision")
    register("POST", "/history/prune", "looseleaf/prune-history")
    register("POST", "/history/pack", "looseleaf/pack-history")
    # Prompts.
    register("GET", "/prompt", "looseleaf/compose-prompt")
    register("GET", "/prompt/explain", "looseleaf/explain-prompt")
    register("POST", "/prompt/diff", "looseleaf/diff-prompts")
    register("GET", "/prompt/check", "looseleaf/check-prompt")


def _register_agents(endpoints: Endpoints) -> None:
    register = endpoints.register
    # Agents.
    register("GET", "/agents", "looseleaf/list-agents")
    register("POST", "/agents", "looseleaf/create-agent", status=201)
    register("GET", "/agents/deleted", "looseleaf/list-deleted-agents")
    register("POST", "/agents/deleted/{agent}/restore", "looseleaf/restore-agent")
    register("GET", "/agents/me", "looseleaf/show-agent")
    register("GET", "/agents/{agent}", "looseleaf/show-agent")
    register("PATCH", "/agents/{agent}", "looseleaf/configure-agent")
    register("DELETE", "/agents/{agent}", "looseleaf/delete-agent")
    register("POST", "/agents/{agent}/rename", "looseleaf/rename-agent")
    register("POST", "/agents/{agent}/status", "looseleaf/set-agent-status")
    register("GET", "/agents/{agent}/models", "looseleaf/list-models")
    register("GET", "/agents/{agent}/access", "looseleaf/list-grants")
    register("POST", "/agents/{agent}/access", "looseleaf/grant-role")
    register("DELETE", "/agents/{agent}/access/{user}", "looseleaf/revoke-role")
    register("GET", "/agents/{agent}/tokens", "looseleaf/list-tokens")
    register("POST", "/agents/{agent}/tokens", "looseleaf/create-token", status=201)
    # Users and their credentials.
    register("GET", "/tokens", "looseleaf/list-tokens")
    register("POST", "/tokens", "looseleaf/create-token", status=201)
    register("DELETE", "/tokens/{id}", "looseleaf/revoke-token")
    register("POST", "/application-passwords", "looseleaf/create-application-password", status=201)
    register("POST", "/login-links", "looseleaf/create-login-link", status=201)
    register("GET", "/users", "looseleaf/list-users")
    register("POST", "/users", "looseleaf/create-user", status=201)
    register("GET", "/users/{user}", "looseleaf/show-user")
    register("PATCH", "/users/{user}", "looseleaf/update-user")


def _register_workspace(endpoints: Endpoints) -> None:
    register = endpoints.register
    register("GET", "/status", "looseleaf/show-status")
    register("GET", "/settings", "looseleaf/list-settings")
    register("PATCH", "/settings", "looseleaf/set-settings", whole_body="settings")
    register("PUT", "/settings/{name}", "looseleaf/set-setting")
    register("GET", "/audit", "looseleaf/list-audit")
    register("GET", "/audit/verify", "looseleaf/verify-audit")
