"""What schedules need: batches in order, the live jobs of one, the rows of a subject, and what became of its slots."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs_app', '0007_enqueue_procedures'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='schedulestate',
            options={'permissions': (('backfill_schedule', 'Can enqueue the slots of the past'),), 'verbose_name': 'schedule', 'verbose_name_plural': 'schedules'},
        ),
        migrations.RemoveIndex(
            model_name='schedulestate',
            name='jobs_app_schedule_due',
        ),
        migrations.AddField(
            model_name='schedulestate',
            name='disabled',
            field=models.BooleanField(db_default=False, default=False, verbose_name='switched off by failures'),
        ),
        migrations.AddField(
            model_name='schedulestate',
            name='failing_since',
            field=models.DateTimeField(blank=True, null=True, verbose_name='failing since'),
        ),
        migrations.AddField(
            model_name='schedulestate',
            name='skipped_slots',
            field=models.BigIntegerField(db_default=0, default=0, verbose_name='slots without a job'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(models.F('schedule'), condition=models.Q(('schedule__isnull', False)), name='jobs_app_job_schedule'),
        ),
        migrations.AddIndex(
            model_name='schedulestate',
            index=models.Index(models.F('next_run_at'), models.F('id'), condition=models.Q(('disabled', False), ('next_run_at__isnull', False), ('paused', False), ('retired', False)), name='jobs_app_schedule_due'),
        ),
        migrations.AddIndex(
            model_name='schedulestate',
            index=models.Index(models.F('subject'), condition=models.Q(('subject', ''), _negated=True), name='jobs_app_schedule_subject'),
        ),
        migrations.AddIndex(
            model_name='schedulestate',
            index=models.Index(models.F('job_type'), condition=models.Q(('retired', True)), name='jobs_app_schedule_retired'),
        ),
    ]
