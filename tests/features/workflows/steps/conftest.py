"""Steps in a real workspace: their parts, and runs of them with packets of the test's choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.features.workflows.definitions import Flow, Pipeline, Step
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.services import JobStepServices
from looseleaf.features.workflows.packet import Packet
from looseleaf.features.workflows.parts import definitions_of, step_types_of
from looseleaf.features.workflows.step import StepOutcome, StepRun
from looseleaf.values import replace
from tests.conftest import Clock
from tests.features.workflows.jobs.test_effects import Intents

START = 1_776_418_200.0  # 2026-04-17T09:30:00Z


class Bench:
    """A workspace with one agent, ada, and a way to run one step of a job in it."""

    def __init__(self, root: Path, clock: Clock, settings: str) -> None:
        self.clock = clock
        Workspace.create(root, agent="ada", clock=clock).close()
        (root / "looseleaf.toml").write_text(settings)
        self.workspace = Workspace.open(root, clock=clock)
        self.root = root
        self.intents = Intents()
        self.progress: list[str] = []
        self.cancelled = False
        self.agent = self.workspace.agents.resolve("ada")
        definitions = definitions_of(self.workspace)
        self.pipeline = definitions.pipelines.add(
            Pipeline(
                id=0,
                slug="news",
                name="News",
                agent_id=self.agent.id,
                user_id=1,
                system_prompt="Write news.",
            )
        )
        self.flow = definitions.flows.add(
            Flow(
                id=0,
                pipeline_id=self.pipeline.id,
                slug="daily",
                name="Daily",
                agent_id=self.agent.id,
                user_id=1,
            )
        )

    def job(self, job_id: int = 7) -> Job:
        """Make a job of the flow."""
        return Job(
            id=job_id,
            label="News: Daily",
            pipeline_id=self.pipeline.id,
            flow_id=self.flow.id,
            agent_id=self.agent.id,
            user_id=1,
            created_at=START,
            started_at=START,
        )

    def step_run(
        self,
        kind: str,
        settings: dict[str, Any],
        packets: tuple[Packet, ...] = (),
        *,
        job_id: int = 7,
        signal: dict[str, Any] | None = None,
    ) -> StepRun:
        """Make the run of a step; its settings are checked as they are when a pipeline is saved."""
        step_types_of(self.workspace).get(kind).check_settings(settings)
        job = self.job(job_id)
        step = Step("one", kind, "", settings)
        return StepRun(
            job=job,
            pipeline=replace(self.pipeline, steps=(step,)),
            flow=definitions_of(self.workspace).flows.find(self.flow.id),
            step=step,
            settings=settings,
            packets=packets,
            parts=JobStepServices(self.workspace.context, job, self.intents),
            is_cancelled=lambda: self.cancelled,
            report_progress=self.progress.append,
            signal=signal,
        )

    def run(
        self,
        kind: str,
        settings: dict[str, Any],
        *packets: Packet,
        job_id: int = 7,
        signal: dict[str, Any] | None = None,
    ) -> StepOutcome:
        """Run a step; every packet it gives fits the schema of its type."""
        types = step_types_of(self.workspace)
        run = self.step_run(kind, settings, packets, job_id=job_id, signal=signal)
        outcome = types.get(kind).run(run)
        for packet in outcome.packets:
            types.packets.check(packet)
            assert packet.type in types.get(kind).gives
        return outcome

    def read(self, file: str) -> str:
        """Read a page of the agent."""
        return self.workspace.pages.text(self.agent.shelf.page(file))


def item(content: str = "text", **data: str) -> Packet:
    """Make a packet with an item."""
    return Packet("item", "2026-04-17T09:30:00Z", {"content": content, **data}, {})


def ai_response(content: str, **data: str) -> Packet:
    """Make a packet with the answer of a model."""
    return Packet("ai_response", "2026-04-17T09:30:00Z", {"content": content, **data}, {})


Opener = Callable[[str], Bench]


@pytest.fixture
def open_bench(tmp_path: Path) -> Opener:
    """Open a workspace with settings."""
    return lambda settings: Bench(tmp_path / "workspace", Clock(START), settings)


@pytest.fixture
def bench(open_bench: Opener) -> Bench:
    """Open a workspace with the echo model, and a journal that agents may write."""
    return open_bench('default_model = "echo"\ndaily_memory_enabled = true\n')
