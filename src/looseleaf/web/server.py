"""The server process: a safe address, worker processes, a graceful stop."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.server import HANDLED_SIGNALS
from uvicorn.supervisors import Multiprocess

from looseleaf.access.accounts import APPLICATION, SESSION, TOKEN
from looseleaf.errors import InvalidSetting, Unavailable
from looseleaf.memory.deadline import end_all_work
from looseleaf.operations.tokens import create_login_link
from looseleaf.remote.address import is_loopback
from looseleaf.web.app import build_application
from looseleaf.web.http import request_log
from looseleaf.web.http.connection import TimedConnection
from looseleaf.web.http.guard import OWN_NAME
from looseleaf.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from types import FrameType

    from starlette.types import ASGIApp, Receive, Scope, Send

    from looseleaf.catalog.context import Context
    from looseleaf.settings import Settings


# What starts after the server's first answer, so that no request waits for it.


LATEST_SECONDS = 3.0  # after the start, when no request has come


class AfterFirstAnswer:
    """Calls a function once, in a thread, after the first answer or after some seconds."""

    def __init__(self, app: ASGIApp, start: Callable[[], None]) -> None:
        self._app, self._start = app, start
        self._is_begun = False

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass a request on, and call the function after the first one."""
        # Not a coroutine of its own: every request passes here.
        pass_on = self._app if self._is_begun else self._pass_first
        return pass_on(scope, receive, send)

    async def _pass_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            asyncio.get_running_loop().call_later(LATEST_SECONDS, self._begin)
        await self._app(scope, receive, send)
        if scope["type"] == "http":
            self._begin()

    def _begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            name = "looseleaf-server-start"
            threading.Thread(target=self._start, name=name, daemon=True).start()


# A stopped server ends within ten seconds, whatever it does.
GRACE_SECONDS = 7  # for running requests
_CLOSE_SECONDS = 2.5  # for closing the workspace, and for threads that notice their deadline
BACKLOG = 2048
_COLLECT_EVERY = 2_000  # new objects; a start collects more rarely
SWITCH_SECONDS = 0.0005


def open_application(root: str, *, stateless: bool = False, log: bool = False) -> ASGIApp:
    """Open a workspace and build its application; every worker process calls this."""
    if log:
        request_log.enable()
    workspace = Workspace.open(root, surface="rest")
    app = build_application(workspace, stateless=stateless, on_load=keep_objects)

    def start() -> None:
        workspace.registries.announce_server()
        keep_objects()

    keep_objects()
    stop_in_time()
    # A computing thread gives up the interpreter lock after this time; a response waits for the
    # lock several times.
    sys.setswitchinterval(SWITCH_SECONDS)
    return AfterFirstAnswer(app, start)


def stop_in_time() -> None:
    """Let the stop signals of this process, which a server handles already, have a last moment."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in HANDLED_SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler):
            signal.signal(number, partial(_stop, handler))


def _stop(
    handler: Callable[[int, FrameType | None], object], number: int, frame: FrameType | None
) -> None:
    threading.Thread(target=_end_process, name="looseleaf-server-stop", daemon=True).start()
    handler(number, frame)


def _end_process() -> None:
    """End the work of all requests, and then the process: a thread could go on for ever.

    This loses nothing that was acknowledged: a kill at any instruction does not.
    """
    time.sleep(GRACE_SECONDS)
    end_all_work()
    time.sleep(_CLOSE_SECONDS)
    sys.stderr.write("looseleaf: a request did not end in time; the server stops without it\n")
    sys.stderr.flush()
    os._exit(0)


def keep_objects() -> None:
    """Exclude the present objects of this process from garbage collection: they stay for good."""
    gc.collect()
    gc.freeze()
    # A view leaves its page in a cycle: as rarely as at a start, they would fill the memory.
    gc.set_threshold(_COLLECT_EVERY)


def listen(settings: Settings) -> socket.socket:
    """Listen at the address of the settings, or report why that is impossible."""
    host, port = settings.host, settings.port
    _refuse_public(host, settings.allowed_hosts)
    try:
        address_info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidSetting(
            "host", f"{host} is not an address of this machine ({error.strerror})"
        ) from error
    listener = socket.socket(address_info[0], socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address_info[4])
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            reason = f"another program uses it; choose another port, for example --port {port + 1}"
            raise Unavailable(f"Port {port}", reason) from error
        raise Unavailable(f"{host} port {port}", error.strerror) from error
    listener.set_inheritable(True)
    return listener


def _refuse_public(host: str, allowed_hosts: tuple[str, ...]) -> None:
    if not is_loopback(host) and not allowed_hosts:
        reason = (
            f"others could reach {host}; say by which names, in looseleaf.toml: "
            'allowed_hosts = ["memory.example.com"]'
        )
        raise InvalidSetting("host", reason)


def address_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_new(context: Context) -> bool:
    """Return whether no credential exists yet, so that the first start must print a login link."""
    accounts = context.parts.accounts()
    kinds = (TOKEN, APPLICATION, SESSION)
    return not (
        any(user.password for user in accounts.users.list())
        or any(accounts.credentials.list(kind) for kind in kinds)
    )


def create_login_url(context: Context, base: str) -> str:
    """Create a one-time login link for the administrator."""
    return f"{base}/login#{create_login_link(context).token}"


def with_own_name(link: str) -> str:
    """Return a link with a host name of its own, so that cookies of other programs stay separate.

    Most browsers resolve every name below localhost; the link by address works in all of them.
    """
    scheme, _, location = link.partition("://")
    host, slash, path = location.partition("/")
    name, colon, port = host.rpartition(":")
    return f"{scheme}://{OWN_NAME}{colon}{port}{slash}{path}" if is_loopback(name) else ""


class StoppableServer(uvicorn.Server):
    """Exits normally after a stop signal; uvicorn would die by the signal."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving."""
        old_handlers = {
            signal_number: signal.signal(signal_number, self.handle_exit)
            for signal_number in HANDLED_SIGNALS
        }
        try:
            yield
        finally:
            for signal_number, handler in old_handlers.items():
                signal.signal(signal_number, handler)


def run(root: str, settings: Settings, listener: socket.socket, *, log: bool = False) -> None:
    """Serve until a stop signal; running requests are finished first."""
    logging.basicConfig(level=logging.WARNING, format="looseleaf: %(message)s")
    config = uvicorn.Config(
        partial(open_application, os.path.abspath(root), stateless=settings.workers > 1, log=log),
        factory=True,
        interface="asgi3",
        http=TimedConnection,
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
            Multiprocess(config, sockets=[listener]).run()
        else:
            StoppableServer(config).run(sockets=[listener])
    finally:
        listener.close()
