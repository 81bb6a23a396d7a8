"""The process that holds a lease, named so that other processes can check whether it is running.

Linux shows the start time of a process, its boot and its namespace of process ids. If the system
does not show them, or the process runs on another machine, only time ends a lease.
"""

from __future__ import annotations

import hashlib
import os
import secrets

_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/pid"
_STATE, _STARTED = 0, 19  # fields of /proc/…/stat behind the name of the program
_names: dict[int, str] = {}  # by process id, since a fork is another process


def create_lease() -> str:
    """Create the secret of a lease, with the name of this process."""
    return f"{secrets.token_hex(16)}{_name_process()}"


def is_gone(lease: str) -> bool:
    """Return whether the process that holds a lease has ended, as far as this machine can tell."""
    _, _, name = lease.partition(".")
    if f".{name}" == _name_process():
        return False  # held by this process, which is running
    machine, _, process = name.partition(".")
    identity, _, start_time = process.partition(".")
    if not start_time or machine != _name_process().split(".")[1] or not identity.isdigit():
        return False
    status = _read_status(int(identity))
    return status is None or status[_STATE] == "Z" or status[_STARTED] != start_time


def _name_process() -> str:
    process = os.getpid()
    if process not in _names:
        status, machine = _read_status(process), _identify_machine()
        is_identified = machine and status is not None
        _names[process] = (
            f".{machine}.{process}.{status[_STARTED]}" if is_identified and status else ".."
        )
    return _names[process]


def _identify_machine() -> str:
    try:
        with open(_BOOT, "rb") as file:
            boot = file.read()
        namespace = os.readlink(_NAMESPACE)
    except OSError:
        return ""
    return hashlib.sha256(boot + namespace.encode()).hexdigest()[:16]


def _read_status(process: int) -> list[str] | None:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            text = file.read().decode("ascii", "replace")
    except OSError:
        return None
    return text[text.rfind(")") + 1 :].split()
