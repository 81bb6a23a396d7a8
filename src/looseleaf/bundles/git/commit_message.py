"""The message of a commit of pages: the changes since the last commit, and who made them."""

from __future__ import annotations

from looseleaf.memory.store import hash_content
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looseleaf.memory.history import Revision

MOST_PAGES = 100  # that a message lists, one by one
_MOST_REASONS = _MOST_NAMES = 3
_SUBJECT_LENGTH, _REASON_LENGTH = 72, 160


@value
class PageChange:
    """A page of a commit: its path, how it changed, and the revisions since the last commit."""

    path: str
    kind: str  # added, deleted or changed
    revisions: tuple[Revision, ...] = ()


def select_revisions(
    revisions: Sequence[Revision], committed_bytes: bytes | None
) -> tuple[Revision, ...]:
    """Select the revisions after the committed one; only the newest if that one is unknown."""
    if committed_bytes is None:
        return tuple(revisions)
    digest = hash_content(committed_bytes)
    for place in range(len(revisions) - 1, -1, -1):
        if revisions[place].hash == digest:
            return tuple(revisions[place + 1 :])
    return tuple(revisions[-1:])


def write_message(changes: Sequence[PageChange], count: int) -> str:
    """Write the message: a subject, a line for each page, and the reasons that were given."""
    lines = [_write_subject(changes, count), ""]
    for change in changes:
        lines.append(f"{change.path}: {_describe(change)}")
        reasons = dict.fromkeys(
            _shorten_line(revision.reason, _REASON_LENGTH)
            for revision in change.revisions
            if revision.reason
        )
        lines += [f"  {reason}" for reason in list(reasons)[-_MOST_REASONS:]]
    if count > len(changes):
        lines.append(f"and {count - len(changes)} more")
    return "\n".join(lines) + "\n"


def _write_subject(changes: Sequence[PageChange], count: int) -> str:
    actors = dict.fromkeys(
        revision.actor or revision.actor_kind
        for change in changes
        for revision in change.revisions
        if revision.actor or revision.actor_kind
    )
    by = f" by {_list_names(actors)}" if actors else ""
    kinds = {change.kind for change in changes}
    kind = kinds.pop() if len(kinds) == 1 and count == len(changes) else ""
    verb = {"added": "Add", "deleted": "Delete"}.get(kind, "Update")
    if count == 1:
        subject = f"{verb} {changes[0].path}{by}"
    else:
        owners = dict.fromkeys(_owner_of(change.path) for change in changes)
        subject = f"{verb} {count} pages of {_list_names(owners)}{by}"
    return _shorten_line(subject, _SUBJECT_LENGTH)


def _list_names(names: Iterable[str]) -> str:
    """Name the first few; a subject has one short line."""
    first, rest = list(names)[:_MOST_NAMES], list(names)[_MOST_NAMES:]
    return ", ".join(first) + (f" and {len(rest)} more" if rest else "")


def _owner_of(path: str) -> str:
    """Name the owner of a page: an agent, a user, or the folder of what belongs to all."""
    layer, _, rest = path.partition("/")
    owner, slash, _ = rest.partition("/")
    owners = {"agents": owner, "users": f"user {owner}"} if slash else {}
    return owners.get(layer, layer)


def _describe(change: PageChange) -> str:
    if not change.revisions:
        return change.kind
    actors = dict.fromkeys(_describe_actor(revision) for revision in change.revisions)
    count = len(change.revisions)
    operations = dict.fromkeys(revision.operation for revision in change.revisions)
    changes = "1 change" if count == 1 else f"{count} changes"
    return _shorten_line(f"{changes} ({', '.join(operations)}) by {', '.join(actors)}", 400)


def _describe_actor(revision: Revision) -> str:
    details = ", ".join(filter(None, (revision.actor_kind, revision.surface)))
    name = revision.actor or "someone"
    return f"{name} ({details})" if details else name


def _shorten_line(text: str, length: int) -> str:
    """Write a text in one line: names and reasons that agents choose must not break a message."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
