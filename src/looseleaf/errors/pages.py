"""Errors of pages and agents: names, texts, sections, versions, and rules that a page has."""

from __future__ import annotations

from looseleaf.errors import (
    Ambiguous,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    Unavailable,
    _InvalidThing,
)

# Errors of pages: names, texts, sections, versions and rules that a page has.


class InvalidSectionName(_InvalidThing):
    """A section name that no header of a page can hold."""

    code = "invalid_section_name"
    template = "{name!r} cannot be the name of a section: {why}."


class InvalidPolicy(Invalid):
    """A memory or tool policy that cannot be followed."""

    code = "invalid_policy"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The policy cannot be followed: {why}.")


class InvalidQuery(_InvalidThing):
    """A search whose text or bounds cannot be used."""

    code = "invalid_query"
    template = "Cannot search for {name!r}: {why}."


class UnclosedBlock(Invalid):
    """The page ends inside a code fence or comment, which would swallow a new section."""

    code = "unclosed_block"

    def __init__(self, line: int, kind: str) -> None:
        self.line, self.kind = line, kind
        super().__init__(
            f"The page ends inside the {kind} that line {line} opens, so a new section would be "
            f"swallowed by it. Close the {kind} first."
        )


class NotText(Invalid):
    """Bytes that are not UTF-8 where a page's text is needed."""

    code = "not_text"

    def __init__(self, filename: str, offset: int) -> None:
        self.filename, self.offset = filename, offset
        super().__init__(
            f"{filename} is not UTF-8 text (byte {offset}). Save it as UTF-8, then try again."
        )


class PreconditionUnsupported(Invalid):
    """A version was named for an operation that replaces no single version of a page."""

    code = "precondition_unsupported"

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(
            f"{operation} cannot keep If-Match or If-None-Match, so nothing was done. "
            "Leave the header out."
        )


class VersionRequired(Invalid):
    """The settings require that a replacement names the version that it replaces."""

    code = "precondition_required"

    def __init__(self, filename: str) -> None:
        self.filename = filename
        super().__init__(
            f"Say which version of {filename} you replace: the header If-Match with the ETag you "
            "read, or If-None-Match: * for a new page (elsewhere, the argument if_match with the "
            "hash, or absent)."
        )


class LossRefused(Invalid):
    """A change that would lose most of a page, or keep a placeholder, most likely by mistake."""

    code = "loss_refused"

    def __init__(self, filename: str, why: str, advice: str) -> None:
        self.filename, self.why = filename, why
        super().__init__(f"{filename} was not changed: {why}. {advice}")


class TooLarge(Invalid):
    """More bytes than a page may have."""

    code = "too_large"

    def __init__(self, filename: str, size: int, limit: int) -> None:
        self.filename, self.size, self.limit = filename, size, limit
        super().__init__(
            f"{filename} would have {size} bytes; a page may have {limit}. Split it into pages."
        )


class PageMissing(NotFound):
    """There is no such page; `candidates` names pages that are spelled like it."""

    code = "page_missing"

    def __init__(self, filename: str, place: str = "", candidates: tuple[str, ...] = ()) -> None:
        self.filename, self.candidates = filename, candidates
        advice = f" Did you mean {' or '.join(candidates)}?" if candidates else ""
        super().__init__(f"There is no page {filename}{' in ' + place if place else ''}.{advice}")


class SectionMissing(NotFound):
    """The page has no such section; `available` names those it has."""

    code = "section_missing"

    def __init__(self, name: object, available: tuple[str, ...]) -> None:
        self.name, self.available = name, available
        names = ", ".join(available) if available else "none"
        super().__init__(f"There is no section {name!r}. Available sections: {names}.")


class RevisionMissing(NotFound):
    """There is no such revision, or its content is no longer kept."""

    code = "revision_missing"

    def __init__(
        self, filename: str, revision: object, why: str = "it is not in the history"
    ) -> None:
        self.filename, self.revision, self.why = filename, revision, why
        super().__init__(f"{filename} has no revision {revision}: {why}.")


class SectionAmbiguous(Ambiguous):
    """Several sections have that name; choose one by position."""

    code = "section_ambiguous"

    def __init__(self, name: str, positions: tuple[int, ...]) -> None:
        self.name, self.positions = name, positions
        numbers = ", ".join(map(str, positions))
        super().__init__(
            f"There are {len(positions)} sections {name!r}, at positions {numbers}. "
            "Say which one by its position."
        )


