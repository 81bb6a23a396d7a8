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
def require_extra(extra: str, feature: str) -> Iterator[None]:
    """Wrap the imports of an extra; `ExtraMissing` says how to add a missing package.

    A package in an older version than the extra requires counts as missing, too: other programs in
    the same environment may hold it back.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package == NAME:
            raise  # a fault of ours, which no installation mends
        raise ExtraMissing(
            feature, extra, package or str(error), format_install_line(extra)
        ) from error


def format_install_line(extra: str) -> str:
    """Format the line to type that adds an extra to this very installation."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installation: Distribution | None = distribution(NAME)
    except PackageNotFoundError:
        installation = None  # a folder on the path, without an installation
    source, options = _find_source(installation)
    # uv and pipx build a tool's environment again, so the line names its present extras, too.
    extras = ",".join(sorted({extra, *_find_extras(installation)}))
    tools = {
        "uv-receipt.toml": "uv tool install --force",
        "pipx_metadata.json": "pipx install --force",
    }
    for file, command in tools.items():
        if os.path.isfile(os.path.join(sys.prefix, file)):
            return f"{command} {options}{shlex.quote(f'{source}[{extras}]')}"
    return f"{_choose_command()} {options}{shlex.quote(f'{source}[{extra}]')}"


def _choose_command() -> str:
    """Choose the command that installs into the environment of this process."""
    from importlib.util import find_spec
    from shutil import which

    python = shlex.quote(sys.executable)
    if find_spec("pip"):
        return f"{python} -m pip install"
    if which("uv"):
        return f"uv pip install --python {python}"
    base = shlex.quote(getattr(sys, "_base_executable", "") or "python3")
    return f"{base} -m pip --python {python} install"


def _find_source(installation: Distribution | None) -> tuple[str, str]:
    """Find the source of this installation, and the options to install it in the same way."""
    import json

    text = installation.read_text("direct_url.json") if installation else None
    origin = json.loads(text) if text else {}
    folder = str(origin.get("url", "")).removeprefix("file://")
    if not os.path.isdir(folder):
        return NAME, ""
    return folder, "--editable " if origin.get("dir_info", {}).get("editable") else ""


def _find_extras(installation: Distribution | None) -> Iterator[str]:
    """Find the extras of which every package is installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    requirements = (installation.requires if installation else None) or ()
    for extra in EXTRAS:
        packages = [
            package
            for package in requirements
            if re.search(rf"extra == ['\"]{extra}['\"]", package)
        ]
        try:
            for package in packages:
                distribution(re.split(r"[^\w.-]", package)[0])
        except PackageNotFoundError:
            continue
        if packages:
            yield extra
