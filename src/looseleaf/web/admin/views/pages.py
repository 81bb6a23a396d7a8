"""Pages of an agent by layer, one page as people read it, and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.catalog.resolution import scope_of
from looseleaf.errors import Forbidden, Invalid, LooseleafError
from looseleaf.errors.pages import PageMissing
from looseleaf.memory.differences import diff_words
from looseleaf.memory.hidden_characters import describe_hidden
from looseleaf.memory.registry import EVERY_MODE
from looseleaf.memory.scope import Where
from looseleaf.memory.store import ABSENT
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value
from looseleaf.web.admin.markdown import MOST_CHARACTERS, render
from looseleaf.web.admin.templating import format_count
from looseleaf.web.admin.wording import INJECTED, describe_rule, name_candidate

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.memory.history import Revision
    from looseleaf.memory.pages import PageText
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.operations.files import MovedPage, PageInfo, PagePath
    from looseleaf.plugins.admin_pages import ListPart, Visit
    from looseleaf.prompt.reports import Explanation


# The size of a page in bytes, words and tokens, and its budget.

_MOST_COUNTED = 200_000  # characters; the words of a longer text are estimated


@value
class Gauge:
    """The size of a page; without a budget, `budget` is 0."""

    bytes: int
    words: int
    tokens: int
    budget: int
    is_estimated: bool = False  # words and tokens, by the beginning of a long text

    @property
    def percent(self) -> float:
        """How much of the budget is used up, at most 100."""
        return min(100.0, round(100 * self.bytes / self.budget, 1)) if self.budget else 0.0

    @property
    def sentence(self) -> str:
        """The size in words."""
        size = format_count(self.bytes, "byte")
        if self.budget:
            size = f"{self.bytes:,} of {self.budget:,} bytes"
        words, tokens = format_count(self.words, "word"), format_count(self.tokens, "token")
        return f"{size} · {'about ' if self.is_estimated else ''}{words} · about {tokens}"

    @property
    def is_over(self) -> bool:
        """Whether the page is larger than its budget."""
        return bool(self.budget) and self.bytes > self.budget


def measure(context: Context, file: str, text: str) -> Gauge:
    """Measure a text as the page of that name."""
    entry = context.pages.registry.get(file)
    beginning = text[:_MOST_COUNTED]
    share = len(text) / max(1, len(beginning))
    return Gauge(
        len(text.encode("utf-8", "surrogatepass")),
        round(share * len(beginning.split())),
        round(share * context.parts.chain().tokenizer.count(beginning)),
        entry.byte_budget if entry else 0,
        is_estimated=share > 1,
    )


# The header of every view of one page: its rules, its size against its budget, its changes.


_MOVED_FROM = "moved from "  # in the reason of a page's first version under a new name
LAYER_NAMES = {
    "shared": "Shared with all agents",
    "agent": "This agent",
    "user": "About you",
    "network": "Network",
    "principal": "What this agent knows about you",
}


@value(kw_only=True)
class PageHeader:
    """The header of a page; a page that does not exist yet has no revisions."""

    agent: str
    layer: str
    file: str
    label: str
    layer_name: str
    modes: str  # in which modes the page is injected
    text: str
    hash: str  # "" if the page is not there
    gauge: Gauge
    revisions: tuple[Revision, ...]  # oldest first
    reason: str  # why the page cannot be edited; "" if it can
    is_protected: bool
    is_generated: bool

    @property
    def latest(self) -> Revision | None:
        """The last change."""
        return self.revisions[-1] if self.revisions else None

    @property
    def moved_from(self) -> str:
        """The name whose history has the versions before, or ""."""
        first = next((one for one in self.revisions if one.operation == "move"), None)
        words = first.reason.partition(":")[0] if first else ""
        return words.removeprefix(_MOVED_FROM) if words.startswith(_MOVED_FROM) else ""

    def link(self, kind: str) -> str:
        """Return the address of one of its views: pages, edit or history."""
        return build_page_link(self.agent, self.layer, self.file, kind)


def build_page_link(agent: str, layer: str, file: str, kind: str = "pages") -> str:
    """Return the address of a page."""
    return f"/admin/agents/{quote(agent)}/{kind}/{layer}/{quote(file)}"


def read_header(visit: Visit, *, is_new_allowed: bool = False) -> PageHeader:
    """Read the page of an address, with its rules, size and revisions."""
    agent, layer, file = (visit.parameters[name] for name in ("agent", "layer", "file"))
    place = {"file": file, "agent": agent, "layer": layer}
    page: PageText | None = None
    try:
        page = visit.run("datamachine/get-agent-file", **place)
    except PageMissing:
        if not is_new_allowed:
            raise
    entry = visit.context.pages.registry.get(file)
    if entry is not None and entry.layer != layer:
        entry = None
    text = page.content if page is not None else ""
    return PageHeader(
        agent=agent,
        layer=layer,
        file=file,
        label=entry.label if entry else file,
        layer_name=LAYER_NAMES.get(layer, layer),
        modes=_describe_modes(entry),
        text=text,
        hash=page.hash if page is not None else "",
        gauge=measure(visit.context, file, text),
        revisions=_list_revisions(visit, place),
        reason=_explain_refusal(visit, entry, place),
        is_protected=entry is not None and entry.protected,
        is_generated=entry is not None and entry.composable,
    )


def _list_revisions(visit: Visit, place: dict[str, str]) -> tuple[Revision, ...]:
    try:
        return tuple(visit.run("looseleaf/page-history", **place))
    except LooseleafError:
        return ()  # a new page, a store without a history, or one that may not be read


def _describe_modes(entry: RegisteredFile | None) -> str:
    if entry is None:
        return "not injected by itself"
    if EVERY_MODE in entry.modes:
        return "injected in every mode"
    return f"injected in {', '.join(entry.modes)}" if entry.modes else "never injected"


def _explain_refusal(visit: Visit, entry: RegisteredFile | None, place: dict[str, str]) -> str:
    """Explain why the signed-in person cannot edit the page, or "" if they can."""
    if entry is not None and entry.editable is False:
        return (
            "Looseleaf writes this page from others and from the settings. An edit would be "
            "overwritten, so change what it is made from."
        )
    try:
        location = Where(place["agent"], None, place["layer"])
        scope_of(visit.context.with_permission("write"), place["file"], location)
    except Forbidden as error:
        return f"You may read this page, not change it. {error}"
    except LooseleafError as error:
        return str(error)
    return ""


# Pages: the pages of an agent by layer, and one page as people read it.


MOST_PAGES = 500  # of a layer, in one list


@value
class LayerPages:
    """The pages of one layer, and the registered ones that are not written yet."""

    layer: str
    name: str
    pages: ListPart
    missing: tuple[PagePath, ...]


def list_pages(visit: Visit) -> Document | Redirect:
    """List the pages of an agent, layer by layer."""
    if name := visit.query.get("new", "").strip():
        file = name if "." in name else f"{name}.md"
        return Redirect(build_page_link(visit.parameters["agent"], "agent", file, "edit"))
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    files = visit.run("datamachine/list-agent-files", agent=agent.slug)
    paths = visit.run("datamachine/list-injectable-memory-files", agent=agent.slug)
    layers = [
        _build_layer(visit, layer, files, paths)
        for layer in ("agent", "principal", "user", "shared", "network")
    ]
    data = {
        "agent": agent,
        "layers": [group for group in layers if group.pages or group.missing],
        "shares": _compute_shares(visit),
    }
    return Document("memory/pages.html", f"Pages of {agent.name}", data)


@value
class PromptShare:
    """The share of a page in a chat prompt, in percent, or the reason why it is left out."""

    percent: float
    reason: str
    by: str  # who changed the page last, or "" if that is not known


def _compute_shares(visit: Visit) -> dict[tuple[str, str], PromptShare]:
    """Return the share of each page in a chat prompt, by layer and file."""
    explanation = _explain(visit)
    if explanation is None:
        return {}
    total = max(1, explanation.bytes)
    return {
        (candidate.layer, candidate.name): PromptShare(
            round(100 * candidate.bytes / total, 1),
            "" if candidate.rule == INJECTED else describe_rule(candidate.rule),
            candidate.by.partition(" via ")[0],
        )
        for candidate in explanation.candidates
        if candidate.layer
    }


def _explain(visit: Visit) -> Explanation | None:
    """Explain the prompt of the agent in chat, or None if it cannot be composed."""
    try:
        explanation: Explanation = visit.run(
            "looseleaf/explain-prompt", mode="chat", agent=visit.parameters["agent"]
        )
    except LooseleafError:
        return None  # the page about the prompt shows the error
    return explanation


def _build_layer(
    visit: Visit, layer: str, files: list[PageInfo], paths: list[PagePath]
) -> LayerPages:
    pages = [page for page in files if page.layer == layer]
    missing = [page for page in paths if page.layer == layer and not page.exists]
    order = {page.file: page.priority for page in paths}
    pages.sort(key=lambda page: (order.get(page.file, 1000), page.file))
    part = visit.cut(pages, MOST_PAGES, name=layer)
    return LayerPages(layer, LAYER_NAMES[layer], part, tuple(missing))


def read_page(visit: Visit) -> Document | Redirect:
    """Show one page rendered, with its place in the prompt and its last changes."""
    header = read_header(visit)
    part = cut_part(header.text, visit.query.get("part", ""))
    data = {
        "page": header,
        "html": render_page(header.text, header.agent, header.layer),
        "part": part,
        "hidden": describe_hidden(part.text),
        "place": find_prompt_place(visit, header.file),
    }
    return Document("memory/page.html", header.file, data)


def change_page(visit: Visit) -> Document | Redirect:
    """Rename a page or delete it, by the button that was pressed."""
    header = read_header(visit)
    place = {"file": header.file, "agent": header.agent, "layer": header.layer}
    version = visit.form.get("version") or header.hash
    action = visit.form.get("action", "")
    if action == "delete":
        deleted = visit.run("datamachine/delete-agent-file", **place, if_match=version)
        notice = f"{header.file} is deleted. This is how it was; restore it to undo that."
        return Redirect(f"{header.link('history')}?revision={deleted.revision - 1}", notice)
    if action == "move":
        name = visit.form.get("to", "").strip()
        name = name if "." in name.rpartition("/")[2] else f"{name}.md"
        moved = visit.run("looseleaf/move-page", **place, to=name, if_match=version)
        address = build_page_link(header.agent, header.layer, moved.filename)
        return Redirect(address, _describe_move(moved))
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def _describe_move(moved: MovedPage) -> str:
    sentences = [f"{moved.moved_from} is {moved.filename} now."]
    if moved.followed:
        sentences.append(f"Followed by {', '.join(moved.followed)}.")
    if moved.outdated:
        sentences.append(f"The old name still stands in {', '.join(moved.outdated)}.")
    return " ".join(sentences)


def render_page(text: str, agent: str, layer: str) -> str:
    """Return a page as HTML that is safe to show, or "" for one that is too long to render."""
    if len(text) > MOST_CHARACTERS:
        return ""
    return render(text, lambda file: build_page_link(agent, layer, file))


_MOST_DIGITS = 10  # of the number of a part


@value
class TextPart:
    """A part of a text that is too long to be shown whole; parts count from 1."""

    text: str
    number: int
    count: int
    characters: int  # of the whole text


def cut_part(text: str, number: str = "") -> TextPart:
    """Return the part of a text with a number, or the first one if there is no such part."""
    count = max(1, -(-len(text) // MOST_CHARACTERS))
    place = int(number) if number.isdecimal() and len(number) < _MOST_DIGITS else 1
    place = place if 1 <= place <= count else 1
    start = (place - 1) * MOST_CHARACTERS
    return TextPart(text[start : start + MOST_CHARACTERS], place, count, len(text))


@value
class PromptPlace:
    """The blocks of a prompt, each with its share in percent; `file` names the page's own."""

    blocks: tuple[tuple[str, float, int], ...]  # name, share, tokens
    file: str
    tokens: int
    reason: str  # why the page is left out, or "" if it is given


