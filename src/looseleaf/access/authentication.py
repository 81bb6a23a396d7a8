"""Authentication: from a credential to a principal, and from a login to a session."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import string
import time
import zlib

from looseleaf.access import principals
from looseleaf.access.accounts import ACTIVE, APPLICATION, LOGIN_LINK, SESSION, TOKEN, Credential
from looseleaf.errors import Unavailable
from looseleaf.errors.operations import LoginLinkInvalid, Unauthenticated
from looseleaf.errors.pages import AgentMissing
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.access.accounts import Accounts, User
    from looseleaf.access.audit import Event
    from looseleaf.access.principals import Principal
else:
    Protocol = object


# Secrets: how tokens and passwords are created, formatted, parsed and compared.


# The prefix names the kind of a credential, for people and for programs that look for leaks.
PREFIXES = {TOKEN: "llt", SESSION: "lls", LOGIN_LINK: "lll", APPLICATION: "lla"}
_KIND_OF_PREFIX = {prefix: kind for kind, prefix in PREFIXES.items()}
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
    kind, identity, rest = _KIND_OF_PREFIX.get(parts[0]), parts[1], parts[2]
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


HOUR = 3600.0
SESSION_SECONDS = 24 * HOUR
LINK_SECONDS = HOUR
_REMEMBER = 4096
_REMEMBER_SECONDS = 60.0  # the longest that a renamed agent is called by its old name
_KINDS = {TOKEN: principals.TOKEN, APPLICATION: principals.PASSWORD, SESSION: principals.SESSION}


class LostAgents(Protocol):
    """The check for an agent whose folder is away: its credentials are not wrong."""

    def require_not_lost(self, agent_id: int) -> None:
        """Raise `WorkspaceUnavailable` if an agent was created and its folder is gone."""


class AgentNames(Protocol):
    """The part of the list of agents that authentication uses."""

    @property
    def folders(self) -> LostAgents | None:
        """The folders of the agents, or None if agents do not lie in folders."""

    def slug_of(self, agent_id: int) -> str:
        """Return the slug of an agent, or raise `AgentMissing`."""


@value
class IssuedCredential:
    """A credential that was just created, and the text that is shown once."""

    credential: Credential
    text: str


@value
class _KnownCredential:
    """A remembered principal, with its time and the version of the accounts."""

    principal: Principal
    credential: Credential
    time: float
    version: int


class Authentication:
    """Authentication by credentials; a principal is remembered until any account changes."""

    def __init__(
        self, accounts: Accounts, agents: AgentNames, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._accounts = accounts
        self._agents = agents
        self._clock = clock
        self._answers: dict[str, _KnownCredential] = {}
        self._current: dict[str, tuple[int, Credential]] = {}

    def is_current(self, principal: Principal) -> bool:
        """Return whether the credential of a principal is still valid and its user still active.

        A turn or a stream, which lasts longer than a request, asks repeatedly, and ends if not.
        """
        if not principal.credential:
            return True  # the operator
        version = self._accounts.version()
        entry = self._current.get(principal.credential)
        if entry is None or entry[0] != version:
            credential = self._accounts.credentials.find(principal.credential)
            user = self._accounts.users.find(principal.user_id)
            if credential is None or user is None or user.status != ACTIVE:
                return False
            if len(self._current) >= _REMEMBER:
                self._current.clear()
            entry = self._current[principal.credential] = (version, credential)
        return self._is_valid(entry[1]) and self._has_agent(entry[1])

    def bearer(self, text: str) -> Principal:
        """Return the principal of a token, or raise `Unauthenticated`."""
        return self._authenticate_text(TOKEN, text)

    def session(self, text: str) -> Principal:
        """Return the principal of a session, or raise `Unauthenticated`."""
        return self._authenticate_text(SESSION, text)

    def basic(self, login: str, password: str) -> Principal:
        """Return the principal of a login and application password, or raise `Unauthenticated`."""
        secret = normalize_password(password)
        key, version = hash_secret(f"{login}\0{secret}"), self._accounts.version()
        principal = self._recall(key, APPLICATION, version)
        if principal is not None:
            return principal
        user = self._accounts.users.find(login) if login else None
        # The same work for an unknown login, so that the duration reveals nothing.
        candidates = self._accounts.credentials.list(APPLICATION, user_id=user.id if user else -1)
        digests = [candidate.secret for candidate in candidates] or [""]
        verdicts = [is_secret(secret, candidate) for candidate in digests]
        matches = [
            candidate for candidate, is_match in zip(candidates, verdicts, strict=False) if is_match
        ]
        if not matches:
            raise Unauthenticated
        return self._accept(key, matches[0], version)

    def sign_in(self, login: str, password: str, event: Event) -> IssuedCredential:
        """Begin a session by a login and the password a person chose."""
        user = self._accounts.users.find(login) if login else None
        is_right = is_password(password, user.password if user else "")
        if user is None or not is_right or user.status != ACTIVE:
            raise Unauthenticated("The login or the password is wrong")
        return self._begin_session(user, _with_actor(user, event))

    def follow_link(self, text: str, event: Event) -> IssuedCredential:
        """Begin a session by a login link, which works once."""
        try:
            credential = self._resolve_credential(LOGIN_LINK, text)
            user = self._resolve_user(credential)
        except Unauthenticated:
            raise LoginLinkInvalid from None
        event = _with_actor(user, event)
        if not self._accounts.credentials.end(credential.id, self._clock(), event):
            raise LoginLinkInvalid
        return self._begin_session(user, event)

    def sign_out(self, text: str, event: Event) -> None:
        """End a session."""
        credential = self._resolve_credential(SESSION, text)
        event = _with_actor(self._resolve_user(credential), event)
        self._accounts.credentials.end(credential.id, self._clock(), event)

    def login_link(self, user: User, event: Event) -> IssuedCredential:
        """Create a link that begins one session of a user, within the hour."""
        return self.issue(
            Credential(
                id="",
                kind=LOGIN_LINK,
                user_id=user.id,
                secret="",
                expires=self._clock() + LINK_SECONDS,
            ),
            event,
        )

    def issue(self, template: Credential, event: Event) -> IssuedCredential:
        """Create a credential from a template, with an id and a secret of its own."""
        application = template.kind == APPLICATION
        secret = create_application_password() if application else create_secret()
        credential = replace(
            template,
            id=create_id(),
            secret=hash_secret(normalize_password(secret)),
            created=self._clock(),
        )
        self._accounts.credentials.add(credential, event)
        return IssuedCredential(
            credential,
            secret if application else format_credential(credential.kind, credential.id, secret),
        )

    def _begin_session(self, user: User, event: Event) -> IssuedCredential:
        expires = self._clock() + SESSION_SECONDS
        return self.issue(
            Credential(id="", kind=SESSION, user_id=user.id, secret="", expires=expires), event
        )

    def _authenticate_text(self, kind: str, text: str) -> Principal:
        # The version is read first, so that a change during the lookup makes the result outdated.
        key, version = hash_secret(text), self._accounts.version()
        principal = self._recall(key, kind, version)
        return principal or self._accept(key, self._resolve_credential(kind, text), version)

    def _resolve_credential(self, kind: str, text: str) -> Credential:
        parts = parse_credential(text)
        credential = (
            self._accounts.credentials.find(parts[1]) if parts and parts[0] == kind else None
        )
        # Compared even without a credential, so that the duration reveals nothing.
        is_right = is_secret(parts[2] if parts else "", credential.secret if credential else "")
        if (
            credential is None
            or not is_right
            or credential.kind != kind
            or not self._is_valid(credential)
        ):
            raise Unauthenticated
        return credential

    def _is_valid(self, credential: Credential) -> bool:
        is_expired = 0 < credential.expires <= self._clock()
        return not credential.ended and not is_expired

    def _resolve_user(self, credential: Credential) -> User:
        user = self._accounts.users.find(credential.user_id)
        if user is None or user.status != ACTIVE:
            raise Unauthenticated
        return user

    def _recall(self, key: str, kind: str, version: int) -> Principal | None:
        answer = self._answers.get(key)
        if answer is None:
            return None
        is_stale = not 0 <= self._clock() - answer.time < _REMEMBER_SECONDS
        if (
            is_stale
            or answer.version != version
            or answer.credential.kind != kind
            or not self._is_valid(answer.credential)
            or not self._has_agent(answer.credential)
        ):
            self._answers.pop(key, None)
            return None
        return answer.principal

    def _has_agent(self, credential: Credential) -> bool:
        """Return whether the agent of a credential is still there; a token ends with its agent."""
        try:
            return not credential.agent_id or bool(self._agents.slug_of(credential.agent_id))
        except AgentMissing:
            return False

    def _accept(self, key: str, credential: Credential, version: int) -> Principal:
        if not self._is_valid(credential):
            raise Unauthenticated
        user = self._resolve_user(credential)
        grants = self._accounts.grants.list(user_id=user.id)
        principal = principals.Principal(
            kind=_KINDS[credential.kind],
            user_id=user.id,
            name=self._resolve_actor_name(user, credential),
            capabilities=user.capabilities,
            grants={grant.agent_id: grant.role for grant in grants},
            agent_id=credential.agent_id,
            role=credential.role,
            ceiling=credential.ceiling,
            credential=credential.id,
        )
        if len(self._answers) >= _REMEMBER:
            self._answers.clear()
        self._answers[key] = _KnownCredential(principal, credential, self._clock(), version)
        self._note_use(credential)
        return principal

    def _resolve_actor_name(self, user: User, credential: Credential) -> str:
        """Return the name for the history: the agent's for its token, else the user's."""
        if not credential.agent_id:
            return user.login
        try:
            slug = self._agents.slug_of(credential.agent_id)
        except AgentMissing:
            if self._agents.folders is not None:
                self._agents.folders.require_not_lost(credential.agent_id)
            raise Unauthenticated from None
        return f"{slug} ({credential.label})" if credential.label else slug

    def _note_use(self, credential: Credential) -> None:
        now = self._clock()
        if now - credential.last_used >= HOUR:
            try:
                self._accounts.credentials.note_use(credential.id, now - now % HOUR)
            except Unavailable:
                return  # a missing note of the last use is no reason to refuse anyone


def _with_actor(user: User, event: Event) -> Event:
    """Name the user whose session begins or ends as the actor of an event."""
    return replace(event, actor=user.login, user_id=user.id)
