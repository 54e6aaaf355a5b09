"""Documents and their reviews, with the ways to their runs and the buttons that repeat them."""

from __future__ import annotations

from itertools import chain
from typing import Any

from django.contrib import admin, messages
from django.db.models import Avg, Count, QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from examples.document_review.models import Document, Review, subject_of
from examples.document_review.reviewing import cancel_reviews, newest_of_each_agent, request_review, review_again
from jobs_app.admin import subject_jobs_link
from jobs_app.lifecycle.control import Acted

WANTED = ("document", "agent")
FOUND = ("status", "grade", "summary", "error", "tokens", "cost", "created_at", "updated_at", "run")


class ReviewPages(admin.ModelAdmin):
    """What both pages let people do, if they may do it in the pages of jobs too."""

    def has_repeat_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("jobs_app.retry_run")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("jobs_app.cancel_run")

    def say(self, request: HttpRequest, acted: Acted, done: str) -> None:
        self.message_user(request, f"{done}: {len(acted.moved)}.", messages.SUCCESS if acted else messages.WARNING)
        for run_id, why in acted.skipped.items():
            self.message_user(request, f"Run {run_id} {why}.", messages.WARNING)


@admin.register(Document)
class DocumentAdmin(ReviewPages):
    list_display = ("title", "reviews", "grade", "cost", "jobs")
    search_fields = ("title", "text")
    actions = ("repeat",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        sums = {"count": Count("reviews"), "grade": Avg("reviews__grade"), "cost": Sum("reviews__cost")}
        return super().get_queryset(request).annotate(**sums)

    @admin.display(ordering="count")
    def reviews(self, document: Any) -> str:
        address = reverse("admin:document_review_review_changelist", query={"document__id__exact": document.pk})
        return format_html('<a href="{}">{}</a>', address, document.count)

    @admin.display(description="average grade", ordering="grade")
    def grade(self, document: Any) -> int | None:
        return None if document.grade is None else round(document.grade)

    @admin.display(description="cost in USD", ordering="cost")
    def cost(self, document: Any) -> str | None:
        return None if document.cost is None else f"{document.cost:.6f}"

    @admin.display(description="jobs")
    def jobs(self, document: Document) -> str:
        return subject_jobs_link(subject_of(document.pk))

    @admin.action(description="Review the selected documents again, by all their agents", permissions=["repeat"])
    def repeat(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        reviews = chain.from_iterable(newest_of_each_agent(document) for document in queryset)
        self.say(request, review_again(reviews, request.user, "all reviews of the document"), "Reviews on their way")


@admin.register(Review)
class ReviewAdmin(ReviewPages):
    """Somebody asks for a review; what the model found is not changed by hand."""

    list_display = ("document", "agent", "status", "grade", "cost", "run", "created_at")
    list_filter = ("status", "agent")
    list_select_related = ("document",)
    search_fields = ("document__title",)
    actions = ("repeat", "cancel")

    def get_fields(self, request: HttpRequest, obj: Review | None = None) -> tuple[str, ...]:
        return WANTED if obj is None else (*WANTED, *FOUND)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and request.user.has_perm("jobs_app.trigger_job")

    def has_change_permission(self, request: HttpRequest, obj: Review | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Review, form: Any, change: bool) -> None:
        obj.pk = request_review(obj.document, obj.agent, request.user).pk

    @admin.display(description="run")
    def run(self, review: Review) -> str:
        return format_html('<a href="{}">Run</a>', reverse("admin:jobs_app_run_detail", args=[review.pk]))

    @admin.action(description="Run the selected reviews again", permissions=["repeat"])
    def repeat(self, request: HttpRequest, queryset: QuerySet[Review]) -> None:
        self.say(request, review_again(queryset, request.user), "Reviews on their way")

    @admin.action(description="Cancel the selected reviews", permissions=["cancel"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Review]) -> None:
        acted = cancel_reviews(queryset, request.user, f"cancelled by {request.user}")
        self.say(request, acted, "Reviews cancelled, or asked to stop")
