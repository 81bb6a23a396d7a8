#!/usr/bin/env python3
"""Everything one does in this repository, on any machine that has Python 3.11 or newer.

The packages come from `requirements.lock`, hash-checked, into `.venv`; every command that needs
them sets that up first and does nothing when it is up to date.
"""

from __future__ import annotations

import compileall
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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

# What a caller's shell may hold that would lead our Python, pip or uv astray.
ASTRAY = {
    "PIP_PREFIX",
    "PIP_TARGET",
    "PIP_USER",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSAFEPATH",
    "VIRTUAL_ENV",
}
ENV = {name: text for name, text in os.environ.items() if name not in ASTRAY}
ENV["UV_PYTHON_DOWNLOADS"] = "never"

TEST_TOOLS = {"strace": "strace", "rg": "ripgrep"}  # command: Debian package

TOUR = (["memory", "paths"], ["agents", "list"])

# Every platform and Python at once, by hash, and without any address.
COMPILE = ["pip", "compile", "--universal", "--generate-hashes", "--python-version", "3.11"]
COMPILE += ["--no-emit-index-url", "--no-header", "--no-annotate", "--all-extras", "--group", "dev"]

STATIC_STAGES = (
    ("ruff format", ["ruff", "format", "--check", "."]),
    ("ruff check", ["ruff", "check", "."]),
    ("mypy", ["mypy"]),
)


def setup(*_arguments: str) -> int:
    """Make .venv, or do nothing when it is up to date."""
    # Two runs at once would each remove the other's half-made folder.
    with Path(__file__).open("rb+") as turnstile:
        fcntl.flock(turnstile, fcntl.LOCK_EX)
        wanted = _fingerprint()
        if not STAMP.exists() or STAMP.read_text() != wanted:
            print(f"Setting up .venv with Python {sys.version.split()[0]} …", flush=True)
            if not (_install_with_uv() or _install_with_pip()):
                return 1
            compileall.compile_dir(VENV / "lib", quiet=2, workers=0)
            STAMP.write_text(wanted)
        # Always: a command run later, where bytecode may not be written, must still start fast.
        compileall.compile_dir(ROOT / "src", quiet=2)
    return 0


def run(*arguments: str) -> int:
    """Run looseleaf on ./my-memory, or a short tour when no arguments are given."""
    if code := setup():
        return code
    ENV.setdefault("LOOSELEAF_ROOT", str(SAMPLE))
    looseleaf = str(VENV / "bin" / "looseleaf")
    if arguments:
        os.execve(looseleaf, [looseleaf, *arguments], ENV)  # noqa: S606 - no shell is wanted
    first = () if Path(ENV["LOOSELEAF_ROOT"]).exists() else (["init"],)
    for command in (*first, *TOUR):
        print(f"\n$ looseleaf {' '.join(command)}", flush=True)
        if code := _call([looseleaf, *command]):
            return code
    print("\nNext: python3 dev.py run --help")
    return 0


def serve(*arguments: str) -> int:
    """Run the server on ./my-memory, made first where it is not there."""
    if code := setup():
        return code
    root = ENV.setdefault("LOOSELEAF_ROOT", str(SAMPLE))
    new = not Path(root, "looseleaf.toml").exists()
    if new and (code := _call([str(VENV / "bin" / "looseleaf"), "init"])):
        return code
    return run("serve", *arguments)


def test(*arguments: str) -> int:
    """Format check, lint, types and tests; extra arguments go to pytest."""
    return _quality(_pytest(*arguments))


def full(*arguments: str) -> int:
    """As test, with the long tier and every random test at full size."""
    ENV["LOOSELEAF_FULL"] = "1"
    return _quality(_pytest("-m", "", *arguments))


def check(*_arguments: str) -> int:
    """Format check, lint and types only."""
    return _quality()


