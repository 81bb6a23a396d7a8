"""Errors of users, credentials and signing in."""

from __future__ import annotations

from looseleaf.errors import NotFound, Refused, _InvalidThing


class InvalidUser(_InvalidThing):
    """A login, role, capability or label that nobody can have."""

    code = "invalid_user"
    template = "{name!r} is invalid: {why}."


class CredentialMissing(NotFound):
    """No such token, application password or session, or it has ended."""

    code = "credential_missing"

    def __init__(self, identity: str) -> None:
        self.identity = identity
        super().__init__(f"There is no credential {identity!r} that could be ended.")


class UserExists(Refused):
    """The login or the id belongs to another user."""

    code = "user_exists"

    def __init__(self, login: str) -> None:
        self.login = login
        super().__init__(f"There is a user {login} already, or one with that id.")


class UserMissing(NotFound):
    """No user has that id or login."""

    code = "user_missing"

    def __init__(self, user: object) -> None:
        self.user = user
        super().__init__(f"There is no user {user!r}.")


class Unauthenticated(Refused):
    """The credential is missing, wrong, expired or revoked; the message does not say which."""

    code = "unauthenticated"

    def __init__(
        self,
        reason: str = "You are not signed in: send a token, an application password or a session",
    ) -> None:
        super().__init__(f"{reason}.")


class LoginLinkInvalid(Unauthenticated):
    """The login link was used before, has expired or is incomplete."""

    code = "login_link_invalid"

    def __init__(self) -> None:
        super().__init__(
            "This login link does not work: it was used before, it has expired, or a part of it is "
            "missing. Make a new one where the workspace lies: looseleaf tokens login"
        )
