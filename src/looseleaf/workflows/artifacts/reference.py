"""References of artifacts: addresses without a file path, so that none reaches another file."""

from __future__ import annotations

import re

from looseleaf.errors import InvalidArgument
from looseleaf.values import value

_SHAPE = re.compile(
    r"datamachine://jobs/([1-9][0-9]{0,17})/artifacts/([a-z][a-z0-9_-]{0,63})"
    r"(?:/([A-Za-z0-9][A-Za-z0-9._-]{0,199}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){0,5}))?"
)


@value
class ArtifactReference:
    """The job, the type of the artifact, and a qualifier among artifacts of the type."""

    job_id: int
    type: str
    qualifier: str = ""

    def __str__(self) -> str:
        end = f"/{self.qualifier}" if self.qualifier else ""
        return f"datamachine://jobs/{self.job_id}/artifacts/{self.type}{end}"


def parse_reference(text: str) -> ArtifactReference:
    """Read a reference, or raise `InvalidArgument`."""
    parts = _SHAPE.fullmatch(text)
    if parts is None or ".." in text:
        raise InvalidArgument(
            "ref",
            "it looks like datamachine://jobs/7/artifacts/transcript; jobs artifacts lists them",
        )
    return ArtifactReference(int(parts[1]), parts[2], parts[3] or "")
