"""What is stored may have any bytes and any secret: no page runs the one, and none tells the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.test import Client

from jobs_app.admin.menu import PAGES
from jobs_app.models import ControlEvent, Job, JobAttempt, JobItem, JobRun, Pause, ScheduleState
from tests.admin.conftest import Visitor
from tests.admin.samples import PLACES, SAMPLES
from tests.admin.test_matrix import body
from tests.admin.world import World, make_world, register_shop

pytestmark = pytest.mark.django_db

MARKUP = "'\"><script>x()</script>"
HOSTILE = f"{MARKUP}\u202e/../%00?a=1#b"
# What a database or the app itself decides by; the rest is only there to be read.
DECIDES = {"state", "outcome", "timezone", "cron", "policy", "gate", "hold", "kind", "scope", "origin", "queue"}
CANARY = "canary-7f3a"


@pytest.fixture
def world() -> World:
    register_shop()
    return make_world()


def visits(world: World) -> Iterator[tuple[str, str]]:
    for name, sample in (*SAMPLES.items(), *PLACES):
        yield name, sample.url(name, world)


def spoil(row: models.Model) -> None:
    for field in row._meta.concrete_fields:
        if field.primary_key or field.choices or field.name in DECIDES:
            continue
        if isinstance(field, models.JSONField):
            unpaired = "" if connection.vendor == "postgresql" else "\ud800"  # jsonb refuses it
            text = HOSTILE + unpaired
            setattr(row, field.name, [text] if isinstance(getattr(row, field.name), list) else {text: [text]})
        elif isinstance(field, models.CharField | models.TextField):
            number = str(row.pk) if field.unique or field.name == "name" else ""
            setattr(row, field.name, (number + (MARKUP if field.max_length else HOSTILE))[: field.max_length])
    row.save()


def spoil_everything() -> None:
    for model in apps.get_app_config("jobs_app").get_models():
        if model._meta.managed and model.__name__ not in ("RuntimeSetting", "MaintenanceWindow"):
            for row in model.objects.exclude(**({"scope": "all"} if model is Pause else {})):
                spoil(row)
    for name in ("RuntimeSetting", "MaintenanceWindow"):
        texts = {f.name for f in apps.get_model("jobs_app", name)._meta.fields} & {"actor", "reason"}
        apps.get_model("jobs_app", name).objects.update(**dict.fromkeys(texts, HOSTILE[:100]))


def test_no_page_runs_what_is_stored(world: World, visitor: Visitor) -> None:
    spoil_everything()
    client = visitor(everything=True)
    for _name, url in visits(world):
        answer = client.get(url)
        assert answer.status_code in (200, 302, 400, 404), url
        is_file = "attachment" in answer.headers.get("Content-Disposition", "")
        assert is_file or "<script>x" not in body(answer), url


def told_to(client: Client, world: World) -> Iterator[tuple[str, str]]:
    for name, url in visits(world):
        answer = client.get(url)
        if answer.status_code in (200, 400):
            yield name, body(answer)


def keep_canaries(**payload: Any) -> None:
    document = {"order": 7, **payload}
    Job.objects.update(payload=document, meta=document)
    JobRun.objects.update(payload=document, meta=document, result=document)
    JobItem.objects.update(data=document)
    ScheduleState.objects.update(payload=document, overrides={"payload": document})
    ControlEvent.objects.update(detail={"changed": {"payload": {"from": document, "to": document}}})


def test_a_secret_is_told_to_nobody(world: World, visitor: Visitor) -> None:
    keep_canaries(api_token=CANARY, deep=[{"Password": CANARY}])
    told = [name for name, text in told_to(visitor(everything=True), world) if CANARY in text]
    assert told == []


def test_payloads_logs_and_events_are_told_only_to_who_may_see_them(world: World, visitor: Visitor) -> None:
    keep_canaries(customer=CANARY)
    JobAttempt.objects.update(traceback=f"Traceback {CANARY}", log_excerpt=CANARY)
    ControlEvent.objects.update(reason=CANARY)
    acts = {permission.partition(".")[2] for page in PAGES.values() for permission in page.permissions}
    everything_else = acts - {"view_payload", "view_log", "view_controlevent", "view_dashboard"}
    told = [name for name, text in told_to(visitor(*everything_else), world) if CANARY in text]
    assert told == []
    for permission in ("view_payload", "view_log", "view_controlevent"):
        assert any(CANARY in text for _name, text in told_to(visitor(permission), world)), permission
