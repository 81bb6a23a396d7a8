"""People: everyone who may sign in, their rights as a sentence, and the forms of one person."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.access.principals import CAPABILITIES
from looseleaf.errors import Forbidden, Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.web.admin.rights import CAPABILITY_WORDS, KIND_WORDS, describe_token, describe_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.operations.tokens import TokenInfo
    from looseleaf.operations.users import GrantInfo, UserInfo
    from looseleaf.plugins.admin_pages import Visit

MOST = 50  # on one page of the list
MOST_CREDENTIALS = 100


def list_people(visit: Visit) -> Document | Redirect:
    """List the users with what each may do."""
    users: list[UserInfo] = visit.run("looseleaf/list-users")
    words = visit.query.get("filter", "").strip().lower()
    matches = [user for user in users if words in user.login.lower() or words in user.name.lower()]
    after = visit.query.get("after", "")
    rest = [user for user in matches if user.id > int(after)] if after.isdecimal() else matches
    data = {
        "rows": [(user, describe_user(user, _list_grants(visit, user))) for user in rest[:MOST]],
        "count": len(users),
        "words": words,
        "next": rest[MOST - 1].id if len(rest) > MOST else 0,
        "capabilities": [(name, CAPABILITY_WORDS[name]) for name in CAPABILITIES],
    }
    return Document("operation/people.html", "People", data)


def create_person(visit: Visit) -> Document | Redirect:
    """Create a user, and redirect to their page."""
    user = visit.run(
        "looseleaf/create-user",
        login=visit.form.get("login", "").strip(),
        name=visit.form.get("name", "").strip(),
        email=visit.form.get("email", "").strip(),
        capabilities=_list_capabilities(visit.form),
    )
    notice = f"{user.login} is created. Make a login link below, and send it to them."
    return Redirect(_build_address(user.login), notice)


def show_person(visit: Visit) -> Document | Redirect:
    """Show one user: rights, ways to sign in, and credentials."""
    user: UserInfo = visit.run("looseleaf/show-user", user=visit.parameters["user"])
    grants = _list_grants(visit, user)
    data = {
        "user": user,
        "sentence": describe_user(user, grants),
        "grants": grants[:MOST],
        "grant_count": len(grants),
        "capabilities": [(name, CAPABILITY_WORDS[name]) for name in CAPABILITIES],
        "credentials": _list_credentials(visit, user),
        "kinds": KIND_WORDS,
        "describe_token": describe_token,
        "is_self": user.id == visit.context.principal.user_id,
    }
    return Document("operation/person.html", user.name or user.login, data)


def _list_grants(visit: Visit, user: UserInfo) -> list[GrantInfo]:
    """List the roles of a user on agents, empty if the list is not allowed."""
    try:
        grants: list[GrantInfo] = visit.run("looseleaf/list-grants", user=user.id)
    except Forbidden:
        return []
    return grants


def _list_credentials(visit: Visit, user: UserInfo) -> list[TokenInfo]:
    """List the valid credentials of a user, newest first."""
    tokens: list[TokenInfo] = visit.run("looseleaf/list-tokens", user=user.id)
    now = visit.context.clock()
    valid = [token for token in tokens if not token.ended and not 0 < token.expires <= now]
    return sorted(valid, key=lambda token: -token.created)[:MOST_CREDENTIALS]


def change_person(visit: Visit) -> Document | Redirect:
    """Submit one of the forms of a user, by the button that was pressed."""
    login, form = visit.parameters["user"], visit.form
    action = form.get("action", "")
    if action == "link":
        return _create_link(visit, login)
    if action == "revoke":
        visit.run("looseleaf/revoke-token", id=form.get("id", ""))
        return Redirect(
            _build_address(login), "Ended. Programs and browsers that use it are refused at once."
        )
    changes, notice = _build_changes(action, form)
    user = visit.run("looseleaf/update-user", user=login, **changes)
    return Redirect(_build_address(user.login), notice.format(user=user.name or user.login))


def _build_changes(action: str, form: Mapping[str, str]) -> tuple[dict[str, object], str]:
    if action == "save":
        changes: dict[str, object] = {
            "name": form.get("name", "").strip(),
            "email": form.get("email", "").strip(),
            "capabilities": _list_capabilities(form),
        }
        return changes, "Saved. The change applies from the next request of {user} on."
    if action == "disable":
        return {"status": "disabled"}, "{user} is disabled: all access ended at once."
    if action == "enable":
        return {"status": "active"}, "{user} may sign in again."
    if action == "password":
        password = form.get("password", "")
        if not password:
            raise Invalid("Type the new password; it has at least 12 characters.")
        return {"password": password}, "{user} has a new password, and is signed out everywhere."
    if action == "no-password":
        return {"password": ""}, "{user} signs in by login links alone, and is signed out."
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def _create_link(visit: Visit, login: str) -> Document:
    """Create a login link and show it, once."""
    link = visit.run("looseleaf/create-login-link", user=login)
    user = visit.run("looseleaf/show-user", user=login)
    # The part after # is never sent to a server, and so it stands in no log.
    data = {"user": user, "link": f"{visit.base}/login#{link.token}"}
    return Document(
        "operation/login_link.html", f"A login link for {user.name or user.login}", data
    )


def _list_capabilities(form: Mapping[str, str]) -> list[str]:
    return [name for name in CAPABILITIES if f"can-{name}" in form]


def _build_address(login: str) -> str:
    return f"/admin/people/{quote(login)}"
