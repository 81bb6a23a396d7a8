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
from benchmarks.bench import Bench, lay, settle
from benchmarks.starting import command_line
from benchmarks.table import Row, compared
from benchmarks.timing import Laps
from benchmarks.writing import LIMIT, replace_durably
from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke

GROUP = "serve"
BARE = "bare Starlette, same bytes from memory"
TARGET = 2.0  # half as many requests in the same time
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
taken = socket.socket(fileno=int(sys.argv[1]))
config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
uvicorn.Server(config).run(sockets=[taken])
"""


def measure(bench: Bench) -> Iterator[Row]:
    """Ask two servers by turns, over connections that stay open; count what a request costs."""
    root = bench.folder / "serving"
    workspace = Workspace.create(root, agent="alpha")
    folder = root / "agents" / "alpha"
    lay(folder, workload.core_pages(seed=bench.seed).items())
    settle()
    given = {"agent": "alpha", "label": "benchmark"}
    token = invoke(workspace.context, "looseleaf/create-token", given)["token"]
    page = folder / "MEMORY.md"
    with _server(_ours(root)) as ours, _server(_bare(page)) as bare:
        reading = {"authorization": f"Bearer {token}", "accept": "text/markdown"}
        request = _request("GET", reading)
        wrong = "" if ours.ask(request, 1).endswith(page.read_bytes()) else "other bytes"
        yield from _compared(bench, (ours, bare), request, "GET MEMORY.md", wrong=wrong)
        as_json = _request("GET", {"authorization": f"Bearer {token}"})
        yield from _compared(bench, (ours, bare), as_json, "the same as JSON")
        asking = _request("GET", {**reading, "if-none-match": "*"})
        usual = _compared(bench, (ours, bare), asking, "304, by the usual way", target=None)
        yield from usual
        yield from _writing(bench, ours, root, reading)


class Served:
    """A server in a process of its own, and connections to it."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.sockets = [_connected(port) for _ in range(CONNECTIONS)]

    def ask(self, request: bytes, rounds: int) -> bytes:
        """Send a request over every connection at once, some times; give the last answer."""
        answer = b""
        for _ in range(rounds):
            for one in self.sockets:
                one.sendall(request)
            for one in self.sockets:
                answer = _answer(one)
        return answer

    def busy_seconds(self) -> float:
        """Say how long the process has worked so far, in all its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        if not tasks.exists():
            return time.perf_counter()  # the time on the clock is the next best
        took = [(task / "schedstat").read_text().split()[0] for task in tasks.iterdir()]
        return sum(map(int, took)) / 1e9


def _compared(
    bench: Bench,
    servers: tuple[Served, Served],
    request: bytes,
    what: str,
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
    yield compared(
        GROUP, f"{what}, work of the server", work[0], BARE, work[1], target=target, wrong=wrong
    )
    yield compared(GROUP, f"{what}, 16 at a time", clock[0], BARE, clock[1])


def _writing(bench: Bench, ours: Served, root: Path, headers: dict[str, str]) -> Iterator[Row]:
    """Replace a page over one connection, beside one durable write of the same bytes."""
    put, plain = [], []
    folder = root / "plain"
    folder.mkdir()
    for turn in range(bench.amount(150, 30)):
        content = f"# Memory\n\n{turn:08}\n".encode() * 400
        request = _request("PUT", {**headers, "content-length": str(len(content))}) + content
        start = time.perf_counter()
        ours.sockets[0].sendall(request)
        answer = _answer(ours.sockets[0])
        put.append(time.perf_counter() - start)
        if b" 200 " not in answer.split(b"\r\n", 1)[0]:
            raise RuntimeError(answer.decode())
        start = time.perf_counter()
        replace_durably(folder, "page.md", content)
        plain.append(time.perf_counter() - start)
    yield compared(GROUP, "PUT 8 KB by token", [put], LIMIT, [plain])


@contextlib.contextmanager
def _server(command: tuple[str, ...]) -> Iterator[Served]:
    taken = socket.create_server(("127.0.0.1", 0), backlog=128)
    port = taken.getsockname()[1]
    given = {"PORT": str(port), "SOCKET": str(taken.fileno())}
    words = [given.get(word, word) for word in command]
    inherited = [taken.fileno()] if "SOCKET" in command else []
    if not inherited:
        taken.close()  # so that it can be taken there
    process = subprocess.Popen(words, pass_fds=inherited, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port)
        served = Served(process, port)
        _wait_until_idle(served)
        yield served
        for one in served.sockets:
            one.close()
    finally:
        process.terminate()
        process.wait(timeout=30)
        taken.close()


def _ours(root: Path) -> tuple[str, ...]:
    return (*command_line(), "--root", str(root), "serve", "--port", "PORT")


def _bare(page: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", BARE_SERVER, "SOCKET", str(page))


def _wait_for(port: int) -> None:
    """Wait until a server answers; a socket alone may be taken before anyone listens."""
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), _connected(port) as one:
            # The MCP server loads last, and its requests wait for it.
            one.sendall(_request("GET", {}, "/mcp"))
            one.settimeout(_READY_SECONDS)
            if one.recv(12):
                return
        time.sleep(0.05)
    raise TimeoutError(f"nobody answers at port {port}")


def _wait_until_idle(served: Served) -> None:
    """Wait until the parts that load behind the first answer, such as the worker, are there."""
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        before = served.busy_seconds()
        time.sleep(_IDLE_SECONDS)
        if served.busy_seconds() - before < _IDLE_SECONDS * _IDLE_SHARE:
            return


def _connected(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _request(
    method: str, headers: dict[str, str], path: str = "/datamachine/v1/files/agent/MEMORY.md"
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: localhost"]
    lines += [f"{name}: {told}" for name, told in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def _answer(connection: socket.socket) -> bytes:
    """Read one whole answer."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    _, told, rest = head.lower().partition(b"content-length:")
    size = int(rest.split(b"\r\n", 1)[0]) if told else 0
    while len(body) < size:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body
