class JobsRouter:
    """The jobs and nothing else are in the database `jobs`."""

    def db_for_read(self, model, **hints):
        return "jobs" if model._meta.app_label == "jobs_app" else None

    db_for_write = db_for_read

    def allow_migrate(self, db, app_label, **hints):
        return (db == "jobs") == (app_label == "jobs_app")
