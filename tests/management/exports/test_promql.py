"""What the exports may name is what is served, under these labels."""

from __future__ import annotations

import pytest
from django.db import connection
from prometheus_client.metrics import MetricWrapperBase

from jobs_app import counters
from jobs_app.insights.gauges import read
from jobs_app.metrics.gauges import OF_TYPE, DatabaseGauges
from tests.management.exports.promql import LABELS

ON_POSTGRES = {name for name in LABELS if name.startswith("jobs_table_")} | {"jobs_oldest_transaction_age_seconds"}
NOT_USED = {"jobs_scheduled"}


@pytest.mark.django_db
def test_the_names_and_labels_are_those_of_the_code(is_postgres: bool) -> None:
    counted = [each for each in vars(counters).values() if isinstance(each, MetricWrapperBase)]
    found = {each._name + ("_total" if each._type == "counter" else ""): set(each._labelnames) for each in counted}
    for family in DatabaseGauges(lambda: read(connection)).collect():
        labels = {label for sample in family.samples for label in sample.labels}
        found[family.name] = labels or LABELS.get(family.name, set())  # one without a value today has none to show
    expected = LABELS if is_postgres else {name: LABELS[name] for name in LABELS if name not in ON_POSTGRES}
    assert {name: labels for name, labels in found.items() if name not in NOT_USED} == expected
    assert set(OF_TYPE) >= NOT_USED
