"""Rate limits that nobody waits for any more are found by their age."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs_app', '0004_retention'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='ratelimit',
            index=models.Index(models.F('next_free_at'), name='jobs_app_rate_age'),
        ),
    ]
