"""Operation of the workspace: people, settings, the audit, health and requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from looseleaf.access.principals import CAPABILITIES, authorize
from looseleaf.errors import Invalid
from looseleaf.memory.provenance import ACTOR_KINDS
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.settings import FILE
from looseleaf.web.admin.views.agents import ENDED
from looseleaf.web.admin.wording import CAPABILITY_WORDS, KIND_WORDS, describe_token, describe_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.access.audit import AuditEntry
    from looseleaf.catalog.page_checks import Finding
    from looseleaf.operations.settings import SettingInfo
    from looseleaf.operations.tokens import TokenInfo
    from looseleaf.operations.users import GrantInfo, UserInfo
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.web.http.request_log import RecentRequests


# People: everyone who may sign in, their rights as a sentence, and the forms of one person.


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
        "grants": visit.cut(grants, MOST, name="roles"),
        "capabilities": [(name, CAPABILITY_WORDS[name]) for name in CAPABILITIES],
        "credentials": visit.cut(
            _list_credentials(visit, user), MOST_CREDENTIALS, name="credentials"
        ),
        "kinds": KIND_WORDS,
        "describe_token": describe_token,
        "is_self": user.id == visit.context.principal.user_id,
    }
    return Document("operation/person.html", user.name or user.login, data)


def _list_grants(visit: Visit, user: UserInfo) -> list[GrantInfo]:
    """List the roles of a user on agents, empty if the list is not allowed."""
    if not visit.may("looseleaf/list-grants"):
        return []
    grants: list[GrantInfo] = visit.run("looseleaf/list-grants", user=user.id)
    return grants


def _list_credentials(visit: Visit, user: UserInfo) -> list[TokenInfo]:
    """List the valid credentials of a user, newest first."""
    tokens: list[TokenInfo] = visit.run("looseleaf/list-tokens", user=user.id)
    now = visit.context.clock()
    valid = [token for token in tokens if not token.ended and not 0 < token.expires <= now]
    return sorted(valid, key=lambda token: -token.created)


def change_person(visit: Visit) -> Document | Redirect:
    """Submit one of the forms of a user, by the button that was pressed."""
    login, form = visit.parameters["user"], visit.form
    action = form.get("action", "")
    if action == "link":
        return _create_link(visit, login)
    if action == "revoke":
        visit.ask("End this way to sign in?", ENDED, button="End it")
        visit.run("looseleaf/revoke-token", id=form.get("id", ""))
        return Redirect(
            _build_address(login), "Ended. Programs and browsers that use it are refused at once."
        )
    changes, notice = _build_changes(action, form)
    if action == "disable":
        consequence = (
            "Every sign-in, token and password of theirs ends at once. They can be enabled again, "
            "and need new ones then."
        )
        visit.ask(f"Disable {login}?", consequence, button="Disable")
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


# The audit: who did what, by actor, kind, action and time, and whether the chain is intact.


AUDIT_ADDRESS = "/admin/audit"
_NAMED = re.compile(r"\b([a-z_]+)=")
FILTERS = ("actor", "actor_kind", "action", "since", "until")


def list_audit(visit: Visit) -> Document | Redirect:
    """List the entries that match the filters, newest first."""
    filters = {name: visit.query.get(name, "").strip() for name in FILTERS}
    if filters["actor_kind"] not in ACTOR_KINDS:
        filters["actor_kind"] = ""
    before = visit.query.get("before", "")
    number = int(before) if before.isdecimal() and len(before) < 16 else 0
    entries: list[AuditEntry] = visit.run(
        "looseleaf/list-audit", limit=MOST + 1, number=number, **filters
    )
    query = {name: text for name, text in filters.items() if text}
    last = entries[MOST - 1].number if len(entries) > MOST else 0
    data = {
        "entries": entries[:MOST],
        "chosen": filters,
        "kinds": ACTOR_KINDS,
        "is_filtered": bool(query),
        "is_first": not number,
        "newest": f"{AUDIT_ADDRESS}?{urlencode(query)}",
        "next": f"{AUDIT_ADDRESS}?{urlencode({**query, 'before': last})}" if last else "",
        "verdict": visit.run("looseleaf/verify-audit") if visit.query.get("verify") else None,
        "describe_action": describe_action,
        "describe_target": describe_target,
    }
    return Document("operation/audit.html", "Audit", data)


def describe_action(action: str) -> str:
    """Write the name of an action for people: looseleaf/create-token becomes create token."""
    return (action.partition("/")[2] or action).replace("-", " ").replace("_", " ")


def describe_target(target: str) -> str:
    """Write what was changed for people: agent=ada becomes agent ada."""
    return _NAMED.sub(r"\1 ", target)


# Health: the findings of the doctor in the workspace, each with advice.


ORDER = ("fault", "warning", "ok")
WORDS = {"fault": "Fault", "warning": "Look at this", "ok": "In order"}


def show_health(visit: Visit) -> Document | Redirect:
    """Check the workspace now; findings that need a look come first."""
    is_thorough = bool(visit.query.get("verify"))
    findings: list[Finding] = visit.run("looseleaf/check-workspace", verify=is_thorough)
    by_status = {
        name: [finding for finding in findings if finding.status == name] for name in ORDER
    }
    data = {
        "findings": by_status,
        "words": WORDS,
        "is_thorough": is_thorough,
        "counts": {name: len(group) for name, group in by_status.items()},
    }
    return Document("operation/health.html", "Health", data)


# The request log: the last requests that this process of the server has answered.


MOST_REQUESTS = 100  # requests on the page
SLOW_SECONDS = 1.0
STATIC = "/static/"  # scripts and styles, which tell nothing about the use of a server


def list_requests(recent: RecentRequests, visit: Visit) -> Document | Redirect:
    """List the last requests without scripts and styles; only refused or slow ones if asked."""
    authorize(visit.context.principal, "audit")
    show = visit.query.get("show", "")
    entries = [
        entry
        for entry in recent.newest_first()
        if not entry.path.startswith(STATIC)
        if show not in ("problems", "slow")
        or (show == "problems" and (entry.status >= 400 or not entry.status))
        or (show == "slow" and entry.seconds >= SLOW_SECONDS)
    ]
    data = {
        "entries": visit.cut(entries, MOST_REQUESTS, name="requests"),
        "show": show,
        "kept": recent.capacity,
        "workers": visit.context.settings.workers,
    }
    return Document("operation/requests.html", "Requests", data)


# Settings of the workspace: each with its source, and those that can be changed while running.


SETTINGS_ADDRESS = "/admin/settings"
MOST_PLAIN = 100_000  # larger numbers are written with separators
SOURCES = {
    "default": "as delivered",
    "file": f"from {FILE}",
    "database": "set here",
    "process": "from the start of the server",
}
MEANINGS = {
    "daily_memory_enabled": "Whether agents may write their journals.",
    "daily_memory_overflow_threshold": (
        "The bytes above which upkeep splits MEMORY.md without a model; 0 is never."
    ),
    "daily_memory_overflow_target_size": "The bytes that such a split leaves, at least 1,024.",
    "daily_memory_conservation_threshold": (
        "The least share of MEMORY.md that both parts of a model's answer must have; 0 is no gate."
    ),
    "daily_memory_max_combined_ratio": (
        "The largest share of MEMORY.md that both parts may have; 0 is no gate."
    ),
    "daily_memory_overflow_progress_ratio": (
        "The share of a MEMORY.md over its budget that may stay."
    ),
    "daily_memory_max_turns": "How often the model is asked for one compaction.",
    "history_packing_enabled": "Whether old versions of pages are packed every night.",
    "prompt_page_bytes": "The most bytes that one page takes of a prompt; 0 is no limit.",
    "prompt_total_bytes": "The most bytes that all pages take of a prompt; 0 is no limit.",
    "require_if_match": "Whether programs must name the version of the page that they replace.",
}
# Settings in bytes, which are whole numbers.
SIZES = (
    "daily_memory_overflow_threshold",
    "daily_memory_overflow_target_size",
    "prompt_page_bytes",
    "prompt_total_bytes",
)


def list_settings(visit: Visit) -> Document | Redirect:
    """List the settings; those that can be changed now come first."""
    settings: list[SettingInfo] = visit.run("looseleaf/list-settings")
    data = {
        "running": [setting for setting in settings if setting.runtime],
        "fixed": [
            (setting, format_setting(setting.setting))
            for setting in settings
            if not setting.runtime
        ],
        "sources": SOURCES,
        "meanings": MEANINGS,
        "sizes": SIZES,
        "file": FILE,
        "needs_restart": any(setting.restart_needed for setting in settings),
    }
    return Document("operation/settings.html", "Settings", data)


def format_setting(setting: object) -> str:
    """Write a setting for people."""
    if isinstance(setting, bool):
        return "yes" if setting else "no"
    if isinstance(setting, dict):
        return ", ".join(f"{name}: {format_setting(item)}" for name, item in setting.items())
    if isinstance(setting, list | tuple):
        return ", ".join(map(str, setting)) or "none"
    if setting in (None, ""):
        return "none"
    if isinstance(setting, int | float):
        return f"{setting:g}" if setting < MOST_PLAIN else f"{setting:,.0f}"
    return str(setting).strip("()")


def change_setting(visit: Visit) -> Document | Redirect:
    """Set one setting, or reset it to the value of the file."""
    name, form = visit.form.get("name", ""), visit.form
    if form.get("action") == "unset":
        visit.run("looseleaf/set-settings", settings={name: None})
        return Redirect(SETTINGS_ADDRESS, f"{name} is again what {FILE} says.")
    setting: object = "setting" in form
    if form.get("kind") == "number":
        text = form.get("setting", "").strip().replace(",", "")
        if not text.isdecimal() or len(text) > 12:
            raise Invalid(f"{name} is a whole number, not {text!r}; 0 is no limit.")
        setting = int(text)
    elif form.get("kind") == "text":
        setting = form.get("setting", "")
    elif form.get("kind") == "decimal":
        setting = _parse_number(name, form.get("setting", ""))
    visit.run("looseleaf/set-settings", settings={name: setting})
    return Redirect(
        SETTINGS_ADDRESS, f"{name} is {format_setting(setting)} now, without a restart."
    )


def _parse_number(name: str, text: str) -> float:
    try:
        return int(text) if text.strip().lstrip("-").isdecimal() else float(text)
    except ValueError:
        raise Invalid(f"{name} is a number, not {text!r}.") from None
