"""The size of a page in bytes, words and tokens, and its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.values import value
from looseleaf.web.admin.templating import format_count

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context


@value
class Gauge:
    """The size of a page; without a budget, `budget` is 0."""

    bytes: int
    words: int
    tokens: int
    budget: int

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
        return f"{size} · {words} · about {tokens}"

    @property
    def is_over(self) -> bool:
        """Whether the page is larger than its budget."""
        return bool(self.budget) and self.bytes > self.budget


def measure(context: Context, file: str, text: str) -> Gauge:
    """Measure a text as the page of that name."""
    entry = context.pages.registry.get(file)
    tokens = context.parts.chain().tokenizer.count(text)
    budget = entry.byte_budget if entry else 0
    return Gauge(len(text.encode("utf-8", "surrogatepass")), len(text.split()), tokens, budget)
