"""Gates before the claim: keys, limits, pauses; timeouts and stops asked for by people."""

from django.db import migrations, models

BOTH = """id, state, job_type, queue, subject, priority, run_at, queued_at, expires_at, slot_at, schedule, policy, key,
       attempts, free_attempts, max_attempts, payload, meta, actor, parent, {more}cursor, progress_count, result_count,
       target_count, progress_message, last_progress_at, worker_id, first_started_at, started_at"""
VIEW = f"""
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
OLD_VIEW, NEW_VIEW = VIEW.format(more=""), VIEW.format(more="timeout_seconds, ")
DROP_VIEW = "DROP VIEW jobs_app_run"

# Policies were stored and not enforced before: what waits since then may break them, and runs as it would have.
LIFT_OLD_POLICIES = "UPDATE jobs_app_job SET policy = 'standard', key = NULL WHERE policy <> 'standard'"
OPEN_ALL = "UPDATE jobs_app_job SET hold = '' WHERE hold <> ''"  # what a version without gates could never start


class Migration(migrations.Migration):

    dependencies = [
        ('jobs_app', '0002_run_view'),
    ]

    operations = [
        migrations.RunSQL(DROP_VIEW, OLD_VIEW),
        migrations.RunSQL(LIFT_OLD_POLICIES, OPEN_ALL),
        migrations.AlterModelOptions(
            name='job',
            options={'permissions': (('trigger_job', 'Can trigger jobs'), ('cancel_job', 'Can cancel jobs and ask running ones to stop'), ('abort_job', 'Can stop running jobs by force'), ('retry_job', 'Can run jobs again'), ('fail_job', 'Can mark jobs as failed'), ('requeue_job', 'Can requeue jobs of lost workers')), 'verbose_name': 'job', 'verbose_name_plural': 'jobs'},
        ),
        migrations.AlterModelOptions(
            name='jobrun',
            options={'permissions': (('prune_history', 'Can prune history'),), 'verbose_name': 'finished run', 'verbose_name_plural': 'finished runs'},
        ),
        migrations.AlterModelOptions(
            name='pause',
            options={'permissions': (('pause_work', 'Can pause work'), ('resume_work', 'Can resume work')), 'verbose_name': 'pause', 'verbose_name_plural': 'pauses'},
        ),
        migrations.RemoveField(
            model_name='queuestate',
            name='policy',
        ),
        migrations.AddField(
            model_name='job',
            name='abort_requested',
            field=models.BooleanField(db_default=False, verbose_name='to be stopped by force'),
        ),
        migrations.AddField(
            model_name='job',
            name='gate',
            field=models.SmallIntegerField(choices=[(0, 'none'), (1, 'limits'), (2, 'its key, then limits')], db_default=0, verbose_name='gate'),
        ),
        migrations.AddField(
            model_name='job',
            name='timeout_seconds',
            field=models.FloatField(blank=True, null=True, verbose_name='timeout in seconds'),
        ),
        migrations.AddField(
            model_name='jobrun',
            name='timeout_seconds',
            field=models.FloatField(blank=True, null=True, verbose_name='timeout in seconds'),
        ),
        migrations.AddField(
            model_name='pause',
            name='parked',
            field=models.BooleanField(default=False, verbose_name='parked'),
        ),
        migrations.AddField(
            model_name='queuestate',
            name='ageing_seconds',
            field=models.FloatField(blank=True, null=True, verbose_name='seconds of waiting that raise the priority by one'),
        ),
        migrations.AddField(
            model_name='queuestate',
            name='max_running_per_process',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='running at most per process'),
        ),
        migrations.AddField(
            model_name='queuestate',
            name='rate_per_key_count',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='starts per period and key at most'),
        ),
        migrations.AddField(
            model_name='queuestate',
            name='rate_per_key_seconds',
            field=models.FloatField(blank=True, null=True, verbose_name='period per key in seconds'),
        ),
        migrations.AlterField(
            model_name='job',
            name='hold',
            field=models.CharField(blank=True, choices=[('', 'open'), ('new', 'waits for admission'), ('key', 'waits for its key'), ('limit', 'waits for a limit'), ('pause', 'paused')], db_default='', max_length=6, verbose_name='hold'),
        ),
        migrations.AlterField(
            model_name='ratelimit',
            name='scope',
            field=models.CharField(max_length=260, verbose_name='scope'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('queue'), models.F('hold'), models.F('job_type'), models.OrderBy(models.F('priority'), descending=True), models.F('run_at'), models.F('id'), condition=models.Q(('hold__in', ['new', 'limit']), ('state', 'queued')), name='jobs_app_job_gate'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('queue'), models.F('subject'), models.OrderBy(models.F('priority'), descending=True), models.F('run_at'), models.F('id'), condition=models.Q(('hold', 'limit'), ('state', 'queued')), name='jobs_app_job_share'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('queue'), models.F('key'), models.F('job_type'), models.OrderBy(models.F('priority'), descending=True), models.F('run_at'), models.F('id'), condition=models.Q(('hold', 'key'), ('state', 'queued')), name='jobs_app_job_key'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('queue'), models.F('key'), condition=models.Q(('gate', 2), ('hold__in', ['', 'limit'])), name='jobs_app_job_admitted'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('queue'), condition=models.Q(('gate__gt', 0), ('hold', '')), name='jobs_app_job_queue_open'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('job_type'), condition=models.Q(('gate__gt', 0), ('hold', '')), name='jobs_app_job_type_open'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('id'), condition=models.Q(('hold', 'pause')), name='jobs_app_job_parked'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'queued'), models.Q(('hold', ''), ('state', 'running')), _connector='OR'), name='jobs_app_job_running_is_open'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(models.F('queue'), models.F('key'), condition=models.Q(('hold__in', ['', 'limit']), ('policy__in', ['singleton', 'exclusive', 'stately'])), name='jobs_app_job_one_of_key'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(models.F('queue'), models.F('key'), condition=models.Q(('policy', 'exclusive')), name='jobs_app_job_exclusive'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(models.F('queue'), models.F('key'), condition=models.Q(('policy__in', ['short', 'stately']), ('state', 'queued')), name='jobs_app_job_one_queued'),
        ),
        migrations.RunSQL(NEW_VIEW, DROP_VIEW),
    ]
