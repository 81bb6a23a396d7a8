"""Sessions in the database: find, list, search, read and delete."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time

import sqlalchemy as sa

from looseleaf.errors.operations import SessionBusy
from looseleaf.features.chat.session import MessageHit, Session, SessionEntry
from looseleaf.features.chat.tables import (
    chat_messages,
)
from looseleaf.features.chat.tables import (
    chat_messages as messages,
)
from looseleaf.features.chat.tables import (
    chat_sessions as sessions,
)
from looseleaf.models.model import Attachment, Message, ToolCall
from looseleaf.stores.database.row_digests import count_rows, digest_of, seal_rows
from looseleaf.values import as_dict, field_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from looseleaf.stores.database.database import Database


# Messages of conversations as rows, and back.


MICRO = 1_000_000
_ADD = chat_messages.insert()
VERSION = 1  # of the JSON format of a message; older versions stay readable


def build_message_row(message: Message) -> dict[str, Any]:
    """Build the row of a message; fields that most messages lack are left out."""
    details: dict[str, Any] = {}
    if message.calls:
        details["calls"] = [as_dict(call) for call in message.calls]
    if message.attachments:
        details["attachments"] = [as_dict(attachment) for attachment in message.attachments]
    if message.role == "tool":
        details |= {"call": message.call, "name": message.name, "failed": message.failed}
    text = clean_text(message.text)
    return {
        "version": VERSION,
        "role": message.role,
        "text": text,
        "folded": None if text.isascii() else text.casefold(),
        "more": json.dumps(details) if details else "",
        "native": message.native,
    }


def entry_of(row: Any) -> SessionEntry:  # noqa: ANN401 - a row of the table
    """Build an entry from a row: number, turn, time, role, text, more, native."""
    number, turn, time, role, text, details_json, native = row
    if not details_json:
        return SessionEntry(
            number, time / MICRO, turn, Message(role=role, text=text, native=native)
        )
    details = json.loads(details_json)
    message = Message(
        role=role,
        text=text,
        calls=tuple(ToolCall(**call) for call in details.get("calls", ())),
        call=details.get("call", ""),
        name=details.get("name", ""),
        failed=details.get("failed", False),
        attachments=tuple(
            Attachment(**attachment) for attachment in details.get("attachments", ())
        ),
        native=native,
    )
    return SessionEntry(number, time / MICRO, turn, message)


def clean_text(text: str) -> str:
    """Replace what not every database can store: NUL, and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def add_messages(
    connection: sa.Connection, position: tuple[str, int, int], messages: Sequence[Message], now: int
) -> None:
    """Save messages of a session and turn, numbered from the first."""
    session, turn, first_number = position
    rows = [
        {
            "session": session,
            "turn": turn,
            "number": first_number + index,
            "time": now,
            **build_message_row(message),
        }
        for index, message in enumerate(messages)
    ]
    for row in rows:
        row["digest"] = digest_of(chat_messages, row)
    connection.execute(_ADD, rows)


# The process that holds a lease, named so that other processes can check whether it is running.
# Linux shows the start time of a process, its boot and its namespace of process ids. If the
# system does not show them, or the process runs on another machine, only time ends a lease.


_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/pid"
_STATE, _STARTED = 0, 19  # fields of /proc/…/stat behind the name of the program
_abandoned: set[str] = set()  # leases of this process that it could not release
_names: dict[int, str] = {}  # by process id, since a fork is another process


def create_lease() -> str:
    """Create the secret of a lease, with the name of this process."""
    return f"{secrets.token_hex(16)}{_name_process()}"


def abandon_lease(lease: str) -> None:
    """Note that no turn of this process holds a lease any longer, whatever the database says."""
    _abandoned.add(lease)


def is_gone(lease: str) -> bool:
    """Return whether nobody holds a lease any longer, as far as this process can tell.

    That is so if the process that took it has ended, or was this one and could not release it.
    """
    _, _, name = lease.partition(".")
    if f".{name}" == _name_process():
        return lease in _abandoned
    machine, _, process = name.partition(".")
    identity, _, start_time = process.partition(".")
    if not start_time or machine != _name_process().split(".")[1] or not identity.isdigit():
        return False
    status = _read_status(int(identity))
    return status is None or status[_STATE] == "Z" or status[_STARTED] != start_time


