"""Templates of new pages: headings, and hints for the people who fill them in."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory.day import day_of
from looseleaf.memory.registry import OWNER, NamedRegistry, check_word
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Starter = Callable[[str, "TemplateContext"], str | None]
    Starters = tuple[Starter, ...]


@value
class TemplateContext:
    """The facts that a new page starts with; people fill in those that are empty."""

    agent_name: str = ""
    workspace_name: str = ""
    user_name: str = ""
    date: str = ""


@value
class PageStarter:
    """A function that starts some pages, and gives None for the others."""

    name: str
    priority: int
    start: Starter
    owner: str = ""


class PageStarters(NamedRegistry):
    """The starters of one workspace; those with a lower priority are asked first."""

    noun, hook = "starter", "register_starters"

    def register(self, name: str, priority: int, start: Starter, *, owner: str = "") -> PageStarter:
        """Add a starter; ours has priority 50."""
        self._refuse_if_frozen(name)
        check_word(name, "starter's name")
        if name in self._entries:
            raise Invalid(f"There are two starters of the name {name}.")
        if type(priority) is not int or not callable(start):
            raise Invalid(f"The starter {name} needs a whole number and a function.")
        page_starter = PageStarter(name, priority, start, owner)
        self._entries[name] = page_starter
        return page_starter

    def all(self) -> tuple[PageStarter, ...]:
        """Return every starter, by priority, then by name."""
        return self._by_priority()

    @property
    def functions(self) -> Starters:
        """The functions that `starter` asks, in order."""
        return tuple(page_starter.start for page_starter in self.all())


def register_core_starters(starters: PageStarters) -> None:
    """Register our own starter, as a plugin registers one."""
    starters.register("core", 50, start_core_page, owner=OWNER)


def start_core_page(filename: str, context: TemplateContext) -> str | None:
    """Return the first text of a core page or a daily page, or None for any other page."""
    build_page = _CORE.get(filename)
    if build_page:
        return build_page(context)
    day = day_of(filename)
    return day.heading if day else None


CORE_STARTERS: Starters = (start_core_page,)


def find_starter(
    filename: str, context: TemplateContext, starters: Starters = CORE_STARTERS
) -> str | None:
    """Return the first text that a starter has for a page, or None if no starter has one."""
    for start in starters:
        text = start(filename, context)
        if text is not None:
            return text
    return None


def as_one_line(text: str) -> str:
    """Join a text into one line, so that it cannot become a heading or a section of its own."""
    return " ".join(text.split())


def _build_soul(context: TemplateContext) -> str:
    name, workspace = as_one_line(context.agent_name), as_one_line(context.workspace_name)
    identity = f"I am {name}{f', the agent of {workspace}' if workspace else ''}." if name else ""
    return _format_page(
        "Soul",
        "Who the agent is, whatever it is working on. Keep it short (500 words) and stable: "
        "what changes belongs in MEMORY.md.",
        ("Identity", "Name, role, and what it looks after.", identity),
        ("Voice and Tone", "How it speaks: formal or casual, brief or thorough.", ""),
        ("Rules", "What it must always do, must never do, and must ask about first.", ""),
        ("Context", "The field it works in, and whom it works for.", ""),
    )


def _build_user(context: TemplateContext) -> str:
    name = as_one_line(context.user_name)
    return _format_page(
        "User",
        "The human the agent works with. Key facts only (300 words).",
        ("About", "Name, timezone, location, background, role.", f"- Name: {name}" if name else ""),
        ("Preferences", "Length and format of answers, and how decisions are made.", ""),
        ("Working Patterns", "Hours, availability, habits that the agent should respect.", ""),
    )


def _build_memory(context: TemplateContext) -> str:
    date = as_one_line(context.date)
    return _format_page(
        "Agent Memory",
        "What the agent has learned. Facts as bullets, decisions with their date; take out what is "
        "no longer true. Aim for 2,000 words.",
        ("State", "What is under way or done.", f"- Memory started ({date})" if date else ""),
        ("Site Knowledge", "How things are set up: places, names, versions, numbers.", ""),
        ("Lessons Learned", "What went wrong or surprised, and what to do instead.", ""),
    )


def _build_rules(context: TemplateContext) -> str:
    workspace = as_one_line(context.workspace_name)
    return _format_page(
        f"Rules of {workspace}" if workspace else "Rules",
        "These hold for every agent here, and stand before who the agent is. "
        "One rule a line, each one that can be checked.",
        ("General", "How agents work here.", ""),
        ("Safety", "What needs a human's consent, and what is never done.", ""),
        ("Content", "What may be published, and in which form.", ""),
    )


_CORE: dict[str, Callable[[TemplateContext], str]] = {
    "MEMORY.md": _build_memory,
    "RULES.md": _build_rules,
    "SOUL.md": _build_soul,
    "USER.md": _build_user,
}


def _format_page(title: str, hint: str, *sections: tuple[str, str, str]) -> str:
    blocks = [f"# {title}", f"<!-- {hint} -->"]
    for name, section_hint, text in sections:
        blocks.append(f"## {name}\n\n<!-- {section_hint} -->")
        if text:
            blocks.append(text)
    return "\n\n".join(blocks) + "\n"