def find_prompt_place(visit: Visit, file: str) -> PromptPlace | None:
    """Find the share of a page in the agent's chat prompt, or None if the prompt has an error."""
    explanation = _explain(visit)
    if explanation is None:
        return None
    total = max(1, explanation.bytes)
    blocks = [
        (name_candidate(candidate), round(100 * candidate.bytes / total, 1), candidate.tokens)
        for candidate in explanation.candidates
        if candidate.bytes
    ]
    rule = next(
        (candidate.rule for candidate in explanation.candidates if candidate.name == file), ""
    )
    reason = describe_rule(rule) if rule else "only registered pages are given by themselves"
    reason = "" if rule == INJECTED else reason
    return PromptPlace(tuple(blocks), file, explanation.tokens, reason)


# History: the versions of a page, compared word by word, and restoring one.


PREVIOUS, PRESENT = "previous", "present"
MOST_LISTED = 100  # revisions in the list; the slider reaches all of them


def show_history(visit: Visit) -> Document | Redirect:
    """Show one revision, compared with the one before or with the page as it is now."""
    header = read_header(visit, is_new_allowed=True)
    if not header.revisions:
        return Document("memory/history_empty.html", f"History of {header.file}", {"page": header})
    against = PRESENT if visit.query.get("against") == PRESENT else PREVIOUS
    revision = _find_revision(header, visit.query.get("revision", ""))
    counterpart = _find_counterpart(header, revision, against)
    text, other_text = _read_text(visit, header, revision), _read_text(visit, header, counterpart)
    old, new = (text, other_text) if against == PRESENT else (other_text, text)
    data = {
        "page": header,
        "revision": revision,
        "other": counterpart,
        "against": against,
        "diff": diff_words(old, new) if old is not None and new is not None else None,
        "text": text,
        "part": cut_part(text or "", visit.query.get("part", "")),
        "html": render_page(text, header.agent, header.layer) if text else "",
        "shows_text": visit.query.get("show") == "text",
        "listed": visit.cut(header.revisions[::-1], MOST_LISTED, name="versions"),
        "is_present": revision.number == header.revisions[-1].number,
    }
    return Document("memory/history.html", f"History of {header.file}", data)


