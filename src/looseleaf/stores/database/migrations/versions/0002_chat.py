"""Chat sessions, their turns and messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables of conversations."""
    _create_session_table()
    op.create_table(
        "chat_turns",
        _build_session_column(),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("owner", sa.Integer, nullable=False),
        sa.Column("request", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("started", sa.BigInteger, nullable=False),
        sa.Column("finished", sa.BigInteger, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("first", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("usage", "error", "written")),
    )
    op.create_index("ix_chat_turns_request", "chat_turns", ["owner", "request"], unique=True)
    op.create_table(
        "chat_messages",
        _build_session_column(),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("folded", sa.Text),
        sa.Column("more", sa.Text, nullable=False),
        sa.Column("native", sa.Text, nullable=False),
    )


def _build_session_column() -> sa.Column[str]:
    owner = sa.ForeignKey("chat_sessions.id", ondelete="CASCADE")
    return sa.Column("session", sa.Text, owner, primary_key=True)


def _create_session_table() -> None:
    texts = ("mode", "source", "title", "titled")
    counts = ("messages", "answers", "answers_read", "turns")
    op.create_table(
        "chat_sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Integer, nullable=False),
        sa.Column("agent", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("updated", sa.BigInteger, nullable=False, index=True),
        *(sa.Column(name, sa.Integer, nullable=False) for name in counts),
        sa.Column("finished", sa.BigInteger, nullable=False),
        sa.Column("journaled", sa.Integer, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("summarized", sa.Integer, nullable=False),
        sa.Column("lease", sa.Text, nullable=False),
        sa.Column("lease_until", sa.BigInteger, nullable=False),
        sa.Column("cancelled", sa.Integer, nullable=False),
    )
    op.create_index("ix_chat_sessions_owner", "chat_sessions", ["owner", "updated"])
