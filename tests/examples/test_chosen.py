"""Which examples the demo site installs."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

import examples


def test_names_that_there_are_not_are_told_with_those_that_there_are() -> None:
    assert examples.chosen(["subscriptions"]) == ["subscriptions"]
    with pytest.raises(
        ImproperlyConfigured, match=r"EXAMPLES names subscription; there are first_steps, .*subscriptions"
    ):
        examples.chosen(["subscription", "first_steps"])
