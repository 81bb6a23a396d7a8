"""What conversations register in a workspace: operations and admin pages."""

from __future__ import annotations

from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.registry import Operations
    from looseleaf.plugins.admin_pages import AdminPages


@hookimpl
def register_operations(operations: Operations) -> None:
    """Register the operations of conversations."""
    from looseleaf.operations import chat, session_ends, sessions, transcripts

    operations.add_declared(chat, session_ends, sessions, transcripts)


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the pages of an agent's conversations."""
    from looseleaf.plugins.admin_pages import AGENT
    from looseleaf.web.admin.views.chat import conversations

    pages.register(
        "chat", "agents/{agent}/chat", conversations.list_conversations,
        submit=conversations.start_conversation, label="Conversations", section=AGENT, priority=40,
    )  # fmt: skip
    pages.register(
        "conversation", "agents/{agent}/chat/{session}", conversations.show_conversation,
        submit=conversations.change_conversation, section=AGENT, parent="chat",
    )  # fmt: skip
    pages.register(
        "conversation-export", "agents/{agent}/chat/{session}/export",
        conversations.export_conversation, section=AGENT, parent="chat",
    )  # fmt: skip
    pages.register("conversation-link", "conversations/{session}", conversations.find_conversation)
