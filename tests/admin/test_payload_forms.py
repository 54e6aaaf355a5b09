"""A form made from a payload schema: what is typed becomes what is stored, and what is stored can be shown again."""

from __future__ import annotations

import enum
import inspect
import json
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic
import pytest
from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs_app import job
from jobs_app.admin.docstrings import about_arguments
from jobs_app.admin.payload_forms import PREFIX, PayloadForm, can_be_drawn, can_show, drawn_for, skeleton
from jobs_app.redaction import is_secret
from jobs_app.registry import JobType, registry
from jobs_app.strict_json import dumps, loads


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Place(enum.Enum):
    HOME = (0, 0)
    AWAY = (1, 1)


@dataclass
class Address:
    street: str
    since: date = date(2026, 1, 31)

    def __post_init__(self) -> None:
        if self.street == "nowhere":
            raise ValueError("nobody lives there")


def type_of(annotation: Any, default: Any = ..., name: str = "value") -> JobType:
    """A job type that takes one value."""

    def work(**given: Any) -> None: ...

    usual = inspect.Parameter.empty if default is ... else default
    parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=annotation)
    work.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]
    job_type = job(work).job_type
    registry.unregister("work")
    return job_type


def filled(job_type: JobType, **typed: Any) -> PayloadForm:
    return PayloadForm({PREFIX + name: value for name, value in typed.items()}, job_type=job_type)


def payload(job_type: JobType, **typed: Any) -> dict[str, Any]:
    form = filled(job_type, **typed)
    assert form.is_valid(), form.errors
    return form.payload


def untouched(form: PayloadForm) -> dict[str, str]:
    """What a browser sends of a form that nobody touches: of a text, with line ends of its own."""
    values = {bound.html_name: bound.value() for bound in form.payload_fields}
    texts = {name: str(value) for name, value in values.items() if value is not None and value is not False}
    return {name: re.sub(r"\r\n|\r|\n", "\r\n", text) for name, text in texts.items()}


AN_ID = UUID("01234567-89ab-cdef-0123-456789abcdef")


