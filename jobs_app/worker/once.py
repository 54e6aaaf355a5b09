"""What `runworker --once` tells: a line for each step of each job, and the sum at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.lifecycle.moves import Ended
from jobs_app.models import Job
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.signals import job_finished, job_started


class OnceReport:
    def __init__(self, write: Callable[[str], Any], serves: Callable[[str], bool]) -> None:
        self._write = write
        self._serves = serves
        self.counts: Counter[str] = Counter()

    def begin(self) -> None:
        job_started.connect(self._started, weak=False)
        job_finished.connect(self._finished, weak=False)
        self._write("🔄 Worker started - processing all pending jobs...")
        due = self._due()
        self._write(f"📊 Found {due} pending jobs to process" if due else "📊 No pending jobs found")

    def end(self) -> None:
        job_started.disconnect(self._started)
        job_finished.disconnect(self._finished)
        counts = self.counts
        self._write(
            f"📊 Worker completed - Processed: {counts.total()} | Success: {counts['succeeded']} | "
            f"Retry: {counts['queued']} | Failed: {counts['failed']}"
        )

    def _due(self) -> int:
        due = Job.objects.filter(state="queued", run_at__lte=database_now(jobs_connection())).exclude(hold="pause")
        lanes = due.values_list("queue", "job_type").order_by().annotate(Count("pk"))
        return sum(count for queue, job_type, count in lanes if self._serves(queue) and job_type in registry)

    def _started(self, *, job: ClaimedJob, **kwargs: Any) -> None:
        if job.queue == SYSTEM_QUEUE:
            return  # the app's own
        about = f"{job.job_type} {job.subject}".strip()
        self._write(f"📦 Processing job {job.id} for {about} (attempt {job.counted_attempts}/{job.max_attempts})")

    def _finished(self, *, job: ClaimedJob, ended: Ended, **kwargs: Any) -> None:
        is_unspent = ended.outcome in ("interrupted", "deferred") and ended.state == "queued"
        if job.queue == SYSTEM_QUEUE or is_unspent:
            return  # the app's own, or not processed: it goes back to wait, unspent
        self.counts[ended.state] += 1
        if ended.state == "succeeded":
            self._write(f"✅ Job {job.id} completed successfully")
            return
        if ended.error:
            self._write(f"❌ Job {job.id} failed: {ended.error}")
        if ended.state == "queued":
            at = (datetime.now(UTC) + timedelta(seconds=ended.delay)).isoformat(timespec="milliseconds")
            retry = f"{job.counted_attempts}/{job.max_attempts - 1}"
            self._write(f"🔄 Job {job.id} scheduled for retry {retry} at {at.replace('+00:00', 'Z')}")
        elif ended.state == "failed":
            self._write(f"💀 Permanently failed: job {job.id}")
