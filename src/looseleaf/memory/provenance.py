"""Provenance: who changed memory, the kind of this actor, the surface, and the origin of the text.

Every change has a provenance; the history of a page and the audit keep it. Its words are stored, so
that they never change their meaning; "" means that nothing was recorded.
"""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    ActorKind = Literal["", "person", "agent", "task", "import", "outside"]
    ActivityKind = Literal["", "session", "job", "request"]
    Origin = Literal["", "user", "agent", "tool", "import", "system"]

# Kinds of actors.
PERSON: Final = "person"
AGENT: Final = "agent"  # a model, or a script that has a token
TASK: Final = "task"  # Looseleaf's own work
IMPORT: Final = "import"
OUTSIDE: Final = "outside"  # a program that changes the file itself, such as an editor or git
ACTOR_KINDS: tuple[ActorKind, ...] = (PERSON, AGENT, TASK, IMPORT, OUTSIDE)
# Kinds of activities.
SESSION: Final = "session"
JOB: Final = "job"
REQUEST: Final = "request"
ACTIVITY_KINDS: tuple[ActivityKind, ...] = (SESSION, JOB, REQUEST)
# Origins of a text.
FROM_USER: Final = "user"  # the user said it
FROM_AGENT: Final = "agent"  # the agent inferred it
FROM_TOOL: Final = "tool"  # a tool gave it, or the web
FROM_IMPORT: Final = "import"
FROM_SYSTEM: Final = "system"  # Looseleaf made it, by a template or from other pages
ORIGINS: tuple[Origin, ...] = (FROM_USER, FROM_AGENT, FROM_TOOL, FROM_IMPORT, FROM_SYSTEM)
# Origins that the actor itself may state.
STATED_BY_AGENTS: tuple[Origin, ...] = (FROM_USER, FROM_AGENT, FROM_TOOL)
STATED_BY_PEOPLE: tuple[Origin, ...] = (*STATED_BY_AGENTS, FROM_IMPORT)
_LONGEST_ID = 200


@value
class Activity:
    """The activity of a change: one conversation, one job or one request, by its id."""

    kind: ActivityKind = ""
    id: str = ""


NO_ACTIVITY = Activity()


@value
class Provenance:
    """The provenance of a change: actor, surface, activity, origin and reason."""

    actor: str = ""
    actor_kind: ActorKind = ""
    surface: str = "library"
    activity: Activity = NO_ACTIVITY
    origin: Origin = ""
    reason: str = ""


UNKNOWN = Provenance()


def list_stated_origins(kind: str) -> tuple[Origin, ...]:
    """List the origins that an actor of this kind may state for its own texts."""
    return STATED_BY_AGENTS if kind == AGENT else STATED_BY_PEOPLE


def default_origin_of(kind: str) -> Origin:
    """Return the origin of a text for which an actor of this kind states none."""
    return FROM_AGENT if kind == AGENT else FROM_USER


def is_activity_id(text: str) -> bool:
    """Return whether a text from outside can be the id of an activity: short, and visible ASCII."""
    is_visible = text.isascii() and text.isprintable() and " " not in text
    return is_visible and 0 < len(text) <= _LONGEST_ID
