"""What every act asks: why. Forms of acts add their own fields."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from jobs_app.errors import JobsError
from jobs_app.lifecycle.control.acting import LONGEST_REASON


def moment_input() -> forms.DateTimeInput:
    """A moment to the minute, as browsers let people choose one."""
    return forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class ActForm(forms.Form):
    """`reason` comes last, whatever else an act asks for."""

    required_css_class = "required"
    reason_required = False

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=LONGEST_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=_("Kept with your name in the control events."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = self.reason_required
        self.order_fields([name for name in self.fields if name != "reason"])

    @property
    def reason_given(self) -> str:
        return str(self.cleaned_data["reason"])

    def field_of(self, error: JobsError) -> str | None:
        """The field that an error of the act itself is about; None: it is shown above the form."""
        return None


class ReasonForm(ActForm):
    """An act that asks for nothing else."""


class RequiredReasonForm(ActForm):
    reason_required = True
