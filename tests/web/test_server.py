"""`looseleaf serve` as a process: first start, ports, workers, a graceful stop, two on one root."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.web.rest.pages import DECISION_SECONDS
from looseleaf.web.server import keep_objects
from tests.web.fixtures import API, PAGE

MEMORY = f"{PAGE}/MEMORY.md"


class Process:
    """A server in a process of its own."""

    def __init__(self, root: Path, *words: str) -> None:
        command = [sys.executable, "-m", "looseleaf", "--root", str(root), "serve", *words]
        self.lines: list[str] = []
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        with self.popen.stdout as out:
            self.lines.extend(iter(out.readline, ""))

    @property
    def text(self) -> str:
        """What it has said so far."""
        return "".join(self.lines)

    def ready(self) -> str:
        """Wait until it answers; return its address."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.popen.poll() is None:
            found = re.search(r"at (http://\S+) ", self.text)
            if found:
                with contextlib.suppress(httpx2.TransportError):
                    httpx2.get(f"{found[1]}/health", trust_env=False)
                    return found[1]
            time.sleep(0.05)
        raise AssertionError(self.text)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Make it stop; return its exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        code = self.popen.wait(timeout=60)
        self.reader.join(timeout=10)
        return code


Serve = Callable[..., Process]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a workspace with the agent ada."""
    return Path(Workspace.create(tmp_path / "memory", agent="ada").root)


@pytest.fixture
def serve(root: Path) -> Iterator[Serve]:
    """Start servers that are stopped at the end."""
    started: list[Process] = []

    def start(*words: str) -> Process:
        port = () if "--port" in words else ("--port", "0")
        started.append(Process(root, *port, *words))
        return started[-1]

    yield start
    for process in started:
        process.stop()


def local(root: Path, name: str, **given: Any) -> Any:  # noqa: ANN401 - whatever JSON can say
    with Workspace.open(root) as workspace:
        return invoke(workspace.context, name, given)


def test_requests_are_logged_on_demand(serve: Serve) -> None:
    """One JSON line each if nobody looks at a terminal, without what was asked for."""
    quiet, logging = serve(), serve("--log")
    for server in (quiet, logging):
        base = server.ready()
        httpx2.get(f"{base}{API}/search?query=secret-plan", trust_env=False)
        httpx2.get(f"{base}/no%0a%1b[31mplace", trust_env=False)
        assert server.stop() == 0
    assert "secret-plan" not in quiet.text + logging.text
    assert "/health" not in quiet.text
    entries = [json.loads(line) for line in logging.lines if line.startswith("{")]
    asked = {entry["path"]: entry for entry in entries}
    assert asked["/datamachine/v1/search"]["status"] == 401
    assert asked["/no\n\x1b[31mplace"]["method"] == "GET"
    assert asked["/health"]["milliseconds"] > 0


def test_jobs_are_logged_on_demand(root: Path, serve: Serve) -> None:
    """One JSON line for each event, without names and reasons, in which there may be anything."""
    feed = {"type": "input", "settings": {"source": "feed", "url": "http://secret-plan.invalid/x"}}
    text = {"type": "input", "settings": {"source": "text", "text": "secret-plan"}}
    for step in (text, feed):
        local(root, "datamachine/execute-workflow", steps=[step], label="secret-plan")
    server = serve("--log")
    server.ready()
    end = time.monotonic() + 60
    while server.text.count('"seconds"') < 2 and time.monotonic() < end:
        time.sleep(0.05)
    assert server.stop() == 0
    assert "secret-plan" not in server.text
    entries = [json.loads(line) for line in server.lines if line.startswith("{")]
    events = {(entry["job"], entry["event"]) for entry in entries if "job" in entry}
    assert events == {(1, "started"), (1, "ended"), (2, "started"), (2, "failed")}
    last = next(entry for entry in entries if entry.get("event") == "failed")
    assert last.keys() == {
        *("time", "job", "event", "status", "source", "agent", "flow", "user", "seconds"),
    }


def test_a_used_login_link_says_so_in_words(serve: Serve) -> None:
    """A person reads what happened and what to do; used and wrong links look the same."""
    server = serve("--login-link")
    base = server.ready()
    link = re.search(rf"{re.escape(base)}/login#(\S+)", server.text)
    assert link, server.text
    codes = [link[1], link[1], "wrong"]
    answers = [httpx2.post(f"{base}/login", json={"link": x}, trust_env=False) for x in codes]
    assert [answer.status_code for answer in answers] == [200, 401, 401]
    assert answers[1].json()["code"] == answers[2].json()["code"] == "login_link_invalid"
    assert "looseleaf tokens login" in answers[1].json()["message"]


def test_the_first_start_shows_a_way_in(serve: Serve) -> None:
    """A link that begins a session of the administrator. Later starts show none."""
    first = serve("--login-link")
    base = first.ready()
    own = base.replace("127.0.0.1", "looseleaf.localhost")
    assert f"{own}/login#" in first.text, "a name of its own, so that its cookies are its own"
    link = re.search(rf"{re.escape(base)}/login#(\S+)", first.text)
    assert link, first.text
    with httpx2.Client(base_url=base, trust_env=False) as browser:
        assert browser.post("/login", json={"link": link[1]}).status_code == 200
        session = browser.get("/session").json()["data"]
        assert session["capabilities"] == ["manage_options"]
    assert first.stop() == 0
    second = serve()
    second.ready()
    assert "/login#" not in second.text
    assert "tokens login" not in second.text
    third = serve("--login-link")
    third.ready()
    assert "/login#" in third.text


def test_an_open_page_does_not_hold_up_the_stop(serve: Serve) -> None:
    """Its stream ends as it should; one that is cut off at the end of the grace is an error."""
    server = serve("--login-link")
    base = server.ready()
    link = re.search(rf"{re.escape(base)}/login#(\S+)", server.text)
    assert link, server.text
    with httpx2.Client(base_url=base, trust_env=False, timeout=60) as browser:
        browser.post("/login", json={"link": link[1]}).raise_for_status()
        page = browser.get("/admin/agents/ada/pages/agent/MEMORY.md").text
        version = re.search(r'data-version="([0-9a-f]+)"', page)
        assert version
        path = f"/admin/changes/ada/agent/MEMORY.md?version={version[1]}"
        with browser.stream("GET", path) as answer:
            parts = answer.iter_text()
            assert next(parts) == ": open\n\n"
            server.popen.send_signal(signal.SIGTERM)
            assert not list(parts)
    assert server.stop() == 0


def test_no_login_link_is_written_into_a_log(serve: Serve) -> None:
    """A service has no terminal: whoever reads its log could sign in before its operator does."""
    server = serve()
    server.ready()
    assert "/login#" not in server.text
    assert "looseleaf tokens login" in server.text


def test_a_port_that_is_taken_is_told(serve: Serve) -> None:
    """With what to do, and no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = serve("--port", str(port))
        assert process.popen.wait(timeout=60) == 6
        process.reader.join(timeout=10)
    assert f"Port {port} is not available: another program uses it" in process.text
    assert f"--port {port + 1}" in process.text
    assert "Traceback" not in process.text


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_a_public_address_needs_allowed_hosts(serve: Serve, host: str) -> None:
    """Nobody opens their memory to the network by one option."""
    process = serve("--host", host)
    assert process.popen.wait(timeout=60) == 2
    process.reader.join(timeout=10)
    assert "allowed_hosts" in process.text


