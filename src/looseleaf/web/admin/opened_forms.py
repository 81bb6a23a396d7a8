"""Forms as people opened them: found in the HTML of a page, marked by a version, filled in again.

Every form that changes something gets a version here, whatever page or plugin it belongs to, so
that no view can forget it: a hash of what the form showed. A form that is sent is compared with the
same form of the present page.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from html import unescape
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from looseleaf.values import value
from looseleaf.web.admin.forms import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Fields that the frame adds, which no view sees; no view has a field of such a name.
OPENED, DRAFT, SURE = "frame:opened", "frame:draft", "frame:sure"
VERSION = "version"  # the field of a form whose operation compares versions, too
OWN = "data-own-version"  # marks a form whose view compares the version and merges
# Marks a form of rows that are added, moved and taken out: its hidden fields are typed, too, and
# its view shows again what was sent.
ROWS = "data-rows"
_FORM = re.compile(r'(<form\b[^>]*\bmethod="post")([^>]*>)(.*?)(</form>)', re.DOTALL)
_CONTROL = re.compile(
    r"<(?P<tag>input|button)\b(?P<attributes>[^>]*)>"
    r"|<(?P<block>textarea|select)\b(?P<block_attributes>[^>]*)>(?P<content>.*?)</(?P=block)>",
    re.DOTALL,
)
_OPTION = re.compile(r"<option\b([^>]*)>(.*?)(?:</option>|(?=<option)|$)", re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)(?:="([^"]*)")?')
_LABEL = re.compile(r"<label\b([^>]*)>(.*?)</label>", re.DOTALL)
_GROUP = re.compile(
    r"<fieldset\b[^>]*>(?:\s*<legend\b([^>]*)>(.*?)</legend>)?|</fieldset>", re.DOTALL
)
_NOT_LABEL = re.compile(
    r"<(textarea|select)\b.*?</\1>|<span class=\"unseen\">.*?</span>|<[^>]*>", re.DOTALL
)
_UNTYPED = frozenset({"hidden", "submit", "button", "reset", "image"})
_SECRET = frozenset({"password", "file"})  # never shown again
_CHECKED = frozenset({"checkbox", "radio"})
_WITHOUT_STATE = frozenset({"csrf", VERSION, OPENED, DRAFT, SURE})
_MOST_SHOWN = 300  # characters of a field in a comparison


@value(kw_only=True)
class Control:
    """One field or button of a form, as the HTML has it."""

    kind: str  # the type of an input, or textarea, select or button
    name: str
    content: str
    is_on: bool  # of a checkbox or radio button; others are always on
    id: str


@value(kw_only=True)
class OpenedForm:
    """A form of a page: what tells it from others, what it shows, and a hash of that."""

    base: str  # a hash of its address and its hidden fields; in a form of rows, of its address
    place: str  # the same with the hidden fields of rows, for drafts that our script keeps
    buttons: frozenset[tuple[str, str]]
    controls: tuple[Control, ...]
    html: str
    has_rows: bool

    @property
    def fields(self) -> dict[str, str]:
        """What a browser sends if nothing is typed, without secrets; hidden fields only of rows."""
        return {control.name: control.content for control in self._list_typed() if control.is_on}

    @property
    def is_typed(self) -> bool:
        """Whether people type or choose something in it."""
        return self.has_rows or any(True for _ in self._list_typed())

    @property
    def version(self) -> str:
        """What the form was opened with, as its field `opened` has it."""
        state = json.dumps(list(self.fields.items()), ensure_ascii=False)
        return f"{self.base}.{_hash(state)}"

    def find(self, name: str) -> str:
        """Return the content of a hidden field, or ""."""
        return next((control.content for control in self.controls if control.name == name), "")

    def _list_typed(self) -> Iterator[Control]:
        for control in self.controls:
            if not control.name or control.kind in _SECRET:
                continue
            is_row = self.has_rows and control.kind == "hidden" and _is_state(control.name)
            if is_row or control.kind not in _UNTYPED | {"button"}:
                yield control


@value
class Difference:
    """A field that differs: its label, and what the page has now and what was typed."""

    label: str
    now: str
    typed: str


def list_forms(html: str) -> list[OpenedForm]:
    """Return the forms of a page that change something."""
    return [_read_form(match) for match in _FORM.finditer(html)]


def find_form(html: str, sent: Mapping[str, str], version: str) -> OpenedForm | None:
    """Find the form of a page that was sent: by its base, and by the button that was pressed."""
    base = version.partition(".")[0]
    forms = [form for form in list_forms(html) if form.base == base]
    pressed = [form for form in forms if form.buttons & set(sent.items())]
    return next(iter(pressed or forms), None)


def mark_forms(html: str, sent: Mapping[str, str], version: str, *, refill: bool) -> str:
    """Add to every form its version; the form that was sent keeps `version`.

    With `refill`, the form that was sent has what was typed, also if its view forgets that.
    """
    sent_form = find_form(html, sent, version) if version else None

    def mark(match: re.Match[str]) -> str:
        form = _read_form(match)
        content = match[3]
        is_sent = sent_form is not None and form.html == sent_form.html
        if is_sent and refill and not form.has_rows:
            content = _refill(content, sent)
        button = next((text for _, text in sorted(form.buttons)), "")
        head = f'{match[1]} data-form="{form.place}-{_hash(button)[:8]}"{match[2]}'
        if form.is_typed and OWN not in match[2]:
            opened = version if is_sent else form.version
            head += f'<input type="hidden" name="{OPENED}" value="{escape(opened)}">'
        return head + content + match[4]

    return _FORM.sub(mark, html)


def list_differences(form: OpenedForm, sent: Mapping[str, str]) -> list[Difference]:
    """List the fields in which a form that was sent differs from the form of the present page."""
    now = form.fields
    rows = []
    for control in form.controls:
        name = control.name
        if name not in now and control.kind not in _CHECKED:
            continue
        typed = _plain(sent.get(name, ""))
        if control.kind == "checkbox":
            before, after = name in now, name in sent
            if before != after:
                words = {True: "yes", False: "no"}
                rows.append(Difference(_label(form, control), words[before], words[after]))
        elif control.is_on and typed != _plain(control.content):
            rows.append(Difference(_label(form, control), _cut(control.content), _cut(typed)))
    return rows


def list_row_differences(form: OpenedForm, typed: OpenedForm) -> list[Difference]:
    """List in what a form of rows differs from the form of the present page, row by row."""
    now, then = form.fields, typed.fields
    rows = []
    for name in dict.fromkeys([*now, *then]):
        before, after = now.get(name, ""), then.get(name, "")
        if before == after:
            continue
        shown = typed if any(control.name == name for control in typed.controls) else form
        control = next(control for control in shown.controls if control.name == name)
        if control.kind == "hidden":  # which row stands here
            legends = [" ".join(_list_legends(one, name)) for one in (form, typed)]
            rows.append(Difference("Order", *legends))
        else:
            rows.append(Difference(_label(shown, control), _cut(before), _cut(after)))
    return list(dict.fromkeys(rows))


def _read_form(match: re.Match[str]) -> OpenedForm:
    controls = tuple(map(_read_control, _CONTROL.finditer(match[3])))
    attributes = _read_attributes(match[1] + match[2])
    hidden = [
        (control.name, control.content)
        for control in controls
        if control.kind == "hidden" and _is_state(control.name)
    ]
    address, has_rows = attributes.get("action", ""), ROWS in attributes
    return OpenedForm(
        base=_hash(json.dumps([address, [] if has_rows else hidden]))[:12],
        place=_hash(json.dumps([address, hidden]))[:12],
        buttons=frozenset(
            (control.name, control.content) for control in controls if control.kind == "button"
        ),
        controls=controls,
        html=match[0],
        has_rows=has_rows,
    )


def _is_state(name: str) -> bool:
    return name not in _WITHOUT_STATE and not name.startswith(SHOWN)


def _read_control(match: re.Match[str]) -> Control:
    tag = match["tag"] or match["block"]
    attributes = _read_attributes(match["attributes"] or match["block_attributes"] or "")
    kind = attributes.get("type", "text") if tag == "input" else tag
    content = attributes.get("value", "on" if kind in _CHECKED else "")
    if tag == "textarea":
        content = unescape(match["content"].removeprefix("\n"))
    elif tag == "select":
        content = _read_choice(match["content"])
    return Control(
        kind=kind,
        name=attributes.get("name", ""),
        content=_plain(content),
        is_on=kind not in _CHECKED or "checked" in attributes,
        id=attributes.get("id", ""),
    )


def _read_attributes(text: str) -> dict[str, str]:
    return {name: unescape(content) for name, content in _ATTRIBUTE.findall(text)}


def _read_choice(options: str) -> str:
    """Return the chosen option of a select, which is the first one if none is marked."""
    found = [(_read_attributes(head), text) for head, text in _OPTION.findall(options)]
    contents = [
        attributes.get("value", unescape(text).strip())
        for attributes, text in sorted(found, key=lambda option: "selected" not in option[0])
    ]
    return contents[0] if contents else ""


def _refill(html: str, sent: Mapping[str, str]) -> str:
    """Put what was typed into the fields of a form."""

    def fill(match: re.Match[str]) -> str:
        control = _read_control(match)
        name, whole = control.name, match[0]
        if not name or control.kind in _UNTYPED | _SECRET | {"button"}:
            return whole
        if control.kind in _CHECKED:
            plain = re.sub(r"\s+checked(?=[\s>])", "", whole)
            is_on = sent.get(name) == control.content
            return plain[:-1] + " checked>" if is_on else plain
        if name not in sent:
            return whole
        if control.kind == "textarea":
            head = f"<textarea{match['block_attributes']}>\n"
            return f"{head}{escape(sent[name])}</textarea>"
        if control.kind == "select":
            options = _choose(match["content"], sent[name])
            return f"<select{match['block_attributes']}>{options}</select>"
        plain = re.sub(r'\s+value="[^"]*"', "", whole)
        return f'{plain[:-1]} value="{escape(sent[name])}">'

    return _CONTROL.sub(fill, html)


def _choose(options: str, choice: str) -> str:
    def mark(match: re.Match[str]) -> str:
        attributes = _read_attributes(match[1])
        head = re.sub(r"\s+selected(?=[\s>]|$)", "", match[1])
        is_chosen = attributes.get("value", unescape(match[2]).strip()) == choice
        return f"<option{head}{' selected' if is_chosen else ''}>{match[2]}</option>"

    return _OPTION.sub(mark, options)


def _label(form: OpenedForm, control: Control) -> str:
    """Return the label of a control as people read it, or its name; after those of its group."""
    return ": ".join([*_list_legends(form, control.name), _label_alone(form, control)])


def _list_legends(form: OpenedForm, name: str) -> list[str]:
    """Return the visible legends of the groups that a field is in, the outer one first."""
    place = form.html.find(f'name="{escape(name)}"')
    legends: list[str] = []
    for found in _GROUP.finditer(form.html, 0, max(place, 0)):
        if found[0] == "</fieldset>":
            del legends[-1:]
        else:
            is_shown = found[1] is not None and "unseen" not in found[1]
            legends.append(_read_words(found[2]) if is_shown else "")
    return [legend for legend in legends if legend]


def _label_alone(form: OpenedForm, control: Control) -> str:
    name_attribute = f'name="{escape(control.name)}"'
    for attributes, content in _LABEL.findall(form.html):
        is_for = control.id and _read_attributes(attributes).get("for") == control.id
        if (is_for or name_attribute in content) and (words := _read_words(content)):
            return words
    return control.name.rpartition(":")[2].replace("-", " ").replace("_", " ")


def _read_words(html: str) -> str:
    return " ".join(unescape(_NOT_LABEL.sub("", html)).split())


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} …"


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def build_hidden_fields(form: Mapping[str, str]) -> Markup:
    """Return the fields of a form as hidden ones, for a page that asks before it goes on."""
    field = Markup('<input type="hidden" name="{}" value="{}">')
    return Markup("").join(field.format(name, text) for name, text in form.items())
