"""Keeps the translations of the app in step with its texts: `make messages` finds them, merges them and compiles.

Needs no gettext on the machine: Python reads Python, Django turns templates into calls, polib writes the files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polib
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
APP = ROOT / "jobs_app"
LANGUAGES = {"de": "nplurals=2; plural=(n != 1);", "fr": "nplurals=2; plural=(n > 1);"}
LONGEST = 78

# name of a function -> which of its arguments are context, text and plural
CALLS = {
    "_": (None, 0, None),
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
    "npgettext_lazy": (0, 1, 2),
}
TEXT = r"""(?:u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*")"""
CALL_IN_TEMPLATE = re.compile(rf"\b(\w+)\(\s*({TEXT}(?:\s*,\s*{TEXT})*)", re.DOTALL)


class Message(NamedTuple):
    """One text as code has it. The same text with another context is another one."""

    context: str | None
    text: str
    plural: str | None


def find_messages() -> dict[Message, set[str]]:
    """Each text of the app, and the files that have it."""
    found: dict[Message, set[str]] = {}
    for path in sorted([*APP.rglob("*.py"), *APP.rglob("*.html")]):
        if "migrations" in path.parts:
            continue
        reader = _in_python if path.suffix == ".py" else _in_template
        for message in reader(path.read_text(encoding="utf-8")):
            found.setdefault(message, set()).add(str(path.relative_to(ROOT)))
    return found


def path_of(language: str) -> Path:
    return APP / "locale" / language / "LC_MESSAGES" / "django.po"


def merged(language: str, messages: dict[Message, set[str]]) -> polib.POFile:
    """The translations there are, and the places of those that are lacking; what is not in the app any more is gone."""
    path = path_of(language)
    known = {Message(one.msgctxt, one.msgid, one.msgid_plural or None): one for one in _read(path)}
    catalogue = polib.POFile(wrapwidth=LONGEST)
    catalogue.metadata = {
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Language": language,
        "Plural-Forms": LANGUAGES[language],
    }
    for message in sorted(messages, key=lambda each: (each.text, each.context or "")):
        catalogue.append(_entry(message, known.get(message), messages[message]))
    return catalogue


def compiled(catalogue: polib.POFile) -> bytes:
    return bytes(catalogue.to_binary())


def main() -> None:
    messages = find_messages()
    for language in LANGUAGES:
        catalogue = merged(language, messages)
        path = path_of(language)
        path.parent.mkdir(parents=True, exist_ok=True)
        catalogue.save(str(path))
        path.with_suffix(".mo").write_bytes(compiled(catalogue))
        print(f"{language}: {len(catalogue)} texts, {len(catalogue.untranslated_entries())} not translated")


def _read(path: Path) -> polib.POFile:
    return polib.pofile(str(path)) if path.exists() else polib.POFile()


def _entry(message: Message, known: polib.POEntry | None, places: set[str]) -> polib.POEntry:
    entry = polib.POEntry(
        msgid=message.text, msgctxt=message.context, occurrences=[(place, "") for place in sorted(places)]
    )
    flags = ["python-format"] if re.search(r"%\(\w+\)", message.text) else []
    entry.flags = flags
    if message.plural is not None:
        entry.msgid_plural = message.plural
        entry.msgstr_plural = known.msgstr_plural if known else {0: "", 1: ""}
    else:
        entry.msgstr = known.msgstr if known else ""
    return entry


def _in_python(source: str) -> Iterator[Message]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        texts = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
        yield from _message(name, texts)


def _in_template(source: str) -> Iterator[Message]:
    for name, arguments in CALL_IN_TEMPLATE.findall(templatize(source)):
        yield from _message(name, [ast.literal_eval(each) for each in re.findall(TEXT, arguments, re.DOTALL)])


def _message(name: str, texts: Sequence[object]) -> Iterator[Message]:
    if name not in CALLS:
        return
    picked = [None if place is None or place >= len(texts) else texts[place] for place in CALLS[name]]
    context, text, plural = picked
    if isinstance(text, str) and text:
        yield Message(context if isinstance(context, str) else None, text, plural if isinstance(plural, str) else None)


if __name__ == "__main__":
    main()
