"""How much of a prompt an agent's pages may take up."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.values import field_names, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    Unit = Literal["bytes", "tokens"]

UNITS: tuple[Unit, ...] = ("bytes", "tokens")


@value
class Budget:
    """The most that one page, and everything together, may take up; 0 is no limit."""

    page: int = 0
    total: int = 0
    unit: Unit = "bytes"

    @staticmethod
    def normal(page: int, total: int, unit: Unit) -> tuple[int, int, Unit]:
        """Refuse a limit that is no whole number, and an unknown unit."""
        for name, limit in (("page", page), ("total", total)):
            if type(limit) is not int or limit < 0:
                raise Invalid(f"The budget's {name} is a whole number; 0 is no limit.")
        if unit not in UNITS:
            raise Invalid(f"A budget counts {' or '.join(UNITS)}, not {unit!r}.")
        return page, total, unit

    def __bool__(self) -> bool:
        return bool(self.page or self.total)


NO_BUDGET = Budget()


def budget_of(config: Mapping[str, Any] | None) -> Budget:
    """Parse `prompt_budget` of an agent's configuration."""
    if config is None:
        return NO_BUDGET
    if not isinstance(config, dict) or not set(config) <= set(field_names(Budget)):
        raise Invalid("prompt_budget takes page, total and unit.")
    return Budget(**config)
