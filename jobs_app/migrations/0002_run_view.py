"""The view that shows live and finished runs as one list, and how PostgreSQL stores the tables.

A later migration that changes a column of Job or JobRun drops the view first and makes it anew after.
"""

from django.db import migrations

BOTH = """id, state, job_type, queue, subject, priority, run_at, queued_at, expires_at, slot_at, schedule, policy, key,
       attempts, free_attempts, max_attempts, payload, meta, actor, parent, cursor, progress_count, result_count,
       target_count, progress_message, last_progress_at, worker_id, first_started_at, started_at"""
CREATE_VIEW = f"""
CREATE VIEW jobs_app_run AS
SELECT {BOTH},
       hold, lease_expires_at, cancel_requested, '' AS outcome, '' AS done_reason, NULL AS finished_at,
       last_error AS error, NULL AS result
  FROM jobs_app_job
UNION ALL
SELECT {BOTH},
       '' AS hold, NULL AS lease_expires_at, false AS cancel_requested, outcome, done_reason, finished_at, error, result
  FROM jobs_app_jobrun
"""
DROP_VIEW = "DROP VIEW jobs_app_run"

# Job swings between empty and full faster than autovacuum's defaults notice: vacuum by count, not by share of the table,
# and without pauses. Room on each page lets an update stay on it. History only grows, so time has a block range index.
TUNE_POSTGRES = [
    """ALTER TABLE jobs_app_job SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
       autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000)""",
    "ALTER TABLE jobs_app_workerstate SET (fillfactor = 50)",
    "CREATE INDEX jobs_app_run_finished ON jobs_app_jobrun USING brin (finished_at)",
]
UNTUNE_POSTGRES = [
    "DROP INDEX jobs_app_run_finished",
    "ALTER TABLE jobs_app_workerstate RESET (fillfactor)",
    """ALTER TABLE jobs_app_job RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
       autovacuum_vacuum_cost_delay, autovacuum_analyze_scale_factor, autovacuum_analyze_threshold)""",
]
TUNE_SQLITE = ["CREATE INDEX jobs_app_run_finished ON jobs_app_jobrun (finished_at)"]
UNTUNE_SQLITE = ["DROP INDEX jobs_app_run_finished"]


def tune(apps, schema_editor):
    statements = TUNE_POSTGRES if schema_editor.connection.vendor == "postgresql" else TUNE_SQLITE
    for statement in statements:
        schema_editor.execute(statement)


def untune(apps, schema_editor):
    statements = UNTUNE_POSTGRES if schema_editor.connection.vendor == "postgresql" else UNTUNE_SQLITE
    for statement in statements:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("jobs_app", "0001_initial")]

    operations = [
        migrations.RunSQL(CREATE_VIEW, DROP_VIEW),
        migrations.RunPython(tune, untune),
    ]
