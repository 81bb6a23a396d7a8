"""Flooding: what a valid read and a valid durable write take while others try to stop the server.

`python -m benchmarks.flooding` runs each attack alone, then all together; `--quick` takes seconds.
Figures are ratios to the same server without an attack, since machines differ.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke

API = "/datamachine/v1"
PASSWORDS, BODIES, DIFFS, SEARCHES = 100, 40, 40, 10
WIDE, LINTS, SIGN_INS, LARGE = 8, 4, 14, 4
READER, PASSWORD = "reader", "a long password"
READ_SECONDS, WRITE_SECONDS, GROWTH = 0.25, 1.0, 192_000_000  # at p95, and bytes
_BODY_BYTES = 19_000_000
_READY_SECONDS = 60.0

Attack = Callable[["Target"], Awaitable[None]]


class Target(NamedTuple):
    """A server to be flooded: where it is, and a token that may use it."""

    port: int
    token: str
    process: int
    others: tuple[str, ...] = ()  # credentials of another user, who may only read

    @property
    def base(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, token: str = "") -> httpx2.AsyncClient:
        """Open a client that shows the token, or another one."""
        headers = {"authorization": f"Bearer {token or self.token}"}
        limits = httpx2.Limits(max_connections=None)
        return httpx2.AsyncClient(
            base_url=self.base,
            headers=headers,
            timeout=120,
            limits=limits,
            trust_env=False,
            verify=False,  # to load certificates would take longer than to attack
        )

    def memory(self) -> int:
        """Return how many bytes the server's process has in memory."""
        status = Path(f"/proc/{self.process}/status").read_text()
        entry = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(entry.split()[1]) * 1024


class Figures(NamedTuple):
    """What valid requests took during an attack, and by how much the server grew."""

    reads: list[float]
    writes: list[float]
    memory: int  # at most

    def p95(self) -> tuple[float, float]:
        """Return the time that 95 of 100 reads and writes stayed below."""
        return compute_percentile(self.reads), compute_percentile(self.writes)


def compute_percentile(times: list[float], part: float = 0.95) -> float:
    """Return the time that a part of all stayed below."""
    sorted_times = sorted(times)
    return (
        sorted_times[min(len(sorted_times) - 1, int(len(sorted_times) * part))]
        if sorted_times
        else 0.0
    )


async def guess_passwords(target: Target) -> None:
    """Sign in with a wrong password again and again, as fast as the server answers."""
    async with target.client() as client:
        credentials = {"login": "admin", "password": "wrong"}
        while True:
            answer = await client.post("/login", json=credentials)
            await asyncio.sleep(0.05 if answer.status_code == 429 else 0)


async def send_part_of_body(target: Target) -> None:
    """Send a large body almost whole, and then nothing more."""
    head = (
        f"PUT {API}/files/agent/flood.md HTTP/1.1\r\nhost: localhost\r\n"
        f"authorization: Bearer {target.token}\r\ncontent-length: {_BODY_BYTES}\r\n\r\n"
    )
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        with contextlib.suppress(OSError):
            writer.write(head.encode() + b"x" * (_BODY_BYTES - 1000))
            await reader.read()
        writer.close()
        await asyncio.sleep(0.05)


async def ask_for_diff(target: Target) -> None:
    """Ask for the difference of two versions that have nothing but their lines in common."""
    async with target.client() as client:
        while True:
            await client.get(f"{API}/history/diff", params={"file": "crafted.md"})


async def search_for_everything(target: Target) -> None:
    """Search for what stands in every line, with as much around it as one may ask for."""
    async with target.client() as client:
        query = {"query": "0", "limit": "1000000", "lines": "1000000"}
        while True:
            answer = await client.get(f"{API}/search", params=query)
            if answer.status_code == 400:  # more than may be asked for: then the most
                query = {"query": "0"}