@pytest.mark.parametrize(
    ("annotation", "typed", "stored"),
    [
        (int, "7", 7),
        (int, "-123456789012345678901234567890", -123456789012345678901234567890),
        (float, "0.1", 0.1),
        (Decimal, "12.50", "12.50"),
        (bool, "on", True),
        (str, " a  b ", " a  b "),
        (str, "one\r\ntwo", "one\ntwo"),
        (date, "2026-01-31", "2026-01-31"),
        (datetime, "2026-01-31T12:00:00+02:00", "2026-01-31T12:00:00+02:00"),
        (datetime, "2026-01-31 12:00Z", "2026-01-31T12:00:00+00:00"),
        (time, "09:30", "09:30:00"),
        (timedelta, "1h", "P0DT01H00M00S"),
        (timedelta, "90", "P0DT00H01M30S"),
        (timedelta, "PT1H30M", "P0DT01H30M00S"),
        (UUID, f"{{{AN_ID}}}", str(AN_ID)),
        (Literal["a", "b"], "b", "b"),
        (Literal["1", 1], "1", 1),
        (Literal["1", 1], '"1"', "1"),
        (Colour, "blue", "blue"),
        (Level, "2", 2),
        (Place, "AWAY", "AWAY"),
        (int | None, "", None),
        (int | None, "5", 5),
        (str | None, "", None),
        (bool | None, "false", False),
        (bool | None, "", None),
        (Colour | None, "", None),
        (list[int], "1\r\n\r\n 2 \r\n", [1, 2]),
        (list[str], "a b\nc", ["a b", "c"]),
        (tuple[Decimal, ...], "1.0\n2", ["1.0", "2"]),
        (list[Colour], "red\nred", ["red", "red"]),
        (list[Any], "[1, {}]", [1, {}]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (dict, "{}", {}),
        (int | str, '"7"', "7"),
        (Any, "null", None),
        (Address, '{"street": "High"}', {"street": "High"}),
        (Annotated[int, "how many"], "3", 3),
    ],
)
def test_what_is_typed_becomes_what_the_schema_stores(annotation: Any, typed: str, stored: Any) -> None:
    found = payload(type_of(annotation), value=typed)
    assert json.dumps(found) == json.dumps({"value": stored})


@pytest.mark.parametrize(
    ("annotation", "typed", "why"),
    [
        (int, "seven", "whole number"),
        (int, "", "required"),
        (str, "", "required"),
        (float, "nan", "number"),
        (Decimal, "much", "decimal number"),
        (date, "31.1.2026", "a date like"),
        (datetime, "noon", "a moment like"),
        (timedelta, "long", "a duration like"),
        (UUID, "abc", "a UUID"),
        (Colour, "green", "not one of"),
        (list[int], "1\nx", "whole number"),
        (dict, "{", "is not JSON"),
        (dict[str, int], '{"a": "b"}', "whole number"),
        (Address, '{"street": "nowhere"}', "nobody lives there"),
    ],
)
def test_what_does_not_fit_is_told_at_its_field(annotation: Any, typed: str, why: str) -> None:
    form = filled(type_of(annotation), value=typed)
    assert not form.is_valid()
    assert list(form.errors) == [f"{PREFIX}value"]
    assert why in str(form.errors)


def test_a_box_of_json_says_how_a_text_is_written_before_and_after_somebody_forgets_it() -> None:
    job_type = type_of(Any, name="note")
    [bound] = PayloadForm(job_type=job_type).payload_fields
    assert bound.help_text == "JSON: a text goes in double quotes."
    form = filled(job_type, note="plain text")
    [[told]] = form.errors.values()
    assert (
        told
        == "the value of note is not JSON: Expecting value: line 1 column 1 (char 0). A text goes in double quotes."
    )
    assert payload(job_type, note='"plain text"') == {"note": "plain text"}


def test_what_code_says_of_a_value_stands_before_how_json_is_written() -> None:
    @job
    def told(note: dict[str, Any], size: int) -> None:
        """Write it down.

        Args:
            note: What to write.
            size: How large.
        """

    texts = [bound.help_text for bound in PayloadForm(job_type=told.job_type).payload_fields]
    assert texts == ["What to write. JSON: a text goes in double quotes.", "How large."]


def test_a_moment_without_an_offset_is_by_the_clock_of_who_types() -> None:
    with timezone.override("Europe/Berlin"):
        assert payload(type_of(datetime), value="2026-07-01T09:00") == {"value": "2026-07-01T09:00:00+02:00"}


@pytest.mark.parametrize(
    ("annotation", "default", "left_empty"),
    [
        (int, 5, {}),
        (str, "x", {"value": ""}),
        (str | None, None, {}),
        (str | None, "x", {"value": None}),
        (list[int], [1], {"value": []}),
        (dict, {"a": 1}, {}),
        (bool, True, {"value": False}),
        (Colour, Colour.RED, {}),
    ],
)
def test_an_empty_box_means_what_it_can_mean(annotation: Any, default: Any, left_empty: dict[str, Any]) -> None:
    assert payload(type_of(annotation, default)) == left_empty


@pytest.mark.parametrize(
    ("annotation", "default", "shows"),
    [
        (int, 5, 5),
        (Colour, Colour.BLUE, "blue"),
        (timedelta, timedelta(minutes=5), "P0DT00H05M00S"),
        (list[int], [1, 2], "1\n2"),
        (dict, {"a": [1]}, json.dumps({"a": [1]}, indent=2)),
        (date, date(2026, 1, 31), "2026-01-31"),
        (Address, Address("High"), json.dumps({"street": "High", "since": "2026-01-31"}, indent=2)),
        (bool, True, True),
    ],
)
def test_a_default_is_shown_and_stored_as_it_was_shown(annotation: Any, default: Any, shows: Any) -> None:
    job_type = type_of(annotation, default)
    [bound] = PayloadForm(job_type=job_type).payload_fields
    assert bound.value() == shows
    form = PayloadForm(untouched(PayloadForm(job_type=job_type)), job_type=job_type)
    assert form.is_valid()
    assert job_type.schema.load(form.payload)["value"] == default


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))  # what PostgreSQL can hold
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    str: TEXTS,
    date: st.dates(),
    datetime: st.datetimes(timezones=st.timezones()),
    time: st.times(),
    timedelta: st.timedeltas(),
    UUID: st.uuids(),
    Colour: st.sampled_from(Colour),
    Level | None: st.none() | st.sampled_from(Level),
    list[int]: st.lists(st.integers()),
    list[str]: st.lists(TEXTS),
    dict[str, int]: st.dictionaries(TEXTS.filter(lambda name: not is_secret(name)), st.integers()),
    Any: st.recursive(st.none() | st.booleans() | st.integers() | st.text("abc", max_size=3), st.lists, max_leaves=5),
}
TYPES = {annotation: type_of(annotation) for annotation in VALUES}


