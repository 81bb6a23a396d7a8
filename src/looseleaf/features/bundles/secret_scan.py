"""The search for secrets in texts that leave the workspace; it reports file, line and kind only."""

from __future__ import annotations

import json
import re

from looseleaf.features.workflows.artifacts import is_secret_key, split_key
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_FINDINGS = 100
_PLAIN_KEYS = {"handler_auth", "auth_refs"}  # of a manifest: a mode, and names of files
_SHORTEST = 8  # characters of a value that counts as a secret
_SHORTEST_PASSWORD = 6  # people choose shorter ones than programs do
_PASSWORDS = {
    *("password", "passwords", "passwort", "passwd", "passphrase", "passcode", "pass", "pwd", "pw"),
}
_KEY_OWNERS = {"api", "access", "account", "private", "secret", "master", "encryption"}
_DELIMITERS = ("|", "\t", ";", ",")
_MOST_CELLS = 50
_COLUMN = re.compile(r"(?:[\w.-]{1,30} ?){0,4}")
_LONGEST_NAME = 60  # of a line that is a name alone
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
            r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bwhsec_[A-Za-z0-9+/=]{20,}"
            r"|\bAGE-SECRET-KEY-1[0-9A-Z]{40,}|\bPuTTY-User-Key-File-\d"
            r"|\bxai-[A-Za-z0-9]{40,}|\bpplx-[A-Za-z0-9]{40,}|\br8_[A-Za-z0-9]{30,}"
            r"|\bkey-[0-9a-f]{32}\b|\bSK[0-9a-f]{32}\b|\bNRAK-[0-9A-Z]{20,}"
            r"|\blin_api_[A-Za-z0-9]{30,}|\bGOCSPX-[A-Za-z0-9_-]{20,}"
        ),
    ),
    ("cloud access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    (
        "access token",
        re.compile(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{18,}"
            r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}"
            r"|ya29\.[A-Za-z0-9_-]{20,}|dop_v1_[0-9a-f]{40,}"
            r"|datamachine_[a-z0-9_-]{1,80}_[0-9a-f]{64}|xapp-\d-[A-Za-z0-9-]{20,}"
            r"|shp(?:at|ss|ca|pa)_[0-9a-f]{32}|sq0(?:csp|atp)-[A-Za-z0-9_-]{22,}"
            r"|secret_[A-Za-z0-9]{40,}|ntn_[A-Za-z0-9]{40,}|dapi[0-9a-f]{32}|figd_[\w-]{30,}"
            r"|hv[sb]\.[A-Za-z0-9_-]{24,}|tskey-[a-z]{2,12}-[A-Za-z0-9-]{20,}"
            r"|ATATT3[A-Za-z0-9_=-]{50,}|ATBB[A-Za-z0-9]{28,}|gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"
            r"|sntrys_[A-Za-z0-9+/=_]{40,}|sbp_[0-9a-f]{40}|pscale_tkn_[A-Za-z0-9_-]{30,}"
            r"|EAA[A-Za-z0-9]{60,}|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})"
            r"|(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{32,}"
        ),
    ),
    (
        "signed token",
        re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ),
    (
        "authorization header",
        re.compile(
            r"(?i)\b(?:bearer|basic)\s{1,5}(?=\S*\d)[\w.~+/=-]{20,}"
            r"|\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,5}"
            r"(?=\S{0,100}[\d=])[\w.~+/=-]{10,}"
        ),
    ),
    ("hash of a password", re.compile(r"\$(?:2[aby]|apr1|[156y]|argon2id?)\$\S{20,}")),
    (
        "seed phrase",
        re.compile(
            r"(?i)\b(?:seed|recovery|mnemonic)(?: phrase| words?)?\s{0,3}(?::|=|is)\s{0,3}[\"'`]?"
            r"(?:[a-z]{3,8} ){11,23}[a-z]{3,8}\b"
        ),
    ),
    ("PIN", re.compile(r"\bPIN\b[\"'`*]{0,3}\s{0,3}(?::|=|\||is)[*]{0,2}\s{0,3}[\"'`]?\d{4,8}\b")),
    (
        "address that is a secret",
        re.compile(
            r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}"
            r"|discord(?:app)?\.com/api/webhooks/\d{5,25}/[A-Za-z0-9_-]{30,}"
            r"|webhook\.office\.com/webhookb2/[\w@/-]{40,}|hooks\.zapier\.com/hooks/catch/\d+/\w{6,}"
            r"|maker\.ifttt\.com/trigger/[\w-]{1,60}/(?:json/)?with/key/[\w-]{20,}"
            r"|[?&]sig=[A-Za-z0-9%+/]{30,}"
        ),
    ),
    (
        "application password",  # of WordPress: six groups of four
        re.compile(
            r"(?<![A-Za-z0-9])(?=[A-Za-z ]{0,28}\d)(?=[A-Z0-9 ]{0,28}[a-z])(?=[a-z0-9 ]{0,28}[A-Z])"
            r"[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){5}(?![A-Za-z0-9])"
        ),
    ),
    (
        "password in a command",
        re.compile(
            r"\s-u\s{1,3}[\"']?[^\s:\"']{1,100}:(?![{<$*])[^\s\"']{6,}"
            r"|\bmysql\w{0,10}\s[^|;\n]{0,200}?\s-p(?=\S{0,40}\d)(?![{<$*])[^\s\"']{6,}"
            r"|\bsshpass\s{1,3}-p\s{0,3}(?![{<$*])\S{4,}"
        ),
    ),
    (
        "line of a password file",  # .netrc, .pgpass
        re.compile(
            r"\bmachine\s\S{1,200}\s{1,5}login\s\S{1,100}\s{1,5}password\s(?![{<$*])\S{3,}"
            r"|^[\w.*-]{1,200}:\d{2,5}:[\w*-]{1,60}:[\w*-]{1,60}:(?![{<$*])\S{4,}$"
        ),
    ),
    ("password in an address", re.compile(r"[a-z]://[^\s/@:]{1,200}:(?![{<$*])[^\s/@]{3,200}@")),
)
_VALUE = r"[*_]{0,3}\s{0,5}[\"'`]?(?P<value>[^\s\"'`,;|<]{6,200})"
_ASSIGNMENT = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<key>(?:[A-Za-z]{2,20} )?[A-Za-z_][A-Za-z0-9_.-]{1,100})[\"'`*]{0,3}"
    r"(?P<sign>\s{0,5}(?:=>|->|→|=|:|\|)|\s{1,3}(?:is|–|—)\s)" + _VALUE
)
# Other ways to give a value to a name: whose it is, tags, options, environment, other languages.
_PHRASE = re.compile(
    r"(?i)(?<![\w.-])(?P<key>password|passphrase|passcode|pwd|secret|token|api key)"
    r" ?(?:\([^()]{1,60}\)|(?:for|of|to|on|at) [^.:=|]{1,60}?)(?:\s{0,3}[:=]|\s{1,3}is\s)" + _VALUE
)
_TAG = re.compile(r"<(?P<key>[A-Za-z][\w.-]{1,60})(?:\s[^<>]{0,200})?>(?P<value>[^<>\s]{6,200})</")
_OPTION = re.compile(
    r"(?:\s--|\bENV\s|\bsetx?\s|\bset -gx?\s)(?P<key>[A-Za-z][\w-]{1,60})\s{1,3}[\"']?"
    r"(?P<value>[^\s\"'`,;|<]{6,200})"
)
_LOGIN = re.compile(
    r"(?i)\b(?:log-?in|credentials?|user(?:name)?)[*_]{0,3}\s{0,3}[:=]\s{0,3}[^\s/:]{2,60}\s{1,3}/\s{1,3}"
    r"[\"'`]?(?P<value>[^\s\"'`,;|<]{6,200})"
)
_FOREIGN_PASSWORD = re.compile(
    r"(?i)(?:mot de passe|contrase[nñ]a|kennwort|senha|wachtwoord|lösenord|hasło|şifre"
    r"|пароль|密码|密碼|パスワード|비밀번호)[\"'`*]{0,3}\s{0,3}[:：=|][*_]{0,3}\s{0,3}[\"'`]?(?P<value>[^\s\"'`,;|<]{6,200})"
)
_ASSIGNMENTS = (_ASSIGNMENT, _PHRASE, _TAG, _OPTION)
# A name alone on a line, as a heading or before a block: its value stands on the next one.
_NAME_ALONE = re.compile(
    r"^[\s#>*_`-]{0,12}(?P<key>(?:[A-Za-z]{2,20} )?[A-Za-z_][\w.-]{1,60})[*_`]{0,3}\s{0,3}"
    r":?[*_]{0,3}\s{0,3}(?:[|>][+-]?)?\s{0,5}$"
)
_QUERY = re.compile(r"[?&](?P<key>[A-Za-z_][\w.-]{1,100})=(?P<value>[^\s&#\"'`]{8,200})")
_LINE_END = re.compile(r"\r\n|\r|\n")
# A string of JSON; an unclosed one extends to the end, so that it is searched only once.
_JSON_LITERAL = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|$)')
_JSON_STRING = re.compile(r'^(?P<indent>\s*)(?:"(?P<key>[^"]{1,200})"\s*:\s*)?"(?P<value>.*?)",?$')
_JSON_OPENING = re.compile(r'^(?P<indent>\s*)"(?P<key>[^"]{1,200})"\s*:\s*[\[{]$')
# A placeholder for a secret that is kept elsewhere or was removed.
_PLACEHOLDER = re.compile(
    r"(?i)^[<{$%\[(]|^(?:x+|\*+|\.+|-+|_+)$|redacted|example|placeholder|changeme|your[-_ ]|env[:.]"
    r"|^(?:none|null|true|false|required|optional|string|secret|password)$"
)


