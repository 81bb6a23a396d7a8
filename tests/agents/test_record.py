"""Records of agents: the small reader gives what the JSON parser gives, and nothing is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.agents import record as records
from looseleaf.agents.record import AgentRecord, check_slug, format_record, parse_record
from looseleaf.errors.pages import InvalidAgent

RECORDS = st.builds(
    AgentRecord,
    id=st.integers(1, 10**9),
    slug=st.just("ada"),
    name=st.text(max_size=20),
    owner=st.integers(0, 10**6),
    status=st.sampled_from(["active", "deleted"]),
    created=st.text("0123456789-T:Z", max_size=20),
    config=st.sampled_from([{}, {"model": "echo"}, {"a": {"b": [1, None]}}]),
)


@given(RECORDS)
def test_a_record_is_read_back(record: AgentRecord) -> None:
    """The bytes of a record give the same record, whatever its name holds."""
    assert parse_record("ada", format_record(record)) == record


@given(RECORDS)
def test_the_small_reader_agrees_with_the_parser(record: AgentRecord) -> None:
    """If the small reader takes a text, its fields are those of the JSON parser."""
    text = format_record(record).decode()
    fields = records._parse_plain_fields(text)
    assert fields is None or fields == json.loads(text)


def test_the_usual_record_needs_no_parser() -> None:
    """A record without a configuration is read by the small reader."""
    record = AgentRecord(
        id=7,
        slug="ada",
        name="Ada",
        owner=1,
        status="active",
        created="2026-01-01T00:00:00Z",
        config={},
    )
    text = format_record(record).decode()
    assert records._parse_plain_fields(text) == json.loads(text)
    assert records._parse_plain_fields(json.dumps(json.loads(text))) is None


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{\n  "id": x,\n  "config": {}\n}\n'])
def test_a_damaged_record_is_an_error(content: bytes) -> None:
    """A text that is no record is never read as one."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        parse_record("ada", content)


@pytest.mark.parametrize("slug", ["", "Ada", "-ada", "12", "a" * 300, "a/b"])
def test_a_bad_slug_is_refused(slug: str) -> None:
    """A slug that could be a path, an id or two names is refused."""
    with pytest.raises(InvalidAgent):
        check_slug(slug)
