#!/usr/bin/env python3
"""Everything one does in this repository, on any machine that has Python 3.11 or newer.

The packages come from `requirements.lock`, hash-checked, into `.venv`. `run` installs the part of
them that a user needs, `serve` adds those of the server, the other commands those of a developer;
an up-to-date `.venv` is left as it is.
"""

from __future__ import annotations

import compileall
import fcntl
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

try:
    import tomllib
except ImportError:
    sys.exit(f"Looseleaf needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}.")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements.lock"
STAMP = VENV / "looseleaf-stamp"
SAMPLE = ROOT / "my-memory"

# The interpreter beneath any activated virtualenv, which may be the very one to be replaced.
BASE_PYTHON: str = getattr(sys, "_base_executable", "") or sys.executable

# Variables of the caller's shell that would mislead our Python, pip or uv.
MISLEADING_VARIABLES = {
    "PIP_PREFIX",
    "PIP_TARGET",
    "PIP_USER",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSAFEPATH",
    "VIRTUAL_ENV",
}
ENV = {name: text for name, text in os.environ.items() if name not in MISLEADING_VARIABLES}
ENV["UV_PYTHON_DOWNLOADS"] = "never"

# Programs that tests drive (the first that is installed is used), and their Debian packages.
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TEST_TOOLS = {("strace",): "strace", ("rg",): "ripgrep", CHROMIUM: "chromium"}

TOUR = (["memory", "paths"], ["agents", "list"])
NEXT_STEPS = """
Looseleaf is ready. To call it in this terminal, paste this line once:

  export PATH={path}:"$PATH" LOOSELEAF_ROOT={root}

Then tell your coding agent, and what one session learns the next one knows:

  looseleaf mcp install --client claude-code

See and edit what your agents know in a browser: python3 dev.py serve
Or talk to it here: looseleaf chat --model echo. All commands: looseleaf --help
To have the command in every terminal: docs/install.md"""

# Every platform and Python at once, by hash, and without any address.
COMPILE = ["pip", "compile", "--universal", "--generate-hashes", "--python-version", "3.11"]
COMPILE += ["--no-emit-index-url", "--no-header", "--all-extras", "--group", "dev", "--quiet"]

