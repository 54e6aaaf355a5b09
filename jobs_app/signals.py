"""Facts, in the past tense, sent after they are stored: a receiver can never undo one."""

from django.dispatch import Signal

# sender: the JobType; run: the RunHandle. Sent when the enqueue is committed, for what was created by code in this
# process; schedules and other processes tell nothing here.
job_enqueued = Signal()

# sender: the JobType (None where this process does not know it); job: the ClaimedJob
job_started = Signal()

# sender and job as above; ended: how the attempt ended (state, outcome, error, delay, ...). A retry has state "queued".
job_finished = Signal()

# sender: None; requeued, failed, expired: ids of jobs whose worker went silent (`failed` also if
# one was cancelled meanwhile), or that were never started in time
jobs_recovered = Signal()
