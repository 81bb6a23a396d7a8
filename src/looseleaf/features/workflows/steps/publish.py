"""The step `publish`: a file below a folder that the operator allows, or a post on WordPress."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from urllib.parse import quote, urlsplit

from looseleaf.allow_list import OutgoingRequest
from looseleaf.errors.features import InvalidStep, RequestFailed, RequestRefused
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.sources import cut_text
from looseleaf.features.workflows.step import StepOutcome, StepType
from looseleaf.features.workflows.steps.texts import (
    LONGEST_TEMPLATE,
    MATERIAL,
    fill_from_packet,
    find_misspelling,
    require_material,
)
from looseleaf.memory.sections import end_line
from looseleaf.values import FrozenDict, Secret, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.allow_list import IncomingResponse
    from looseleaf.features.workflows.packet import Packet
    from looseleaf.features.workflows.step import OutgoingRequests, StepRun
    from looseleaf.settings import Settings, WordPressSite


# Posts on a WordPress site over its REST API, each published once.
# WordPress has no idempotency key. So the address of a post ends in a few characters of the
# hash of its effect's key, and a post with this address is looked for before one is created.


_PASSING = (408, 425, 429)
_POSTS = "/wp-json/wp/v2/posts"
_STATUSES = "draft,pending,private,publish,future"
_MOST_BYTES = 2_000_000


@value
class Post:
    """A post to be published; `key` is that of its effect."""

    title: str
    content: str
    status: str
    key: str

    @property
    def slug(self) -> str:
        """The end of its address: the title in plain letters, and a mark of the key."""
        plain = unicodedata.normalize("NFKD", self.title).encode("ascii", "ignore").decode()
        words = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:60].strip("-") or "post"
        return f"{words}-{hashlib.sha256(self.key.encode()).hexdigest()[:10]}"


def publish_post(requests: OutgoingRequests, site: WordPressSite, post: Post) -> dict[str, str]:
    """Publish a post unless it is there already; return its address and id."""
    earlier = _find_post(requests, site, post.slug)
    if earlier is not None:
        return _describe(site, earlier)
    body = {
        "title": post.title,
        "content": post.content,
        "status": post.status,
        "slug": post.slug,
    }
    request = build_request(site, _POSTS, method="POST", body=json.dumps(body).encode())
    return _describe(site, read_answer(site, requests.send(request), (200, 201)))


def _find_post(requests: OutgoingRequests, site: WordPressSite, slug: str) -> dict[str, Any] | None:
    path = f"{_POSTS}?context=edit&status={_STATUSES}&slug={quote(slug)}"
    posts = read_answer(site, requests.send(build_request(site, path)), (200,))
    if not isinstance(posts, list) or not all(isinstance(post, dict) for post in posts):
        raise RequestFailed(_host_of(site), "its answer is not that of WordPress; check the url")
    return posts[0] if posts else None


def build_request(
    site: WordPressSite, path: str, *, method: str = "GET", body: bytes = b""
) -> OutgoingRequest:
    """Build a request to a site, with its user and password, or raise `RequestRefused`."""
    if site.password is None or not site.user:
        raise RequestRefused(
            _host_of(site),
            f"the site {site.name} has no user or password; set LOOSELEAF_PASSWORD_"
            f"{site.name.upper().replace('-', '_')} and wordpress_sites.{site.name}.user",
        )
    login = f"{site.user}:{site.password.reveal()}".encode()
    headers = {"accept": "application/json"}
    if body:
        headers["content-type"] = "application/json"
    return OutgoingRequest(
        site.url.rstrip("/") + path,
        method,
        FrozenDict(headers),
        body,
        Secret(f"Basic {base64.b64encode(login).decode()}"),
        _MOST_BYTES,
    )


def read_answer(site: WordPressSite, response: IncomingResponse, statuses: tuple[int, ...]) -> Any:  # noqa: ANN401 - any JSON
    """Read the answer of a site, or raise `RequestFailed` (retried) or `RequestRefused`."""
    try:
        document = json.loads(response.body)
    except (ValueError, RecursionError):
        document = None
    if response.status in statuses and document is not None:
        return document
    error_code = document.get("code") if isinstance(document, dict) else None
    code = (
        f" ({error_code[:100]})" if isinstance(error_code, str) and error_code.isprintable() else ""
    )
    reason = f"it answered with status {response.status}{code}"
    if response.status in statuses:
        raise RequestFailed(_host_of(site), "its answer is not that of WordPress; check the url")
    if response.status in _PASSING or response.status >= 500:
        raise RequestFailed(_host_of(site), reason)
    raise RequestRefused(_host_of(site), f"{reason}; check the user, the password and their rights")


def _describe(site: WordPressSite, post: Any) -> dict[str, str]:  # noqa: ANN401 - any JSON
    if not isinstance(post, dict) or not isinstance(post.get("id"), int):
        raise RequestFailed(_host_of(site), "its answer is not that of WordPress; check the url")
    link = post.get("link")
    return {
        "site": site.name,
        "post_id": str(post["id"]),
        "url": link if isinstance(link, str) else site.url,
        "status": str(post.get("status", "")),
    }


def _host_of(site: WordPressSite) -> str:
    return urlsplit(site.url).hostname or site.name


MOST_BYTES = 1_000_000
_LONGEST_TITLE = 200


def run_publish(run: StepRun) -> StepOutcome:
    """Publish the newest text once, and return its place as a packet."""
    packet = require_material(run)
    text = fill_from_packet(run, run.settings.get("template", "{{content}}"), packet)
    if not text.strip():
        return StepOutcome(status="failed", reason="The template gave no text to publish.")
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise InvalidStep(run.step.id, f"the text has more than {MOST_BYTES} bytes")
    target = run.settings["target"]
    data = (_publish_file if target == "file" else _publish_post)(run, packet, text)
    packets = (create_packet("publication", {"target": target, **data}, now=run.parts.clock()),)
    return StepOutcome(packets=packets)


def _publish_file(run: StepRun, packet: Packet, text: str) -> dict[str, str]:
    for name in ("folder", "filename"):
        if not run.settings.get(name):
            raise InvalidStep(run.step.id, f"{name} is missing; a file needs it")
    name = fill_from_packet(run, run.settings["filename"], packet)
    folder = run.settings["folder"]
    path = run.parts.publish_folders.write(
        folder, name, end_line(text).encode(), replace=run.settings.get("replace", False)
    )
    return {"folder": folder, "path": path}


def _publish_post(run: StepRun, packet: Packet, text: str) -> dict[str, str]:
    site = run.parts.find_site(run.settings.get("site", ""))
    title = fill_from_packet(run, run.settings.get("title", "{{title}}"), packet)
    title = cut_text(" ".join(title.split()), _LONGEST_TITLE)
    post = Post(title, text, run.settings.get("status", "draft"), run.effect_key)
    run.report_progress(f"publishes on {site.name}")
    return publish_post(run.parts.requests, site, post)


def find_fault(settings: Mapping[str, Any], workspace: Settings, *, is_whole: bool) -> str:
    """Return why the settings of the step cannot work, or ""."""
    needed: tuple[str, ...] = ("site",)
    names = [site.name for site in workspace.wordpress_sites]
    if settings.get("target") == "file":
        needed, names = ("folder", "filename"), [name for name, _ in workspace.publish_folders]
    missing = [name for name in needed if not settings.get(name)]
    if is_whole and missing:
        return f"{missing[0]} is missing"
    place, setting = settings.get(needed[0]), _PLACES[needed[0]]
    if place and place not in names:
        known = ", ".join(names) or "none"
        return f"{needed[0]}: {setting} in looseleaf.toml has no {place!r}; it has: {known}"
    return find_misspelling(settings, ("filename", "title", "template"))


_PLACES = {"folder": "publish_folders", "site": "wordpress_sites"}
PUBLISH = StepType(
    name="publish",
    label="Publish",
    description=(
        "Write a file below a folder that the operator allows, or a post on a WordPress site."
    ),
    run=run_publish,
    find_fault=find_fault,
    takes=MATERIAL,
    gives=("publication",),
    has_effect=True,
    settings={
        "type": "object",
        "required": ["target"],
        "additionalProperties": False,
        "properties": {
            "target": {
                "type": "string",
                "enum": ["file", "wordpress"],
                "title": "Target",
                "description": "A file in a folder, or a post on a WordPress site.",
            },
            "folder": {
                "type": "string",
                "maxLength": 100,
                "format": "publish-folder",
                "title": "Folder",
                "description": "The name of a folder in the setting publish_folders.",
                "x-when": {"target": ["file"]},
            },
            "filename": {
                "type": "string",
                "maxLength": 500,
                "format": "line",
                "title": "Name of the file",
                "description": "The name of the file, such as {{date}}-{{job}}.md.",
                "x-when": {"target": ["file"]},
            },
            "replace": {
                "type": "boolean",
                "default": False,
                "title": "Replace",
                "description": "Whether a file with another text may be replaced.",
                "x-when": {"target": ["file"]},
            },
            "site": {
                "type": "string",
                "maxLength": 100,
                "format": "wordpress-site",
                "title": "Site",
                "description": "The name of a site in the setting wordpress_sites.",
                "x-when": {"target": ["wordpress"]},
            },
            "status": {
                "type": "string",
                "enum": ["draft", "pending", "private", "publish"],
                "default": "draft",
                "title": "Status",
                "description": "The status of the new post.",
                "x-when": {"target": ["wordpress"]},
            },
            "title": {
                "type": "string",
                "maxLength": 500,
                "default": "{{title}}",
                "format": "line",
                "title": "Title",
                "description": "The title of the post.",
                "x-when": {"target": ["wordpress"]},
            },
            "template": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_TEMPLATE,
                "default": "{{content}}",
                "title": "Text",
                "description": "The text, with names such as {{content}}, {{title}} and {{date}}.",
            },
        },
    },
)
