"""The contracts of the store of definitions: pipelines, flows and the prompts that flows queue."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline
else:
    Protocol = object


class Pipelines(Protocol):
    """Pipelines, by ids that are never given twice."""

    def find(self, pipeline_id: int) -> Pipeline | None:
        """Find a pipeline."""

    def list(
        self,
        *,
        agents: Sequence[int] | None = None,
        slug: str = "",
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[list[Pipeline], int]:
        """List pipelines by name, of agents or of all, of a slug, and count all of them."""

    def add(self, pipeline: Pipeline, new_flows: Sequence[Flow] = ()) -> Pipeline:
        """Store a new pipeline, with its flows or not at all.

        A pipeline without a slug gets one that no other pipeline of its agent has. A slug that is
        taken is refused with `SlugTaken`, here and in `change`.
        """

    def change(self, pipeline_id: int, edit: Callable[[Pipeline], Pipeline]) -> Pipeline | None:
        """Edit a pipeline exclusively, or None if there is none.

        Settings of flows for steps that the pipeline no longer has are removed.
        """

    def delete(self, pipeline_id: int, check: Callable[[Pipeline], None]) -> Sequence[Flow] | None:
        """Delete a pipeline with its flows, and return the flows; `check` may refuse before."""


class Flows(Protocol):
    """Flows, by ids that are never given twice."""

    def find(self, flow_id: int) -> Flow | None:
        """Find a flow."""

    def list(
        self,
        *,
        pipeline: int = 0,
        agents: Sequence[int] | None = None,
        slug: str = "",
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[list[Flow], int]:
        """List flows by name, of a pipeline, of agents or of all, of a slug, and count them."""

    def add(self, flow: Flow) -> Flow:
        """Store a new flow; without a slug, it gets one that no other flow of its pipeline has.

        A slug that is taken is refused with `SlugTaken`, here and in `change`.
        """

    def change(self, flow_id: int, edit: Callable[[Flow], Flow]) -> Flow | None:
        """Edit a flow exclusively, or None if there is none."""

    def delete(self, flow_id: int, check: Callable[[Flow], None]) -> bool:
        """Delete a flow and return whether there was one; `check` may refuse before."""

    def take_prompt(self, flow_id: int, key: str) -> str | None:
        """Pop the next prompt of the queue by its mode; return None if it is empty.

        The same key (of a job and its step) gets the same prompt again, so that a step that is
        repeated after a crash does not take a second prompt.
        """


class Definitions(Protocol):
    """Pipelines and flows, in one database."""

    @property
    def pipelines(self) -> Pipelines:
        """The pipelines."""

    @property
    def flows(self) -> Flows:
        """The flows."""
