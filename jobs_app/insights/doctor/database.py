"""Does the database answer, and is it new enough?"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import NotSupportedError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.doctor.finding import Fault, Needs, examination, note, problem

LEAST = {"postgresql": (14,), "sqlite": (3, 35)}  # what our statements need
SOON = {"postgresql": (15,), "sqlite": (3, 37)}  # what Django 6.1 needs
TITLES = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}


@examination(fine="The database answers.", needs=Needs.NOTHING)
def database_unreachable(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except NotSupportedError as error:  # Django asks for the version when it connects
        yield problem(f"Django refuses database {connection.alias!r}: {error}", advice="Upgrade the database server.")
    except Exception as error:  # whatever it is, nothing else can be asked
        advice = f"Is it up, and are host, name, user and password of {connection.alias!r} right in settings.DATABASES?"
        yield problem(f"Database {connection.alias!r} cannot be reached: {first_line(error)}", advice=advice)


@examination(fine="The database is new enough.", needs=Needs.DATABASE)
def database_too_old(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    version, vendor = connection.get_database_version(), connection.vendor
    if vendor not in LEAST:
        return  # the system checks refuse it
    told = f"Database {connection.alias!r} is {title(connection)}"
    if version < LEAST[vendor]:
        yield problem(f"{told}; the jobs need {_dotted(LEAST[vendor])}.", advice="Upgrade it.")
    elif version < SOON[vendor]:
        advice = "Upgrade it before Django."
        yield note(f"{told}; Django 6.1 will need {_dotted(SOON[vendor])}.", advice=advice)


def title(connection: BaseDatabaseWrapper) -> str:
    """What it is, as people call it."""
    return f"{TITLES.get(connection.vendor, connection.vendor)} {_dotted(connection.get_database_version())}"


def first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
