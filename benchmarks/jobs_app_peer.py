"""jobs_app as a program that a harness measures as it measures others: see `benchmarks/peers/program.py`.

Imported without BENCH_TIMES it is only the constants that describe it.
"""

NAME = "jobs_app"
RUNTIME = "python"
PACKAGES = ["Django", "psycopg"]
STORES = ["postgres"]
PROFILES = {
    "tuned": "manage.py runworker; CONN_MAX_AGE=None",
    "default": "manage.py runworker, all defaults; CONN_MAX_AGE=0",
}
AUDIT = "run row + attempt row"
PERSISTS = (
    "one row for the whole run (arguments, result, times, worker, outcome) and one for each attempt (times, error, "
    "traceback, log); the live row is deleted by the statement that writes both"
)
REMAINING_SQL = "select count(*) from jobs_app_job"
RUN_COLUMNS = """state, job_type, queue, subject, priority, run_at, queued_at, policy, attempts, free_attempts,
  max_attempts, payload, meta, actor, cursor, progress_count, result_count, progress_message, worker_id,
  first_started_at, started_at, outcome, done_reason, error, finished_at"""
HISTORY_SQL = f"""
with finished as (select * from jobs_app_jobrun limit 1),
     tried as (select * from jobs_app_jobattempt limit 1),
     new as (select gen_random_uuid() as new_id from generate_series(1, %(n)s)),
     run as (insert into jobs_app_jobrun (id, {RUN_COLUMNS})
             select new_id, {RUN_COLUMNS} from new, finished returning id)
insert into jobs_app_jobattempt (job_id, number, token, worker_id, started_at, finished_at, outcome, success)
select run.id, 1, token, worker_id, started_at, finished_at, outcome, success from run, tried"""

import os  # noqa: E402

if os.environ.get("BENCH_TIMES"):
    import asyncio
    import time

    import django

    from benchmarks.peers import program

    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    os.environ["BENCH_APPS"] = "jobs_app"
    django.setup()

    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection

    from jobs_app import job

    @job(name="noop")
    def noop(n: int) -> None:
        program.record(n)

    @job(name="sleep")
    def sleep(n: int) -> None:
        program.record(n)
        time.sleep(program.SLEEP_SECONDS)

    @job(name="async_sleep")
    async def async_sleep(n: int) -> None:
        program.record(n)
        await asyncio.sleep(program.SLEEP_SECONDS)

    @job(name="query")
    def query(n: int) -> None:
        program.record(n)
        User.objects.filter(pk=n).exists()

    if __name__ == "__main__":
        measured = {"noop": noop, "sleep": sleep, "async_sleep": async_sleep, "query": query}[program.HANDLER]
        arguments = os.environ.get("BENCH_WORKER_ARGS", "").split()
        program.main(
            setup=lambda: call_command("migrate", verbosity=0),
            single=lambda n: measured.enqueue(n=n),
            bulk=lambda numbers: measured.enqueue_many({"n": n} for n in numbers),
            worker=lambda: call_command("runworker", *arguments, verbosity=0),
            warm=connection.ensure_connection,
        )
