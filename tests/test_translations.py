"""German and French say everything that the app says, with the same values in it, compiled as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import django
import polib
import pytest
from django.utils import translation

from scripts.messages import LANGUAGES, compiled, find_messages, merged, path_of

VALUES = re.compile(r"%\(\w+\)[sd]|%s|%d|\{\w*\}|<[^>]+>")
EACH = pytest.mark.parametrize("language", LANGUAGES)


def texts_of(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


@EACH
def test_every_text_is_translated(language: str) -> None:
    lacking = [entry.msgid for entry in merged(language, find_messages()) if not all(texts_of(entry))]
    assert lacking == [], "run `make messages`, then translate these"


@EACH
def test_the_files_have_just_the_texts_of_the_app(language: str) -> None:
    known = {(entry.msgctxt, entry.msgid) for entry in polib.pofile(str(path_of(language)))}
    assert known == {(message.context, message.text) for message in find_messages()}, "run `make messages`"


@EACH
def test_a_translation_has_the_values_of_its_text(language: str) -> None:
    wrong = []
    for entry in polib.pofile(str(path_of(language))):
        wanted = set(VALUES.findall(entry.msgid)) | set(VALUES.findall(entry.msgid_plural))
        wrong += [text for text in texts_of(entry)[-1:] if set(VALUES.findall(text)) != wanted]
    assert wrong == []


@EACH
def test_what_is_shipped_was_compiled_from_what_is_written(language: str) -> None:
    path = path_of(language)
    assert path.with_suffix(".mo").read_bytes() == compiled(polib.pofile(str(path))), "run `make messages`"


def test_the_app_speaks_german() -> None:
    with translation.override("de"):
        assert translation.gettext("Reason") == "Grund"


@EACH
def test_no_text_takes_the_place_of_one_that_the_rest_of_the_admin_has(language: str) -> None:
    """Texts are looked up in the apps together: with another translation ours would show up on Django's own pages."""
    root = Path(django.__file__).parent
    theirs: dict[tuple[str | None, str], str] = {}
    for path in [root / "conf", root / "contrib" / "admin", root / "contrib" / "auth"]:
        for entry in polib.pofile(str(path / "locale" / language / "LC_MESSAGES" / "django.po")).translated_entries():
            theirs.setdefault((entry.msgctxt, entry.msgid), entry.msgstr)
    ours = polib.pofile(str(path_of(language)))
    other = [each.msgid for each in ours if theirs.get((each.msgctxt, each.msgid), each.msgstr) != each.msgstr]
    assert other == [], "give these a context, or Django's own words"
