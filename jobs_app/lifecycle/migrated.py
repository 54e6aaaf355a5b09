"""Are the tables those that this code was written for? Asked once at start; nobody here migrates."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from jobs_app.models import Job

APP = "jobs_app"


def missing_migrations(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of those that code has and the database has not; of a project that has them switched off, "all" where the
    tables are not there. One that the database alone has is of newer code, which keeps older code working."""
    loader = MigrationLoader(connection)
    ours = {name for app, name in loader.disk_migrations if app == APP}
    if not ours:
        return [] if Job._meta.db_table in connection.introspection.table_names() else ["all"]
    return sorted(ours - {name for app, name in loader.applied_migrations if app == APP})
