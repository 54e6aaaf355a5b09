"""How many are in front of it, counted up to a bound, by the index that admission or the claim reads in order."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from jobs_app.insights.waiting.reasons import Case, Reason, Target
from jobs_app.lifecycle.database import is_postgres, sqlite_time
from jobs_app.models import Hold

MOST_COUNTED = 1000
MOST_LANES = 20  # priorities that are looked into, from the most urgent on
LAST_ID = "f" * 32

# A lane is a priority. Of each that is more urgent, what is due counts; of its own, what is before it. Nothing else is
# read: what is due later, or comes after it, may be millions of rows.
IN_FRONT = """
WITH RECURSIVE lane (priority) AS (
  SELECT (SELECT priority FROM jobs_app_job WHERE {line} AND priority >= %(priority)s ORDER BY priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT priority FROM jobs_app_job WHERE {line} AND priority >= %(priority)s AND priority < lane.priority
           ORDER BY priority DESC LIMIT 1) FROM lane WHERE lane.priority IS NOT NULL)
SELECT sum((SELECT count(*) FROM (
         SELECT 1 FROM jobs_app_job WHERE {line} AND priority = lane.priority AND (run_at, id) <
                (CASE WHEN lane.priority > %(priority)s THEN %(now)s ELSE %(run_at)s END,
                 CASE WHEN lane.priority > %(priority)s THEN %(last_id)s ELSE %(id)s END) LIMIT %(limit)s) AS before))
  FROM (SELECT priority FROM lane WHERE priority IS NOT NULL LIMIT %(lanes)s) AS lane
"""
IN_QUEUE = "state = 'queued' AND queue = %(queue)s"
OPEN = f"{IN_QUEUE} AND hold = ''"
OF_KEY = f"{IN_QUEUE} AND hold = 'key' AND key = %(key)s AND job_type = %(job_type)s"
OF_SUBJECT = f"{IN_QUEUE} AND hold = 'limit' AND subject = %(subject)s"
OF_TYPE = f"{IN_QUEUE} AND hold IN ('new', 'limit') AND hold = %(hold)s AND job_type = %(job_type)s"
TYPES = {"now": "timestamptz", "run_at": "timestamptz", "last_id": "uuid", "id": "uuid"}


class Line(NamedTuple):
    kind: str
    where: str
    sentence: str


def line_reasons(case: Case) -> list[Reason]:
    line = _line(case)
    count = _count(case, line.where)
    if not count:
        return []
    shown = f"{number_format(MOST_COUNTED, force_grouping=True)}+" if count > MOST_COUNTED else str(count)
    sentence = line.sentence % {"count": shown, "queue": case.run.queue, "key": case.run.key}
    return [Reason(kind=line.kind, sentence=sentence, target=Target("queue", case.run.queue))]


def _line(case: Case) -> Line:
    """Where it stands depends on what holds it. Before a gate the others of its type count, or of its subject."""
    if case.run.hold == Hold.OPEN:
        return Line("line", OPEN, _("in front of it in queue %(queue)s, due and more urgent or earlier: %(count)s"))
    if case.run.hold == Hold.KEY:
        return Line("key_line", OF_KEY, _("in front of it, with its key %(key)s and its job type: %(count)s"))
    if case.run.hold == Hold.LIMIT and case.queue_rules.fair_share:
        return Line("line", OF_SUBJECT, _("subjects take turns in queue %(queue)s; of its own, in front: %(count)s"))
    return Line("line", OF_TYPE, _("in front of it in queue %(queue)s, of its job type: %(count)s"))


def _count(case: Case, where: str) -> int:
    run = case.run
    given: dict[str, Any] = {"queue": run.queue, "key": run.key, "job_type": run.job_type, "subject": run.subject}
    given |= {"hold": str(run.hold), "priority": run.priority, "limit": MOST_COUNTED + 1, "lanes": MOST_LANES}
    sql = IN_FRONT.format(line=where)
    if is_postgres(case.connection):
        given |= {"now": case.now, "run_at": run.run_at, "id": run.pk, "last_id": LAST_ID}
        for name, kind in TYPES.items():
            sql = sql.replace(f"%({name})s", f"%({name})s::{kind}")
    else:
        given |= {"now": sqlite_time(case.now), "run_at": sqlite_time(run.run_at)}
        given |= {"id": run.pk.hex, "last_id": LAST_ID}
    with case.connection.cursor() as cursor:
        cursor.execute(sql, given)
        return cursor.fetchone()[0] or 0
