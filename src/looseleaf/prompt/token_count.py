"""Counting tokens offline, by a named tokenizer."""

from __future__ import annotations

import os
import re

from looseleaf.errors import InvalidSetting
from looseleaf.extras import TOKENS, require_extra
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ESTIMATE = "estimate"
# Under these names tiktoken keeps the vocabularies that it has downloaded.
VOCABULARIES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}

_PIECES = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]+|\n+")
_PIECES_PER_TOKEN = 1.09  # measured against o200k_base; most documents are within 10 %


@value
class Tokenizer:
    """A way to count tokens, and its name."""

    name: str
    count: Callable[[str], int]


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text from its words, numbers and signs."""
    return round(len(_PIECES.findall(text)) / _PIECES_PER_TOKEN)


def resolve_tokenizer(name: str = ESTIMATE, folder: str = "") -> Tokenizer:
    """Return the tokenizer of a name; `folder` is where tiktoken keeps its vocabularies."""
    if name == ESTIMATE:
        return Tokenizer(ESTIMATE, estimate_tokens)
    vocabulary = VOCABULARIES.get(name)
    if vocabulary is None:
        names = ", ".join((ESTIMATE, *VOCABULARIES))
        raise InvalidSetting("tokenizer", f"{name!r} is unknown; there are {names}")
    # tiktoken would download a missing vocabulary, and Looseleaf makes no request unasked.
    if not folder or not os.path.isfile(os.path.join(folder, vocabulary)):
        raise InvalidSetting(
            "tokenizer", f"the vocabulary of {name} is not in TIKTOKEN_CACHE_DIR ({folder or '-'})"
        )
    return Tokenizer(name, _open_tiktoken(name))


def _open_tiktoken(name: str) -> Callable[[str], int]:
    with require_extra(TOKENS, f"The tokenizer {name}"):
        import tiktoken
    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))
