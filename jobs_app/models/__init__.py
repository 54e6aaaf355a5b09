"""The tables, one file each."""

from jobs_app.models.api_token import ApiToken
from jobs_app.models.attempt import JobAttempt, Outcome
from jobs_app.models.control_event import ControlEvent
from jobs_app.models.idempotency import IdempotencyKey
from jobs_app.models.item import JobItem
from jobs_app.models.job import FINISHED, LIVE, ONE_QUEUED, Gate, Hold, Job, Policy, State, jobs_database
from jobs_app.models.maintenance import MaintenanceWindow
from jobs_app.models.pages import Dashboard, JobDefinition, MenuEntry, Subject
from jobs_app.models.pause import Pause, Scope
from jobs_app.models.queue import QueueState
from jobs_app.models.rate_limit import RateLimit
from jobs_app.models.run import JobRun, Run
from jobs_app.models.runtime_setting import RuntimeSetting
from jobs_app.models.sample import StatSample
from jobs_app.models.schedule import CatchUp, Origin, Overlap, ScheduleState
from jobs_app.models.untold import UntoldFailures
from jobs_app.models.worker import WorkerKind, WorkerState

__all__ = [
    "FINISHED",
    "LIVE",
    "ONE_QUEUED",
    "ApiToken",
    "CatchUp",
    "ControlEvent",
    "Dashboard",
    "Gate",
    "Hold",
    "IdempotencyKey",
    "Job",
    "JobAttempt",
    "JobDefinition",
    "JobItem",
    "JobRun",
    "MaintenanceWindow",
    "MenuEntry",
    "Origin",
    "Outcome",
    "Overlap",
    "Pause",
    "Policy",
    "QueueState",
    "RateLimit",
    "Run",
    "RuntimeSetting",
    "ScheduleState",
    "Scope",
    "StatSample",
    "State",
    "Subject",
    "UntoldFailures",
    "WorkerKind",
    "WorkerState",
    "jobs_database",
]
