"""SQL that skips through an index: one step for each different value, whatever the number of rows.

PostgreSQL has no such scan of its own. Not by min(): without statistics it would rather aggregate all rows of another
index than begin at the right end of this one.
"""

from __future__ import annotations


def each_value(column: str, where: str, *, table: str = "jobs_app_job") -> str:
    """Each value of a column, in order."""
    return f"""
WITH RECURSIVE each (value) AS (
  SELECT (SELECT {column} FROM {table} WHERE {where} ORDER BY {column} LIMIT 1)
  UNION ALL
  SELECT (SELECT {column} FROM {table} WHERE {where} AND {column} > each.value ORDER BY {column} LIMIT 1)
    FROM each WHERE each.value IS NOT NULL)
SELECT value FROM each WHERE value IS NOT NULL
"""


def each_lane(column: str, where: str) -> str:
    """Each value of a column with each of its priorities: next is a lower one, else the highest of the next value."""
    rows, first = (
        f"SELECT {column}, priority FROM jobs_app_job WHERE {where}",
        f"ORDER BY {column}, priority DESC LIMIT 1",
    )
    return f"""
WITH RECURSIVE lane AS (
  ({rows} {first})
  UNION ALL
  SELECT next.{column}, next.priority FROM lane CROSS JOIN LATERAL (
    SELECT {column}, priority FROM (
      SELECT {column}, priority, 0 AS turn FROM (
        {rows} AND {column} = lane.{column} AND priority < lane.priority {first}) AS lower
      UNION ALL
      SELECT {column}, priority, 1 FROM ({rows} AND {column} > lane.{column} {first}) AS other
      ORDER BY turn LIMIT 1) AS nearest) AS next)
SELECT {column}, priority FROM lane
"""
