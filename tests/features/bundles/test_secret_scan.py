"""The secret scan finds what must not leave, by file and line, and never shows a value."""

from __future__ import annotations

import json
import time
from pathlib import Path

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
ALPHABET = "kQ3vZ8mXb1TrW6yLd0HsJ9cNf5PgU2eAaKi7oE4tRjSw"


def letters(count: int) -> str:
    """Return letters of both cases and digits, the same every time."""
    return (ALPHABET * (count // len(ALPHABET) + 1))[:count]


def digits(count: int) -> str:
    """Return hexadecimal digits."""
    return ("9f8e7d6c5b4a3928" * count)[:count]


PASSWORD = "Zx81kk29Akd02"
# Credentials of services, each as it stands alone.
TOKENS = {
    "Slack app": f"xapp-1-{letters(30)}",
    "Shopify": f"shpat_{digits(32)}",
    "Square": f"sq0csp-{letters(43)}",
    "Notion, old": f"secret_{letters(43)}",
    "Notion": f"ntn_{letters(46)}",
    "Databricks": f"dapi{digits(32)}",
    "Figma": f"figd_{letters(40)}",
    "Vault": f"hvs.{letters(24)}",
    "Tailscale": f"tskey-auth-{letters(24)}",
    "Atlassian": f"ATATT3{letters(60)}",
    "Bitbucket": f"ATBB{letters(32)}",
    "Grafana": f"glsa_{letters(32)}_{digits(8)}",
    "Sentry": f"sntrys_{letters(60)}",
    "Supabase": f"sbp_{digits(40)}",
    "PlanetScale": f"pscale_tkn_{letters(40)}",
    "Facebook": f"EAA{letters(100)}",
    "Discord bot": f"M{letters(23)}.{letters(6)}.{letters(27)}",
    "Google client": f"GOCSPX-{letters(28)}",
    "xAI": f"xai-{letters(80)}",
    "Perplexity": f"pplx-{letters(48)}",
    "Replicate": f"r8_{letters(37)}",
    "Mailgun": f"key-{digits(32)}",
    "Twilio": f"SK{digits(32)}",
    "New Relic": f"NRAK-{letters(27).upper()}",
    "Linear": f"lin_api_{letters(40)}",
    "npm": f"npm_{letters(36)}",
    "PyPI": f"pypi-{letters(60)}",
    "Hugging Face": f"hf_{letters(34)}",
    "Groq": f"gsk_{letters(52)}",
    "SendGrid": f"SG.{letters(22)}.{letters(43)}",
    "Stripe": f"sk_live_{letters(24)}",
    "DigitalOcean": f"dop_v1_{digits(64)}",
    "GitHub, new": f"github_pat_{letters(50)}",
    "age": f"AGE-SECRET-KEY-1{letters(58).upper()}",
    "Telegram address": f"api.telegram.org/bot123456789:AA{letters(33)}/sendMessage",
    "Teams address": f"https://x.webhook.office.com/webhookb2/{letters(60)}",
    "Zapier address": "https://hooks.zapier.com/hooks/catch/1234567/b1abcd9/",
    "IFTTT address": f"https://maker.ifttt.com/trigger/door/with/key/{letters(43)}",
    "Azure address": f"https://x.blob.core.windows.net/c/f?sv=2024&sig={letters(43)}%3D",
    "bcrypt": f"$2b$12${letters(53)}",
    "shadow": f"$6$salt${letters(80)}",
}
# Lines that give a value to a name, and lines that are read together.
NAMED = {
    "netrc": f"machine db.example.org login ada password {PASSWORD}",
    "pgpass": f"db.example.org:5432:main:ada:{PASSWORD}",
    "MySQL": f"mysql -u root -p{PASSWORD} main",
    "sshpass": f"sshpass -p {PASSWORD} ssh ada@host",
    "option": f"tool --password {PASSWORD} --verbose",
    "image": f"ENV DB_PASSWORD {PASSWORD}",
    "header": "Authorization: Basic " + "YWRhOmh1bnRlcjI=",
    "XML": f"<password>{PASSWORD}</password>",
    "arrow": f"password → {PASSWORD}",
    "dash": f"Password – {PASSWORD}",
    "whose": f"The password for the NAS is {PASSWORD}",
    "whose, in brackets": f"Password (admin): {PASSWORD}",
    "pair": f"Login: ada / {PASSWORD}",
    "short name": f"pw: {PASSWORD}",
    "French": f"Mot de passe : {PASSWORD}",
    "Russian": f"Пароль: {PASSWORD}",
    "Chinese": f"密码：{PASSWORD}",
    "PIN": "PIN of the card: see below. PIN: 47110815",
    "seed phrase": "Seed phrase: " + "apple river stone " * 3 + "cloud tiger lemon",
    "block": f"password: |\n  {PASSWORD}",
    "heading": f"### Password\n\n`{PASSWORD}`",
    "table": f"| host | login | password |\n|---|---|---|\n| nas | ada | {PASSWORD} |",
    "table, later row": f"| Password | For |\n|---|---|\n| see vault | a |\n| `{PASSWORD}` | b |",
    "table of keys": f"| service | API key |\n|---|---|\n| maps | {letters(32)} |",
    "CSV": f"host,login,password\nnas,ada,{PASSWORD}",
    "CSV with semicolons": f"host;login;Passwort\nnas;ada;{PASSWORD}",
    "tabs": f"host\tpassword\nnas\t{PASSWORD}",
}
CARRIERS = ("{}", "- {}", "It is `{}`, says Ada.", '"{}"', "| maps | {} |", "**{}**", "key: {}")
HARMLESS = [
    "| host | password |\n|---|---|\n| nas | ask Grace |\n| db | <in the vault> |",
    "| token | description |\n|---|---|\n| access | short-lived-token |\n| refresh | long |",
    "login, password\nNow, really",
    "### Password\n\nIt is in the vault.",
    "password:\n\nSee the vault, entry 12.",
    "The password for the NAS is in the vault.",
    "Login: ada / Grace",
    "--password FILE reads it; --token-file /run/secrets/token",
    "Password – ask Grace; token → see the vault",
    "<password>${DB_PASSWORD}</password>",
    "The PIN is 4 digits; PIN: ask Ada",
    "It costs $2 to $5, or $6$ in the shop",
    "Seed phrase: keep it in the safe and never write it down here",
    "ratio:8080:a:b",
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


@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_format_is_found_wherever_it_stands(carrier: str) -> None:
    """Keys of services are known by their form: in prose, lists, tables, code and quotes."""
    texts = {name: carrier.format(token) for name, token in TOKENS.items()}
    missed = [name for name, text in texts.items() if not list(scan_text("MEMORY.md", text))]
    assert missed == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_way_to_name_a_secret_is_found(end: str) -> None:
    """Also in columns of tables, below a heading, in commands and in other languages."""
    missed = []
    for name, text in NAMED.items():
        lines = ("# Notes\n\n" + text).replace("\n", end)
        findings = list(scan_text("MEMORY.md", lines))
        if [finding.line for finding in findings] != [3 + text.count("\n")]:
            missed.append(name)
    assert missed == []
    assert len(SECRETS) + len(TOKENS) + len(NAMED) >= 90


def test_the_documentation_has_no_secret() -> None:
    """Pages full of words about passwords, tokens and keys cause no false alarm."""
    pages = sorted(Path(__file__).parents[3].glob("docs/*.md"))
    assert len(pages) > 20
    assert scan_files([(page.name, page.read_bytes()) for page in pages]) == []


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
    "piece",
    [
        *("a", "password:", "eyJ", "sk-", "://a:", "Bearer ", "A_", '"x":', "password for ", "a|"),
        *(
            "<a ",
            "login: a",
            "seed apple ",
            "mysql -p",
            "a:1",
            "authorization: basic ",
            "password (",
        ),
    ],
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
