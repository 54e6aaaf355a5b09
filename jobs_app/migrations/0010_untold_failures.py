"""Failures that nobody was told of yet."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs_app', '0009_control_plane'),
    ]

    operations = [
        migrations.CreateModel(
            name='UntoldFailures',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job_type', models.CharField(max_length=120, verbose_name='job type')),
                ('queue', models.CharField(max_length=120, verbose_name='queue')),
                ('error_class', models.CharField(blank=True, max_length=200, verbose_name='error class')),
                ('count', models.PositiveIntegerField(verbose_name='count')),
                ('first_at', models.DateTimeField(verbose_name='first at')),
                ('last_at', models.DateTimeField(verbose_name='last at')),
                ('run_id', models.UUIDField(verbose_name='run')),
                ('error', models.TextField(blank=True, verbose_name='error')),
            ],
            options={
                'verbose_name': 'untold failures',
                'verbose_name_plural': 'untold failures',
                'default_permissions': (),
            },
        ),
    ]