@pytest.mark.spec("S2.33")
@settings(max_examples=40)
@given(st.data())
@pytest.mark.parametrize("annotation", VALUES, ids=str)
def test_a_stored_payload_comes_back_unchanged_from_the_form_or_is_shown_as_json(
    annotation: Any, data: st.DataObject
) -> None:
    job_type = TYPES[annotation]
    stored = loads(dumps(job_type.schema.dump({"value": data.draw(VALUES[annotation])}), limit=10**6))
    as_json = not can_show(job_type, stored)
    form = PayloadForm(job_type=job_type, stored=stored, as_json=as_json)
    again = PayloadForm(untouched(form), job_type=job_type, as_json=as_json)
    assert again.is_valid(), again.errors
    assert job_type.schema.load(again.payload) == job_type.schema.load(stored)
    assert json.dumps(again.payload, sort_keys=True) == json.dumps(stored, sort_keys=True)


SECRETIVE = {"token": "abc", "options": {"api_key": "def", "size": 3}, "name": "n"}


@pytest.fixture
def secretive() -> JobType:
    @job
    def secretive(token: str, options: dict[str, Any], name: str = "", pin: int = 0) -> None: ...

    return secretive.job_type


def test_a_secret_is_typed_unseen_and_its_default_is_not_shown() -> None:
    [bound] = PayloadForm(job_type=type_of(str, "hunter2", name="password")).payload_fields
    assert 'type="password"' in str(bound)
    assert "hunter2" not in str(bound)


def test_an_empty_secret_leaves_the_default_to_code() -> None:
    assert payload(type_of(str, "hunter2", name="password"), password="") == {}


def test_secrets_of_a_stored_payload_are_not_shown_and_must_be_typed_again(secretive: JobType) -> None:
    form = PayloadForm(job_type=secretive, stored=SECRETIVE)
    drawn = form.as_p()
    assert "abc" not in drawn
    assert "def" not in drawn
    again = PayloadForm(untouched(form), job_type=secretive, stored=SECRETIVE)
    assert not again.is_valid()
    assert list(again.errors) == [f"{PREFIX}token"]
    again = PayloadForm(untouched(form) | {f"{PREFIX}token": "new"}, job_type=secretive, stored=SECRETIVE)
    assert not again.is_valid()
    assert "options.api_key is not shown here" in str(again.errors[f"{PREFIX}options"])
    typed = {f"{PREFIX}token": "new", f"{PREFIX}options": '{"api_key": "newer", "size": 3}'}
    again = PayloadForm(untouched(form) | typed, job_type=secretive, stored=SECRETIVE)
    assert again.is_valid(), again.errors
    assert again.payload == {"token": "new", "options": {"api_key": "newer", "size": 3}, "name": "n"}


def test_the_sign_for_a_hidden_secret_never_becomes_one_in_json(secretive: JobType) -> None:
    form = PayloadForm(job_type=secretive, stored=SECRETIVE, as_json=True)
    assert "abc" not in form.as_p()
    again = PayloadForm(untouched(form), job_type=secretive, as_json=True)
    assert not again.is_valid()
    assert "token is not shown here" in str(again.errors["payload"])


def test_what_was_typed_as_a_secret_comes_back_after_a_mistake(secretive: JobType) -> None:
    form = filled(secretive, token="typed", options="{")
    assert not form.is_valid()
    assert 'value="typed"' in str(form[f"{PREFIX}token"])


def test_a_payload_in_json_is_an_object_that_fits(secretive: JobType) -> None:
    for text, why in (("[1]", "a mapping"), ("{", "is not JSON"), ('{"nam": 1}', "Did you mean"), ("", "is missing")):
        form = PayloadForm({"payload": text}, job_type=secretive, as_json=True)
        assert not form.is_valid()
        assert why in str(form.errors["payload"])
    form = PayloadForm({"payload": '{"token": "t", "options": {}}'}, job_type=secretive, as_json=True)
    assert form.is_valid()
    assert form.payload == {"token": "t", "options": {}}


def test_what_may_be_in_a_payload_is_written_out_as_a_start(secretive: JobType) -> None:
    assert skeleton(secretive) == {"token": None, "options": None, "name": "", "pin": 0}


def test_a_field_may_have_the_name_of_one_of_the_forms_own() -> None:
    @job
    def confusing(reason: str, payload: int) -> None: ...

    form = PayloadForm({"reason": "mine", "payload-reason": "its", "payload-payload": "1"}, job_type=confusing.job_type)
    assert form.is_valid()
    assert (form.payload, form.reason_given) == ({"reason": "its", "payload": 1}, "mine")


def test_a_job_without_a_payload_needs_none() -> None:
    @job
    def plain() -> None: ...

    form = PayloadForm({}, job_type=plain.job_type)
    assert form.is_valid()
    assert form.payload == {}
    assert can_be_drawn(plain.job_type)


def test_names_that_nobody_knows_beforehand_need_json() -> None:
    @job
    def any_names(**given: int) -> None: ...

    @job
    def some_names(first: int, **given: int) -> None: ...

    assert not can_be_drawn(any_names.job_type)
    assert can_be_drawn(some_names.job_type)
    assert can_show(some_names.job_type, {"first": 1})
    assert not can_show(some_names.job_type, {"first": 1, "second": 2})


