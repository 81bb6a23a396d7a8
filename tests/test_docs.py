"""The documentation tells the truth: its examples run, its links lead somewhere.

In each page, in order, in one fresh folder: `python` blocks share one namespace; an `output` block
is what the block before it printed; in `console` blocks each `$` line is run by the shell and the
lines after it are its whole output, with `[exit N]` last if it fails. `…` stands for any text in a
line; `…` or `...` alone stands for any lines. Blocks with other tags are not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
_OWN = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in _OWN), *DOCS]

FENCE = re.compile(r"^( *)(```+|~~~+)([^\n`]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)")


class Block(NamedTuple):
    """A fenced block: its tag, its text, and the line where the text begins."""

    tag: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for found in FENCE.finditer(page):
        tag = (found[3].split() or [""])[0]
        yield Block(tag, textwrap.dedent(found[4]), page.count("\n", 0, found.start(4)) + 1)


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Yield each `$` line with its number and the lines after it."""
    for found in re.finditer(
        r"^\$ (.*(?:(?<=\\)\n.*)*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE
    ):
        yield block.line + block.text.count("\n", 0, found.start()), found[1], found[2]


def matches(expected: str, actual: str) -> bool:
    def pattern(line: str) -> str:
        if line.strip() in {"…", "..."}:
            return r"(?:.*\n)*"
        return ".*".join(map(re.escape, line.rstrip().split("…"))) + r" *\n"

    wanted = "".join(map(pattern, expected.strip("\n").splitlines()))
    text = actual.strip("\n")
    return re.fullmatch(wanted, text + "\n" if text else "") is not None


class Reader:
    """Follows a page as a reader would, in the current folder."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = ModuleType("example")
        self.printed = ""

    def follow(self, page: str) -> None:
        for block in blocks(page):
            if block.tag == "python":
                self.execute(block)
            elif block.tag == "output":
                self.compare(block.line, "the block above", block.text, self.printed)
            elif block.tag == "console":
                for line, command, expected in commands(block):
                    self.compare(line, command, expected, shell(command))

    def execute(self, block: Block) -> None:
        # The empty lines make a traceback point into the page.
        code = compile("\n" * (block.line - 1) + block.text, self.name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, vars(self.module))
        self.printed = printed.getvalue()

    def compare(self, line: int, what: str, expected: str, actual: str) -> None:
        if not matches(expected, actual):
            pytest.fail(f"{self.name}:{line}: {what}\n--- expected\n{expected}\n--- got\n{actual}")


def shell(command: str) -> str:
    """Run a line as a reader would, with the looseleaf of this environment; return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, "PATH": path, "COLUMNS": "80", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.rstrip("\n") + (f"\n[exit {done.returncode}]" if done.returncode else "")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Someone who has just installed Looseleaf and stands in an empty folder."""
    for name in [name for name in os.environ if name.startswith("LOOSELEAF_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    newcomer = Reader("page.md")
    monkeypatch.setitem(sys.modules, "example", newcomer.module)
    return newcomer


def linked(page: Path) -> Iterator[Path]:
    """Yield the files that a page's relative links lead to."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    for target in LINK.findall(prose):
        if not re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            yield (page.parent / target.partition("#")[0]).resolve()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path, reader: Reader) -> None:
    """A reader who does what the page says sees what it says."""
    reader.name = str(page.relative_to(ROOT))
    reader.follow(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    """Every relative link names a file of the repository."""
    broken = [target for target in linked(page) if not target.exists()]
    assert not broken, f"{page.name} links to what is not there: {broken}"


def test_the_glossary_has_each_word_once() -> None:
    """The words stand in their order, each once, so that a new word finds its place."""
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    words = [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]
    assert words == sorted(set(words), key=str.lower)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: its headings as GitHub turns them into addresses."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_anchors_of_a_page_are_headings(page: Path) -> None:
    """Every link to a part of a page names a heading of that page."""
    links = re.findall(r"\]\(([\w./-]*\.md)?#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    broken = [
        f"{file}#{anchor}"
        for file, anchor in links
        if anchor not in anchors(page.parent / file if file else page)
    ]
    assert not broken, f"{page.name} links to headings that are not there: {broken}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_modules_that_a_page_names_exist(page: Path) -> None:
    """A module is named by its path in the repository or in the package, as it is called now."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    names = re.findall(r"`([\w/]+\.py)`", text)
    places = (ROOT, ROOT / "src", ROOT / "src" / "looseleaf")
    lost = [name for name in names if not any((place / name).is_file() for place in places)]
    assert not lost, f"{page.name} names modules that are not there: {lost}"


def test_every_docs_page_can_be_found() -> None:
    """Each page of docs/ is linked from the README or from docs/index.md."""
    entrances = [page for page in (ROOT / "README.md", ROOT / "docs" / "index.md") if page.exists()]
    reachable = {target for entrance in entrances for target in linked(entrance)}
    lost = [page.name for page in DOCS if page.resolve() not in reachable]
    assert not lost, f"link to {', '.join(lost)} from docs/index.md"


WRONG = {
    "an error": "```python\n1 / 0\n```\n",
    "an error in a later block": "```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n",
    "another output": "```python\nprint(2)\n```\n\n```output\n3\n```\n",
    "an indented example": "1. Do\n\n   ```python\n   1 / 0\n   ```\n",
    "other lines": "```console\n$ echo one\ntwo\n```\n",
    "too few lines": "```console\n$ printf 'one\\ntwo\\n'\none\n```\n",
    "too many lines": "```console\n$ echo one\none\ntwo\n```\n",
    "output that is not shown": "```console\n$ echo one\n```\n",
    "a second command": "```console\n$ echo one\none\n$ echo two\nthree\n```\n",
    "a failure that is not shown": "```console\n$ false\n```\n",
    "another exit code": "```console\n$ exit 3\n[exit 4]\n```\n",
    "an unknown command": "```console\n$ looseleaf-is-not-called-so\n```\n",
}

RIGHT = """
```python
from pathlib import Path
name = "page.md"
```

```python
Path(name).write_text("# Title\\n")
print("first")
print("time 12:30")
```

```output
first
time …
```

```console
$ cat page.md
# Title
$ printf 'a\\n\\nb\\nc\\nd\\n'
a

b
...
d
$ echo one \\
    two
one…two

$ true
$ exit 3
[exit 3]
```

```sh
this is not run
```
"""


@pytest.mark.parametrize("page", WRONG.values(), ids=WRONG)
def test_a_wrong_example_is_noticed(page: str, reader: Reader) -> None:
    """An example that does not do what it says fails."""
    with pytest.raises((ArithmeticError, AssertionError, pytest.fail.Exception)):
        reader.follow(page)


def test_right_examples_pass(reader: Reader) -> None:
    """Blocks share one folder and one namespace, and what may vary can be left open."""
    reader.follow(RIGHT)
