"""The log of a server: one line for each event, for people on a terminal, as JSON elsewhere."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING

from looseleaf.times import format_clock, format_microseconds, now

if TYPE_CHECKING:
    from collections.abc import Mapping

LOGGER = logging.getLogger("looseleaf.log")


def enable() -> None:
    """Write the lines of this process to its standard output."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def is_enabled() -> bool:
    """Return whether lines are written."""
    return LOGGER.isEnabledFor(logging.INFO)


def write_line(entry: Mapping[str, object], text: str) -> None:
    """Write an entry with the present time: as a text on a terminal, its fields elsewhere."""
    moment = now()
    if sys.stdout.isatty():
        LOGGER.info("%s", f"{format_clock(moment)} {text}")
    else:
        LOGGER.info("%s", json.dumps({"time": format_microseconds(moment), **entry}))
