"""Every setting of the app can be given by the environment, in its own type."""

from __future__ import annotations

from dataclasses import fields

import environ
import pytest

from jobs_app.conf import Settings, parse
from jobsite.environment import VARIABLES, jobs_from, variable_of

EVERY_SETTING = [field.name.upper() for field in fields(Settings)]
TEXTS = {"ON_SHUTDOWN": "leave", "DATABASE": "default", "SCHEDULER_ENABLED": "off", "WORKER_LISTEN": "off"}
TEXTS |= {"QUEUES": '{"mail": {"concurrency": 2}}', "MAINTENANCE_WINDOWS": "07:00,22:00"}
TEXTS |= {"AUTO_RECOVER": "off", "RECONCILE_APPLIES": "expired, lost", "WEBHOOK_PRIVATE_ADDRESSES": "on"}
TEXTS |= {"SITE_URL": "https://example.com", "FINAL_SCRAPE_SECONDS": "20"}
TEXTS |= {"WEBHOOKS": '[{"name": "ops", "url": "https://example.com/", "secret": "sixteen or more characters"}]'}


def environment(**variables: str) -> environ.Env:
    env = environ.Env()
    env.ENVIRON = variables
    return env


@pytest.mark.parametrize("setting", EVERY_SETTING)
def test_each_setting_has_a_variable_whose_value_the_app_accepts(setting: str) -> None:
    given = jobs_from(environment(**{variable_of(setting): TEXTS.get(setting, "1000")}))

    assert list(given) == [setting]
    assert parse(given)


def test_no_two_settings_share_a_variable() -> None:
    assert len({variable_of(setting) for setting in EVERY_SETTING}) == len(EVERY_SETTING)


def test_known_names_belong_to_settings_that_exist() -> None:
    assert set(VARIABLES) <= set(EVERY_SETTING)


def test_an_empty_environment_sets_nothing() -> None:
    assert jobs_from(environment()) == {}
