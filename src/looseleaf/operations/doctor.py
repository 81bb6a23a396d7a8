"""The doctor: is everything in order, and if not, what is to be done."""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import datetime

from looseleaf.agents.files import RECORD
from looseleaf.agents.record import STATUSES, check_config
from looseleaf.errors import AgentMissing, LooseleafError
from looseleaf.memory.scope import Shelf
from looseleaf.operations.audit import has_accounts
from looseleaf.operations.catalog import operation
from looseleaf.operations.hidden_text import check_hidden_text
from looseleaf.operations.prompt_condition import check_core_pages, check_hooks, readable_agents
from looseleaf.stores import condition
from looseleaf.stores.audit_anchor import HOME
from looseleaf.stores.audit_anchor import NAME as AUDIT_END
from looseleaf.stores.condition import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.agents.accounts import Audit
    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.scope import Scope
    from looseleaf.operations.context import Context

_MOST = 20
# What reading damaged files can raise. A doctor that falls ill with the patient helps nobody.
_DAMAGE = (LooseleafError, OSError, sqlite3.Error, ValueError, LookupError, TypeError)


@operation(
    "looseleaf/check-workspace", permission="operate", categories=("doctor",), read_only=True
)
def check_workspace(context: Context, *, verify: bool = False) -> list[Finding]:
    """Check the folder, locks, index, database and configuration; to verify reads everything."""
    context.allow()
    root = os.path.realpath(context.settings.root)
    is_shared = context.settings.group_writable
    checks: dict[str, Iterator[Finding]] = {
        "python": condition.python(),
        "file system": condition.file_system(root),
        "permissions": condition.permissions(root, group_writable=is_shared),
        "leftovers": condition.leftovers(root),
        "databases": condition.databases(root),
        "agents": _agents(context, root),
        "core pages": check_core_pages(context),
        "hidden text": check_hidden_text(context, every_page=verify),
        "hooks": check_hooks(context),
        "accounts": _accounts(context, root, verify=verify),
    }
    if verify:
        checks |= {"index": _indexes(context, root), "pages": _pages(context, root)}
    return [finding for name, findings in checks.items() for finding in _report(name, findings)]


