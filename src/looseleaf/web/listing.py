"""Lists in parts: `page` and `per_page`, and how much there is in all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.values import value
from looseleaf.web.answers import JSON, answer, encoded
from looseleaf.web.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import Request

PER_PAGE, MOST = 100, 1000
_NAMES = ("page", "per_page")


@value
class Window:
    """Which part of a list is wanted."""

    page: int
    per_page: int

    def answer(self, items: list[Any], status: int = 200) -> Response:
        """Give the part, and how many there are in all."""
        return answer(
            self._part(items),
            status,
            self._headers(items),
            total=len(items),
            pages=self._pages(items),
            page=self.page,
        )

    def bare_answer(self, items: list[Any]) -> Response:
        """Give the part as WordPress gives a list: an array, and how many there are as headers."""
        return Response(encoded(self._part(items)), 200, self._headers(items), JSON)

    def _part(self, items: list[Any]) -> list[Any]:
        start = (self.page - 1) * self.per_page
        return items[start : start + self.per_page]

    def _pages(self, items: list[Any]) -> int:
        return -(-len(items) // self.per_page)

    def _headers(self, items: list[Any]) -> dict[str, str]:
        return {"x-wp-total": str(len(items)), "x-wp-totalpages": str(self._pages(items))}


def paged(request: Request) -> tuple[list[tuple[str, str]], Window]:
    """Take `page` and `per_page` out of a query; give the rest, and the part that is wanted."""
    query = request.query_params.multi_items()
    rest = [(name, text) for name, text in query if name not in _NAMES]
    told = {name: text for name, text in query if name in _NAMES}
    page = _number("page", told.get("page", "1"), 10**9)
    per_page = _number("per_page", told.get("per_page", str(PER_PAGE)), MOST)
    return rest, Window(page, per_page)


def _number(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and 1 <= int(text) <= most):
        raise Problem(400, "invalid_argument", f"{name} is a whole number from 1 to {most}.")
    return int(text)
