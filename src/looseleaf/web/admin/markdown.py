"""Pages as people read them: Markdown rendered, then sanitised, since memory is untrusted text.

No image is loaded, and every link shows its host. HTML in a page is shown as text, and invisible
characters are shown by their names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from looseleaf.memory.hidden_characters import list_hidden_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it.rules_core import StateCore

# Of a page that is rendered; a longer one is shown as plain text, in parts of this length.
MOST_CHARACTERS = 500_000
_SCHEMES = {"http", "https", "mailto"}
_PAGE = re.compile(r"[\w-][\w .-]*(?:/[\w-][\w .-]*)*\.md(?:#[\w-]*)?", re.IGNORECASE)
_TAGS = {"a", "blockquote", "br", "code", "del", "em", "hr", "li", "mark", "ol", "p", "pre", "s"}
_TAGS |= {"h1", "h2", "h3", "h4", "h5", "h6", "span", "strong", "ul"}
_TAGS |= {"table", "tbody", "td", "th", "thead", "tr"}
_TAGS |= {"div"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_WITH_DIRECTION = {"p", "li", "td", "th", "blockquote", "ul", "ol", *_HEADINGS}
_ATTRIBUTES = {
    "a": {"href"},
    "div": {"tabindex", "role", "aria-label"},
    **{tag: {"dir"} for tag in _WITH_DIRECTION},
    "ol": {"dir", "start"},
    **{tag: {"dir", "id"} for tag in ("h1", "h2", "h3")},
}
_CLASSES = {
    "p": {"comment"},
    "span": {"destination"},
    "mark": {"hidden-character"},
    "div": {"wide-table"},
}
# A wide table is scrolled by itself, also by keys, so that no column is squeezed on a phone.
_TABLE = '<div class="wide-table" tabindex="0" role="group" aria-label="Table">\n<table>\n'


def render(text: str, page_link: Callable[[str], str]) -> str:
    """Return a page as safe HTML; `page_link` returns the address of another page."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.core.ruler.push("destinations", lambda state: _show_destinations(state, page_link))
    parser.core.ruler.push("anchors", _add_anchors)
    parser.core.ruler.push("comments", _mark_comments)
    parser.core.ruler.push("directions", _mark_directions)
    parser.add_render_rule("table_open", lambda *_: _TABLE)
    parser.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")
    # Every address becomes a link token; `_show_destinations` decides which of them stay links.
    parser.validateLink = _accept_any  # type: ignore[method-assign]
    html = parser.render(text)
    return _name_hidden(
        nh3.clean(
            html,
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            allowed_classes=_CLASSES,
            url_schemes=_SCHEMES,
            link_rel="noopener noreferrer nofollow",
        )
    )


def _accept_any(url: str) -> bool:
    return url is not None


def build_anchor(title: str, count: int) -> str:
    """Build the id of a heading from its place among all headings and its words."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40]
    return f"section-{count}-{words}" if words else f"section-{count}"


def _add_anchors(state: StateCore) -> None:
    count = 0
    for place, token in enumerate(state.tokens):
        if token.type == "heading_open":
            count += 1
            if token.tag in ("h1", "h2", "h3"):
                token.attrSet("id", build_anchor(state.tokens[place + 1].content, count))


def _mark_comments(state: StateCore) -> None:
    """Mark comments: notes from people to people, which no prompt contains."""
    for place, token in enumerate(state.tokens):
        text = state.tokens[place + 1].content if token.type == "paragraph_open" else ""
        if text.startswith("<!--") and text.endswith("-->"):
            token.attrSet("class", "comment")


def _mark_directions(state: StateCore) -> None:
    """Let each block be read in the direction of its own text."""
    for token in state.tokens:
        if token.nesting == 1 and token.tag in _WITH_DIRECTION:
            token.attrSet("dir", "auto")


def _show_destinations(state: StateCore, page_link: Callable[[str], str]) -> None:
    for block in state.tokens:
        if block.children:
            block.children = _with_destinations(block.children, page_link)


def _with_destinations(tokens: list[Token], page_link: Callable[[str], str]) -> list[Token]:
    result: list[Token] = []
    endings: list[list[Token]] = []
    for token in tokens:
        if token.type == "image":
            result += _describe_image(token)
        elif token.type == "link_open":
            opening, ending = _build_link(str(token.attrGet("href") or ""), page_link)
            result += opening
            endings.append(ending)
        elif token.type == "link_close":
            result += endings.pop()
        else:
            result.append(token)
    return result


def _build_link(address: str, page_link: Callable[[str], str]) -> tuple[list[Token], list[Token]]:
    """Build the tokens that open and close a link; an unsafe link becomes text."""
    if _PAGE.fullmatch(address):
        return [_build_opening(page_link(address))], [Token("link_close", "a", -1)]
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme in ("http", "https") and parts.hostname:
        return [_build_opening(address)], [
            Token("link_close", "a", -1),
            *_build_destination(parts.hostname),
        ]
    if parts.scheme == "mailto":
        return [_build_opening(address)], [
            Token("link_close", "a", -1),
            *_build_destination(parts.path),
        ]
    return [], _build_destination(address)


def _describe_image(token: Token) -> list[Token]:
    """Show an image as its title and address; loading it would reveal the reader to its owner."""
    address = str(token.attrGet("src") or "")
    return [
        _build_text(f"Image: {token.content or 'without a title'}"),
        *_build_destination(address),
    ]


def _build_opening(address: str) -> Token:
    return Token("link_open", "a", 1, attrs={"href": address})


def _build_destination(address: str) -> list[Token]:
    opening = Token("span_open", "span", 1, attrs={"class": "destination"})
    return [opening, _build_text(f" ({address[:200]})"), Token("span_close", "span", -1)]


def _build_text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _name_hidden(html: str) -> str:
    """Show invisible characters by their names; none is dropped silently."""
    places = list_hidden_places(html)
    if not places:
        return html
    parts, end = [], 0
    for place in places:
        name = f"U+{ord(html[place]):04X}"
        parts += [html[end:place], f'<mark class="hidden-character">{name}</mark>']
        end = place + 1
    return "".join([*parts, html[end:]])
