"""A pipeline: a reusable workflow, its steps in order, and the slice of memory that it selects."""

from __future__ import annotations

import hashlib
import json

from looseleaf.values import FrozenDict, as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@value
class Step:
    """One step of a pipeline; its id is unique in the pipeline and never changes.

    Fields:
        id: The id of a step that is there already; without it, a new step.
        type: The type of step, such as input, ai or memory_update.
        label: The name for people; without it, the type in words.
        settings: The settings of the step, as its type describes them.
    """

    id: str = ""
    type: str = ""
    label: str = ""
    settings: Mapping[str, Any] = FrozenDict()

    @property
    def title(self) -> str:
        """The label for people; without one, the type in words."""
        words = self.type.replace("_", " ").replace("-", " ").capitalize()
        return self.label or ("AI" if self.type == "ai" else words)


@value(kw_only=True)
class Pipeline:
    """A reusable workflow of one agent; `memory_files` are never one of the steps."""

    id: int  # 0 until it is stored
    slug: str
    name: str
    agent_id: int
    user_id: int
    system_prompt: str = ""
    memory_files: tuple[str, ...] = ()
    tool_policy: Mapping[str, Any] = FrozenDict()  # as in an agent's configuration; {} narrows none
    steps: tuple[Step, ...] = ()
    created: float = 0.0
    updated: float = 0.0

    @property
    def version(self) -> str:
        """The hash of the definition, for compare-and-swap."""
        return hash_definition(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the pipeline as plain JSON, as the database and jobs keep it."""
        return as_dict(self) | {"steps": [as_dict(step) for step in self.steps]}

    def step(self, step_id: str) -> Step | None:
        """Find a step by its id."""
        return next((step for step in self.steps if step.id == step_id), None)

    def position(self, step_id: str) -> int | None:
        """Return the position of a step among the steps, from 0."""
        return next((n for n, step in enumerate(self.steps) if step.id == step_id), None)


def restore_pipeline(fields: Mapping[str, Any]) -> Pipeline:
    """Build a pipeline from the JSON that `to_json` gave."""
    steps = tuple(Step(**step) for step in fields["steps"])
    memory_files = tuple(fields["memory_files"])
    return Pipeline(**{**fields, "steps": steps, "memory_files": memory_files})


def hash_definition(fields: Mapping[str, Any]) -> str:
    """Return the hash of a definition, without the times at which it was saved."""
    hashed_fields = {
        name: field for name, field in fields.items() if name not in ("created", "updated")
    }
    text = json.dumps(hashed_fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
