"""Names of functions that do not begin with a verb."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.modules import FUNCTIONS, Module
from tests.unclear_names import split_words

VERBS = split_words(
    """
    abandon accept act add admit advance allow announce answer append apply approve archive arrange
    ask assemble assign attach attempt authenticate authorize await beat begin bind block bound
    build call cancel capture change check choose claim clean clear close collect combine commit
    compact compare compile complain complete compose compress compute confine configure confirm
    connect continue converse convert copy count create cut damage decide declare decode decompress
    decorate delete deregister derive describe detach detect diff digest discard display download
    draft drop dump edit emit enable encode end ensure enter escape estimate exchange excerpt
    exclude execute expand expire explain export extend extract fail fence fetch fill filter find
    finish fire fit fix flag flush fold follow forget format freeze gather generate get give glance
    grant group guard handle hash hide highlight hold hydrate identify ignore import include index
    infer insert inspect install invoke issue iterate join judge keep label launch leave limit link
    lint list listen load locate lock log look lower make map mark mask match measure mend merge
    migrate mount move name narrow normalize note notice notify number open order overwrite pack
    paint pair parse pass pause pick place plan poll pop prepare preview print project propose
    protect prune publish pull pump purge put query question queue quote raise rank read rebase
    recall receive recognize reconcile record recover redo reduce refer reflect refresh refuse
    register reject release remember remove rename render renew repeat replace replay reply report
    represent request require rescue reserve reset resolve respond restore resume retire retry
    return reveal review revise revoke rewind rewrite run save say scaffold scan schedule seal
    search select send serve set settle share shift shorten show sign signal silence simplify size
    skip sort splice split stage stagger stamp start state stop store stream strip submit subscribe
    succeed suggest sum summarize swap sweep switch sync take talk tell tidy translate trim truncate
    try turn undo unescape uninstall unite unlock unpack unquote unsplice unsubscribe unwatch unwrap
    update upgrade upload use validate verify visit wait wake walk warn watch work wrap write yield
    blank score stem
    redirect
    attack flood guess race
    """
)
# Statements that are true or false.
PREDICATES = split_words(
    """
    is are has was may can must should acts administers allows begins belongs concerns contains
    continues denies differs ends exists expires fits gives goes holds implements leads lies looks
    matches needs offers reaches runs serves speaks stands starts supports takes waits wants widens
    writes
    """
)
# Conversions (`as_json`, `with_date`), choices (`by_name`) and callbacks (`on_change`).
PREPOSITIONS = split_words("as by from in into on to with without")
# Verbs that are nouns where they stand alone: `_link(page)` gives a link, `link_pages` links.
NOUNS_ALONE = split_words(
    """
    block digest group index label limit link log match name number order pair place project query
    question reason record request size stamp state
    """
)
# Decorators that give a function its name on a surface, so that the name is the surface's.
NAMING_DECORATORS = {"command", "operation", "hookimpl", "hookspec", "overload"}
ACCESSORS = {"property", "cached_property", "setter"}
# Names that the field or a format fixes.
TERMS = {
    "main": "the entry of a program",
    "init": "the command that creates a workspace",
    "hookimpl": "the marker of pluggy",
    "dataclass_transform": "the stand-in for the decorator of the typing module",
    "overload": "the stand-in for the decorator of the typing module",
    "value": "the decorator of frozen values, as `dataclass`",
    "operation": "the decorator of operations",
    "command": "the decorator of commands, as in click",
    "now": "the time of a clock",
    "never": "the condition that is always false",
}
# The name of a directive, or of a command of dev.py, is that of its function.
NAMED_BY_FUNCTION = {"prompt/directives/defaults.py", "dev.py"}


def find_functions_without_verb(modules: Iterable[Module]) -> tuple[list[str], int]:
    """List the functions whose name begins with no verb, and count all that are looked at.

    Public methods are left alone: a noun there names a part of its object, as `keys()` does.
    """
    hits, total = [], 0
    for module in modules:
        for node in _list_functions(module.tree, in_class=False):
            is_public = not node.name.startswith("_")
            if is_public and module.path in NAMED_BY_FUNCTION:
                continue
            total += 1
            if not begins_with_verb(node.name):
                hits.append(f"{module.path}:{node.lineno}: {node.name}")
    return hits, total


def begins_with_verb(name: str) -> bool:
    """Tell whether a function is named by its act, as a statement, or as a conversion.

    An accessor may end in `_of`: `agent_of(request)` gives a part of its argument.
    """
    word = name.strip("_")
    first, *rest = word.split("_")
    if word in TERMS or (rest and rest[-1] == "of"):
        return True
    if not rest and first in NOUNS_ALONE:
        return False
    return first in VERBS or first in PREDICATES or first in PREPOSITIONS


def _list_functions(
    tree: ast.AST, *, in_class: bool
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give functions and private methods that bear a name of our own choice."""
    for node in ast.iter_child_nodes(tree):
        is_function = isinstance(node, FUNCTIONS)
        if isinstance(node, FUNCTIONS):
            is_method = in_class and not node.name.startswith("_")
            is_special = node.name.startswith("__") and node.name.endswith("__")
            if not is_method and not is_special and not _is_named_elsewhere(node):
                yield node
        inside = isinstance(node, ast.ClassDef) or (in_class and not is_function)
        yield from _list_functions(node, in_class=inside)


def _is_named_elsewhere(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name in NAMING_DECORATORS | ACCESSORS:
            return True
    return False
