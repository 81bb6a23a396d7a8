"""The optional parts of an installation, and the line that adds one which is missing."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import contextmanager

from looseleaf.errors import ExtraMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import Distribution

MODELS, POSTGRES, SERVER, TOKENS = EXTRAS = ("models", "postgres", "server", "tokens")
NAME = "looseleaf"


@contextmanager
def require_extra(extra: str, what: str) -> Iterator[None]:
    """Import inside of this what an extra brings; where it is missing, say how to add it.

    A package that is there in an older version than the extra asks for is missing, too: other
    programs in the same environment may hold it back.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package == NAME:
            raise  # a fault of ours, which no installation mends
        raise ExtraMissing(what, extra, package or str(error), install_line(extra)) from error


def install_line(extra: str) -> str:
    """Give the line to type that adds an extra to this very installation."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found: Distribution | None = distribution(NAME)
    except PackageNotFoundError:
        found = None  # a folder on the path, without an installation
    source, options = _source(found)
    # A tool's environment is made anew, so the line names what is there already as well.
    both = ",".join(sorted({extra, *_present_extras(found)}))
    tools = {
        "uv-receipt.toml": "uv tool install --force",
        "pipx_metadata.json": "pipx install --force",
    }
    for file, command in tools.items():
        if os.path.isfile(os.path.join(sys.prefix, file)):
            return f"{command} {options}{shlex.quote(f'{source}[{both}]')}"
    return f"{_installer()} {options}{shlex.quote(f'{source}[{extra}]')}"


def _installer() -> str:
    """Give the words that install into the environment of this process."""
    from importlib.util import find_spec
    from shutil import which

    python = shlex.quote(sys.executable)
    if find_spec("pip"):
        return f"{python} -m pip install"
    if which("uv"):
        return f"uv pip install --python {python}"
    base = shlex.quote(getattr(sys, "_base_executable", "") or "python3")
    return f"{base} -m pip --python {python} install"


def _source(found: Distribution | None) -> tuple[str, str]:
    """Say where this installation came from, and the options that installing it so takes."""
    import json

    text = found.read_text("direct_url.json") if found else None
    origin = json.loads(text) if text else {}
    folder = str(origin.get("url", "")).removeprefix("file://")
    if not os.path.isdir(folder):
        return NAME, ""
    return folder, "--editable " if origin.get("dir_info", {}).get("editable") else ""


def _present_extras(found: Distribution | None) -> Iterator[str]:
    """Name the extras of which every package is installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    requirements = (found.requires if found else None) or ()
    for extra in EXTRAS:
        needed = [one for one in requirements if re.search(rf"extra == ['\"]{extra}['\"]", one)]
        try:
            for one in needed:
                distribution(re.split(r"[^\w.-]", one)[0])
        except PackageNotFoundError:
            continue
        if needed:
            yield extra
