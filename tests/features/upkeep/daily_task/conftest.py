"""A workspace whose journal is on and whose model says what a script tells it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.features.workflows.parts import system_tasks_of
from looseleaf.features.workflows.system_tasks import RunRecord, RunRequest, TaskPrompts, run_task
from looseleaf.models.model import Answer, Delta, Message, Question, Usage
from looseleaf.values import replace
from tests.conftest import Clock

TASK = "daily_memory_generation"


class ScriptedModel:
    """A model that gives one reply a question; the last one again and again."""

    def __init__(self) -> None:
        self.name = "script:model"
        self.replies: list[str | Exception | Callable[[Question], str]] = [""]
        self.questions: list[Question] = []

    def ask(self, question: Question, should_stop: Callable[[], bool]) -> Iterator[Delta | Answer]:
        """Yield the next reply."""
        self.questions.append(question)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        if not isinstance(reply, str):
            reply = reply(question)
        for start in range(0, len(reply), 4096):
            if should_stop():
                return
            yield Delta(reply[start : start + 4096])
        yield Answer(Message(role="assistant", text=reply), Usage(1, 10, 2), self.name)


class Upkeep:
    """One agent's upkeep: its page, its journal, its model, and a way to run the task."""

    def __init__(
        self, root: Path, *, clock: Callable[[], float] = time.time, **settings: object
    ) -> None:
        lines = ["daily_memory_enabled = true", 'default_model = "script:model"']
        lines += [f"{name} = {setting}" for name, setting in settings.items()]
        Workspace.create(root, agent="ada").close()
        (root / "looseleaf.toml").write_text("\n".join(lines) + "\n")
        self.workspace = Workspace.open(root, clock=clock)
        self.model = ScriptedModel()
        self.workspace.models().register("script", lambda _name: self.model)
        self.agent = self.workspace.agents.resolve("ada")
        self.page = root / "agents/ada/MEMORY.md"
        self.days = root / "agents/ada/daily"

    def run(self, trigger: str = "manual", run_id: str = "", **params: object) -> RunRecord:
        """Run the task once."""
        task = system_tasks_of(self.workspace).get(TASK)
        prompts = TaskPrompts(self.workspace.settings.root)
        return run_task(
            task,
            self.workspace,
            self.workspace.settings,
            self.agent,
            RunRequest(params, trigger, id=run_id),
            prompt=lambda key: prompts.text(task, key),
            is_cancelled=lambda: False,
        )

    def journal(self) -> str:
        """Return everything that the journal has."""
        return "".join(path.read_text() for path in sorted(self.days.rglob("*.md")))

    def configure(self, **settings: object) -> None:
        """Change settings of the open workspace."""
        self.workspace.settings = replace(self.workspace.settings, **settings)


@pytest.fixture
def upkeep(tmp_path: Path) -> Iterator[Upkeep]:
    """Yield the upkeep of a fresh agent."""
    agent_upkeep = Upkeep(tmp_path / "root")
    yield agent_upkeep
    agent_upkeep.workspace.close()


@pytest.fixture
def timed_upkeep(tmp_path: Path, clock: Clock) -> Iterator[Upkeep]:
    """Yield the upkeep of a fresh agent, on a day that does not end by itself."""
    agent_upkeep = Upkeep(tmp_path / "root", clock=clock)
    yield agent_upkeep
    agent_upkeep.workspace.close()