class Protected(Refused):
    """A core page, which can be cleared but not deleted."""

    code = "protected"

    def __init__(self, filename: str) -> None:
        self.filename = filename
        super().__init__(
            f"{filename} is a core page and cannot be deleted. Clear its content instead."
        )


class NotEditable(Refused):
    """A generated page, which only `compose` changes."""

    code = "not_editable"

    def __init__(self, filename: str) -> None:
        self.filename = filename
        super().__init__(
            f"{filename} is generated and cannot be edited. Change what it is made from, then run: "
            f"looseleaf memory compose {filename}"
        )


class NameTaken(Refused):
    """A name already there differs only by case or Unicode form."""

    code = "name_taken"

    def __init__(self, name: str, taken: str) -> None:
        self.name, self.taken = name, taken
        super().__init__(f"{name} differs from {taken} only by case or Unicode form. Use {taken}.")


class PageExists(NameTaken):
    """There is a page of the name that another page should get."""

    code = "page_exists"

    def __init__(self, filename: str) -> None:
        super().__init__(filename, filename)
        self.args = (f"There is a page {filename} already. Choose another name.",)


class SectionTaken(NameTaken):
    """A section already there differs only in case from the one that would be added."""

    code = "section_taken"

    def __init__(self, name: str, taken: str) -> None:
        super().__init__(name, taken)
        self.args = (
            f"The section {name!r} differs only in case from {taken!r}. Write to {taken!r}.",
        )


class PageDenied(Forbidden):
    """The memory policy of the agent that acts binds access, and denies this page."""

    code = "page_denied"

    def __init__(self, filename: str, rule: str) -> None:
        self.filename, self.rule = filename, rule
        super().__init__(
            "read",
            f"a memory policy of this agent that gives it {filename} ({rule}, binds access); "
            "a person can change the policy",
        )


class AssembledText(Refused):
    """The text holds a page as a prompt shows it, which would be remembered twice."""

    code = "assembled_text"

    def __init__(self) -> None:
        super().__init__(
            "The text holds a page as it stands in a prompt (<page …> to </page …>), which is "
            "remembered already. Write only what is new, without those lines."
        )


class DailyMemoryOff(Refused):
    """Agents may not write the journal until it is switched on."""

    code = "daily_memory_disabled"

    def __init__(self) -> None:
        super().__init__(
            "Agents may not write the daily journal here. Switch it on: daily_memory_enabled = "
            "true in looseleaf.toml, or: looseleaf settings set daily_memory_enabled true"
        )


class HistoryMissing(Unavailable):
    """The store that has the page keeps no prior versions."""

    code = "no_history"

    def __init__(self, filename: str, reason: str) -> None:
        self.filename = filename
        super().__init__(f"The history of {filename}", reason)


# Errors of agents.


class InvalidAgent(_InvalidThing):
    """A slug or configuration that no agent can have."""

    code = "invalid_agent"
    template = "Invalid agent {name!r}: {why}."


class AgentMissing(NotFound):
    """No agent has that id or slug, or a user has none; `candidates` names those there are."""

    code = "agent_missing"

    def __init__(
        self, agent: object, candidates: tuple[str, ...], hint: str = "", *, user: int = 0
    ) -> None:
        self.agent, self.candidates = agent, candidates
        names = ", ".join(candidates) if candidates else "none yet (looseleaf agents create SLUG)"
        problem = "No agent is named, and none is active"
        if user:
            problem = f"User {user} has no active agent"
        elif agent not in (None, ""):
            problem = f"There is no agent {agent!r}"
        super().__init__(f"{problem}. Available agents: {names}.{hint}")


class AgentAmbiguous(Ambiguous):
    """Several agents could be meant; choose one."""

    code = "agent_ambiguous"

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(
            f"Which agent? Name one of: {', '.join(candidates)} (--agent or LOOSELEAF_AGENT in a "
            "terminal, agent in a request). To make one the default: looseleaf settings set "
            f"default_agent {candidates[0]}"
        )


class AgentExists(Refused):
    """The slug belongs to another agent."""

    code = "agent_exists"

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__(f"There is an agent {slug} already.")
