"""Takes the pictures of the examples from the running demo, for docs/images: a part of `make images`."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import django

from tests.browser.camera import chromium, take, visiting
from tests.jobsite.demo import DATABASE, running_demo
from tests.waiting import until

PATIENCE_SECONDS = 180
SHOWN = {  # what must have happened before
    ("deal", "succeeded"),
    ("find-leads", "succeeded"),
    ("find-leads", "failed"),
    ("send-welcome-email", "failed"),
    ("document-evaluation", "succeeded"),
    ("document-evaluation", "failed"),
    ("charge", "succeeded"),
    ("charge", "failed"),
}


class Site(NamedTuple):
    """All that a visitor needs of one."""

    url: str


def main() -> None:
    executable = chromium()
    with TemporaryDirectory() as name:
        os.environ |= {
            "DATABASE_URL": f"sqlite:///{Path(name) / DATABASE}",
            "DJANGO_SETTINGS_MODULE": "jobsite.settings",
            "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
            "DEBUG": "1",
            "SECRET_KEY": "of these pictures",  # the same here and there, so that a session made here counts there
        }
        django.setup()
        with running_demo(Path(name)) as demo:
            url = until(demo.address, seconds=PATIENCE_SECONDS)
            until(lambda: demo.ended() >= SHOWN and _costs_are_known(), seconds=PATIENCE_SECONDS)
            with visiting(executable, Site(url.rstrip("/")), "demo") as visitor:
                for picture, address in _addresses().items():
                    take(visitor.go(address), picture)


def _costs_are_known() -> bool:
    from examples.document_review.models import Review, Status

    return Review.objects.filter(status=Status.COMPLETED, cost__isnull=False).count() >= 2


def _addresses() -> dict[str, str]:
    from django.urls import reverse

    from jobs_app.models import Run
    from tests.browser.visitors import admin_url

    def run(**facts: Any) -> str:
        return admin_url("run_detail", Run.objects.filter(**facts).order_by("queued_at")[0].pk)

    return {
        "landing": "/",
        "storage-provider": admin_url("subject_detail", "main:f02000"),
        "storage-capacity": admin_url("dashboard_capacity"),
        "leads-run": run(job_type="find-leads", state="succeeded", attempts__gt=1),
        "leads": reverse("admin:lead_scraper_lead_changelist"),
        "welcome-trigger": admin_url("jobdefinition_trigger", "send-welcome-email"),
        "welcome-run": run(job_type="send-welcome-email", state="succeeded", attempts=1),
        "reviews": reverse("admin:document_review_review_changelist"),
        "review-run": run(job_type="document-evaluation", state="succeeded", attempts__gt=1),
        "payments": reverse("admin:subscriptions_payment_changelist"),
        "payments-runs": f"{admin_url('run_changelist')}?job_type=charge",
    }


if __name__ == "__main__":
    main()
