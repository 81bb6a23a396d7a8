"""Users, grants, credentials and settings in the database, each change with its audit entry."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from looseleaf.agents.access import EVERYTHING
from looseleaf.agents.accounts import LOGIN_LINK, SESSION, Credential, Event, Grant, User
from looseleaf.errors import UserExists
from looseleaf.folders import fold
from looseleaf.stores import tables
from looseleaf.stores.audit import SqlAudit
from looseleaf.stores.audit_chain import MICRO
from looseleaf.stores.database import Database
from looseleaf.stores.disk import GROUP, PRIVATE
from looseleaf.stores.row_digests import count_rows, seal_rows, verify_rows
from looseleaf.values import as_dict, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.settings import Settings

_TIMES = ("created", "expires", "last_used", "ended")
_WORDS = ("capabilities", "ceiling")


class SqlAccounts:
    """The accounts of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self.audit = SqlAudit(database, clock)
        self.users = SqlUsers(self)
        self.grants = SqlGrants(self)
        self.credentials = SqlCredentials(self)
        self.settings = SqlSettings(self)

    def version(self) -> int:
        """Give a number that another one follows as soon as any account or setting changes."""
        return self.database.version()

    def settings_made(self) -> Mapping[str, Any]:
        """Give every setting made while running, by name."""
        return self.settings.all()

    def add_event(self, event: Event) -> None:
        """Add an event that changed no account to the audit."""
        self.audit.add(event)

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def verify(self) -> list[str]:
        """Say which rows are not what was written, and which are missing."""
        return list(verify_rows(self.database))

    @contextmanager
    def changing(self, event: Event) -> Iterator[sa.Connection]:
        """Change accounts: what is done, its audit entry and the new version, or nothing."""
        with self.database.writing() as connection:
            # First, since it makes others wait: two changes at once cannot take the same id.
            self.note(connection, event)
            yield connection

    def end_agent(self, agent_id: int, time: float, event: Event) -> bool:
        """End every credential of an agent and every role on it; say whether there was any."""
        credentials, grants = tables.credentials, tables.grants
        with self.database.writing() as connection:
            ended = _end(connection, credentials.c.agent_id == agent_id, time)
            removed = connection.execute(grants.delete().where(grants.c.agent_id == agent_id))
            count_rows(connection, grants, -removed.rowcount)
            if ended or removed.rowcount:
                self.note(connection, event)
            return bool(ended or removed.rowcount)

    def note(self, connection: sa.Connection, event: Event) -> None:
        """Put the audit entry of a change and the new version into its transaction."""
        self.audit.append(connection, event)
        connection.execute(
            tables.state.update()
            .where(tables.state.c.name == "version")
            .values(number=tables.state.c.number + 1)
        )

    def start(self, user_id: int, login: str = "admin") -> None:
        """Make the first user, who may do everything, unless there are users."""
        if not self.users.list():
            first = User(
                user_id,
                login,
                "Administrator",
                capabilities=frozenset((EVERYTHING,)),
                created=self.audit.clock(),
            )
            with suppress(UserExists):  # another process was faster
                self.users.add(first, Event("first start", target=f"login={login}"))


def _end(connection: sa.Connection, which: sa.ColumnElement[bool], time: float) -> bool:
    """End the credentials that have not ended; say whether there was any."""
    credentials = tables.credentials
    lasting = credentials.update().where(which & (credentials.c.ended == 0))
    ended = connection.execute(lasting.values(ended=round(time * MICRO)))
    if ended.rowcount:
        seal_rows(connection, credentials, which)
    return bool(ended.rowcount)


