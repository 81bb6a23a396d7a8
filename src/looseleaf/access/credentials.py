"""Secrets: how tokens and passwords are created, formatted, parsed and compared."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import string
import zlib

from looseleaf.access.accounts import APPLICATION, LOGIN_LINK, SESSION, TOKEN

# The prefix names the kind of a credential, for people and for programs that look for leaks.
PREFIXES = {TOKEN: "llt", SESSION: "lls", LOGIN_LINK: "lll", APPLICATION: "lla"}
_KINDS = {prefix: kind for kind, prefix in PREFIXES.items()}
_ID_BYTES, _SECRET_BYTES = 8, 24
_CHECK = 8  # hex digits of a checksum, so that a mistyped token is told from a wrong one
_HEX = frozenset("0123456789abcdef")

_LETTERS = string.ascii_letters + string.digits
_PASSWORD_LETTERS = 24  # as WordPress has them: 142 bits, in groups of four
_SCRYPT = (2**15, 8, 3)
_MOST_MEMORY = 2**27


def create_id() -> str:
    """Create the public id of a credential."""
    return secrets.token_hex(_ID_BYTES)


def create_secret() -> str:
    """Create a secret that nobody can guess: 192 bits."""
    return secrets.token_hex(_SECRET_BYTES)


def create_application_password() -> str:
    """Create a password for programs, in groups of four as people copy it."""
    signs = "".join(secrets.choice(_LETTERS) for _ in range(_PASSWORD_LETTERS))
    return " ".join(signs[start : start + 4] for start in range(0, _PASSWORD_LETTERS, 4))


def format_credential(kind: str, identity: str, secret: str) -> str:
    """Format a credential as it is shown once: its kind, public id, secret and a checksum."""
    text = f"{PREFIXES[kind]}_{identity}_{secret}"
    return text + _compute_checksum(text)


def parse_credential(text: str) -> tuple[str, str, str] | None:
    """Parse the kind, public id and secret of a credential, or None if the text is none."""
    parts = text.split("_")
    if len(parts) != 3 or len(text) > 200:
        return None
    kind, identity, rest = _KINDS.get(parts[0]), parts[1], parts[2]
    secret, check = rest[:-_CHECK], rest[-_CHECK:]
    if kind is None or not identity or not secret or not _HEX.issuperset(identity + rest):
        return None
    signed_text = f"{parts[0]}_{identity}_{secret}"
    return (kind, identity, secret) if _compute_checksum(signed_text) == check else None


def _compute_checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):0{_CHECK}x}"


def hash_secret(secret: str) -> str:
    """Return the stored form of a random secret; it needs no slow hash, as nobody can guess it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_secret(secret: str, stored_hash: str) -> bool:
    """Compare a secret with the stored hash, in constant time."""
    return hmac.compare_digest(hash_secret(secret), stored_hash)


def normalize_password(password: str) -> str:
    """Return an application password without the spaces between its groups."""
    return "".join(password.split())


def hash_password(password: str) -> str:
    """Return the stored form of a password that a person chose."""
    salt = secrets.token_bytes(16)
    n, r, p = _SCRYPT
    return f"scrypt${n}${r}${p}${salt.hex()}${_compute_scrypt(password, salt, n, r, p).hex()}"


def is_password(password: str, stored_hash: str) -> bool:
    """Compare a password with the stored hash; without a hash it takes as long to refuse."""
    _, n, r, p, salt, expected = (stored_hash or _NOBODY).split("$")
    actual = _compute_scrypt(password, bytes.fromhex(salt), int(n), int(r), int(p))
    return hmac.compare_digest(actual.hex(), expected) and bool(stored_hash)


def _compute_scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    raw = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(raw, salt=salt, n=n, r=r, p=p, maxmem=_MOST_MEMORY, dklen=32)


_NOBODY = f"scrypt${_SCRYPT[0]}${_SCRYPT[1]}${_SCRYPT[2]}${'00' * 16}${'00' * 32}"
