"""Templates: texts with `{{name}}`, filled in one pass, so that inserted texts are not filled."""

from __future__ import annotations

import re

from looseleaf.errors.workflows import InvalidStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_TEMPLATE = 20_000
_PLACE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]{0,99})\s*\}\}")


def fill_template(template: str, texts: Mapping[str, str], *, step: str) -> str:
    """Replace names by their texts; raise `InvalidStep` if a name has none."""

    def text_of(place: re.Match[str]) -> str:
        name = place[1]
        if name not in texts:
            names = ", ".join(sorted(texts))
            raise InvalidStep(step, f"the template asks for {{{{{name}}}}}; there are: {names}")
        return texts[name]

    return _PLACE.sub(text_of, template)


def list_names(template: str) -> tuple[str, ...]:
    """List the names that a template asks for, each once."""
    return tuple(dict.fromkeys(_PLACE.findall(template)))
