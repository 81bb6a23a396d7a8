"""Lines of the log about jobs: bounded, and without anything that somebody wrote."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from looseleaf.features.workflows.endpoints import describe_event
from looseleaf.features.workflows.jobs.job import STATUSES, Job, StepRecord
from looseleaf.features.workflows.jobs.worker import JobEvent, build_end_event, build_start_event

TEXT = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=3000)


@given(TEXT, st.sampled_from(STATUSES), st.integers(0, 1))
def test_no_line_holds_a_name_or_a_reason(text: str, status: Any, position: int) -> None:  # noqa: ANN401 - a status
    """Whatever the job is called, however it ends, and wherever it continues."""
    steps = (StepRecord(id=text, type=text, label=text),)
    job = Job(id=7, label=text, status=status, reason=text, steps=steps, task_type=text, model=text)
    for event in (build_start_event(job, position), build_end_event(job)):
        line = json.dumps(describe_event(event), ensure_ascii=False)
        assert not set(text) & set(line)
        assert len(line) < 200


@given(TEXT)
def test_a_worker_that_died_is_named_in_few_characters(worker: str) -> None:
    """Its id is that of a machine and a process."""
    entry = describe_event(JobEvent("taken_over", 7, detail=worker))
    assert entry == {"job": 7, "event": "taken_over", "dead_worker": worker[:80]}
