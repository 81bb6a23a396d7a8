"""Scripts and styles: small, kept by version, and nothing else in their folder is served."""

from __future__ import annotations

import gzip

from looseleaf.web.admin.site import compute_version, read_static_files
from tests.web.fixtures import Site


def test_a_file_is_kept_by_its_version(site: Site) -> None:
    """Without the version, or with another, it is not stored."""
    kept = site.client.get(f"/static/{compute_version()}/admin.css")
    assert kept.headers.get_list("cache-control") == ["private, max-age=31536000, immutable"]
    for path in ("/static/admin.css", "/static/0/admin.css"):
        assert site.client.get(path).headers.get_list("cache-control") == ["no-store"]
    assert kept.text == read_static_files()["admin.css"].content.decode()


def test_a_file_is_sent_as_asked_for(site: Site) -> None:
    """Compressed if the browser takes that."""
    plain = site.client.get("/static/frame.js", headers={"accept-encoding": "identity"})
    assert plain.content == read_static_files()["frame.js"].content
    assert gzip.decompress(read_static_files()["frame.js"].gzip_content) == plain.content


def test_nothing_else_is_served(site: Site) -> None:
    """Neither other files nor other folders."""
    for name in ("..%2fsite.py", "none.js", "../templates/login.html"):
        assert site.client.get(f"/static/{name}").status_code == 404
