"""What an examination is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from django.db.backends.base.base import BaseDatabaseWrapper

FEW = 5  # names that a sentence has


class Level(StrEnum):
    """The worst last."""

    OK = "ok"
    NOTE = "note"  # worth knowing; nothing is wrong
    WARNING = "warning"  # will hurt, or hurts a little
    PROBLEM = "problem"  # jobs do not run, or not when they should


class Needs(IntEnum):
    """What must be there for an examination to make sense."""

    NOTHING = 0
    DATABASE = 1  # that it answers
    TABLES = 2  # those of the app


@dataclass(frozen=True, kw_only=True)
class Finding:
    name: str  # stable: other programs may wait for it
    level: Level
    sentence: str
    advice: str = ""  # what to do next


@dataclass(frozen=True)
class Fault:
    """A finding before it has the name of its examination."""

    level: Level
    sentence: str
    advice: str


Look = Callable[[BaseDatabaseWrapper], Iterator[Fault]]


@dataclass(frozen=True, kw_only=True)
class Examination:
    """One look at one thing. It is named as its findings are."""

    name: str
    look: Look
    fine: str  # what is said where it finds nothing
    needs: Needs
    only_on: str  # one kind of database; empty: on each

    def fits(self, connection: BaseDatabaseWrapper) -> bool:
        return self.only_on in ("", connection.vendor)

    def findings(self, connection: BaseDatabaseWrapper) -> list[Finding]:
        faults = list(self.look(connection)) or [Fault(Level.OK, self.fine, "")]
        return [self.finding(fault) for fault in faults]

    def finding(self, fault: Fault) -> Finding:
        return Finding(name=self.name, level=fault.level, sentence=fault.sentence, advice=fault.advice)


def examination(*, fine: str, needs: Needs = Needs.TABLES, only_on: str = "") -> Callable[[Look], Examination]:
    """Make a function an examination of the same name. It yields what is wrong, and nothing where all is well."""

    def made(look: Look) -> Examination:
        return Examination(name=look.__name__, look=look, fine=fine, needs=needs, only_on=only_on)

    return made


def note(sentence: str, *, advice: str) -> Fault:
    return Fault(Level.NOTE, sentence, advice)


def warning(sentence: str, *, advice: str) -> Fault:
    return Fault(Level.WARNING, sentence, advice)


def problem(sentence: str, *, advice: str) -> Fault:
    return Fault(Level.PROBLEM, sentence, advice)


def few(names: Sequence[object]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - FEW
    told = ", ".join(str(name) for name in names[:FEW])
    return f"{told} and {more} more" if more > 0 else told
