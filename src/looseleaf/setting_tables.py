"""Settings that are tables in the file: models of modes, providers, folders and sites."""

from __future__ import annotations

from looseleaf.errors import InvalidSetting
from looseleaf.values import Secret, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY = "LOOSELEAF_KEY_"  # and the name of a provider
_PASSWORD = "LOOSELEAF_PASSWORD_"  # noqa: S105 - the beginning of a variable's name


@value
class Provider:
    """The address and the key of a provider of models, as far as they are set."""

    name: str = ""
    base_url: str = ""
    key: Secret | None = None


@value
class WordPressSite:
    """A site that workflows may publish to; its password goes to this address alone."""

    name: str
    url: str
    user: str = ""
    password: Secret | None = None  # an application password


def add_keys(table: tuple[Provider, ...], environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """Add the keys that the environment has; they win over those of the file."""
    providers = {provider.name: provider for provider in table}
    for variable in [name for name in environ if name.startswith(_KEY) and environ[name]]:
        name = variable[len(_KEY) :].lower().replace("_", "-")
        base_url = providers.get(name, Provider()).base_url
        providers[name] = Provider(name, base_url, Secret(environ[variable]))
    return tuple(providers.values())


def add_passwords(
    sites: tuple[WordPressSite, ...], environ: Mapping[str, str]
) -> tuple[WordPressSite, ...]:
    """Add the passwords that the environment has; they win over those of the file."""
    passwords = {
        site.name: environ.get(_PASSWORD + site.name.upper().replace("-", "_")) for site in sites
    }
    return tuple(
        WordPressSite(site.name, site.url, site.user, Secret(password)) if password else site
        for site in sites
        for password in (passwords[site.name],)
    )


def read_tables(fields: dict[str, object]) -> dict[str, object]:
    """Read the settings that are tables: models of modes, providers, folders and sites."""
    readers = {
        "mode_models": _read_mode_models,
        "providers": _read_providers,
        "publish_folders": _read_folders,
        "wordpress_sites": _read_sites,
    }
    return {name: reader(fields[name]) for name, reader in readers.items() if name in fields}


def _read_mode_models(models: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(models, dict) or not all(isinstance(model, str) for model in models.values()):
        raise InvalidSetting("mode_models", "it maps a mode to provider:model")
    return tuple(models.items())


def _read_folders(folders: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(folders, dict) or not all(
        isinstance(path, str) and path.strip() for path in folders.values()
    ):
        raise InvalidSetting("publish_folders", "it maps a name to the path of a folder")
    return tuple(folders.items())


def _read_providers(providers: object) -> tuple[Provider, ...]:
    # The message leaves the text out, since it may be a key.
    reason = "each is a table that takes base_url and key, both text"
    return tuple(
        Provider(name, table.get("base_url", ""), _wrap_secret(table.get("key")))
        for name, table in _read_rows("providers", providers, ("base_url", "key"), reason)
    )


def _read_sites(sites: object) -> tuple[WordPressSite, ...]:
    reason = "each is a table that takes url, user and password, all text"
    rows = _read_rows("wordpress_sites", sites, ("url", "user", "password"), reason)
    if not all(table.get("url", "").startswith(("https://", "http://")) for _, table in rows):
        raise InvalidSetting("wordpress_sites", "each has a url that begins with https://")
    return tuple(
        WordPressSite(
            name, table["url"], table.get("user", ""), _wrap_secret(table.get("password"))
        )
        for name, table in rows
    )


def _read_rows(
    setting: str, tables: object, keys: tuple[str, ...], reason: str
) -> list[tuple[str, dict[str, str]]]:
    """Read a table of tables with texts under known keys."""
    if not isinstance(tables, dict) or not all(_is_row(row, keys) for row in tables.values()):
        raise InvalidSetting(setting, reason)
    return list(tables.items())


def _is_row(row: object, keys: tuple[str, ...]) -> bool:
    if not isinstance(row, dict):
        return False
    return row.keys() <= set(keys) and all(isinstance(text, str) for text in row.values())


def _wrap_secret(text: str | None) -> Secret | None:
    return Secret(text) if text else None
