"""Finding: a text in pages, or the page about some words."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory.history import PastPages
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, layer_of, scope_of, shelf_of
from looseleaf.operations.moment import parse_moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.find import Hit, Index
    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.search import Results
    from looseleaf.memory.store import Store
    from looseleaf.operations.context import Context


@operation(
    "datamachine/search-agent-memory",
    permission="read",
    categories=("memory", "search"),
    read_only=True,
)
def search(
    context: Context,
    query: str,
    *,
    file: str = "",
    section: str = "",
    lines: int = 2,
    limit: int = 50,
    where: Where = HERE,
    as_of: str = "",
) -> Results:
    """Find a text in one page or in all pages of an agent (its journal too), line by line."""
    from looseleaf.memory.search import Query
    from looseleaf.memory.search import search as search_pages

    shelf = scope_of(context, file, where).shelf if file else _shelf(context, where)
    asked = Query(query, filename=file, section=section, context=lines, limit=limit)
    store, index = _source(context, shelf, as_of)
    return search_pages(store, shelf, asked, index=index)


@operation(
    "looseleaf/find-pages", permission="read", categories=("memory", "search"), read_only=True
)
def find(
    context: Context, words: str, *, limit: int = 10, where: Where = HERE, as_of: str = ""
) -> list[Hit]:
    """Find the pages of an agent that are about some words, best first."""
    from looseleaf.memory.find import ranked as ranked_pages

    shelf = _shelf(context, where)
    store, index = _source(context, shelf, as_of)
    return ranked_pages(store, shelf, words, index=index, limit=limit)


def _shelf(context: Context, where: Where) -> Shelf:
    return shelf_of(context, where, layer_of(where, "agent"))


def _source(context: Context, shelf: Shelf, as_of: str) -> tuple[Store, Index | None]:
    store = context.pages.store_for(shelf)
    if not as_of:
        return store, context.index()
    moment = parse_moment(as_of)
    if isinstance(moment, int):
        raise Invalid("A search as of a revision has no meaning across pages; give a time.")
    return PastPages(store, context.history, moment), None
