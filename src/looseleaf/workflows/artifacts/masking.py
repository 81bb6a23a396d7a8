"""Masking: secrets are taken out of packets and artifacts by their keys, shapes and values."""

from __future__ import annotations

import re
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from looseleaf.settings import Settings

MASK = "[redacted]"
_DEEPEST = 32
_SHORTEST_SECRET = 6  # a shorter known value would mask ordinary words
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Words of a key whose value is a secret; `author` is none of them.
_SECRET_WORDS = {
    *("apikey", "auth", "authentication", "authorization", "bearer", "cookie", "cookies"),
    *("credential", "credentials", "nonce", "passphrase", "passwd", "password", "passwords"),
    *("pwd", "secret", "secrets", "signature", "token", "tokens"),
}
_SECRET_PAIRS = {("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key")}
_SECRET_PART = re.compile(r"apikey|password|secret|credential|accesstoken|authtoken|nonce")
_COUNTED = {"token", "tokens"}  # a number under such a key counts a model's tokens
_SHAPES = (
    re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(
        r"(?i)\b([a-z_-]{0,40}(?:api[_-]?key|password|passwd|secret|token|signature|nonce))"
        r"([\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;]{3,}"
    ),
    re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|glpat)[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)"),
)


class SecretMask:
    """Masks secrets in JSON and in texts; `secrets` are values that are masked anywhere."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = sorted({text for text in secrets if len(text) >= _SHORTEST_SECRET}, key=len)
        self._secrets = tuple(reversed(values))  # a longer value first, since it may hold a shorter

    def mask(self, document: Any, *, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
        """Return JSON without its secrets."""
        if isinstance(document, str):
            return self.mask_text(document)
        if depth >= _DEEPEST and isinstance(document, dict | list | tuple):
            return MASK
        if isinstance(document, dict):
            return {
                key if isinstance(key, str) else str(key): self._mask_entry(key, entry, depth)
                for key, entry in document.items()
            }
        if isinstance(document, list | tuple):
            return [self.mask(entry, depth=depth + 1) for entry in document]
        return document

    def mask_text(self, text: str) -> str:
        """Return a text without its secrets."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        for shape in _SHAPES:
            text = shape.sub(_mask_shape, text)
        return text

    def _mask_entry(self, key: object, entry: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON
        words = split_key(key) if isinstance(key, str) else ()
        if not is_secret_key(words) or entry is None or isinstance(entry, bool):
            return self.mask(entry, depth=depth + 1)
        counts = isinstance(entry, int | float) and _COUNTED & set(words)
        return entry if counts else MASK


def split_key(key: str) -> tuple[str, ...]:
    """Split a key such as x-api_key or accessToken into words in lower case."""
    return tuple(word.lower() for word in _WORD.findall(key))


def is_secret_key(words: tuple[str, ...]) -> bool:
    """Return whether the value under a key of these words is a secret."""
    if not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words)):
        return True
    return any(map(_SECRET_PART.search, words))


def _mask_shape(shape: re.Match[str]) -> str:
    groups = shape.groups()
    if not groups:
        return MASK
    return f"{groups[0]}{groups[1]}{MASK}" if len(groups) > 1 else f"{groups[0]} {MASK}"


def list_secrets(settings: Settings) -> tuple[str, ...]:
    """List the secret values of the settings, which no artifact of a job may have."""
    secrets = [provider.key for provider in settings.providers]
    secrets += [site.password for site in settings.wordpress_sites]
    return tuple(secret.reveal() for secret in secrets if secret is not None)
