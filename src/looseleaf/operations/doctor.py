"""The doctor: is everything in order, and if not, what is to be done."""

from __future__ import annotations

import json
import os
import sqlite3

from looseleaf.agents.record import STATUSES, list_readable_agents
from looseleaf.catalog import page_checks
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.page_checks import (
    CheckRun,
    Checks,
    Finding,
    check_core_pages,
    check_hidden_text,
    list_shelves,
)
from looseleaf.catalog.prompt_assembly import assemble, build_host_limit
from looseleaf.catalog.tool_access import find_unknown_tools
from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import AgentMissing
from looseleaf.memory.scope import Shelf, Where
from looseleaf.prompt.formats import concerns_person, fit_to_host, join_names
from looseleaf.stores.database.audit_chain import HOME
from looseleaf.stores.database.audit_chain import NAME as AUDIT_END
from looseleaf.stores.disk.agent_records import RECORD
from looseleaf.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from looseleaf.access.audit import Audit
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Scope

_MOST = 20
# What reading damaged files can raise; the check reports it, and the other checks go on.
_DAMAGE = (LooseleafError, OSError, sqlite3.Error, ValueError, LookupError, TypeError)


@operation(
    "looseleaf/check-workspace", permission="operate", categories=("doctor",), read_only=True
)
def check_workspace(context: Context, *, verify: bool = False) -> list[Finding]:
    """Check the folder, locks, index, database and configuration; with verify, every page, too.

    Arguments:
        verify: Whether every page and index is read and compared with its checksum, which takes
            longer.
    """
    context.allow()
    checks = context.parts.registry_for("register_checks", checks=Checks).all()
    run = CheckRun(context, verify)
    return [
        finding
        for check in checks
        if verify or not check.verify_only
        for finding in _report(check.name, run, check.run)
    ]


def register_core_checks(checks: Checks) -> None:
    """Register the checks of the folder, its pages and its accounts."""
    for name, check in (
        ("python", lambda _run: page_checks.check_python()),
        ("file system", lambda run: page_checks.check_file_system(run.root)),
        ("permissions", _check_permissions),
        ("leftovers", lambda run: page_checks.check_leftovers(run.root)),
        ("databases", lambda run: page_checks.check_databases(run.root)),
        ("agents", _check_agents),
        ("core pages", _check_core_pages),
        ("hidden text", _check_hidden_text),
        ("hooks", _check_hooks),
        ("accounts", _check_accounts),
    ):
        checks.register(name, check, priority=10)
    checks.register("index", _check_indexes, priority=90, verify_only=True)
    checks.register("pages", _check_pages, priority=90, verify_only=True)


def _report(
    name: str, run: CheckRun, check: Callable[[CheckRun], Iterable[Finding]]
) -> Iterator[Finding]:
    """Yield the findings of a check; damage that stops the check becomes a finding."""
    try:
        yield from check(run)
    except _DAMAGE as error:
        detail = f"the check could not be finished: {error}"
        yield Finding(name, "fault", detail, "Compare with a backup.")


def _check_permissions(run: CheckRun) -> Iterator[Finding]:
    is_shared = run.context.settings.group_writable
    return page_checks.check_permissions(run.root, group_writable=is_shared)


def _check_core_pages(run: CheckRun) -> Iterator[Finding]:
    context = run.context
    default_user = context.settings.default_user
    return check_core_pages(context.pages, context.history, context.parts.agents, default_user)


def _check_hidden_text(run: CheckRun) -> Iterator[Finding]:
    context = run.context
    shelves = list_shelves(context.parts.agents, context.settings.default_user)
    return check_hidden_text(context.pages, shelves, every_page=run.verify)


