"""Many who talk at once, and one who asks whether the server is well; each a process of its own.

`python -m tests.web.crowd BASE talk TOKEN PEOPLE` prints how the turns ended; `… look` prints how
long each answer of /health took, once its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import Counter

import httpx2


async def talk(base: str, token: str, people: int) -> Counter[str]:
    """Let so many send a message at once, and read their answers to the end."""
    headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
    limits = httpx2.Limits(max_connections=people)
    async with httpx2.AsyncClient(base_url=base, timeout=120, limits=limits) as client:

        async def send_message(number: int) -> str:
            body = {"message": f"I am {number}"}
            answer = await client.post("/datamachine/v1/chat", json=body, headers=headers)
            last = answer.text.strip().rpartition("data: ")[2]
            return str(json.loads(last).get("status"))

        return Counter(await asyncio.gather(*map(send_message, range(people))))


def look(base: str) -> list[float]:
    """Ask again and again, until standard input ends."""
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    times = []
    with httpx2.Client(base_url=base, timeout=30) as client:
        client.get("/health")
        print("looking", flush=True)  # noqa: T201 - whoever started it waits for it
        while not over.is_set():
            begin = time.perf_counter()
            client.get("/health").raise_for_status()
            times.append(time.perf_counter() - begin)
            time.sleep(0.05)
    return times


if __name__ == "__main__":
    base, what, *more = sys.argv[1:]
    done = look(base) if what == "look" else asyncio.run(talk(base, more[0], int(more[1])))
    print(json.dumps(done))  # noqa: T201
