"""Data Machine on a running site, over its REST interface: the agent of the site's user.

Requests go through the client for other servers, with its allow-list and limits. The site is one
of the setting `wordpress_sites`, which has its user and password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.bundles.importers.contract import Reading, SourcePage
from looseleaf.bundles.importers.left_out import LeftOut
from looseleaf.errors import InvalidImport, RequestFailed
from looseleaf.memory.day import FOLDER, parse_date
from looseleaf.memory.scope import LAYERS
from looseleaf.workflows.steps.wordpress import build_request, read_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from looseleaf.http_client.message import IncomingResponse, OutgoingRequest
    from looseleaf.setting_tables import WordPressSite

    Send = Callable[[OutgoingRequest], IncomingResponse]

KIND, TITLE = "datamachine-site", "Data Machine site"
MOST_REQUESTS = 5_000
_FILES = "/wp-json/datamachine/v1/files/agent"
_DAYS = "/wp-json/wp-abilities/v1/abilities/datamachine/daily-memory-list/run"


class _Connection:
    """Asks one site, a bounded number of times."""

    def __init__(self, send: Send, site: WordPressSite) -> None:
        self._send, self.site = send, site
        self._count = 0

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"") -> dict[str, Any]:
        """Ask for a document, or raise `RequestFailed` or `RequestRefused`."""
        self._count += 1
        if self._count > MOST_REQUESTS:
            raise InvalidImport(
                f"{self.site.url} has more than {MOST_REQUESTS:,} pages. Import its "
                "datamachine-files folder instead."
            )
        request = build_request(self.site, path, method=method, body=body)
        document = read_answer(self.site, self._send(request), (200,))
        if not isinstance(document, dict):
            raise self.failure()
        return document

    def failure(self) -> RequestFailed:
        """Give the error for an answer that is not that of Data Machine."""
        return RequestFailed(self.site.url, "its answer is not that of Data Machine")


def read_site(send: Send, site: WordPressSite) -> Reading:
    """Read the pages and the journal that the user of a site sees."""
    connection = _Connection(send, site)
    left_out: list[LeftOut] = []
    pages = [*_read_pages(connection, left_out), *_read_days(connection, left_out)]
    return Reading(tuple(pages), tuple(left_out))


def _read_pages(connection: _Connection, left_out: list[LeftOut]) -> Iterator[SourcePage]:
    entries = connection.ask(_FILES).get("data")
    if not isinstance(entries, list):
        raise connection.failure()
    for entry in entries:
        filename = entry.get("filename") if isinstance(entry, dict) else None
        layer = entry.get("layer") if isinstance(entry, dict) else None
        if not isinstance(filename, str) or layer not in LAYERS:
            left_out.append(LeftOut(str(filename), f"its layer is {layer!r}, which is not known"))
            continue
        document = connection.ask(f"{_FILES}/{quote(filename)}").get("data")
        text = document.get("content") if isinstance(document, dict) else None
        if isinstance(text, str):
            yield SourcePage(filename, text, (filename,), layer)
        else:
            left_out.append(LeftOut(filename, "the site gives no text for it"))


def _read_days(connection: _Connection, left_out: list[LeftOut]) -> Iterator[SourcePage]:
    document = connection.ask(_DAYS, method="POST", body=b'{"input": {}}')
    months = document.get("months", document)
    for month, days in sorted(months.items()) if isinstance(months, dict) else ():
        for number in days if isinstance(days, list) else ():
            day = parse_date(f"{month}/{number}".replace("/", "-"))
            source = f"{FOLDER}/{month}/{number}"
            if day is None:
                left_out.append(LeftOut(source, "there is no such day"))
                continue
            content = connection.ask(f"{_FILES}/{source}").get("data")
            text = content.get("content") if isinstance(content, dict) else None
            if isinstance(text, str):
                yield SourcePage(day.filename, text, (source,))
            else:
                left_out.append(LeftOut(source, "the site gives no text for it"))
