"""The origin of a text: the one part of its provenance that the actor itself states.

The system knows the name, the kind and the surface of an actor by itself.
"""

from __future__ import annotations

from looseleaf.catalog.schemas.signature import signature_of
from looseleaf.errors import InvalidArgument
from looseleaf.memory.provenance import STATED_BY_AGENTS, list_stated_origins
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation

ORIGIN = "origin"
_TEXTS = ("content", "data", "new")  # arguments whose text goes into a page
# The argument as the tools of models declare it.
ORIGIN_SCHEMA: dict[str, Any] = {
    "type": "string",
    "enum": list(STATED_BY_AGENTS),
    "description": "Where the content is from, for the history: user (the user said it), agent "
    "(you inferred it; so without this), tool (a tool or the web gave it).",
}


def takes_origin(operation: Operation) -> bool:
    """Return whether an operation writes a text to a page, so that the text has an origin."""
    return operation.changes_page and any(
        name in _TEXTS for name, _, _ in signature_of(operation.run)
    )


def with_origin(context: Context, origin: object) -> Context:
    """Return a context whose changes have this origin; raise `InvalidArgument` if not allowed."""
    if origin is None or origin == "":
        return context
    choices = list_stated_origins(context.principal.actor_kind)
    if origin not in choices:
        raise InvalidArgument(ORIGIN, f"it must be one of {', '.join(choices)}")
    return replace(context, origin=origin)
