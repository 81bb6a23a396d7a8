"""The tables of the database, as the newest migration leaves them."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

# Times are microseconds since 1970, UTC: a whole number is the same in every database.
users = sa.Table(
    "users",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("login", sa.Text, nullable=False),
    sa.Column("folded", sa.Text, nullable=False, unique=True),  # the login as it is compared
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("capabilities", sa.Text, nullable=False),  # words
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("password", sa.Text, nullable=False),
    sa.Column("digest", sa.Text),  # of what counts in the row; null in rows of older versions
)
grants = sa.Table(
    "grants",
    metadata,
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("agent_id", sa.Integer, primary_key=True, autoincrement=False, index=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text),  # of what counts in the row; null in rows of older versions
)
credentials = sa.Table(
    "credentials",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id"), nullable=False, index=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Integer, nullable=False, index=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("ceiling", sa.Text),  # words; null is no ceiling
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Column("last_used", sa.BigInteger, nullable=False),
    sa.Column("ended", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text),  # of what counts in the row; null in rows of older versions
)
settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("setting", sa.Text, nullable=False),  # JSON
    sa.Column("digest", sa.Text),  # of what counts in the row; null in rows of older versions
)
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("credential", sa.Text, nullable=False),
    sa.Column("surface", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
# One row each: "version" counts changes of accounts, "audit" holds the end of the chain, and the
# name of a table the number of its rows.
state = sa.Table(
    "state",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)

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
    sa.Column("messages", sa.Integer, nullable=False),
    sa.Column("answers", sa.Integer, nullable=False),
    sa.Column("answers_read", sa.Integer, nullable=False),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("finished", sa.BigInteger, nullable=False),
    sa.Column("journaled", sa.Integer, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("summarized", sa.Integer, nullable=False),
    sa.Column("lease", sa.Text, nullable=False),  # "" is free
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("cancelled", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text),  # of what counts in the row; null in rows of older versions
    sa.Index("ix_chat_sessions_owner", "owner", "updated"),
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
    sa.Column("request", sa.Text),  # null is none
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
    sa.Column("version", sa.Integer, nullable=False),  # of how `more` is written
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("folded", sa.Text),  # as it is searched, where lower() would not do
    sa.Column("more", sa.Text, nullable=False),  # JSON of calls, result or attachments
    sa.Column("native", sa.Text, nullable=False),  # JSON of the provider library
    sa.Column("digest", sa.Text),  # of what counts in the row; null in rows of older versions
)