class SqlUsers:
    """The users of one database."""

    def __init__(self, accounts: SqlAccounts) -> None:
        self._accounts = accounts

    def add(self, user: User, event: Event) -> User:
        """Add a user (id 0: the next one); `UserExists` where the login or the id is taken."""
        with self._accounts.changing(event) as connection:
            same = (tables.users.c.folded == fold(user.login)) | (tables.users.c.id == user.id)
            if connection.execute(sa.select(tables.users.c.id).where(same)).first():
                raise UserExists(user.login)
            last = connection.execute(sa.select(sa.func.max(tables.users.c.id))).scalar() or 0
            added = changed(user, id=user.id or last + 1)
            connection.execute(tables.users.insert().values(**_row(added), folded=fold(user.login)))
            seal_rows(connection, tables.users, tables.users.c.id == added.id)
            count_rows(connection, tables.users, 1)
        return added

    def change(self, user: User, event: Event) -> None:
        """Replace what is known of a user; a new password ends sessions and login links."""
        with self._accounts.changing(event) as connection:
            folded = fold(user.login)
            same = (tables.users.c.folded == folded) & (tables.users.c.id != user.id)
            if connection.execute(sa.select(tables.users.c.id).where(same)).first():
                raise UserExists(user.login)
            same_id = tables.users.c.id == user.id
            before = connection.execute(sa.select(tables.users.c.password).where(same_id)).scalar()
            connection.execute(
                tables.users.update().where(same_id).values(**_row(user), folded=folded)
            )
            seal_rows(connection, tables.users, same_id)
            if before != user.password:
                columns = tables.credentials.c
                of_user = (columns.user_id == user.id) & columns.kind.in_((SESSION, LOGIN_LINK))
                _end(connection, of_user, self._accounts.audit.clock())

    def find(self, user: int | str) -> User | None:
        """Find a user by id or login."""
        by_id = isinstance(user, int)
        if not by_id and not _storable(str(user)):
            return None
        same = tables.users.c.id == user if by_id else tables.users.c.folded == fold(str(user))
        with self._accounts.database.reading() as connection:
            row = connection.execute(sa.select(tables.users).where(same)).first()
        return _value(User, row) if row else None

    def list(self) -> list[User]:
        """List every user, by id."""
        query = sa.select(tables.users).order_by(tables.users.c.id)
        with self._accounts.database.reading() as connection:
            return [_value(User, row) for row in connection.execute(query)]


class SqlGrants:
    """The grants of one database."""

    def __init__(self, accounts: SqlAccounts) -> None:
        self._accounts = accounts

    def put(self, grant: Grant, event: Event) -> None:
        """Give a user a role on an agent, or another one."""
        with self._accounts.changing(event) as connection:
            this = _of(grant.user_id, grant.agent_id)
            before = connection.execute(tables.grants.delete().where(this)).rowcount
            connection.execute(tables.grants.insert().values(**_row(grant)))
            seal_rows(connection, tables.grants, this)
            count_rows(connection, tables.grants, 1 - before)

    def remove(self, user_id: int, agent_id: int, event: Event) -> bool:
        """Take a role away; say whether there was one."""
        with self._accounts.database.writing() as connection:
            done = connection.execute(tables.grants.delete().where(_of(user_id, agent_id)))
            if done.rowcount:
                self._accounts.note(connection, event)
                count_rows(connection, tables.grants, -done.rowcount)
            return bool(done.rowcount)

    def list(self, *, user_id: int = 0, agent_id: int = 0) -> list[Grant]:
        """List grants, of a user or on an agent."""
        columns = tables.grants.c
        query = sa.select(tables.grants).order_by(columns.agent_id, columns.user_id)
        query = query.where(columns.user_id == user_id) if user_id else query
        query = query.where(columns.agent_id == agent_id) if agent_id else query
        with self._accounts.database.reading() as connection:
            return [_value(Grant, row) for row in connection.execute(query)]


