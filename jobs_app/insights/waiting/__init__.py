"""Why a queued run does not run, in words: every reason there is at this moment, the most decisive first."""

from jobs_app.insights.waiting.because import waiting_because
from jobs_app.insights.waiting.reasons import Reason, Target

__all__ = ["Reason", "Target", "waiting_because"]
