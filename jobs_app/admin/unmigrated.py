"""What is shown where `migrate` was forgotten. Looked for only after the database refused: no page pays for it."""

from __future__ import annotations

import logging
from contextlib import closing, nullcontext

from django.db import DatabaseError, InterfaceError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from jobs_app.admin.visits import Visit
from jobs_app.insights.tables import MIGRATE, UNMIGRATED, unmigrated
from jobs_app.lifecycle.database import is_postgres
from jobs_app.logs import event

logger = logging.getLogger("jobs_app.admin")


def unmigrated_page(visit: Visit, error: DatabaseError) -> HttpResponseBase | None:
    """None: nothing is missing, or nobody can tell. Then the error is what it is."""
    lacking = _lacking(visit.connection)
    if not lacking:
        return None
    facts = event("tables_missing", error=error)
    logger.warning("database %s lacks migrations of jobs_app: %s", lacking["database"], error, extra=facts)
    if visit.connection.in_atomic_block:  # of the host: with ATOMIC_REQUESTS an answer would be committed
        transaction.set_rollback(True, using=visit.connection.alias)
    said = [_(UNMIGRATED) % lacking, _(MIGRATE) % lacking]
    return visit.render("unmigrated.html", _("Tables are missing"), status=503, crumbs=[], said=said)


def _lacking(connection: BaseDatabaseWrapper) -> dict[str, str]:
    # After an error PostgreSQL answers nothing more in the same transaction.
    is_broken = connection.in_atomic_block and is_postgres(connection)
    try:
        with closing(connection.copy()) if is_broken else nullcontext(connection) as asked:
            return unmigrated(asked)
    except (DatabaseError, InterfaceError):
        return {}
