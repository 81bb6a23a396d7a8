"""The step `publish`: files in folders of the settings, and posts that are published once."""

from __future__ import annotations

import base64
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import InvalidStep, RequestFailed, RequestRefused
from tests.features.workflows.steps.conftest import Bench, Opener, ai_response
from tests.servers import Handler, build_handler, run_server

PASSWORD = "abcd efgh ijkl mnop"


class Site:
    """As much of WordPress as answers a request for posts."""

    def __init__(self) -> None:
        self.posts: list[dict[str, Any]] = []
        self.fails_after_saving = False

    def handle(self, connection: socket.socket, head: bytes) -> None:
        """Answer GET and POST of /wp-json/wp/v2/posts to whoever has the password."""
        line, _, rest = head.partition(b"\r\n")
        method, target, _ = line.decode().split(" ")
        login = base64.b64encode(f"bot:{PASSWORD}".encode())
        if b"Authorization: Basic " + login not in rest:
            body = {"code": "rest_cannot_create", "message": "Sorry."}
            build_handler(json.dumps(body).encode(), status="401 Unauthorized")(connection, head)
            return
        parts = urlsplit(target)
        assert parts.path == "/wp-json/wp/v2/posts"
        if method == "GET":
            (slug,) = parse_qs(parts.query)["slug"]
            found = [post for post in self.posts if post["slug"] == slug]
            build_handler(json.dumps(found).encode())(connection, head)
            return
        document = json.loads(head.partition(b"\r\n\r\n")[2])
        post = {
            **document,
            "id": len(self.posts) + 1,
            "link": f"https://blog.test/{len(self.posts)}",
        }
        self.posts.append(post)
        if self.fails_after_saving:
            self.fails_after_saving = False
            build_handler(b"", status="502 Bad Gateway")(connection, head)
            return
        build_handler(json.dumps(post).encode(), status="201 Created")(connection, head)


def site_settings(port: int, password: str = PASSWORD) -> str:
    """Return settings with a site on loopback."""
    return (
        f'outgoing_private_hosts = ["127.0.0.1:{port}"]\n'
        f'[wordpress_sites.blog]\nurl = "http://127.0.0.1:{port}/"\nuser = "bot"\n'
        f'password = "{password}"\n'
    )


def test_a_file_is_published(open_bench: Opener, tmp_path: Path) -> None:
    """Its name and its text come from the packet, the folder from the settings."""
    (tmp_path / "site").mkdir()
    bench = open_bench(f'[publish_folders]\nsite = "{tmp_path / "site"}"\n')
    settings = {
        "target": "file",
        "folder": "site",
        "filename": "{{date}}/news-{{job}}.md",
        "template": "# {{title}}\n\n{{content}}\n",
    }
    for _ in range(2):
        (packet,) = bench.run("publish", settings, ai_response("text", title="News")).packets
        assert packet.data == {"target": "file", "folder": "site", "path": "2026-04-17/news-7.md"}
    assert (tmp_path / "site/2026-04-17/news-7.md").read_text() == "# News\n\ntext\n"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"target": "file"}, InvalidStep),
        ({"target": "file", "folder": "nowhere", "filename": "a.md"}, InvalidArgument),
        ({"target": "wordpress", "site": "nowhere"}, InvalidStep),
    ],
)
def test_a_target_must_be_in_the_settings(
    bench: Bench, settings: dict[str, object], error: type[Exception]
) -> None:
    """A pipeline cannot name a path or a site of its own."""
    with pytest.raises(error):
        bench.run("publish", settings, ai_response("text"))


def test_a_title_cannot_lead_out_of_the_folder(open_bench: Opener, tmp_path: Path) -> None:
    """The text of a packet in a filename passes the rules of names."""
    (tmp_path / "site").mkdir()
    bench = open_bench(f'[publish_folders]\nsite = "{tmp_path / "site"}"\n')
    settings = {"target": "file", "folder": "site", "filename": "{{title}}"}
    with pytest.raises(ValueError, match="cannot be used as a name"):
        bench.run("publish", settings, ai_response("text", title="../../etc/x"))


def test_a_post_is_published_once(open_bench: Opener) -> None:
    """Even if the site saved it and the answer was lost."""
    site = Site()
    with run_server(site.handle) as server:
        bench = open_bench(site_settings(server.port))
        settings = {"target": "wordpress", "site": "blog", "status": "publish"}
        site.fails_after_saving = True
        with pytest.raises(RequestFailed, match="502"):
            bench.run("publish", settings, ai_response("<p>text</p>", title="A – Title!"))
        outcome = bench.run("publish", settings, ai_response("<p>text</p>", title="A – Title!"))
        again = bench.run("publish", settings, ai_response("<p>text</p>", title="A – Title!"))
    assert outcome.packets[0].data == again.packets[0].data
    assert outcome.packets[0].data["url"] == "https://blog.test/0"
    assert outcome.packets[0].data["post_id"] == "1"
    (post,) = site.posts
    assert (post["title"], post["content"], post["status"]) == (
        "A – Title!",
        "<p>text</p>",
        "publish",
    )
    assert post["slug"].startswith("a-title-")


def test_a_wrong_password_is_refused_and_never_said(open_bench: Opener) -> None:
    """Trying again would not help; the error names the site's code and no secret."""
    with run_server(Site().handle) as server:
        bench = open_bench(site_settings(server.port, "wrong wrong wrong"))
        with pytest.raises(RequestRefused, match="rest_cannot_create") as told:
            bench.run("publish", {"target": "wordpress", "site": "blog"}, ai_response("x"))
    assert "wrong wrong" not in str(told.value)


def test_the_password_comes_from_the_environment(
    open_bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it stands in no file."""
    monkeypatch.setenv("LOOSELEAF_PASSWORD_BLOG", PASSWORD)
    with run_server(Site().handle) as server:
        bench = open_bench(site_settings(server.port, ""))
        outcome = bench.run("publish", {"target": "wordpress", "site": "blog"}, ai_response("x"))
    assert outcome.packets[0].data["status"] == "draft"


@pytest.mark.parametrize(
    ("handle", "error"),
    [
        (build_handler(b"<html>", status="200 OK"), RequestFailed),
        (build_handler(b"{}", status="200 OK"), RequestFailed),
        (build_handler(b"", status="503 Busy"), RequestFailed),
        (build_handler(b'{"code": "x"}', status="400 Bad"), RequestRefused),
        (
            build_handler(b"", status="302 Found", headers=("Location: http://10.0.0.1/",)),
            RequestRefused,
        ),
    ],
)
def test_a_site_that_does_not_answer_as_wordpress_fails(
    open_bench: Opener, handle: Handler, error: type[Exception]
) -> None:
    """What may pass is tried again, what will not is not."""
    with run_server(handle) as server:
        bench = open_bench(site_settings(server.port))
        with pytest.raises(error):
            bench.run("publish", {"target": "wordpress", "site": "blog"}, ai_response("x"))


def test_an_empty_text_is_not_published(bench: Bench) -> None:
    """The step fails and says why."""
    settings = {"target": "file", "folder": "f", "filename": "a.md", "template": "{{url}}"}
    assert bench.run("publish", settings, ai_response("x")).status == "failed"
