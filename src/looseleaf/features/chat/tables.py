"""The tables of conversations, as the newest migration leaves them."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.stores.database.tables import COUNTS, NOUN, UNCOUNTED, UNDIGESTED, metadata

chat_sessions = sa.Table(
    "chat_sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Integer, nullable=False),
    sa.Column("agent", sa.Integer, nullable=False),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("titled", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("updated", sa.BigInteger, nullable=False, index=True),
    sa.Column("messages", sa.Integer, nullable=False, info={COUNTS: "chat_messages"}),
    sa.Column("answers", sa.Integer, nullable=False),
    sa.Column("answers_read", sa.Integer, nullable=False),
    sa.Column("turns", sa.Integer, nullable=False, info={COUNTS: "chat_turns"}),
    sa.Column("finished", sa.BigInteger, nullable=False),
    sa.Column("journaled", sa.Integer, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("summarized", sa.Integer, nullable=False),
    sa.Column("lease", sa.Text, nullable=False),  # "" is free
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("cancelled", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
    sa.Index("ix_chat_sessions_owner", "owner", "updated"),
    info={
        NOUN: "chat session",
        UNDIGESTED: (
            *("updated", "messages", "answers", "answers_read", "turns", "finished", "journaled"),
            *("summarized", "lease", "lease_until", "cancelled"),
        ),
    },
)
chat_turns = sa.Table(
    "chat_turns",
    metadata,
    sa.Column(
        "session",
        sa.Text,
        sa.ForeignKey("chat_sessions.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("owner", sa.Integer, nullable=False),
    sa.Column("request", sa.Text),  # null: none was given
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("started", sa.BigInteger, nullable=False),
    sa.Column("finished", sa.BigInteger, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("first", sa.Integer, nullable=False),
    sa.Column("usage", sa.Text, nullable=False),  # JSON
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("written", sa.Text, nullable=False),  # JSON
    sa.Index("ix_chat_turns_request", "owner", "request", unique=True),
)
chat_messages = sa.Table(
    "chat_messages",
    metadata,
    sa.Column(
        "session",
        sa.Text,
        sa.ForeignKey("chat_sessions.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),  # of the format of `more`
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("folded", sa.Text),  # the text for a search, where lower() is not enough
    sa.Column("more", sa.Text, nullable=False),  # JSON of calls, result or attachments
    sa.Column("native", sa.Text, nullable=False),  # JSON of the provider library
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
    info={UNDIGESTED: ("version", "folded"), UNCOUNTED: True},
)
