"""References of artifacts: read and written, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import InvalidArgument
from looseleaf.features.workflows.artifacts import ArtifactReference, parse_reference


@pytest.mark.parametrize(
    "reference",
    [
        ArtifactReference(7, "transcript"),
        ArtifactReference(7, "tool-trace", "draft"),
        ArtifactReference(12, "agent_daily_memory", "2026-04-17"),
        ArtifactReference(12, "agent_memory", "projects/garden.md"),
    ],
)
def test_a_reference_is_read_as_it_is_written(reference: ArtifactReference) -> None:
    """With and without a qualifier."""
    assert parse_reference(str(reference)) == reference


@pytest.mark.parametrize(
    "text",
    [
        "",
        "transcript",
        "/etc/passwd",
        "datamachine://jobs/0/artifacts/transcript",
        "datamachine://jobs/x/artifacts/transcript",
        "datamachine://jobs/7/artifacts/../secret",
        "datamachine://jobs/7/artifacts/transcript/../../x",
        "datamachine://jobs/7/artifacts/transcript/a..b",
        "datamachine://jobs/7/artifacts/transcript//etc",
        "https://jobs/7/artifacts/transcript",
        "datamachine://jobs/7/artifacts/transcript\n",
    ],
)
def test_another_text_is_no_reference(text: str) -> None:
    """No path, absolute or leading out, passes."""
    with pytest.raises(InvalidArgument):
        parse_reference(text)


@given(st.text())
def test_no_text_leads_out(text: str) -> None:
    """Whatever stands at the end of a reference is a plain name or an error."""
    try:
        reference = parse_reference(f"datamachine://jobs/7/artifacts/transcript/{text}")
    except InvalidArgument:
        return
    assert not reference.qualifier.startswith(("/", "."))
    assert ".." not in reference.qualifier
