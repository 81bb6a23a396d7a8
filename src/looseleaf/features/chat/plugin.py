"""What conversations register in a workspace: their part, operations and admin pages."""

from __future__ import annotations

from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.registry import Operations
    from looseleaf.catalog.services import PartOpeners, WorkspaceServices
    from looseleaf.features.chat.session import Chats
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints


@hookimpl
def register_parts(parts: PartOpeners) -> None:
    """Register the conversations of the database."""
    from looseleaf.features.chat.session import CHATS

    parts.register(CHATS, _open_chats)


def _open_chats(parts: WorkspaceServices) -> Chats:
    from looseleaf.features.chat.sql_turns import SqlChats

    return SqlChats(parts.database.database(), clock=parts.clock)


@hookimpl
def register_operations(operations: Operations) -> None:
    """Register the operations of conversations."""
    from looseleaf.features.chat import operations as chat
    from looseleaf.features.chat import session_operations

    operations.add_declared(chat, session_operations)


@hookimpl
def register_endpoints(endpoints: Endpoints) -> None:
    """Register the endpoints of conversations."""
    from looseleaf.features.chat.endpoints import talk

    register = endpoints.register
    register("POST", "/chat", "datamachine/send-message", handler=talk)
    register("POST", "/chat/continue", "looseleaf/continue-chat", handler=talk)
    register("GET", "/chat/sessions", "datamachine/list-chat-sessions")
    register("GET", "/chat/sessions/search", "looseleaf/search-chat-sessions")
    register("POST", "/chat/sessions/prune", "looseleaf/prune-chat-sessions")
    register("POST", "/chat/sessions/{session}/read", "datamachine/mark-session-read")
    register("POST", "/chat/sessions/{session}/title", "datamachine/generate-session-title")
    register("POST", "/chat/sessions/{session}/finish", "looseleaf/finish-chat-session")
    register("POST", "/chat/sessions/{session}/cancel", "looseleaf/cancel-chat")
    register("GET", "/chat/sessions/{session}/export", "looseleaf/export-chat-session")
    register("GET", "/chat/{session}", "datamachine/get-chat-session")
    register("PATCH", "/chat/{session}", "looseleaf/rename-chat-session")
    register("DELETE", "/chat/{session}", "datamachine/delete-chat-session")


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the pages of an agent's conversations."""
    from looseleaf.features.chat import views
    from looseleaf.plugins.admin_pages import AGENT

    pages.register(
        "chat", "agents/{agent}/chat", views.list_conversations,
        submit=views.start_conversation, label="Conversations", section=AGENT, priority=40,
        group="memory", needs="datamachine/list-chat-sessions",
    )  # fmt: skip
    pages.register(
        "conversation", "agents/{agent}/chat/{session}", views.show_conversation,
        submit=views.change_conversation, section=AGENT, parent="chat",
    )  # fmt: skip
    pages.register(
        "conversation-export", "agents/{agent}/chat/{session}/export",
        views.export_conversation, section=AGENT, parent="chat",
    )  # fmt: skip
    pages.register("conversation-link", "conversations/{session}", views.find_conversation)


@hookimpl
def register_commands(commands: Commands) -> None:
    """Register the commands of conversations."""
    commands.register(
        "chat",
        "looseleaf.features.chat.commands:chat_group",
        "Talk to an agent, and find its sessions.",
        priority=15,
    )