def _name_process() -> str:
    process = os.getpid()
    if process not in _names:
        status, machine = _read_status(process), _identify_machine()
        is_identified = machine and status is not None
        _names[process] = (
            f".{machine}.{process}.{status[_STARTED]}" if is_identified and status else ".."
        )
    return _names[process]


def _identify_machine() -> str:
    try:
        with open(_BOOT, "rb") as file:
            boot = file.read()
        namespace = os.readlink(_NAMESPACE)
    except OSError:
        return ""
    return hashlib.sha256(boot + namespace.encode()).hexdigest()[:16]


def _read_status(process: int) -> list[str] | None:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            text = file.read().decode("ascii", "replace")
    except OSError:
        return None
    return text[text.rfind(")") + 1 :].split()


_ENTRY_COLUMNS = ("number", "turn", "time", "role", "text", "more", "native")
_ENTRY = [messages.c[name] for name in _ENTRY_COLUMNS]
# Built once: building a statement takes longer than running it.
_IN_SESSION = (messages.c.session == sa.bindparam("session")) & (
    messages.c.number > sa.bindparam("after")
)
_SELECT_ALL = sa.select(*_ENTRY).where(_IN_SESSION).order_by(messages.c.number)
_SELECT_LAST = (
    _SELECT_ALL.order_by(None).order_by(messages.c.number.desc()).limit(sa.bindparam("last"))
)
_SESSION_FIELDS: list[str] = [name for name in field_names(Session) if name != "running"]
_TIMES = ("created", "updated", "finished")
_ESCAPE = "\\"
_PREFIX = re.compile(r"[0-9a-f-]+")  # of an id


