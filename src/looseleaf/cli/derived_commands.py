"""Commands derived from operations: arguments, options and help from the signature of each.

A command is declared in a few lines: its name, its operation, examples, and what is better than the
signature has it. The operation is imported when its command is run, or explained by `--help`.
"""

from __future__ import annotations

import json
import os
from functools import cache, cached_property, partial
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, NamedTuple

import click

from looseleaf.catalog.signature import ARGUMENTS
from looseleaf.cli.arguments import (
    CHANGE,
    PAGE,
    SharedOptions,
    complete_agents,
    complete_pages,
    confirm,
    read_object,
    with_shared_options,
)
from looseleaf.cli.command_line import Command, table_of, version_option
from looseleaf.cli.formats import format_count, print_document, print_table
from looseleaf.cli.output import FAILED, say
from looseleaf.values import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypedDict, Unpack

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.catalog.signature import Type

    Cell = Callable[[Any], object]
    Document = Callable[[Any], dict[str, object]]
    Show = Callable[[Any], None]
    Prepare = Callable[[dict[str, Any], dict[str, Any]], None]
    Resolve = Callable[[Any, dict[str, Any], dict[str, Any]], None]
    Finish = Callable[[Any, Any], Any]
    Question = str | Callable[[Any, dict[str, Any]], str]

    class Declaration(TypedDict, total=False):
        """What a command may have better than the signature of its operation has it."""

        help: str
        parameters: Mapping[str, str | click.Parameter | None]
        shared: tuple[str, ...]
        show: str | Show | None
        key: str
        document: Document
        ask: Question
        prepare: Prepare
        resolve: Resolve
        finish: Finish
        failed: Callable[[Any], bool]


BY_EFFECT = "?"  # the question of a destructive operation, and none for any other
_PACKAGE = __name__.partition(".")[0]
_FOLDER = os.path.dirname(os.path.dirname(__file__))
_NUMBERS = {"integer": click.INT, "number": click.FLOAT}
_LABEL = 8  # characters that a label has at least
_OWNER = ("agent", "user", "layer")
_PATHS = ("folder", "path")
_COMPLETIONS = {"agent": complete_agents, "file": complete_pages}
_ARGUMENTS = {"user": "ID|LOGIN"}
_METAVARS = {"agent": "ID|SLUG", "user": "ID|LOGIN", "integer": "N", "number": "N"}


class ResultTable:
    """Rows for people: the columns of "id user=user_id role", a field for each title.

    `cells` fills some columns by functions. `rows` names the field of the result that has the rows,
    `empty` is the sentence without any, and `count` is the noun of a last sentence.
    """

    def __init__(
        self,
        columns: str,
        *,
        cells: Mapping[str, Cell] | None = None,
        rows: str = "",
        shrink: str = "",
        right: tuple[str, ...] = (),
        empty: str = "",
        count: str = "",
    ) -> None:
        self._columns, self._rows = _read_columns(columns, cells), rows
        self._shrink, self._right = shrink, right
        self._empty, self._count = empty, count

    def __call__(self, result: Any) -> None:  # noqa: ANN401 - the result of any operation
        """Print the rows, or the sentence that there are none."""
        records = getattr(result, self._rows) if self._rows else result
        rows = [[read_cell(record) for read_cell in self._columns.values()] for record in records]
        if rows or not (self._empty or self._count):
            titles = tuple(title.upper().replace("_", " ") for title in self._columns)
            print_table(titles, rows, shrink=self._shrink, right=self._right)
        elif self._empty:
            say(self._empty)
        if self._count:
            if rows:
                say()
            say(f"{format_count(result.total if self._rows else len(rows), self._count)}.")


class Fields:
    """Lines for people: the labels of "id can=capabilities", a field for each."""

    def __init__(self, labels: str, *, cells: Mapping[str, Cell] | None = None) -> None:
        self._labels = _read_columns(labels, cells)

    def __call__(self, result: Any) -> None:  # noqa: ANN401 - the result of any operation
        """Print one line for each label."""
        width = max(_LABEL, *map(len, self._labels))
        for label, read_cell in self._labels.items():
            say(f"{label:<{width}}  {read_cell(result)}")


def _read_columns(columns: str, cells: Mapping[str, Cell] | None) -> dict[str, Cell]:
    titles = dict(column.partition("=")[::2] for column in columns.split())
    return {
        title: (cells or {}).get(title) or partial(_read_field, field or title)
        for title, field in titles.items()
    }


def _read_field(name: str, record: Any) -> object:  # noqa: ANN401 - any record
    return format_cell(record[name] if isinstance(record, dict) else getattr(record, name))


