"""Settings: the only reader of the settings file and of the environment."""

from __future__ import annotations

import os
import sys

from looseleaf.errors import InvalidSetting, WorkspaceMissing
from looseleaf.values import Secret, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "looseleaf.toml"
TOOL_SETS = ("small", "full")
INCLUDES = ("inline", "imports")
REMOTE = "LOOSELEAF_REMOTE"  # the variable that names a server to ask
_KEY = "LOOSELEAF_KEY_"  # and the name of a provider


@value
class Provider:
    """How to reach a provider of models, as far as that is not known anyway."""

    name: str = ""
    base_url: str = ""
    key: Secret | None = None


@value
class Settings:
    """Everything that can be set, with what it is when nobody sets it."""

    root: str
    name: str = ""  # of the workspace, for people
    url: str = ""
    language: str = "en"
    timezone: str = "UTC"  # for what prompts say; the journal's days are UTC
    default_agent: str = ""
    default_user: int = 1
    actor: str = ""  # who the operator at the command line is, in the history
    group_writable: bool = False
    retention_days: float = 90.0
    retention_versions: int = 200
    max_page_bytes: int = 10_000_000
    daily_memory_enabled: bool = False
    network: bool = False  # whether NETWORK.md is composed
    agents_md: bool = False  # whether AGENTS.md is composed and projected
    agents_md_include: str = "inline"
    site_context: bool = True  # whether prompts say which site and day it is
    prompt_page_bytes: int = 0  # the most one page may take of a prompt; 0 is no limit
    prompt_total_bytes: int = 0
    prompt_comments: bool = False  # whether prompts keep the HTML comments of pages
    hook_characters: int = 10_000  # the most that a coding agent takes from a hook
    tokenizer: str = "estimate"  # or cl100k_base, o200k_base: with tiktoken and its vocabulary
    tokenizer_folder: str = ""  # where tiktoken keeps vocabularies; else TIKTOKEN_CACHE_DIR
    default_model: str = ""  # provider:model, for agents whose configuration names none
    mode_models: tuple[tuple[str, str], ...] = ()  # the same for one mode: (mode, provider:model)
    providers: tuple[Provider, ...] = ()
    model_timeout: float = 120.0  # seconds of silence after which a provider counts as gone
    model_retries: int = 2
    model_cache: bool = True  # whether a provider is asked to keep the beginning of a prompt
    chat_turn_limit: int = 25  # how often a model is asked for one answer to a person
    chat_model_titles: bool = False  # whether the model names sessions; else their first words do
    chat_retention_days: float = 90.0
    chat_empty_hours: float = 1.0  # how long a session without a message stays
    plugins: tuple[str, ...] = ()  # modules that implement hooks
    plugins_off: tuple[str, ...] = ()  # installed plugins that are not loaded
    project_folder: str = "."  # where convention paths such as AGENTS.md start, from the root
    database_url: str = ""  # of PostgreSQL; else SQLite inside .looseleaf
    require_if_match: bool = False  # whether a replacement over REST or MCP names its version
    host: str = "127.0.0.1"  # where the server listens
    port: int = 8765
    workers: int = 1  # processes of the server
    mcp_tools: str = "small"  # or full: which tools the server offers over MCP
    allowed_hosts: tuple[str, ...] = ()  # names the server answers to, besides this machine's own
    trusted_proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded-For and -Proto are believed
    max_request_bytes: int = 20_000_000
    request_seconds: float = 30.0  # within which the body of a request must arrive


# What can be set while running, in the database; the rest is fixed when a workspace opens.
RUNTIME = ("daily_memory_enabled", "prompt_page_bytes", "prompt_total_bytes", "require_if_match")


_STARTER = """\
# Settings of this Looseleaf workspace. Every line is optional; what stands here is the default.
{name}# what people call this workspace
# default_agent = ""            # the agent that is meant when none is named
# default_user = 1
# group_writable = false        # files 0660 and folders 0770 instead of 0600 and 0700
# retention_days = 90           # prior versions stay this long after they were replaced
# retention_versions = 200      # and at most this many of them, once they are a day old
{journal}# whether agents may write their journal
# agents_md = false             # compose AGENTS.md for coding agents
# agents_md_include = "inline"  # or "imports": @ lines instead of the text itself
# project_folder = "."          # where AGENTS.md goes, seen from here
# database_url = ""             # postgresql://… instead of SQLite inside .looseleaf
# prompt_total_bytes = 0        # the most a prompt may take; 0 is no limit
# allowed_hosts = []            # names the server answers to, needed where others can reach it
# workers = 1                   # processes of the server
# mcp_tools = "small"           # or "full": which tools the server offers over MCP
# default_model = ""            # who answers: provider:model, or "echo" to try it out
"""