class SqlSessions:
    """The conversations of one database."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def find(self, session: str) -> Session | None:
        """Find a session."""
        with self._database.reading() as connection:
            return find_session(connection, session, self._now())

    def find_by_prefix(
        self, prefix: str, *, owner: int = 0, agents: Sequence[int] | None = None
    ) -> Sequence[Session]:
        """Find up to two sessions by the start of their id, of an owner and of agents."""
        if not _PREFIX.fullmatch(prefix.lower()):
            return []
        has_prefix = sessions.c.id.startswith(prefix.lower())
        query = sa.select(sessions).where(has_prefix, *_build_filters(owner, agents, "")).limit(2)
        with self._database.reading() as connection:
            return [session_of(row, self._now()) for row in connection.execute(query)]

    def list(
        self,
        *,
        owner: int = 0,
        agents: Sequence[int] | None = None,
        mode: str = "",
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[list[Session], int]:
        """List sessions, latest message first, and count all of them."""
        conditions = _build_filters(owner, agents, mode)
        order = (sessions.c.updated.desc(), sessions.c.id)
        query = sa.select(sessions).where(*conditions).order_by(*order).limit(limit).offset(offset)
        count = sa.select(sa.func.count()).select_from(sessions).where(*conditions)
        with self._database.reading() as connection:
            page = [session_of(row, self._now()) for row in connection.execute(query)]
            return page, connection.execute(count).scalar_one()

    def search(
        self, query: str, *, owner: int = 0, agents: Sequence[int] | None = None, limit: int = 50
    ) -> Sequence[MessageHit]:
        """Find messages that hold a text, newest first; a title is found by its first message."""
        pattern = clean_text(query).casefold()
        for sign in (_ESCAPE, "%", "_"):
            pattern = pattern.replace(sign, _ESCAPE + sign)
        like = f"%{pattern}%"
        is_plain_match = messages.c.folded.is_(None) & sa.func.lower(messages.c.text).like(
            like, escape=_ESCAPE
        )
        is_match = is_plain_match | messages.c.folded.like(like, escape=_ESCAPE)
        order = (messages.c.time.desc(), messages.c.number.desc())
        # Only short rows are sorted; the messages are fetched for the rows of the result.
        best = (
            sa.select(messages.c.session, messages.c.number)
            .join(sessions, sessions.c.id == messages.c.session)
            .where(is_match, messages.c.role != "tool", *_build_filters(owner, agents, ""))
            .order_by(*order)
            .limit(limit)
            .subquery()
        )
        is_best = (messages.c.session == best.c.session) & (messages.c.number == best.c.number)
        matches = (
            sa.select(*_ENTRY, sessions)
            .join(best, is_best)
            .join(sessions, sessions.c.id == messages.c.session)
            .order_by(*order)
        )
        with self._database.reading() as connection:
            rows = connection.execute(matches).all()
        now = self._now()
        return [
            MessageHit(session_of(row, now), entry_of(row[: len(_ENTRY_COLUMNS)])) for row in rows
        ]

    def messages(self, session: str, *, last: int = 0, after: int = 0) -> Sequence[SessionEntry]:
        """Return messages in order: the last few, those after a number, or all."""
        with self._database.reading() as connection:
            return read_entries(connection, session, last=last, after=after)

    def change(self, session: str, **fields: str | float) -> None:
        """Change fields of a session, but not the time of its last use."""
        values: dict[str, Any] = {
            name: clean_text(field) if isinstance(field, str) else field
            for name, field in fields.items()
        }
        for name in values.keys() & set(_TIMES):
            values[name] = round(values[name] * MICRO)
        with self._database.writing() as connection:
            is_session = sessions.c.id == session
            connection.execute(sessions.update().where(is_session).values(**values))
            seal_rows(connection, sessions, is_session)

    def delete(self, session: str) -> bool:
        """Delete a session with its messages; `SessionBusy` while a turn runs."""
        idle_deletion = sessions.delete().where(sessions.c.id == session, self._match_idle())
        with self._database.writing() as connection:
            if connection.execute(idle_deletion).rowcount:
                count_rows(connection, sessions, -1)
                return True
            is_session = sessions.c.id == session
            row = connection.execute(sa.select(sessions.c.lease).where(is_session)).first()
            if row is None:
                return False
            if not is_gone(row.lease):
                raise SessionBusy(session)
            deletion = sessions.delete().where(is_session, sessions.c.lease == row.lease)
            count_rows(connection, sessions, -connection.execute(deletion).rowcount)
            return True

    def prune(
        self, *, said_before: float = 0.0, empty_before: float = 0.0, dry_run: bool = False
    ) -> int:
        """Delete sessions without recent messages; return their number."""
        is_old = sessions.c.updated < round(said_before * MICRO)
        is_empty = (sessions.c.messages == 0) & (sessions.c.created < round(empty_before * MICRO))
        condition = (is_old | is_empty) & self._match_idle()
        if dry_run:
            query = sa.select(sa.func.count()).select_from(sessions).where(condition)
            with self._database.reading() as connection:
                return connection.execute(query).scalar_one()
        with self._database.writing() as connection:
            result = connection.execute(sessions.delete().where(condition))
            count_rows(connection, sessions, -result.rowcount)
            return result.rowcount

    def _match_idle(self) -> sa.ColumnElement[bool]:
        return (sessions.c.lease == "") | (sessions.c.lease_until <= self._now())

    def _now(self) -> int:
        return round(self._clock() * MICRO)


def _build_filters(
    owner: int, agents: Sequence[int] | None, mode: str
) -> list[sa.ColumnElement[bool]]:
    values = {"owner": owner, "mode": mode}
    conditions = [sessions.c[name] == cell for name, cell in values.items() if cell]
    return conditions if agents is None else [*conditions, sessions.c.agent.in_(agents)]


def find_session(connection: sa.Connection, session: str, now: int) -> Session | None:
    """Find a session in a transaction."""
    if not session.isprintable():
        return None
    row = connection.execute(sa.select(sessions).where(sessions.c.id == session)).first()
    return session_of(row, now) if row is not None else None


def read_entries(
    connection: sa.Connection, session: str, *, last: int = 0, after: int = 0
) -> list[SessionEntry]:
    """Read messages in a transaction, in order."""
    parameters = {"session": session, "after": after}
    query = _SELECT_ALL
    if last:
        query, parameters = _SELECT_LAST, {**parameters, "last": last}
    entries = [entry_of(row) for row in connection.execute(query, parameters).all()]
    return entries[::-1] if last else entries


def session_of(row: Any, now: int) -> Session:  # noqa: ANN401 - a row of the table
    """Build a session from a row."""
    fields: dict[str, Any] = {name: getattr(row, name) for name in _SESSION_FIELDS}
    for name in _TIMES:
        fields[name] /= MICRO
    is_held = bool(row.lease) and row.lease_until > now
    return Session(**fields, running=is_held and not is_gone(row.lease))
