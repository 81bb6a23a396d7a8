"""A real server on loopback over a fresh workspace, and a real client to ask it with."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.plugins.features import call_features
from looseleaf.values import replace
from looseleaf.web.app import build_application
from looseleaf.web.http.connection import TimedConnection
from looseleaf.web.rest.endpoints import build_core_endpoints
from looseleaf.web.rest.pages import DECISION_SECONDS
from looseleaf.workspace import Workspace as Opened
from tests.quick_server import QuickServer
from tests.web.described import OpenApiChecker, share_checker

API = "/datamachine/v1"
PAGE = f"{API}/files/agent"

# The endpoints of the core and of all features, also where tests are generated from them.
_TABLE = build_core_endpoints()
call_features("register_endpoints", endpoints=_TABLE)
ENDPOINTS = _TABLE.all()


class Clock:
    """The real time, moved on by what a test says."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Site:
    """A server, the workspace behind it, and ways to ask it."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self.workspace, self.clock = workspace, clock
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(
            build_application(workspace),
            http=TimedConnection,
            ws="none",
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=1,
            # Longer than the client's, so that no request meets a connection that is being closed.
            timeout_keep_alive=60,
        )
        self.server = QuickServer(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.clients: list[httpx2.Client] = []
        self._checker: OpenApiChecker | None = None
        self.client = self.browser()

    def browser(self) -> httpx2.Client:
        """Return a client with cookies of its own."""
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [self._check]}
        client = httpx2.Client(
            base_url=self.base, timeout=30, trust_env=False, verify=False, event_hooks=hooks
        )
        self.clients.append(client)
        return client

    def _check(self, answer: httpx2.Response) -> None:
        """Hold every answer to the OpenAPI document."""
        if self._checker is None:
            self._checker = share_checker(self.workspace.context)
        self._checker.check(answer)

    def start(self) -> None:
        """Begin to serve."""
        self.thread.start()
        while not self.server.started:
            time.sleep(0.005)

    def stop(self) -> None:
        """Stop the server and its clients."""
        for client in self.clients:
            client.close()
        self.server.should_exit = True
        self.thread.join(timeout=20)
        self.socket.close()

    def run(self, name: str, /, **arguments: Any) -> Any:  # noqa: ANN401 - whatever JSON can say
        """Run an operation as the operator on this machine."""
        return invoke(self.workspace.context, name, arguments)

    def token(self, **options: Any) -> str:  # noqa: ANN401
        """Create a token as the operator; by default for the agent ada."""
        arguments = options or {"agent": "ada"}
        return str(self.run("looseleaf/create-token", **arguments)["token"])

    def user(self, login: str, **fields: Any) -> int:  # noqa: ANN401
        """Make a user as the operator."""
        return int(self.run("looseleaf/create-user", login=login, **fields)["id"])

    def ask(
        self,
        method: str,
        path: str,
        token: str = "",
        **options: Any,  # noqa: ANN401 - what the client takes
    ) -> httpx2.Response:
        """Send a request, with a token if there is one."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        headers |= options.pop("headers", {})
        return self.client.request(method, path, headers=headers, **options)

    @staticmethod
    def wait_for_decisions() -> None:
        """Wait until cached decisions about the right to read a page have expired."""
        time.sleep(DECISION_SECONDS * 1.1)

    def sign_in(self, user: str | None = None) -> tuple[httpx2.Client, str]:
        """Sign in by a login link; return a browser with the session, and its CSRF token."""
        arguments = {} if user is None else {"user": user}
        link = self.run("looseleaf/create-login-link", **arguments)["token"]
        browser = self.browser()
        answer = browser.post("/login", json={"link": link})
        assert answer.status_code == 200, answer.text
        return browser, answer.json()["data"]["csrf"]


Opens = Callable[..., Site]


def open_site(root: Path, **settings: Any) -> Site:  # noqa: ANN401 - settings have many kinds
    """Serve a fresh workspace with the agent ada, with these settings."""
    clock = Clock()
    workspace = Workspace.create(root, name="House", agent="ada", clock=clock)
    site = Site(Opened(replace(workspace.settings, **settings), clock=clock, surface="rest"), clock)
    site.start()
    return site


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Serve fresh workspaces for one test."""
    sites: list[Site] = []

    def open_another(**settings: Any) -> Site:  # noqa: ANN401 - settings have many kinds
        sites.append(open_site(tmp_path / f"memory-{len(sites)}", **settings))
        return sites[-1]

    yield open_another
    for site in sites:
        site.stop()


@pytest.fixture
def site(opens: Opens) -> Site:
    """Serve a fresh workspace as it is set up for everyone."""
    return opens()


@pytest.fixture
def token(site: Site) -> str:
    """Create a token of the agent ada, which may read and write."""
    return site.token()
