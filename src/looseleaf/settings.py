"""Settings: the only reader of the settings file and of the environment."""

from __future__ import annotations

import os
import sys

from looseleaf.errors import InvalidSetting, WorkspaceMissing
from looseleaf.values import FrozenDict, Secret, field_names, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


# Plain lines of TOML, read without a TOML parser, which takes longer to import than to run.


def parse_plain_lines(text: bytes) -> dict[str, object] | None:
    """Read plain `key = value` lines and tables of them, or None for what needs a TOML parser."""
    fields: dict[str, object] = {}
    table = fields
    for line in text.decode("utf-8", "replace").split("\n"):
        if not line.isprintable() or "\ufffd" in line:
            return None
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        header = _parse_header(line.strip())
        if header:
            if header in fields:
                return None
            fields[header] = table = {}
            continue
        name, rest = _split_line(line)
        plain = _parse_plain_value(rest.strip())
        if plain is None or not name or name in table:
            return None
        table[name] = plain
    return fields


def _parse_header(line: str) -> str:
    """Return the name of the table that begins on a line, or "" if none does, or no plain one."""
    name, bracket, rest = line[1:].partition("]")
    is_plain = line.startswith("[") and bracket and rest.strip()[:1] in ("", "#")
    return name.strip() if is_plain and name.strip().isidentifier() and name.isascii() else ""


def _split_line(line: str) -> tuple[str, str]:
    """Return the name before the sign = and the text after it; the name is "" if not plain."""
    quoted, quote, rest = line.strip()[1:].partition('"')
    if line.lstrip().startswith('"'):
        equals, value_text = rest.lstrip()[:1], rest.lstrip()[1:]
        return (quoted if quote and equals == "=" and "\\" not in quoted else ""), value_text
    key, equals, value_text = line.partition("=")
    name = key.strip()
    return (name if equals and name.isascii() and name.isidentifier() else ""), value_text


def _parse_plain_value(text: str) -> object:
    if text.startswith('"'):
        inner, quote, rest = text[1:].partition('"')
        is_plain = quote and "\\" not in inner
        return inner if is_plain and rest.strip()[:1] in ("", "#") else None
    if text.startswith("["):
        return _parse_plain_list(text)
    word = text.partition("#")[0].strip()
    if word in ("true", "false"):
        return word == "true"
    is_number = word.isascii() and word.isdigit() and (word == "0" or word[0] != "0")
    return int(word) if is_number else None


def _parse_plain_list(text: str) -> list[str] | None:
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


