"""The process that holds a lease, named so that others on its machine see whether it lives.

Linux tells when a process began, and which boot and which namespace of process ids it belongs to.
Where the system does not tell, or the process is on another machine, only time ends a lease.
"""

from __future__ import annotations

import hashlib
import os
import secrets

_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/pid"
_STATE, _STARTED = 0, 19  # fields of /proc/…/stat behind the name of the program
_names: dict[int, str] = {}  # by process id, since a fork is another process


def new_lease() -> str:
    """Make the secret of a lease, with the name of this process."""
    return f"{secrets.token_hex(16)}{_own_name()}"


def is_gone(lease: str) -> bool:
    """Say whether the process that holds a lease has ended, as far as one can see from here."""
    _, _, name = lease.partition(".")
    machine, _, process = name.partition(".")
    identity, _, started = process.partition(".")
    if not started or machine != _own_name().split(".")[1] or not identity.isdigit():
        return False
    status = _status(int(identity))
    return status is None or status[_STATE] == "Z" or status[_STARTED] != started


def _own_name() -> str:
    process = os.getpid()
    if process not in _names:
        status, machine = _status(process), _machine()
        known = machine and status is not None
        _names[process] = f".{machine}.{process}.{status[_STARTED]}" if known and status else ".."
    return _names[process]


def _machine() -> str:
    try:
        with open(_BOOT, "rb") as file:
            boot = file.read()
        namespace = os.readlink(_NAMESPACE)
    except OSError:
        return ""
    return hashlib.sha256(boot + namespace.encode()).hexdigest()[:16]


def _status(process: int) -> list[str] | None:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            text = file.read().decode("ascii", "replace")
    except OSError:
        return None
    return text[text.rfind(")") + 1 :].split()