def test_a_dataclass_that_refuses_its_values_is_told_above_all() -> None:
    @job(schema=Address)
    def move(street: str, since: date) -> None: ...

    form = filled(move.job_type, street="nowhere", since="2026-01-31")
    assert not form.is_valid()
    assert "nobody lives there" in str(form.non_field_errors())


class Order(pydantic.BaseModel):
    number: int = pydantic.Field(alias="orderNumber", description="as on the invoice")
    lines: list[dict[str, int]] = []
    colour: Colour = Colour.RED


def test_a_pydantic_model_is_filled_in_under_the_names_of_its_payload() -> None:
    @job(schema=Order)
    def ship(number: int, lines: list[dict[str, int]], colour: Colour) -> None: ...

    form = PayloadForm(job_type=ship.job_type)
    assert form["payload-orderNumber"].help_text == "as on the invoice"
    assert payload(ship.job_type, orderNumber="7", colour="blue") == {"orderNumber": 7, "colour": "blue"}
    form = filled(ship.job_type, orderNumber="7", lines='[{"a": "x"}]')
    assert not form.is_valid()
    assert list(form.errors) == ["payload-lines"]


class Shout(forms.CharField):
    def clean(self, value: Any) -> Any:
        return f"{super().clean(value)}!"


class Signup(forms.Form):
    email = forms.EmailField(help_text="where to")
    age = forms.IntegerField(required=False)
    plan = forms.ChoiceField(choices=[("free", "Free"), ("paid", "Paid")])
    when = forms.DateField(required=False)
    cry = Shout(required=False)
    tags = forms.MultipleChoiceField(choices=[("a", "A"), ("b", "B")], required=False)
    terms = forms.BooleanField(required=False)
    friend = forms.ModelChoiceField(User.objects.all(), required=False)

    def clean_email(self) -> str:
        if self.cleaned_data["email"].endswith("example.net"):
            raise forms.ValidationError("not from there")
        return str(self.cleaned_data["email"])


@pytest.fixture
def signup() -> JobType:
    @job(schema=Signup)
    def signup(**given: Any) -> None: ...

    return signup.job_type


def test_a_form_is_drawn_with_its_own_fields(signup: JobType) -> None:
    sent = QueryDict(
        "payload-email=a@example.com&payload-age=7&payload-plan=paid&payload-when=2026-01-31&payload-cry=hey"
        "&payload-tags=a&payload-tags=b"
    )
    form = PayloadForm(sent, job_type=signup)
    assert form.is_valid(), form.errors
    assert form.payload == {
        "email": "a@example.com",
        "age": 7,
        "plan": "paid",
        "when": "2026-01-31",
        "cry": "hey",  # cleaned when the job runs, and only then
        "tags": ["a", "b"],
        "terms": False,
    }
    assert signup.schema.load(form.payload)["cry"] == "hey!"


def test_what_a_form_refuses_is_told_at_its_field(signup: JobType) -> None:
    form = filled(signup, email="a@example.net", plan="free")
    assert not form.is_valid()
    assert form.errors == {"payload-email": ["not from there"]}


@pytest.mark.django_db
def test_rows_are_not_listed_but_named_by_their_keys(signup: JobType) -> None:
    user = User.objects.create_user("somebody")
    assert "somebody" not in PayloadForm(job_type=signup).as_p()
    found = payload(signup, email="a@example.com", plan="free", friend=str(user.pk))
    assert signup.schema.load(found)["friend"] == user


def test_help_comes_from_the_field_then_from_the_docstring() -> None:
    @job
    def told(pages: Annotated[int, "at a time"], size: int, colour: str = "") -> None:
        """Print.

        Args:
            pages: never shown
            size (int): in millimetres,
                of the paper

        :param str colour: of the ink
        """

    helps = {each.name: each.field.help_text for each in drawn_for(told.job_type)}
    assert helps == {"pages": "at a time", "size": "in millimetres, of the paper", "colour": "of the ink"}


def test_a_function_without_a_docstring_tells_nothing() -> None:
    assert about_arguments(lambda value: None) == {}


def test_what_is_stored_is_shown_escaped() -> None:
    @job
    def shows(text: str = "<b>&", items: list[str] | None = None, whole: dict[str, Any] | None = None) -> None: ...

    stored = {"text": "</textarea><script>", "items": ["<i>"], "whole": {"<u>": "<s>"}}
    drawn = PayloadForm(job_type=shows.job_type, stored=stored).as_p()
    for tag in ("<script>", "<i>", "<u>", "<s>", "<b>"):
        assert tag not in drawn
