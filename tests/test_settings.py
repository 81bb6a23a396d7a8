"""Settings come from one file and a few variables, and a wrong one is an error."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Workspace, settings
from looseleaf.errors import InvalidSetting, WorkspaceMissing
from looseleaf.settings import parse_plain_lines
from looseleaf.stores.disk.create import format_settings


def test_the_starter_file_sets_nothing_but_the_name(tmp_path: Path) -> None:
    """Every line of it is the default."""
    (tmp_path / "looseleaf.toml").write_text(format_settings(""))
    assert settings.load(str(tmp_path), environ={}) == settings.Settings(
        root=str(tmp_path), actor="operator"
    )
    (tmp_path / "looseleaf.toml").write_text(format_settings('A "quoted" \\ näme'))
    assert settings.load(str(tmp_path), environ={}).name == 'A "quoted" \\ näme'


def test_the_starter_file_names_only_real_settings(tmp_path: Path) -> None:
    """Uncommented, every line of it is taken, and each is the default it says it is."""
    lines = format_settings("").splitlines()[1:]
    text = "\n".join(line.removeprefix("# ") for line in lines)
    (tmp_path / "looseleaf.toml").write_text(text)
    loaded = settings.load(str(tmp_path), environ={})
    assert loaded == settings.Settings(root=str(tmp_path), actor="operator")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('default_user = "one"', "a whole number"),
        ("default_user = true", "a whole number"),
        ("group_writable = 1", "true or false"),
        ("retention_days = -1", "negative"),
        ('plugins = "acme"', "a list of texts"),
        ("plugins = [1]", "a list of texts"),
        ('plugins = [["a"]]', "a list of texts"),
        ('default_model = ["acme:large"]', "must be text"),
        ('agents_md_include = "both"', "inline, imports"),
        ("name = ", "not TOML"),
        (b"name = '\xff'", "not TOML"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(
    tmp_path: Path, text: str | bytes, complaint: str
) -> None:
    """The error names the setting and what it should be."""
    content = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "looseleaf.toml").write_bytes(content)
    with pytest.raises(InvalidSetting, match=complaint):
        settings.load(str(tmp_path), environ={})


@pytest.mark.parametrize("name", ["nonsense", "root", "extra"])
def test_an_unknown_setting_is_refused_when_the_workspace_opens(tmp_path: Path, name: str) -> None:
    """Until then nobody knows the settings of plugins."""
    (tmp_path / "looseleaf.toml").write_text(f"{name} = [1]\n")
    loaded = settings.load(str(tmp_path), environ={})
    assert (loaded.root, loaded.extra) == (str(tmp_path), {name: (1,)})
    assert hash(loaded) == hash(settings.load(str(tmp_path), environ={}))
    message = f"The setting {name} cannot be used: looseleaf.toml has no such setting."
    with pytest.raises(InvalidSetting) as error:
        Workspace(loaded)
    assert (str(error.value), error.value.code) == (message, "invalid_setting")


@pytest.mark.parametrize(
    "text", ['plugins = ["a", "b.c"] # ours', 'plugins = [\n  "a", # first\n  "b.c",\n]']
)
def test_a_list_of_texts_is_a_setting(tmp_path: Path, text: str) -> None:
    """On one line or on several; a value has it as a tuple."""
    (tmp_path / "looseleaf.toml").write_text(text)
    assert settings.load(str(tmp_path), environ={}).plugins == ("a", "b.c")


def test_variables_name_the_agent_and_the_actor(tmp_path: Path) -> None:
    """LOOSELEAF_AGENT wins over the file."""
    (tmp_path / "looseleaf.toml").write_text('default_agent = "ada"\nretention_days = 7')
    loaded = settings.load(
        str(tmp_path), environ={"LOOSELEAF_AGENT": "bob", "LOOSELEAF_ACTOR": "me"}
    )
    assert (loaded.default_agent, loaded.actor, loaded.retention_days) == ("bob", "me", 7)


def test_the_root_is_found_in_four_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As told, by the variable, the nearest folder above, the user's own."""
    deep = tmp_path / "project" / "src"
    deep.mkdir(parents=True)
    (tmp_path / "project" / "looseleaf.toml").touch()
    monkeypatch.chdir(deep)
    environ = {
        "LOOSELEAF_ROOT": str(tmp_path / "variable"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    assert settings.find_root(str(tmp_path / "told"), environ=environ) == str(tmp_path / "told")
    assert settings.find_root(environ=environ) == str(tmp_path / "variable")
    del environ["LOOSELEAF_ROOT"]
    assert settings.find_root(environ=environ) == str(tmp_path / "project")
    monkeypatch.chdir(tmp_path)
    assert settings.find_root(environ=environ).endswith("looseleaf")


def test_a_folder_without_settings_is_no_workspace(tmp_path: Path) -> None:
    """The error says how to make it one."""
    with pytest.raises(WorkspaceMissing, match="looseleaf init"):
        settings.load(str(tmp_path), environ={})


def test_an_empty_folder_may_be_a_disk_that_is_not_mounted(tmp_path: Path) -> None:
    """If someone chose the folder; the user's own is a new workspace."""
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
    (tmp_path / "empty").mkdir()
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "notes.md").write_text("x")
    for folder, reason, names_both in (
        ("empty", "the folder is empty", True),
        ("missing", "there is no such folder", True),
        ("files", "it has no looseleaf.toml", False),
        ("data/looseleaf", "there is no such folder", False),
    ):
        with pytest.raises(WorkspaceMissing, match=reason) as error:
            settings.load(str(tmp_path / folder), environ=environ)
        assert ("mount its disk and try again" in str(error.value)) is names_both, folder
        assert str(error.value).endswith(f"looseleaf init {tmp_path / folder}")


LINES = st.one_of(
    st.sampled_from(["", "# note", "[table]", "[ other ] # why", "[a.b]", "[[x]]", "[x] = 1"]),
    st.sampled_from(["a.b = 1", "x = 'y'", "x = [1]", "x = 1_0", '"a" "b" = 1', '"""q""" = 1']),
    st.builds(
        lambda name, given, end: f"{name} = {given}{end}",
        st.sampled_from(["name", "default_user", "x", "a b", '"q"', '"~/a = b"', '""', "é"]),
        st.one_of(
            st.text(max_size=8).map(lambda text: f'"{text}"'),
            st.sampled_from(["1", "0", "-1", "1.5", "true", "false", "True", '"\\\\"', "nan"]),
            st.lists(
                st.sampled_from(
                    ['"a"', '"b c"', '"]"', '","', '"#"', "''", '"\\\\"', "1", "", " "]
                ),
                max_size=4,
            ).map(lambda items: f"[{','.join(items)}]"),
        ),
        st.sampled_from(["", " # why", "  ", ' "', " x"]),
    ),
)


@given(st.lists(LINES, max_size=5))
def test_plain_files_are_read_as_toml_reads_them(lines: list[str]) -> None:
    """The short way gives what the parser gives, or leaves the file to it."""
    text = "\n".join(lines)
    plain = parse_plain_lines(text.encode("utf-8", "surrogatepass"))
    if plain is not None:
        assert plain == tomllib.loads(text)


def test_folders_and_sites_are_tables(tmp_path: Path) -> None:
    """Names of folders, and sites whose password the environment may have."""
    (tmp_path / settings.FILE).write_text(
        '[publish_folders]\nposts = "/srv/posts"\n'
        '[wordpress_sites.my-blog]\nurl = "https://blog.test"\nuser = "bot"\npassword = "a"\n'
    )
    loaded = settings.load(str(tmp_path), environ={})
    assert loaded.publish_folders == (("posts", "/srv/posts"),)
    (site,) = loaded.wordpress_sites
    assert (site.name, site.url, site.user) == ("my-blog", "https://blog.test", "bot")
    assert site.password is not None
    assert site.password.reveal() == "a"
    (site,) = settings.load(
        str(tmp_path), environ={"LOOSELEAF_PASSWORD_MY_BLOG": "b"}
    ).wordpress_sites
    assert site.password is not None
    assert site.password.reveal() == "b"
    assert "Secret(…)" in repr(site)


@pytest.mark.parametrize(
    "text",
    [
        'publish_folders = "/srv"',
        "[publish_folders]\nposts = 3",
        '[wordpress_sites]\nblog = "https://blog.test"',
        '[wordpress_sites.blog]\nuser = "x"',
        '[wordpress_sites.blog]\nurl = "ftp://blog.test"',
        '[wordpress_sites.blog]\nurl = "https://blog.test"\nkey = "hunter2"',
    ],
)
def test_folders_and_sites_that_cannot_be_are_refused(tmp_path: Path, text: str) -> None:
    """The error names the setting, and no secret."""
    (tmp_path / settings.FILE).write_text(text)
    with pytest.raises(InvalidSetting) as told:
        settings.load(str(tmp_path), environ={})
    assert "hunter2" not in str(told.value)


def test_a_workspace_without_a_name_is_called_by_its_folder() -> None:
    """So that no page for people says "Welcome to" and nothing more."""
    assert settings.Settings(root="/home/eve/my-memory").display_name == "my-memory"
    assert settings.Settings(root="/home/eve/my-memory", name="House").display_name == "House"


@pytest.mark.parametrize(
    ("folder", "agent"),
    [
        ("code/shop", "shop"),
        ("code/shop/src", "shop"),
        ("code/shop/site", "site"),  # the innermost decides
        ("code/both", "settings"),
        ("code/both/src", "settings"),
        ("code/apart", "apart"),
        ("code/apart/src", "ann"),  # no repository: only the folder itself
        ("code/store", "ann"),
        ("code", "ann"),
        ("other", ""),
    ],
)
def test_a_project_has_an_agent_by_the_settings_or_by_a_line(
    tmp_path: Path, folder: str, agent: str
) -> None:
    """In the repository; the innermost folder decides, and of one folder the settings."""
    code = tmp_path / "code"
    for name in ("shop/.git", "shop/src", "shop/site", "both/.git", "both/src", "apart/src"):
        (code / name).mkdir(parents=True)
    (code / "store" / ".looseleaf").mkdir(parents=True)
    (code / "store" / ".git").mkdir()
    (tmp_path / "other").mkdir()
    for name, text in (
        ("shop", '# ours\nagent = "shop"\n'),
        ("both", 'agent = "line"'),
        ("shop/site", 'agent = "site"  # inside\n'),
        ("apart", 'agent = "apart"\n'),
    ):
        (code / name / ".looseleaf").write_text(text)
    projects = ((str(code), "ann"), (str(code / "both"), "settings"))
    assert settings.find_project_agent(projects, str(tmp_path / folder)) == agent


@pytest.mark.parametrize("text", ["", "shop", "agent = 1", 'agent = " "', "\xff"])
def test_a_line_of_a_repository_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    """Which names the file and the line that it needs; no other agent steps in."""
    (tmp_path / ".looseleaf").write_text(text)
    with pytest.raises(InvalidSetting, match=r'\.looseleaf needs the line agent = "NAME"'):
        settings.find_project_agent((), str(tmp_path))
