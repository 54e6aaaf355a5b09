"""Entries of the admin menu that have no table, one permission per verb, and the indexes that lists of runs are read by."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs_app', '0008_schedules'),
    ]

    operations = [
        migrations.CreateModel(
            name='Dashboard',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
            options={
                'verbose_name': 'dashboard',
                'verbose_name_plural': 'dashboard',
                'permissions': (('view_dashboard', 'Can see jobs, runs, queues, schedules and workers'), ('view_payload', 'Can see payloads, results and meta of runs'), ('view_log', 'Can see logs and tracebacks of runs'), ('trigger_job', 'Can trigger jobs'), ('retry_run', 'Can retry runs and run them again'), ('cancel_run', 'Can cancel runs and ask running ones to stop'), ('abort_run', 'Can stop running runs by force'), ('fail_run', 'Can mark runs as failed'), ('reconcile_runs', 'Can reconcile stale runs and requeue those of lost workers'), ('pause_all', 'Can pause and resume everything'), ('pause_queue', 'Can pause and resume queues'), ('pause_job_type', 'Can pause and resume job types'), ('pause_subject', 'Can pause and resume subjects'), ('pause_schedule', 'Can pause and resume schedules'), ('scale_queue', 'Can change the limits of queues'), ('drain_worker', 'Can drain workers'), ('backfill_schedule', 'Can enqueue the slots of the past'), ('change_setting', 'Can change settings at run time'), ('manage_token', 'Can make and revoke API tokens'), ('prune_history', 'Can prune history')),
                'managed': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='JobDefinition',
            fields=[
                ('name', models.CharField(max_length=120, primary_key=True, serialize=False, verbose_name='name')),
            ],
            options={
                'verbose_name': 'job type',
                'verbose_name_plural': 'job types',
                'managed': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Subject',
            fields=[
                ('name', models.CharField(max_length=200, primary_key=True, serialize=False, verbose_name='name')),
            ],
            options={
                'verbose_name': 'subject',
                'verbose_name_plural': 'subjects',
                'managed': False,
                'default_permissions': (),
            },
        ),
        migrations.AlterModelOptions(
            name='job',
            options={'verbose_name': 'job', 'verbose_name_plural': 'jobs'},
        ),
        migrations.AlterModelOptions(
            name='jobrun',
            options={'verbose_name': 'finished run', 'verbose_name_plural': 'finished runs'},
        ),
        migrations.AlterModelOptions(
            name='pause',
            options={'verbose_name': 'pause', 'verbose_name_plural': 'pauses'},
        ),
        migrations.AlterModelOptions(
            name='schedulestate',
            options={'verbose_name': 'schedule', 'verbose_name_plural': 'schedules'},
        ),
        migrations.RemoveIndex(
            model_name='jobrun',
            name='jobs_app_run_type_queued',
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('parent'), condition=models.Q(('parent__isnull', False)), name='jobs_app_job_parent'),
        ),
        migrations.AddIndex(
            model_name='jobrun',
            index=models.Index(models.F('queued_at'), models.F('id'), name='jobs_app_run_newest'),
        ),
        migrations.AddIndex(
            model_name='jobrun',
            index=models.Index(models.F('job_type'), models.F('queued_at'), models.F('id'), name='jobs_app_run_type_newest'),
        ),
        migrations.AddIndex(
            model_name='jobrun',
            index=models.Index(models.F('subject'), models.F('queued_at'), models.F('id'), condition=models.Q(('subject', ''), _negated=True), name='jobs_app_run_subject'),
        ),
        migrations.AddIndex(
            model_name='jobrun',
            index=models.Index(models.F('queued_at'), models.F('id'), condition=models.Q(('state', 'failed')), name='jobs_app_run_failed'),
        ),
        migrations.AddIndex(
            model_name='jobrun',
            index=models.Index(models.F('parent'), condition=models.Q(('parent__isnull', False)), name='jobs_app_run_parent'),
        ),
    ]