def format_cell(field: object) -> object:
    """Write a field of a record for people; numbers stay numbers."""
    if isinstance(field, bool):
        return "yes" if field else "no"
    if isinstance(field, list | tuple):
        return ", ".join(map(str, field)) or "-"
    if isinstance(field, dict):
        return json.dumps(field, ensure_ascii=False)
    return "-" if field in (None, "") else field


class DerivedCommand(Command):
    """A command that runs one operation.

    Parameters that the operation takes by position are arguments, and the others are options; their
    types and texts are those of the operation. `parameters` says what differs: "--task TASK: Only
    of this task." names an option, its value and its help, "RUN" is the name of an argument, an
    option or argument of click replaces it, and None leaves it out. `show` is a sentence with the
    fields of the result, or a function that prints the result. In JSON, `key` names a list, or
    `document` builds an object. `ask` is the question before the operation is run; `prepare`
    changes its arguments by other options, all of which it gets, and `resolve` does so by what the
    workspace has; `finish` makes the final result of a first one, such as of a job that was
    started; `failed` says whether the result is a failure.
    """

    def __init__(  # noqa: PLR0913 - one for each way to be better than the signature
        self,
        name: str,
        target: str,
        *examples: str,
        help: str = "",  # noqa: A002 - click's word
        parameters: Mapping[str, str | click.Parameter | None] | None = None,
        shared: tuple[str, ...] | None = None,
        show: str | Show | None = None,
        key: str = "",
        document: Document | None = None,
        ask: Question = BY_EFFECT,
        prepare: Prepare | None = None,
        resolve: Resolve | None = None,
        finish: Finish | None = None,
        failed: Callable[[Any], bool] | None = None,
    ) -> None:
        self._target, self._declared, self._shared = target, parameters or {}, shared
        self._show, self._key, self._ask, self._failed = show, key, ask, failed
        self._document, self._prepare, self._resolve = document, prepare, resolve
        self._finish = finish
        self._help = cleandoc(help)
        with_options = click.make_pass_decorator(SharedOptions, ensure=True)
        super().__init__(name, callback=with_options(self._call))
        self.examples = examples

    @cached_property
    def operation(self) -> Operation:
        """The operation that the command runs."""
        from looseleaf.catalog.operation import CATALOG

        module, colon, name = self._target.partition(":")
        if not colon:  # the name of an operation that a plugin has registered
            return table_of(click.get_current_context()).find_operation(self._target)
        run = getattr(import_module(module), name)
        return next(entry for entry in CATALOG.values() if entry.run is run)

    @property
    def help(self) -> str:
        """What the command does: the words of its declaration, else those of the operation."""
        if self._help:
            return self._help
        return read_docstring(self._target) or read_help(self.operation.run.__doc__)

    @help.setter  # noqa: A003 - click's word
    def help(self, text: str | None) -> None:
        self._help = self._help or text or ""

    @property
    def prepares(self) -> bool:
        """Whether the command itself gives some arguments to the operation."""
        return self._prepare is not None or self._resolve is not None

    @property
    def left_out(self) -> frozenset[str]:
        """The parameters of the operation that the command leaves out."""
        return frozenset(name for name, declared in self._declared.items() if declared is None)

    @cached_property
    def _built_params(self) -> list[click.Parameter]:
        @version_option(hidden=True)
        @with_shared_options(*self._shared_names)
        def carry() -> None:
            """Carry the shared options."""

        shared: list[click.Parameter] = carry.__click_params__  # type: ignore[attr-defined]
        own = list(self._build_parameters())
        if self._question:
            own.append(click.Option(["--yes"], is_flag=True, help="Do not ask."))
        return [*own, *reversed(shared)]

    @property
    def params(self) -> list[click.Parameter]:
        """The arguments and options, those of the operation first."""
        return self._built_params

    @params.setter
    def params(self, params: list[click.Parameter]) -> None:
        if params:
            raise TypeError("the parameters of this command are derived from its operation")

    @cached_property
    def _shared_names(self) -> tuple[str, ...]:
        from looseleaf.catalog.dispatch import KEEPS_OWN_AUDIT
        from looseleaf.catalog.signature import signature_of

        if self._shared is not None:
            return self._shared
        if any(name == "where" for name, _, _ in signature_of(self.operation.run)):
            return PAGE if self.operation.read_only else CHANGE
        keeps_reason = not self.operation.read_only and self.operation.permission in KEEPS_OWN_AUDIT
        return ("format", "reason") if keeps_reason else ("format",)

    @property
    def _question(self) -> Question:
        if self._ask != BY_EFFECT:
            return self._ask
        return f"{self.operation.summary.rstrip('.')}?" if self.operation.destructive else ""

    def _build_parameters(self) -> Iterator[click.Parameter]:
        from looseleaf.catalog.schemas import read_parameter_texts
        from looseleaf.catalog.signature import count_positional, names_of, read_type, signature_of

        run, texts = self.operation.run, read_parameter_texts(self.operation)
        signature = signature_of(run)
        own_names = [name for name, _, _ in signature]
        for index, (name, annotation, default) in enumerate(signature):
            declared = self._declared.get(name, "")
            if isinstance(declared, click.Parameter):
                yield declared
            elif declared is not None and name != "where" and name not in self._shared_names:
                kind = read_type(annotation, names_of(run))
                words, _, text = declared.partition(": ")
                parameter = Declared(name, *_split_words(words), text or texts.get(name, ""), kind)
                is_named = bool(parameter.option) if words else index >= count_positional(run)
                if is_named:
                    yield _build_option(parameter, default)
                else:
                    yield _build_argument(parameter, default)
        for name, extra in self._declared.items():
            if name not in own_names and not isinstance(extra, click.Parameter):
                raise TypeError(f"{self.operation.name} takes no {name}")
            if name not in own_names and isinstance(extra, click.Parameter):
                yield extra  # for the question, the preparation or the output

    def _call(self, options: SharedOptions, *, yes: bool = False, **given: Any) -> None:  # noqa: ANN401 - one for each parameter
        from looseleaf.catalog.json_values import to_json_value
        from looseleaf.catalog.schemas import parse_arguments

        context = options.open()
        arguments = self._list_arguments(options, given)
        if self._prepare is not None:
            self._prepare(arguments, given)
        if self._resolve is not None:
            self._resolve(context, arguments, given)
        self._confirm(context, arguments, yes=yes)
        result = self.operation.run(context, **parse_arguments(self.operation, arguments))
        if self._finish is not None:
            result = self._finish(context, result)
        if options.json and self._document is not None:
            print_document(self._document(result))
        elif options.json:
            document = to_json_value(result)
            is_object = isinstance(document, dict) and not self._key
            print_document(document if is_object else {self._key or "result": document})
        elif isinstance(self._show, str):
            say(self._show.format_map({**given, **_read_fields(result)}))
        else:
            (self._show or show_result)(result)
        if self._failed is not None and self._failed(result):
            raise click.exceptions.Exit(FAILED)

    def _list_arguments(self, options: SharedOptions, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the operation that were given, as JSON has them."""
        from looseleaf.catalog.schemas import list_argument_names

        names = list_argument_names(self.operation)
        owner = {name: getattr(options, name) for name in _OWNER if name in self._shared_names}
        return {
            name: list(argument) if isinstance(argument, tuple) else argument
            for name, argument in {**given, **owner}.items()
            if name in names and argument is not None and argument != ()
        }

    def _confirm(self, context: Context, arguments: dict[str, Any], *, yes: bool) -> None:
        question = self._question
        if callable(question):
            question = question(context, arguments)
        if question:
            confirm(question.format_map(arguments), yes=yes)


@cache
def read_docstring(target: str) -> str:
    """Read the help of an operation from its source, to list it without importing it."""
    module, _, name = target.partition(":")
    source = _read_source(module) if name else ""
    _, _, rest = source.partition(f"\ndef {name}(")
    return read_help(rest.partition('"""')[2].partition('"""')[0])


@cache
def _read_source(module: str) -> str:
    """Read a module of ours; "" for any other, and where the source is not installed."""
    package, _, name = module.partition(".")
    if package != _PACKAGE:
        return ""
    try:
        with open(f"{_FOLDER}/{name.replace('.', '/')}.py", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def read_help(docstring: str | None) -> str:
    """Return what a docstring says before its list of arguments."""
    return cleandoc((docstring or "").partition(ARGUMENTS)[0]).strip()


class Derivation:
    """Derives commands of one group from the operations of one module."""

    def __init__(self, group: str, module: str) -> None:
        self._group, self._module = group, module

    def derive(
        self, name: str, operation: str, *examples: str, **declared: Unpack[Declaration]
    ) -> DerivedCommand:
        """Derive a command; each example is what follows its name, as it is typed."""
        typed = [f"looseleaf {self._group} {name} {example}".rstrip() for example in examples]
        return DerivedCommand(name, f"{self._module}:{operation}", *typed, **declared)

    def shown(
        self, name: str, operation: str, *examples: str, **declared: Unpack[Declaration]
    ) -> Callable[[Show], DerivedCommand]:
        """Turn the function that prints a result into the command; its docstring is the help."""

        def make(show: Show) -> DerivedCommand:
            declaration: Declaration = {"help": show.__doc__ or "", "show": show, **declared}
            return self.derive(name, operation, *examples, **declaration)

        return make


class Declared(NamedTuple):
    """A parameter of an operation, as a command has it."""

    name: str
    option: str  # such as --task; "" if the command does not name one
    metavar: str
    text: str
    kind: Type


def _split_words(words: str) -> tuple[str, str]:
    """Split "--option METAVAR", each part of which may be missing."""
    if not words.startswith("--"):
        return "", words
    option, _, metavar = words.partition(" ")
    return option, metavar


def _build_argument(parameter: Declared, default: object) -> click.Argument:
    from looseleaf.catalog.signature import REQUIRED, Items

    kind, is_required = _find_main_type(parameter.kind), default is REQUIRED
    metavar = parameter.metavar or _ARGUMENTS.get(parameter.name)
    is_path = parameter.name in _PATHS
    return click.Argument(
        [parameter.name],
        **({"type": click.Path()} if is_path else _build_click_type(kind)),
        nargs=-1 if isinstance(kind, Items) else 1,
        required=is_required,
        metavar=metavar if is_required or not metavar else f"[{metavar}]",
        shell_complete=_COMPLETIONS.get(parameter.name),
    )


def _build_option(parameter: Declared, default: object) -> click.Option:
    from looseleaf.catalog.signature import REQUIRED, Choice, Items, Plain

    name, kind = parameter.name, _find_main_type(parameter.kind)
    option = parameter.option or f"--{name.replace('_', '-')}"
    text = parameter.text
    if default not in (REQUIRED, None, "", (), False) and isinstance(default, str | int | float):
        text = f"{text} [default: {default}]"
    if kind == Plain("boolean"):
        names = [f"{option}/--no-{option[2:]}" if default is not False else option, name]
        return click.Option(
            names, is_flag=True, default=None if default is REQUIRED else default, help=text
        )
    json_kind = kind.kind if isinstance(kind, Plain) else ""
    metavar = parameter.metavar or _METAVARS.get(name) or _METAVARS.get(json_kind, "")
    if not metavar and not isinstance(kind, Choice):
        is_text = isinstance(kind, Plain | Items)
        metavar = name.upper().replace("_", "-") if is_text else "JSON|@FILE"
    return click.Option(
        [option, name],
        **_build_click_type(kind),
        multiple=isinstance(kind, Items),
        required=default is REQUIRED,
        metavar=metavar or None,
        help=text,
        shell_complete=_COMPLETIONS.get(name),
    )


def _find_main_type(kind: Type) -> Type:
    """Return the type that a person types: a list or a text rather than a number or nothing."""
    from looseleaf.catalog.signature import Items, Plain, Union

    if not isinstance(kind, Union):
        return kind
    options = [option for option in kind.options if option != Plain("null")]
    if len(options) == 1:
        return options[0]
    lists = [option for option in options if isinstance(option, Items)]
    return lists[0] if lists else Plain("string")


def _build_click_type(kind: Type) -> dict[str, Any]:
    """Return the type of a parameter, as click is told it."""
    from looseleaf.catalog.signature import Choice, Items, Plain

    if isinstance(kind, Items):
        kind = _find_main_type(kind.of)
    if isinstance(kind, Choice):
        return {"type": click.Choice(kind.texts)}
    if isinstance(kind, Plain):
        return {"type": _NUMBERS.get(kind.kind)}
    return {"callback": _read_json}


def _read_json(_ctx: click.Context, param: click.Parameter, given: object) -> object:
    """Read the objects that an option or argument has as text."""
    if isinstance(given, tuple):
        return tuple(read_object(param.opts[0], text) for text in given)
    return read_object(param.opts[0], given) if isinstance(given, str) else given


def show_result(result: object) -> None:
    """Print any result for people: rows, lines with labels, or one line."""
    fields = _read_fields(result)
    if isinstance(result, list | tuple):
        plain_fields = {
            name: field
            for record in result[:1]
            for name, field in _read_fields(record).items()
            if isinstance(field, str | int | float | None)
        }
        cells = None if plain_fields else {"result": format_cell}
        ResultTable(" ".join(plain_fields) or "result", cells=cells, empty="There are none.")(
            result
        )
    elif fields:
        Fields(" ".join(fields))(result)
    else:
        say(str(format_cell(result)))


def _read_fields(result: object) -> dict[str, Any]:
    """Return the fields of a record; none of any other result."""
    if hasattr(type(result), "__match_args__"):
        return as_dict(result)
    return dict(result) if isinstance(result, dict) else {}
