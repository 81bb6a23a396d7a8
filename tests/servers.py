"""Servers on loopback that answer as a test says, well or badly."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

Handler = Callable[[socket.socket, bytes], None]


class Server(NamedTuple):
    """A server that runs: its address, and the heads of the requests it has seen."""

    host: str
    port: int
    heads: list[bytes]

    @property
    def url(self) -> str:
        """Return the beginning of its addresses."""
        return f"http://{self.host}:{self.port}"


def build_handler(
    body: bytes = b"", *, status: str = "200 OK", headers: tuple[str, ...] = ()
) -> Handler:
    """Build a handler that answers every request with the same status, headers and body."""
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers)
    head = "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"

    def handle(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(head + body)

    return handle


@contextmanager
def run_server(
    handle: Handler, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[Server]:
    """Run a server that handles each connection in a thread of its own."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen()
    server = Server(host, listener.getsockname()[1], [])

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            plain = tls.wrap_socket(connection, server_side=True) if tls else connection
            with plain:
                head = _read_head(plain)
                server.heads.append(head)
                handle(plain, head)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _read_head(connection: socket.socket) -> bytes:
    """Read a request: its head, and its body if the head says how long it is."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(65_536)
        if not part:
            return head
        head += part
    lines = head.lower().partition(b"\r\n\r\n")[0].split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    while len(head.partition(b"\r\n\r\n")[2]) < length:
        head += connection.recv(65_536)
    return head


def make_certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate for a name; return the contexts of its server and of its clients."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    files = ("-keyout", str(key), "-out", str(certificate))
    names = ("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    subprocess.run([*command.split(), *files, *names], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(certificate))
