"""Plans, subscriptions and payments; what runs, waits or failed is in the lists of the jobs themselves."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from examples.subscriptions.models import Payment, Plan, Subscription


@admin.register(Plan)
class PlanAdmin(admin.ModelAdmin):
    list_display = ("name", "amount", "currency", "period")


@admin.register(Subscription)
class SubscriptionAdmin(admin.ModelAdmin):
    list_display = ("payer", "plan", "status", "next_due_at", "last_paid_at", "runs")
    list_filter = ("status", "plan")
    search_fields = ("payer",)
    readonly_fields = ("last_paid_at", "expired_by", "runs")

    @admin.display(description="runs")
    def runs(self, subscription: Subscription) -> str:
        """All that was tried for it, with why it waits or failed."""
        page = reverse("admin:jobs_app_run_changelist", current_app=self.admin_site.name)
        return format_html('<a href="{}?job_type=charge&amp;subject={}">runs</a>', page, subscription.pk)


@admin.register(Payment)
class PaymentAdmin(admin.ModelAdmin):
    """Made by jobs, never by hand."""

    list_display = ("made_at", "subscription", "status", "amount", "currency", "due_at", "reference", "error", "run")
    list_filter = ("status",)
    list_select_related = ("subscription__plan",)
    search_fields = ("key", "reference", "subscription__payer")

    @admin.display(description="run")
    def run(self, payment: Payment) -> str:
        page = reverse("admin:jobs_app_run_detail", args=[payment.run_id], current_app=self.admin_site.name)
        return format_html('<a href="{}">attempt {}</a>', page, payment.attempt)

    def has_add_permission(self, request: object) -> bool:
        return False

    def has_change_permission(self, request: object, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False