def _report(name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Give the findings of a check; where damage stops it, say so and let the others go on."""
    try:
        yield from findings
    except _DAMAGE as error:
        detail = f"the check could not be finished: {error}"
        yield Finding(name, "fault", detail, "Compare with a backup.")


def _agents(context: Context, root: str) -> Iterator[Finding]:
    """Check that each folder of an agent has a record of its own that can be followed."""
    ids: dict[int, str] = {}
    fine = 0
    # The pages of a deleted agent stay, so that it can be restored.
    deleted = {one.slug for one in context.agents.deleted()}
    for slug in context.agents.slugs():
        try:
            record = context.agents.resolve(slug)
            check_config(slug, record.config)
            _check_record(root, record)
        except (LooseleafError, ValueError) as error:
            if not (isinstance(error, AgentMissing) and slug in deleted):
                advice = f"Mend agents/{slug}/agent.json."
                yield Finding("agents", "fault", f"{slug}: {error}", advice)
            continue
        if record.id in ids:
            advice = "Delete one agent.json, then run looseleaf init to give it an id."
            yield Finding("agents", "fault", f"{slug} has the id of {ids[record.id]}", advice)
            continue
        ids[record.id] = slug
        fine += 1
    for slug in context.agents.lost(ids):
        advice = "Restore its folder from a backup; its history is in .looseleaf/history."
        yield Finding("agents", "fault", f"{slug} was there and is gone", advice)
    if fine:
        yield Finding("agents", "ok", f"{fine} can be used")


def _check_record(root: str, record: AgentRecord) -> None:
    """Read a record as strictly as other programs do; an agent is found by less than that."""
    with open(os.path.join(root, "agents", record.slug, RECORD), "rb") as file:
        json.loads(file.read())
    datetime.fromisoformat(record.created)
    if record.status not in STATUSES:
        raise ValueError(f"the status is {record.status!r}, not one of {', '.join(STATUSES)}")


def _accounts(context: Context, root: str, *, verify: bool) -> Iterator[Finding]:
    """Check that the database opens, and the chain of its audit."""
    if context.accounts is None or not has_accounts(context):
        if os.path.exists(os.path.join(root, HOME, AUDIT_END)):
            advice = "Restore it from a backup: users, tokens and conversations are in it."
            yield Finding("accounts", "fault", "the database was there and is gone", advice)
        return
    try:
        accounts = context.accounts()
        if not verify:
            yield Finding("accounts", "ok", "the database opens")
            return
        row_faults = accounts.verify()
    except LooseleafError as error:
        yield Finding("accounts", "fault", str(error), "See docs/database.md.")
        return
    yield from _report("audit", _audit(accounts.audit))
    for fault in row_faults:
        yield Finding("accounts", "fault", fault, "Compare with a backup of the database.")
    if not row_faults:
        yield Finding("accounts", "ok", "users, rights and conversations are as they were written")


def _audit(audit: Audit) -> Iterator[Finding]:
    """Follow the chain of the audit."""
    checked = audit.verify()
    if checked.fault:
        advice = "Compare with a backup. If you restored one on purpose: rm .looseleaf/audit-end"
        yield Finding("audit", "fault", checked.fault, advice)
    else:
        yield Finding("audit", "ok", f"{checked.entries} entries form one chain")


def _pages(context: Context, root: str) -> Iterator[Finding]:
    """Read every page and every kept version, and compare each with its hash."""
    scopes: list[Scope] = []
    faults: list[tuple[str, str]] = []
    for shelf in _shelves(context, root):
        present = {entry.filename for entry in context.pages.list(shelf)}
        with_history = set(context.history.pages(shelf))
        scopes += [shelf.page(name) for name in sorted(present | with_history)]
        lost = context.history.missing(shelf)
        faults += [(f"{shelf.name}:{name}", "its history is missing") for name in lost]
    edited, versions = [], 0
    for number, scope in enumerate(scopes, 1):
        context.progress("Verifying", number, len(scopes))
        verdict = context.history.verify(scope, is_core=_is_core(context, scope))
        versions += verdict.versions
        faults += [(scope.key, fault) for fault in verdict.faults]
        edited += [scope.key] if verdict.edited_outside else []
    yield from _page_findings(faults, edited)
    total = f"{len(scopes)} pages and {versions} versions were read, {len(faults)} faults"
    yield Finding("pages", "fault" if faults else "ok", total)


def _indexes(context: Context, root: str) -> Iterator[Finding]:
    """Compare each search index with its pages."""
    index = context.index()
    if index is None:
        return
    for shelf in _shelves(context, root):
        for fault in index.verify(shelf):
            advice = "Delete .looseleaf/index: it is made anew at the next search."
            yield Finding("index", "fault", f"{shelf.name}: {fault}", advice)


def _page_findings(faults: list[tuple[str, str]], edited: list[str]) -> Iterator[Finding]:
    advice = "Compare with a backup, or with the history: looseleaf memory history, restore."
    for key, fault in faults[:_MOST]:
        yield Finding("pages", "fault", f"{key}: {fault}", advice)
    if len(faults) > _MOST:
        yield Finding("pages", "fault", f"{len(faults) - _MOST} more faults")
    if edited:
        more = f" and {len(edited) - _MOST} more" if len(edited) > _MOST else ""
        detail = f"changed outside since Looseleaf last wrote: {', '.join(edited[:_MOST])}{more}"
        advice = "If nobody edited them: looseleaf memory diff shows what changed."
        yield Finding("pages", "warning", detail, advice)


def _is_core(context: Context, scope: Scope) -> bool:
    registered = context.pages.registry.get(scope.filename)
    return registered is not None and registered.protected


def _shelves(context: Context, root: str) -> Iterator[Shelf]:
    yield from (Shelf("shared"), Shelf("network"))
    users = os.path.join(root, "users")
    for name in sorted(os.listdir(users)) if os.path.isdir(users) else ():
        if name.isascii() and name.isdigit() and int(name) > 0:
            yield Shelf("user", int(name))
    yield from (record.shelf for record in readable_agents(context))
