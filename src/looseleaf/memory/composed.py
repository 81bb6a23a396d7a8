"""Composed files: pages made of sections that anyone can register, ours among them."""

from __future__ import annotations

from looseleaf.errors import InvalidName, InvalidSetting, Refused, Unavailable
from looseleaf.folders import fold
from looseleaf.memory.registry import OWNER, check_word
from looseleaf.memory.scope import check_filename
from looseleaf.memory.templates import one_line
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from looseleaf.memory.scope import Layer


@value
class Listed:
    """One line of a listing: a page, an agent or a workspace, and what it is."""

    name: str
    description: str = ""


def _no_text(_filename: str) -> str | None:
    return None


def _no_pages(_layer: Layer) -> Sequence[Listed]:
    return ()


@value
class ComposeContext:
    """What sections are made from.

    `read` gives the text of a page as the agent in question has it, `path` how the composed file
    refers to it. Both give None for a page that is not there or that the agent's policy denies: a
    composed file is one more way into a prompt, so whoever fills the context asks the policy.
    """

    agent_slug: str = ""
    agent_name: str = ""
    workspace_name: str = ""
    workspace_url: str = ""
    language: str = ""
    timezone: str = ""
    date: str = ""
    command: str = "looseleaf"  # with `--root`, where the reader stands outside the workspace
    include: Literal["inline", "imports"] = "inline"
    agents: tuple[Listed, ...] = ()
    workspaces: tuple[Listed, ...] = ()
    pages: Callable[[Layer], Sequence[Listed]] = _no_pages
    read: Callable[[str], str | None] = _no_text
    path: Callable[[str], str | None] = _no_text


@value
class ComposedSection:
    """One section of a composed file, and the function that makes it; "" leaves it out."""

    slug: str
    priority: int
    make: Callable[[ComposeContext], str]
    label: str = ""
    description: str = ""
    owner: str = ""


