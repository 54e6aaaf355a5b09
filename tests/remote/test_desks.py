"""Which desk a pull goes to, and what may be handed out at it."""

from __future__ import annotations

import pytest

from jobs_app import job
from jobs_app.remote import desks as module
from jobs_app.remote.desks import Choice, Desks


def test_the_same_choice_has_the_same_desk_and_another_one_another() -> None:
    desks = Desks()
    leads = Choice(queues=("leads",), job_types=frozenset({"scrape"}))
    assert desks.of(leads) is desks.of(Choice(queues=("leads",), job_types=frozenset({"scrape"})))
    assert desks.of(leads) is not desks.of(Choice(queues=("mail",), job_types=frozenset({"scrape"})))


def test_the_desk_that_was_asked_at_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DESKS", 2)
    desks = Desks()
    first, second, third = (Choice(queues=(name,)) for name in ("a", "b", "c"))
    kept = desks.of(first)
    gone = desks.of(second)
    desks.of(first)
    desks.of(third)
    assert desks.of(first) is kept
    assert desks.of(second) is not gone


@pytest.mark.parametrize(
    ("asked", "allowed", "served"),
    [
        ((), (), {"leads", "leads.eu", "mail"}),
        (("leads",), (), {"leads"}),
        (("leads*",), ("*.eu", "mail"), {"leads.eu"}),
        ((), ("mail",), {"mail"}),
        (("mail",), ("leads",), set()),
    ],
)
def test_a_queue_must_be_asked_for_and_allowed(
    asked: tuple[str, ...], allowed: tuple[str, ...], served: set[str]
) -> None:
    choice = Choice(asked, allowed)
    assert {queue for queue in ("leads", "leads.eu", "mail", "jobs.system") if choice.serves(queue)} == served


def test_what_commits_with_its_handler_and_the_apps_own_chores_are_never_handed_out(chores: object) -> None:
    @job(remote=True)
    def elsewhere() -> None: ...

    @job
    def anywhere() -> None: ...

    @job(atomic=True)
    def only_here() -> None: ...

    from jobs_app.registry import registry

    choice = Choice(job_types=frozenset(registry.names()))
    assert {each.name for each in registry if choice.takes(each)} == {"elsewhere", "anywhere"}
