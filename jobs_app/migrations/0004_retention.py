"""What retention needs: the last runs of a schedule, samples by age, and a vacuum that comes in time."""

from django.db import migrations, models

# History loses its old rows a few at a time. By default a fifth of a table is dead before autovacuum comes: measured,
# the table grows by a third where a twentieth makes it a tenth.
TABLES = ("jobs_app_jobrun", "jobs_app_jobattempt")


def tune(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.05)")


def untune(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"ALTER TABLE {table} RESET (autovacuum_vacuum_scale_factor)")


class Migration(migrations.Migration):

    dependencies = [
        ('jobs_app', '0003_admission'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='jobrun',
            index=models.Index(models.F('schedule'), models.F('id'), condition=models.Q(('schedule__isnull', False)), name='jobs_app_run_schedule'),
        ),
        migrations.AddIndex(
            model_name='statsample',
            index=models.Index(models.F('at'), name='jobs_app_sample_at'),
        ),
        migrations.RunPython(tune, untune),
    ]
