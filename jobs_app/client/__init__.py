"""The worker for other hosts: this folder and the standard library, so that it may be copied there alone."""

from .calls import JobsClient
from .errors import ClientError, JobCancelled, JobEnded, LeaseLost, Permanent, Refused, Release, RetryLater, Unreachable
from .job import RemoteJob
from .webhooks import verify_webhook
from .worker import RemoteWorker

__all__ = ["ClientError", "JobCancelled", "JobEnded", "JobsClient", "LeaseLost", "Permanent", "Refused", "Release"]
__all__ += ["RemoteJob", "RemoteWorker", "RetryLater", "Unreachable", "verify_webhook"]
