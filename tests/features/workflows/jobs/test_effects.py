"""A change of a page is made once for job and step, wherever the process dies."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from looseleaf import Workspace
from looseleaf.errors.pages import HistoryMissing
from looseleaf.features.workflows.jobs.effects import edit_once
from looseleaf.features.workflows.jobs.job import MemoryWrite
from looseleaf.features.workflows.step import Intent, StepRun
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.scope import Scope
from looseleaf.memory.sections import append_lines
from looseleaf.memory.store import Change, hash_content

BY = Change("append", Provenance("ada"))


class Intents:
    """Intents in a dictionary."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, str], Intent] = {}

    def find(self, key: str, page: str) -> Intent | None:
        return self.notes.get((key, page))

    def note(self, key: str, page: str, content_hash: str) -> None:
        before = self.find(key, page)
        self.notes[key, page] = Intent(content_hash, before.number + 1 if before else 1)


class StepHarness:
    """A workspace and runs of one step in it."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace.create(root, agent="ada")
        self.intents = Intents()
        self.page = self.workspace.agents.resolve("ada").shelf.page("notes.md")

    def run(self, step: str = "1") -> StepRun:
        parts = SimpleNamespace(
            pages=self.workspace.pages, history=self.workspace.history, intents=self.intents
        )
        run = SimpleNamespace(parts=parts, effect_key=f"job-7/step-{step}")
        return cast("StepRun", run)

    def append(self, text: str, step: str = "1", part: str = "") -> MemoryWrite:
        def edit(page: str) -> str:
            return append_lines(page, text)

        return edit_once(self.run(step), self.page, edit, change=BY, part=part)

    @property
    def text(self) -> str:
        return self.workspace.pages.text(self.page)


@pytest.fixture
def harness(tmp_path: Path) -> StepHarness:
    """Create a workspace with the agent ada."""
    return StepHarness(tmp_path / "root")


def test_a_second_run_finds_the_change_of_the_first(harness: StepHarness) -> None:
    """The key stands in the history of the page, also after later changes."""
    first = harness.append("one")
    assert (first.filename, first.layer, first.operation) == ("notes.md", "agent", "append")
    harness.append("two", step="2")
    assert harness.append("one") == first
    assert harness.text == "one\ntwo\n"
    revision = harness.workspace.history.revisions(harness.page)[0]
    assert (revision.activity, revision.activity_id) == ("job", "job-7/step-1")


def test_parts_of_a_step_are_changes_of_their_own(harness: StepHarness) -> None:
    """Two packets that say the same are appended twice, and each once."""
    for _attempt in range(2):
        for part in ("0", "1"):
            harness.append("same", part=part)
    assert harness.text == "same\nsame\n"


def test_a_change_that_was_not_logged_is_found_by_its_hash(harness: StepHarness) -> None:
    """A process may die after the page was replaced and before its history was written."""
    harness.append("before", step="0")
    lost = f"{harness.text}one\n"
    harness.intents.note("job-7/step-1", harness.page.key, hash_content(lost.encode()))
    Path(harness.workspace.root, "agents", "ada", "notes.md").write_text(lost)
    assert harness.append("one").revision == 2
    assert harness.text == lost


def test_an_intent_alone_is_no_change(harness: StepHarness) -> None:
    """A process that died before the page was replaced has done nothing."""
    harness.intents.note("job-7/step-1", harness.page.key, hash_content(b"one\n"))
    harness.append("one")
    assert harness.text == "one\n"


def test_two_processes_that_run_the_same_step_change_the_page_once(harness: StepHarness) -> None:
    """The one that waited for the lock sees the intent of the other."""
    harness.append("before", step="0")
    barrier = threading.Barrier(8)
    writes: list[MemoryWrite] = []

    def run() -> None:
        barrier.wait()
        writes.append(harness.append("one"))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert harness.text == "before\none\n"
    assert len(set(writes)) == 1


def test_a_store_without_history_is_compared_by_its_page(harness: StepHarness) -> None:
    """There the hash of the page is all there is to look at."""
    run = harness.run()

    class NoHistory:
        def revisions(self, scope: Scope) -> list[Any]:
            raise HistoryMissing(scope.filename, "none")

    cast("Any", run.parts).history = NoHistory()
    for _attempt in range(2):
        edit_once(run, harness.page, lambda page: append_lines(page, "one"), change=BY)
    assert harness.text == "one\n"