def starter(name: str, *, journal: bool = False) -> str:
    """Give the text of a new settings file, with the journal switched on or as by default."""
    set_name = f"name = {_quoted(name)}" if name else '# name = ""'
    set_journal = f"{'' if journal else '# '}daily_memory_enabled = {str(journal).lower()}"
    text = _STARTER.replace("{journal}", f"{set_journal:<31} ")
    return text.replace("{name}", f"{set_name:<31} ")


def _quoted(text: str) -> str:
    # A JSON string without surrogate escapes is a TOML string too.
    import json

    return json.dumps(text, ensure_ascii=False)


def find_root(explicit: str | None = None, *, environ: Mapping[str, str] = os.environ) -> str:
    """Find the workspace: as told, by LOOSELEAF_ROOT, the nearest one above, or the user's own."""
    told = explicit or environ.get("LOOSELEAF_ROOT")
    if told:
        return os.path.abspath(os.path.expanduser(told))
    here = os.getcwd()
    while True:
        if os.path.isfile(os.path.join(here, FILE)):
            return here
        above = os.path.dirname(here)
        if above == here:
            return _data_folder(environ)
        here = above


def _data_folder(environ: Mapping[str, str]) -> str:
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "looseleaf")
    data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "looseleaf")


def variable(name: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """Give a variable of the environment that is no setting of a workspace; "" if nobody set it."""
    return environ.get(name, "")


def folder_of(variable: str, otherwise: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """Give the folder that a variable of another program names, or its usual one."""
    return os.path.expanduser(environ.get(variable) or otherwise)


def load(root: str, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of a workspace; `WorkspaceMissing` where the folder is not one."""
    try:
        with open(os.path.join(root, FILE), "rb") as file:
            text = file.read()
    except FileNotFoundError:
        raise WorkspaceMissing(root) from None
    except OSError as error:
        raise InvalidSetting(FILE, f"it cannot be read ({error.strerror})") from error
    chosen = _checked(_parsed(text)) if _says_something(text) else {}
    agent = environ.get("LOOSELEAF_AGENT")
    if agent:
        chosen["default_agent"] = agent
    database = environ.get("LOOSELEAF_DATABASE_URL")
    if database:
        chosen["database_url"] = database
    actor = environ.get("LOOSELEAF_ACTOR") or environ.get("USER") or environ.get("LOGNAME")
    model = environ.get("LOOSELEAF_MODEL")
    if model:
        chosen["default_model"] = model
    chosen["providers"] = _with_keys(chosen.get("providers", ()), environ)  # type: ignore[arg-type]
    chosen.setdefault("actor", actor or "operator")
    chosen.setdefault("tokenizer_folder", environ.get("TIKTOKEN_CACHE_DIR", ""))
    return Settings(root=root, **chosen)  # type: ignore[arg-type]


def check_runtime(name: str, given: object) -> object:
    """Give a setting back that can be made while running, or raise `InvalidSetting`."""
    if name not in RUNTIME:
        known = name in Settings.__match_args__ and name != "root"
        where = "there is no such setting"
        if known:
            where = f"it is set in {FILE} and applies after a restart of the server"
        raise InvalidSetting(name, f"{where}; while running one can set {', '.join(RUNTIME)}")
    return _checked({name: given})[name]


def _says_something(text: bytes) -> bool:
    # A file of comments needs no parser, and tomllib is as large as the rest of a cold start.
    return any(line.strip() and not line.lstrip().startswith(b"#") for line in text.split(b"\n"))


def _parsed(text: bytes) -> dict[str, object]:
    plain = plain_lines(text)
    if plain is not None:
        return plain
    import tomllib

    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(FILE, f"it is not TOML ({error})") from error


def plain_lines(text: bytes) -> dict[str, object] | None:
    """Read `key = value` lines whose values are plain; None for what needs a TOML parser."""
    found: dict[str, object] = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        key, equals, rest = line.partition("=")
        if not line.isprintable() or "\ufffd" in line:
            return None
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        plain = _plain_value(rest.strip()) if equals else None
        name = key.strip()
        if plain is None or not (name.isascii() and name.isidentifier()) or name in found:
            return None
        found[name] = plain
    return found


def _plain_value(text: str) -> object:
    if text.startswith('"'):
        inner, quote, rest = text[1:].partition('"')
        plain = quote and "\\" not in inner
        return inner if plain and rest.strip()[:1] in ("", "#") else None
    if text.startswith("["):
        return _plain_list(text)
    word = text.partition("#")[0].strip()
    if word in ("true", "false"):
        return word == "true"
    number = word.isascii() and word.isdigit() and (word == "0" or word[0] != "0")
    return int(word) if number else None


def _plain_list(text: str) -> list[str] | None:
    inside, bracket, rest = text[1:].partition("]")
    if not bracket or rest.strip()[:1] not in ("", "#"):
        return None
    items = [item.strip() for item in inside.split(",")]
    if not items[-1]:
        items.pop()  # of an empty list, or after a last comma
    plain = [
        item[1:-1]
        for item in items
        if len(item) > 1 and item[0] == item[-1] == '"' and item.count('"') == 2
    ]
    return plain if len(plain) == len(items) and "\\" not in inside else None


def _with_keys(told: tuple[Provider, ...], environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """Add the keys that the environment has; they win over those of the file."""
    known = {one.name: one for one in told}
    for variable in [name for name in environ if name.startswith(_KEY) and environ[name]]:
        name = variable[len(_KEY) :].lower().replace("_", "-")
        known[name] = Provider(
            name, known.get(name, Provider()).base_url, Secret(environ[variable])
        )
    return tuple(known.values())


def _tables(found: dict[str, object]) -> dict[str, object]:
    """Read what is a table in the file: the models of modes, and how to reach providers."""
    models = found.get("mode_models", {})
    if not isinstance(models, dict) or not all(isinstance(one, str) for one in models.values()):
        raise InvalidSetting("mode_models", "it maps a mode to provider:model")
    providers = found.get("providers", {})
    fields = [*providers.values()] if isinstance(providers, dict) else [None]
    if not all(
        isinstance(one, dict)
        and one.keys() <= {"base_url", "key"}
        and all(isinstance(text, str) for text in one.values())
        for one in fields
    ):
        # Without what was told, which may be a key.
        raise InvalidSetting("providers", "each is a table that takes base_url and key, both text")
    listed = tuple(
        Provider(name, one.get("base_url", ""), Secret(one["key"]) if one.get("key") else None)
        for name, one in (providers.items() if isinstance(providers, dict) else ())
    )
    return {"mode_models": tuple(models.items()), "providers": listed}


def _checked(found: dict[str, object]) -> dict[str, object]:
    tables = _tables(found) if {"mode_models", "providers"} & found.keys() else {}
    found = {name: given for name, given in found.items() if name not in tables}
    return {**_checked_plain(found), **tables}


def _checked_plain(found: dict[str, object]) -> dict[str, object]:
    defaults = Settings(root="")
    for name, given in found.items():
        if name == "root" or name not in Settings.__match_args__:
            raise InvalidSetting(name, f"{FILE} has no such setting")
        default = getattr(defaults, name)
        if isinstance(default, tuple) and isinstance(given, list):
            given = found[name] = tuple(given)  # noqa: PLW2901 - as a value has it
            if not all(isinstance(item, str) for item in given):
                raise InvalidSetting(name, f"it must be {_kind(default)}, not {list(given)!r}")
        number = type(default) is float and type(given) is int
        if type(given) is not type(default) and not number:
            raise InvalidSetting(name, f"it must be {_kind(default)}, not {given!r}")
        if isinstance(given, int | float) and given < 0:
            raise InvalidSetting(name, "it cannot be negative")
    for name, choices in (("agents_md_include", INCLUDES), ("mcp_tools", TOOL_SETS)):
        if found.get(name, choices[0]) not in choices:
            raise InvalidSetting(name, f"it is one of {', '.join(choices)}")
    return found


def _kind(default: object) -> str:
    kinds = {bool: "true or false", int: "a whole number", float: "a number"}
    return {**kinds, tuple: 'a list of texts, ["like", "this"]'}.get(type(default), "text")
