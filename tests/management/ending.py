"""How `manage.py jobs ...` ended, and what it had printed by then."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any, NamedTuple

from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command


class Ended(NamedTuple):
    code: int
    data: str
    words: str  # the error after the others

    @property
    def json(self) -> Any:
        return json.loads(self.data)


def ended(*arguments: object) -> Ended:
    data, words = StringIO(), StringIO()
    try:
        call_command("jobs", *map(str, arguments), stdout=data, stderr=words)
    except CommandError as error:
        return Ended(error.returncode, data.getvalue(), f"{words.getvalue()}{error}")
    return Ended(0, data.getvalue(), words.getvalue())


def user_who_may(*codenames: str, name: str = "ann") -> User:
    user = User.objects.create_user(name)
    found = Permission.objects.filter(content_type__app_label="jobs_app", codename__in=codenames)
    assert found.count() == len(codenames)
    user.user_permissions.set(found)
    return user