# A package of the lock: its lines, and a comment below them that names what needs it.
LOCKED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==.*\n(?: +--.*\n)*((?: +#.*\n)*)", re.MULTILINE)
NEEDED_BY = re.compile(r"# +(?:via )?([a-z0-9][a-z0-9._-]*)")
LAUNCHER = """#!{python}
import sys

from looseleaf.cli import main

sys.exit(main())
"""
# The lines in which pip and uv name a package that they fetch or install.
PACKAGE_LINE = re.compile(
    r" *(?:Collecting|Processing|Downloading|\+) (?:\S*/)?([\w.]+(?:-[a-z]\w*)*)"
)


class Level(NamedTuple):
    """A purpose of .venv: its name, its stamp, and the extras whose packages it needs."""

    name: str
    stamp: Path
    extras: tuple[str, ...] | None = None  # None: the whole lock


USER = Level("looseleaf", VENV / "looseleaf-run-stamp", ())
SERVER = Level("the server", VENV / "looseleaf-serve-stamp", ("server",))
DEVELOPER = Level("developers", STAMP)
LEVELS = (USER, SERVER, DEVELOPER)  # each includes the packages of the levels before it

QUICK_STAGES = (
    ("ruff format", ["ruff", "format", "--check", "."]),
    ("ruff check", ["ruff", "check", "."]),
)
TYPE_STAGE = ("mypy", ["mypy"])
# Each worker begins with tests that stand together, so that what a folder of them shares is made
# once, and takes over from others at the end. Tests wait for disks and other processes for a part
# of their time, in which one worker more than there are cores goes on.
PARALLEL = ("-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal")


def setup(*_arguments: str) -> int:
    """Make .venv for developers, or do nothing when it is up to date."""
    return _set_up(DEVELOPER)


def run(*arguments: str) -> int:
    """Run looseleaf on ./my-memory; without arguments a short tour, then its web page."""
    # A program that runs the tour would wait for a server that never ends.
    is_tour_of_person = not arguments and sys.stdout.isatty()
    if code := _set_up(SERVER if "serve" in arguments or is_tour_of_person else USER):
        return code
    root = ENV.setdefault("LOOSELEAF_ROOT", str(SAMPLE))
    looseleaf = str(VENV / "bin" / "looseleaf")
    if arguments:
        os.execve(looseleaf, [looseleaf, *arguments], ENV)  # noqa: S606 - no shell is wanted
    first = () if Path(root).exists() else (["init"],)
    for command in (*first, *TOUR):
        print(f"\n$ looseleaf {' '.join(command)}", flush=True)
        if code := _call([looseleaf, *command]):
            return code
    print(NEXT_STEPS.format(path=shlex.quote(str(VENV / "bin")), root=shlex.quote(root)))
    if not is_tour_of_person:
        return 0
    print("\n$ looseleaf serve --login-link", flush=True)
    return _call([looseleaf, "serve", "--login-link"])


def serve(*arguments: str) -> int:
    """Run the server on ./my-memory, made first if it is not there."""
    if code := _set_up(SERVER):
        return code
    root = ENV.setdefault("LOOSELEAF_ROOT", str(SAMPLE))
    new = not Path(root, "looseleaf.toml").exists()
    if new and (code := _call([str(VENV / "bin" / "looseleaf"), "init"])):
        return code
    return run("serve", *arguments)


def test(*arguments: str) -> int:
    """Format check, lint, types and tests; a file of tests alone is run at once."""
    if not _has_test_file(arguments):
        return _run_stages(_build_pytest_stage(*arguments))
    if code := setup():
        return code
    _ensure_test_tools()
    return _call([str(PYTHON), "-m", "pytest", *arguments])


def full(*arguments: str) -> int:
    """As test, with the long tier and every random test at full size."""
    ENV["LOOSELEAF_FULL"] = "1"
    return _run_stages(_build_pytest_stage("-m", "", *arguments))


def check(*_arguments: str) -> int:
    """Format check, lint and types only."""
    return _run_stages()


def bench(*arguments: str) -> int:
    """Run the benchmarks; extra arguments go to them."""
    return setup() or _call([str(PYTHON), "-m", "benchmarks", *arguments])


def shape(*arguments: str) -> int:
    """Print the figures of the code's shape; --list names every finding, a path another src."""
    return _call([sys.executable, "-m", "tests.shape", *arguments])


def pictures(*arguments: str) -> int:
    """Draw pages of the admin site (all, or those named) into docs/pictures: light, dark, phone."""
    if code := setup():
        return code
    _ensure_test_tools()
    return _call([str(PYTHON), "-m", "tests.web.admin.pictures", *arguments])


def lock(*arguments: str) -> int:
    """Pin the dependencies anew (--upgrade for newer ones); extra arguments go to uv."""
    with tempfile.TemporaryDirectory() as scratch:
        uv = shutil.which("uv")
        if not uv:
            uv = f"{scratch}/bin/uv"
            if not _make_venv(scratch) or _call(
                [f"{scratch}/bin/python", "-m", "pip", "install", "--quiet", "uv"]
            ):
                return 1
        if code := _call([uv, *COMPILE, *arguments, "pyproject.toml", "-o", LOCK.name]):
            return code
    if "://" in LOCK.read_text():
        print("requirements.lock must not name any address; remove the URL dependency.")
        return 1
    return 0


def _set_up(level: Level) -> int:
    """Bring .venv to a level; do nothing if it has that level or a higher one."""
    # Two runs at once would each remove the other's half-made folder.
    with Path(__file__).open("rb+") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not any(map(_is_current, LEVELS[LEVELS.index(level) :])) and not _fill(level):
            return 1
        # Always: a command run later, if bytecode may not be written, must still start fast.
        compileall.compile_dir(ROOT / "src", quiet=2)
    return 0


def _fill(level: Level) -> bool:
    """Install the missing packages; all if the installed ones are not those of the lock."""
    present = next(filter(_has_packages, reversed(LEVELS)), None)
    is_complete = present is not None and LEVELS.index(present) >= LEVELS.index(level)
    goal = present if present and is_complete else level
    fingerprint, start = _compute_fingerprint(goal), time.monotonic()
    for candidate in LEVELS:
        # First, so that after an interruption everything is installed again.
        candidate.stamp.unlink(missing_ok=True)
    print(f"Setting up .venv for {level.name}, Python {sys.version.split()[0]} …", flush=True)
    packages = "" if is_complete else _select_lock_lines(goal)
    if not _install_with_uv(packages, keep=present is not None):
        keep = present is not None and bool(_find_pip())
        if not _install_with_pip(packages if keep else _select_lock_lines(goal), keep=keep):
            return False
    _write_launcher(VENV / "bin" / "looseleaf", PYTHON)
    if goal is DEVELOPER and packages:
        compileall.compile_dir(VENV / "lib", quiet=2, workers=0)
    goal.stamp.write_text(fingerprint)
    print(f"Done in {time.monotonic() - start:.0f} s.", flush=True)
    return True


def _write_launcher(path: Path, python: Path) -> None:
    """Replace the launcher of the installer; that of an older pip imports `re`, which is slow."""
    path.write_text(LAUNCHER.format(python=python))
    path.chmod(0o755)


def _compute_fingerprint(level: Level = DEVELOPER) -> str:
    """Return the fingerprint of .venv: of its packages, then of this project's own metadata."""
    metadata = hashlib.sha256(repr(_read_pyproject()["project"]).encode()).hexdigest()
    return f"{_hash_packages(_select_lock_lines(level))} {metadata}"


def _hash_packages(lines: str) -> str:
    """Hash the lines of the packages, the Python, and ROOT, since scripts hold full paths."""
    parts = (lines, sys.version, sys.base_prefix, str(ROOT))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _is_current(level: Level) -> bool:
    return level.stamp.exists() and level.stamp.read_text() == _compute_fingerprint(level)


def _has_packages(level: Level) -> bool:
    """Return whether the packages of a level are there, whatever has changed in this project."""
    parts = level.stamp.read_text().split() if level.stamp.exists() else []
    return parts[:1] == [_hash_packages(_select_lock_lines(level))]


def _read_pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _select_lock_lines(level: Level) -> str:
    """Return the lines of the lock for a level: its packages, and all that they need."""
    lock = LOCK.read_text()
    if level.extras is not None:
        tables = _read_pyproject()
        requirements = [*tables["project"]["dependencies"], *tables["dependency-groups"]["build"]]
        for extra in level.extras:
            requirements += tables["project"]["optional-dependencies"][extra]
        names = {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements}
        uses = [(name, set(NEEDED_BY.findall(via))) for name, via in LOCKED.findall(lock)]
        while dependencies := {name for name, users in uses if users & names} - names:
            names |= dependencies
        lock = "".join(entry[0] for entry in LOCKED.finditer(lock) if entry[1] in names)
    return re.sub(r"^ *#.*\n", "", lock, flags=re.MULTILINE)


def _install_with_uv(packages: str, *, keep: bool) -> bool:
    uv = shutil.which("uv")
    if not uv:
        return False
    if not keep:
        _remove_venv()
    if not keep and _call([uv, "venv", "--quiet", "--python", BASE_PYTHON, str(VENV)]):
        return False
    if _install([uv, "pip", "install", "--python", str(PYTHON)], packages):
        print("uv could not do it (it does not read pip's configuration); trying pip.", flush=True)
        return False
    return True


def _install_with_pip(packages: str, *, keep: bool) -> bool:
    if not keep:
        _remove_venv()
        # An existing pip saves the half minute that installing another takes on a small machine.
        options = ["--without-pip"] if importlib.util.find_spec("pip") else []
        if not _make_venv(str(VENV), *options):
            return False
    install = [*_find_pip(), "install", "--disable-pip-version-check", "--no-compile"]
    return _install([*install, "--progress-bar", "off"], packages) == 0


def _find_pip() -> list[str]:
    """Return the command of pip for .venv: its own pip, else that of this Python; else nothing."""
    if any(VENV.glob("lib/python*/site-packages/pip")):
        return [str(PYTHON), "-m", "pip"]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    return []


def _remove_venv() -> None:
    if VENV.exists():
        shutil.rmtree(VENV)


def _install(install: list[str], packages: str) -> int:
    """Install the locked packages, if any are missing, then this project on top of them."""
    return (bool(packages) and _install_locked(install, packages)) or _call(
        [*install, "--quiet", "--no-deps", "--no-build-isolation", "--editable", "."]
    )


def _install_locked(install: list[str], packages: str) -> int:
    """Install the packages of a lock, and print the name of each."""
    tail = ""
    print(f"Up to {len(LOCKED.findall(packages))} packages:", flush=True)
    with tempfile.NamedTemporaryFile("w", suffix=".lock") as file:
        file.write(packages)
        file.flush()
        command = [*install, "--no-deps", "--require-hashes", "-r", file.name]
        with subprocess.Popen(
            command, cwd=ROOT, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            names: set[str] = set()
            for line in process.stdout or ():
                tail = (tail + line)[-4000:]
                package = PACKAGE_LINE.match(line)
                name = package[1].replace("_", "-").lower() if package else ""
                if name and name not in names:
                    names.add(name)
                    _show_progress(f"  {len(names):>3}  {name}")
    _show_progress("")
    if process.returncode:
        print(tail, end="", flush=True)
    return process.returncode


def _show_progress(text: str) -> None:
    """Write over the last line on a terminal; elsewhere write a line of its own."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="", flush=True)
    elif text:
        print(text, flush=True)


def _make_venv(folder: str, *options: str) -> bool:
    """Make a virtualenv with pip in it; Debian has the module for that in a package of its own."""
    if not options and not importlib.util.find_spec("ensurepip"):
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        if not _install_debian_packages(package):
            print(f"Python's venv module is incomplete. Install it: sudo apt install {package}")
            return False
    return _call([BASE_PYTHON, "-m", "venv", *options, folder]) == 0


def _ensure_test_tools() -> None:
    """Get the programs some tests drive; without Chromium the tests of the admin site fail."""
    packages = [name for tools, name in TEST_TOOLS.items() if not any(map(shutil.which, tools))]
    if sys.platform == "darwin":
        packages = [name for name in packages if name != "strace"]  # Linux only
    if not packages or _install_debian_packages(*packages):
        return
    command = "brew install" if sys.platform == "darwin" else "sudo apt install"
    if "chromium" in packages:
        print(f"Needed by the tests of the admin site: {command} chromium")
        packages.remove("chromium")
    if packages:
        print(f"Optional: {command} {' '.join(packages)} (the tests that need them are left out).")


def _install_debian_packages(*packages: str) -> bool:
    """Install Debian packages if we may; tell whether they are installed now."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return False
    print(f"Installing {', '.join(packages)} …", flush=True)
    env = ENV | {"DEBIAN_FRONTEND": "noninteractive"}

    def run_apt(*arguments: str) -> bool:
        command = ["apt-get", "-qq", *arguments]
        return (
            subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=False).returncode == 0
        )

    arguments = ("install", "-y", "--no-install-recommends", *packages)
    # A fresh container has no package lists yet.
    return run_apt(*arguments) or (run_apt("update") and run_apt(*arguments))


def _has_test_file(arguments: tuple[str, ...]) -> bool:
    """Return whether arguments name files of tests, or tests in them."""
    return any(Path(ROOT, argument.partition("::")[0]).is_file() for argument in arguments)


def _build_pytest_stage(*arguments: str) -> tuple[str, list[str]]:
    return "pytest", ["pytest", *PARALLEL, "--durations", "15", *arguments]


def _run_stages(*stages: tuple[str, list[str]]) -> int:
    """Run the static stages, then the others; stop at the first failure, and print the times.

    Types are checked beside the tests, since mypy leaves all cores but one idle.
    """
    if code := setup():
        return code
    if stages:
        _ensure_test_tools()
    codes: list[int] = []
    report: list[str] = []

    def run_stage(name: str, command: list[str], *, is_beside: bool = False) -> None:
        start = time.monotonic()
        if not is_beside:
            print(f"\n── {name}", flush=True)
            code = _call([str(PYTHON), "-m", *command])
        else:
            done = subprocess.run(
                [str(PYTHON), "-m", *command],
                cwd=ROOT, env=ENV, check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            print(f"\n── {name}\n{done.stdout}", flush=True)
            code = done.returncode
        codes.append(code)
        verdict = "FAILED" if code else "ok"
        report.append(f"{name:<12} {verdict:<7} {time.monotonic() - start:6.1f} s")

    types = threading.Thread(target=run_stage, args=TYPE_STAGE, kwargs={"is_beside": bool(stages)})
    for name, command in QUICK_STAGES:
        if not any(codes):
            run_stage(name, command)
    if not any(codes):
        types.start()
        for name, command in stages:
            run_stage(name, command)
        types.join()
    print("\n" + "\n".join(report), flush=True)
    return next(filter(None, codes), 0)


def _call(command: list[str]) -> int:
    """Run a command in the repository; return its exit code."""
    try:
        return subprocess.run(command, cwd=ROOT, env=ENV, check=False).returncode
    except KeyboardInterrupt:
        return 130


COMMANDS = (setup, run, serve, test, check, full, bench, shape, pictures, lock)


def main(arguments: list[str]) -> int:
    """Run the named command, or list the commands there are."""
    name = arguments[0] if arguments else "help"
    for command in COMMANDS:
        if command.__name__ == name:
            return command(*arguments[1:])
    print("Usage: python3 dev.py COMMAND [ARGUMENTS]\n")
    for command in COMMANDS:
        print(f"  {command.__name__:<6} {command.__doc__}")
    return 0 if name in {"help", "-h", "--help"} else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
