"""Slugs of pipelines and flows: made from a name once, stable from then on, unique among siblings.

Bundles and exported files name a pipeline by its slug, so a new name does not change it.
"""

from __future__ import annotations

import re
import unicodedata

from looseleaf.errors.workflows import InvalidWorkflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

MAX_SLUG = 64
_RUN = re.compile(r"[^a-z0-9]+")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def make_slug(name: str, *, fallback: str, used_slugs: Collection[str] = ()) -> str:
    """Create a slug from a name, with -2, -3 and so on if a sibling has it already."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = _RUN.sub("-", plain).strip("-")[:MAX_SLUG].strip("-") or fallback
    if slug.isdigit():
        slug = f"{fallback}-{slug}"[:MAX_SLUG]  # digits alone would be taken for an id
    candidate, number = slug, 1
    while candidate in used_slugs:
        number += 1
        suffix = f"-{number}"
        candidate = slug[: MAX_SLUG - len(suffix)].rstrip("-") + suffix
    return candidate


def check_slug(slug: str, *, noun: str) -> str:
    """Return a slug, or raise `InvalidWorkflow` if no pipeline or flow can have it."""
    if len(slug) > MAX_SLUG or not _SLUG.fullmatch(slug):
        reason = (
            f"a slug has lower-case letters, digits and single -, at most {MAX_SLUG} characters"
        )
        raise InvalidWorkflow(noun, f"slug {slug!r}: {reason}")
    if slug.isdigit():
        raise InvalidWorkflow(noun, f"slug {slug!r}: digits alone would be taken for an id")
    return slug
