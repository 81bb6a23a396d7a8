"""Running the server: an address that is safe to listen at, worker processes, a graceful stop."""

from __future__ import annotations

import errno
import gc
import logging
import os
import signal
import socket
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.server import HANDLED_SIGNALS
from uvicorn.supervisors import Multiprocess

from looseleaf.agents.accounts import APPLICATION, SESSION, TOKEN
from looseleaf.errors import InvalidSetting, Unavailable
from looseleaf.operations.tokens import create_login_link
from looseleaf.remote.address import is_loopback
from looseleaf.web import request_log
from looseleaf.web.app import application
from looseleaf.web.connection import PatientConnection
from looseleaf.web.guard import OWN_NAME
from looseleaf.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

    from looseleaf.operations.context import Context
    from looseleaf.settings import Settings

GRACE_SECONDS = 10
BACKLOG = 2048
SWITCH_SECONDS = 0.0005


def open_application(root: str, *, stateless: bool = False, log: bool = False) -> ASGIApp:
    """Open a workspace and make its application; every worker process does."""
    if log:
        request_log.enable()
    made = application(Workspace.open(root, surface="rest"), stateless=stateless)
    # What is there now stays for good; looking through it for garbage would only take time.
    gc.collect()
    gc.freeze()
    # A thread that computes lets others go on so often; each answer waits for that several times.
    sys.setswitchinterval(SWITCH_SECONDS)
    return made


def listen(settings: Settings) -> socket.socket:
    """Take the address of the settings, or say why it cannot be had."""
    host, port = settings.host, settings.port
    _refuse_public(host, settings.allowed_hosts)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidSetting("host", f"{host} is no address here ({error.strerror})") from error
    taken = socket.socket(found[0], socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(found[4])
        taken.listen(BACKLOG)
    except OSError as error:
        taken.close()
        if error.errno == errno.EADDRINUSE:
            why = f"another program uses it; choose another port, for example --port {port + 1}"
            raise Unavailable(f"Port {port}", why) from error
        raise Unavailable(f"{host} port {port}", error.strerror) from error
    taken.set_inheritable(True)
    return taken


def _refuse_public(host: str, allowed: tuple[str, ...]) -> None:
    if not is_loopback(host) and not allowed:
        why = (
            f"others could reach {host}; say by which names, in looseleaf.toml: "
            'allowed_hosts = ["memory.example.com"]'
        )
        raise InvalidSetting("host", why)


def address(taken: socket.socket) -> str:
    """Give the URL of a socket that was taken."""
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_new(context: Context) -> bool:
    """Say whether nobody has a way in yet, so that the first start must show one."""
    accounts = context.accounts() if context.accounts is not None else None
    kinds = (TOKEN, APPLICATION, SESSION)
    return accounts is None or not (
        any(user.password for user in accounts.users.list())
        or any(accounts.credentials.list(kind) for kind in kinds)
    )


def login_link(context: Context, base: str) -> str:
    """Make a one-time login link for the administrator."""
    return f"{base}/login#{create_login_link(context).token}"


def own_name(link: str) -> str:
    """Give a link to this machine by a name that no other program has, so that cookies stay apart.

    Most browsers know every name below localhost; the link by address works in all of them.
    """
    scheme, _, rest = link.partition("://")
    host, slash, path = rest.partition("/")
    name, colon, port = host.rpartition(":")
    return f"{scheme}://{OWN_NAME}{colon}{port}{slash}{path}" if is_loopback(name) else ""


class StoppableServer(uvicorn.Server):
    """Ends well when it is told to end; uvicorn itself would finish and then die by the signal."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take note of signals while serving."""
        before = {one: signal.signal(one, self.handle_exit) for one in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def run(root: str, settings: Settings, taken: socket.socket, *, log: bool = False) -> None:
    """Serve until told to stop; requests under way are finished first."""
    logging.basicConfig(level=logging.WARNING, format="looseleaf: %(message)s")
    config = uvicorn.Config(
        partial(open_application, os.path.abspath(root), stateless=settings.workers > 1, log=log),
        factory=True,
        http=PatientConnection,
        ws="none",
        lifespan="on",
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=BACKLOG,
    )
    try:
        if settings.workers > 1:
            Multiprocess(config, sockets=[taken]).run()
        else:
            StoppableServer(config).run(sockets=[taken])
    finally:
        taken.close()