class SqlCredentials:
    """The credentials of one database."""

    def __init__(self, accounts: SqlAccounts) -> None:
        self._accounts = accounts

    def add(self, credential: Credential, event: Event) -> None:
        """Add a credential."""
        with self._accounts.changing(event) as connection:
            connection.execute(tables.credentials.insert().values(**_row(credential)))
            seal_rows(connection, tables.credentials, tables.credentials.c.id == credential.id)
            count_rows(connection, tables.credentials, 1)

    def find(self, identity: str) -> Credential | None:
        """Find a credential by its public id, ended or not."""
        if not _storable(identity):
            return None
        query = sa.select(tables.credentials).where(tables.credentials.c.id == identity)
        with self._accounts.database.reading() as connection:
            row = connection.execute(query).first()
        return _value(Credential, row) if row else None

    def list(self, kind: str, *, user_id: int = 0, agent_id: int = 0) -> list[Credential]:
        """List credentials of a kind, of a user or bound to an agent, oldest first."""
        columns = tables.credentials.c
        query = sa.select(tables.credentials).where(columns.kind == kind)
        query = query.where(columns.user_id == user_id) if user_id else query
        query = query.where(columns.agent_id == agent_id) if agent_id else query
        with self._accounts.database.reading() as connection:
            rows = connection.execute(query.order_by(columns.created, columns.id))
            return [_value(Credential, row) for row in rows]

    def end(self, identity: str, time: float, event: Event) -> bool:
        """End a credential; False where it had ended before, so that one caller wins."""
        with self._accounts.database.writing() as connection:
            ended = _end(connection, tables.credentials.c.id == identity, time)
            if ended:
                self._accounts.note(connection, event)
            return ended

    def note_use(self, identity: str, time: float) -> None:
        """Note when a credential was last used."""
        with self._accounts.database.writing(relaxed=True) as connection:
            connection.execute(
                tables.credentials.update()
                .where(tables.credentials.c.id == identity)
                .values(last_used=round(time * MICRO))
            )


class SqlSettings:
    """The settings that one database holds."""

    def __init__(self, accounts: SqlAccounts) -> None:
        self._accounts = accounts

    def all(self) -> Mapping[str, Any]:
        """Give every setting made, by name."""
        query = sa.select(tables.settings).order_by(tables.settings.c.name)
        with self._accounts.database.reading() as connection:
            return {row.name: json.loads(row.setting) for row in connection.execute(query)}

    def put(self, chosen: Mapping[str, object], event: Event) -> None:
        """Make settings by name, all or none; None takes one out."""
        with self._accounts.changing(event) as connection:
            for name, setting in chosen.items():
                this = tables.settings.c.name == name
                before = connection.execute(tables.settings.delete().where(this)).rowcount
                if setting is not None:
                    row = {"name": name, "setting": json.dumps(setting)}
                    connection.execute(tables.settings.insert().values(**row))
                    seal_rows(connection, tables.settings, this)
                count_rows(connection, tables.settings, (setting is not None) - before)


def open_accounts(chosen: Settings, *, clock: Callable[[], float]) -> SqlAccounts:
    """Open the accounts of a workspace by its settings, with a first user."""
    mode = (GROUP if chosen.group_writable else PRIVATE)[0]
    opened = SqlAccounts(Database(chosen.database_url, chosen.root, mode=mode), clock=clock)
    opened.start(chosen.default_user)
    return opened


def _storable(text: str) -> bool:
    """Say whether a database could have this text; what it could not is not there."""
    return text.isprintable()  # neither half a character nor a zero, on which PostgreSQL chokes


def _of(user_id: int, agent_id: int) -> sa.ColumnElement[bool]:
    return (tables.grants.c.user_id == user_id) & (tables.grants.c.agent_id == agent_id)


def _row(thing: User | Grant | Credential) -> dict[str, object]:
    fields: dict[str, Any] = as_dict(thing)
    for name in fields.keys() & set(_TIMES):
        fields[name] = round(fields[name] * MICRO)
    for name in fields.keys() & set(_WORDS):
        fields[name] = None if fields[name] is None else " ".join(sorted(fields[name]))
    return fields


def _value(kind: Any, row: Any) -> Any:  # noqa: ANN401 - the class of the value, and it
    fields = {name: getattr(row, name) for name in kind.__match_args__}
    for name in fields.keys() & set(_TIMES):
        fields[name] /= MICRO
    for name in fields.keys() & set(_WORDS):
        fields[name] = None if fields[name] is None else frozenset(fields[name].split())
    return kind(**fields)