def _check_agents(run: CheckRun) -> Iterator[Finding]:
    """Check that each folder of an agent has a valid record of its own."""
    context, root = run.context, run.root
    ids: dict[int, str] = {}
    fine = 0
    # The pages of a deleted agent stay, so that it can be restored.
    deleted = {agent.slug for agent in context.parts.agents.deleted_records()}
    folders = context.parts.agents.folders
    slugs = folders.slugs() if folders is not None else []
    for slug in slugs:
        try:
            record = context.parts.agents.resolve(slug)
            record.configuration.check()
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
        policy = record.configuration.tool_policy
        for problem in find_unknown_tools(context.parts.operations(), policy):
            advice = f"Correct the tool_policy: looseleaf agents configure {slug} 'tool_policy=…'."
            yield Finding("agents", "warning", f"{slug}: in its tool_policy {problem}", advice)
    for slug in folders.lost_slugs(ids) if folders is not None else ():
        advice = "Restore its folder from a backup; its history is in .looseleaf/history."
        yield Finding("agents", "fault", f"{slug} was there and is gone", advice)
    yield from page_checks.check_agent_folders(root, slugs)
    if fine:
        yield Finding("agents", "ok", f"{fine} can be used")


def _check_record(root: str, record: AgentRecord) -> None:
    """Check a record as strictly as other programs do; finding an agent checks less."""
    with open(os.path.join(root, "agents", record.slug, RECORD), "rb") as file:
        json.loads(file.read())
    parse_time(record.created)
    if record.status not in STATUSES:
        raise ValueError(f"the status is {record.status!r}, not one of {', '.join(STATUSES)}")


def _check_hooks(run: CheckRun) -> Iterator[Finding]:
    """Check that the prompts of agents fit into the output of a coding agent's hook."""
    context = run.context
    count = 0
    for record in list_readable_agents(context.parts.agents):
        if record.status != "active":
            continue
        try:
            missing = _describe_omissions(context, record)
        except LooseleafError:
            continue  # a page or policy, which other checks name
        if missing:
            count += 1
            advice = f"looseleaf prompt check --hook --agent {record.slug} says more."
            yield Finding("hooks", "warning", f"{record.slug}: {missing}", advice)
    if not count:
        room = f"{context.settings.hook_characters:,} characters"
        yield Finding("hooks", "ok", f"what agents are given fits into {room}")


def _describe_omissions(context: Context, record: AgentRecord) -> str:
    """Return what a hook leaves out of an agent's pages, or "" if nothing important."""
    assembly = assemble(context, "chat", where=Where(record.id))
    limit = build_host_limit(context, record, "any")
    excerpt = fit_to_host(assembly, limit)
    if excerpt is assembly or not concerns_person(excerpt):
        return ""  # a generated page is left out without loss
    parts = [
        f"{verb} {join_names(names)}"
        for verb, names in (("gives in part", excerpt.truncated), ("leaves out", excerpt.omitted))
        if names
    ]
    return f"a hook may print {limit.characters:,} characters, so it {' and '.join(parts)}"


def _check_accounts(run: CheckRun) -> Iterator[Finding]:
    """Check that the database opens, and the chain of its audit."""
    parts = run.context.parts
    if not parts.has_accounts():
        if os.path.exists(os.path.join(run.root, HOME, AUDIT_END)):
            advice = "Restore it from a backup: users, tokens and conversations are in it."
            yield Finding("accounts", "fault", "the database was there and is gone", advice)
        return
    try:
        accounts = parts.accounts()
        if not run.verify:
            yield Finding("accounts", "ok", "the database opens")
            return
        row_faults = accounts.verify()
    except LooseleafError as error:
        yield Finding("accounts", "fault", str(error), "See docs/database.md.")
        return
    yield from _report("audit", run, lambda _run: _check_audit(accounts.audit))
    for fault in row_faults:
        yield Finding("accounts", "fault", fault, "Compare with a backup of the database.")
    if not row_faults:
        yield Finding("accounts", "ok", "users, rights and conversations are as they were written")


def _check_audit(audit: Audit) -> Iterator[Finding]:
    """Follow the chain of the audit."""
    verdict = audit.verify()
    if verdict.fault:
        advice = (
            "Compare with a backup. If you restored one on purpose: "
            "rm -f .looseleaf/audit-end .looseleaf/audit-begin"
        )
        yield Finding("audit", "fault", verdict.fault, advice)
    else:
        removal = f"; retention removed {verdict.removed} older ones" if verdict.removed else ""
        yield Finding("audit", "ok", f"{verdict.entries} entries form one chain{removal}")


