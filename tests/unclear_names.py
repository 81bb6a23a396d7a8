"""Local names that say nothing: bare participles and pronouns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.modules import FUNCTIONS, Module


def split_words(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(text.split())


IRREGULAR_PARTICIPLES = split_words(
    """
    beaten become begun bent bitten born borne bought bound broken brought built burnt caught
    chosen clung crept cut dealt done drawn driven drunk dug eaten fallen fed felt flown
    forbidden forgiven forgotten fought found frozen given gone gotten ground grown heard held
    hidden hung hurt kept known laid lain led left lent lit lost made meant met mistaken
    outgrown overflown overwritten paid proven put read rebuilt redone rewritten risen
    said sat seen sent sewn shaken shaped shown shrunk shut slept sold sought spent split spoken
    sprung stolen stood struck stuck sung sunk sworn swept taken taught thought thrown told torn
    undone understood unknown unsaid unseen unspent unwritten woken won worn woven written
    """
)
PRESENT_PARTICIPLES = split_words(
    """
    acting asking building cancelling changing closing coming connecting cutting damping doing
    existing finding getting giving going hashing having holding incoming keeping knowing
    lasting leaving looking making meaning outgoing passing pending putting reading running
    saying seeing showing speaking standing staying taking talking telling thinking trying
    turning using waiting wanting watching working writing
    """
)
PRONOUNS = split_words(
    """
    one ones other others another thing things what whatever who whom whose whoever which
    whichever this that these those it its they them their theirs he him his she her hers we us
    our ours you your yours mine my me where wherever when whenever why how there here same such
    some any all each every both none neither either everything something nothing anything
    everyone someone nobody anybody more most much many few several own whole else elsewhere
    otherwise again anew alone about
    """
)
# Words in -ed that are nouns or adjectives of the field, never a participle.
NOUNS = {"bed", "embed", "feed", "need", "seed", "shed", "speed"}
# Participles that are terms: fixed by a format, a protocol, or a pair such as expected and actual.
TERMS = {
    "where": "the value `Where` (agent, user, layer), a documented parameter of operations",
    "finding": "the result of a check, as in `Finding`",
    "expected": "the other half of `actual` in a compare-and-swap",
    "enabled": "the usual name of a switch; a key of settings and of JSON results",
    "disabled": "the usual name of a switch; a key of JSON results",
    "created": "a key of JSON results",
    "updated": "a key of JSON results",
    "deleted": "a key of JSON results",
    "truncated": "a key of JSON results",
    "required": "a key of JSON schema",
    "mine": "one side of a merge, beside `base` and `theirs`",
    "theirs": "the other side of a merge, beside `base` and `mine`",
}

SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.Module)


def list_local_names(module: Module) -> Iterator[tuple[int, str]]:
    """Give parameters, local variables and fields, each once for its function or class."""
    for scope in ast.walk(module.tree):
        if isinstance(scope, SCOPES) and not isinstance(scope, ast.Module):
            names: dict[str, int] = {}
            for line, name in _list_bound_names(scope):
                names.setdefault(name, line)
            yield from ((line, name) for name, line in names.items())


def _list_bound_names(scope: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(scope, (*FUNCTIONS, ast.Lambda)):
        arguments = scope.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
        yield from ((a.lineno, a.arg) for a in parameters if a.arg not in {"self", "cls"})
    for node in _walk_inside(scope):
        match node:
            case ast.Name(name, ast.Store()):
                yield node.lineno, name
            case ast.Attribute(ast.Name("self"), name, ast.Store()):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name
            case ast.MatchStar(name=str(name)):
                yield node.lineno, name


def _walk_inside(scope: ast.AST) -> Iterator[ast.AST]:
    """Walk a scope without the functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, SCOPES):
            yield child
            yield from _walk_inside(child)


def is_unclear(name: str) -> bool:
    """Tell whether a name is a bare participle or a pronoun."""
    word = name.strip("_").lower()
    if word in NOUNS or word in TERMS or not word.isalpha():
        return False
    return (
        word in IRREGULAR_PARTICIPLES
        or word in PRESENT_PARTICIPLES
        or word in PRONOUNS
        or (word.endswith("ed") and len(word) > 3)
    )


def find_unclear_names(modules: Iterable[Module]) -> tuple[list[str], int]:
    """List the local names that are bare participles or pronouns, and count all local names."""
    hits, total = [], 0
    for module in modules:
        for line, name in list_local_names(module):
            total += 1
            if is_unclear(name):
                hits.append(f"{module.path}:{line}: {name}")
    return hits, total
