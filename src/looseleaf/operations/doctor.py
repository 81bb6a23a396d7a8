"""The doctor: is everything in order, and if not, what is to be done."""

from __future__ import annotations

import os

from looseleaf.agents.record import check_config
from looseleaf.errors import LooseleafError
from looseleaf.memory.pages import decoded
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Found, content_hash
from looseleaf.operations.audit import has_accounts
from looseleaf.operations.catalog import operation
from looseleaf.operations.prompt_condition import check_core_pages, check_hooks
from looseleaf.stores import condition
from looseleaf.stores.condition import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Scope
    from looseleaf.operations.context import Context

_MOST = 20


@operation(
    "looseleaf/check-workspace", permission="operate", categories=("doctor",), read_only=True
)
def check_workspace(context: Context, *, verify: bool = False) -> list[Finding]:
    """Check the folder, locks, index, database and configuration; to verify reads everything."""
    context.allow()
    root = os.path.realpath(context.settings.root)
    found = [
        *condition.python(),
        *condition.file_system(root),
        *condition.permissions(root, group_writable=context.settings.group_writable),
        *condition.leftovers(root),
        *condition.databases(root),
        *_agents(context),
        *check_core_pages(context),
        *check_hooks(context),
        *_accounts(context, verify=verify),
    ]
    return [*found, *_pages(context, root)] if verify else found


def _agents(context: Context) -> Iterator[Finding]:
    """Check that each folder of an agent has a record of its own that can be followed."""
    ids: dict[int, str] = {}
    fine = 0
    for slug in context.agents.slugs():
        try:
            record = context.agents.resolve(slug)
            check_config(slug, record.config)
        except LooseleafError as error:
            yield Finding("agents", "fault", f"{slug}: {error}", f"Mend agents/{slug}/agent.json.")
            continue
        if record.id in ids:
            advice = "Delete one agent.json, then run looseleaf init to give it an id."
            yield Finding("agents", "fault", f"{slug} has the id of {ids[record.id]}", advice)
            continue
        ids[record.id] = slug
        fine += 1
    if fine:
        yield Finding("agents", "ok", f"{fine} can be used")


def _accounts(context: Context, *, verify: bool) -> Iterator[Finding]:
    """Check that the database opens, and the chain of its audit."""
    if context.accounts is None or not has_accounts(context):
        return
    try:
        audit = context.accounts().audit
        if not verify:
            yield Finding("accounts", "ok", "the database opens")
            return
        checked = audit.verify()
    except LooseleafError as error:
        yield Finding("accounts", "fault", str(error), "See docs/database.md.")
        return
    if checked.fault:
        advice = "Someone changed the audit: compare it with a backup."
        yield Finding("audit", "fault", checked.fault, advice)
    else:
        yield Finding("audit", "ok", f"{checked.entries} entries form one chain")


def _pages(context: Context, root: str) -> Iterator[Finding]:
    """Read every page and every kept version, and compare each with its hash."""
    scopes = [scope for shelf in _shelves(context, root) for scope in _scopes(context, shelf)]
    faults = versions = 0
    for place, scope in enumerate(scopes):
        context.progress("Verifying", place + 1, len(scopes))
        count, wrong = _verified(context, scope)
        versions += count
        for detail in wrong:
            faults += 1
            if faults <= _MOST:
                advice = "Restore the page from another revision or a backup."
                yield Finding("pages", "fault", f"{scope.key}: {detail}", advice)
    told = f"{len(scopes)} pages and {versions} versions were read"
    if faults > _MOST:
        yield Finding("pages", "fault", f"{faults - _MOST} more faults")
    yield Finding("pages", "fault" if faults else "ok", f"{told}, {faults} faults")


def _shelves(context: Context, root: str) -> Iterator[Shelf]:
    yield from (Shelf("shared"), Shelf("network"))
    users = os.path.join(root, "users")
    for name in sorted(os.listdir(users)) if os.path.isdir(users) else ():
        if name.isascii() and name.isdigit() and int(name) > 0:
            yield Shelf("user", int(name))
    for record in context.agents.records():
        yield record.shelf


def _scopes(context: Context, shelf: Shelf) -> list[Scope]:
    present = {entry.filename for entry in context.pages.list(shelf)}
    return [shelf.page(name) for name in sorted(present | set(context.history.pages(shelf)))]


def _verified(context: Context, scope: Scope) -> tuple[int, list[str]]:
    """Give how many versions could be read, and what is wrong with the others."""
    wrong: list[str] = []
    count = 0
    try:
        page = context.pages.read(scope)
        if isinstance(page, Found):
            decoded(scope.filename, page.content)
        revisions = context.history.revisions(scope)
    except LooseleafError as error:
        return 0, [str(error)]
    for revision in revisions:
        if not revision.kept or not revision.hash:
            continue
        try:
            content = context.history.content(scope, revision.number)
        except LooseleafError as error:
            wrong.append(f"revision {revision.number}: {error}")
            continue
        count += 1
        if content is None or content_hash(content) != revision.hash:
            wrong.append(f"revision {revision.number} is not what was written")
    return count, wrong
