"""Text that a model left behind: special tokens, and sentences around an answer."""

from __future__ import annotations

import re

from looseleaf.upkeep.lint.problem import LineChange, LintProblem, PageEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.upkeep.lint.page import LintPage

_TOKEN = re.compile(
    r"<\|[a-zA-Z_]{2,30}\|>|</?(?:think|thinking|tool_call|function_calls|assistant)>|"
    r"\[/?INST\]|<</?SYS>>|</?s>(?=\s|$)|<(?:start|end)_of_turn>"
)
_CODE_SPAN = re.compile(r"`[^`]*`")
_PHRASE = re.compile(
    r"(?:As an AI language model\b.*|Sure[,!] here(?: is|'s) .*:|Here(?: is|'s) the updated .*:|"
    r"I hope this helps[.!]?|\[(?:rest|remainder) unchanged\])",
    re.IGNORECASE,
)


def find_model_tokens(page: LintPage) -> Iterator[LintProblem]:
    """Find tokens and phrases of models outside of code; the edit takes them out."""
    for number, text in page.prose:
        phrase = _PHRASE.fullmatch(text)
        bare = _CODE_SPAN.sub("", text) if "`" in text else text
        if phrase is None and not ("<" in bare or "[" in bare):
            continue
        token = phrase or _TOKEN.search(bare)
        if token is None:
            continue
        line = page.lines[number]
        clean = "" if phrase else _TOKEN.sub("", line)
        lines = (clean,) if clean.strip() else ()
        yield LintProblem(
            rule="model_token",
            file=page.file,
            layer=page.layer,
            line=number + 1,
            message=f"has {token[0][:40]!r}, which a model left behind",
            advice="Take it out.",
            edit=PageEdit((LineChange(number, number + 1, lines),)),
        )
