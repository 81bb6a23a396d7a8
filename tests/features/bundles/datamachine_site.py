"""A server on loopback with the routes of a site of Data Machine; the texts are our own."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers import Server, run_server

API = "/wp-json/datamachine/v1"
STEPS = {
    "fetch": "5_0b7c4a52-19f7-4be4-9f86-2b1f4a8e0a01",
    "ai": "5_0b7c4a52-19f7-4be4-9f86-2b1f4a8e0a02",
    "publish": "5_0b7c4a52-19f7-4be4-9f86-2b1f4a8e0a03",
}
AGENTS = [
    {"agent_id": 1, "agent_slug": "ada", "agent_name": "Ada", "owner_id": 1},
    {"agent_id": 2, "agent_slug": "scout", "agent_name": "Scout", "owner_id": 1},
]
PAGES = {
    1: {"MEMORY.md": ("agent", "# Memory\n\n- The tape is a < b && c\n")},
    2: {
        "SOUL.md": ("agent", "# Soul\n\nI am Scout.\n"),
        "RULES.md": ("shared", "# Rules\n\n- Be kind\n"),
    },
}
DAYS = {2: {"2026/03": ["16"]}}


def build_pipeline() -> dict[str, Any]:
    """Return a pipeline as `GET /pipelines/{id}` does: its steps in a map, with other keys."""
    return {
        "pipeline_id": "5",
        "pipeline_name": "Weekly  review",
        "portable_slug": "weekly-review",
        "agent_id": 2,
        "user_id": 1,
        "pipeline_config": {
            "context_files": {"uploaded_files": [{"original_name": "style.md", "size": 7}]},
            "memory_files": ["strategy.md", "SOUL.md", "../secret.md"],
            "persist_transcripts": True,
            STEPS["publish"]: {"step_type": "publish", "execution_order": 2, "label": "Post"},
            STEPS["fetch"]: {"step_type": "fetch", "execution_order": 0, "label": "Feed"},
            STEPS["ai"]: {
                "step_type": "ai",
                "execution_order": 1,
                "label": "Writer",
                "system_prompt": "Write a review of each record.",
                "disabled_tools": ["web_fetch"],
            },
            "5_ping": {"step_type": "agent_ping", "execution_order": 3},
        },
    }


def build_flow(**scheduling: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a flow as `GET /pipelines/{id}` does."""
    return {
        "flow_id": 7,
        "flow_name": "Monday",
        "pipeline_id": 5,
        "flow_config": {
            "memory_files": ["monday.md"],
            f"{STEPS['fetch']}_7": {
                "step_type": "fetch",
                "handler_slugs": ["rss"],
                "handler_configs": {
                    "rss": {
                        "feed_url": "https://records.example.com/feed",
                        "max_items": 3,
                        "search": "jazz",
                        "api_key": "sk-live-0123456789abcdefghij",
                    }
                },
            },
            f"{STEPS['ai']}_7": {
                "step_type": "ai",
                "prompt_queue": [{"prompt": "Review the new records.", "added_at": "x"}],
                "queue_mode": "loop",
                "completion_assertions": ["published"],
            },
            f"{STEPS['publish']}_7": {
                "step_type": "publish",
                "handler_slugs": ["wordpress_publish", "twitter_publish"],
                "handler_configs": {
                    "wordpress_publish": {"post_status": "draft", "post_author": 3},
                    "twitter_publish": {"access_token": "not to be seen"},
                },
            },
        },
        "scheduling_config": scheduling or {"interval": "daily", "enabled": True},
    }


class DataMachineSite:
    """What the site holds; a test changes it, and the next request sees it."""

    def __init__(self) -> None:
        self.agents: list[dict[str, Any]] = list(AGENTS)
        self.pages = {agent: dict(files) for agent, files in PAGES.items()}
        self.days = dict(DAYS)
        self.pipelines = {5: (build_pipeline(), [build_flow()])}
        self.flow_files = {f"{STEPS['fetch']}_7": [{"filename": "covers.pdf", "size": 5}]}
        self.refused: tuple[str, ...] = ()  # beginnings of paths that are answered with 403
        self.escapes_html = True

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Handle a request: status and JSON."""
        if method not in ("GET", "POST") or (method == "POST" and "/abilities/" not in path):
            raise AssertionError(f"{method} {path} would change the site")
        if path.removeprefix(API).startswith(self.refused or ("\0",)):
            return 403, {"code": "rest_forbidden", "message": "no", "data": {"status": 403}}
        name, _, query = path.partition("?")
        if "/abilities/" in path:
            return self._run_ability(name, json.loads(body)["input"])
        fields = dict(part.split("=") for part in query.split("&") if part)
        parts = name.removeprefix(f"{API}/").split("/")
        if parts[0] == "agents":
            return 200, {"success": True, "data": self.agents}
        if parts[0] == "pipelines":
            return self._show_pipelines(parts[1:], fields)
        if parts == ["files"]:
            return 200, {"success": True, "data": self.flow_files.get(fields["flow_step_id"], [])}
        return self._show_files(parts[2:], int(fields.get("agent_id", 1)))

    def _show_pipelines(self, parts: list[str], fields: dict[str, str]) -> tuple[int, Any]:
        if parts:
            document, flows = self.pipelines[int(parts[0])]
            return 200, {"success": True, "data": {"pipeline": document, "flows": flows}}
        start = int(fields.get("offset", 0))
        rows = [document for document, _ in self.pipelines.values()]
        page = rows[start : start + int(fields.get("per_page", 20))]
        return 200, {"success": True, "data": {"pipelines": page, "total": len(rows)}}

    def _show_files(self, parts: list[str], agent: int) -> tuple[int, Any]:
        pages = self.pages.get(agent, {})
        if not parts:
            entries = [
                {"filename": name, "layer": layer, "type": "core"}
                for name, (layer, _) in pages.items()
            ]
            return 200, {"success": True, "data": [*entries, {"type": "daily_summary"}]}
        if parts[0] == "daily":
            return 200, {
                "success": True,
                "data": {"date": "-".join(parts[1:]), "content": "- Sold\n"},
            }
        text = pages[parts[0]][1]
        content = text.replace("&", "&amp;").replace("<", "&lt;") if self.escapes_html else text
        size = len(text.encode())
        return 200, {
            "success": True,
            "data": {"filename": parts[0], "size": size, "content": content},
        }

    def _run_ability(self, path: str, fields: dict[str, Any]) -> tuple[int, Any]:
        agent = fields.get("agent_id", 1)
        if "daily-memory-list" in path:
            return 200, {"success": True, "months": self.days.get(agent, [])}
        return 200, {"success": True, "content": self.pages[agent][fields["file"]][1]}


@contextmanager
def serve_site(site: DataMachineSite) -> Iterator[Server]:
    """Serve a site on loopback."""

    def handle(connection: socket.socket, head: bytes) -> None:
        line, _, rest = head.partition(b"\r\n")
        method, path, _ = line.decode().split(" ")
        status, document = site.answer(method, path, rest.partition(b"\r\n\r\n")[2])
        body = json.dumps(document).encode()
        connection.sendall(
            f"HTTP/1.1 {status} OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )

    with run_server(handle) as server:
        yield server


Settings = Callable[[Path, Server], str]


def write_settings(root: Path, server: Server) -> str:
    """Name the site in the settings of a workspace; return its address."""
    (root / "looseleaf.toml").write_text(
        f'outgoing_private_hosts = ["127.0.0.1:{server.port}"]\n[wordpress_sites.paper]\n'
        f'url = "{server.url}"\nuser = "ines"\npassword = "abcd efgh"\n'
    )
    return server.url
