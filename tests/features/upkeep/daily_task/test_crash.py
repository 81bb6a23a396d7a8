"""Killed at any system call, a compaction loses no line, and completes or undoes itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from tests.conftest import sample
from tests.features.upkeep.daily_task.scenes import (
    DAY,
    FACTS,
    PAGE,
    SCENES,
    compact,
    compactions_of,
    prepare,
)
from tests.stores.tracing import CHANGING, Tracer, copy_of


@pytest.fixture(scope="module")
def tracer() -> Iterator[Tracer]:
    """Yield a process that acts out scenes under strace."""
    with Tracer("tests.features.upkeep.daily_task.scenes") as new_tracer:
        yield new_tracer


def texts(root: Path) -> tuple[str, str]:
    """Read the page and the day."""
    day = root / "agents/ada" / DAY
    page = (root / "agents/ada/MEMORY.md").read_text()
    return page, day.read_text() if day.exists() else ""


def check(root: Path) -> str:
    """Every line is somewhere after the kill; after a restart each is in one place."""
    page, day = texts(root)
    for fact in FACTS:
        assert fact in page + day, f"{fact} is gone"
    workspace = Workspace.open(root)
    compactions = compactions_of(workspace)
    compactions.recover()
    assert compactions.list_unfinished() == []
    page, day = texts(root)
    for fact in FACTS:
        assert (page + day).count(fact) == 1, f"{fact} is twice"
    state = "done" if "- three" in day else "not done"
    if state == "not done":
        assert page == PAGE
        compact(workspace, "run-2")
        page, day = texts(root)
        assert (page + day).count("- three") == 1
    workspace.close()
    return state


@pytest.mark.parametrize("name", SCENES)
def test_a_kill_at_any_call_loses_no_line(tracer: Tracer, name: str, tmp_path: Path) -> None:
    """Before each call that changes something on disk."""
    prepare(name, tmp_path / "root")
    whole = copy_of(tmp_path / "root", tmp_path / "whole")
    calls = [
        call for call in tracer.calls(name, whole, tmp_path / "trace") if call.name in CHANGING
    ]
    states = []
    for call in calls:
        there = copy_of(tmp_path / "root", tmp_path / f"{call.name}-{call.number}")
        tracer.act(name, there, f"{call.name}:signal=KILL:when={call.number}")
        states.append(check(there))
        shutil.rmtree(there.parent)
    assert {"done", "not done"} <= set(states)
    print(f"{len(calls)} kill points of {name}")  # noqa: T201 - a figure that -rP shows


@pytest.mark.parametrize("fault", ["EIO", "ENOSPC"])
def test_a_call_that_fails_loses_no_line(
    tracer: Tracer, fault: str, tmp_path: Path, seed: int
) -> None:
    """Each call fails once: the error is told, and the next attempt finds everything."""
    prepare("compact", tmp_path / "root")
    whole = copy_of(tmp_path / "root", tmp_path / "whole")
    calls = tracer.calls("compact", whole, tmp_path / "trace")
    for call in sample([item for item in calls if item.name in CHANGING], seed, every=4):
        there = copy_of(tmp_path / "root", tmp_path / f"{call.name}-{call.number}")
        tracer.act("compact", there, f"{call.name}:error={fault}:when={call.number}")
        check(there)
        shutil.rmtree(there.parent)