# Settings that are tables in the file: models of modes, projects, providers, folders and sites.


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
    """Read the settings that are tables: models of modes, projects, providers, folders, sites."""
    readers = {
        "mode_models": _read_mode_models,
        "projects": _read_projects,
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


def _read_projects(projects: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(projects, dict) or not all(
        os.path.isabs(os.path.expanduser(folder)) and isinstance(agent, str) and agent.strip()
        for folder, agent in projects.items()
    ):
        raise InvalidSetting("projects", "it maps the whole path of a folder to an agent")
    return tuple(projects.items())


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


FILE = "looseleaf.toml"
TOOL_SETS = ("small", "full")
INCLUDES = ("inline", "imports")
_IMAGES = (".gif", ".jpeg", ".jpg", ".png", ".webp")
_DATA = (".csv", ".html", ".json", ".jsonl", ".tsv", ".xml", ".yaml", ".yml")
UPLOAD_TYPES = (".md", ".txt", ".pdf", *_DATA, *_IMAGES)
# Variables by which git tells the programs it runs, such as hooks, which repository it works on.
_GIT_PLACES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE"),
)
REMOTE = "LOOSELEAF_REMOTE"  # the variable that names a server to work with
DATABASE_URL = "LOOSELEAF_DATABASE_URL"


@value(kw_only=True)
class Settings:
    """All settings of a workspace, with their defaults."""

    root: str
    name: str = ""  # of the workspace, for people
    url: str = ""
    language: str = "en"
    timezone: str = "UTC"  # for what prompts say; the journal's days are UTC
    default_agent: str = ""
    projects: tuple[tuple[str, str], ...] = ()  # (folder, agent): who works in which repository
    default_user: int = 1
    actor: str = ""  # who the operator at the command line is, in the history
    group_writable: bool = False
    retention_days: float = 90.0
    retention_versions: int = 200
    job_retention_days: float = 30.0  # how long a job stays after its end, with its artifacts
    file_retention_days: float = 7.0  # how long packets of jobs and uploaded files of flows stay
    processed_item_retention_days: float = 30.0  # after a source has last offered the item
    task_run_retention_days: float = 30.0
    audit_retention_days: float = 365.0
    system_tasks_off: tuple[str, ...] = ()  # system tasks that do not run, by their types
    max_page_bytes: int = 10_000_000
    history_packing_enabled: bool = True  # whether old versions are packed every night
    daily_memory_enabled: bool = False
    daily_memory_overflow_threshold: int = 32_768  # bytes; a larger MEMORY.md is split; 0: never
    daily_memory_overflow_target_size: int = 8192  # bytes that such a split leaves, at least 1024
    daily_memory_conservation_threshold: float = 0.85  # of the page, in both parts; 0: no gate
    daily_memory_max_combined_ratio: float = 1.15  # of the page, in both parts; 0: no gate
    daily_memory_overflow_progress_ratio: float = 0.75  # of a page over its budget, that may stay
    daily_memory_max_turns: int = 3  # how often the model is asked for one compaction
    network: bool = False  # whether NETWORK.md is composed
    agents_md: bool = False  # whether AGENTS.md is composed and projected
    agents_md_include: str = "inline"
    site_context: bool = True  # whether prompts say which site and day it is
    prompt_page_bytes: int = 0  # the most one page may take of a prompt; 0 is no limit
    prompt_total_bytes: int = 0
    prompt_comments: bool = False  # whether prompts keep the HTML comments of pages
    # Sections whose lines are the last to be left out if a page does not fit into a prompt.
    pinned_sections: tuple[str, ...] = ("Rules", "Preferences", "Identity")
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
    jobs_at_once: int = 4  # jobs that one worker runs at a time
    jobs_per_agent: int = 2  # in all workers together; 0 is no limit
    jobs_per_model: int = 3
    serve_jobs: bool = True  # whether the server runs jobs and schedules
    host: str = "127.0.0.1"  # where the server listens
    port: int = 8765
    workers: int = 1  # processes of the server
    mcp_tools: str = "small"  # or full: which tools the server offers over MCP
    allowed_hosts: tuple[str, ...] = ()  # names the server answers to, besides this machine's own
    trusted_proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded-For and -Proto are believed
    max_request_bytes: int = 20_000_000
    max_upload_bytes: int = 20_000_000  # of one uploaded file of a pipeline or flow
    max_uploads: int = 100  # files of one pipeline, and of one flow
    upload_types: tuple[str, ...] = UPLOAD_TYPES  # endings of the names of uploaded files
    request_seconds: float = 30.0  # within which the body of a request must arrive
    outgoing_hosts: tuple[str, ...] = ()  # servers that may be asked; none by default
    outgoing_private_hosts: tuple[str, ...] = ()  # those that may have a private address
    import_folders: tuple[str, ...] = ()  # below which administrators import from the server's disk
    publish_folders: tuple[tuple[str, str], ...] = ()  # (name, path): where steps may write files
    wordpress_sites: tuple[WordPressSite, ...] = ()  # where steps may publish posts
    pipeline_transcripts: bool = False  # whether jobs keep what was said to models and by them
    backup_folder: str = ""  # where backups go, seen from the root; without it none are made
    backup_keep: int = 7  # backups that stay when the nightly task has made one; 0: all of them
    git_commits: bool = False  # whether a task commits the pages to git every hour
    cleanup_job_data_on_failure: bool = True  # whether a failed job's folder is removed
    extra: Mapping[str, object] = FrozenDict()  # other names, which plugins may have registered

    @property
    def display_name(self) -> str:
        """The name of the workspace for people: its own, or that of its folder."""
        return self.name or os.path.basename(self.root)


# The settings of the core and the features, by their names in the file.
NAMES = tuple(name for name in field_names(Settings) if name not in ("root", "extra"))
# Data that retention removes by itself: nobody loses all of it by a 0 that was meant as "never".
_AT_LEAST_ONE_DAY = (
    "chat_retention_days",
    "job_retention_days",
    "file_retention_days",
    "processed_item_retention_days",
    "task_run_retention_days",
    "audit_retention_days",
)
# Settings that can be changed while running, in the database; the others need a restart.
RUNTIME = (
    "daily_memory_enabled",
    "daily_memory_overflow_threshold",
    "daily_memory_overflow_target_size",
    "daily_memory_conservation_threshold",
    "daily_memory_max_combined_ratio",
    "daily_memory_overflow_progress_ratio",
    "daily_memory_max_turns",
    "history_packing_enabled",
    "prompt_page_bytes",
    "prompt_total_bytes",
    "require_if_match",
)


def find_root(explicit: str | None = None, *, environ: Mapping[str, str] = os.environ) -> str:
    """Find the workspace: as given, by LOOSELEAF_ROOT, the nearest above, or the user's own."""
    root = explicit or environ.get("LOOSELEAF_ROOT")
    if root:
        return os.path.abspath(os.path.expanduser(root))
    folder = os.getcwd()
    while True:
        if os.path.isfile(os.path.join(folder, FILE)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return _find_data_folder(environ)
        folder = parent


def find_folder() -> str:
    """Return the folder that the program was started in, or / if it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


PROJECT_FILE = ".looseleaf"  # in a repository: agent = "shop"; a folder of this name is a store's
_MOST_PROJECT_BYTES = 4096


def find_project_agent(projects: tuple[tuple[str, str], ...], folder: str) -> str:
    """Return the agent of the innermost project that a folder lies in, or "" outside of all.

    A project is a folder of the settings, or one with a file `.looseleaf` in the same repository;
    of one folder, the settings decide.
    """
    path = os.path.realpath(folder)
    agents = _read_repository_line(path)
    for project, agent in projects:
        top = os.path.realpath(os.path.expanduser(project))
        if f"{path}{os.sep}".startswith(os.path.join(top, "")):
            agents[top] = agent
    return agents[max(agents, key=len)] if agents else ""


def _read_repository_line(path: str) -> dict[str, str]:
    """Return the folder that the nearest line is for, and its agent; empty if there is no line.

    Without a repository only the folder itself counts: those above it may be other people's.
    """
    places = [path]
    while not os.path.exists(os.path.join(places[-1], ".git")):
        parent = os.path.dirname(places[-1])
        if parent == places[-1]:
            places = [path]
            break
        places.append(parent)
    for place in places:
        file = os.path.join(place, PROJECT_FILE)
        if os.path.isfile(file):
            return {place: _read_agent_line(file)}
    return {}


def _read_agent_line(file: str) -> str:
    try:
        with open(file, "rb") as lines:
            agent = (parse_plain_lines(lines.read(_MOST_PROJECT_BYTES)) or {}).get("agent")
    except OSError:
        agent = None
    if not isinstance(agent, str) or not agent.strip():
        raise InvalidSetting("agent", f'{file} needs the line agent = "NAME"')
    return agent


def _find_data_folder(environ: Mapping[str, str]) -> str:
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "looseleaf")
    data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "looseleaf")


def read_variable(name: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """Read a variable of the environment that is no setting, or "" if it is not set."""
    return environ.get(name, "")


def build_git_environment(
    variables: Mapping[str, str], *, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Build the environment of git, without variables that name another repository."""
    inherited_variables = {name: text for name, text in environ.items() if name not in _GIT_PLACES}
    return {**inherited_variables, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **variables}


def folder_of(variable: str, default: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """Return the folder that a variable of another program names, or its usual one."""
    return os.path.expanduser(environ.get(variable) or default)


def _build_missing_error(root: str, environ: Mapping[str, str]) -> WorkspaceMissing:
    """Build the error for a folder that is no workspace.

    An empty or missing folder may be a disk that is not mounted, or a workspace that was never
    created. The two look the same, so the error names both if someone chose the folder.
    """
    is_there = os.path.isdir(root)
    try:
        has_files = bool(os.listdir(root)) if is_there else False
    except OSError:
        has_files = True  # they may not be listed
    reason = f"it has no {FILE}" if has_files else "the folder is empty"
    return WorkspaceMissing(
        root,
        reason if is_there else "there is no such folder",
        may_be_unmounted=not has_files and root != _find_data_folder(environ),
    )


def load(root: str, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of a workspace; raise `WorkspaceMissing` if it is none.

    `open_hooks` checks those in `extra`, by what plugins have registered.
    """
    try:
        with open(os.path.join(root, FILE), "rb") as file:
            text = file.read()
    except FileNotFoundError:
        raise _build_missing_error(root, environ) from None
    except OSError as error:
        raise InvalidSetting(FILE, f"it cannot be read ({error.strerror})") from error
    fields = _check_fields(_parse(text)) if _has_content(text) else {}
    if agent := environ.get("LOOSELEAF_AGENT"):
        fields["default_agent"] = agent
    if database := environ.get(DATABASE_URL):
        fields["database_url"] = database
    actor = environ.get("LOOSELEAF_ACTOR") or environ.get("USER") or environ.get("LOGNAME")
    if model := environ.get("LOOSELEAF_MODEL"):
        fields["default_model"] = model
    fields["providers"] = add_keys(fields.get("providers", ()), environ)  # type: ignore[arg-type]
    fields["wordpress_sites"] = add_passwords(fields.get("wordpress_sites", ()), environ)  # type: ignore[arg-type]
    fields.setdefault("actor", actor or "operator")
    fields.setdefault("tokenizer_folder", environ.get("TIKTOKEN_CACHE_DIR", ""))
    return Settings(root=root, **fields)  # type: ignore[arg-type]


def check_setting(name: str, setting: object) -> object:
    """Return a setting as `Settings` has it, or raise `InvalidSetting`; `name` is one of NAMES."""
    return _check_fields({name: setting})[name]


def apply_changes(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Return the settings with those that were made while running."""
    own = {name: setting for name, setting in changes.items() if name in NAMES}
    return replace(settings, **own, extra=_freeze_extra({**settings.extra, **changes}))


def _has_content(text: bytes) -> bool:
    # A file of comments needs no parser, and tomllib is as large as the rest of a cold start.
    return any(line.strip() and not line.lstrip().startswith(b"#") for line in text.split(b"\n"))


def _parse(text: bytes) -> dict[str, object]:
    plain = parse_plain_lines(text)
    if plain is not None:
        return plain
    import tomllib

    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(FILE, f"it is not TOML ({error})") from error


def _check_fields(fields: dict[str, object]) -> dict[str, object]:
    tables = read_tables(fields)
    plain = {name: fields[name] for name in NAMES if name in fields and name not in tables}
    return {**_check_plain_fields(plain), **tables, "extra": _freeze_extra(fields)}


def _freeze_extra(fields: Mapping[str, object]) -> FrozenDict:
    # Lists become tuples, so that the settings keep their hash.
    return FrozenDict(
        {
            name: tuple(setting) if isinstance(setting, list) else setting
            for name, setting in fields.items()
            if name not in NAMES
        }
    )


def _check_plain_fields(fields: dict[str, object]) -> dict[str, object]:
    defaults = Settings(root="")
    fields = {name: check_kind(name, fields[name], getattr(defaults, name)) for name in fields}
    for name, setting in fields.items():
        if isinstance(setting, int | float) and setting < 0:
            raise InvalidSetting(name, "it cannot be negative")
        if name in _AT_LEAST_ONE_DAY and isinstance(setting, int | float) and setting < 1:
            advice = "to keep everything, name the task in system_tasks_off"
            raise InvalidSetting(name, f"it must be at least 1 day; {advice}")
    for name, choices in (("agents_md_include", INCLUDES), ("mcp_tools", TOOL_SETS)):
        if fields.get(name, choices[0]) not in choices:
            raise InvalidSetting(name, f"it is one of {', '.join(choices)}")
    return fields


def check_kind(name: str, setting: object, default: object) -> object:
    """Return a setting, a list as a tuple, or raise `InvalidSetting` if the types differ."""
    if isinstance(default, tuple) and isinstance(setting, list):
        setting = tuple(setting)
    is_kind = type(setting) is type(default) or (type(default) is float and type(setting) is int)
    if isinstance(setting, tuple):
        is_kind = is_kind and all(isinstance(item, str) for item in setting)
    if not is_kind:
        shown = list(setting) if isinstance(setting, tuple) else setting
        raise InvalidSetting(name, f"it must be {_describe_kind(default)}, not {shown!r}")
    return setting


def _describe_kind(default: object) -> str:
    kinds = {bool: "true or false", int: "a whole number", float: "a number"}
    return {**kinds, tuple: 'a list of texts, ["like", "this"]'}.get(type(default), "text")