class ComposedSections:
    """The sections of the composed files of one workspace."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, ComposedSection]] = {}
        self._frozen = False

    def register(
        self,
        filename: str,
        slug: str,
        priority: int,
        make: Callable[[ComposeContext], str],
        *,
        label: str = "",
        description: str = "",
        owner: str = "",
    ) -> ComposedSection:
        """Add a section to a file, or replace the one of the same slug."""
        self._refuse_if_frozen(filename, slug)
        check_filename(filename)
        check_word(slug, "section's slug")
        if type(priority) is not int:
            why = f"{priority!r} is not a whole number"
            raise InvalidSetting(f"priority of {slug} in {filename}", why)
        label = label or slug.replace("-", " ").replace("_", " ").capitalize()
        section = ComposedSection(slug, priority, make, label, description, owner)
        self._files.setdefault(fold(filename), {})[slug] = section
        return section

    def deregister(self, filename: str, slug: str) -> bool:
        """Take a section out; say whether it was there."""
        self._refuse_if_frozen(filename, slug)
        return self._files.get(fold(filename), {}).pop(slug, None) is not None

    def freeze(self) -> None:
        """End start-up: from now on the same context gives the same files."""
        self._frozen = True

    def for_file(self, filename: str) -> tuple[ComposedSection, ...]:
        """Give the sections of a file, by priority, then by slug."""
        sections = self._files.get(fold(filename), {}).values()
        return tuple(sorted(sections, key=lambda section: (section.priority, section.slug)))

    def generate(self, filename: str, context: ComposeContext) -> str:
        """Make the whole file, or fail; "" where no section has anything to say."""
        made = (_make(filename, section, context) for section in self.for_file(filename))
        body = "\n\n".join(text for text in made if text)
        return body + "\n" if body else ""

    def _refuse_if_frozen(self, filename: str, slug: str) -> None:
        if self._frozen:
            raise Refused(
                f"The section {slug} of {filename} comes too late: sections are registered and "
                "deregistered while the workspace opens."
            )


def _make(filename: str, section: ComposedSection, context: ComposeContext) -> str:
    name = f"The section {section.slug} of {filename}"
    try:
        text = section.make(context)
    except Exception as error:
        # Anyone's function: whatever it raises, no half a file may come of it.
        raise Unavailable(name, f"it failed with {type(error).__name__}: {error}") from error
    if not isinstance(text, str):
        raise Unavailable(name, f"it gave {type(text).__name__}, not text")
    return text.strip("\r\n") if text.strip() else ""


def register_core_sections(sections: ComposedSections) -> None:
    """Register the sections of SITE.md, NETWORK.md and AGENTS.md, through the door anyone uses."""
    for filename, slug, priority, make in (
        ("SITE.md", "header", 0, _site_header),
        ("SITE.md", "identity", 10, _site_identity),
        ("SITE.md", "pages", 20, lambda context: _pages(context, "shared", "SITE.md")),
        ("SITE.md", "agents", 30, lambda context: _list("Agents", context.agents)),
        ("NETWORK.md", "header", 0, lambda _: f"{_marker('NETWORK.md')}\n\n# Network"),
        ("NETWORK.md", "workspaces", 10, lambda context: _list("Workspaces", context.workspaces)),
        ("NETWORK.md", "pages", 20, lambda context: _pages(context, "network", "NETWORK.md")),
        ("AGENTS.md", "header", 0, lambda _: _marker("AGENTS.md")),
        ("AGENTS.md", "guidance", 10, _guidance),
        ("AGENTS.md", "soul", 20, lambda context: _page(context, "SOUL.md", "Who you are")),
        ("AGENTS.md", "user", 30, lambda context: _page(context, "USER.md", "Who you work with")),
        ("AGENTS.md", "memory", 40, lambda context: _page(context, "MEMORY.md", "What you know")),
    ):
        sections.register(filename, slug, priority, make, owner=OWNER)


def _marker(filename: str) -> str:
    return (
        "<!-- Generated by Looseleaf; do not edit, changes are replaced. "
        f"To make it anew: looseleaf memory compose {filename} -->"
    )


def _site_header(context: ComposeContext) -> str:
    return f"{_marker('SITE.md')}\n\n# {one_line(context.workspace_name) or 'Site'}"


def _site_identity(context: ComposeContext) -> str:
    known = (
        Listed("Name", context.workspace_name),
        Listed("URL", context.workspace_url),
        Listed("Language", context.language),
        Listed("Timezone", context.timezone),
    )
    return _list("Identity", [fact for fact in known if fact.description])


def _pages(context: ComposeContext, layer: Layer, filename: str) -> str:
    # To list the page being made would tell its reader nothing.
    others = [page for page in context.pages(layer) if fold(page.name) != fold(filename)]
    return _list(f"{layer.capitalize()} pages", others)


def _list(heading: str, items: Sequence[Listed]) -> str:
    lines = [
        f"- {one_line(item.name)}" + (f": {one_line(item.description)}" if item.description else "")
        for item in items
    ]
    return "\n".join([f"## {heading}", "", *lines]) if lines else ""


def _guidance(context: ComposeContext) -> str:
    command = one_line(context.command)
    agent = f" --agent {context.agent_slug}" if context.agent_slug else ""
    name = one_line(context.agent_name) or context.agent_slug
    shown = "imported" if context.include == "imports" else "copied"
    return f"""## Your memory

{f"You are {name}. " if name else ""}What you know outlives this session in pages that Looseleaf \
keeps; they are {shown} below. This text is replaced when they change, so do not write what you \
learn into it. Keep it with these commands:

- Read a page as it is now: `{command} memory read MEMORY.md{agent}`
- Find something: `{command} memory search "words"{agent}`
- Keep a fact: `{command} memory write MEMORY.md "Lessons Learned" "- The fact" \
--mode append{agent}`
- Note what happened today: `{command} memory daily append "- What happened"{agent}`

Keep facts, not stories; give decisions their date; never keep secrets."""


def _page(context: ComposeContext, filename: str, heading: str) -> str:
    """Show a page: its bytes between two tags, or the line by which the reader imports it."""
    if context.include == "imports":
        path = context.path(filename)
        return f"## {heading} ({filename})\n\n@{_importable(path)}" if path else ""
    text = context.read(filename)
    if not text or not text.strip():
        return ""
    # The tags tell a page's own headings from ours, and keep its outer blank lines.
    newline = "" if text.endswith("\n") else "\n"
    return f'## {heading} ({filename})\n\n<page file="{filename}">\n{text}{newline}</page>'


def _importable(path: str) -> str:
    if not path.isprintable():
        raise InvalidName(path, "a path with control characters cannot be imported")
    return path.replace(" ", "\\ ")
