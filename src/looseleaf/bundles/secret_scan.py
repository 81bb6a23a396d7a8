"""The search for secrets in texts that leave the workspace: which file, line and kind, no value."""

from __future__ import annotations

import re

from looseleaf.values import value
from looseleaf.workflows.artifacts.masking import is_secret_key, split_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_FINDINGS = 100
_PLAIN_KEYS = {"handler_auth"}  # in a manifest: refs, full or omit
_SHORTEST = 8  # characters of a value that an assignment is believed to hold
_LONGEST_LINE = 20_000  # a longer line is searched in parts of this length, each with some overlap
_OVERLAP = 500

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("private key", re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")),
    ("Looseleaf credential", re.compile(r"\bll[tsla]_[0-9a-f]{16}_[0-9A-Za-z]{24,}")),
    (
        "API key",
        re.compile(
            r"\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or|svcacct)?[-_]?[A-Za-z0-9][A-Za-z0-9_-]{18,}"
            r"|\bAIza[A-Za-z0-9_-]{35}|\bhf_[A-Za-z0-9]{30,}|\bgsk_[A-Za-z0-9]{40,}"
            r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
        ),
    ),
    ("cloud access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    (
        "access token",
        re.compile(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{18,}"
            r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}"
            r"|ya29\.[A-Za-z0-9_-]{20,}|dop_v1_[0-9a-f]{40,})"
        ),
    ),
    (
        "signed token",
        re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ),
    ("authorization header", re.compile(r"(?i)\b(?:bearer|basic)\s{1,5}(?=\S*\d)[\w.~+/=-]{20,}")),
    ("password in an address", re.compile(r"[a-z]://[^\s/@:]{1,200}:(?![{<$*])[^\s/@]{3,200}@")),
)
_ASSIGNMENT = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<key>[A-Za-z_][A-Za-z0-9_.-]{1,100})[\"'`*]{0,3}\s{0,5}(?:=|:|=>)\s{0,5}[\"'`]?"
    r"(?P<value>[^\s\"'`,;]{8,200})"
)
_QUERY = re.compile(r"[?&](?P<key>[A-Za-z_][\w.-]{1,100})=(?P<value>[^\s&#\"'`]{8,200})")
_JSON_STRING = re.compile(r'^(?P<indent>\s*)(?:"(?P<key>[^"]{1,200})"\s*:\s*)?"(?P<value>.*?)",?$')
_JSON_OPENING = re.compile(r'^(?P<indent>\s*)"(?P<key>[^"]{1,200})"\s*:\s*[\[{]$')
# A value that stands for a secret kept elsewhere, or for one that was taken out.
_PLACEHOLDER = re.compile(
    r"(?i)^[<{$%\[(]|^(?:x+|\*+|\.+|-+|_+)$|redacted|example|placeholder|changeme|your[-_ ]|env[:.]"
    r"|^(?:none|null|true|false|required|optional|string|secret|password)$"
)


@value
class SecretFinding:
    """A place where a secret stands; its value is nowhere kept or shown."""

    path: str
    line: int
    kind: str

    @property
    def place(self) -> str:
        """The file and line, as editors read them."""
        return f"{self.path}:{self.line} ({self.kind})"


def scan_files(files: Iterable[tuple[str, bytes]]) -> list[SecretFinding]:
    """Search files for secrets, up to `MOST_FINDINGS`; bytes that are no text are searched, too."""
    findings: list[SecretFinding] = []
    for path, content in files:
        findings += scan_text(path, content.decode(errors="replace"))
        if len(findings) >= MOST_FINDINGS:
            break
    return findings[:MOST_FINDINGS]


def scan_text(path: str, text: str) -> Iterator[SecretFinding]:
    """Give each line of a text that holds a secret, once, with the first kind that fits."""
    json_scan = _JsonScan() if path.endswith(".json") else None
    for number, line in enumerate(text.splitlines(), 1):
        kind = _find_kind(line)
        if json_scan is not None:
            kind = json_scan.find_kind(line) or kind
        if kind is not None:
            yield SecretFinding(path, number, kind)


def _find_kind(line: str) -> str | None:
    for start in range(0, len(line) or 1, _LONGEST_LINE - _OVERLAP):
        part = line[start : start + _LONGEST_LINE]
        for kind, shape in _SHAPES:
            if shape.search(part):
                return kind
        for assignment in (*_ASSIGNMENT.finditer(part), *_QUERY.finditer(part)):
            if is_secret_key(split_key(assignment["key"])) and _is_random(assignment["value"]):
                return "value of a secret"
    return None


def _is_random(text: str) -> bool:
    """Say whether a value looks generated, unlike prose after a colon, such as "password: see"."""
    if len(text) < _SHORTEST or _PLACEHOLDER.search(text):
        return False
    has_digit = any(character.isdigit() for character in text)
    has_letter = any(character.isalpha() for character in text)
    is_mixed = text.lower() != text and text.upper() != text and not text.istitle()
    return has_letter and (has_digit or (is_mixed and len(text) >= 2 * _SHORTEST))


class _JsonScan:
    """Reads laid-out JSON by lines: every text below the key of a secret counts, however deep."""

    def __init__(self) -> None:
        self._secret_indent: int | None = None  # of the key whose whole value is a secret

    def find_kind(self, line: str) -> str | None:
        indent = len(line) - len(line.lstrip())
        if self._secret_indent is not None and indent <= self._secret_indent:
            self._secret_indent = None
        opening = _JSON_OPENING.match(line)
        if opening is not None:
            if self._secret_indent is None and is_secret_key(split_key(opening["key"])):
                self._secret_indent = indent
            return None
        entry = _JSON_STRING.match(line)
        if entry is None:
            return None
        key = entry["key"] or ""
        is_secret = self._secret_indent is not None or (
            key not in _PLAIN_KEYS and is_secret_key(split_key(key))
        )
        if not is_secret or len(entry["value"]) < 3 or _PLACEHOLDER.search(entry["value"]):
            return None
        return "value of a secret"
