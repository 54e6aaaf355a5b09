"""Tests that run twice: inside a transaction of their own, and without one."""

from __future__ import annotations

import pytest

in_and_out_of_a_transaction = pytest.mark.parametrize(
    "within",
    [
        pytest.param(True, id="within", marks=pytest.mark.django_db),
        pytest.param(False, id="without", marks=pytest.mark.django_db(transaction=True)),
    ],
)