def test_a_public_address_with_allowed_hosts_serves(root: Path, serve: Serve) -> None:
    """By those names, and those of the machine."""
    with (root / "looseleaf.toml").open("a") as settings:
        settings.write('allowed_hosts = ["memory.example.com"]\n')
    base = serve("--host", "0.0.0.0").ready().replace("0.0.0.0", "127.0.0.1")
    for host, status in (("memory.example.com", 200), ("localhost", 200), ("evil.example", 400)):
        answer = httpx2.get(f"{base}/health", headers={"host": host}, trust_env=False)
        assert answer.status_code == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_finished_before_the_end(
    root: Path, serve: Serve, number: int
) -> None:
    """And the process ends without complaint."""
    token = local(root, "looseleaf/create-token", agent="ada")["token"]
    process = serve()
    port = int(process.ready().rpartition(":")[2])
    head = (
        f"PUT {MEMORY} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
        "content-length: 4\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + b"la")
        time.sleep(0.3)
        process.popen.send_signal(number)
        time.sleep(0.3)
        connection.sendall(b"st")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
    assert process.popen.wait(timeout=30) == 0
    assert (root / "agents/ada/MEMORY.md").read_bytes() == b"last"
    assert "Traceback" not in process.text
    assert not (root / ".looseleaf/looseleaf.db-wal").exists(), "the database was not closed"


def test_two_servers_and_their_workers_share_one_root(root: Path, serve: Serve) -> None:
    """Writes through any are read through all, none is lost, and a revocation holds everywhere."""
    made = local(root, "looseleaf/create-token", agent="ada")
    first, second = serve("--workers", "2"), serve()
    bases = [first.ready(), second.ready()]
    headers = {"authorization": f"Bearer {made['token']}"}

    def add(base: str, number: int) -> None:
        given = {"file": "log.md", "content": f"- {number}"}
        with httpx2.Client(base_url=base, headers=headers, timeout=60, trust_env=False) as client:
            client.post(f"{API}/files/append", json=given).raise_for_status()

    threads = [threading.Thread(target=add, args=(bases[n % 2], n)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for base in bases:
        page = httpx2.get(f"{base}{PAGE}/log.md", headers=headers, trust_env=False)
        lines = page.json()["data"]["content"].splitlines()
        assert sorted(lines) == sorted(f"- {n}" for n in range(20))
    (root / "agents/ada/MEMORY.md").write_bytes(b"edited by hand")
    for base in bases:
        page = httpx2.get(base + MEMORY, headers=headers, trust_env=False)
        assert page.json()["data"]["content"] == "edited by hand"
    local(root, "looseleaf/revoke-token", id=made["id"])
    time.sleep(2 * DECISION_SECONDS)
    for base in bases * 3:
        assert httpx2.get(base + MEMORY, headers=headers, trust_env=False).status_code == 401
    assert first.stop() == 0


def test_workers_are_replaced_when_they_die(root: Path, serve: Serve) -> None:
    """The server goes on answering."""
    if not Path("/proc").exists():
        pytest.skip("there is no list of processes here")
    token = local(root, "looseleaf/create-token", agent="ada")["token"]
    process = serve("--workers", "2")
    base = process.ready()
    children = Path(f"/proc/{process.popen.pid}/task/{process.popen.pid}/children")
    workers = [int(item) for item in children.read_text().split()]
    for worker in workers:
        if b"spawn_main" in Path(f"/proc/{worker}/cmdline").read_bytes():
            os.kill(worker, signal.SIGKILL)
    end = time.monotonic() + 60
    headers = {"authorization": f"Bearer {token}"}
    while time.monotonic() < end:
        with contextlib.suppress(httpx2.TransportError):
            answer = httpx2.get(base + MEMORY, headers=headers, trust_env=False, timeout=5)
            assert answer.status_code == 200
            return
        time.sleep(0.2)
    raise AssertionError(process.text)


STUCK = """
import os, signal, threading, time
from looseleaf.web import server

server.GRACE_SECONDS = server._CLOSE_SECONDS = 0.1
signal.signal(signal.SIGTERM, lambda *_: None)
server.stop_in_time()
threading.Thread(target=time.sleep, args=(600,)).start()
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(600)
"""


def test_a_server_stops_whatever_its_threads_do() -> None:
    """A thread that never ends does not keep the process: it exits as after any other stop."""
    ended = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, timeout=120, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "did not end in time" in ended.stderr


def test_a_server_collects_garbage_often() -> None:
    """A start collects rarely; a server that went on so would hold every page that it shows."""
    before = gc.get_threshold()
    gc.set_threshold(50_000)
    try:
        keep_objects()
        assert gc.get_threshold()[0] <= 2_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
