"""Errors of operations, tools and plugins, users and credentials, models and conversations."""

from __future__ import annotations

from looseleaf.errors import (
    Ambiguous,
    Invalid,
    LooseleafError,
    NotFound,
    Refused,
    Unavailable,
    _InvalidThing,
)

# Errors of operations, tools, directives and plugins.


class BrokenDirective(_InvalidThing):
    """A directive that could not keep its contract."""

    code = "broken_directive"
    template = "The directive {name!r} breaks its contract: {why}."


class BrokenPlugin(_InvalidThing):
    """A plugin that cannot be imported, misses its hooks, or failed in one."""

    code = "broken_plugin"
    template = (
        "The plugin {name} cannot be used: {why}. To go on without it, take it out of plugins in "
        "looseleaf.toml, or put it into plugins_off."
    )


class InvalidOperation(_InvalidThing):
    """An operation that no surface could offer."""

    code = "invalid_operation"
    template = "Invalid operation {name!r}: {why}."


class OperationMissing(NotFound):
    """No operation has that name."""

    code = "operation_missing"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"There is no operation {name!r}.")


class ToolMissing(NotFound):
    """No tool has that name; `available` names those there are."""

    code = "tool_missing"

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name, self.available = name, available
        super().__init__(f"There is no tool {name!r}. Available tools: {', '.join(available)}.")


class ToolDenied(Refused):
    """The agent may not use this tool; `rule` names what decided."""

    code = "tool_denied"

    def __init__(self, name: str, rule: str) -> None:
        self.name, self.rule = name, rule
        super().__init__(
            f"The tool {name} is not for this agent ({rule}). Its tool_policy, or the request, "
            "would have to allow it."
        )


class DirectiveFailed(LooseleafError):
    """A directive that must not be missing failed, so there is no prompt."""

    code = "directive_failed"

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        super().__init__(f"The directive {name} failed: {type(error).__name__}: {error}")


# Errors of users, credentials and signing in.


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


# Errors of models and their providers.


class InvalidModel(_InvalidThing):
    """A name that no model answers to, or a provider that is not set up."""

    code = "invalid_model"
    template = "The model {name} cannot be used: {why}."


class ModelMissing(Invalid):
    """Nothing names the model that is to answer."""

    code = "model_missing"

    def __init__(self, agent: str, mode: str) -> None:
        self.agent, self.mode = agent, mode
        super().__init__(
            f"No model is named for {agent} in mode {mode}. Name one: default_model = "
            '"provider:model" in looseleaf.toml (or "echo" to try it out), or for this agent: '
            f"""looseleaf agents configure {agent} 'models={{"{mode}": "provider:model"}}'"""
        )


class ModelFailed(Unavailable):
    """The provider did not answer; what was said before is kept, and can be answered later."""

    code = "model_failed"

    def __init__(self, model: str, reason: str) -> None:
        self.model = model
        super().__init__(f"The model {model}", reason)


# Errors of conversations.


class EmptyMessage(Invalid):
    """A message without text."""

    code = "empty_message"

    def __init__(self) -> None:
        super().__init__("The message is empty.")


class SessionMissing(NotFound):
    """No conversation has that id, or it belongs to someone else."""

    code = "session_not_found"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"There is no chat session {session}.")


class SessionAmbiguous(Ambiguous):
    """Several conversations have an id with this beginning."""

    code = "session_ambiguous"

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        super().__init__(
            f"Several chat sessions have an id that begins with {prefix!r}. Give more of the id."
        )


class SessionBusy(LooseleafError):
    """A turn of the conversation is running, here or in another process."""

    code = "session_busy"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"The chat session {session} is being answered. Wait for the end, or cancel it."
        )


class TurnLost(LooseleafError):
    """The turn was silent for so long that another took its place; nothing was written."""

    code = "turn_lost"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"The chat session {session} was taken over while this turn was silent, or it is gone."
        )
