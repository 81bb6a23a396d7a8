"""The doctor's look at prompts: core pages that cannot be given, and what no hook has room for."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.memory.scope import Shelf
from looseleaf.operations.context import Where
from looseleaf.operations.page_problems import page_problems
from looseleaf.operations.prompt import assemble, host_limit
from looseleaf.prompt.host_limit import concerns_person, fit_to_host
from looseleaf.stores.condition import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.context import Context

_FAULTS = ("unreadable", "not_text")


def check_core_pages(context: Context) -> Iterator[Finding]:
    """Check that every core page can be given, and that none is half merged or there twice."""
    count = 0
    for shelf in shelves_to_check(context):
        owner = _owner(context, shelf)
        for problem in page_problems(context, shelf):
            count += 1
            status = "fault" if problem.kind in _FAULTS else "warning"
            detail = f"{owner}: {problem.detail}"
            yield Finding("core pages", status, detail, problem.advice)  # type: ignore[arg-type]
    if not count:
        yield Finding("core pages", "ok", "each can be given as it is")


def shelves_to_check(context: Context) -> Iterator[Shelf]:
    """List the shelves of everyone whose agents can be used."""
    agents = list(readable_agents(context))
    yield from (Shelf("shared"), Shelf("network"))
    users = {context.settings.default_user, *(record.owner for record in agents)}
    yield from (Shelf("user", user) for user in sorted(users))
    yield from (record.shelf for record in agents)


def readable_agents(context: Context) -> Iterator[AgentRecord]:
    """Give the agents whose records can be read; the others are a finding of their own."""
    for slug in context.agents.slugs():
        try:
            yield context.agents.resolve(slug)
        except LooseleafError:
            continue  # another check says what is wrong with this agent


def _owner(context: Context, shelf: Shelf) -> str:
    if shelf.layer == "agent":
        return f"agents/{context.agents.folder(shelf.agent_id)}"
    return f"users/{shelf.user_id}" if shelf.layer == "user" else shelf.layer


def check_hooks(context: Context) -> Iterator[Finding]:
    """Check that what agents are given when a coding agent starts fits into its hook's output."""
    count = 0
    for record in readable_agents(context):
        if record.status != "active":
            continue
        try:
            missing = _missing(context, record)
        except LooseleafError:
            continue  # a page or policy, which other checks name
        if missing:
            count += 1
            advice = f"looseleaf prompt check --hook --agent {record.slug} says more."
            yield Finding("hooks", "warning", f"{record.slug}: {missing}", advice)
    if not count:
        room = f"{context.settings.hook_characters:,} characters"
        yield Finding("hooks", "ok", f"what agents are given fits into {room}")


def _missing(context: Context, record: AgentRecord) -> str:
    assembly = assemble(context, "chat", where=Where(record.id))
    limit = host_limit(context, record, "any")
    given = fit_to_host(assembly, limit)
    if given is assembly or not concerns_person(given):
        return ""  # a generated page is left out without loss
    parts = [
        f"{what} {', '.join(names)}"
        for what, names in (("gives in part", given.truncated), ("leaves out", given.omitted))
        if names
    ]
    return f"a hook may print {limit.characters:,} characters, so it {' and '.join(parts)}"
