"""Artifacts of a job: files of its steps, with size and hash, and pages that it wrote."""

from __future__ import annotations

import hashlib

from looseleaf.values import value


@value
class ArtifactFile:
    """A file that a job left: its reference, and the size and hash of its content.

    Fields:
        ref: The reference, such as datamachine://jobs/7/artifacts/transcript/draft.
        type: The type of the artifact.
        bytes: The size of the content.
        sha256: The hash of the content.
    """

    ref: str
    type: str
    bytes: int
    sha256: str


@value(kw_only=True)
class DailyMemoryArtifact:
    """A day of the journal that a job wrote, as a package includes it.

    Fields:
        type: agent_daily_memory.
        agent_id: The agent whose day it is.
        agent_slug: The slug of that agent.
        date: The day, as YYYY-MM-DD.
        source: daily-memory.
        bundle_relative_path: The place of the day in a bundle.
        content: The whole day as it is now; if it cannot be read, the text that was written.
    """

    type: str
    agent_id: int
    agent_slug: str
    date: str
    source: str
    bundle_relative_path: str
    content: str


@value(kw_only=True)
class AgentMemoryArtifact:
    """A page that a job wrote, as a package includes it.

    Fields:
        type: agent_memory.
        agent_id: The agent that wrote it.
        agent_slug: The slug of that agent.
        file: The name of the page.
        layer: The layer of the page.
        section: The section that was written last, or "" if that is not known.
        source: agent-memory.
        bundle_relative_path: The place of the page in a bundle.
        content: The whole page as it is now; if it cannot be read, the text that was written.
    """

    type: str
    agent_id: int
    agent_slug: str
    file: str
    layer: str
    section: str
    source: str
    bundle_relative_path: str
    content: str


def hash_text(text: str) -> str:
    """Return the sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
