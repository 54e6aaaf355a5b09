"""Documents and their reviews, with the ways to their runs and the buttons that repeat them."""

from __future__ import annotations

from itertools import chain
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Avg, Count, QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from examples.document_review.agents import NAMES
from examples.document_review.models import Document, Review, Status
from examples.document_review.reviewing import newest_of_each_agent, request_review, review_again
from jobs_app.admin import subject_jobs_link
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted

NOTHING = "-"


class ReviewPages(admin.ModelAdmin):
    """What both pages let people do, if they may do it in the pages of jobs too."""

    def has_repeat_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("jobs_app.retry_run")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("jobs_app.cancel_run")

    def say(self, request: HttpRequest, acted: Acted, done: str) -> None:
        self.message_user(request, f"{len(acted.moved)} {done}.", messages.SUCCESS if acted else messages.WARNING)
        for run_id, why in acted.skipped.items():
            self.message_user(request, f"Run {run_id} {why}.", messages.WARNING)


@admin.register(Document)
class DocumentAdmin(ReviewPages):
    list_display = ("title", "review_count", "average_grade", "total_cost", "reviews_link", "jobs_link")
    search_fields = ("title", "text")
    actions = ("review_documents_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        sums = {"count": Count("reviews"), "grade": Avg("reviews__grade"), "cost": Sum("reviews__cost")}
        return super().get_queryset(request).annotate(**sums)

    @admin.display(description="reviews", ordering="count")
    def review_count(self, document: Any) -> int:
        return document.count

    @admin.display(description="average grade", ordering="grade")
    def average_grade(self, document: Any) -> str:
        return NOTHING if document.grade is None else f"{document.grade:.0f}"

    @admin.display(description="cost in USD", ordering="cost")
    def total_cost(self, document: Any) -> str:
        return NOTHING if document.cost is None else f"{document.cost:.4f}"

    @admin.display(description="reviews")
    def reviews_link(self, document: Document) -> str:
        address = reverse("admin:document_review_review_changelist", query={"document__id__exact": document.pk})
        return format_html('<a href="{}">Reviews</a>', address)

    @admin.display(description="jobs")
    def jobs_link(self, document: Document) -> str:
        return subject_jobs_link(document.subject)

    @admin.action(description="Review the selected documents again, by all their agents", permissions=["repeat"])
    def review_documents_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        reviews = chain.from_iterable(newest_of_each_agent(document) for document in queryset)
        self.say(request, review_again(reviews, request.user, "all reviews of the document"), "reviews on their way")


class RequestForm(forms.ModelForm):
    """Who shall review what."""

    agent = forms.ChoiceField(choices=[(name, name) for name in NAMES])

    class Meta:
        model = Review
        fields = ("document", "agent")


@admin.register(Review)
class ReviewAdmin(ReviewPages):
    list_display = ("document", "agent", "status", "grade", "tokens", "cost", "run_link", "created_at")
    list_filter = ("status", "agent", "document")
    list_select_related = ("document",)
    ordering = ("-created_at",)
    actions = ("repeat_reviews", "cancel_reviews")

    def get_form(self, request: HttpRequest, obj: Review | None = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **kwargs if change else {**kwargs, "form": RequestForm})

    def get_readonly_fields(self, request: HttpRequest, obj: Review | None = None) -> list[str]:
        """What a worker found is not changed by hand."""
        if obj is None:
            return []
        shown = ("document", "agent", "status", "grade", "summary", "error", "tokens", "cost", "created_at", "run_link")
        return [*shown, "updated_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and request.user.has_perm("jobs_app.trigger_job")

    def save_model(self, request: HttpRequest, obj: Review, form: Any, change: bool) -> None:
        if not change:
            obj.pk = request_review(obj.document, obj.agent, request.user).pk

    @admin.display(description="run")
    def run_link(self, review: Review) -> str:
        return format_html('<a href="{}">Run</a>', reverse("admin:jobs_app_run_detail", args=[review.pk]))

    @admin.action(description="Run the selected reviews again", permissions=["repeat"])
    def repeat_reviews(self, request: HttpRequest, queryset: QuerySet[Review]) -> None:
        self.say(request, review_again(queryset, request.user, "one review"), "reviews on their way")

    @admin.action(description="Cancel the selected reviews", permissions=["cancel"])
    def cancel_reviews(self, request: HttpRequest, queryset: QuerySet[Review]) -> None:
        """One that runs is asked to stop, and becomes CANCELLED when it does."""
        acted = control.cancel([review.pk for review in queryset], request.user, "from its review")
        for review in queryset.filter(pk__in=set(acted.moved) - set(acted.asked)):
            review.end(Status.CANCELLED, f"cancelled by {request.user}")
        self.say(request, acted, "reviews cancelled or asked to stop")