def _find_revision(header: PageHeader, number: str) -> Revision:
    return next(
        (revision for revision in header.revisions if str(revision.number) == number),
        header.revisions[-1],
    )


def _find_counterpart(header: PageHeader, revision: Revision, against: str) -> Revision | None:
    if against == PRESENT:
        return header.revisions[-1]
    place = header.revisions.index(revision)
    return header.revisions[place - 1] if place else None


def _read_text(visit: Visit, header: PageHeader, revision: Revision | None) -> str | None:
    """Read one revision, or "" if there was no page, None if its text is no longer kept."""
    if revision is None or not revision.hash:
        return ""
    try:
        page = visit.run(
            "datamachine/get-agent-file",
            file=header.file,
            agent=header.agent,
            layer=header.layer,
            as_of=str(revision.number),
        )
    except LooseleafError:
        return None
    return str(page.content)


def restore_page(visit: Visit) -> Document | Redirect:
    """Restore the text of a revision, as a new revision."""
    header = read_header(visit, is_new_allowed=True)
    result = visit.run(
        "looseleaf/restore-page",
        file=header.file,
        revision=visit.form.get("revision", ""),
        agent=header.agent,
        layer=header.layer,
        if_match=visit.form.get("version") or header.hash or ABSENT,
    )
    notice = (
        f"{header.file} has the text of revision {visit.form.get('revision')} again, "
        f"as revision {result.revision}; nothing is lost."
    )
    return Redirect(header.link("pages"), notice)
