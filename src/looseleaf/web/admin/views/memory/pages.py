"""Pages: the pages of an agent by layer, and one page as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import LooseleafError
from looseleaf.memory.scope import LAYERS
from looseleaf.memory.sections import list_sections
from looseleaf.memory.text.hidden_characters import describe_hidden
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value
from looseleaf.web.admin.markdown import MOST_CHARACTERS, render
from looseleaf.web.admin.prompt_rules import INJECTED, describe_rule, name_candidate
from looseleaf.web.admin.views.memory.page_header import LAYER_NAMES, build_page_link, read_header

if TYPE_CHECKING:
    from looseleaf.operations.files import PageInfo, PagePath
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.prompt.reports import Explanation

MOST_PAGES = 500  # of a layer, in one list


@value
class LayerPages:
    """The pages of one layer, and the registered ones that are not written yet."""

    layer: str
    name: str
    pages: tuple[PageInfo, ...]
    missing: tuple[PagePath, ...]
    count: int


def list_pages(visit: Visit) -> Document | Redirect:
    """List the pages of an agent, layer by layer."""
    if name := visit.query.get("new", "").strip():
        file = name if "." in name else f"{name}.md"
        return Redirect(build_page_link(visit.parameters["agent"], "agent", file, "edit"))
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    files = visit.run("datamachine/list-agent-files", agent=agent.slug)
    paths = visit.run("datamachine/list-injectable-memory-files", agent=agent.slug)
    layers = [_build_layer(layer, files, paths) for layer in ("agent", "user", "shared", "network")]
    data = {
        "agent": agent,
        "layers": [group for group in layers if group.count or group.missing],
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


def _build_layer(layer: str, files: list[PageInfo], paths: list[PagePath]) -> LayerPages:
    pages = [page for page in files if page.layer == layer]
    missing = [page for page in paths if page.layer == layer and not page.exists]
    order = {page.file: page.priority for page in paths}
    pages.sort(key=lambda page: (order.get(page.file, 1000), page.file))
    return LayerPages(
        layer, LAYER_NAMES[layer], tuple(pages[:MOST_PAGES]), tuple(missing), len(pages)
    )


def read_page(visit: Visit) -> Document | Redirect:
    """Show one page rendered, with its outline, its place in the prompt and its last changes."""
    header = read_header(visit)
    data = {
        "page": header,
        "html": render_page(header.text, header.agent, header.layer),
        "sections": list_sections(header.text)[:200],
        "hidden": describe_hidden(header.text),
        "place": find_prompt_place(visit, header.file),
        "layers": LAYERS,
    }
    return Document("memory/page.html", header.file, data)


def render_page(text: str, agent: str, layer: str) -> str:
    """Return a page as HTML that is safe to show, or "" for one that is too long to render."""
    if len(text) > MOST_CHARACTERS:
        return ""
    return render(text, lambda file: build_page_link(agent, layer, file))


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