def _check_pages(run: CheckRun) -> Iterator[Finding]:
    """Read every page and every kept version, and compare each with its hash."""
    context, root = run.context, run.root
    scopes: list[Scope] = []
    faults: list[tuple[str, str]] = []
    shelves = list(_list_shelves(context, root))
    # Deleted agents can be restored, so their histories count as much as any.
    unlisted_shelves = [shelf for shelf in context.history.shelves() if shelf not in shelves]
    for shelf in (*shelves, *unlisted_shelves):
        entries = context.pages.list(shelf) if shelf in shelves else ()
        present = {entry.filename for entry in entries}
        with_history = set(context.history.pages(shelf))
        scopes += [shelf.page(name) for name in sorted(present | with_history)]
        names = context.history.missing(shelf)
        faults += [
            (_name_page(context, shelf.page(name)), "its history is missing") for name in names
        ]
    edited_names, versions = [], 0
    for number, scope in enumerate(scopes, 1):
        context.parts.show_progress("Verifying", number, len(scopes))
        verdict = context.history.verify(scope, is_core=_is_core(context, scope))
        versions += verdict.versions
        faults += [(_name_page(context, scope), fault) for fault in verdict.faults]
        edited_names += [_name_page(context, scope)] if verdict.edited_outside else []
    yield from _build_page_findings(faults, edited_names)
    total = f"{len(scopes)} pages and {versions} versions were read, {len(faults)} faults"
    yield Finding("pages", "fault" if faults else "ok", total)


def _check_indexes(run: CheckRun) -> Iterator[Finding]:
    """Compare each search index with its pages."""
    index = run.context.index()
    if index is None:
        return
    for shelf in _list_shelves(run.context, run.root):
        for fault in index.verify(shelf):
            advice = "Delete .looseleaf/index: it is made anew at the next search."
            yield Finding(
                "index", "fault", f"{run.context.pages.name_shelf(shelf)}: {fault}", advice
            )


def _build_page_findings(
    faults: list[tuple[str, str]], edited_names: list[str]
) -> Iterator[Finding]:
    advice = "Compare with a backup, or with the history: looseleaf memory history, restore."
    for name, fault in faults[:_MOST]:
        yield Finding("pages", "fault", f"{name}: {fault}", advice)
    if len(faults) > _MOST:
        yield Finding("pages", "fault", f"{len(faults) - _MOST} more faults")
    if edited_names:
        rest = f" and {len(edited_names) - _MOST} more" if len(edited_names) > _MOST else ""
        detail = (
            f"changed outside since Looseleaf last wrote: {', '.join(edited_names[:_MOST])}{rest}"
        )
        advice = "If nobody edited them: looseleaf memory diff shows what changed."
        yield Finding("pages", "warning", detail, advice)


def _name_page(context: Context, scope: Scope) -> str:
    return f"{scope.filename} in {context.pages.name_shelf(scope.shelf)}"


def _is_core(context: Context, scope: Scope) -> bool:
    registered_file = context.pages.registry.get(scope.filename)
    return registered_file is not None and registered_file.protected


def _list_shelves(context: Context, root: str) -> Iterator[Shelf]:
    yield from (Shelf("shared"), Shelf("network"))
    yield from (Shelf("user", user) for user in _list_ids(os.path.join(root, "users")))
    agents = list(list_readable_agents(context.parts.agents))
    yield from (record.shelf for record in agents)
    for record in agents:
        people = os.path.join(root, "agents", record.slug, "users")
        yield from (Shelf("principal", user, record.id) for user in _list_ids(people))


def _list_ids(folder: str) -> list[int]:
    """List the users who have a folder below another one."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    numbers = [int(name) for name in names if name.isascii() and name.isdigit()]
    return sorted(number for number in numbers if number > 0)
