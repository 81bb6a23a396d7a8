"""Real installations for slow tests: a wheel of this project, environments, and uv to fill them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENVIRONMENT = {
    **{
        k: v for k, v in os.environ.items() if not k.startswith(("LOOSELEAF_", "PYTHON", "VIRTUAL"))
    },
    "UV_PYTHON_DOWNLOADS": "never",
}


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, whatever its exit code."""
    return subprocess.run(
        [str(word) for word in command],
        env=ENVIRONMENT | variables,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@cache
def find_uv(folder: Path) -> str:
    """Find uv, or get it; a machine that reaches no package index leaves the test out."""
    program = shutil.which("uv")
    if program:
        return program
    run(sys.executable, "-m", "venv", "--without-pip", folder / "uv")
    python = folder / "uv" / "bin" / "python"
    result = run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "uv")
    if result.returncode:
        pytest.skip(f"no package index can be reached: {result.stderr.strip()[-200:]}")
    return str(python.with_name("uv"))


@cache
def build_wheel(folder: Path) -> Path:
    """Build the wheel of this project."""
    result = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "wheel")
    assert result.returncode == 0, result.stderr
    (path,) = (folder / "wheel").glob("*.whl")
    return path


def build_environment(folder: Path, name: str, *requirements: str | Path) -> Path:
    """Make an environment with these requirements; return the folder of its programs."""
    tool = find_uv(folder)
    python = folder / name / "bin" / "python"
    assert run(tool, "venv", "--quiet", "--python", sys.executable, folder / name).returncode == 0
    result = run(tool, "pip", "install", "--quiet", "--python", python, *requirements)
    if result.returncode and "error sending request" in result.stderr:
        pytest.skip(f"no package index can be reached: {result.stderr.strip()[-200:]}")
    assert result.returncode == 0, result.stderr
    return python.parent


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of wheel, uv and environments; a whole run uses the same."""
    return tmp_path_factory.mktemp("workshop")