async def send_wide_json(target: Target) -> None:
    """Send many small values, to an operation that the credential may not run and to one it may."""
    body = b'{"content":[' + b"0," * (_BODY_BYTES // 2) + b"0]}"
    headers = {"content-type": "application/json"}
    async with target.client(target.others[0]) as client:
        while True:
            await client.put(f"{API}/files/agent/flood.md", content=body, headers=headers)
            ability = "/wp-abilities/v1/abilities/datamachine/get-agent-memory/run"
            await client.post(ability, content=body, headers=headers)


async def ask_for_lint(target: Target) -> None:
    """Ask for a lint of pages whose lines are all the same."""
    async with target.client(target.others[0]) as client:
        while True:
            await client.get(f"{API}/lint", params={"agent": "ada"})


async def use_many_credentials(target: Target) -> None:
    """Search and hold event streams by many credentials of one user, by turns."""
    credential = random.choice(target.others)
    async with target.client(credential) as client:
        while True:
            await client.get(f"{API}/search", params={"query": "0", "agent": "ada"})
            with contextlib.suppress(httpx2.TimeoutException):
                stream = {"accept": "text/event-stream"}
                await client.get(f"{API}/jobs", headers=stream, timeout=0.2)


async def read_large_pages(target: Target) -> None:
    """Read a page of 2.4 MB as it is shown to people, by one of a user's sign-ins."""
    async with target.client() as client:
        del client.headers["authorization"]
        credentials = {"login": READER, "password": PASSWORD}
        (await client.post("/login", json=credentials)).raise_for_status()
        while True:
            await client.get("/admin/agents/ada/pages/agent/large.md")


ATTACKS: dict[str, tuple[Attack, int]] = {
    "wrong passwords": (guess_passwords, PASSWORDS),
    "unfinished bodies": (send_part_of_body, BODIES),
    "crafted diffs": (ask_for_diff, DIFFS),
    "hostile searches": (search_for_everything, SEARCHES),
    "wide JSON": (send_wide_json, WIDE),
    "lint of equal lines": (ask_for_lint, LINTS),
    "many sign-ins": (use_many_credentials, SIGN_INS),
    "large pages": (read_large_pages, LARGE),
}


def prepare(root: Path) -> tuple[str, ...]:
    """Create a workspace with pages that are hard to work on.

    Return a token of an agent, and tokens of a user who may only read it.
    """
    workspace = Workspace.create(root, agent="ada")
    for seed in (1, 2):
        lines = [f"{number % 150:03}" for number in range(13_500)]
        random.Random(seed).shuffle(lines)
        arguments = {"file": "crafted.md", "content": "\n".join(lines)}
        invoke(workspace.context, "datamachine/write-agent-file", arguments)
    pages = {f"equal-{number}.md": "- the same\n" * 85_000 for number in range(8)}
    pages["large.md"] = "A line of a large page, with *emphasis*.\n\n" * 57_000
    for file, content in pages.items():
        arguments = {"file": file, "content": content}
        invoke(workspace.context, "datamachine/write-agent-file", arguments)
    reader = {"login": READER, "password": PASSWORD}
    invoke(workspace.context, "looseleaf/create-user", reader)
    role = {"user": READER, "agent": "ada", "role": "viewer"}
    invoke(workspace.context, "looseleaf/grant-role", role)
    owners = [{"agent": "ada"}, *({"user": READER} for _ in range(SIGN_INS))]
    made = [invoke(workspace.context, "looseleaf/create-token", owner) for owner in owners]
    workspace.close()
    return tuple(str(item["token"]) for item in made)


@contextlib.contextmanager
def serve_workspace(root: Path, tokens: tuple[str, ...]) -> Iterator[Target]:
    """Serve a workspace in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "looseleaf", "serve", "--root", str(root), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        # The MCP server loads behind the first answers; what it takes is no growth.
        httpx2.get(f"http://127.0.0.1:{port}/mcp", timeout=_READY_SECONDS)
        yield Target(port, tokens[0], process.pid, tokens[1:])
    finally:
        process.terminate()
        process.wait(timeout=30)


async def measure(target: Target, seconds: float) -> Figures:
    """Read and write for some seconds."""
    async with target.client() as client:
        page, notes = f"{API}/files/agent/MEMORY.md", f"{API}/files/agent/notes.md"
        (await client.get(page)).raise_for_status()
        peak = 0
        reads: list[float] = []
        writes: list[float] = []
        number = 0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or not writes:
            reads.append(await _measure_request(client, "GET", page))
            number += 1
            writes.append(
                await _measure_request(client, "PUT", notes, content=f"- {number}\n".encode())
            )
            peak = max(peak, target.memory())
            await asyncio.sleep(0.02)
        return Figures(reads, writes, peak)


@contextlib.contextmanager
def attack_from_process(target: Target, names: list[str], part: float) -> Iterator[None]:
    """Attack from a process of its own, so that its work is not measured."""
    if not names:
        yield
        return
    tokens = ",".join((target.token, *target.others))
    words = [str(target.port), tokens, str(target.process), str(part), *names]
    command = [sys.executable, "-m", "benchmarks.flooding", "--attack", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        if process.stdout is not None:
            process.stdout.readline()  # it has begun
        yield
    finally:
        process.kill()
        process.communicate()


async def attack_endlessly(target: Target, names: list[str], part: float) -> None:
    """Have every attacker begin, say so, and go on until this process is ended."""
    choices = [ATTACKS[name] for name in names]
    attackers = [attack for attack, count in choices for _ in range(max(1, int(count * part)))]
    tasks = [asyncio.create_task(_repeat_attack(attack, target)) for attack in attackers]
    await asyncio.sleep(1.0)
    print("attacking", flush=True)
    await asyncio.gather(*tasks)


async def _repeat_attack(attack: Attack, target: Target) -> None:
    while True:
        with contextlib.suppress(httpx2.HTTPError, OSError):
            await attack(target)


async def _measure_request(
    client: httpx2.AsyncClient, method: str, path: str, content: bytes | None = None
) -> float:
    begin = time.perf_counter()
    (await client.request(method, path, content=content)).raise_for_status()
    return time.perf_counter() - begin


def flood(
    names: list[str], root: Path, tokens: tuple[str, ...], *, seconds: float, part: float
) -> Figures:
    """Attack a fresh server process in some ways at once; `part` is how much of each."""
    with serve_workspace(root, tokens) as target:
        baseline = asyncio.run(measure(target, 0.5))  # whatever the first requests load
        with attack_from_process(target, names, part):
            figures = asyncio.run(measure(target, seconds))
            return figures._replace(memory=figures.memory - baseline.memory)


def main() -> int:
    """Print what valid requests take without an attack, during each, and during all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flooding", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the attackers, 2 seconds")
    parser.add_argument("--attack", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=6.0, help="for each attack")
    options = parser.parse_args()
    if options.attack:
        port, words, process, share, *names = options.attack
        token, *others = words.split(",")
        target = Target(int(port), token, int(process), tuple(others))
        asyncio.run(attack_endlessly(target, names, float(share)))
    seconds, part = (2.0, 0.1) if options.quick else (options.seconds, 1.0)
    rounds = [[], *([name] for name in ATTACKS), list(ATTACKS)]
    with tempfile.TemporaryDirectory(prefix=".looseleaf-flood-", dir=Path.cwd()) as folder:
        tokens = prepare(Path(folder) / "memory")
        baseline = (0.0, 0.0)
        is_missed = False
        print(f"{'attack':20} {'read p95':>20} {'write p95':>20} {'memory':>10}  requests")
        for names in rounds:
            root = Path(folder) / "memory"
            figures = flood(names, root, tokens, seconds=seconds, part=part)
            read_p95, write_p95 = figures.p95()
            baseline = baseline if names else (read_p95, write_p95)
            title = names[0] if len(names) == 1 else "all together" if names else "none"
            texts = _format_time(read_p95, baseline[0]), _format_time(write_p95, baseline[1])
            print(
                f"{title:20} {texts[0]} {texts[1]} "
                f"{figures.memory / 1e6:7.0f} MB  {len(figures.reads) + len(figures.writes)}"
            )
            is_missed |= (
                read_p95 > READ_SECONDS or write_p95 > WRITE_SECONDS or figures.memory > GROWTH
            )
    print(f"Targets: read 250 ms, write 1 s, memory 192 MB: {'missed' if is_missed else 'met'}.")
    return 0


def _format_time(seconds: float, baseline: float) -> str:
    ratio = seconds / baseline if baseline else 1.0
    return f"{seconds * 1000:9.1f} ms {ratio:6.1f} x"


if __name__ == "__main__":
    sys.exit(main())
