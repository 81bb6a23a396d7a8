"""The tables of the core, as the newest migration leaves them, and the list of all tables.

The tables of a feature are in a module of the feature, on the same metadata. What row_digests.py
needs to know of a table is in its `info`, or in that of a column.
"""

from __future__ import annotations

import sys
from importlib import import_module

import sqlalchemy as sa

metadata = sa.MetaData()

# Modules with the tables of features. A database is opened, restored and compared without plugins,
# so that no hook reaches here; a module is named and is imported only for all tables at once.
FEATURE_TABLES = ("looseleaf.features.chat.tables", "looseleaf.features.workflows.tables")

UNDIGESTED = "undigested"  # of a table with digests: the columns that its digests do not cover
UNCOUNTED = "uncounted"  # of a table with digests: the number of its rows is not stored in `state`
NOUN = "noun"  # of a table: how messages name one of its rows
COUNTS = "counts"  # of a column: the table whose rows of this row it counts


def load_metadata() -> sa.MetaData:
    """Return the metadata with the tables of the core and of every feature."""
    for name in FEATURE_TABLES:
        import_module(name)
    return metadata


def list_tables() -> list[sa.Table]:
    """Return the tables of the core, then those of every feature, as their modules list them."""
    modules = [sys.modules[__name__], *(import_module(name) for name in FEATURE_TABLES)]
    names = [name for module in modules for name in vars(module).values()]
    return [table for table in names if isinstance(table, sa.Table)]


def list_digest_tables() -> list[sa.Table]:
    """Return the tables whose rows have digests."""
    return [table for table in list_tables() if "digest" in table.columns]


def list_counted_tables() -> list[sa.Table]:
    """Return the tables whose numbers of rows are stored."""
    return [table for table in list_digest_tables() if UNCOUNTED not in table.info]


def create_tables(connection: sa.Connection) -> None:
    """Create every table in a database that has none of them, with the first rows of `state`."""
    # Another program's table of the same name must not be taken for ours.
    load_metadata().create_all(connection, checkfirst=False)
    names = ["version", "audit", *(table.name for table in list_counted_tables())]
    rows = [{"name": name, "number": 0, "text": ""} for name in names]
    connection.execute(state.insert(), rows)


# Times are microseconds since 1970, UTC: a whole number is the same in every database.
users = sa.Table(
    "users",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("login", sa.Text, nullable=False),
    sa.Column("folded", sa.Text, nullable=False, unique=True),  # the login, folded for comparison
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("capabilities", sa.Text, nullable=False),  # separated by blanks
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("password", sa.Text, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
)
grants = sa.Table(
    "grants",
    metadata,
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("agent_id", sa.Integer, primary_key=True, autoincrement=False, index=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
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
    sa.Column("ceiling", sa.Text),  # separated by blanks; null is no ceiling
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Column("last_used", sa.BigInteger, nullable=False),
    sa.Column("ended", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
    info={UNDIGESTED: ("last_used",)},
)
settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("setting", sa.Text, nullable=False),  # JSON
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
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
    sa.Column("actor_kind", sa.Text),  # this and the next three are null in rows of older versions
    sa.Column("origin", sa.Text),
    sa.Column("activity", sa.Text),
    sa.Column("activity_id", sa.Text),
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
