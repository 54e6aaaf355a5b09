import pytest
from tests.lifecycle.test_admit_plans import *
from tests.lifecycle.plans import _rows_of
pytestmark = [pytest.mark.django_db]
def test_x():
    fill(OPEN, runs=True, key="'busy-' || n", policy="'standard'")
    fill(100000, hold="'limit'", key="'waits-' || n %% 100", policy="'standard'")
    fill(100000, hold="'key'", key="'waits-' || n %% 100", policy="'standard'")
    fill(20, hold="'new'", key="'waits-' || n %% 100", policy="'standard'")
    p = step(room=10, concurrency=1000, concurrency_per_key=1)
    for sql, nodes in p.nodes:
        rows = sum(_rows_of(n) for n in nodes)
        if rows > 100:
            print(rows, " ".join(sql.split())[:300])
            for n in nodes: print("   ", n["Node Type"], n.get("Relation Name"), n.get("Index Name"), n.get("Plan Rows"), n.get("Actual Rows"), n.get("Actual Loops"), n.get("Subplan Name"), n.get("Sort Key"), n.get("Rows Removed by Filter"))
    assert 0
