"""Serving: a page by token, beside the bare framework that answers the same bytes from memory."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, settle, write_pages
from benchmarks.starting import find_command
from benchmarks.table import Row, build_row
from benchmarks.timing import Laps
from benchmarks.writing import LIMIT, replace_durably
from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke

GROUP = "serve"
BARE = "bare Starlette, same bytes from memory"
TARGET = 2.0  # half as many requests in the same time
SELECTOR_TARGET = 1.5
PAGE = "/datamachine/v1/files/agent/MEMORY.md"
SELECTORS = ("agent=alpha", "agent_id=1", "user_id=1")
CONNECTIONS = 16
_READY_SECONDS = 30.0
_IDLE_SECONDS, _IDLE_SHARE = 1.0, 0.05  # busy for less than this share of a second

# What the framework itself costs: no file, no token, no header of ours.
BARE_SERVER = """
import socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

with open(sys.argv[2], "rb") as file:
    content = file.read()

async def page(request):
    if request.method == "GET":
        return Response(content, media_type="text/markdown")
    await request.body()
    return Response(b"{}", media_type="application/json")

app = Starlette(routes=[Route("/{path:path}", page, methods=["GET", "PUT"])])
listener = socket.socket(fileno=int(sys.argv[1]))
config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
uvicorn.Server(config).run(sockets=[listener])
"""


def measure(bench: Bench) -> Iterator[Row]:
    """Ask two servers by turns, over connections that stay open; count what a request costs."""
    root = bench.folder / "serving"
    workspace = Workspace.create(root, agent="alpha")
    folder = root / "agents" / "alpha"
    write_pages(folder, workload.build_core_pages(seed=bench.seed).items())
    settle()
    arguments = {"agent": "alpha", "label": "benchmark"}
    token = invoke(workspace.context, "looseleaf/create-token", arguments)["token"]
    page = folder / "MEMORY.md"
    bare_command = _build_bare_command(page)
    with _run_server(_build_command(root)) as server, _run_server(bare_command) as bare_server:
        servers = (server, bare_server)
        headers = {"authorization": f"Bearer {token}", "accept": "text/markdown"}
        request = _build_request("GET", headers)
        wrong = "" if server.ask(request, 1).endswith(page.read_bytes()) else "other bytes"
        yield from _compare_servers(bench, servers, request, "GET MEMORY.md", wrong=wrong)
        as_json = _build_request("GET", {"authorization": f"Bearer {token}"})
        yield from _compare_servers(bench, servers, as_json, "the same as JSON")
        for selector in SELECTORS:
            named = _build_request("GET", headers, f"{PAGE}?{selector}")
            title = f"GET MEMORY.md?{selector}"
            yield from _compare_servers(bench, servers, named, title, target=SELECTOR_TARGET)
        conditional = _build_request("GET", {**headers, "if-none-match": "*"})
        yield from _compare_servers(bench, servers, conditional, "304", target=None)
        reason = _build_request("GET", {**headers, "x-looseleaf-reason": "benchmark"})
        yield from _compare_servers(
            bench, servers, reason, "GET with a reason, by the usual way", target=None
        )
        yield from _measure_writes(bench, server, root, headers)


class Server:
    """A server in a process of its own, and connections to it."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.sockets = [_connect(port) for _ in range(CONNECTIONS)]

    def ask(self, request: bytes, rounds: int) -> bytes:
        """Send a request over every connection at once, some times; return the last answer."""
        answer = b""
        for _ in range(rounds):
            for connection in self.sockets:
                connection.sendall(request)
            for connection in self.sockets:
                answer = _read_answer(connection)
        return answer

    def busy_seconds(self) -> float:
        """Return how long the process has worked so far, in all its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        if not tasks.exists():
            return time.perf_counter()  # the time on the clock is the next best
        nanoseconds = [(task / "schedstat").read_text().split()[0] for task in tasks.iterdir()]
        return sum(map(int, nanoseconds)) / 1e9


def _compare_servers(
    bench: Bench,
    servers: tuple[Server, Server],
    request: bytes,
    title: str,
    *,
    wrong: str = "",
    target: float | None = TARGET,
) -> Iterator[Row]:
    work: list[Laps] = [[], []]
    clock: list[Laps] = [[], []]
    rounds = bench.amount(30, 10)
    for server in servers:
        server.ask(request, bench.amount(60, 20))  # to warm up
    for _ in range(bench.amount(30, 8)):
        for place, server in enumerate(servers):
            busy, start = server.busy_seconds(), time.perf_counter()
            server.ask(request, rounds)
            count = rounds * CONNECTIONS
            work[place].append([(server.busy_seconds() - busy) / count])
            clock[place].append([(time.perf_counter() - start) / count])
    yield build_row(
        GROUP, f"{title}, work of the server", work[0], BARE, work[1], target=target, wrong=wrong
    )
    yield build_row(GROUP, f"{title}, 16 at a time", clock[0], BARE, clock[1])


def _measure_writes(
    bench: Bench, server: Server, root: Path, headers: dict[str, str]
) -> Iterator[Row]:
    """Replace a page over one connection, beside one durable write of the same bytes."""
    put_times, plain_times = [], []
    folder = root / "plain"
    folder.mkdir()
    for turn in range(bench.amount(150, 30)):
        content = f"# Memory\n\n{turn:08}\n".encode() * 400
        request = _build_request("PUT", {**headers, "content-length": str(len(content))}) + content
        start = time.perf_counter()
        server.sockets[0].sendall(request)
        answer = _read_answer(server.sockets[0])
        put_times.append(time.perf_counter() - start)
        if b" 200 " not in answer.split(b"\r\n", 1)[0]:
            raise RuntimeError(answer.decode())
        start = time.perf_counter()
        replace_durably(folder, "page.md", content)
        plain_times.append(time.perf_counter() - start)
    yield build_row(GROUP, "PUT 8 KB by token", [put_times], LIMIT, [plain_times])


@contextlib.contextmanager
def _run_server(command: tuple[str, ...]) -> Iterator[Server]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    port = listener.getsockname()[1]
    replacements = {"PORT": str(port), "SOCKET": str(listener.fileno())}
    words = [replacements.get(word, word) for word in command]
    descriptors = [listener.fileno()] if "SOCKET" in command else []
    if not descriptors:
        listener.close()  # so that our server can bind the port
    process = subprocess.Popen(words, pass_fds=descriptors, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port)
        server = Server(process, port)
        _wait_until_idle(server)
        yield server
        for connection in server.sockets:
            connection.close()
    finally:
        process.terminate()
        process.wait(timeout=30)
        listener.close()


def _build_command(root: Path) -> tuple[str, ...]:
    return (*find_command(), "--root", str(root), "serve", "--port", "PORT")


def _build_bare_command(page: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", BARE_SERVER, "SOCKET", str(page))


def _wait_for(port: int) -> None:
    """Wait until a server answers; its port may be bound before it listens."""
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), _connect(port) as connection:
            # The MCP server loads last, and its requests wait for it.
            connection.sendall(_build_request("GET", {}, "/mcp"))
            connection.settimeout(_READY_SECONDS)
            if connection.recv(12):
                return
        time.sleep(0.05)
    raise TimeoutError(f"nobody answers at port {port}")


def _wait_until_idle(server: Server) -> None:
    """Wait until the parts that load behind the first answer, such as the worker, are there."""
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        before = server.busy_seconds()
        time.sleep(_IDLE_SECONDS)
        if server.busy_seconds() - before < _IDLE_SECONDS * _IDLE_SHARE:
            return


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _build_request(method: str, headers: dict[str, str], path: str = PAGE) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: localhost"]
    lines += [f"{name}: {text}" for name, text in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def _read_answer(connection: socket.socket) -> bytes:
    """Read one whole answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    _, name, rest = head.lower().partition(b"content-length:")
    size = int(rest.split(b"\r\n", 1)[0]) if name else 0
    while len(body) < size:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body
