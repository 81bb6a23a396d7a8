"""Acts out scenes of a module, each in a child process that waits until it may begin.

The argument is the module. Each request is a line on standard input, `[scene, root]`; the answer is
the child's id. After a second line the child begins; the answer is how it ended, `[status, error's
name, error's text]`. Importing everything happens here, once, so that a traced child makes no
system call but those of its scene.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from importlib import import_module
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY))

from looseleaf.errors import LooseleafError  # noqa: E402 - the path is set just above

SCENES = import_module(sys.argv[1])

PR_SET_PTRACER = 0x59616D61
ANYONE = ctypes.c_ulong(-1)


def run_child(name: str, root: Path, line: socket.socket) -> None:
    """Report that all is ready, wait for a byte, act, and send the outcome."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANYONE, 0, 0, 0)
    line.send(b".")
    line.recv(1)
    outcome = ["", ""]
    try:
        SCENES.perform(name, root)
    except LooseleafError as error:
        outcome = [type(error).__name__, str(error)]
    except BaseException as error:  # noqa: BLE001 - the test tells what it was
        outcome = [f"raw {type(error).__name__}", str(error)]
    line.send(json.dumps(outcome).encode())
    os._exit(0)


def main() -> None:
    """Serve requests until there are no more."""
    SCENES.warm_up()
    print("ready", flush=True)  # noqa: T201 - the other end reads it
    for request in sys.stdin:
        name, root = json.loads(request)
        own_end, child_end = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            own_end.close()
            run_child(name, Path(root), child_end)
        child_end.close()
        own_end.recv(1)
        print(pid, flush=True)  # noqa: T201
        sys.stdin.readline()
        own_end.send(b"!")
        _, status = os.waitpid(pid, 0)
        outcome = own_end.recv(65_536)
        own_end.close()
        print(json.dumps([status, *(json.loads(outcome) if outcome else ["", ""])]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
