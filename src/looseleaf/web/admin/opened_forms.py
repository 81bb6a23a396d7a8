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

OPENED, DRAFT, SURE = "opened", "draft", "sure"  # fields that the frame adds, which no view sees
VERSION = "version"  # the field of a form whose operation compares versions, too
OWN = "data-own-version"  # marks a form whose view compares the version and merges
_FORM = re.compile(r'(<form\b[^>]*\bmethod="post")([^>]*>)(.*?)(</form>)', re.DOTALL)
_CONTROL = re.compile(
    r"<(?P<tag>input|button)\b(?P<attributes>[^>]*)>"
    r"|<(?P<block>textarea|select)\b(?P<block_attributes>[^>]*)>(?P<content>.*?)</(?P=block)>",
    re.DOTALL,
)
_OPTION = re.compile(r"<option\b([^>]*)>(.*?)(?:</option>|(?=<option)|$)", re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)(?:="([^"]*)")?')
_LABEL = re.compile(r"<label\b([^>]*)>(.*?)</label>", re.DOTALL)
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

    base: str  # a hash of its address and its hidden fields
    buttons: frozenset[tuple[str, str]]
    controls: tuple[Control, ...]
    html: str

    @property
    def fields(self) -> dict[str, str]:
        """What a browser sends if nothing is typed, without hidden fields and secrets."""
        return {control.name: control.content for control in self._list_typed() if control.is_on}

    @property
    def is_typed(self) -> bool:
        """Whether people type or choose something in it."""
        return any(True for _ in self._list_typed())

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
            if control.name and control.kind not in _UNTYPED | _SECRET | {"button"}:
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
        if is_sent and refill:
            content = _refill(content, sent)
        button = next((text for _, text in sorted(form.buttons)), "")
        head = f'{match[1]} data-form="{form.base}-{_hash(button)[:8]}"{match[2]}'
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


def _read_form(match: re.Match[str]) -> OpenedForm:
    controls = tuple(map(_read_control, _CONTROL.finditer(match[3])))
    attributes = _read_attributes(match[1] + match[2])
    hidden = [
        (control.name, control.content)
        for control in controls
        if control.kind == "hidden"
        and control.name not in _WITHOUT_STATE
        and not control.name.startswith(SHOWN)
    ]
    return OpenedForm(
        base=_hash(json.dumps([attributes.get("action", ""), hidden]))[:12],
        buttons=frozenset(
            (control.name, control.content) for control in controls if control.kind == "button"
        ),
        controls=controls,
        html=match[0],
    )


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
    """Return the label of a control as people read it, or its name."""
    name_attribute = f'name="{escape(control.name)}"'
    for attributes, content in _LABEL.findall(form.html):
        is_for = control.id and _read_attributes(attributes).get("for") == control.id
        if is_for or name_attribute in content:
            text = unescape(_NOT_LABEL.sub("", content))
            if words := " ".join(text.split()):
                return words
    return control.name.rpartition(":")[2].replace("-", " ").replace("_", " ")


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