@value
class SecretFinding:
    """The place of a secret; the value is never kept or shown."""

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
    """Yield each line of a text that holds a secret, once, with the first kind that fits."""
    json_scan = _JsonScan() if path.endswith(".json") else None
    line_scan = _LineScan()
    for number, line in enumerate(_LINE_END.split(text), 1):
        kind = line_scan.find_kind(line) or _find_kind(line)
        if json_scan is not None:
            kind = json_scan.find_kind(line) or kind or _find_in_literals(line)
        if kind is not None:
            yield SecretFinding(path, number, kind)


def _find_kind(line: str) -> str | None:
    for start in range(0, len(line) or 1, _LONGEST_LINE - _OVERLAP):
        part = line[start : start + _LONGEST_LINE]
        for kind, shape in _SHAPES:
            if shape.search(part):
                return kind
        for shape in (*_ASSIGNMENTS, _QUERY):
            if any(map(_is_assigned_secret, shape.finditer(part))):
                return "value of a secret"
        for shape in (_LOGIN, _FOREIGN_PASSWORD):
            if any(
                _is_random(found["value"], _SHORTEST_PASSWORD) for found in shape.finditer(part)
            ):
                return "value of a secret"
    return None


def _is_assigned_secret(assignment: re.Match[str]) -> bool:
    """Return whether an assignment gives a secret's name a value that looks like a secret."""
    key, text = assignment["key"], assignment["value"]
    shortest = _find_shortest(key)
    if not shortest:
        return False
    if key.rpartition(" ")[2].isupper() and "=" in assignment.groupdict().get("sign", ""):
        return not _PLACEHOLDER.search(text)  # a shell variable holds no prose
    return _is_random(text, shortest)


