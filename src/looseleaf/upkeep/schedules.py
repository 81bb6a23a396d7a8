"""Schedules that plugins register: which task runs when, for the workspace or for every agent."""

from __future__ import annotations

from looseleaf.errors.workflows import InvalidSchedule
from looseleaf.memory.named_registry import NamedRegistry
from looseleaf.memory.registry import check_word
from looseleaf.values import FrozenDict, value
from looseleaf.workflows.schedules.timing import read_timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any


@value(kw_only=True)
class TaskSchedule:
    """A task and when it runs.

    Fields:
        name: The name of the schedule.
        task: The type of a system task, or the name of an operation.
        when: A key of an interval such as daily, a duration such as 6h, or a cron expression.
        params: The parameters of the task, or the arguments of the operation.
        per_agent: Whether a run is started for every active agent.
        enabled: Whether it runs if no setting decides.
        setting: The setting that switches it on, or "" if none does.
        zone: The time zone of a cron expression; "" for that of the site.
        label: The name for people.
        owner: The plugin that registered it.
    """

    name: str
    task: str
    when: str
    params: Mapping[str, Any] = FrozenDict()
    per_agent: bool = False
    enabled: bool = True
    setting: str = ""
    zone: str = ""
    label: str = ""
    owner: str = ""


class TaskSchedules(NamedRegistry):
    """The schedules of one workspace."""

    noun, hook = "schedule", "register_schedules"

    def __init__(self, tasks: Container[str], setting_names: Container[str] = ()) -> None:
        super().__init__()
        self.tasks, self.setting_names = tasks, setting_names

    def register(
        self,
        name: str,
        task: str,
        when: str,
        *,
        params: Mapping[str, Any] | None = None,
        owner: str = "",
        **options: Any,  # noqa: ANN401 - the other fields of a schedule
    ) -> TaskSchedule:
        """Add a schedule, or raise `InvalidSchedule`."""
        self._refuse_if_frozen(name)
        check_word(name, "schedule's name")
        if name in self._entries:
            raise InvalidSchedule(name, "there is one of that name; deregister it first")
        if task not in self.tasks:
            raise InvalidSchedule(name, f"there is no task and no operation {task!r}")
        if not isinstance(params or {}, dict):
            raise InvalidSchedule(name, "its params are a dict")
        schedule = _build(name, task, when, dict(params or {}), {**options, "owner": owner})
        if schedule.setting and schedule.setting not in self.setting_names:
            raise InvalidSchedule(name, f"there is no setting {schedule.setting!r}")
        self._entries[name] = schedule
        return schedule

    def all(self) -> tuple[TaskSchedule, ...]:
        """Return every schedule, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))


def _build(
    name: str, task: str, when: str, params: dict[str, Any], options: dict[str, Any]
) -> TaskSchedule:
    if not isinstance(when, str):
        raise InvalidSchedule(name, f"{when!r} is not text")
    try:
        read_timing(when)
        schedule = TaskSchedule(name=name, task=task, when=when, params=params, **options)
    except InvalidSchedule as error:
        raise InvalidSchedule(name, f"{when!r} does not say when: {error.why}") from None
    except TypeError:
        option_names = "per_agent, enabled, setting, zone and label"
        raise InvalidSchedule(name, f"its options are {option_names}") from None
    if not {type(schedule.enabled), type(schedule.per_agent)} <= {bool}:
        raise InvalidSchedule(name, "enabled and per_agent are True or False")
    return schedule
