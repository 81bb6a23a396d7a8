"""Users, grants, credentials and settings in the database, each change with its audit entry."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from looseleaf.access.accounts import LOGIN_LINK, SESSION, Credential, Grant, User
from looseleaf.access.audit import Event
from looseleaf.access.principals import EVERYTHING
from looseleaf.errors.operations import UserExists
from looseleaf.files.folders import casefold_name
from looseleaf.memory.provenance import FROM_SYSTEM, TASK
from looseleaf.stores.database import tables
from looseleaf.stores.database.audit import SqlAudit
from looseleaf.stores.database.audit_chain import MICRO
from looseleaf.stores.database.row_digests import count_rows, seal_rows, verify_rows
from looseleaf.values import as_dict, field_names, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from looseleaf.stores.database.database import Database

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
        """Return a number that grows with every change of accounts or settings."""
        return self.database.version()

    @property
    def write_count(self) -> int:
        """How often this process has changed the database, rights and others."""
        return self.database.write_count

    def runtime_settings(self) -> Mapping[str, Any]:
        """Return every setting that was made while running, by name."""
        return self.settings.all()

    def add_event(self, event: Event) -> None:
        """Add an event that changed no account to the audit."""
        self.audit.add(event)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def verify(self) -> list[str]:
        """Name the rows that were changed outside, and those that are missing."""
        return list(verify_rows(self.database))

    @contextmanager
    def changing(self, event: Event) -> Iterator[sa.Connection]:
        """Change accounts: the change, its audit entry and the new version, all or nothing."""
        with self.database.writing() as connection:
            # The entry first: it makes other writers wait, so that no two changes take the same id.
            self.note(connection, event)
            yield connection

    def end_agent(self, agent_id: int, time: float, event: Event) -> bool:
        """End every credential of an agent and every role on it; return whether there was any."""
        credentials, grants = tables.credentials, tables.grants
        with self.database.writing() as connection:
            credentials_ended = _end(connection, credentials.c.agent_id == agent_id, time)
            grant_deletion = connection.execute(
                grants.delete().where(grants.c.agent_id == agent_id)
            )
            count_rows(connection, grants, -grant_deletion.rowcount)
            if credentials_ended or grant_deletion.rowcount:
                self.note(connection, event)
            return bool(credentials_ended or grant_deletion.rowcount)

    def note(self, connection: sa.Connection, event: Event) -> None:
        """Add the audit entry of a change and the new version into its transaction."""
        self.audit.append(connection, event)
        connection.execute(
            tables.state.update()
            .where(tables.state.c.name == "version")
            .values(number=tables.state.c.number + 1)
        )

    def start(self, user_id: int, login: str = "admin") -> None:
        """Create the first user, who may do everything, unless there are users."""
        if not self.users.list():
            first = User(
                id=user_id,
                login=login,
                name="Administrator",
                capabilities=frozenset((EVERYTHING,)),
                created=self.audit.clock(),
            )
            with suppress(UserExists):  # another process was faster
                self.users.add(first, build_start_event(login))


def build_start_event(login: str) -> Event:
    """Return the event of the first start, which creates the first user."""
    return Event(action="first start", target=f"login={login}", actor_kind=TASK, origin=FROM_SYSTEM)


def _end(connection: sa.Connection, condition: sa.ColumnElement[bool], time: float) -> bool:
    """End the credentials that have not ended; return whether there was any."""
    credentials = tables.credentials
    update = credentials.update().where(condition & (credentials.c.ended == 0))
    result = connection.execute(update.values(ended=round(time * MICRO)))
    if result.rowcount:
        seal_rows(connection, credentials, condition)
    return bool(result.rowcount)


class SqlUsers:
    """The users of one database."""

    def __init__(self, accounts: SqlAccounts) -> None:
        self._accounts = accounts

    def add(self, user: User, event: Event) -> User:
        """Add a user (id 0: the next one); raise `UserExists` if the login or the id is taken."""
        with self._accounts.changing(event) as connection:
            is_taken = (tables.users.c.folded == casefold_name(user.login)) | (
                tables.users.c.id == user.id
            )
            if connection.execute(sa.select(tables.users.c.id).where(is_taken)).first():
                raise UserExists(user.login)
            last = connection.execute(sa.select(sa.func.max(tables.users.c.id))).scalar() or 0
            new_user = replace(user, id=user.id or last + 1)
            connection.execute(
                tables.users.insert().values(
                    **_build_row(new_user), folded=casefold_name(user.login)
                )
            )
            seal_rows(connection, tables.users, tables.users.c.id == new_user.id)
            count_rows(connection, tables.users, 1)
        return new_user

    def change(self, user: User, event: Event) -> None:
        """Replace the record of a user; a new password ends sessions and login links."""
        with self._accounts.changing(event) as connection:
            folded_login = casefold_name(user.login)
            is_taken = (tables.users.c.folded == folded_login) & (tables.users.c.id != user.id)
            if connection.execute(sa.select(tables.users.c.id).where(is_taken)).first():
                raise UserExists(user.login)
            same_id = tables.users.c.id == user.id
            before = connection.execute(sa.select(tables.users.c.password).where(same_id)).scalar()
            connection.execute(
                tables.users.update().where(same_id).values(**_build_row(user), folded=folded_login)
            )
            seal_rows(connection, tables.users, same_id)
            if before != user.password:
                columns = tables.credentials.c
                of_user = (columns.user_id == user.id) & columns.kind.in_((SESSION, LOGIN_LINK))
                _end(connection, of_user, self._accounts.audit.clock())

    def find(self, user: int | str) -> User | None:
        """Find a user by id or login."""
        by_id = isinstance(user, int)
        if not by_id and not _is_storable(str(user)):
            return None
        is_user = (
            tables.users.c.id == user
            if by_id
            else tables.users.c.folded == casefold_name(str(user))
        )
        with self._accounts.database.reading() as connection:
            row = connection.execute(sa.select(tables.users).where(is_user)).first()
        return _build_value(User, row) if row else None

    def list(self) -> list[User]:
        """List every user, by id."""
        query = sa.select(tables.users).order_by(tables.users.c.id)
        with self._accounts.database.reading() as connection:
            return [_build_value(User, row) for row in connection.execute(query)]


class SqlGrants:
    """The grants of one database."""

    def __init__(self, accounts: SqlAccounts) -> None:
        self._accounts = accounts

    def put(self, grant: Grant, event: Event) -> None:
        """Grant a user a role on an agent, in place of an earlier role."""
        with self._accounts.changing(event) as connection:
            is_grant = _build_condition(grant.user_id, grant.agent_id)
            before = connection.execute(tables.grants.delete().where(is_grant)).rowcount
            connection.execute(tables.grants.insert().values(**_build_row(grant)))
            seal_rows(connection, tables.grants, is_grant)
            count_rows(connection, tables.grants, 1 - before)

    def remove(self, user_id: int, agent_id: int, event: Event) -> bool:
        """Revoke a role; return whether there was one."""
        with self._accounts.database.writing() as connection:
            deletion = connection.execute(
                tables.grants.delete().where(_build_condition(user_id, agent_id))
            )
            if deletion.rowcount:
                self._accounts.note(connection, event)
                count_rows(connection, tables.grants, -deletion.rowcount)
            return bool(deletion.rowcount)

    def list(self, *, user_id: int = 0, agent_id: int = 0) -> list[Grant]:
        """List grants, of a user or on an agent."""
        columns = tables.grants.c
        query = sa.select(tables.grants).order_by(columns.agent_id, columns.user_id)
        query = query.where(columns.user_id == user_id) if user_id else query
        query = query.where(columns.agent_id == agent_id) if agent_id else query
        with self._accounts.database.reading() as connection:
            return [_build_value(Grant, row) for row in connection.execute(query)]


class SqlCredentials:
    """The credentials of one database."""

    def __init__(self, accounts: SqlAccounts) -> None:
        self._accounts = accounts

    def add(self, credential: Credential, event: Event) -> None:
        """Add a credential."""
        with self._accounts.changing(event) as connection:
            connection.execute(tables.credentials.insert().values(**_build_row(credential)))
            seal_rows(connection, tables.credentials, tables.credentials.c.id == credential.id)
            count_rows(connection, tables.credentials, 1)

    def find(self, identity: str) -> Credential | None:
        """Find a credential by its public id, ended or not."""
        if not _is_storable(identity):
            return None
        query = sa.select(tables.credentials).where(tables.credentials.c.id == identity)
        with self._accounts.database.reading() as connection:
            row = connection.execute(query).first()
        return _build_value(Credential, row) if row else None

    def list(self, kind: str, *, user_id: int = 0, agent_id: int = 0) -> list[Credential]:
        """List credentials of a kind, of a user or bound to an agent, oldest first."""
        columns = tables.credentials.c
        query = sa.select(tables.credentials).where(columns.kind == kind)
        query = query.where(columns.user_id == user_id) if user_id else query
        query = query.where(columns.agent_id == agent_id) if agent_id else query
        with self._accounts.database.reading() as connection:
            rows = connection.execute(query.order_by(columns.created, columns.id))
            return [_build_value(Credential, row) for row in rows]

    def end(self, identity: str, time: float, event: Event) -> bool:
        """End a credential; return False if it had ended before, so that one caller wins."""
        with self._accounts.database.writing() as connection:
            has_ended = _end(connection, tables.credentials.c.id == identity, time)
            if has_ended:
                self._accounts.note(connection, event)
            return has_ended

    def note_use(self, identity: str, time: float) -> None:
        """Record when a credential was last used."""
        with self._accounts.database.writing(is_relaxed=True) as connection:
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
        """Return every setting made, by name."""
        query = sa.select(tables.settings).order_by(tables.settings.c.name)
        with self._accounts.database.reading() as connection:
            return {row.name: json.loads(row.setting) for row in connection.execute(query)}

    def put(self, settings: Mapping[str, object], event: Event) -> None:
        """Store settings by name, all or none; None removes a setting."""
        with self._accounts.changing(event) as connection:
            for name, setting in settings.items():
                is_setting = tables.settings.c.name == name
                before = connection.execute(tables.settings.delete().where(is_setting)).rowcount
                if setting is not None:
                    row = {"name": name, "setting": json.dumps(setting)}
                    connection.execute(tables.settings.insert().values(**row))
                    seal_rows(connection, tables.settings, is_setting)
                count_rows(connection, tables.settings, (setting is not None) - before)


def _is_storable(text: str) -> bool:
    """Return whether a database can hold this text; otherwise no row can match it."""
    return text.isprintable()  # PostgreSQL stores neither lone surrogates nor NUL


def _build_condition(user_id: int, agent_id: int) -> sa.ColumnElement[bool]:
    return (tables.grants.c.user_id == user_id) & (tables.grants.c.agent_id == agent_id)


def _build_row(record: User | Grant | Credential) -> dict[str, object]:
    fields: dict[str, Any] = as_dict(record)
    for name in fields.keys() & set(_TIMES):
        fields[name] = round(fields[name] * MICRO)
    for name in fields.keys() & set(_WORDS):
        fields[name] = None if fields[name] is None else " ".join(sorted(fields[name]))
    return fields


def _build_value(kind: Any, row: Any) -> Any:  # noqa: ANN401 - the class of a value, a row
    fields = {name: getattr(row, name) for name in field_names(kind)}
    for name in fields.keys() & set(_TIMES):
        fields[name] /= MICRO
    for name in fields.keys() & set(_WORDS):
        fields[name] = None if fields[name] is None else frozenset(fields[name].split())
    return kind(**fields)
