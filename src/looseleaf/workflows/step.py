"""Types of steps: their declarations, the outcome of a run, and their registry."""

from __future__ import annotations

from looseleaf.errors.workflows import InvalidStep
from looseleaf.memory.named_registry import NamedRegistry
from looseleaf.memory.registry import check_word
from looseleaf.models.model import Usage
from looseleaf.schema_check import find_problem, find_schema_problem
from looseleaf.values import FrozenDict, replace, value
from looseleaf.workflows.packet import PacketTypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    from looseleaf.workflows.job import MemoryWrite
    from looseleaf.workflows.packet import Packet
    from looseleaf.workflows.step_run import StepRun

    OutcomeStatus = Literal["completed", "no_items", "waiting", "skipped", "failed"]

ANY = "*"  # in `takes`: packets of every type


@value(kw_only=True)
class StepOutcome:
    """The result of one run of a step; it is recorded once.

    Fields:
        packets: New packets, newest first; the next step sees them before all older ones.
        status: completed; no_items: nothing to do, and the job ends well; waiting: the job
            waits for a signal, and the same step runs again with it; skipped: the agent chose to
            do nothing, and the job ends well; failed: the job ends.
        reason: Why it failed, waits or was skipped, in one sentence.
        usage: The tokens it used.
        writes: The pages it changed.
        artifacts: References of artifacts it left.
        gate: With waiting: a digest of the secret that the signal must bring.
        wait_seconds: With waiting: the job fails without a signal for this time; 0 for no limit.
    """

    packets: tuple[Packet, ...] = ()
    status: OutcomeStatus = "completed"
    reason: str = ""
    usage: Usage = Usage()
    writes: tuple[MemoryWrite, ...] = ()
    artifacts: tuple[str, ...] = ()
    gate: str = ""
    wait_seconds: float = 0.0


@value(kw_only=True)
class StepType:
    """A type of step.

    Fields:
        name: The name of the type in a pipeline.
        label: The name for people.
        description: What the step does, in one sentence.
        run: The function that runs it.
        takes: Types of packets that it can use, or () if it needs none, `*` for all.
        gives: Types of packets that it gives.
        settings: The JSON schema of its settings.
        has_effect: Whether it changes something outside the job. It then keys the change by
            `effect_key`, so that a second run after a crash finds the change of the first.
        owner: The plugin that registered it.
    """

    name: str
    label: str
    description: str
    run: Callable[[StepRun], StepOutcome]
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    settings: Mapping[str, Any] = FrozenDict()
    has_effect: bool = False
    owner: str = ""

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Raise `InvalidStep` if settings do not fit the schema."""
        problem = find_problem(self.settings, settings)
        if problem is not None:
            raise InvalidStep(self.name, problem)


class StepTypes(NamedRegistry):
    """The types of steps of one workspace, with the types of their packets."""

    noun, hook = "type of step", "register_steps"

    def __init__(self) -> None:
        super().__init__()
        self.packets = PacketTypes()

    def freeze(self) -> None:
        """Finish start-up, for the types of packets too."""
        super().freeze()
        self.packets.freeze()

    def register(self, step_type: StepType, *, owner: str = "") -> StepType:
        """Add a type of step, or refuse one that could not run."""
        name = step_type.name
        self._refuse_if_frozen(name)
        check_word(name, "type of step")
        if name in self._entries:
            raise InvalidStep(name, "there is a type of that name; deregister it first")
        problem = find_schema_problem(step_type.settings)
        if problem is not None:
            raise InvalidStep(name, problem)
        foreign = [
            kind
            for kind in (*step_type.takes, *step_type.gives)
            if kind not in self.packets and kind != ANY
        ]
        if foreign:
            raise InvalidStep(name, f"there is no type of packet {foreign[0]!r}")
        self._entries[name] = replace(step_type, owner=owner) if owner else step_type
        return self._entries[name]  # type: ignore[no-any-return]

    def get(self, name: str) -> StepType:
        """Return a type of step, or raise `InvalidStep` with the names there are."""
        step_type: StepType | None = self._entries.get(name)
        if step_type is None:
            names = ", ".join(sorted(self._entries)) or "none"
            raise InvalidStep(name, f"there is no such type of step; the types are: {names}")
        return step_type

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def all(self) -> tuple[StepType, ...]:
        """Return every type of step, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))

    def find_misfit(self, names: tuple[str, ...]) -> str | None:
        """Return why steps of these types cannot follow one another, or None if they can."""
        available: set[str] = set()
        for position, name in enumerate(names, 1):
            step_type = self.get(name)
            takes = set(step_type.takes)
            is_fed = bool(available) if ANY in takes else bool(takes & available)
            if takes and not is_fed:
                expected = "any packet" if ANY in takes else " or ".join(sorted(takes))
                return (
                    f"step {position} ({name}) takes {expected}, and the steps before it give "
                    f"{', '.join(sorted(available)) or 'nothing'}"
                )
            available |= set(step_type.gives)
        return None
