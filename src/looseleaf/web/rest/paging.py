"""Paging of lists: `page`, `per_page` and the total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.values import value
from looseleaf.web.http.request_errors import RequestError
from looseleaf.web.http.responses import JSON, answer, encode_json

if TYPE_CHECKING:
    from starlette.requests import Request

PER_PAGE, MAX_PER_PAGE = 100, 1000
_LAST_PAGE = 10**9
_NAMES = ("page", "per_page")
# The parameters as OpenAPI describes them.
PARAMETERS: list[dict[str, Any]] = [
    {
        "name": "page",
        "in": "query",
        "description": "The number of the part of a list.",
        "schema": {"type": "integer", "minimum": 1, "maximum": _LAST_PAGE, "default": 1},
    },
    {
        "name": "per_page",
        "in": "query",
        "description": "The number of entries in a part.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_PER_PAGE, "default": PER_PAGE},
    },
]


@value
class Window:
    """The requested part of a list."""

    page: int
    per_page: int

    def answer(self, items: list[Any], status: int = 200) -> Response:
        """Build the response with the part and the total."""
        return answer(
            self._select_part(items),
            status,
            self._build_headers(items),
            total=len(items),
            pages=self._count_pages(items),
            page=self.page,
        )

    def bare_answer(self, items: list[Any]) -> Response:
        """Build the response as WordPress does: an array, with the totals as headers."""
        return Response(
            encode_json(self._select_part(items)), 200, self._build_headers(items), JSON
        )

    def _select_part(self, items: list[Any]) -> list[Any]:
        start = (self.page - 1) * self.per_page
        return items[start : start + self.per_page]

    def _count_pages(self, items: list[Any]) -> int:
        return -(-len(items) // self.per_page)

    def _build_headers(self, items: list[Any]) -> dict[str, str]:
        return {"x-wp-total": str(len(items)), "x-wp-totalpages": str(self._count_pages(items))}


def split_paging(request: Request) -> tuple[list[tuple[str, str]], Window]:
    """Split `page` and `per_page` from the other parameters of a query."""
    query = request.query_params.multi_items()
    other_parameters = [(name, text) for name, text in query if name not in _NAMES]
    paging_parameters = {name: text for name, text in query if name in _NAMES}
    page = _parse_number("page", paging_parameters.get("page", "1"), _LAST_PAGE)
    per_page = _parse_number(
        "per_page", paging_parameters.get("per_page", str(PER_PAGE)), MAX_PER_PAGE
    )
    return other_parameters, Window(page, per_page)


def _parse_number(name: str, text: str, maximum: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and 1 <= int(text) <= maximum):
        raise RequestError(
            400, "invalid_argument", f"{name} must be a whole number from 1 to {maximum}."
        )
    return int(text)