def bench(*arguments: str) -> int:
    """Run the benchmarks; extra arguments go to them."""
    return setup() or _call([str(PYTHON), "-m", "benchmarks", *arguments])


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
        if code := _call([uv, *COMPILE, "--quiet", *arguments, "pyproject.toml", "-o", LOCK.name]):
            return code
    if "://" in LOCK.read_text():
        print("requirements.lock must not name any address; remove the URL dependency.")
        return 1
    return 0


def _fingerprint() -> str:
    """Sum up all that .venv is made from; ROOT too, since its scripts hold full paths."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = (LOCK.read_text(), repr(project), sys.version, sys.base_prefix, str(ROOT))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _install_with_uv() -> bool:
    uv = shutil.which("uv")
    if not uv:
        return False
    install = [uv, "pip", "install", "--quiet", "--python", str(PYTHON)]
    _remove_venv()
    if _call([uv, "venv", "--quiet", "--python", BASE_PYTHON, str(VENV)]) or _fill(install):
        print("uv could not do it (it does not read pip's configuration); trying pip.", flush=True)
        return False
    return True


def _install_with_pip() -> bool:
    _remove_venv()
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return _make_venv(str(VENV)) and _fill(pip) == 0


def _remove_venv() -> None:
    if VENV.exists():
        shutil.rmtree(VENV)


def _fill(install: list[str]) -> int:
    """Install the locked packages, then this project on top of them."""
    return _call([*install, "--require-hashes", "-r", LOCK.name]) or _call(
        [*install, "--no-deps", "--no-build-isolation", "--editable", "."]
    )


def _make_venv(folder: str) -> bool:
    """Make a virtualenv with pip in it; Debian keeps what that needs in a package of its own."""
    if not importlib.util.find_spec("ensurepip"):
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        if not _apt_install(package):
            print(f"Python's venv module is incomplete. Install it: sudo apt install {package}")
            return False
    return _call([BASE_PYTHON, "-m", "venv", folder]) == 0


def _ensure_test_tools() -> None:
    """Get the programs some tests drive; where they cannot be had, those tests are left out."""
    missing = [tool for tool in TEST_TOOLS if not shutil.which(tool)]
    if sys.platform == "darwin":
        missing = [tool for tool in missing if tool != "strace"]  # Linux only
    packages = [TEST_TOOLS[tool] for tool in missing]
    if not packages or _apt_install(*packages):
        return
    how = "brew install" if sys.platform == "darwin" else "sudo apt install"
    print(f"Optional: {how} {' '.join(packages)} (the tests that need them are left out).")


def _apt_install(*packages: str) -> bool:
    """Install Debian packages if we may; say whether they are there now."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return False
    print(f"Installing {', '.join(packages)} …", flush=True)
    env = ENV | {"DEBIAN_FRONTEND": "noninteractive"}

    def apt(*arguments: str) -> bool:
        command = ["apt-get", "-qq", *arguments]
        return (
            subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=False).returncode == 0
        )

    install = ("install", "-y", "--no-install-recommends", *packages)
    # A fresh container has no package lists yet.
    return apt(*install) or (apt("update") and apt(*install))


def _pytest(*arguments: str) -> tuple[str, list[str]]:
    return "pytest", ["pytest", "-n", "auto", *arguments]


def _quality(*more: tuple[str, list[str]]) -> int:
    """Run the stages in order, stop at the first that fails, and say how long each took."""
    if code := setup():
        return code
    if more:
        _ensure_test_tools()
    code, report = 0, []
    for name, command in (*STATIC_STAGES, *more):
        print(f"\n── {name}", flush=True)
        start = time.monotonic()
        code = _call([str(PYTHON), "-m", *command])
        verdict = "FAILED" if code else "ok"
        report.append(f"{name:<12} {verdict:<7} {time.monotonic() - start:6.1f} s")
        if code:
            break
    print("\n" + "\n".join(report), flush=True)
    return code


def _call(command: list[str]) -> int:
    """Run a command in the repository; give its exit code."""
    try:
        return subprocess.run(command, cwd=ROOT, env=ENV, check=False).returncode
    except KeyboardInterrupt:
        return 130


COMMANDS = (setup, run, serve, test, check, full, bench, lock)


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