def _find_shortest(key: str) -> int:
    """Return how many characters a secret under a name has at least, or 0 if it has no secret."""
    first, _, name = key.strip().rpartition(" ")
    words = split_key(name)
    is_key = words[-1:] == ("key",) and bool(_KEY_OWNERS & {*split_key(first), *words})
    if not words or not (is_key or is_secret_key(words) or set(words) <= _PASSWORDS):
        return 0
    return _SHORTEST_PASSWORD if _PASSWORDS & set(words) else _SHORTEST


def _find_in_literals(line: str) -> str | None:
    """Search the strings of a line of JSON after decoding, with their own lines and quotes."""
    key, key_end = "", 0
    for literal in _JSON_LITERAL.finditer(line):
        try:
            text = json.loads(literal[0])
        except ValueError:
            continue
        is_member = line[key_end : literal.start()].strip() == ":"
        if is_member and _is_secret_member(key, text):
            return "value of a secret"
        key, key_end = text[:200], literal.end()
        if "\\" not in literal[0]:
            continue
        for part in _LINE_END.split(text):
            if (kind := _find_kind(part)) is not None:
                return kind
    return None


def _is_secret_member(key: str, text: str) -> bool:
    is_secret = key not in _PLAIN_KEYS and is_secret_key(split_key(key))
    return is_secret and len(text) >= 3 and not _PLACEHOLDER.search(text)


