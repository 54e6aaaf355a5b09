"""How much memory the process has, and how often it is looked through."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from weakref import ref

import pytest

from jobs_app.runtime.memory import calm_collector, rss_bytes


@pytest.fixture
def usual_collector() -> Iterator[None]:
    """As Python starts with, whatever ran in this process before."""
    before = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_process_has_some_memory() -> None:
    assert 1024 * 1024 < rss_bytes() < 2**40


def test_it_is_zero_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.runtime.memory.Path.read_text", _refuse)
    assert rss_bytes() == 0


@pytest.mark.usefixtures("usual_collector")
def test_a_calm_collector_leaves_what_is_loaded_alone_and_looks_less_often() -> None:
    usual, loaded = gc.get_threshold(), len(gc.get_objects())
    calm_collector()
    assert gc.get_freeze_count() > loaded / 2 > len(gc.get_objects())
    assert all(new > old for new, old in zip(gc.get_threshold(), usual, strict=True))
    assert gc.isenabled()


@pytest.mark.usefixtures("usual_collector")
def test_garbage_that_comes_later_is_still_collected() -> None:
    class Node:
        pass

    calm_collector()
    node = Node()
    node.itself = node  # type: ignore[attr-defined]
    gone = ref(node)
    del node
    gc.collect()
    assert gone() is None


def _refuse(*args: object, **kwargs: object) -> str:
    raise FileNotFoundError
