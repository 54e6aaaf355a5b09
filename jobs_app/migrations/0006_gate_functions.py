"""What the enqueue of one job asks about its queue, its type and its subject, as functions that PostgreSQL plans once.

The enqueue of many asks the same in its own statement (jobs_app/lifecycle/insert.py); a test holds the two together.
"""

from django.db import migrations

CREATE = [
    """
CREATE FUNCTION jobs_app_gate(of_queue text, asked bigint) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
  found smallint;
BEGIN
  SELECT CASE WHEN max_running_per_key IS NOT NULL OR rate_per_key_count IS NOT NULL THEN 2
              WHEN max_running IS NOT NULL OR rate_count IS NOT NULL OR ageing_seconds IS NOT NULL THEN 1
              WHEN fair_share THEN 1 ELSE 0 END
    INTO found FROM jobs_app_queuestate WHERE name = of_queue;
  RETURN greatest(asked, found);
END
$$""",
    """
CREATE FUNCTION jobs_app_hold(of_queue text, of_type text, of_subject text, asked bigint, moment timestamptz)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF of_queue <> 'jobs.system' AND (
     EXISTS (SELECT 1 FROM jobs_app_pause WHERE scope = 'job_type' AND name = of_type
                AND (until IS NULL OR until > moment))
     OR of_subject <> '' AND EXISTS (SELECT 1 FROM jobs_app_pause WHERE scope = 'subject' AND name = of_subject
                AND (until IS NULL OR until > moment))) THEN
    RETURN 'pause';
  END IF;
  RETURN CASE jobs_app_gate(of_queue, asked) WHEN 0 THEN '' WHEN 1 THEN 'limit' ELSE 'new' END;
END
$$""",
]
DROP = [
    "DROP FUNCTION jobs_app_hold(text, text, text, bigint, timestamptz)",
    "DROP FUNCTION jobs_app_gate(text, bigint)",
]


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in CREATE:
            schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in DROP:
            schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ('jobs_app', '0005_rate_limit_age'),
    ]

    operations = [
        migrations.RunPython(create, drop),
    ]
