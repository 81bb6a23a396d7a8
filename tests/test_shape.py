"""The shape of the code keeps its limits, and the measure finds what it should find."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import clause_subjects, function_names, shape, unclear_names
from tests.modules import SOURCE, Module, read_modules, read_scripts
from tests.tested_in import TESTED_IN

# The limits of today, tightened as names and sentences are rewritten.
MOST_UNCLEAR_NAMES = 0.5  # per cent
MOST_FUNCTIONS_WITHOUT_VERB = 0.5  # per cent
MOST_UNCLEAR_NAMES_IN_SCRIPTS = 0.5  # per cent; the scripts are dev.py and the benchmarks
MOST_FUNCTIONS_WITHOUT_VERB_IN_SCRIPTS = 0.5  # per cent
MOST_CLAUSES_IN_DOCS = 0.3  # per cent
MOST_CLAUSES_IN_DOCSTRINGS = 0.3  # per cent
MOST_CYCLES = 0
MOST_LARGE_PACKAGES = 0
MOST_UNTESTED = 0


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    """Read the package once."""
    return read_modules()


def share(hits: list[str], total: int) -> float:
    """Give the hits in per cent."""
    return 100 * len(hits) / total


def module(text: str, path: str = "memory/pages.py") -> Module:
    """Make a module of a text."""
    return Module(path, text, ast.parse(text))


def test_modules_are_small(modules: list[Module]) -> None:
    """No module is over the limit, and half of them fit three screens."""
    assert not shape.find_long_modules(modules)
    assert shape.measure_median(modules) <= 150


def test_packages_are_small(modules: list[Module]) -> None:
    """A folder listing can be read at a glance."""
    large = shape.find_large_packages(modules)
    assert len(large) <= MOST_LARGE_PACKAGES, large


def test_module_names_say_something(modules: list[Module]) -> None:
    """No module has a name that a stranger cannot guess."""
    assert not shape.find_empty_names(modules)


def test_modules_import_one_way(modules: list[Module]) -> None:
    """No modules import each other, not even for their types."""
    cycles = shape.find_cycles(modules)
    assert len(cycles) <= MOST_CYCLES, cycles


def test_local_names_are_nouns(modules: list[Module]) -> None:
    """Parameters, local variables and fields are no bare participles or pronouns."""
    hits, total = unclear_names.find_unclear_names(modules)
    assert share(hits, total) <= MOST_UNCLEAR_NAMES, hits


def test_functions_begin_with_a_verb(modules: list[Module]) -> None:
    """A function is named by its act, as a statement or as a conversion, not as a thing."""
    hits, total = function_names.find_functions_without_verb(modules)
    assert share(hits, total) <= MOST_FUNCTIONS_WITHOUT_VERB, hits


def test_names_in_scripts_say_what_they_are() -> None:
    """The names in dev.py and in the benchmarks follow the rules of the package."""
    scripts = read_scripts()
    assert {"dev.py", "benchmarks/table.py"} <= {script.path for script in scripts}
    hits, total = unclear_names.find_unclear_names(scripts)
    assert share(hits, total) <= MOST_UNCLEAR_NAMES_IN_SCRIPTS, hits
    hits, total = function_names.find_functions_without_verb(scripts)
    assert share(hits, total) <= MOST_FUNCTIONS_WITHOUT_VERB_IN_SCRIPTS, hits


def test_subjects_are_nouns_in_the_docs() -> None:
    """Sentences of the docs have a noun as subject, not a clause."""
    hits, total = clause_subjects.find_clause_subjects(clause_subjects.read_docs_sentences(SOURCE))
    assert share(hits, total) <= MOST_CLAUSES_IN_DOCS, hits


def test_subjects_are_nouns_in_docstrings(modules: list[Module]) -> None:
    """Sentences of docstrings have a noun as subject, not a clause."""
    hits, total = clause_subjects.find_clause_subjects(
        clause_subjects.list_docstring_sentences(modules)
    )
    assert share(hits, total) <= MOST_CLAUSES_IN_DOCSTRINGS, hits


def test_every_module_has_its_tests(modules: list[Module]) -> None:
    """A module has a test of its name, or a line in tested_in.py that names the test."""
    untested = shape.find_untested(modules, SOURCE, TESTED_IN)
    assert len(untested) <= MOST_UNTESTED, untested


def test_stated_places_are_true(modules: list[Module]) -> None:
    """Every line of tested_in.py names a module, a test that is there, and a reason."""
    tests = Path(__file__).parent
    paths = {module.path for module in modules}
    for path, (place, reason) in TESTED_IN.items():
        assert path in paths, f"{path} is gone: take its line out of tested_in.py"
        assert (tests / place).exists(), f"{path}: there is no tests/{place}"
        assert reason, path
        assert not (tests / shape.test_path_of(path)).is_file(), f"{path} has a test of its name"


@pytest.mark.parametrize(
    "text",
    [
        "def f(told): ...",
        "def f(*, one=1): ...",
        "def f(*given): ...",
        "f = lambda asked: 1",
        "def f():\n    found = 1",
        "def f():\n    for one in (): ...",
        "def f():\n    [one for one in ()]",
        "def f():\n    with g() as held: ...",
        "def f():\n    try: ...\n    except E as what: ...",
        "class C:\n    kept: int",
        "class C:\n    def f(self):\n        self._known = 1",
        "def f(x):\n    match x:\n        case [first, *others]: ...",
        "def f():\n    if (made := 1): ...",
        "def f():\n    changed = 1",
    ],
)
def test_a_participle_is_found(text: str) -> None:
    """Wherever a name is bound, a bare participle or pronoun is found, once."""
    hits, _ = unclear_names.find_unclear_names([module(text)])
    assert len(hits) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def changed(): ...",
        "def f(self, seed, speed): ...",
        "class C:\n    expected: str",
        "def f():\n    found_pages = 1",
        "x.told = 1",
    ],
)
def test_a_noun_is_no_participle(text: str) -> None:
    """Functions, nouns in -ed, terms of the field and attributes of others are left alone."""
    assert unclear_names.find_unclear_names([module(text)])[0] == []


@pytest.mark.parametrize(
    "text",
    [
        "def _rows(): ...",
        "def new_id(): ...",
        "def _made(): ...",
        "def _link(page): ...",
        "async def page(request): ...",
        "class C:\n    def _part(self): ...",
        "def f_of():\n    def callback(): ...",
    ],
)
def test_a_function_without_verb_is_found(text: str) -> None:
    """Functions, private methods and functions inside others that are named as things."""
    hits, _ = function_names.find_functions_without_verb([module(text)])
    assert len(hits) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def build_row(): ...",
        "def _is_local(): ...",
        "def as_json(): ...",
        "def link_pages(): ...",
        "def agent_of(request): ...",
        "class C:\n    def part(self): ...\n    def __eq__(self, other): ...",
        "class C:\n    @property\n    def _part(self): ...",
        "@command('paths')\ndef paths(): ...",
        "@app.operation('x')\nasync def page(): ...",
    ],
)
def test_a_verb_is_seen(text: str) -> None:
    """Acts, statements, conversions, accessors, and names that another surface fixes."""
    assert function_names.find_functions_without_verb([module(text)])[0] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Who leaves does not stop the turn: the answer is in the session.",
        "Who is not the local administrator is called by their own name.",
        "To read or rename one does not make it live longer.",
        "What agents have in common (the core text, SITE.md) comes first.",
        "Whoever sends the same request id again gets the same answer.",
        "When a credential was last used is noted to the hour.",
        "That a token may read a page stays decided for 50 ms.",
        "A session is its owner's; who has `manage_agents` sees all.",
    ],
)
def test_a_clause_as_subject_is_found(sentence: str) -> None:
    """The sentences that a reader must read twice."""
    assert clause_subjects.has_clause_subject(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Reading or renaming a session does not extend its retention.",
        "What a store can do, by name.",
        "What is wrong with it?",
        "To remove a deleted agent for good, delete its folder.",
        "To others the session is missing.",
        "Where the disk syncs slowly, the commits show.",
        "That is itself a revision.",
        "How a turn ended.",
        "What someone shows to act as a user.",
    ],
)
def test_a_plain_sentence_passes(sentence: str) -> None:
    """Nouns as subjects, questions, titles, and clauses that end at a comma."""
    assert not clause_subjects.has_clause_subject(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "from looseleaf.memory.scope import Scope",
        "from .scope import x",
        "from . import scope",
        "if TYPE_CHECKING:\n    from .scope import Scope",
        "def f():\n    import looseleaf.memory.scope",
    ],
)
def test_a_cycle_is_found(text: str) -> None:
    """However two modules import each other, the cycle is found."""
    other = module("import looseleaf.memory.pages", "memory/scope.py")
    apart = module("import looseleaf.memory.pages", "memory/daily.py")
    package = module('"""Memory."""', "memory/__init__.py")
    assert shape.find_cycles([module(text), other, apart, package]) == [
        "looseleaf.memory.pages ↔ looseleaf.memory.scope"
    ]
    assert not shape.find_cycles([module("import os"), other, apart, package])


def test_large_packages_and_empty_names_are_found() -> None:
    """Twenty-six modules are too many, except in a list of nouns; so is a module called utils."""
    many = [module("x = 1\ny = 2\n", f"memory/part{number}.py") for number in range(26)]
    assert shape.find_large_packages(many) == ["memory: 26 modules"]
    nouns = [module("x = 1", f"operations/part{number}.py") for number in range(26)]
    assert not shape.find_large_packages(nouns)
    assert shape.find_empty_names([*many, module("", "web/door.py")]) == ["web/door.py"]
    long = module("x = 1\n" * 801)
    assert shape.find_long_modules([long, module("x = 1\n" * 800, "a.py")]) == [
        "memory/pages.py: 801 lines"
    ]


def test_a_module_without_a_test_is_found(tmp_path: Path) -> None:
    """The test stands at the same path; a stated place will do; a bare package needs none."""
    (tmp_path / "tests" / "memory").mkdir(parents=True)
    modules = [module("x = 1\ny = 2"), module('"""Memory."""', "memory/__init__.py")]
    source = tmp_path / "src"
    assert shape.find_untested(modules, source, {}) == ["memory/pages.py"]
    assert not shape.find_untested(modules, source, {"memory/pages.py": ("x", "y")})
    (tmp_path / "tests" / "memory" / "test_pages.py").write_text("")
    assert not shape.find_untested(modules, source, {})


def test_the_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each figure has a line, with its share; --list names the findings."""
    assert shape.main([str(SOURCE), "--list"]) == 0
    printed = capsys.readouterr().out
    titles = ("median", "cycles of modules", "participles", "clauses as subject, docs")
    for title in (*titles, "participles, benchmarks, dev.py", "no verb, benchmarks and dev.py"):
        assert title in printed
    with pytest.raises(SystemExit):
        shape.main([str(Path(__file__).parent)])