def _is_random(text: str, shortest: int = _SHORTEST) -> bool:
    """Return whether a value looks generated, unlike prose such as "password: see"."""
    if len(text) < shortest or _PLACEHOLDER.search(text):
        return False
    has_digit = any(character.isdigit() for character in text)
    has_letter = any(character.isalpha() for character in text)
    is_mixed = text.lower() != text and text.upper() != text and not text.istitle()
    return has_letter and (has_digit or (is_mixed and len(text) >= 2 * _SHORTEST))


class _LineScan:
    """Reads what several lines say together: columns of tables, and a name above its value."""

    def __init__(self) -> None:
        self._delimiter = ""  # of the table that the last line belongs to
        self._columns: dict[int, int] = {}  # of secrets, with the least length of each
        self._cells = 0  # in the head of the table
        self._awaited = 0  # the least length of a value on this line, after a name alone

    def find_kind(self, line: str) -> str | None:
        """Return the kind of secret that a line has by those above it."""
        bare = line.strip()[:_LONGEST_LINE]
        awaited = self._awaited
        if bare:
            name = _NAME_ALONE.match(bare) if len(bare) < _LONGEST_NAME else None
            self._awaited = _find_shortest(name["key"]) if name is not None else 0
        value = bare.strip("`\"'*_- >")
        if awaited and bare and not any(map(str.isspace, value)) and _is_random(value, awaited):
            return "value of a secret"
        return "secret in a table" if self._is_in_table(bare) else None

    def _is_in_table(self, line: str) -> bool:
        cells = _split_cells(line, self._delimiter) if self._delimiter else []
        if self._delimiter and len(cells) == self._cells:
            return any(
                " " not in cells[place] and _is_random(cells[place], shortest)
                for place, shortest in self._columns.items()
            )
        self._delimiter = ""
        for delimiter in _DELIMITERS:
            cells = _split_cells(line, delimiter) if delimiter in line else []
            if 1 < len(cells) <= _MOST_CELLS and all(map(_COLUMN.fullmatch, cells)):
                lengths = {place: _find_shortest(cell) for place, cell in enumerate(cells)}
                self._columns = {place: length for place, length in lengths.items() if length}
                if self._columns:
                    self._delimiter, self._cells = delimiter, len(cells)
                    break
        return False


def _split_cells(line: str, delimiter: str) -> list[str]:
    """Split a row of a table; one of Markdown may begin and end with the delimiter."""
    cells = line.strip("|" if delimiter == "|" else "").split(delimiter)
    return [cell.strip("`\"'*_ \t") for cell in cells]


class _JsonScan:
    """Reads indented JSON by lines: every string below the key of a secret counts, at any depth."""

    def __init__(self) -> None:
        self._secret_indent: int | None = None  # of the key whose whole value is a secret

    def find_kind(self, line: str) -> str | None:
        indent = len(line) - len(line.lstrip())
        if self._secret_indent is not None and indent <= self._secret_indent:
            self._secret_indent = None
        opening = _JSON_OPENING.match(line)
        if opening is not None:
            key = opening["key"]
            is_secret = key not in _PLAIN_KEYS and is_secret_key(split_key(key))
            if self._secret_indent is None and is_secret:
                self._secret_indent = indent
            return None
        entry = _JSON_STRING.match(line)
        if entry is None:
            return None
        text = entry["value"]
        if self._secret_indent is None:
            is_secret = _is_secret_member(entry["key"] or "", text)
        else:
            is_secret = len(text) >= 3 and not _PLACEHOLDER.search(text)
        return "value of a secret" if is_secret else None
