"""Posts on a WordPress site over its REST API, each published once.

WordPress has no idempotency key. So the address of a post ends in a few characters of the hash of
its effect's key, and a post with this address is looked for before one is created.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from urllib.parse import quote, urlsplit

from looseleaf.errors.workflows import RequestFailed, RequestRefused
from looseleaf.http_client.message import OutgoingRequest
from looseleaf.values import FrozenDict, Secret, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.http_client.message import IncomingResponse
    from looseleaf.setting_tables import WordPressSite
    from looseleaf.workflows.step_parts import OutgoingRequests

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
