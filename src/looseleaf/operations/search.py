"""Search: a text in pages, or the pages about some words."""

from __future__ import annotations

from looseleaf.access.principals import find_requirement
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.prompt_assembly import is_denied_person, resolve_user
from looseleaf.catalog.resolution import layer_of, resolve_agent, scope_of, shelf_of
from looseleaf.errors import Forbidden, Invalid
from looseleaf.errors.pages import PageMissing
from looseleaf.files.folders import casefold_name
from looseleaf.memory.scope import DEFAULT_WHERE, Shelf, Where
from looseleaf.memory.search.results import RankedPages, SearchResults
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Layer
    from looseleaf.memory.search.ranking import Filter, PageFinder, Place
    from looseleaf.memory.store import Store

_MOST_UNSEEN = 50  # names that a result lists


@value
class _Source:
    """The pages that a search reads; `unseen_names` is filled while pages of the past are read."""

    store: Store
    index: PageFinder | None
    unseen_names: Collection[str] = ()


@operation(
    "datamachine/search-agent-memory",
    permission="read",
    categories=("memory", "search"),
    read_only=True,
)
def search(  # noqa: PLR0913 - one for each way to choose
    context: Context,
    query: str,
    *,
    file: str = "",
    section: str = "",
    lines: int = 2,
    limit: int = 50,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
    copies: bool = False,
) -> SearchResults:
    """Find a text in one page or in all pages that an agent's prompts may show, line by line.

    Arguments:
        query: The exact text to find, such as a name or a number; upper and lower case are the
            same.
        file: The one page to search; without it, all pages that the agent's prompts may show.
        section: The one section of that page to search, by the text of its ## header; without it,
            the whole page.
        lines: How many lines before and after each match are given with it.
        limit: The most matches to give; the total is told in any case.
        as_of: A UTC time such as 2026-04-17, to search the pages as they were then; without it, as
            they are now.
        layer: The layer whose pages are searched: shared, agent, user, network or principal;
            without it, every layer that a prompt of the agent may show, within your rights.
        copies: Whether generated copies of other pages, such as AGENTS.md, are searched, too; the
            page that `file` names is searched in any case.
    """
    from looseleaf.memory.search.substring import Query
    from looseleaf.memory.search.substring import search as search_pages

    shelves = [scope_of(context, file, where).shelf] if file else _list_shelves(context, where)
    question = Query(
        text=query,
        filename=file,
        section=section,
        context=lines,
        limit=limit,
        keep=_filter_copies(context, copies=copies),
    )
    sources = [_open_source(context, shelf, as_of, is_one_page=bool(file)) for shelf in shelves]
    try:
        results = search_pages(
            sources[0].store,
            shelves[0],
            question,
            index=sources[0].index,
            beside=_list_beside(sources, shelves),
        )
    except PageMissing:
        raise context.pages.build_missing_error(shelves[0].page(file)) from None
    names = _list_unseen(sources, shelves)
    if not names:
        return results
    notice = f"{results.notice} {_describe_unseen(len(names))}".strip()
    unseen_names = tuple(names[:_MOST_UNSEEN])
    return replace(results, notice=notice, unseen=unseen_names, unseen_total=len(names))


@operation(
    "looseleaf/find-pages", permission="read", categories=("memory", "search"), read_only=True
)
def find(
    context: Context,
    words: str,
    *,
    limit: int = 10,
    where: Where = DEFAULT_WHERE,
    as_of: str = "",
    copies: bool = False,
) -> RankedPages:
    """Find the pages that an agent knows about some words, best first.

    Arguments:
        words: A question or a few words in plain language, such as "When did she move?".
        limit: The most pages to give, best first.
        as_of: A UTC time such as 2026-04-17, to look through the pages as they were then; without
            it, as they are now.
        layer: The layer whose pages are looked through: shared, agent, user, network or principal;
            without it, every layer that a prompt of the agent may show, within your rights.
        copies: Whether generated copies of other pages, such as AGENTS.md, are among them, too.
    """
    from looseleaf.memory.search.ranking import rank_pages

    shelves = _list_shelves(context, where)
    sources = [_open_source(context, shelf, as_of) for shelf in shelves]
    hits = rank_pages(
        sources[0].store,
        shelves[0],
        words,
        index=sources[0].index,
        limit=limit,
        keep=_filter_copies(context, copies=copies),
        beside=_list_beside(sources, shelves),
    )
    names = _list_unseen(sources, shelves)
    return RankedPages(tuple(hits), tuple(names[:_MOST_UNSEEN]), len(names))


def _filter_copies(context: Context, *, copies: bool) -> Filter | None:
    """Return the filter that leaves generated copies out, or None if nothing is to be filtered."""
    files = () if copies else context.pages.registry.files()
    names = {casefold_name(file.filename) for file in files if file.is_copy}
    return (lambda filename: casefold_name(filename) not in names) if names else None


def _list_shelves(context: Context, where: Where) -> list[Shelf]:
    """List the shelves to search: of the layer that is named, else all that a prompt may show."""
    if where.layer is not None:
        return [shelf_of(context, where, layer_of(where, "agent"))]
    agent = resolve_agent(context, where)
    shelves = [agent.shelf]
    try:
        user = resolve_user(context, where, agent)
    except Forbidden:
        pass  # such as a credential that reaches no pages of its user
    else:
        shelves.append(Shelf("user", user))
        if not is_denied_person(context, agent, user):
            shelves.append(Shelf("principal", user, agent.id))
    shared_layers: tuple[Layer, ...] = ("shared", "network")
    shelves += [
        Shelf(layer)
        for layer in shared_layers
        if context.pages.registry.by_layer(layer)
        and find_requirement(context.principal, "read", Shelf(layer)) is None
    ]
    return shelves


def _list_beside(sources: list[_Source], shelves: list[Shelf]) -> list[Place]:
    """List the shelves after the first, as they are searched beside it."""
    pairs = list(zip(sources, shelves, strict=True))[1:]
    return [(source.store, shelf, source.index) for source, shelf in pairs]


def _list_unseen(sources: list[_Source], shelves: list[Shelf]) -> list[str]:
    """Name the pages that could not be searched, those of other layers with their layer."""
    return sorted(
        name if at == 0 else f"{shelf.layer}:{name}"
        for at, (source, shelf) in enumerate(zip(sources, shelves, strict=True))
        for name in source.unseen_names
    )


def _describe_unseen(count: int) -> str:
    pages = "1 page was" if count == 1 else f"{count} pages were"
    return f"{pages} not searched: versions of that time are no longer kept."


def _open_source(
    context: Context, shelf: Shelf, as_of: str, *, is_one_page: bool = False
) -> _Source:
    store = context.pages.store_for(shelf)
    if not as_of:
        return _Source(store, context.index())
    from looseleaf.memory.history import PastPages, parse_moment

    moment = parse_moment(as_of)
    if isinstance(moment, int):
        raise Invalid("A search as of a revision has no meaning across pages; give a time.")
    if moment >= context.clock():
        return _Source(store, context.index())  # the pages as they are
    index = context.index()
    past_index = index.at(shelf, moment) if index is not None else None
    read_known = past_index.read if past_index is not None else None
    from looseleaf.memory.search.substring import VisiblePages

    if is_one_page:  # the error of this one page is the answer
        return _Source(PastPages(store, context.history, moment, read_known), past_index)
    past_pages = VisiblePages(store, context.history, moment, read_known)
    return _Source(past_pages, past_index, past_pages.unseen_names)
