"""The secret scan finds what must not leave, by file and line, and never shows a value."""

from __future__ import annotations

import json
import time

import pytest

from looseleaf.access.accounts import TOKEN
from looseleaf.access.authentication import create_id, create_secret, format_credential
from looseleaf.features.bundles.secret_scan import MOST_FINDINGS, scan_files, scan_text

# Put together here, so that no scanner takes this file for one that leaks.
SECRETS = {
    "private key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    "OpenAI": "the key is sk-" + "proj-abcdefghij0123456789ABCDEFGHIJ",
    "Anthropic": "sk-" + "ant-api03-abcdefghij0123456789",
    "Google": "AIza" + "SyA0123456789abcdefghijklmnopqrstuvw",
    "GitHub": "use ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "GitLab": "glpat-" + "abcdefghij0123456789",
    "Slack": "xoxb-" + "1234567890-abcdefghij",
    "AWS": "AKIA" + "ABCDEFGHIJKLMNOP",
    "JWT": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.abcdefghijklmnop",
    "header": "Authorization: Bearer " + "abcdef0123456789abcdef",
    "address": "postgresql://app:hunter22@db.internal/main",
    "query": "https://feeds.example.org/news?page=2&api_key=Zx81kQpm47TbnE2r",
    "assignment": "DB_PASSWORD=hunter2hunter2",
    "YAML": "api_key: 9f8e7d6c5b4a39281706",
    "table": "- **password**: `Tr0ub4dor&3x`",
    "bold name": "**Password:** Zx81kk29Akd02",
    "row of a table": "| password | Zx81kk29Akd02 |",
    "sentence": "The password is Zx81kk29Akd02",
    "short": "password: hunter2",
    "two words": "API key: Zx81kk29Akd02",
    "account key": "AccountName=x;AccountKey=Zx81kk29Akd02Zx81kk29==",
    "variable": "export DB_PASSWORD=correcthorsebattery",
    "command": "curl -u admin:Zx81kk29Akd02 https://example.org",
    "WordPress": "for the blog: abcd EFGH 1234 ijkl MNOP 6789",
    "Data Machine": "datamachine_ada_" + "ab12" * 16,
    "Slack address": "https://hooks.slack.com/" + "services/T0000/B0000/abcdefghijklmnop",
    "Telegram": "123456789:" + "AAabcdefghijklmnopqrstuvwxyz0123456",
}
HARMLESS = [
    "The password is in the vault; ask Grace for it.",
    "password: see the vault",
    "Set OPENAI_API_KEY=${OPENAI_API_KEY} before you start.",
    "token: <your-token-here>",
    "api_key = your-api-key-1234",
    "max_tokens: 4096",
    "The tokens: 12345678 in, 87654321 out.",
    "Author: grace.hopper1906@example.org",
    "See https://docs.example.org:8080/path and git@example.org:me/repo.git",
    "commit 1d40c17a9c0b1e2f3a4b5c6d7e8f9a0b1c2d3e4f",
    "The basic idea: tests first. Bearer of bad news.",
    "secret: [redacted]",
    "The token budget: 8k-16k-total, and the API key: ask Grace.",
    "| token | description |",
    "this that they were from here",
    "2021 2022 2023 2024 2025 2026",
    "sk-learn is a library; task-oriented, risk-averse",
]


@pytest.mark.parametrize("line", SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_found_without_its_value(line: str) -> None:
    """A secret is named by file, line and kind, and no part of the finding shows it."""
    findings = list(scan_text("memory/agent/MEMORY.md", f"# Notes\n\n{line}\n"))
    assert [(finding.path, finding.line) for finding in findings] == [("memory/agent/MEMORY.md", 3)]
    for word in line.replace("=", " ").replace(":", " ").split():
        assert len(word) < 12 or word not in findings[0].place


@pytest.mark.parametrize("line", HARMLESS)
def test_prose_about_secrets_is_none(line: str) -> None:
    """Sentences about passwords, placeholders, counts and hashes are left alone."""
    assert list(scan_text("MEMORY.md", line)) == []


def test_a_credential_of_our_own_is_found() -> None:
    """A token of Looseleaf is known by its form."""
    token = format_credential(TOKEN, create_id(), create_secret())
    assert [finding.kind for finding in scan_text("a.md", token)] == ["Looseleaf credential"]


def test_json_is_read_by_its_keys() -> None:
    """In JSON every text below the key of a secret counts, however plain it looks."""
    document = {
        "auth": {"user": "grace", "value": "plain words"},
        "cookies": ["alpha"],
        "handler": {"password": "simple", "url": "https://example.org"},
        "model": "plain",
        "max_tokens": 400,
        "token": "",
    }
    text = json.dumps(document, indent=2)
    lines = text.splitlines()
    places = [lines[finding.line - 1].strip() for finding in scan_text("flows/a.json", text)]
    assert places == [
        '"user": "grace",',
        '"value": "plain words"',
        '"alpha"',
        '"password": "simple",',
    ]


def test_findings_are_bounded() -> None:
    """A file full of secrets gives no more findings than anyone reads."""
    line = SECRETS["AWS"] + "\n"
    assert len(scan_files([("a.md", line.encode() * 5_000)])) == MOST_FINDINGS


@pytest.mark.parametrize(
    "piece", ["a", "password:", "eyJ", "sk-", "://a:", "Bearer ", "A_", '"x":']
)
def test_a_long_line_takes_time_that_grows_with_it(piece: str) -> None:
    """Twenty times the text takes nowhere near four hundred times as long."""

    def measure(length: int) -> float:
        text = (piece * length)[:length]
        start = time.process_time()
        assert list(scan_text("a.md", text)) is not None
        return time.process_time() - start

    measure(10_000)
    assert measure(1_000_000) < 100 * max(measure(50_000), 0.005)


@pytest.mark.parametrize(
    "document",
    [
        {"system_prompt": "First line.\n" + SECRETS["AWS"]},
        {"prompt_queue": ["Go.\n\tpassword: hunter2hunter2"]},
        {"text": 'say "api_key": "Zx81kk29Akd02"'},
    ],
)
def test_a_secret_inside_a_text_of_json_is_found(document: dict[str, object]) -> None:
    """An escaped line end or quote before it hides nothing; the line is that of the file."""
    text = json.dumps({"a": 1, **document}, indent=4)
    [finding] = scan_text("pipelines/news.json", text)
    assert finding.line in (3, 4)


def test_json_on_one_line_is_searched_by_its_keys() -> None:
    """Uploaded files are not laid out as ours are."""
    assert list(scan_text("a.json", '{"user":"ada","password":"correct horse"}'))
    assert not list(scan_text("a.json", '{"user":"ada","password":"<secret>","max_tokens":"9"}'))
    manifest = json.dumps({"included": {"auth_refs": ["rss.json"]}}, indent=4)
    assert not list(scan_text("manifest.json", manifest))


def test_lines_are_counted_as_editors_count_them() -> None:
    """A form feed or a line separator of Unicode begins no line."""
    [finding] = scan_text("a.md", "a\x0cb\u2028c\r\npassword: hunter2hunter2\r\n")
    assert finding.line == 2
