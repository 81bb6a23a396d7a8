"""Who is it: from what someone shows to a principal, and from a login to a session."""

from __future__ import annotations

import time

from looseleaf.agents import access, credentials
from looseleaf.agents.accounts import ACTIVE, APPLICATION, LOGIN_LINK, SESSION, TOKEN, Credential
from looseleaf.errors import AgentMissing, LoginLinkInvalid, Unauthenticated, Unavailable
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.access import Principal
    from looseleaf.agents.accounts import Accounts, Event, User
    from looseleaf.agents.directory import Agents

HOUR = 3600.0
SESSION_SECONDS = 24 * HOUR
LINK_SECONDS = HOUR
_REMEMBER = 4096
_REMEMBER_SECONDS = 60.0  # the longest that a renamed agent is called by its old name
_KINDS = {TOKEN: access.TOKEN, APPLICATION: access.PASSWORD, SESSION: access.SESSION}


@value
class Shown:
    """A credential that was just made, and the text that is shown once."""

    credential: Credential
    text: str


@value
class _Known:
    """An answer: of when, and of which version of the accounts."""

    principal: Principal
    credential: Credential
    since: float
    version: int


class Authentication:
    """Knows credentials; an answer is remembered until any account changes anywhere."""

    def __init__(
        self, accounts: Accounts, agents: Agents, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._accounts = accounts
        self._agents = agents
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._current: dict[str, tuple[int, Credential]] = {}

    def is_current(self, principal: Principal) -> bool:
        """Say whether the credential of a principal still counts: not ended, its user active.

        What lasts longer than a request (a turn, a stream) asks now and then, and ends with it.
        """
        if not principal.credential:
            return True  # the operator
        version = self._accounts.version()
        known = self._current.get(principal.credential)
        if known is None or known[0] != version:
            credential = self._accounts.credentials.find(principal.credential)
            user = self._accounts.users.find(principal.user_id)
            if credential is None or user is None or user.status != ACTIVE:
                return False
            if len(self._current) >= _REMEMBER:
                self._current.clear()
            known = self._current[principal.credential] = (version, credential)
        return self._lasts(known[1]) and self._has_agent(known[1])

    def bearer(self, text: str) -> Principal:
        """Give the principal of a token, or raise `Unauthenticated`."""
        return self._by_text(TOKEN, text)

    def session(self, text: str) -> Principal:
        """Give the principal of a session, or raise `Unauthenticated`."""
        return self._by_text(SESSION, text)

    def basic(self, login: str, password: str) -> Principal:
        """Give the principal of a login and an application password, or raise `Unauthenticated`."""
        secret = credentials.plain_password(password)
        key, version = credentials.digest(f"{login}\0{secret}"), self._accounts.version()
        known = self._remembered(key, APPLICATION, version)
        if known is not None:
            return known
        user = self._accounts.users.find(login) if login else None
        # The same work for a login that nobody has, so that the time says nothing.
        listed = self._accounts.credentials.list(APPLICATION, user_id=user.id if user else -1)
        stored = [one.secret for one in listed] or [""]
        right = [credentials.is_secret(secret, one) for one in stored]
        same = [one for one, is_same in zip(listed, right, strict=False) if is_same]
        if not same:
            raise Unauthenticated
        return self._accept(key, same[0], version)

    def sign_in(self, login: str, password: str, event: Event) -> Shown:
        """Begin a session by a login and the password a person chose."""
        user = self._accounts.users.find(login) if login else None
        right = credentials.is_password(password, user.password if user else "")
        if user is None or not right or user.status != ACTIVE:
            raise Unauthenticated("The login or the password is wrong")
        return self._begin_session(user, event)

    def follow_link(self, text: str, event: Event) -> Shown:
        """Begin a session by a login link, which works once."""
        try:
            credential = self._find(LOGIN_LINK, text)
            user = self._user(credential)
        except Unauthenticated:
            raise LoginLinkInvalid from None
        if not self._accounts.credentials.end(credential.id, self._clock(), event):
            raise LoginLinkInvalid
        return self._begin_session(user, event)

    def sign_out(self, text: str, event: Event) -> None:
        """End a session."""
        credential = self._find(SESSION, text)
        self._accounts.credentials.end(credential.id, self._clock(), event)

    def login_link(self, user: User, event: Event) -> Shown:
        """Make a link that begins one session of a user, within the hour."""
        return self.issue(
            Credential("", LOGIN_LINK, user.id, "", expires=self._clock() + LINK_SECONDS), event
        )

    def issue(self, wanted: Credential, event: Event) -> Shown:
        """Make a credential as wanted, with an id and a secret of its own."""
        application = wanted.kind == APPLICATION
        secret = credentials.new_application_password() if application else credentials.new_secret()
        made = changed(
            wanted,
            id=credentials.new_id(),
            secret=credentials.digest(credentials.plain_password(secret)),
            created=self._clock(),
        )
        self._accounts.credentials.add(made, event)
        return Shown(
            made, secret if application else credentials.written(made.kind, made.id, secret)
        )

    def _begin_session(self, user: User, event: Event) -> Shown:
        expires = self._clock() + SESSION_SECONDS
        return self.issue(Credential("", SESSION, user.id, "", expires=expires), event)

    def _by_text(self, kind: str, text: str) -> Principal:
        # Asked before anything is looked up: what changes meanwhile makes the answer an old one.
        key, version = credentials.digest(text), self._accounts.version()
        known = self._remembered(key, kind, version)
        return known or self._accept(key, self._find(kind, text), version)

    def _find(self, kind: str, text: str) -> Credential:
        read = credentials.read(text)
        found = self._accounts.credentials.find(read[1]) if read and read[0] == kind else None
        # Compared even if there is nothing to compare with, so that the time says nothing.
        right = credentials.is_secret(read[2] if read else "", found.secret if found else "")
        if found is None or not right or found.kind != kind or not self._lasts(found):
            raise Unauthenticated
        return found

    def _lasts(self, credential: Credential) -> bool:
        expired = 0 < credential.expires <= self._clock()
        return not credential.ended and not expired

    def _user(self, credential: Credential) -> User:
        user = self._accounts.users.find(credential.user_id)
        if user is None or user.status != ACTIVE:
            raise Unauthenticated
        return user

    def _remembered(self, key: str, kind: str, version: int) -> Principal | None:
        found = self._known.get(key)
        if found is None:
            return None
        stale = not 0 <= self._clock() - found.since < _REMEMBER_SECONDS
        if (
            stale
            or found.version != version
            or found.credential.kind != kind
            or not self._lasts(found.credential)
            or not self._has_agent(found.credential)
        ):
            self._known.pop(key, None)
            return None
        return found.principal

    def _has_agent(self, credential: Credential) -> bool:
        """Say whether the agent of a credential is still there; a token ends with its agent."""
        try:
            return not credential.agent_id or bool(self._agents.folder(credential.agent_id))
        except AgentMissing:
            return False

    def _accept(self, key: str, credential: Credential, version: int) -> Principal:
        if not self._lasts(credential):
            raise Unauthenticated
        user = self._user(credential)
        grants = self._accounts.grants.list(user_id=user.id)
        principal = access.Principal(
            _KINDS[credential.kind],
            user.id,
            self._name(user, credential),
            user.capabilities,
            {grant.agent_id: grant.role for grant in grants},
            credential.agent_id,
            credential.role,
            credential.ceiling,
            credential.id,
        )
        if len(self._known) >= _REMEMBER:
            self._known.clear()
        self._known[key] = _Known(principal, credential, self._clock(), version)
        self._touch(credential)
        return principal

    def _name(self, user: User, credential: Credential) -> str:
        """Give the name for the history: the agent's for its token, else the user's."""
        if not credential.agent_id:
            return user.login
        try:
            slug = self._agents.resolve(credential.agent_id).slug
        except AgentMissing:
            raise Unauthenticated from None
        return f"{slug} ({credential.label})" if credential.label else slug

    def _touch(self, credential: Credential) -> None:
        now = self._clock()
        if now - credential.last_used >= HOUR:
            try:
                self._accounts.credentials.note_use(credential.id, now - now % HOUR)
            except Unavailable:
                return  # when it was last used is good to know, and no reason to turn anyone away
